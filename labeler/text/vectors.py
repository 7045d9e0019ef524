"""Dense retrieval: wordllama's static vectors, read from the files inside its wheel.

Its own code is not run: it is compiled anew for each Python, and a text's vector is but the mean of
its tokens' rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeler.errors import Misconfigured
from labeler.messages import missing_extra

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Tokenizer

# The tokens of texts by those of their words, which are remembered.
#
# The embedded encoder's tokenizer takes a text as a whole, half a millisecond for a passage; by its
# words, vectors are made in a third of the time. The tokens are the same ones. It writes `▁` for a
# space, and no token has anything before a `▁` but others of it; so none of the merges that make
# tokens goes from the end of a word into the space after it.

_MOST_WORDS = 1 << 18
_LONGEST_WORD = 100
_WHOLE = ("▁", "<s>", "</s>", "<unk>")
"""A text with one of these is taken as a whole: they are tokens, or spaces, in any place."""

_PIECE = re.compile(r"(?<! ) *[^ ]+")  # not anew from each of many spaces


class WordTokens:
    """Gives the ids of the tokens of texts; what it remembers is bounded."""

    def __init__(self, tokenizer: Tokenizer, most_words: int = _MOST_WORDS) -> None:
        self._tokenizer = tokenizer
        self._most = most_words
        self._ids: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text."""
        pieces = [*map(_pieces, texts)]
        if len(self._ids) > self._most:
            self._ids.clear()
        new = [*set(chain.from_iterable(pieces)).difference(self._ids)]
        encodings = self._tokenizer.encode_batch(new, add_special_tokens=False)
        self._ids.update(zip(new, (encoding.ids for encoding in encodings), strict=True))
        tokens = [[*chain.from_iterable(map(self._ids.__getitem__, words))] for words in pieces]
        for word in new:
            if len(word) > _LONGEST_WORD:
                del self._ids[word]
        return tokens


def _pieces(text: str) -> list[str]:
    """A text's words as the tokenizer takes each of them, which puts a space before it."""
    if text.endswith(" ") or any(mark in text for mark in _WHOLE):
        return [text]
    if "  " not in text and not text.startswith(" "):
        return text.split(" ")
    first, *others = _PIECE.findall(text)
    return [first, *(piece[1:] for piece in others)]


Encode = Callable[[Sequence[str]], "npt.NDArray[np.float32]"]
"""Texts to unit vectors, `(texts, dimensions)`; a text without any known token is all zeros."""


class Encoder(NamedTuple):
    """What makes vectors of documents and of queries; `id` names it with its version.

    The id holds no white space, as it is the tag of runs. `query_identity` names all that the
    vector of a query depends on but its text, also where two encoders have one id.
    """

    id: str
    documents: Encode
    queries: Encode
    query_identity: str


_SHORTEST = 1e-15
"""The squares of shorter vectors lose digits in 32 bits."""

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

DENSE_EXTRA = missing_extra("local", "dense retrieval and the similarity assessor need")


class _Encoder(NamedTuple):
    """What turns a text into token ids, and the vector of each, `(tokens, 256)`."""

    tokens: WordTokens
    vectors: npt.NDArray[np.float32]


def can_encode() -> bool:
    """Whether the optional package is installed."""
    return find_spec(PACKAGE) is not None


def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """The unit vectors of `texts`, float32, `(texts, 256)`."""
    if not texts:
        return np.zeros((0, 256), dtype=np.float32)
    return unit_vectors(_means(texts))


def _means(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """The mean of the vectors of each text's tokens; zeros for a text without any."""
    encoder = _encoder()
    means = np.zeros((len(texts), encoder.vectors.shape[1]), dtype=np.float32)
    for start in range(0, len(texts), 64):
        for row, ids in enumerate(encoder.tokens.of(texts[start : start + 64]), start):
            if ids:
                means[row] = encoder.vectors[ids].sum(axis=0) / len(ids)
    return means


@cache
def encoder_id() -> str:
    """The encoder's name and version, for identities in the store."""
    from importlib.metadata import version

    if not can_encode():
        raise Misconfigured(DENSE_EXTRA)
    return f"{PACKAGE}-{version(PACKAGE)}-l2_supercat-256"


@cache
def _encoder() -> _Encoder:
    from safetensors.numpy import load_file

    vectors = load_file(_folder() / WEIGHTS)["embedding.weight"].astype(np.float32)
    return _Encoder(WordTokens(embedded_tokenizer()), vectors)


def embedded_tokenizer() -> Tokenizer:
    """The tokenizer of the embedded encoder, which neither pads nor cuts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_folder() / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _folder() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise Misconfigured(DENSE_EXTRA)
    return Path(spec.origin).parent


def embedded_encoder() -> Encoder:
    """The encoder of this package."""
    return Encoder(encoder_id(), encode, encode, encoder_id())


def unit_vectors(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The vectors with the length 1, float32; those that are all zeros stay so."""
    with np.errstate(over="ignore"):  # those are taken up below
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    is_exact = (norms > _SHORTEST) & np.isfinite(norms)
    unit: npt.NDArray[np.float32] = (vectors / np.where(is_exact, norms, 1)).astype(np.float32)
    rest = np.flatnonzero(~is_exact)
    if rest.size:  # their squares do not fit into 32 bits
        wide = vectors[rest].astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        unit[rest] = wide / np.where(lengths == 0, 1, lengths)
    return unit
