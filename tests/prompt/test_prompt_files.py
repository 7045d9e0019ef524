"""A prompt's file is read as it is, or every problem in it is said with its line."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from labeler.errors import BadInput, TooLarge
from labeler.prompt import prompt_files
from labeler.prompt.check import PromptCheck, check_prompt
from labeler.prompt.read import LARGEST, read_draft, read_prompt

GOOD = """+++
kind = "grade"
description = "d"
max_tokens = 64

[scale]
0 = "no"
1 = "yes"
+++
# system
You grade.

# user
{query}
{passage}
Answer with {"grade": N}.
"""


def problems_of(text: str, folder: Path) -> list[str]:
    path = folder / "p.md"
    path.write_text(text)
    return [problem.at("p.md") for problem in read_draft(path).problems]


MISTAKES = {
    "p.md:1: expected TOML front matter between two lines of +++; let the first": ("+++\nk", "k"),
    "p.md:15: expected TOML front matter between two lines of +++; end it": ("+++\n# s", "# s"),
    "p.md:3: not TOML: Invalid value (column 15); write each key once, on a line": ('"d"', "d"),
    "p.md:4: not TOML: Cannot overwrite a value": ("max_tokens = 64", 'kind = "grade"'),
    "p.md:1: the key 'kind' is missing; add kind = ": ('kind = "grade"\n', ""),
    "p.md:4: unknown key 'max_token'; did you mean 'max_tokens'? known: kind": ("kens", "ken"),
    "p.md:2: kind is 'grad'; did you mean 'grade'? it should be 'grade'": ('"grade"\n', '"grad"\n'),
    "p.md:4: max_tokens is '64'; it should be a valid integer": ("64", '"64"'),
    "p.md:4: max_tokens is 0; it should be greater than 0": ("64", "0"),
    "p.md:13: the front matter has batch, and": ("max_tokens = 64", "batch = 3"),
    "p.md:9: the grades of [scale] must be integers, and 'max_tokens' is none": (
        '"yes"',
        '"yes"\nmax_tokens = 9',
    ),
    "p.md:8: the grades of [scale] must be integers, and 'high' is none": ("1 =", "high ="),
    "p.md:8: two grades of [scale] are one integer: 0 and 00; leave one out": ("1 =", "00 ="),
    'p.md:6: a prompt of kind "grade" needs a [scale] of two grades': ('1 = "yes"\n', ""),
    'p.md:6: a prompt of kind "grade" needs a [scale]': ('0 = "no"\n1 = "yes"\n', ""),
    "p.md:8: 1 of [scale] is 5; it should be a valid string": ('"yes"', "5"),
    "p.md:10: text before the first section; expected '# system'": ("# system\n", ""),
    "p.md:14: unknown placeholder {qery}; did you mean {query}?": (
        "{query}",
        "{qery}",
    ),
    "p.md:13: the last section must be '# user'; add it": ("# user", "# assistant"),
    "p.md:13: the template does not show {passage} or {text}": ("{passage}", ""),
    "p.md:10: the section '# system' is empty; fill it": ("You grade.", ""),
    "p.md:13: the template does not show {query}, so that all queries": ("{query}", "Query"),
}


@pytest.mark.parametrize("problem", MISTAKES)
def test_a_mistake_is_said_with_its_line_and_what_would_work(problem: str, tmp_path: Path) -> None:
    old, new = MISTAKES[problem]
    changed = GOOD.replace(old, new, 1)
    assert changed != GOOD
    shown = problems_of(changed, tmp_path)
    assert any(line.startswith(problem) for line in shown), shown


def test_a_good_file_has_no_problem_and_is_the_same_with_other_line_ends(tmp_path: Path) -> None:
    assert problems_of(GOOD, tmp_path) == []
    prompt = read_prompt(tmp_path / "p.md")
    assert prompt.grades == (0, 1)
    for written in (GOOD.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + GOOD.encode()):
        (tmp_path / "p.md").write_bytes(written)
        assert read_prompt(tmp_path / "p.md") == prompt


def test_all_problems_of_a_file_are_listed_and_a_reader_is_told_the_first(tmp_path: Path) -> None:
    text = GOOD.replace('"d"', "3").replace("{query}", "{qery}").replace("1 =", "one =")
    assert [line.split(":")[1] for line in problems_of(text, tmp_path)] == ["3", "8", "14"]
    with pytest.raises(BadInput, match=r"p.md:3: description is 3; .*and 2 more errors in the f"):
        read_prompt(tmp_path / "p.md")


def test_bytes_that_are_no_text_and_files_that_are_no_prompt_are_said(tmp_path: Path) -> None:
    path = tmp_path / "p.md"
    path.write_bytes(GOOD.encode().replace(b"You", b"\xff"))
    with pytest.raises(BadInput, match=r"p.md:11: not UTF-8"):
        read_prompt(path)
    path.write_bytes(b"+++\n" + b"x" * LARGEST)
    with pytest.raises(TooLarge, match=r"p.md: more than 256 KB, which no prompt has"):
        read_prompt(path)


SPLICED = [
    *(b"+++\n", b"# user\n", b"[scale]\n", b'9 = "x"\n', b"{", b"}", b'"', b"= ", b"\x00", b"\xff"),
    *(b"\n", b"{{x}}", b'{"grade": 5}', b"0 to 9 grades", b"[[scale]]\n", b'"""', b"scale.x = 1\n"),
]


def checked_file(path: Path) -> PromptCheck | str:
    """The file as it was checked, or the error where it is no text."""
    try:
        return check_prompt(path)
    except BadInput as error:
        return str(error)


def test_whatever_a_file_holds_is_a_prompt_or_lines_that_say_what_would_work(
    tmp_path: Path,
) -> None:
    draws, path = random.Random(3), tmp_path / "p.md"
    originals = [shipped.read_bytes() for shipped in prompt_files().values()]
    outcomes = Counter[bool]()
    for _ in range(120):
        data = bytearray(draws.choice(originals))
        for _ in range(draws.choice([1, 2, 8])):
            at = draws.randrange(len(data))
            data[at : at + draws.choice([0, 0, 20])] = draws.choice(SPLICED)
        path.write_bytes(bytes(data))
        checked = checked_file(path)
        if isinstance(checked, str):
            assert re.match(rf"{re.escape(str(path))}:\d+: ", checked)
            continue
        outcomes[checked.prompt is None] += 1
        json.dumps(checked.as_json())
        for problem in checked.problems:
            assert 1 <= problem.line <= data.count(b"\n") + 2
            assert "; " in problem.text
            assert "\n" not in problem.at(path)
    assert min(outcomes[True], outcomes[False]) > 10
