"""Tokens by words are those of the whole text."""

import random
from functools import cache

import pytest

from labeler.text.terms import WordTokens, embedded_tokenizer

PARTS = [
    *(" ", "  ", "\n", "\t", "▁", "<s>", "</s>", "<unk>", " the", "ing", "x" * 150, "\u200d"),
    *"abcXYZ.,<>/_0123éß汉字\u00a0’😀     ",
]
RNG = random.Random(5)
TEXTS = ["".join(RNG.choices(PARTS, k=RNG.randrange(40))) for _ in range(2000)]


@pytest.mark.parametrize("most", [0, 50, 1 << 18])
def test_the_tokens_are_those_of_the_whole_text(most: int) -> None:
    tokens, whole = WordTokens(embedded_tokenizer(), most), tokens_of_whole_texts()
    for start in range(0, len(TEXTS), 64):
        assert tokens.of(TEXTS[start : start + 64]) == whole[start : start + 64]


@cache
def tokens_of_whole_texts() -> list[list[int]]:
    encodings = embedded_tokenizer().encode_batch(TEXTS, add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def test_no_token_goes_from_a_word_into_the_space_after_it() -> None:
    assert not [t for t in embedded_tokenizer().get_vocab() if "▁" in t.lstrip("▁")]


def test_what_is_remembered_is_bounded() -> None:
    tokens = WordTokens(embedded_tokenizer(), 10)
    for number in range(100):
        tokens.of([f"a{number} b{number}", "y" * 10_000])
    assert len(tokens) <= 12
