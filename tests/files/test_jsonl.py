"""JSON Lines: the fast parser says what Python's own says, and no key stands twice."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from examples import steadily
from hypothesis import example, given
from hypothesis import strategies as st

from labeler.errors import BadInput
from labeler.files.jsonl import read_rows

KEYS = st.sampled_from(["a", "b", "a:", 'a":', " :", "é", ""]) | st.text(max_size=3)
NUMBERS = st.integers() | st.floats() | st.sampled_from(["-0", "1E400", "1e-400", "0.1e1", "-0.0"])
TEXTS = st.text(max_size=6) | st.sampled_from(['":', " :", "\t:", "\\", "\u2028", "\x7f", ":"])
GAPS = st.sampled_from(["", " ", "\t", "\r", "  "])


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> str:
    """The text of an object, with white space where JSON allows it; its keys may stand twice."""

    def value() -> str:
        kind = draw(st.integers(0, 4 if depth else 2))
        if kind == 0:
            number = draw(NUMBERS)
            return number if isinstance(number, str) else json.dumps(number)
        if kind == 1:
            return json.dumps(draw(TEXTS), ensure_ascii=draw(st.booleans()))
        if kind == 2:
            return draw(st.sampled_from(["null", "true", "false", "NaN", "-Infinity"]))
        if kind == 3:
            return "[" + ", ".join(draw(objects(depth - 1)) for _ in range(2)) + "]"
        return draw(objects(depth - 1))

    members = []
    for key in draw(st.lists(KEYS, max_size=4)):
        name = json.dumps(key, ensure_ascii=draw(st.booleans()))
        members.append(f"{draw(GAPS)}{name}{draw(GAPS)}:{draw(GAPS)}{value()}{draw(GAPS)}")
    return "{" + ",".join(members) + "}"


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def as_python_reads(line: str) -> Any:
    """The oracle: what `json` makes of a line, None where it refuses it."""
    try:
        row = json.loads(line, object_pairs_hook=unique)
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def as_we_read(path: Path) -> Any:
    try:
        return next((row for _, row in read_rows(path)), None)
    except BadInput:
        return None


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type, and nan is nan."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict) and list(one) == list(other):
            pairs += [(one[key], other[key]) for key in one]
        elif isinstance(one, list) and len(one) == len(other):
            pairs += zip(one, other, strict=True)
        elif isinstance(one, dict | list) or repr(one) != repr(other):  # of nan it is the same
            return False
    return True


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows") / "a.jsonl"


@steadily(200)
@given(line=objects())
@example(line='{"a": 1, "a": 2}')
@example(line='{"a" :1, "a":2}')
@example(line='{"a\\":b": 1, "c": {"d":1, "d":2}}')
@example(line='{"a": 12345678901234567890123, "b": 0.1000000000000000055511151231257827}')
@example(line='\ufeff{"a": 1}')
@example(line='{"a": "\\ud800"}')
@example(line="[" * 3000 + "]" * 3000)
@example(line='{"a": ' * 400 + "1" + "}" * 400)
@example(line='{"a": 1} x')
@example(line='{"a": 1,}')
@example(line='{"a": "\x01"}')
def test_a_row_is_what_pythons_own_parser_reads_or_refused(path: Path, line: str) -> None:
    path.write_text(line + "\n", encoding="utf-8", newline="\n")
    expected = as_python_reads(line.removeprefix("\ufeff"))
    assert same(as_we_read(path), expected)


@steadily(200)
@given(line=objects(), at=st.floats(0, 1), cut=st.integers(0, 3), put=st.text(max_size=2))
def test_a_damaged_row_is_what_pythons_own_parser_reads_or_refused(
    path: Path, line: str, at: float, cut: int, put: str
) -> None:
    place = int(at * len(line))
    damaged = (line[:place] + put + line[place + cut :]).replace("\n", "")
    path.write_text(damaged + "\n", encoding="utf-8", newline="\n")
    expected = as_python_reads(damaged.removeprefix("\ufeff"))
    assert same(as_we_read(path), expected)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1}\n\n \t\n{"a": 1, "a": 2}\n', ":4: not JSON: the key 'a' stands there twice"),
        (b'{"a": 1}\n{"a": {"b": 1, "b": ":"}}', ":2: not JSON: the key 'b' stands there twice"),
        (b'{"a": "\\ud800"}\n', ":1: half a surrogate pair"),
        (b'{"a": "\xff"}\n', ":1: not UTF-8 (byte 8); save the file as UTF-8"),
        (b"[1]\n", ":1: expected a JSON object, found [1]"),
        (b'{"a": 1\n', ":1: not JSON: Expecting ',' delimiter"),
    ],
)
def test_a_bad_row_is_named_with_its_line(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(f"{path}{problem}")):
        list(read_rows(path))


def test_bad_rows_are_told_of_where_somebody_asks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\nno\n{"a": 2, "a": 3}\n{"a": "b: c"}\n')
    problems: list[BadInput] = []
    assert list(read_rows(path, problems.append)) == [(1, {"a": 1}), (4, {"a": "b: c"})]
    assert len(problems) == 2
