"""Passages follow the document, lose nothing and never cut a code block."""

import pytest
from examples import steadily, tiers
from hypothesis import given
from hypothesis import strategies as st

from labeler.corpus.blocks import Block, Lengths
from labeler.corpus.cut import passages
from labeler.corpus.readers.outline import read_plaintext
from labeler.text.languages import count_words
from tests.work import peak

PROPERTY = steadily(80)

FEW, MOST = Lengths().few, Lengths().most


def words(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{i}" for i in range(count))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", 0),
        ("three plain words", 3),
        ("漢字漢字", 2),
        ("ภาษาไทย", 4),
        ("한국어 문장", 2),
        ("mixed 漢字 text", 3),
        ("x" * 400, 20),
        ("a\u0085b\u2028c", 3),
    ],
)
def test_words_are_counted_as_a_reader_would(text: str, wanted: int) -> None:
    assert count_words(text) == wanted


def test_a_section_that_fits_is_one_passage_under_its_headings() -> None:
    path = ("Guide", "Install")
    blocks = [Block("", path, 1), Block(words(100), path, 3), Block(words(120, "w"), path, 5)]
    (passage,) = passages(blocks)
    assert passage.headings == path
    assert passage.text == f"{words(100)}\n\n{words(120, 'w')}"
    assert passage.line == 3


def test_a_long_section_is_cut_between_paragraphs_into_parts_of_about_the_same_length() -> None:
    found = passages([Block(words(60, f"p{i}x"), ("A",)) for i in range(10)])
    assert [count_words(p.text) for p in found] == [180, 240, 180]


def test_a_paragraph_that_is_too_long_is_cut_between_sentences() -> None:
    sentence = "This is a sentence of exactly ten words, e.g. this. "
    found = passages([Block(sentence * 40)])
    assert all(p.text.startswith("This is") and p.text.endswith("this.") for p in found)
    assert all(count_words(p.text) <= MOST for p in found)


def test_text_without_spaces_is_cut_too() -> None:
    for text in ("漢字。" * 1000, "漢" * 5000, "x" * 100_000, "ก" * 3000):
        found = passages([Block(text)])
        assert "".join(p.text for p in found) == text
        assert max(count_words(p.text) for p in found) <= MOST


def test_a_character_is_never_cut_from_the_one_it_combines_with() -> None:
    found = passages([Block("e\u0301" * 5000)])
    assert not any(p.text.startswith("\u0301") for p in found)


def test_a_code_block_is_whole_however_long_and_keeps_what_leads_up_to_it() -> None:
    code = "```\n" + "line of code\n" * 500 + "```"
    found = passages(
        [Block(words(190)), Block("Run this:"), Block(code, code=True), Block(words(190, "w"))]
    )
    assert [p.text for p in found] == [words(190), f"Run this:\n\n{code}", words(190, "w")]


def test_a_few_words_join_their_own_section_before_any_other() -> None:
    blocks = [
        Block(words(200), ("A", "B")),
        Block("A short note at the end.", ("A", "B")),
        Block(words(100, "w"), ("A", "C")),
    ]
    assert [p.headings for p in passages(blocks)] == [("A", "B"), ("A", "C")]


def test_a_short_introduction_joins_the_section_below_it_whose_heading_then_stands_in_it() -> None:
    blocks = [Block("Short.", ("A",), 1), Block(words(50), ("A", "B"), 2)]
    (passage,) = passages(blocks)
    assert passage.headings == ("A",)
    assert passage.text == f"Short.\n\nB\n\n{words(50)}"


def test_headings_without_text_are_kept_where_there_is_text_near_them() -> None:
    blocks = [
        Block("", ("A",)),
        Block("", ("A", "B")),
        Block(words(40), ("A", "C")),
        Block("", ("D",)),
    ]
    assert [(p.headings, p.text) for p in passages(blocks)] == [
        ((), f"A\n\nB\n\nC\n\n{words(40)}\n\nD")
    ]


def test_headings_that_stand_in_a_passage_count_as_its_words() -> None:
    found = passages([Block("Moved.", ("Log", f"Version {i} of {words(4)}")) for i in range(200)])
    assert max(count_words(p.text) for p in found) <= MOST


def test_a_document_of_headings_only_has_no_passage() -> None:
    assert passages([Block("", ("A",)), Block("", ("A", "B"))]) == []


token = st.text(alphabet="ab. !?:漢字。ก\u0301\u0085\u2028\t`#é", min_size=1, max_size=30).filter(
    lambda t: t.strip()
)
path = st.lists(st.sampled_from(["H1", "H2", "H3"]), max_size=3).map(tuple)
block = st.builds(
    lambda tokens, headings, code, tight, leads: Block(
        " ".join(tokens).strip(), headings, 1, code, tight, leads
    ),
    st.lists(token, min_size=1, max_size=150),
    path,
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
documents = st.lists(block, min_size=1, max_size=12)


def squeezed(text: str) -> str:
    return "".join(text.split())


@PROPERTY
@given(documents)
def test_every_block_is_there_in_its_order_and_every_code_block_whole(blocks: list[Block]) -> None:
    found = passages(blocks)
    everything = squeezed("".join(p.text for p in found))
    position = 0
    for one in blocks:
        position = everything.index(squeezed(one.text), position) + len(squeezed(one.text))
        if one.code:
            assert any(one.text in p.text for p in found)


@PROPERTY
@given(documents)
def test_no_passage_is_empty_and_only_code_makes_one_long(blocks: list[Block]) -> None:
    code = [one.text for one in blocks if one.code]
    for passage in passages(blocks):
        assert passage.text.strip()
        if not any(one in passage.text for one in code):
            assert count_words(passage.text) <= MOST + FEW


@PROPERTY
@given(documents)
def test_the_same_blocks_give_the_same_passages(blocks: list[Block]) -> None:
    assert passages(blocks) == passages(list(blocks))


LONG_TEXTS = {
    "words": "word " * 20_000,
    "one word": "x" * 200_000,
    "sentences": "It is so. " * 10_000,
    "no spaces": "字" * 60_000,
    "short lines": "a\n" * 20_000,
    "paragraphs": ("It is as long as a line of text is, and as a paragraph may be.\n\n") * 3_000,
}


@pytest.mark.parametrize("kind", tiers(LONG_TEXTS, "one word", "no spaces", "paragraphs"))
def test_a_long_text_takes_a_few_times_its_size(kind: str) -> None:
    text = LONG_TEXTS[kind]
    size = len(text.encode())
    # up to 12 times on Python 3.11; the objects of 3.14 are a few percent larger
    assert peak(lambda: passages(read_plaintext(text)[1])) < 13 * size
