"""The BM25 index, against the package bm25s, and as a file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labeler.files.arrays import open_arrays, writing_arrays
from labeler.text.bm25 import Bm25, Bm25Part, PartScorer, write_part
from labeler.text.terms import K1, B, terms

if TYPE_CHECKING:
    import bm25s

RNG = random.Random(7)
WORDS = ["cats", "dog", "running", "über", "北京大学", "the", *(f"w{n}" for n in range(300))]
TEXTS = [
    " ".join(RNG.choices(WORDS, [1 / n for n in range(1, len(WORDS) + 1)], k=RNG.randrange(60)))
    for _ in range(400)
]
QUERIES = [*(" ".join(RNG.choices(WORDS, k=RNG.randrange(1, 9))) for _ in range(50)), "", "zebra"]


def peers_scores(query: str, index: bm25s.BM25) -> np.ndarray:
    indexed = [term for term in terms(query) if term in index.vocab_dict]
    return index.get_scores(indexed) if indexed else np.zeros(len(TEXTS), dtype=np.float32)


@pytest.fixture(scope="module")
def peer() -> bm25s.BM25:
    import bm25s  # here, as it loads numba

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([terms(text) for text in TEXTS], show_progress=False)
    return index


ROUNDED = 0 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 1e-6
"""What two scores may differ by: with NumPy 1 the peer rounds otherwise, and we do not."""


def scores(index: Bm25, query: str) -> npt.NDArray[np.float32]:
    """The scores of all texts, in the order of the parts."""
    parts = [PartScorer(index, part).scores(query) for part in range(len(index.parts))]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


def test_scores_are_those_of_bm25s_to_the_last_bit(peer: bm25s.BM25) -> None:
    index = Bm25.of([Bm25Part.of(TEXTS)], QUERIES)
    for query in QUERIES:
        assert_allclose(scores(index, query), peers_scores(query, peer), rtol=ROUNDED)


def test_an_index_in_a_file_gives_the_same_scores(tmp_path: Path) -> None:
    usual = Bm25.of([Bm25Part.of(TEXTS)], QUERIES)
    index = Bm25.of([in_a_file(tmp_path, TEXTS)], QUERIES)
    for query in QUERIES:
        assert_array_equal(scores(index, query), scores(usual, query))


@pytest.mark.parametrize("size", [1, 7, 399, 400, 401])
def test_parts_give_the_scores_of_one(tmp_path: Path, size: int) -> None:
    texts = TEXTS[: 100 * size]
    usual = Bm25.of([Bm25Part.of(texts)], QUERIES)
    cut = [texts[start : start + size] for start in range(0, len(texts), size)]
    parts = [Bm25Part.of(some) for some in cut[1:]]
    index = Bm25.of([in_a_file(tmp_path, cut[0]), *parts], QUERIES)
    for query in QUERIES:
        assert_array_equal(scores(index, query), scores(usual, query))


def test_a_term_that_stands_in_a_text_many_times_is_counted_whole(tmp_path: Path) -> None:
    texts = ["cat " * 300, "cat", "dog"]
    for part in (Bm25Part.of(texts), in_a_file(tmp_path, texts)):
        assert sorted(part.count.tolist()) == [1, 1, 300]


def in_a_file(folder: Path, texts: list[str]) -> Bm25Part:
    path = folder / "bm25.index"
    with writing_arrays(path, {"of": "texts"}) as out:
        write_part(out, texts)
    arrays = open_arrays(path, {"of": "texts"})
    assert arrays is not None
    return Bm25Part.within(arrays)


@pytest.mark.parametrize("texts", [[], [""], ["", "..."], ["", "cat"]])
def test_texts_without_terms_score_nothing(tmp_path: Path, texts: list[str]) -> None:
    for part in (Bm25Part.of(texts), in_a_file(tmp_path, texts)):
        index = Bm25.of([part], ["dog ...", "cat"])
        assert scores(index, "dog ...").tolist() == [0.0] * len(texts)
        assert (scores(index, "cat") > 0).tolist() == [text == "cat" for text in texts]
