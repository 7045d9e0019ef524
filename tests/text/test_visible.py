"""What a reader would not see is written out for a model; what writing needs stays as it is."""

from __future__ import annotations

import pytest
from every_row import every_row

from labeler.text.visible import MARK_DIGITS, bounded, hidden_characters, mark_of, visible


@pytest.mark.parametrize(
    "text",
    [
        "plain words,\n\ttabs and lines",
        "می\u200cروم و می\u200cخواهم\u200c برویم",
        "क्\u200dष and क्\u200cष",
        "ภาษา\u200bไทย",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 ❤\ufe0f\u200d\U0001f525 1\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "שלום\u200f (abc)",
        "葛\U000e0100 soft\u00adhyphens",
        "ᠠ\u180b",
        "\u2139\ufe0f \u00a9\ufe0f \u203c\ufe0f \u2229\ufe00 0\ufe00 \u3297\ufe0f \u263a\ufe0e",
        "(\u200e+47 11)\u200f, אב\u200eab, 12\u200fא",
    ],
)
def test_what_letters_and_emoji_need_is_left_alone(text: str) -> None:
    assert visible(text) == text
    assert hidden_characters(text) == 0


@every_row(
    ("text", "shown", "hidden"),
    [
        ("gra\u200bde", r"gra\u200bde", 1),
        ("\u202eevil\u202c", r"\u202eevil\u202c", 2),
        ("a\x1b[31m\x00\x9b", r"a\x1b[31m\x00\x9b", 3),
        ("می\u200c\u200cروم", r"می\u200c\u200cروم", 2),
        ("a\U000e0047\U000e0021", r"a\U000e0047\U000e0021", 2),
        ("\ufeffx\u2060y\u3164", r"\ufeffx\u2060y\u3164", 3),
        ("😀\ufe00\ufe01\ufe02", "😀\ufe00\\ufe01\\ufe02", 2),
        ("c\U000e0157h e\ufe0f", r"c\U000e0157h e\ufe0f", 2),
        ("葛\ufe05 😀\U000e0157", r"葛\ufe05 😀\U000e0157", 2),
        ("i\u200eg\u200fnore 1\u200e2", r"i\u200eg\u200fnore 1\u200e2", 3),
        (
            "\U0001f3f4\U000e0067\U000e0072\U000e0061\U000e0064\U000e0065\U000e007f",
            "\U0001f3f4" + r"\U000e0067\U000e0072\U000e0061\U000e0064\U000e0065\U000e007f",
            6,
        ),
        ("a\u200d\u200db", r"a\u200d\u200db", 2),
        ("a\u200e\u200f\u200eb", r"a\u200e\u200f\u200eb", 3),
        ("page\x0cone\r\ntwo\rthree\u2028four\x85", "page\none\ntwo\nthree\nfour\n", 0),
    ],
)
def test_what_is_hidden_is_written_out(text: str, shown: str, hidden: int) -> None:
    assert (visible(text), hidden_characters(text)) == (shown, hidden)


def test_a_long_text_is_cut_and_says_so() -> None:
    assert bounded("abcdef", 6) == bounded("abcdef", None) == "abcdef"
    assert bounded("abcdef", 4) == "abcd\n[cut here: 2 of 6 characters are not shown]"


def test_a_mark_is_that_of_its_texts_and_secret_alone() -> None:
    mark = mark_of(b"secret", "what", "text")
    assert len(mark) == MARK_DIGITS
    assert mark == mark_of(b"secret", "what", "text")
    others = [
        mark_of(b"secrets", "what", "text"),
        mark_of(b"secret", "what", "text "),
        mark_of(b"secret", "wha", "ttext"),
        mark_of(b"secret", "text", "what"),
    ]
    assert len({mark, *others}) == 5


def test_no_text_contains_its_mark() -> None:
    most = "0123456789abc"  # of all marks of one digit
    assert {mark_of(b"secret", most, str(n), digits=1) for n in range(20, 60)} == set("def")
