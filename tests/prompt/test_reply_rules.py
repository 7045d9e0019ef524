"""What a template says of grades and replies agrees with what is read, or is said with its line."""

from pathlib import Path

import pytest
from every_row import every_row

from labeler.errors import BadInput
from labeler.judging.judge import judge
from labeler.models.session import Control
from labeler.prompt import checked_prompt, prompt_files, read_prompt
from labeler.prompt.read import read_draft
from labeler.testing import fake_model, small_collection

SCALE = '[scale]\n0 = "no"\n1 = "a bit"\n2 = "mostly"\n3 = "yes"\n'
ASKED = 'Answer with {"grade": N}.'


def written(folder: Path, body: str, front: str = "", scale: str = SCALE) -> Path:
    """A prompt whose template begins on line 11, one line lower for each line of `front`."""
    path = folder / "p.md"
    head = f'+++\nkind = "grade"\ndescription = "d"\n{front}{scale}+++\n'
    path.write_text(f"{head}# user\n{body}\n{{query}} {{passage}}\n")
    return path


def problems_of(path: Path) -> list[str]:
    return [f"{p.level} {p.line} {p.text}" for p in sorted(read_draft(path).problems)]


LINES = "\n".join(f"{grade} = of this kind" for grade in range(4))
AGREED = {
    "a range": f"Give a grade from 0 to 3. {ASKED}",
    "a list": f"{LINES}\n{ASKED}",
    "a list of points": "- 3: best\n- 2: good\n- 1: bad\n- 0: worst\nReply with `grade`.",
    "steps beside a list": f"{LINES}\n1: read it\n2: think\n3: grade\n4: answer\n{ASKED}",
    "lengths": f"Passages have 100-200 words. Grade them. {ASKED}",
    "neighbors": f"Between 2 and 3, take the grade 2; so do for 2 to 3. {ASKED}",
    "counts": f"Grades 2 and 3 are relevant, in 1-2 % of the pairs. {ASKED}",
    "a table": f"| 0 | no |\n| 1 | bit |\n| 2 | most |\n| 3 | yes |\n{ASKED}",
    "bold grades": f"**0 (no)**: x\n**1 (bit)**: x\n**2 (most)**: x\n**3 (yes)**: x\n{ASKED}",
    "numbered steps": f"1. read\n2. think\n3. grade\n4. answer\n{ASKED}",
    "marks of aspects": f"Match: a score of 0-3. Trust: a score of 0-3. Overall: 0-3. {ASKED}",
    "another language": f"0 = 无关\n1 = 相关\n2 = 部分\n3 = 完全\n{ASKED}",
    "an input that is JSON": f'The page is {{"title": "x", "text": "y"}}. {ASKED}',
    "a page of numbers": f"In 2019-2020 the rating 3.5-4.5 was one of 12/1-5. {ASKED}",
}


@pytest.mark.parametrize("body", AGREED.values(), ids=AGREED)
def test_words_that_agree_with_the_scale_or_speak_of_other_things_are_no_problem(
    body: str, tmp_path: Path
) -> None:
    assert problems_of(written(tmp_path, body)) == []


PROBLEMS = {
    "error 11 the template says \"0 to 4\", and [scale] goes from 0 to 3": f"Grade 0 to 4. {ASKED}",
    "error 11 the template says \"1–5\"": f"On a scale of 1–5. {ASKED}",
    "error 11 the template says \"between 0 and 9\"": f"A score between 0 and 9. {ASKED}",
    "warning 12 the template says \"0-9\"": f"a grade from 0 to 3\nmarks 0-9 per level\n{ASKED}",
    "error 15 the template lists the grade 4, which [scale] lacks": f"{LINES}\n4: more\n{ASKED}",
    "warning 8 [scale] has the grade 3, which the template does not list": (
        f"0 = no\n1 = a bit\n2 = mostly\n{ASKED}"
    ),
    "error 11 the template asks for {\"score\": N}, and a reply is read by the key 'grade'": (
        'Reply as {"score": N}'
    ),
    "error 11 the template asks for \"##final score: N\", and reply = \"json\" reads an object": (
        "Reply as ##final score: N"
    ),
    "warning 10 the template does not say how to reply; ask for {\"grade\": N}": "Grade it.",
    "error 13 this example of an answer is not read as a grade (4 is not one of 0, 1": (
        f'{ASKED}\n# assistant\n{{"grade": 4}}\n# user'
    ),
    "error 13 this example of an answer is not read as a grade": f"{ASKED}\n# assistant\n4\n# user",
}  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_disagrees_is_said_with_its_line(problem: str, tmp_path: Path) -> None:
    shown = problems_of(written(tmp_path, PROBLEMS[problem]))
    assert any(line.startswith(problem) for line in shown), shown


READ = {
    "a pattern": ("reply = 'pattern:##final score: (\\d)'\n", "Reply as ##final score: score"),
    "a pattern of a word": ("reply = 'pattern:relevance: (\\d)'\n", "Reply as relevance: N"),
    "a bare grade": ('reply = "bare"\n', "Reply with the number alone."),
    "a bare grade in an object": ('reply = "bare"\n', ASKED),
    "a labelled grade": ('reply = "bare"\n', "Reply as ##final score: N"),
    "another key": ("reply = 'json:O'\n", 'Reply as {"M": N, "T": N, "O": N}'),
    "a decorated answer": ("", f'{ASKED}\n# assistant\nHere: **{{"grade": "2"}}**\n# user'),
    "an answer in a pattern": (
        "reply = 'pattern:score: (\\d)'\n", "Grade it.\n# assistant\nScore: 2\n# user"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_a_form_that_the_declared_reader_reads_is_no_problem(case: str, tmp_path: Path) -> None:
    front, body = READ[case]
    assert problems_of(written(tmp_path, body, front)) == []


def test_a_reader_that_is_none_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    draft = read_draft(written(tmp_path, ASKED, 'reply = "xml"\n'))
    assert [problem.at("p.md") for problem in draft.problems] == [
        "p.md:4: reply: no reader of replies 'xml'; "
        'write "json", "json:KEY", "bare" or "pattern:EXPRESSION"'
    ]


FRONTS = {
    "error 12 the template asks for \"{\"why\": \"x 2\", \"grade\": N}\", which reply": (
        'reply = "bare"\n', 'Reply as {"why": "x 2", "grade": N}'
    ),
    "error 12 the template asks for \"##final score: N\", which reply = 'pattern:grade (": (
        "reply = 'pattern:grade (\\d)'\n", "Reply as ##final score: N"
    ),
    "error 12 the template asks for {\"O\": N}, and a reply is read by the key 'M'": (
        "reply = 'json:M'\n", 'Reply as {"O": N}'
    ),
    "warning 11 the template does not show the form of a reply that the pattern finds": (
        "reply = 'pattern:grade (\\d)'\n", "Grade it."
    ),
    "error 14 this example of an answer is not read as a grade (nothing that": (
        "reply = 'pattern:grade (\\d)'\n", "Say grade: N\n# assistant\nscore 2\n# user"
    ),
}  # fmt: skip


@pytest.mark.parametrize("problem", FRONTS)
def test_a_front_matter_that_does_not_go_with_the_text_is_said(
    problem: str, tmp_path: Path
) -> None:
    front, body = FRONTS[problem]
    shown = problems_of(written(tmp_path, body, front))
    assert any(line.startswith(problem) for line in shown), shown


@every_row("name", prompt_files())
def test_a_shipped_prompt_has_no_problem(name: str) -> None:
    lines: list[str] = []
    kind = read_prompt(prompt_files()[name]).front.kind
    assert checked_prompt(name, kind, lines.append).name == name
    assert lines == []


def test_a_prompt_that_contradicts_its_scale_is_refused_before_any_call(tmp_path: Path) -> None:
    asked: list[object] = []
    model = fake_model(lambda request: asked.append(request) or '{"grade": 2}')  # type: ignore[func-returns-value]  # it is None
    path = written(tmp_path, f"A grade from 0 to 4. {ASKED}")
    with pytest.raises(BadInput, match=r'p.md:11: the template says "0 to 4", and \[scale\]'):
        judge(small_collection(tmp_path / "c"), model=model, prompt=str(path), name="x")
    assert asked == []


def test_a_warning_of_a_prompt_is_noted_and_the_pairs_are_judged(tmp_path: Path) -> None:
    lines: list[str] = []
    path = written(tmp_path, "Grade it.")
    collection, control = small_collection(tmp_path / "c"), Control(note=lines.append)
    model = fake_model('{"grade": 2}')
    result = judge(collection, model=model, prompt=str(path), name="x", control=control)
    assert result.failed == 0
    assert [line for line in lines if "p.md:10" in line] == [
        f'warning: {path}:10: the template does not say how to reply; ask for {{"grade": N}}'
    ]
