"""What a reply says: the shapes that servers and models really send, and what each must become.

A grade may be decorated in any way. It is none where a reply says two, corrects itself, refuses, is
cut, or where nobody could tell which grade is meant.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from every_row import every_row
from examples import steadily
from hypothesis import assume, given
from hypothesis import strategies as st
from odd_replies import ODD_REPLIES

from labeler.data import FAILURES, Failure, Judgement, Outcome, Pair
from labeler.errors import Misuse
from labeler.judging.reply import parse_grade
from labeler.model import Reply
from labeler.prompt.reply import ReplyReader, parse_reader, refuses

PAIR = Pair("q1", "d1")
SCALE = (0, 1, 2, 3)
BARE = ReplyReader("bare")

ROWS = [(reader, *row) for reader, rows in ODD_REPLIES.items() for row in rows]


def said(outcome: Outcome) -> int | str:
    return outcome.grade if isinstance(outcome, Judgement) else outcome.status


@every_row("reader, text, meant", ROWS)
def test_a_reply_is_its_grade_or_its_failure(reader: str, text: str, meant: int | str) -> None:
    got = said(parse_grade(PAIR, Reply(text), SCALE, parse_reader(reader)))
    assert (got, type(got)) == (meant, type(meant))


def test_the_table_of_replies_is_long_and_has_many_of_each_outcome() -> None:
    outcomes = [meant for _, _, meant in ROWS]
    assert len({(reader, text) for reader, text, _ in ROWS}) == len(ROWS) >= 300
    for meant in ("refused", "conflict", "unparsable", "out_of_scale", 0, 1, 2, 3):
        assert outcomes.count(meant) >= 10, meant


HUGE = ["x" * 10_000_000, '{"grade": 2}' + " " * 10_000_000, '{"grade": ' + "9" * 5000 + "}"]
DEEP = ["{" * 5000, '{"a":' * 50_000, "{} " * 2001, '{"a":1,}' * 50_000, "9" * 5000]


@pytest.mark.parametrize("reader", ODD_REPLIES)
@pytest.mark.parametrize("text", HUGE + DEEP, ids=lambda text: text[:12])
def test_what_no_reply_to_a_pair_is_as_long_or_as_deep_as_is_no_grade(
    text: str, reader: str
) -> None:
    outcome = parse_grade(PAIR, Reply(text), SCALE, parse_reader(reader))
    assert said(outcome) == "unparsable"
    assert isinstance(outcome, Failure)
    assert len(outcome.detail) < 400


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("xml", 'no reader of replies \'xml\'; write "json", "json:KEY", "bare" or "pattern:EXPRE'),
        ("text", "no reader of replies"),
        ("json:", "no reader of replies"),
        ("pattern:", "no reader of replies"),
        ("bare:grade", "no reader of replies"),
        ("pattern:score", "it needs 1 group, which catches the grade"),
        (r"pattern:(score): (\d)", "it needs 1 group"),
        ("pattern:score: (\\d", "missing ), unterminated subpattern"),
    ],
)
def test_a_declaration_that_is_no_reader_is_refused_with_what_would_work(
    declared: str, problem: str
) -> None:
    with pytest.raises(Misuse) as raised:
        parse_reader(declared)
    assert problem in str(raised.value)


def recorded_texts(folder: Path) -> Iterator[str]:
    """The texts and the tool calls' arguments of what real providers answered."""
    for path in sorted(folder.rglob("*.yaml")):
        for exchange in yaml.safe_load(path.read_text(encoding="utf-8")).get("interactions", ()):
            response = exchange.get("response") or {}
            yield from _texts_of(response.get("parsed_body"))


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in {"content", "text", "arguments"} and isinstance(inner, str):
                yield inner
            yield from _texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_of(inner)


@pytest.mark.sweep
def test_an_object_is_read_in_each_form_that_real_providers_write_objects_in(
    shared: Path,
) -> None:
    objects = [
        text
        for text in recorded_texts(shared / "providers")
        if '{"' in text.replace(" ", "").replace("\n", "")
    ]
    assert len(objects) >= 20
    for text in objects:
        graded = text.replace("{", '{"grade": 2, ', 1)
        assert parse_grade(PAIR, Reply(graded), SCALE) == Judgement(PAIR, 2), graded


@pytest.mark.sweep
def test_the_prose_of_real_models_round_an_object_never_changes_its_grade(shared: Path) -> None:
    prose = [text for text in recorded_texts(shared / "providers") if "{" not in text]
    shapes = [f'{text}\n\n{{"grade": 2}}' for text in prose] + [
        f'{{"grade": 2}}\n\n{text}' for text in prose
    ]
    outcomes = [said(parse_grade(PAIR, Reply(text), SCALE)) for text in shapes]
    assert len(outcomes) >= 150
    assert set(outcomes) <= {2, "conflict", "refused"}
    assert outcomes.count(2) >= 0.95 * len(outcomes)


@pytest.mark.sweep
def test_no_bare_reply_of_real_models_that_graded_nothing_becomes_a_grade(shared: Path) -> None:
    readers = [BARE, ReplyReader(), parse_reader(r"pattern:##final score: (\d)")]
    for text in recorded_texts(shared / "providers"):
        for reader in readers:
            outcome = parse_grade(PAIR, Reply(text), SCALE, reader)
            assert isinstance(outcome, Failure) or text.strip(" .") == str(outcome.grade), text


@every_row(
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


@pytest.mark.sweep
@steadily(300)
@given(st.text() | st.text(alphabet='{}[]":,gradescoe0123 -.\n'))
def test_a_reply_without_the_digit_of_a_grade_never_becomes_it(text: str) -> None:
    for reader in ("json", "bare", r"pattern:score: (\d)", "json:O"):
        outcome = parse_grade(PAIR, Reply(text), SCALE, parse_reader(reader))
        if isinstance(outcome, Judgement):
            assert outcome.grade in {int(sign) for sign in text if sign.isdecimal()}
        else:
            assert outcome.status in FAILURES


@steadily()
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


@pytest.mark.parametrize("number", ["3", "٣", "३", "３", "三", "3️⃣"])
def test_a_number_in_another_key_is_no_conflict_in_any_script(number: str) -> None:
    for text in (f'{{"grade": 2, "note": "{number}"}}', f'{{"{number}": true, "grade": 2}}'):
        assert parse_grade(PAIR, Reply(text), SCALE) == Judgement(PAIR, 2)


def test_a_reason_may_hold_any_number() -> None:
    reason = "Grade 3 would need 2 examples; ３ and ٣ are named."
    text = json.dumps({"reason": reason, "grade": 1})
    assert parse_grade(PAIR, Reply(text), SCALE) == Judgement(PAIR, 1, reason)


def test_a_thought_is_what_ends_last_wherever_it_began() -> None:
    for thought in ("<think>3</think>", "3</think>", "<think>{</think>3</thinking>"):
        assert parse_grade(PAIR, Reply(thought + '{"grade": 1}'), SCALE) == Judgement(PAIR, 1)
        assert parse_grade(PAIR, Reply(f"{thought}1"), SCALE, BARE) == Judgement(PAIR, 1)


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
    outcome = parse_grade(PAIR, Reply("<think>1</think>2", top_tokens=tops), SCALE, BARE)
    assert isinstance(outcome, Judgement)
    assert outcome.distribution == pytest.approx({0: 0, 1: 0, 2: 0.75, 3: 0.25})


@pytest.mark.parametrize(
    ("reader", "before", "after"),
    [
        ("json", 'Of 3 teas: {"note": "3", "grade": ', "}"),
        ("json", '{"grade": "', '"}'),
        ("json", '{"Grade" : ', ', "reason": "not a 3"}'),
        ("json", '{"name": "g", "arguments": "{\\"grade\\": ', '}"}'),
        ("json:O", '{"M": 1, "T": 3, "O": ', "}"),
        ("bare", "**Grade: ", "**"),
        (r"pattern:##final score: (\d)", "M: 3\n## **Final score: ", "**\n"),
    ],
)
def test_the_distribution_is_found_behind_any_decoration(
    reader: str, before: str, after: str
) -> None:
    tops = ({before: 0.0}, {"2": math.log(0.75), "1": math.log(0.25)}, {after: 0.0})
    reply = Reply(f"{before}2{after}", top_tokens=tops)
    outcome = parse_grade(PAIR, reply, SCALE, parse_reader(reader))
    assert isinstance(outcome, Judgement)
    assert outcome.distribution == pytest.approx({0: 0, 1: 0.25, 2: 0.75, 3: 0})


def test_tokens_that_do_not_spell_the_text_give_no_distribution() -> None:
    tops = ({"<0x7B>": 0.0}, {"2": 0.0})
    outcome = parse_grade(PAIR, Reply('{"grade": 2}', top_tokens=tops), SCALE)
    assert outcome == Judgement(PAIR, 2)
