"""A corpus encoded part by part, where the vectors of a part need to be kept for a moment only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from labeler.errors import BadInput
from labeler.store.vectors import VectorFile, Vectors, key_of_text
from labeler.text.vectors import Encode, Encoder, unit_vectors

Fill = Callable[[Sequence[str], VectorFile], Awaitable[None]]
"""What encodes the texts that a file of vectors lacks, and adds them to it."""

TEXTS_KEPT = 1 << 14
"""So many texts' vectors lie on the disk before those that are out of danger are removed."""


@dataclass(slots=True)
class EncoderInParts:
    """An encoder for texts that come part by part.

    What takes long or is paid for lies in `recent` until `forget` is called: the same texts are not
    encoded twice, also after a kill. `earlier` holds vectors of before, which are only looked up.
    """

    encoder: Encoder
    prefix: str = ""
    fill: Fill | None = None
    recent: VectorFile | None = None
    earlier: VectorFile | None = None
    encoded: int = field(default=0, init=False)

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """The unit vectors of some texts, a row each; of white space alone, all zeros."""
        if self.fill is None or self.recent is None:
            self.encoded += len(texts)
            return await asyncio.to_thread(self.encoder.documents, texts)
        unencoded = [text for text in texts if not self._is_earlier(text)]
        before = len(self.recent)
        await self.fill([self.prefix + text for text in unencoded if text.strip()], self.recent)
        self.encoded += len(self.recent) - before
        recent = await asyncio.to_thread(looked_up(self.recent, self.prefix), unencoded)
        if self.earlier is None or len(unencoded) == len(texts):
            return recent
        is_earlier = np.array([self._is_earlier(text) for text in texts])
        earlier = [text for text, is_old in zip(texts, is_earlier, strict=True) if is_old]
        vectors = np.zeros((len(texts), self.earlier.dimensions), dtype=np.float32)
        vectors[is_earlier] = await asyncio.to_thread(looked_up(self.earlier, self.prefix), earlier)
        if unencoded:
            vectors[~is_earlier] = recent
        return vectors

    @property
    def is_full(self) -> bool:
        """Whether so many vectors lie on the disk that they should be put away and forgotten."""
        return self.recent is not None and len(self.recent) >= TEXTS_KEPT

    def forget(self) -> None:
        """Remove the vectors that were kept: they are elsewhere now."""
        if self.recent is not None:
            self.recent.path.unlink(missing_ok=True)
            self.recent = VectorFile.read(self.recent.path, self.recent.encoder)

    def _is_earlier(self, text: str) -> bool:
        key = key_of_text(self.prefix + text)
        return bool(text.strip()) and self.earlier is not None and key in self.earlier


def looked_up(file: VectorFile, prefix: str) -> Encode:
    """What gives the unit vectors that a file holds; a text of white space alone is all zeros."""

    def encode(texts: Sequence[str]) -> Vectors:
        keys = {at: key_of_text(prefix + text) for at, text in enumerate(texts) if text.strip()}
        vectors = np.zeros((len(texts), max(1, file.dimensions)), dtype=np.float32)
        try:
            if keys:
                vectors[list(keys)] = unit_vectors(file.of(list(keys.values())))
        except KeyError:
            problem = "texts changed while they were encoded; run the command again"
            raise BadInput(f"{file.path}: {problem}") from None
        return vectors

    return encode
