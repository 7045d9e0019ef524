import math

import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.models.embedded import CUTS, similarity_grade, similarity_score
from labeler.text.languages import count_words, first_words
from labeler.text.terms import K1, B, TermStatistics, matched_share, terms

TEXTS = st.lists(st.text("abcde ", max_size=20).map(str.split), min_size=1, max_size=8)


@every_row(
    ("text", "expected"),
    [
        ("Running RUNS run", ["run", "run", "run"]),
        ("snake_case splits", ["snake", "case", "split"]),
        ("Größe GRÖSSE", ["grösse", "grösse"]),
        ("ﬁle", ["file"]),
        ("検索評価", ["検索", "索評", "評価"]),
        ("007 agents", ["007", "agent"]),
        ("हिन्दी में खोज", ["हिन्दी", "में", "खोज"]),
        ("ශ්\u200dරී ලංකා", ["ශ්රී", "ලංකා"]),
        ("ที่นี่", ["ที", "ี่", "่น", "นี", "ี่"]),
        ("كِتَاب 1\ufe0f\u20e3", ["كِتَاب", "1"]),
        ("a\x85b\u2028c", ["a", "b", "c"]),
        ("... --- !!!", []),
    ],
)
def test_terms_are_what_a_searcher_would_match(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_matched_share_is_bm25_over_the_summed_idf() -> None:
    statistics = TermStatistics.of([["a", "b"], ["a", "c", "c", "d"], ["e"]])
    idf_a, idf_c = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    saturation = K1 * (1 - B + B * 4 / (7 / 3))
    expected = (idf_a / (1 + saturation) + idf_c * 2 / (2 + saturation)) / (idf_a + idf_c)
    assert matched_share(["a", "c"], ["a", "c", "c", "d"], statistics) == pytest.approx(expected)


@steadily()
@given(TEXTS, st.text("abcdef ", max_size=12).map(str.split))
def test_a_share_lies_between_nothing_and_all(corpus: list[list[str]], query: list[str]) -> None:
    statistics = TermStatistics.of(corpus)
    for document in corpus:
        share = matched_share(query, document, statistics)
        assert 0 <= share < 1
        assert (share > 0) == bool(set(query) & set(document))


def test_the_digest_changes_with_any_figure() -> None:
    base = TermStatistics(2, 1.5, {"a": 1, "b": 2})
    others = [
        TermStatistics(3, 1.5, {"a": 1, "b": 2}),
        TermStatistics(2, 1.25, {"a": 1, "b": 2}),
        TermStatistics(2, 1.5, {"a": 2, "b": 2}),
        TermStatistics(2, 1.5, {"a": 1}),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 5
    assert base.digest == TermStatistics(2, 1.5, {"b": 2, "a": 1}).digest


def test_a_grade_begins_at_its_cut_point() -> None:
    for cuts in CUTS.values():
        assert [similarity_grade(cut, cuts) for cut in cuts] == [1, 2, 3]
        assert [similarity_grade(math.nextafter(cut, 0), cuts) for cut in cuts] == [0, 1, 2]
        assert similarity_grade(similarity_score(0.0, 0.0), cuts) == 0


@every_row("text", ["one two three four", "漢字" * 500, "a漢" * 40 + " end", "x" * 900])
@every_row("most", [1, 3, 100])
def test_first_words_are_no_more_than_were_asked_for_in_any_script(text: str, most: int) -> None:
    shown = first_words(text, most)
    assert 0 < count_words(shown) <= most
    assert text.startswith(shown)
    if count_words(text) <= most:
        assert shown == text
