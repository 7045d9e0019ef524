"""A document as raters read it: nothing lost, the query's words marked, folded around the best."""

from __future__ import annotations

import json
import re

import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.annotate.passages import Folding, ShownParagraph, marked_line, shown, shown_line
from labeler.report.result import as_plain
from labeler.text.visible import visible

SMALL = Folding(whole=12, window=8, fewest=3, paragraph=6)


def marked(paragraphs: tuple[ShownParagraph, ...]) -> list[str]:
    return [text for p in paragraphs for text, is_marked in p.runs if is_marked]


def text_of(paragraph: ShownParagraph) -> str:
    return "".join(text for text, _is_marked in paragraph.runs)


def folds(paragraphs: tuple[ShownParagraph, ...]) -> str:
    return "".join("-" if paragraph.folded else "S" for paragraph in paragraphs)


def sentences(count: int, **others: str) -> str:
    plain = [f"Sentence number {n} tells of nothing in particular." for n in range(count)]
    for number, text in others.items():
        plain[int(number[1:])] = text
    return "\n\n".join(plain)


WORDS = st.sampled_from(
    [*"ab .!\n\t|", "\n\n", "query ", "Wörter ", "東京大学", "\u202e", "x" * 90]
)


@steadily(150)
@given(st.lists(WORDS, max_size=60).map("".join), st.text(max_size=8))
def test_nothing_of_a_text_is_lost_but_blanks(text: str, query: str) -> None:
    whole = "".join(text_of(p) for p in shown(text, query, folding=SMALL))
    assert re.sub(r"\s", "", whole) == re.sub(r"\s", "", visible(text))


@every_row(
    ("query", "text", "expected"),
    [
        ("how do I handle errors", "Error handling: I do handle it.", "Error handling handle"),
        (
            "Passwörter ändern",
            "Das Passwort ist und wird nicht geändert, ändern Sie es.",
            "Passwort ändern",
        ),
        ("東京大学", "東京の大学、京都", "東京 大学"),
        ("CAFÉ", "the café", "café"),
        ("ﬁle", "the File and files", "File files"),
        ("हिन्दी भाषा", "मेरी हिन्दी, हाल", "हिन्दी"),
        ("كتاب", "قرأت كتاب اليوم", "كتاب"),
        ("to be or not to be", "not here", "not"),
        ("what is it", "what it says", "what it"),
        ("C++ & <b>", "c and <b>", "c b"),
        ("", "anything at all", ""),
        ("??!", "anything?!", ""),
    ],
)
def test_words_of_the_query_are_marked_by_their_stems(query: str, text: str, expected: str) -> None:
    assert " ".join(marked(shown(text, query))) == expected


def test_a_title_is_marked_as_a_text_is() -> None:
    runs = marked_line("Handling\n errors \u202e", "how do I handle errors")
    assert runs == (("Handling", True), (" ", False), ("errors", True), (" \\u202e", False))
    assert marked_line("", "errors") == ()


def test_touching_pairs_of_characters_are_one_mark() -> None:
    assert marked(shown("我在東京大学学习", "東京大学")) == ["東京大学"]


def test_a_short_text_is_shown_whole() -> None:
    assert folds(shown(sentences(37), "nothing")) == "S" * 37


def test_a_long_text_is_folded_around_the_passage_with_most_of_the_query() -> None:
    text = sentences(200, n20="Errors are listed.", n120="How errors of blueprints are handled.")
    paragraphs = shown(text, "handle blueprint errors")
    opened = [n for n, paragraph in enumerate(paragraphs) if not paragraph.folded]
    assert opened == list(range(opened[0], opened[-1] + 1))
    assert opened[0] < 120 < opened[-1]
    assert abs((120 - opened[0]) - (opened[-1] - 120)) <= 1
    assert sum(p.words for p in paragraphs if not p.folded) <= Folding().window


def test_a_rare_word_of_the_query_outweighs_one_that_stands_everywhere() -> None:
    text = sentences(200, n150="A blueprint.", n20="Sentence and number, number and sentence.")
    assert not shown(text, "sentence number blueprint")[150].folded


def test_of_equal_passages_the_first_is_shown() -> None:
    text = sentences(300, n100="A blueprint.", n200="A blueprint.")
    paragraphs = shown(text, "blueprint")
    assert (paragraphs[100].folded, paragraphs[200].folded) == (False, True)


def test_without_a_match_the_beginning_is_shown() -> None:
    assert folds(shown(sentences(200), "zebra")).startswith("SSSSSSSSSS")


def test_a_fold_hides_enough_words_to_be_worth_a_key() -> None:
    text = sentences(60, n4="The blueprint stands almost at the beginning.")
    assert folds(shown(text, "blueprint")).lstrip("S").strip("-") == ""


def test_a_long_paragraph_is_cut_at_its_sentences() -> None:
    paragraphs = shown(" ".join(["Each of these sentences has seven words."] * 100), "x")
    assert len(paragraphs) > 5
    assert all(p.words <= 120 and text_of(p).endswith("words.") for p in paragraphs)


def test_a_word_as_long_as_a_text_is_cut_too() -> None:
    assert max(len(text_of(p)) for p in shown("x" * 50_000, "x")) <= 2400


def test_code_and_tables_keep_their_blanks() -> None:
    code = "def f():\n    if x:\n        return 1"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    prose = "A line of prose that a mail program has broken at some seventy\ncharacters goes on."
    listed = "1. first\n   - deeper\n   - as deep\n2. second"
    line = "    pip install it"
    paragraphs = shown("\n\n".join([code, table, prose, listed, line]), "x")
    assert [p.preformatted for p in paragraphs] == [True, True, False, False, True]
    assert [text_of(p) for p in paragraphs] == [code, table, prose, listed, line]


def test_what_cannot_be_seen_is_written_out() -> None:
    text = text_of(shown("pay\u202etxt.exe\u200b \ud800 a\x00b", "pay")[0])
    assert text == r"pay\u202etxt.exe\u200b \ud800 a\x00b"
    assert shown_line("a\u2066 \n title\ud83d") == r"a\u2066 title\ud83d"


def test_paragraphs_can_be_sent_whatever_they_hold() -> None:
    rows = as_plain([*shown("half \udc00 a </script> character", "half")])
    assert json.dumps(rows, ensure_ascii=False).encode("utf-8")
    assert rows[0]["runs"] == [["half", True], [r" \udc00 a </script> character", False]]


@pytest.mark.parametrize("text", ["", " \n\t\n ", "\n"])
def test_an_empty_text_has_no_paragraphs(text: str) -> None:
    assert shown(text, "query") == ()
