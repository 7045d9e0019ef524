"""What a reply says: the shapes that servers and models really send, and what each must become.

A shape is a grade only where the reply is one JSON object: prose may say anything, in any language,
and no rule can tell from it that the object still holds.
"""

import json
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from labeler.data import FAILURES, Failure, Judgement, Pair
from labeler.judging.reply.parse import parse_grade
from labeler.judging.reply.refusal import refuses
from labeler.model import Reply

PAIR = Pair("q1", "d1")
SCALE = (0, 1, 2, 3)
SCHEMA = '{"type":"object","properties":{"grade":{"type":"integer","enum":[0,1,2,3]}}}'

JSON_SHAPES: list[tuple[str, int | str]] = [
    # one object, alone or with something beside it
    ('{"grade": 2}', 2),
    ('{"grade":0}', 0),
    (' \n\t{"grade": 3}\n\n', 3),
    ('\ufeff{"grade": 1}', "unparsable"),
    ('{\n  "grade": 2\n}', 2),
    ('{"reason": "It answers.", "grade": 3}', 3),
    ('{"grade": 1, "confidence": 0.9}', "conflict"),
    ('{"grade": 1, "M": 2, "T": 3, "O": 1}', "conflict"),
    ('```json\n{"grade": 2}\n```', 2),
    ('```\n{"grade": 2}\n```', 2),
    ('~~~json\n{"grade": 2}\n~~~', 2),
    ('```JSON\r\n{"grade": 2}\r\n```\r\n', 2),
    ('`{"grade": 2}`', 2),
    ('**{"grade": 2}**', "unparsable"),
    ('Here is my answer: {"grade": 2}', "unparsable"),
    ('Sure! Here is the JSON:\n\n{"grade": 2}\n\nLet me know if you need more.', "unparsable"),
    ('The passage is on topic. {"grade": 1} I hope this helps.', "unparsable"),
    ('I am sorry to say that it is useless: {"grade": 0}', "unparsable"),
    ('<answer>{"grade": 2}</answer>', "unparsable"),
    ('<think>Maybe {"grade": 3}? No.</think>{"grade": 1}', 1),
    ('<think>\nlong\n</think>\n\n```json\n{"grade": 2}\n```', 2),
    ('<thinking>grade: 3</thinking> {"grade": 0}', 0),
    ('<|channel|>final<|message|>{"grade": 2}', "unparsable"),
    ('{"reason": "costs $5 {really}", "grade": 2}', 2),
    ('{"reason": "she said \\"grade 3\\"", "grade": 1}', 1),
    ('{"reason": "\\u00e9\\ud83d\\ude00", "grade": 1}', 1),
    ('{"reason": null, "grade": 1}', 1),
    ('{"reason": 7, "grade": 1}', "unparsable"),
    ('Set {x, y} aside: {"grade": 2}', "unparsable"),
    ('A query like {"query": "tea"} deserves {"grade": 2}', "conflict"),
    ('Final grade: 2\n{"grade": 2}', "conflict"),
    ('[1] The passage helps. {"grade": 2}', "conflict"),
    ('{"grade": -0}', 0),
    ('{"grade": 2}</s>', 2),
    ('{"grade": 2, "score": 2}', "conflict"),
    # not an integer
    ('{"grade": "3"}', "unparsable"),
    ('{"grade": 3.0}', "unparsable"),
    ('{"grade": 2.5}', "unparsable"),
    ('{"grade": 1e0}', "unparsable"),
    ('{"grade": true}', "unparsable"),
    ('{"grade": false}', "unparsable"),
    ('{"grade": null}', "unparsable"),
    ('{"grade": ""}', "unparsable"),
    ('{"grade": [2]}', "unparsable"),
    ('{"grade": {"value": 2}}', "unparsable"),
    ('{"grade": "two"}', "unparsable"),
    ('{"grade": "2 - highly relevant"}', "unparsable"),
    ('{"grade": NaN}', "unparsable"),
    ('{"grade": Infinity}', "unparsable"),
    ('{"grade": ３}', "unparsable"),
    ('{"grade": ٣}', "unparsable"),
    ('{"grade": "３"}', "unparsable"),
    ('{"grade": 02}', "unparsable"),
    ('{"grade": +2}', "unparsable"),
    ('{"grade": 0x2}', "unparsable"),
    ('{"grade": 2/3}', "unparsable"),
    ('{"grade": ' + "9" * 5000 + "}", "unparsable"),
    ('{"grade": -' + "9" * 5000 + "}", "unparsable"),
    ('{"grade": 2, "seed": ' + "9" * 5000 + "}", "unparsable"),
    # not JSON
    ("{'grade': 2}", "unparsable"),
    ("{grade: 2}", "unparsable"),
    ('{"grade": 2,}', "unparsable"),
    ('{"grade" 2}', "unparsable"),
    ("{“grade”: 2}", "unparsable"),
    ('{"grade": 2', "unparsable"),
    ('{"reason": "cut in the mid', "unparsable"),
    ('{"reason": "cut", "gra', "unparsable"),
    ('{"grade":', "unparsable"),
    ('{"result": {"grade": 2}', "unparsable"),
    ('{"grade": 2 // on topic\n}', "unparsable"),
    ('{"a": {"grade": 3}, oops} {"grade": 1}', "unparsable"),
    ("{" * 5000, "unparsable"),
    ('{"a":' * 50_000, "unparsable"),
    ("{} " * 2000, "unparsable"),
    # no verdict where one was asked for
    ("", "unparsable"),
    ("   \n", "unparsable"),
    ("2", "unparsable"),
    ("Grade: 2", "unparsable"),
    ("##final score: 2", "unparsable"),
    ("highly relevant", "unparsable"),
    ("null", "unparsable"),
    ("{}", "unparsable"),
    ("[]", "unparsable"),
    ('[{"grade": 2}]', "unparsable"),
    ('"{\\"grade\\": 2}"', "unparsable"),
    ('{"relevance": 2}', "unparsable"),
    ('{"relevance": null}', "unparsable"),
    ('{"Grade": 2}', "unparsable"),
    ('{"result": {"grade": 2}}', "unparsable"),
    ("<grade>2</grade>", "unparsable"),
    (SCHEMA, "unparsable"),
    (f"```json\n{SCHEMA}\n```", "unparsable"),
    ('<think>{"grade": 2}', "unparsable"),
    ('<think>So {"grade": 2}</think>', "unparsable"),
    ("<html><body>502 Bad Gateway</body></html>", "unparsable"),
    ("x" * 10_000_000, "unparsable"),
    ('{"grade": 2}' + " " * 10_000_000, "unparsable"),
    # off the scale
    ('{"grade": 4}', "out_of_scale"),
    ('{"grade": -1}', "out_of_scale"),
    ('{"grade": 100}', "out_of_scale"),
    ('{"grade": 12345678901234567890}', "out_of_scale"),
    # more than one verdict
    ('{"grade": 1, "grade": 2}', "unparsable"),
    ('{"grade": 2, "grade": 2}', "unparsable"),
    ('{"grade": 2, "reason": "a", "reason": "b"}', "unparsable"),
    ('{"grade": 1} {"grade": 2}', "conflict"),
    ('{"grade": 1}\n{"grade": 1}', "conflict"),
    ('```json\n{"grade": 1}\n```\nOn reflection:\n```json\n{"grade": 2}\n```', "conflict"),
    ('[{"grade": 1}, {"grade": 2}]', "conflict"),
    ('{"draft": {"grade": 3}} {"grade": 1}', "conflict"),
    ('Grade: 3\n{"grade": 1}', "conflict"),
    ('{"grade": 1}\n\n##final score: 2', "conflict"),
    ('{"grade": 1, "score": 3}', "conflict"),
    ('{"grade": 2}. The relevance is 0.', "conflict"),
    ('{"score": 1}\n{"grade": 2}', "conflict"),
    ('{"Grade": 1}\n{"grade": 2}', "conflict"),
    ('{"grade": 2, "Grade": 3}', "conflict"),
    ('{"grade": 2, "relevance": "3"}', "conflict"),
    ('{"grade": 2, "relevance_grade": 3}', "conflict"),
    ('{"grade": 2, "finalScore": 3.0}', "conflict"),
    ('{"grade": 2, "alternatives":[{"grade":3}]}', "conflict"),
    ('{"grade":2,"reason":{"grade":3}}', "unparsable"),
    ('"grade": 3\n{"grade": 2}', "conflict"),
    ('<grade>3</grade>\n{"grade": 2}', "conflict"),
    ('Label: 1\n{"grade": 2}', "conflict"),
    ('Final Answer: 3 {"grade": 2}', "conflict"),
    ('Grade 3\n{"grade": 2}', "conflict"),
    ('I give it a grade of 3.\n{"grade": 2}', "conflict"),
    ('I would give this a 3.\n{"grade": 2}', "conflict"),
    ('I rate this 3. {"grade": 2}', "conflict"),
    ('relevance level: 3\n{"grade": 2}', "conflict"),
    ('The relevance grade is therefore 3. {"grade": 2}', "conflict"),
    ('Score: 3/3\n{"grade": 2}', "conflict"),
    ('{"grade": 2}\nGrade: ' + "9" * 5000, "conflict"),
    ('3\n{"grade": 2}', "conflict"),
    # a number beside the object is a conflict, even where it is the same grade or none
    ('{"score": 2}\n{"grade": 2}', "conflict"),
    ('{"grade": 2, "relevance": "2"}', "conflict"),
    ('{"grade": 2, "label": "highly relevant"}', 2),
    ('{"reason": "a grade of 3 would need an exact answer", "grade": 2}', 2),
    ('I give it a grade of 2.\n{"grade": 2}', "conflict"),
    ('The relevance grade is therefore 2. {"grade": 2}', "conflict"),
    ('<grade>2</grade>\n{"grade": 2}', "conflict"),
    ('Its relevance is high because it names 3 teas. {"grade": 2}', "conflict"),
    ('On a relevance scale of 0 to 3: {"grade": 2}', "conflict"),
    ('A grade from 0-3 was asked for. {"grade": 2}', "conflict"),
    ('It is relevant. It lists 5 teas, 3 of them green. {"grade": 2}', "conflict"),
    ('{"grade": 2, "a": ' + "[" * 500 + "]" * 500 + "}", 2),
    # a thought that the prompt began
    ('maybe {"grade": 1} fits. </think>', "unparsable"),
    ('maybe {"grade": 1} fits. </think>\n{"grade": 2}', 2),
    ('grade: 3, no </think> or grade: 1 </think>\n{"grade": 2}', 2),
    ('<think>a</think> {"grade": 3} </think>{"grade": 2}', 2),
    ('no</think><think>{"grade": 3}</think>{"grade": 2}', 2),
    ('no</think><think>{"grade": 3}', "unparsable"),
    ('{"reason": "it explains </think>", "grade": 2}', 2),
    # an object in a list
    ('[{"grade": 2}, {"note": 1}]', "conflict"),
    ('[{"note": 1}, {"grade": 2}]', "conflict"),
    ('[1] [["a", {"grade": 2}]]', "conflict"),
    ("[" * 100_000 + '{"grade": 2}', "unparsable"),
    # no answer at all
    ("I'm sorry, but I can't assist with that.", "refused"),
    ("I’m sorry, I can’t help with that request.", "refused"),
    ("I cannot grade this content.", "refused"),
    ("As an AI language model, I do not judge people.", "refused"),
    ("Unfortunately, I am not able to answer.", "refused"),
]


@pytest.mark.parametrize(("text", "meant"), JSON_SHAPES, ids=lambda value: str(value)[:40])
def test_a_json_reply_is_its_grade_or_its_failure(text: str, meant: int | str) -> None:
    outcome = parse_grade(PAIR, Reply(text), SCALE)
    got = outcome.grade if isinstance(outcome, Judgement) else outcome.status
    assert (got, type(got)) == (meant, type(meant))


def test_the_table_of_shapes_is_long_enough() -> None:
    assert len({text for text, _ in JSON_SHAPES}) >= 80


TEXT_SHAPES: list[tuple[str, int | str]] = [
    ("##final score: 2", "unparsable"),
    ("## final score: 2", "unparsable"),
    ("M: 1\nT: 2\n##final score: 3", "unparsable"),
    ("Final score: **2**", "unparsable"),
    ("**Final score:** 2", "unparsable"),
    ("Grade = 0", "unparsable"),
    ("2", 2),
    ("  3\n", 3),
    ("<think>score: 1</think>score: 2", "unparsable"),
    ("##final score: 4", "unparsable"),
    ("-1", "out_of_scale"),
    ("##final score: 1\n##final score: 2", "unparsable"),
    ('score: 1\n{"grade": 2}', "unparsable"),
    ('score: 1\n{"grade": 1}', "unparsable"),
    ("Score: 3 was my first idea, but final: 1", "unparsable"),
    ("##final score: 2~3", "unparsable"),
    ("##final score: 2%", "unparsable"),
    ("12345678901", "unparsable"),
    ("9" * 5000, "unparsable"),
    ("score: " + "9" * 5000, "unparsable"),
    ("0" * 5000 + "2", "unparsable"),
    ("maybe score: 1 </think>", "unparsable"),
    ("maybe score: 1 </think>score: 2", "unparsable"),
    ("##final score: 2.5", "unparsable"),
    ("##final score: 2/3", "unparsable"),
    ("score: 0-3", "unparsable"),
    ("score: 2 or 3", "unparsable"),
    ("##final score: two", "unparsable"),
    ("##final score: ２", "unparsable"),
    ("highly relevant", "unparsable"),
    ("", "unparsable"),
    ("I'm sorry, I cannot do that.", "refused"),
]


@pytest.mark.parametrize(("text", "meant"), TEXT_SHAPES, ids=lambda value: str(value)[:40])
def test_a_text_reply_is_its_score_or_its_failure(text: str, meant: int | str) -> None:
    outcome = parse_grade(PAIR, Reply(text), SCALE, text=True)
    got = outcome.grade if isinstance(outcome, Judgement) else outcome.status
    assert (got, type(got)) == (meant, type(meant))


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply('{"grade": 2}', "length"), "truncated"),
        (Reply('{"grade": 2}', "max_tokens"), "truncated"),
        (Reply('{"grade": 2}', "MAX_TOKENS"), "truncated"),
        (Reply('{"grade": 2}', "content_filter"), "filtered"),
        (Reply('{"grade": 2}', "SAFETY"), "filtered"),
        (Reply('{"grade": 2}', "stop", "I will not."), "refused"),
        (Reply('{"grade": 2}', "refusal"), "refused"),
        (Reply("", "content_filter", "policy"), "filtered"),
        (Reply("", "tool_calls"), "unparsable"),
        (Reply('{"grade": 0}', "content-filter"), "filtered"),
        (Reply('{"grade": 0}', "model_length"), "truncated"),
        (Reply('{"grade": 0}', "error"), "unparsable"),
        (Reply('{"grade": 0}', "abort"), "unparsable"),
        (Reply('{"grade": 0}', "cancelled"), "unparsable"),
        (Reply('{"grade": 0}', "insufficient_system_resource"), "unparsable"),
    ],
)
def test_how_a_reply_ended_is_looked_at_before_its_text(reply: Reply, status: str) -> None:
    outcome = parse_grade(PAIR, reply, SCALE)
    assert isinstance(outcome, Failure)
    assert outcome.status == status
    assert outcome.status in FAILURES


@pytest.mark.parametrize(
    "finish_reason", ["stop", "", "eos", "end_turn", "STOP", "FINISH_REASON_STOP"]
)
def test_a_good_ending_is_an_answer(finish_reason: str) -> None:
    outcome = parse_grade(PAIR, Reply('{"grade": 2}', finish_reason), SCALE)
    assert outcome == Judgement(PAIR, 2)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text() | st.text(alphabet='{}[]":,gradescoe0123 -.\n'))
def test_a_reply_with_no_number_after_grade_never_becomes_a_grade(text: str) -> None:
    outcome = parse_grade(PAIR, Reply(text), SCALE)
    if isinstance(outcome, Judgement):
        assert f'"grade":{outcome.grade}' in "".join(text.split()).replace('":-0', '":0')
    else:
        assert outcome.status in FAILURES


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 3), st.text(), st.text(alphabet="abc .!\n{}"))
def test_an_object_written_as_json_keeps_its_grade_and_reason(
    grade: int, reason: str, prose: str
) -> None:
    assume(not refuses(reason))
    text = json.dumps({"reason": reason, "grade": grade})
    outcome = parse_grade(PAIR, Reply(text), SCALE)
    assert outcome == Judgement(PAIR, grade, reason)
    wrapped = parse_grade(PAIR, Reply(f"{prose.replace('{', '')}{text}{prose}"), SCALE)
    assert not isinstance(wrapped, Judgement) or wrapped.grade == grade


PROSE_BESIDE = [
    "Here is the grade:",
    "I cannot judge this passage.",
    "three",
    "Je ne peux pas juger ce passage.",
    "これは関連しません。",
    "抱歉，我无法回答这个问题。",
    "не могу оценить",
    "لا أستطيع",
    "स्कोर तीन है",
    "gar nicht, also null",
]


@pytest.mark.parametrize("prose", PROSE_BESIDE)
def test_prose_beside_an_object_is_no_grade_in_any_language(prose: str) -> None:
    for text in (f'{prose} {{"grade": 2}}', f'{{"grade": 2}}\n{prose}', f'{prose}{{"grade": 2}}!'):
        outcome = parse_grade(PAIR, Reply(text), SCALE)
        assert isinstance(outcome, Failure)
        assert outcome.status in {"unparsable", "refused"}


@pytest.mark.parametrize("number", ["3", "٣", "३", "３", "²", "Ⅱ", "½", "三", "3️⃣"])
def test_a_number_beside_a_grade_is_a_conflict_in_any_script(number: str) -> None:
    beside = (f'{number}\n{{"grade": 2}}', f'{{"grade": 2}} {number}')
    inside = (f'{{"grade": 2, "note": "{number}"}}', f'{{"{number}": true, "grade": 2}}')
    for text in (*beside, *inside):
        outcome = parse_grade(PAIR, Reply(text), SCALE)
        assert isinstance(outcome, Failure)
        assert outcome.status == "conflict"


def test_a_reason_may_hold_any_number() -> None:
    reason = "Grade 3 would need 2 examples; ３ and ٣ are named."
    text = json.dumps({"reason": reason, "grade": 1})
    assert parse_grade(PAIR, Reply(text), SCALE) == Judgement(PAIR, 1, reason)


def test_a_thought_is_what_ends_last_wherever_it_began() -> None:
    for thought in ("<think>3</think>", "3</think>", "<think>{</think>3</thinking>"):
        assert parse_grade(PAIR, Reply(thought + '{"grade": 1}'), SCALE) == Judgement(PAIR, 1)
        assert parse_grade(PAIR, Reply(f"{thought}1"), SCALE, text=True) == Judgement(PAIR, 1)


def tokens(*parts: tuple[str, dict[str, float]]) -> tuple[dict[str, float], ...]:
    return tuple({token: math.log(0.9)} | others for token, others in parts)


def test_the_distribution_is_that_of_the_token_which_holds_the_grade() -> None:
    tops = tokens(('{"', {}), ("grade", {}), ('":', {}), (" ", {"2": math.log(0.05)}))
    digit = {"2": math.log(0.6), "3": math.log(0.3), "x": math.log(0.1)}
    outcome = parse_grade(PAIR, Reply('{"grade": 2}', top_tokens=(*tops, digit, {"}": 0.0})), SCALE)
    assert isinstance(outcome, Judgement)
    assert outcome.distribution == pytest.approx({0: 0, 1: 0, 2: 2 / 3, 3: 1 / 3})


def test_the_distribution_reads_tokens_that_carry_a_space() -> None:
    tops = ({'{"grade":': 0.0}, {" 2": math.log(0.5), " 1": math.log(0.25), "2": -9.0}, {"}": 0.0})
    outcome = parse_grade(PAIR, Reply('{"grade": 2}', top_tokens=tops), SCALE)
    assert isinstance(outcome, Judgement)
    assert outcome.distribution == pytest.approx({0: 0, 1: 1 / 3, 2: 2 / 3, 3: 0}, abs=1e-3)


def test_the_distribution_of_a_text_reply_is_that_of_its_number() -> None:
    tops = ({"<think>1": 0.0}, {"</think>": 0.0}, {"2": math.log(0.75), "3": math.log(0.25)})
    outcome = parse_grade(PAIR, Reply("<think>1</think>2", top_tokens=tops), SCALE, text=True)
    assert isinstance(outcome, Judgement)
    assert outcome.distribution == pytest.approx({0: 0, 1: 0, 2: 0.75, 3: 0.25})


def test_tokens_that_do_not_spell_the_text_give_no_distribution() -> None:
    tops = ({"<0x7B>": 0.0}, {"2": 0.0})
    outcome = parse_grade(PAIR, Reply('{"grade": 2}', top_tokens=tops), SCALE)
    assert outcome == Judgement(PAIR, 2)
