"""Which model a command asks, and why; then that model, ready to be asked."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from labeler.data import Document
from labeler.errors import Misconfigured, Misuse
from labeler.files.cache import sha256_of
from labeler.files.home import expanded
from labeler.model import Model, Reply, Request
from labeler.models.declared import find_assessor, project_file
from labeler.models.local.caveats import caveat
from labeler.models.local.file import EMBEDDED, model_path
from labeler.models.local.serve import can_serve, engine_id, serving
from labeler.models.prices import Price, price_of
from labeler.models.server.client import (
    Calls,
    answers,
    called_model,
    models_of,
    server_model,
)
from labeler.models.settings import AssessorSettings
from labeler.models.similarity import cosine_of, similarity_model
from labeler.text.terms import TermStatistics, terms, text_to_search
from labeler.text.vectors import encode, encoder_id
from labeler.wire.addresses import masked, server_address
from labeler.wire.gate import Admitted, admit
from labeler.wire.places import ollama_address

Task = Literal["generate", "judge", "rank"]

DEFAULTS: Mapping[Task, str] = {"generate": "local", "judge": "similarity", "rank": "local"}
"""The embedded model of a task: the small LLM writes and ranks, the similarity rule grades."""

SERVER_CONCURRENCY = 16
LONGEST_NAME = 500
"""Characters of a model's name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A model by the name people use, where it is, and why it was chosen.

    `base_url` is a server's address, `None` for an embedded model; `declared` is what else is said
    of a server's model. `named_by` is the file that alone names the address, or the variable of
    its key; empty where a person did.
    """

    name: str
    why: str
    base_url: str | None = None
    declared: AssessorSettings = field(default_factory=AssessorSettings)
    named_by: str = ""

    @property
    def server(self) -> Admitted:
        """The server with its key; `Misconfigured` where it may not be asked."""
        return admit(self.base_url, named_by=self.named_by, key=self.declared.key)

    @property
    def is_embedded(self) -> bool:
        """Whether the model runs on this machine, inside this package's reach."""
        return self.base_url is None

    def price(self, prices: Path | None = None) -> Price | None:
        """What is declared, else the price in a file of the user's or in the list."""
        declared = self.declared
        if declared.tokens_in is None or declared.tokens_out is None:
            return price_of(self.base_url, self.name, prices)
        return Price(declared.tokens_in, declared.tokens_out, declared.file or declared.name)

    @property
    def caveat(self) -> str | None:
        """How far an embedded assessor's grades can be trusted; `None` for a server's model."""
        return caveat(self.name) if self.is_embedded else None

    def __str__(self) -> str:
        where = f" at {masked(self.base_url)}" if self.base_url else ""
        return f"{self.name}{where} ({self.why})"


@dataclass(frozen=True, slots=True)
class Ready:
    """A model that can be asked, what to add to its requests' inputs, how many to send at once."""

    model: Model
    inputs: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 1


async def choose(
    task: Task,
    asked: AssessorSettings | str | None,
    base_url: str | None,
    environment: Mapping[str, str] = os.environ,
    *,
    rehearsal: bool = False,
) -> Choice:
    """The model for a task: the one named, else a key's server, else Ollama, else the embedded.

    `asked` is the name of a model, or what is declared of one, whose server is asked where no other
    address is given.

    In a rehearsal, which asks nothing, a named model is taken for one of OpenAI's where there is
    neither a key nor another server.

    Raises `Misuse`, with the list of its models, where there is a server and no model is named.
    """
    declared = asked if isinstance(asked, AssessorSettings) else AssessorSettings(model=asked or "")
    model_name = declared.model or environment.get("LABELER_MODEL")
    name_from = "model given" if declared.model else "LABELER_MODEL is set"
    if declared.file:
        name_from = f"{declared.file} declares it" if declared.model else name_from
    named_by = namer_of(declared, base_url)
    base_url = base_url or declared.server or None
    if model_name and is_embedded_name(model_name):
        return _with_own_file(_embedded(task, model_name, base_url, name_from), environment)
    check_model_name(model_name or "")
    server = await server_of(base_url, environment)
    if server is None:
        if model_name:
            close = get_close_matches(model_name, ("local", "similarity"), 1)
            if rehearsal and not close:
                address = server_address(None)
                return Choice(model_name, f"{name_from}; no key yet", address, declared)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise Misconfigured(
                f"no server for the model {model_name!r}: set OPENAI_API_KEY, give an address, or "
                f"name an embedded model: local, similarity, gguf:PATH{hint}",
            )
        why = "no key in the environment, no server at Ollama's port"
        return _with_own_file(Choice(DEFAULTS[task], why), environment)
    address, why = server
    choice = Choice(model_name or "", f"{name_from}; {why}", address, declared, named_by)
    admitted = choice.server
    if not model_name:
        raise Misuse(await _models_to_name(admitted, why), parameter="model")
    return choice


def namer_of(declared: AssessorSettings, base_url: str | None) -> str:
    """The file that says which server an assessor asks, or with which key; empty without one."""
    return declared.file if (declared.server or declared.key) and not base_url else ""


def check_model_name(model_name: str) -> None:
    """Raise `Misuse` where no server can have a model of that name."""
    if not model_name.isprintable() or len(model_name) > LONGEST_NAME:
        shown = repr(model_name[:40])
        problem = f"{shown} is no model's name: it is too long, or has characters without a shape"
        raise Misuse(problem, parameter="model")


def is_embedded_name(name: str) -> bool:
    """Whether `name` is an embedded model's rather than a server's."""
    return name in {"local", "similarity"} or name.startswith("gguf:")


def _embedded(task: Task, name: str, base_url: str | None, name_from: str) -> Choice:
    if base_url:
        problem = f"an address does not go with the embedded model {name!r}"
        raise Misuse(problem, parameter="base_url")
    if task != "judge" and name == "similarity":
        what = "queries need" if task == "generate" else "ranking needs"
        problem = f"'similarity' can only judge; {what} an LLM: local, gguf:PATH, a server"
        raise Misuse(problem, parameter="model")
    return Choice(name, name_from)


def _with_own_file(choice: Choice, environment: Mapping[str, str]) -> Choice:
    """The choice, with the user's own file where it is the embedded LLM and one is named."""
    path = environment.get("LABELER_MODEL_FILE")
    if choice.name != "local" or not path:
        return choice
    return Choice(f"gguf:{path}", f"{choice.why}; LABELER_MODEL_FILE is set")


def model_in(
    model: str | None, file: Path | None, assessor: str = ""
) -> AssessorSettings | str | None:
    """The model, where the file of the embedded LLM or a declared assessor may be named beside it.

    A model's name beside an assessor's is asked in place of the one that is declared.
    """
    if file is not None and model not in {None, "local"}:
        problem = f"a file is of the embedded model 'local', and the model is {model!r}"
        raise Misuse(problem, parameter="model_file")
    named = model if file is None else f"gguf:{file}"
    if not assessor:
        return named
    declared = find_assessor(assessor, project=project_file())
    return replace(declared, model=named, name="") if named else declared


async def server_of(base_url: str | None, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The address of the server that is meant, and why it is that one; None where there is none."""
    if base_url:
        return server_address(base_url), "address given"
    if environment.get("OPENAI_BASE_URL"):
        return server_address(environment["OPENAI_BASE_URL"]), "OPENAI_BASE_URL is set"
    if environment.get("OPENAI_API_KEY"):
        return server_address(None), "OPENAI_API_KEY is set"
    ollama = f"{ollama_address(environment)}/v1"
    if await answers(ollama):
        return ollama, "a server answers at Ollama's port"
    return None


async def _models_to_name(server: Admitted, why: str) -> str:
    names = await models_of(server)
    listed = ", ".join(names[:20]) + (f", and {len(names) - 20} more" if len(names) > 20 else "")
    return (
        f"name a model, here or in LABELER_MODEL ({why}); {masked(server.address)} has: "
        f"{listed or 'none that it lists'}; offline: local, similarity"
    )


@asynccontextmanager
async def ready(
    choice: Choice, documents: Iterable[Document], calls: Calls | None = None
) -> AsyncIterator[Ready]:
    """The chosen model, as long as the block runs; an embedded one is started and ended here.

    The caller closes it.
    """
    if not choice.is_embedded:
        model = called_model(choice.name, choice.server, calls or Calls(), choice.declared)
        yield Ready(model, concurrency=SERVER_CONCURRENCY)
    elif choice.name == "similarity":
        statistics = TermStatistics.of(terms(text_to_search(d)) for d in documents)
        model = similarity_model(cosine_of(encode), encoder_id(), statistics)
        inputs = {"term_statistics": statistics.digest}
        yield Ready(model, inputs, concurrency=256)  # so that replies are stored in large batches
    else:
        path, sha256 = _gguf(choice.name)
        identity = _identity(sha256, engine_id())
        with serving(path) as served:
            yield Ready(server_model(path.name, *served, identity=identity))


def rehearsed(choice: Choice) -> Ready:
    """An embedded LLM as the store knows it, for counting calls: it needs no file and no engine."""
    sha256 = EMBEDDED.sha256 if choice.name == "local" else _gguf(choice.name)[1]
    engine = engine_id() if can_serve() else "no engine"

    async def ask(_request: Request) -> Reply:
        raise NotImplementedError("a rehearsal asks nothing")

    return Ready(Model(_identity(sha256, engine), ask, is_server=True))


def is_llm(choice: Choice) -> bool:
    """Whether the choice is an embedded model with a file and an engine."""
    return choice.is_embedded and choice.name != "similarity"


def _identity(sha256: str, engine: str) -> str:
    return f"gguf {sha256} {engine}"


def _gguf(name: str) -> tuple[Path, str]:
    """The file behind an embedded model's name, and its SHA-256."""
    if name != "local":
        path = expanded(name.removeprefix("gguf:"))
        if not path.is_file():
            raise Misconfigured(f"{path}: no such model file")
        return path, sha256_of(path)
    cached = model_path()
    if cached is None:
        size = f"{EMBEDDED.size / 1e6:.0f} MB"
        raise Misconfigured(
            f"the embedded model is not here yet ({size}): labeler fetch model, or name a file of "
            "your own in LABELER_MODEL_FILE"
        )
    return cached, EMBEDDED.sha256
