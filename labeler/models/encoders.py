"""Which encoder makes the vectors: the embedded one, a server's, or files of the user's own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.errors import BadInput, LabelerError, Misconfigured, NotFound
from labeler.files.boundary import problem_of
from labeler.files.cache import sha256_of
from labeler.files.paths import expanded
from labeler.messages import cost_of, count_of, missing_extra
from labeler.models.choose import SERVER_CONCURRENCY, server_of
from labeler.models.control import Control, run_to_end
from labeler.models.encoder_options import ADDRESS, EMBEDDED_ENCODER, EncoderOptions
from labeler.models.encoding import (
    KEY,
    Encoded,
    EncodingPlan,
    count_missing,
    embeddings_model,
    encode_here,
    encode_missing,
    plan_encoding,
)
from labeler.models.policies.budget import Spending
from labeler.models.policies.stack import unremembered
from labeler.models.prices import Price, price_of
from labeler.models.server.client import Calls
from labeler.models.session import check_priced, guard_of
from labeler.models.settings import Limits
from labeler.store.vectors import VectorFile, Vectors, key_of_text
from labeler.text.vectors import Encode, Encoder, embedded_encoder, unit_vectors
from labeler.wire.addresses import identity, masked
from labeler.wire.gate import admit

# Encoders whose files the user has, loaded by packages that are extras; nothing is downloaded.

MODEL2VEC = missing_extra("model2vec", "encoders of this kind need")
FASTEMBED = missing_extra("fastembed", "encoders of this kind need")

ONNX = ("onnx/model.onnx", "model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
_LAYOUTS = ("model.safetensors", "0_StaticEmbedding/model.safetensors")
_TOKENIZER = "tokenizer.json"
_POOLING = "1_Pooling/config.json"
_MODES = {
    "pooling_mode_mean_tokens": "MEAN",
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_lasttoken": "LAST_TOKEN",
}
_AT_ONCE = 64


class FileEncoder(NamedTuple):
    """An encoder in files: its name and its hash in one, and what encodes.

    `is_slow` is true where vectors are worth keeping.
    """

    id: str
    encode: Encode
    is_slow: bool


def load_model2vec(folder: Path) -> FileEncoder:
    """Static vectors as `model2vec` saves them."""
    if find_spec("model2vec") is None:
        raise Misconfigured(MODEL2VEC)
    first_file(first_file(folder, _LAYOUTS).parent, [_TOKENIZER])
    with as_files_of(folder):
        identity = id_of("model2vec", folder)
        from model2vec import StaticModel

        model = StaticModel.from_pretrained(str(folder), force_download=False)

    def encode(texts: Sequence[str]) -> Any:
        with as_files_of(folder):
            return model.encode(list(texts), use_multiprocessing=False).astype(np.float32)

    return FileEncoder(identity, encode, is_slow=False)


def load_fastembed(folder: Path) -> FileEncoder:
    """An ONNX encoder that `fastembed` runs, with the pooling that its folder names."""
    if find_spec("fastembed") is None:
        raise Misconfigured(FASTEMBED)
    weights = first_file(folder, ONNX)
    first_file(folder, [_TOKENIZER])
    pooling = _pooling(folder)
    with as_files_of(folder):
        identity = id_of("fastembed", folder)
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        name = identity.lower()
        if not any(name == listed["model"] for listed in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                name,
                PoolingType[pooling],
                normalization=True,
                sources=ModelSource(hf=name),
                dim=0,
                model_file=weights.relative_to(folder).as_posix(),
            )
        model = TextEmbedding(name, specific_model_path=str(folder), local_files_only=True)

    def encode(texts: Sequence[str]) -> Any:
        with as_files_of(folder):
            rows = list(model.embed(list(texts), batch_size=_AT_ONCE))
            return np.array(rows, dtype=np.float32)

    return FileEncoder(identity, encode, is_slow=True)


FROM_FILES: Mapping[str, Callable[[Path], FileEncoder]] = {
    "model2vec": load_model2vec,
    "fastembed": load_fastembed,
}
"""What loads an encoder from a folder, by the word before the colon of its name."""


def load_encoder(name: str) -> FileEncoder:
    """The encoder of a name such as `model2vec:FOLDER`."""
    kind, _, path = name.partition(":")
    folder = expanded(path)
    if not path or not folder.is_dir():
        problem = f"{path or 'nothing'}: expected a folder with the encoder's files"
        raise Misconfigured(f"{problem}, as {kind}:FOLDER", parameter="encoder")
    return FROM_FILES[kind](folder.resolve())


def first_file(folder: Path, names: Iterable[str]) -> Path:
    """The first of some files that a folder has."""
    files = list(names)
    path = next((folder / name for name in files if (folder / name).is_file()), None)
    if path is None:
        raise Misconfigured(f"{folder}: no {' or '.join(files)} in it", parameter="encoder")
    return path


def _pooling(folder: Path) -> str:
    """How the vectors of a text's tokens become one, as sentence-transformers write it down."""
    path = folder / _POOLING
    example = '{"pooling_mode_mean_tokens": true}, or with cls_token or lasttoken in its place'
    if not path.is_file():
        problem = f"{path} is not there, and nothing else says how tokens' vectors become one"
        raise Misconfigured(f"{problem}; write it: {example}", parameter="encoder")
    with as_files_of(folder):
        settings = json.loads(path.read_text(encoding="utf-8"))
        modes = [mode for name, mode in _MODES.items() if settings.get(name) is True]
    if len(modes) != 1:
        raise Misconfigured(f"{path}: expected one of {example}", parameter="encoder")
    return modes[0]


def id_of(kind: str, folder: Path) -> str:
    """The folder's name and a hash of all files in it and below, with their names.

    Which of them vectors depend on is the packages' to say: weights may lie in files beside the
    model, and several settings say where texts are cut.
    """
    digest = hashlib.sha256()
    for name, path in sorted(_files_below(folder).items()):
        line = f"{sha256_of(path)} {name}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return f"{kind}-{folder.name}-{digest.hexdigest()[:8]}".replace(" ", "_")


def _files_below(folder: Path) -> dict[str, Path]:
    """The files in a folder and below, by their paths in it; links are followed, once each.

    Hidden ones are left out: programs that download keep there when they did so.
    """
    files: dict[str, Path] = {}
    seen = {os.path.realpath(folder)}
    for top, folders, names in os.walk(folder, followlinks=True):
        paths = [Path(top, name) for name in names if not name.startswith(".")]
        files |= {p.relative_to(folder).as_posix(): p for p in paths if p.is_file()}
        inner = {name: os.path.realpath(Path(top, name)) for name in sorted(folders)}
        folders[:] = [n for n in inner if not n.startswith(".") and inner[n] not in seen]
        seen.update(inner[name] for name in folders)
    return files


@contextmanager
def as_files_of(folder: Path, parameter: str = "encoder") -> Iterator[None]:
    """Let whatever a package raises of an encoder's files be one line about the folder."""
    try:
        yield
    except LabelerError as error:
        error.parameter = parameter
        raise
    except Exception as error:  # packages in Rust and C++ raise their own, of no common root
        problem = f"its files cannot be used ({problem_of(error)})"
        raise Misconfigured(f"{folder}: {problem}", parameter=parameter) from error


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


# A cross-encoder in files that the user has, which scores a query and a text together.

Score = Callable[[str, Sequence[str]], list[float]]
"""A query and texts to a score for each, higher for what answers it better."""


def remembering(model: CrossEncoder, file: VectorFile) -> Score:
    """The scores of a file, which is open to be added to, and of a cross-encoder what it lacks.

    Each is kept under the query and the text as soon as it is there.
    """

    def score(query: str, texts: Sequence[str]) -> list[float]:
        keys = [_key_of_pair(query, text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in file}
        if missing:
            scores = np.array(model.score(query, list(missing.values())), dtype=np.float32)
            if not np.isfinite(scores).all():
                raise BadInput(f"{model.id} gives a score that is no number to {query!r:.60}")
            file.add(list(missing), scores.reshape(-1, 1))
        return [float(number) for number in file.of(keys)[:, 0]]

    return score


def _key_of_pair(query: str, text: str) -> bytes:
    return key_of_text(json.dumps([query, text]))


class CrossEncoder(NamedTuple):
    """What scores, and its name and hash in one."""

    id: str
    score: Score


def load_cross_encoder(path: Path | str) -> CrossEncoder:
    """A cross-encoder in ONNX that `fastembed` runs, from a folder; nothing is downloaded."""
    if find_spec("fastembed") is None:
        raise Misconfigured(FASTEMBED)
    folder = expanded(str(path))
    if not folder.is_dir():
        problem = f"{path}: expected a folder with the cross-encoder's files"
        raise Misconfigured(problem, parameter="cross_encoder")
    folder = folder.resolve()
    with as_files_of(folder, "cross_encoder"):
        weights = first_file(folder, ONNX)
        first_file(folder, ["tokenizer.json"])
        identity = id_of("cross", folder)
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        name = identity.lower()
        if not any(name == listed["model"] for listed in TextCrossEncoder.list_supported_models()):
            model_file = weights.relative_to(folder).as_posix()
            TextCrossEncoder.add_custom_model(name, ModelSource(hf=name), model_file=model_file)
        model = TextCrossEncoder(name, specific_model_path=str(folder), local_files_only=True)

    def score(query: str, texts: Sequence[str]) -> list[float]:
        with as_files_of(folder, "cross_encoder"):
            return [float(number) for number in model.rerank(query, list(texts))]

    return CrossEncoder(identity, score)
