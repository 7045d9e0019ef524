"""Which encoder makes the vectors: the embedded one, a server's, or files of the user's own."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from labeler.errors import BadInput, Misconfigured, NotFound
from labeler.messages import cost_of, count_of
from labeler.models.choose import SERVER_CONCURRENCY, server_of
from labeler.models.control import Control
from labeler.models.encoder_files import load_encoder
from labeler.models.encoder_options import ADDRESS, EMBEDDED_ENCODER, EncoderOptions
from labeler.models.encoding import (
    Encoded,
    EncodingPlan,
    count_missing,
    encode_here,
    encode_missing,
    plan_encoding,
)
from labeler.models.limits import Limits
from labeler.models.loop import run_to_end
from labeler.models.policies.budget import Spending
from labeler.models.policies.stack import unremembered
from labeler.models.prices import Price, price_of
from labeler.models.server.client import Calls
from labeler.models.server.embeddings import KEY, embeddings_model
from labeler.models.session import check_priced, guard_of
from labeler.store.vectors import VectorFile, Vectors, key_of_text
from labeler.text.vectors import Encode, Encoder, embedded_encoder, unit_vectors
from labeler.wire.addresses import identity, masked
from labeler.wire.gate import admit

_LONGEST = 100


class EncoderTexts(NamedTuple):
    """The texts that an encoder will be given, which can be gone through more than once."""

    documents: Iterable[str] = ()
    queries: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class Encoding:
    """How texts are encoded: by which encoder, and within which limits a server is asked."""

    options: EncoderOptions = field(default_factory=EncoderOptions)
    limits: Limits = field(default_factory=Limits)

    def ready(self, folder: Path, texts: EncoderTexts, control: Control | None = None) -> Encoder:
        """The encoder; a server is asked first for the vectors that `folder` does not hold."""
        self.options.check()
        watch = control or Control()
        if self.options.is_embedded:
            return embedded_encoder()
        if self.options.is_in_files:
            return self._from_files(folder, texts, watch)
        return run_to_end(lambda stop: self._filled(folder, texts, watch.with_stop(stop)))

    async def aready(
        self, folder: Path, texts: EncoderTexts, control: Control | None = None
    ) -> Encoder:
        """`ready` for callers that are asynchronous."""
        watch = control or Control()
        if not self.options.is_served:
            return await asyncio.to_thread(self.ready, folder, texts, watch)
        self.options.check()
        return await self._filled(folder, texts, watch)

    def plan(self, folder: Path, texts: EncoderTexts) -> EncodingPlan | None:
        """What making it ready would take; None where nobody is asked."""
        self.options.check()
        if not self.options.is_served:
            return None
        served = run_to_end(lambda _stop: self._served(folder))
        every = _Prefixed(self.options, texts)
        return plan_encoding(self.options.name, every, served.file, served.price)

    def _file_of(self, folder: Path, identity: str) -> Path:
        """Where the vectors of an encoder in files are kept."""
        return folder / f"{_plain(identity)[-_LONGEST:]}.vectors"

    def _from_files(self, folder: Path, texts: EncoderTexts, control: Control) -> Encoder:
        """The encoder in the user's files; vectors that take long are kept."""
        files = load_encoder(self.options.name)
        if not files.is_slow:
            return self._encoder(_plain(files.id), files.id, partial(_prefixing, files.encode))
        vectors = VectorFile.read(self._file_of(folder, files.id), files.id)
        every = _Prefixed(self.options, texts)
        if count_missing(every, vectors):
            with vectors.appending(control.note), control.progress("encoding") as advance:
                encode_here(every, files.encode, vectors, advance)
        return self._encoder(_plain(files.id), files.id, partial(looked_up, vectors))

    def _encoder(self, tag: str, identity: str, prefixing: Callable[[str], Encode]) -> Encoder:
        """The encoder of this identity, given what encodes with a prefix before each text."""
        documents, queries = self.options.document_prefix, self.options.query_prefix
        of_queries = f"{identity} {_digest(queries)}"
        return Encoder(tag, prefixing(documents), prefixing(queries), of_queries)

    async def _served(self, folder: Path) -> _Served:
        """The server, its price, and the vectors that are kept of it."""
        name, url = self.options.name, self.options.embeddings_url or os.environ.get(ADDRESS)
        server = await server_of(url, os.environ)
        if server is None:
            problem = f"no server for the encoder {name!r}: give its address, or set OPENAI_API_KEY"
            raise Misconfigured(
                f"{problem}; the embedded encoder is {EMBEDDED_ENCODER}", parameter="embeddings_url"
            )
        address, why = server
        price = price_of(address, name, self.limits.prices, writes=False)
        check_priced(name, price, self.limits)
        encoder = f"{identity(address)} {name}"
        file = folder / f"{_plain(name)[:_LONGEST]}-{_digest(encoder)}.vectors"
        return _Served(address, why, price, VectorFile.read(file, encoder))

    async def _filled(self, folder: Path, texts: EncoderTexts, control: Control) -> Encoder:
        served, every = await self._served(folder), _Prefixed(self.options, texts)
        if count_missing(every, served.file):
            control.note(f"encoder: {self.options.name} at {masked(served.address)} ({served.why})")
            before = replace(control.spent)
            done = await self._encode(every, served, control)
            self._note_spent(done, before, served, control)
        tag, file = _plain(self.options.name), served.file
        return self._encoder(tag, file.encoder, partial(looked_up, file))

    async def _encode(self, texts: Iterable[str], served: _Served, control: Control) -> Encoded:
        guard = guard_of(self.limits, served.price, SERVER_CONCURRENCY, control)
        calls = Calls.watched(self.limits.timeout, control.note)
        server = admit(served.address, key=KEY if os.environ.get(KEY) else "")
        model = unremembered(embeddings_model(self.options.name, server, calls), guard)
        file, stop = served.file, control.stop
        try:
            async with file.appending_in_loop(control.note, stop.is_set):
                with control.progress("encoding") as advance:
                    return await encode_missing(texts, model, file, stop, advance)
        except NotFound as error:
            error.parameter = "encoder"
            raise
        finally:
            await model.close()

    def _note_spent(self, done: Encoded, before: Spending, served: _Served, watch: Control) -> None:
        """Say what encoding took."""
        name, spent = self.options.name, watch.spent.since(before)
        cost = (spent.cost, spent.cost_at_most) if served.price else (None, None)
        watch.note(
            f"{name} encoded {count_of(done.texts, 'text', 'texts')}: "
            f"{count_of(spent.calls, 'call', 'calls')}, {spent.tokens:,} tokens, "
            f"cost {cost_of(*cost)}"
        )
        if done.cut:
            cut = count_of(done.cut, "text was", "texts were")
            watch.note(f"{cut} cut to what {name} takes, as the server refused them whole")


class _Served(NamedTuple):
    """A server that encodes: where it is and why that one, its price, and the vectors it gave."""

    address: str
    why: str
    price: Price | None
    file: VectorFile


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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _plain(name: str) -> str:
    """A name as a tag and a file's name may hold it."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")


@dataclass(frozen=True, slots=True)
class _Prefixed:
    """All texts as they are encoded, but for those of white space alone."""

    options: EncoderOptions
    texts: EncoderTexts

    def __iter__(self) -> Iterator[str]:
        documents, queries = self.texts
        for prefix, some in (
            (self.options.document_prefix, documents),
            (self.options.query_prefix, queries),
        ):
            yield from (prefix + text for text in some if text.strip())


def _prefixing(encode: Encode, prefix: str) -> Encode:
    """The same encoder with a text before each; white space alone becomes zeros."""

    def prefixed(texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, 1), dtype=np.float32)
        vectors = unit_vectors(encode([prefix + text for text in texts]))
        vectors[[not text.strip() for text in texts]] = 0
        return vectors

    return prefixed
