"""Which encoder makes the vectors: the embedded one, or a server's, asked for each text once."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.errors import (
    BadInput,
    CallFailed,
    LabelerError,
    Misconfigured,
    NoCompletion,
    NotFound,
    Stopped,
)
from labeler.messages import batched, cost_of, count_of, dollars
from labeler.model import Bound, Headers, Message, Model, Reply, Request
from labeler.models import embedded
from labeler.models.call_plan import CallPlan
from labeler.models.choose import SERVER_CONCURRENCY, server_of
from labeler.models.cost import NOTHING, Price, price_of, sizes_of
from labeler.models.policies.call import StopSignal
from labeler.models.policies.limits import Spending
from labeler.models.policies.stack import unremembered
from labeler.models.server.answers import as_text, begin_of, read_reply, tokens_used, usage_in
from labeler.models.server.client import MUTE_SECONDS, Calls, Connected, in_json, wire_format
from labeler.models.session import (
    Control,
    check_priced,
    each_done,
    guard_of,
    run_to_end,
    sync,
)
from labeler.models.settings import (
    ENCODER_ADDRESS,
    MINILM,
    WORDLLAMA,
    AssessorSettings,
    EncoderOptions,
    Limits,
)
from labeler.store.vectors import VectorFile, Vectors, key_of_text
from labeler.text.terms import Encode, Encoder, can_encode, embedded_encoder, unit_vectors
from labeler.wire import addresses
from labeler.wire.addresses import identity, masked
from labeler.wire.gate import Admitted, admit

_LONGEST = 100
"""Characters of a server's model's name in the name of a file."""


class EncoderTexts(NamedTuple):
    """The texts that an encoder will be given, which can be gone through more than once."""

    documents: Iterable[str] = ()
    queries: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class Encoding:
    """How texts are encoded: by which encoder, and within which limits a server is asked."""

    options: EncoderOptions = field(default_factory=EncoderOptions)
    limits: Limits = field(default_factory=Limits)

    async def aready(self, folder: Path, texts: EncoderTexts, *, control: Control) -> Encoder:
        """The encoder, once it made the vectors that `folder` does not hold, or a server did."""
        self.options.check()
        every = _Prefixed(self.options, texts)
        if self.options.is_served:
            return await self._of_server(folder, every, control)
        if self.options.name != WORDLLAMA:
            file = VectorFile.read(folder / f"{embedded.MINILM_ID}.vectors", embedded.MINILM_ID)
            if await self._fill_here(every, file, control):
                lookup = looked_up(file, "")
                return Encoder(embedded.MINILM_ID, lookup, lookup, embedded.MINILM_ID)
        return await asyncio.to_thread(embedded_encoder)

    ready = sync(aready)

    @property
    def is_possible(self) -> bool:
        """Whether there is an encoder: a server's, or an embedded one's package."""
        return self.options.is_served or can_encode()

    async def _fill_here(self, texts: Iterable[str], file: VectorFile, control: Control) -> bool:
        """Encode by `minilm`; false where it is not named, and is slow here, or not to be had."""
        is_named, why = self.options.name == MINILM, ""
        most = inf if is_named else embedded.SECONDS
        seconds = embedded.seconds_of((text for _, text in missing_texts(texts, file)), most)
        if not seconds:
            return True
        if seconds > most:
            why = (
                f"would take more than {most:.0f} s of a processor's time; name {MINILM} to have it"
            )
        else:
            try:
                await asyncio.to_thread(embedded.fetch_minilm, tell=control.note)
            except LabelerError as error:
                if is_named:
                    raise
                why = f"cannot be had: {error}"
        if why:
            control.note(f"encoder: {WORDLLAMA}, as {MINILM} {why}")
            return False
        if seconds >= 1:
            control.note(f"encoder: {MINILM}, some {seconds:,.0f} s of a processor's time")
        await _fill(texts, file, lambda some: asyncio.to_thread(embedded.encode, some), control)
        return True

    def plan(self, folder: Path, texts: EncoderTexts) -> EncodingPlan | None:
        """What making it ready would take; None where nobody is asked."""
        self.options.check()
        if not self.options.is_served:
            return None
        served = run_to_end(lambda _stop: self._served(folder))
        every = _Prefixed(self.options, texts)
        return plan_encoding(self.options.name, every, served.file, served.price)

    async def _served(self, folder: Path) -> _Served:
        """The server, its price, and the vectors that are kept of it."""
        name, url = (
            self.options.name,
            self.options.embeddings_url or os.environ.get(ENCODER_ADDRESS),
        )
        server = await server_of(url)
        if server is None:
            raise Misconfigured(
                f"no server for the encoder {name!r}: give its address, or set OPENAI_API_KEY; "
                f"the embedded encoders are {MINILM} and {WORDLLAMA}",
                parameter="embeddings_url",
            )
        address, why = server
        price = price_of(address, name, writes=False)
        check_priced(name, price, self.limits)
        encoder = f"{identity(address)} {name}"
        file = folder / f"{_plain(name)[:_LONGEST]}-{_digest(encoder)}.vectors"
        return _Served(address, why, price, VectorFile.read(file, encoder))

    async def _of_server(self, folder: Path, texts: Iterable[str], control: Control) -> Encoder:
        served = await self._served(folder)
        if count_missing(texts, served.file):
            control.note(f"encoder: {self.options.name} at {masked(served.address)} ({served.why})")
            before = replace(control.spent)
            work = await self._fill_from(served, texts, control)
            self._note_spent(work, control.spent.since(before), served, control)
        documents, queries = self.options.document_prefix, self.options.query_prefix
        return Encoder(
            _plain(self.options.name),
            looked_up(served.file, documents),
            looked_up(served.file, queries),
            f"{served.file.encoder} {_digest(queries)}",
        )

    async def _fill_from(self, served: _Served, texts: Iterable[str], control: Control) -> _Work:
        guard = guard_of(self.limits, served.price, SERVER_CONCURRENCY, control)
        calls = Calls(self.limits.timeout, control.note, mute=MUTE_SECONDS)
        server = admit(served.address, key=KEY if os.environ.get(KEY) else "")
        model = unremembered(embeddings_model(self.options.name, server, calls), guard)

        async def encode(some: Sequence[str]) -> Vectors:
            reply = await model.ask(embeddings_request(some))
            return np.frombuffer(reply.body, dtype=np.float32).reshape(len(some), -1)

        try:
            return await _fill(texts, served.file, encode, control, _WORKERS)
        except NotFound as error:
            error.parameter = "encoder"
            raise
        finally:
            await model.close()

    def _note_spent(self, work: _Work, spent: Spending, served: _Served, control: Control) -> None:
        """Say what encoding took."""
        cost = cost_of(*spent.dollars(is_priced=served.price is not None))
        control.note(
            f"{self.options.name} encoded {count_of(work.done, 'text', 'texts')}: "
            f"{count_of(spent.calls, 'call', 'calls')}, {spent.tokens:,} tokens, cost {cost}"
        )
        if work.cut:
            cut = count_of(len(work.cut), "text was", "texts were")
            control.note(
                f"{cut} cut to what {self.options.name} takes, as the server refused them whole"
            )


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
            raise BadInput(
                f"{file.path}: texts changed while they were encoded; run the command again"
            ) from None
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


# Any server that speaks OpenAI's embeddings, as a model: texts in, their vectors out.
#
# A request's messages are the texts. A reply's `body` is not the answer as it came, which may be
# large, but the vectors that it held, as 32-bit floats one after the other.

PATH = "embeddings"
KEY = "LABELER_EMBEDDINGS_KEY"
LARGEST_EMBEDDINGS = 64 * 1024 * 1024
"""Bytes of an answer: 32 vectors of 4,096 numbers take some 3 million as text."""

_BEGIN = 60


def embeddings_request(texts: Sequence[str]) -> Request:
    """The request for the vectors of texts; a server writes nothing, so no tokens are its own."""
    return Request(tuple(Message("input", text) for text in texts), {"max_tokens": 0})


def embeddings_model(name: str, server: Admitted, calls: Calls) -> Model:
    """The encoder `name` of a server."""
    form = wire_format(server.address, AssessorSettings(api="chat"))
    form = replace(form, words={**form.words, "path": PATH})
    connection = Connected(form, server, calls, LARGEST_EMBEDDINGS)

    async def ask(request: Request) -> Reply:
        texts = [content for _, content in request.messages]

        def read(code: int, body: bytes, shown: str, headers: Headers, bound: Bound) -> Reply:
            if code != 200:
                return read_reply(code, body, shown, headers)
            return read_embeddings(texts, body, shown, bound)

        return await connection.ask(in_json({"model": name, "input": texts}), read)

    return Model(
        f"{addresses.identity(server.address)} {name}", ask, close=connection.close, is_server=True
    )


def read_embeddings(texts: Sequence[str], body: bytes, where: str, bound: Bound) -> Reply:
    """The reply in the body of a 200: a vector of finite numbers for each text, none all zeros.

    What is no answer of this kind is `NoCompletion`; vectors that no cosine can be taken of are a
    call that failed, as asking again gives the same.
    """
    tokens = tokens_used(usage_in(body), "")
    problem: CallFailed
    try:
        answer = json.loads(body)
        vectors = _vectors_in(answer)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        problem = NoCompletion(f"{where}: expected embeddings, found: {begin_of(body)}")
    else:
        fault = _fault(vectors, texts)
        if not fault:
            name, content = as_text(answer.get("model")), vectors.tobytes()
            return Reply("", "stop", None, name, *tokens, body=content, is_bound=bound)
        problem = CallFailed(f"{where}: {fault}")
        problem.may_be_billed = True
    problem.tokens = tokens if any(tokens) else None
    raise problem


def _vectors_in(answer: Any) -> NDArray[np.float32]:
    """The vectors of an answer in the order of the texts, which its numbers say where they count.

    Raises `ValueError` and the like where it holds none, or not of one length.
    """
    rows = answer["data"]
    numbers = (row.get("index") for row in rows)
    if sorted(n for n in numbers if isinstance(n, int)) == list(range(len(rows))):
        rows = sorted(rows, key=lambda row: row["index"])
    vectors = [row["embedding"] for row in rows]
    if not all(type(number) in (float, int) for vector in vectors for number in vector):
        raise TypeError("a vector of something else than numbers")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is a fault
        array = np.array(vectors, dtype=np.float32)
    if array.ndim != 2 or not array.size:
        raise ValueError("no vectors of one length")
    return array


def _fault(vectors: NDArray[np.float32], texts: Sequence[str]) -> str:
    """What is wrong with vectors; empty where nothing is."""
    if len(vectors) != len(texts):
        return f"expected {len(texts):,} vectors, found {len(vectors):,}"
    is_finite = np.isfinite(vectors).all(axis=1)
    is_something = vectors.any(axis=1)
    for name, is_good in (("holds no finite numbers", is_finite), ("is all zeros", is_something)):
        if not is_good.all():
            begin = " ".join(texts[int(np.argmin(is_good))].split())[:_BEGIN]
            return f"the vector of {begin!r} {name}; is this an encoder?"
    return ""


TEXTS_OF_A_CALL = 32
"""Few enough for the servers that take the fewest at once."""

SHORTEST_CUT = 400
"""A text of at most this many characters that is refused is not refused for its length."""


class _Text(NamedTuple):
    """A text to encode, which may have been cut, under the hash of the whole."""

    key: bytes
    text: str


class EncodingPlan(NamedTuple):
    """What encoding texts would take; of `texts`, `missing` have no vector yet."""

    encoder: str
    texts: int
    missing: int
    plan: CallPlan

    def as_json(self) -> dict[str, Any]:
        """The figures by name; a cost that is not known is None."""
        return {
            "encoder": self.encoder,
            "texts": self.texts,
            "missing": self.missing,
            "calls": self.plan.calls,
            "tokens": self.plan.about.inside,
            "tokens_at_most": self.plan.at_most.inside,
            "cost": self.plan.about_cost,
        }

    def __str__(self) -> str:
        if not self.missing:
            return f"{self.encoder}: nothing to ask; all {self.texts:,} texts have a vector"
        calls, price, cost = self.plan.calls, self.plan.price, "unknown"
        if price:
            cost = f"about {dollars(self.plan.about_cost)}, {price.basis}"
        more = f", {self.texts - self.missing:,} more have one" if self.missing < self.texts else ""
        return (
            f"{self.encoder}: {count_of(self.missing, 'text', 'texts')} to encode{more}; "
            f"{count_of(calls, 'call', 'calls')}, about {self.plan.about.inside:,} tokens, "
            f"cost: {cost}"
        )


def missing_texts(texts: Iterable[str], file: VectorFile) -> Iterator[_Text]:
    """The texts that have no vector, each once; of white space alone nobody makes a vector."""
    seen: set[bytes] = set()
    for text in texts:
        key = key_of_text(text)
        if key not in seen and text.strip():
            seen.add(key)
            if key not in file:
                yield _Text(key, text)


def count_missing(texts: Iterable[str], file: VectorFile) -> int:
    """How many texts have no vector."""
    return sum(1 for _ in missing_texts(texts, file))


def plan_encoding(
    encoder: str, texts: Iterable[str], file: VectorFile, price: Price | None
) -> EncodingPlan:
    """What encoding the texts would take; they are gone through twice."""
    calls, missing, tokens, most = 0, 0, NOTHING, NOTHING
    for batch in batched(missing_texts(texts, file), TEXTS_OF_A_CALL):
        sizes = sizes_of(embeddings_request([text for _, text in batch]))
        calls, missing = calls + 1, missing + len(batch)
        tokens, most = tokens.plus(sizes.about), most.plus(sizes.at_most)
    whole = len({key_of_text(text) for text in texts if text.strip()})
    return EncodingPlan(encoder, whole, missing, CallPlan(calls, tokens, most, price))


_WORKERS = 64
"""Batches in hand; how many are under way is the limiter's to say."""


EncodeTexts = Callable[[Sequence[str]], Awaitable[Vectors]]
"""Makes the vectors of some texts, a row each."""


async def _fill(
    texts: Iterable[str], file: VectorFile, encode: EncodeTexts, control: Control, workers: int = 1
) -> _Work:
    """Encode the texts that have no vector yet; vectors are in the file as soon as they have come.

    The texts are gone through twice.
    """
    total, batches = (
        count_missing(texts, file),
        batched(missing_texts(texts, file), TEXTS_OF_A_CALL),
    )
    async with file.appending(control.note, control.stop.is_set):
        with control.progress("encoding") as advance:
            work = _Work(file, encode, control.stop, lambda done: advance(done, total))
            await each_done(batches, work.take, workers)
    return work


@dataclass(slots=True)
class _Work:
    """What has become of batches of texts: how many were encoded, and which of them were cut."""

    file: VectorFile
    encode: EncodeTexts
    stop: StopSignal
    advance: Callable[[int], None]
    done: int = 0
    cut: set[bytes] = field(default_factory=set)

    async def take(self, batch: list[_Text]) -> None:
        """Encode a batch; in its place, where it is refused, halves of it, or of its one text.

        Some servers take fewer texts at once, and most take no text longer than their window.
        """
        if self.stop.is_set():
            raise Stopped("stopped before all texts were encoded")
        try:
            vectors = await self.encode([text for _, text in batch])
        except CallFailed as error:
            if not error.refused:
                raise
            if half := len(batch) // 2:
                await self.take(batch[:half])
                await self.take(batch[half:])
            else:
                await self.take([self._shorter(batch[0], error)])
            return
        self.file.add([key for key, _ in batch], vectors)
        self.done += len(batch)
        self.advance(self.done)

    def _shorter(self, refused: _Text, error: CallFailed) -> _Text:
        key, text = refused
        if len(text) <= SHORTEST_CUT:
            begin = " ".join(text.split())[:_BEGIN]
            raise CallFailed(f"{error}; the text that was refused begins {begin!r}") from error
        self.cut.add(key)
        return _Text(key, text[: len(text) // 2])
