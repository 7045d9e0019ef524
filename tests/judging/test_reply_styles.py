"""The styles in which models of many families answer, with what each must become."""

# ruff: noqa: E501 - a reply is as long as it is

import json

import pytest

from labeler.data import Failure, Judgement, Pair
from labeler.judging.reply.parse import parse_grade
from labeler.model import Reply

PAIR = Pair("q1", "d1")
SCALE = (0, 1, 2, 3)

JSON_STYLES: list[tuple[str, int | str]] = [
    ('{"relevance_reasoning": "The passage directly answers.", "grade": 3}', 3),
    (
        '<think>\nOkay, let me look at the query... The grade should be 2. Or 3?\n</think>\n\n{"grade": 2}',
        2,
    ),
    ('<think>\n\n</think>\n\n{"grade": 0}', 0),
    ('<|im_start|>assistant\n{"grade": 2}<|im_end|>', "unparsable"),
    ('{"grade": 2}<|im_end|>', 2),
    ('{"grade": 2}<|eot_id|>', 2),
    ('{"grade": 2}<end_of_turn>', 2),
    ('[INST] grade this [/INST] {"grade": 2}', "unparsable"),
    (
        '<|channel|>analysis<|message|>We need to grade. Probably grade 1.<|end|><|start|>assistant<|channel|>final<|message|>{"grade": 2}',
        "conflict",
    ),
    ('analysisWe need to output JSON. I think 2.assistantfinal{"grade": 2}', "conflict"),
    ('analysisI think the grade is 3.assistantfinal{"grade": 2}', "conflict"),
    ('[THINK]maybe grade 3[/THINK]{"grade": 1}', "conflict"),
    ('◁think▷ grade 3? ◁/think▷{"grade": 1}', "conflict"),
    ('<seed:think>grade 3</seed:think>{"grade": 1}', "conflict"),
    ('<thought>{"grade": 3}</thought>{"grade": 1}', "conflict"),
    ('<reflection>grade: 3</reflection>\n<answer>{"grade": 1}</answer>', "conflict"),
    (
        'Here\'s my evaluation:\n\n```json\n{\n  "grade": 2\n}\n```\n\n**Explanation:** The passage is highly relevant.',
        "unparsable",
    ),
    (
        'Here\'s my evaluation:\n\n```json\n{\n  "grade": 2\n}\n```\n\n**Explanation:** I gave it a 3 because it answers.',
        "conflict",
    ),
    (
        '{"grade": 2}\n\nNote: The grade of 2 indicates that the passage is highly relevant (on a scale of 0-3).',
        "conflict",
    ),
    ('{"grade": 2}\n\nNote: The grade of 3 indicates a perfect match.', "conflict"),
    ('{"grade": 1}\n```', 1),
    ('json\n{"grade": 1}', "unparsable"),
    ('```json{"grade": 1}```', 1),
    ('"{\\"grade\\": 1}"', "unparsable"),
    ('{\\"grade\\": 1}', "unparsable"),
    ('{{"grade": 1}}', "unparsable"),
    ('{"grade": 1}}', "unparsable"),
    ('{"grade": 1};', "unparsable"),
    ('return {"grade": 1}', "unparsable"),
    ('{"grade": three}', "unparsable"),
    ('{"grade": "three"}', "unparsable"),
    ('three\n{"grade": 2}', "unparsable"),
    ('The grade is three. {"grade": 2}', "unparsable"),
    ('Grade: three\n{"grade": 2}', "unparsable"),
    ('The grade is two. {"grade": 2}', "unparsable"),
    ('I would rate this passage as a three: {"grade": 1}', "unparsable"),
    ('grade zero {"grade": 1}', "unparsable"),
    ('Perfectly relevant.\n{"grade": 0}', "unparsable"),
    ('{"grade": 2, "grade_label": "perfectly relevant"}', 2),
    ('{"grade": 2, "explanation": "Grade 3 would need a direct answer."}', 2),
    ('{"grade":2,"confidence":3}', "conflict"),
    ('{"grade": 2, "max_grade": 3}', "conflict"),
    ('{"grade": 2, "scale": [0,1,2,3]}', "conflict"),
    ('{"grade": 2, "scores": {"0": 0.1, "1": 0.1, "2": 0.7, "3": 0.1}}', "conflict"),
    ('{"query_grade": 3, "grade": 2}', "conflict"),
    ('{"grade": 2, "O": 3}', "conflict"),
    ('{"O": 3}', "unparsable"),
    ('{"M": 2, "T": 1, "O": 1}', "unparsable"),
    ('{"final_score": 2}', "unparsable"),
    ('{"GRADE": 2}', "unparsable"),
    ('{"grade ": 2}', "unparsable"),
    ('{"grade": 2.}', "unparsable"),
    ('{"grade": 2,00}', "unparsable"),
    ('{"grade": ²}', "unparsable"),
    ('{"grade": Ⅱ}', "unparsable"),
    ('{"grade":\xa02}', "unparsable"),
    ('{"grade"：2}', "unparsable"),
    ("{“grade”: 2}", "unparsable"),
    ('{"grade": 2\u200b}', "unparsable"),
    ('\u200b{"grade": 2}', "unparsable"),
    ('{"grade": 2, "reason": "It says \'{"grade": 3}\'"}', "unparsable"),
    ('{"grade": 2, "reason": "quote \\"{\\\\\\"grade\\\\\\": 3}\\" end"}', 2),
    ('{"properties": {"grade": 2}}', "unparsable"),
    (
        '{"type":"object","properties":{"grade":{"type":"integer","enum":[0,1,2,3]}},"grade":2}',
        "conflict",
    ),
    ('{"$schema":"x","grade":2}', 2),
    ('{"name":"reply","arguments":{"grade":2}}', "unparsable"),
    ('<tool_call>\n{"name": "grade", "arguments": {"grade": 2}}\n</tool_call>', "unparsable"),
    ('{"answer": "2"}', "unparsable"),
    ('{"grade": 1} or {"grade": 2}', "conflict"),
    ('{"grade": [1, 2]}', "unparsable"),
    ('{"grade": "1-2"}', "unparsable"),
    ('{"grade": 2}{"grade": 2}', "conflict"),
    ('{"grade": 2},{"grade": 3}', "conflict"),
    ('{"grades": [2]}', "unparsable"),
    ('{"grade": -1}', "out_of_scale"),
    ('{"grade": 5}', "out_of_scale"),
    ('{"grade": 1000000000000000000000000}', "out_of_scale"),
    ('{"grade": 0.0}', "unparsable"),
    ('{"grade": 2e0}', "unparsable"),
    ('I cannot fulfil this request. {"grade": 0}', "unparsable"),
    ("I'm sorry, but I cannot help with that.", "refused"),
    ("Sorry, I can't help with that request.", "refused"),
    ("抱歉，我无法回答这个问题。", "unparsable"),
    ("The passage is relevant to the query. Grade: 3", "unparsable"),
    ("**Grade: 3**", "unparsable"),
    ("\\boxed{3}", "unparsable"),
    ('\\boxed{3} {"grade": 1}', "unparsable"),
    ('<answer>3</answer> {"grade": 1}', "conflict"),
    ('<score>3</score>\n{"grade": 1}', "conflict"),
    ('Relevance: 3/3 {"grade": 1}', "conflict"),
    ('Rating - 3 {"grade": 1}', "conflict"),
    ('Answer: 3\n{"grade": 1}', "conflict"),
    ('Final: 3 {"grade": 1}', "conflict"),
    ('(3) {"grade": 1}', "conflict"),
    ('- 3\n{"grade": 1}', "conflict"),
    ('{"grade": 1}\n\n3', "conflict"),
    ('So the answer is 3.\n\n{"grade": 1}', "conflict"),
    ('The passage deserves a 3.\n{"grade": 1}', "conflict"),
    ('Therefore, 3.\n{"grade": 1}', "conflict"),
    ('Step 1: read. Step 2: grade. {"grade": 1}', "conflict"),
    ('1. The passage mentions tea.\n2. It does not say how.\n{"grade": 1}', "conflict"),
    ('In 2019, there were 3 teas. {"grade": 1}', "conflict"),
    ('// grade\n{"grade": 1}', "unparsable"),
    ('{"grade": 1, "grade": 1}', "unparsable"),
    ('{"grade": null, "reason": "cannot judge"}', "unparsable"),
    ('{"error": "cannot judge"}', "unparsable"),
    ('{"grade": "N/A"}', "unparsable"),
    ("N/A", "unparsable"),
    ("None", "unparsable"),
    ('{"grade": None}', "unparsable"),
    ('{"grade": undefined}', "unparsable"),
    ('{"grade": }', "unparsable"),
    ('{"grade": 2 "reason": "x"}', "unparsable"),
    ('{"grade": 2, "reason": "unescaped "quote" here"}', "unparsable"),
    ('{"grade": 2, "reason": "line\nbreak"}', "unparsable"),
    ("{'grade': 2, 'reason': 'x'}", "unparsable"),
    ("grade = 2", "unparsable"),
    ('{"grade": 2}\n<|endoftext|>Human: next {"grade": 3}', "conflict"),
    ('```python\nprint({"grade": 2})\n```', "unparsable"),
    ('{"grade": 2} # perfectly relevant would be 3', "conflict"),
    ('The passage gets grade 2 (of 3): {"grade": 2}', "conflict"),
    ('score 2 out of 3. {"grade": 2}', "conflict"),
    ('score: 2 out of 3. {"grade": 2}', "conflict"),
    ('score: 2/3. {"grade": 2}', "conflict"),
    ('{"grade": 2}\n\nScore: 2 out of 3', "conflict"),
    ('"grade": 2', "unparsable"),
    ("grade: 2\nreason: yaml", "unparsable"),
    ('[{"query": "x", "grade": 2}]', "unparsable"),
    ('{"results":[{"id":1,"grade":2}]}', "unparsable"),
    ('{"1": 2}', "unparsable"),
    ('{"grade":{"grade":2}}', "unparsable"),
    ('{"grade": 1} or 2', "conflict"),
    ('{"grade": 1}, or maybe 2', "conflict"),
    ('抱歉，我无法回答这个问题。{"grade": 0}', "unparsable"),
]

TEXT_STYLES: list[tuple[str, int | str]] = [
    ("I'm sorry, I can't give a score: 0 would be unfair.", "refused"),
    ("I cannot assist with this request. Score: 0", "refused"),
    ("As an AI I cannot judge. relevance: 0", "refused"),
    ("score: 1 is wrong, 2 is right", "unparsable"),
    ("score: 1 is wrong", "unparsable"),
    ("Score: 3. Correction: 1", "unparsable"),
    ("Score: 2 ... no wait: 1", "unparsable"),
    ("The relevance is 3 on a scale where 10 is best", "unparsable"),
    ("The relevance is 2 on a scale of 0 to 3.", "unparsable"),
    ("I must decline to grade this.", "refused"),
    ("Wait, it names the tea. ##final score: 2", "unparsable"),
    ("##final score: 2", "unparsable"),
    ("## final score: 2\n", "unparsable"),
    ("##Final Score: 3", "unparsable"),
    ("final score = 3", "unparsable"),
    ("M: 2\nT: 1\n##final score: 1", "unparsable"),
    ("- M: 2\n- T: 2\n- O: 2\n\n##final score: 2", "unparsable"),
    ("##final score: **1**", "unparsable"),
    ("##final score: [2]", "unparsable"),
    ("##final score: <2>", "unparsable"),
    ("##final score: 2.", "unparsable"),
    ("##final score: 2/3", "unparsable"),
    ("##final score: two", "unparsable"),
    ("##final score: 02", "unparsable"),
    ("##final score: 2\n\nThe score is 3 if..", "unparsable"),
    ("Score (0-3): 2", "unparsable"),
    ("score: 2 (highly relevant)", "unparsable"),
    ("score: 2 - highly relevant", "unparsable"),
    ("Final score: 2 out of 3", "unparsable"),
    ("The final score is 2.", "unparsable"),
    ("The score is between 2 and 3, so ##final score: 2", "unparsable"),
    ("<think>score: 3</think>##final score: 1", "unparsable"),
    ("##final score: 2##final score: 3", "unparsable"),
    ("Query: what is score: 3\n##final score: 1", "unparsable"),
    ("2\n", 2),
    ("2.", "unparsable"),
    ("two", "unparsable"),
    ("**2**", "unparsable"),
    ("##final score:2", "unparsable"),
    ("##final score:\n2", "unparsable"),
    ("##final score: O", "unparsable"),
    ("##final score: ", "unparsable"),
    ('{"grade": 2}', "unparsable"),
    ('{"score": 2}', "unparsable"),
    ("##final score: 2<|im_end|>", "unparsable"),
    ("The passage is relevant.\n\n##final score: three\nscore: 2", "unparsable"),
    ("##final score: +2", "unparsable"),
    ("##final score: -1", "unparsable"),
    ("##final score: 22", "unparsable"),
]

PROSE = [
    "The passage gives the answer in 3 steps.",
    "The answer is 3 teas per day.",
    "It gives a 2 paragraph overview.",
    "It gets a 10% bonus.",
    "So 3 teas are named.",
    "The grade is the highest one.",
    "On a scale from zero to three.",
    "The score is one of the best",
    "It is the one.",
    "It lists one, two, and three.",
    "the answer is 42.5 kg",
    "so, 2 things",
    "gives an 8-step guide",
    "Thus 2.5 liters.",
    "It answers the question: 5 liters of water.",
]


REFUSALS = [
    "I apologize, but I'm unable to evaluate this content.",
    "As an AI language model, I cannot judge this passage.",
    "Unfortunately, I am not able to assess this.",
    "Sorry, I can't.",
    "I must decline to grade this.",
    "I'm sorry, I can't actually judge this.",
    "I cannot assist with that request.",
    "I won't provide a relevance score for this.",
    "I’m not comfortable rating this passage.",
    "I can't help with that.",
    "This passage cannot be graded.",
    "We are unable to comply.",
    "It is not possible to judge this.",
]

CORRECTIONS = [
    "Correction: 1",
    "Edit: should be 1",
    "On reflection, 1 is more accurate.",
    "On second thought, one.",
    "No wait, 1.",
    "Actually, 1.",
    "-> 1",
    "or maybe 1",
    "Sorry, I meant 1.",
    "1 would be better.",
    "Make that 1.",
    "I changed it to 1.",
    "Scratch that.",
    "That is wrong.",
    "Please disregard the above.",
]

LEADS = [
    "I'd say 0, ",
    "It's a 0: ",
    "Therefore it is a 0. ",
    "I think 0. ",
    "I lean towards 0. ",
    "I'll go with 0: ",
]

HARMLESS = [
    "Unfortunately, the passage does not answer the question.",
    "I cannot find the answer in the passage.",
    "I cannot rate it higher than 2.",
    "I can't give it a higher grade.",
    "I cannot grade this as perfectly relevant.",
    "I can't help but notice that it is short.",
    "Sorry for the delay.",
    "We cannot answer the query from this passage.",
    "Actually, the passage names 5 teas.",
    "Wait for 3 minutes, it says.",
    "The passage can't help a reader who wants to know.",
    "3 would be better if it named the tea.",
    "It should be steeped for 3 minutes.",
    "Instead it lists 3 teas.",
    "Updated in 2019 and edited in 2020.",
    "I think it has 3 parts.",
    "It is a 5 star hotel.",
]


@pytest.mark.parametrize("said", REFUSALS)
def test_a_refusal_beside_a_verdict_never_becomes_its_grade(said: str) -> None:
    verdict = '{"grade": 0}'
    replies = (
        f"{said} {verdict}",
        f"{verdict}\n{said}",
        json.dumps({"grade": 0, "reason": said}),
        json.dumps({"reason": f"It is harmful. {said}", "grade": 0}),
        json.dumps({"note": said, "grade": 0}, ensure_ascii=False),
    )
    statuses = [getattr(parse_grade(PAIR, Reply(reply), SCALE), "status", 0) for reply in replies]
    assert statuses == ["refused"] * 5
    outcome = parse_grade(PAIR, Reply(f"{said} Score: 0"), SCALE, text=True)
    assert isinstance(outcome, Failure)


@pytest.mark.parametrize("said", CORRECTIONS)
@pytest.mark.parametrize(("verdict", "text"), [('{"grade": 3}', False), ("##final score: 3", True)])
def test_a_verdict_that_is_corrected_becomes_no_grade(said: str, verdict: str, text: bool) -> None:
    outcome = parse_grade(PAIR, Reply(f"{verdict}\n{said}"), SCALE, text=text)
    assert isinstance(outcome, Failure)
    if not text:
        number = any(character.isdigit() for character in said)
        assert outcome.status == ("conflict" if number else "unparsable")


@pytest.mark.parametrize("said", LEADS)
@pytest.mark.parametrize("grade", [0, 3])
def test_prose_that_leads_to_a_grade_is_a_conflict(said: str, grade: int) -> None:
    outcome = parse_grade(PAIR, Reply(f'{said}{{"grade": {grade}}}'), SCALE)
    assert isinstance(outcome, Failure)
    assert outcome.status == "conflict"


@pytest.mark.parametrize("said", HARMLESS + PROSE)
def test_prose_is_no_part_of_a_reply_but_may_be_its_reason(said: str) -> None:
    for reply in (said + ' {"grade": 2}', '{"grade": 2}\n\n' + said):
        outcome = parse_grade(PAIR, Reply(reply), SCALE)
        assert isinstance(outcome, Failure)
        assert outcome.status in {"conflict", "unparsable"}
    inside = json.dumps({"reason": said, "grade": 2})
    assert parse_grade(PAIR, Reply(inside), SCALE) == Judgement(PAIR, 2, said)


@pytest.mark.parametrize(("text", "meant"), JSON_STYLES, ids=lambda value: str(value)[:40])
def test_a_style_of_json_reply_is_its_grade_or_its_failure(text: str, meant: int | str) -> None:
    outcome = parse_grade(PAIR, Reply(text), SCALE)
    assert (outcome.grade if isinstance(outcome, Judgement) else outcome.status) == meant


@pytest.mark.parametrize(("text", "meant"), TEXT_STYLES, ids=lambda value: str(value)[:40])
def test_a_style_of_text_reply_is_its_score_or_its_failure(text: str, meant: int | str) -> None:
    outcome = parse_grade(PAIR, Reply(text), SCALE, text=True)
    assert (outcome.grade if isinstance(outcome, Judgement) else outcome.status) == meant
