"""Dense retrieval: wordllama's static vectors, which come inside its wheel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from labeler.errors import Misconfigured

if TYPE_CHECKING:
    import numpy.typing as npt
    from wordllama import WordLlamaInference

Encode = Callable[[Sequence[str]], "npt.NDArray[np.float32]"]
"""Texts to unit vectors, `(texts, dimensions)`; a text without any known token is all zeros."""

DENSE_EXTRA = (
    "dense retrieval and the similarity assessor need the 'local' extra: "
    "pip install 'labeler[local]'"
)


def can_encode() -> bool:
    """Whether the optional package is installed."""
    return find_spec("wordllama") is not None


def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """The unit vectors of `texts`, float32, `(texts, 256)`."""
    if not texts:
        return np.zeros((0, 256), dtype=np.float32)
    vectors = np.concatenate([_embed(texts[i : i + 64]) for i in range(0, len(texts), 64)])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[norms == 0] = 1
    unit: npt.NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def _embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    vectors = np.asarray(_wordllama().embed(list(texts)), dtype=np.float32)
    vectors[~np.isfinite(vectors)] = 0  # the mean of no token at all
    return vectors


@cache
def encoder_id() -> str:
    """The encoder's name and version, for identities in the store."""
    from importlib.metadata import version

    if not can_encode():
        raise Misconfigured(DENSE_EXTRA)
    return f"wordllama-{version('wordllama')}-l2_supercat-256"


@cache
def _wordllama() -> WordLlamaInference:
    if not can_encode():
        raise Misconfigured(DENSE_EXTRA)
    with _untouched_logging():
        from pathlib import Path

        import wordllama

        folder = Path(wordllama.__file__).parent
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


@contextmanager
def _untouched_logging() -> Iterator[None]:
    """wordllama configures the root logger when it is imported; undo that."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:], root.level = handlers, level
