"""Which model a command asks, and why; then that model, ready to be asked."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from labeler.data import Document
from labeler.errors import Misconfigured, Misuse
from labeler.files.paths import expanded
from labeler.files.read import sha256_of
from labeler.files.settings import ASSESSORS, NAME, read_toml
from labeler.messages import meant, meant_or_known, quiet
from labeler.model import JsonObject, Model, Reply, Request
from labeler.models.cost import Price, price_of
from labeler.models.embedded import EMBEDDED, similarity_model, similarity_rule
from labeler.models.local.serve import engine_id, serving
from labeler.models.server.client import Calls, answers, called_model, models_of, server_model
from labeler.models.settings import AssessorSettings, check_model_name
from labeler.text.terms import TermStatistics, terms, text_to_search
from labeler.wire.addresses import masked, ollama_address, server_address
from labeler.wire.gate import Admitted, admit, check_variable_name

# Assessors that are declared in a project: `assessors/NAME.toml`, or a table of `labeler.toml`.
#
# Such a file may come with somebody's documents: it names no key, loads no file of a model, and its
# server is trusted only as far as a person named it.

FOLDER = "assessors"
_SET_HERE = frozenset(["name", "file"])
_SECRET = re.compile(r"authorization|api-?key|token|secret|cookie|password", re.IGNORECASE)
_SETTINGS = TypeAdapter(AssessorSettings)
KEYS = tuple(f.name for f in fields(AssessorSettings) if f.name not in _SET_HERE)
"""What a declaration may say."""


def project_file() -> Path:
    """The project's file of settings: that of the current folder, or of LABELER_CONFIG."""
    return Path(os.environ.get("LABELER_CONFIG") or NAME)


def declared_assessors() -> dict[str, Path]:
    """The names of the assessors that the project declares, and the file of each."""
    project = project_file()
    tables = read_toml(project).get(ASSESSORS, {}) if project.is_file() else {}
    if not isinstance(tables, dict):
        raise Misconfigured(
            f"{project}: {ASSESSORS}: expected a table for each assessor, as [{ASSESSORS}.NAME]"
        )
    return dict.fromkeys(tables, project) | {
        path.stem: path for path in sorted(Path(FOLDER).glob("*.toml"))
    }


def find_assessor(name: str) -> AssessorSettings:
    """The assessor of a name, or in a TOML file of its own; `Misuse` where none is declared so."""
    declared = declared_assessors()
    if name.endswith(".toml") and Path(name).is_file():
        path, name = Path(name), Path(name).stem
    elif name in declared:
        path = declared[name]
    else:
        listed = ", ".join(declared) or f"none; write {FOLDER}/{name}.toml"
        raise Misuse(
            f"no assessor {name!r}; {meant(name, declared)}declared: {listed}", parameter="assessor"
        )
    values = read_toml(path)
    if path == project_file():
        values = values[ASSESSORS][name]
    return _read(path, name, values)


def _read(path: Path, name: str, values: object) -> AssessorSettings:
    """The settings that a file declares, checked; an error names the file, the line and the key."""
    if not isinstance(values, dict):
        raise Misconfigured(f"{path}: {name}: expected a table of settings")
    try:
        for key in values:
            if key not in KEYS:
                raise Misuse(f"no such setting; {meant_or_known(key, KEYS)}", parameter=key)
        check_no_secret(values)
        settings = _SETTINGS.validate_json(json.dumps(values))
    except Misuse as error:
        raise Misconfigured(_at(path, error.parameter, str(error))) from error
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise Misconfigured(_at(path, key, first["msg"])) from None
    except (TypeError, ValueError) as error:  # a date, or a number that JSON has not
        raise Misconfigured(f"{path}: expected texts, numbers and tables ({error})") from error
    return replace(settings, name=name, file=str(path))


def check_no_secret(values: JsonObject) -> None:
    """Raise `Misuse`, without the value, where a key stands in place of a variable's name."""
    check_variable_name(values.get("key", ""))
    headers = values.get("headers")
    for header in headers if isinstance(headers, dict) else ():
        if _SECRET.search(header):
            raise Misuse(
                f"{header!r} would hold a secret; name its variable in `key` instead",
                parameter="headers",
            )
    if str(values.get("model", "")).startswith("gguf:"):
        raise Misuse(
            "a model's file is named by an option or LABELER_MODEL, not by a file",
            parameter="model",
        )


def _at(path: Path, key: str, problem: str) -> str:
    """A problem with the file and the line of a key, where the key begins one."""
    last = re.escape(key.rsplit(".", maxsplit=1)[-1])
    lines = path.read_text(encoding="utf-8").splitlines()
    numbers = [n for n, line in enumerate(lines, start=1) if re.match(rf"\s*\W*{last}\W", line)]
    return f"{path}{f':{numbers[0]}' if numbers else ''}: {key}: {problem}"


Task = Literal["generate", "judge", "rank"]

DEFAULTS: Mapping[Task, str] = {"generate": "local", "judge": "similarity", "rank": "local"}
"""The embedded model of a task: the small LLM writes and ranks, the similarity rule grades."""

SERVER_CONCURRENCY = 16


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

    @property
    def price(self) -> Price | None:
        """What is declared, else the price in the list; None where neither says it."""
        declared = self.declared
        if declared.tokens_in is None or declared.tokens_out is None:
            return price_of(self.base_url, self.name)
        where = declared.file or declared.name or "your settings"
        return Price(declared.tokens_in, declared.tokens_out, where)

    def __str__(self) -> str:
        where = f" at {masked(self.base_url)}" if self.base_url else ""
        return f"{self.name}{where} ({self.why})"


@dataclass(frozen=True, slots=True)
class Ready:
    """A model that can be asked, what to add to its requests' inputs, how many to send at once."""

    model: Model
    inputs: JsonObject = field(default_factory=dict)
    concurrency: int = 1


async def choose(
    task: Task,
    asked: AssessorSettings | str | None,
    base_url: str | None,
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
    model_name = declared.model or os.environ.get("LABELER_MODEL")
    name_from = "LABELER_MODEL is set"
    if declared.model:
        name_from = f"{declared.file} names it" if declared.file else "model given"
    named_by = namer_of(declared, base_url)
    is_all_declared = declared.file and declared.model and declared.server and not base_url
    base_url = base_url or declared.server or None
    if model_name and is_embedded_name(model_name):
        return _embedded(task, model_name, base_url, name_from)
    check_model_name(model_name or "")
    server = await server_of(base_url)
    if server is None:
        if model_name:
            close = get_close_matches(model_name, ("local", "similarity"), 1)
            if rehearsal and not close:
                address = server_address(None)
                return Choice(model_name, f"{name_from}; no key yet", address, declared)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise Misconfigured(
                f"no server for the model {model_name!r}: set OPENAI_API_KEY, give an address, or "
                f"name an embedded model: local, similarity, gguf:PATH{hint}"
            )
        return Choice(DEFAULTS[task], "no key in the environment, no server at Ollama's port")
    address, why = server
    why = name_from if is_all_declared else f"{name_from}; {why}"
    choice = Choice(model_name or "", why, address, declared, named_by)
    admitted = choice.server
    if not model_name:
        raise Misuse(await _models_to_name(admitted, why), parameter="model")
    return choice


def namer_of(declared: AssessorSettings, base_url: str | None) -> str:
    """The file that says which server an assessor asks, or with which key; empty without one."""
    return declared.file if (declared.server or declared.key) and not base_url else ""


def is_embedded_name(name: str) -> bool:
    """Whether `name` is an embedded model's rather than a server's."""
    return name in {"local", "similarity"} or name.startswith("gguf:")


def _embedded(task: Task, name: str, base_url: str | None, name_from: str) -> Choice:
    if base_url:
        raise Misuse(
            f"an address does not go with the embedded model {name!r}", parameter="base_url"
        )
    if task != "judge" and name == "similarity":
        what = "queries need" if task == "generate" else "ranking needs"
        raise Misuse(
            f"'similarity' can only judge; {what} an LLM: local, gguf:PATH, a server",
            parameter="model",
        )
    return Choice(name, name_from)


async def server_of(base_url: str | None) -> tuple[str, str] | None:
    """The address of the server that is meant, and why it is that one; None where there is none."""
    if base_url:
        return server_address(base_url), "address given"
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        if os.environ.get(variable):
            return server_address(None), f"{variable} is set"
    ollama = f"{ollama_address()}/v1"
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
        await asyncio.to_thread(similarity_rule().fetch, calls.note if calls else quiet)
        yield rehearsed(choice, documents)
    else:
        path, sha256 = _gguf(choice.name)
        identity = _identity(sha256, engine_id())
        with serving(path) as served:
            yield Ready(server_model(path.name, *served, identity=identity))


def rehearsed(choice: Choice, documents: Iterable[Document]) -> Ready:
    """An embedded model as the store knows it, for counting calls: it needs no file, no engine."""
    if choice.name == "similarity":
        statistics = TermStatistics.of(terms(text_to_search(d)) for d in documents)
        model, inputs = similarity_model(similarity_rule(), statistics), statistics.digest
        # as many at once as make large batches of replies to store
        return Ready(model, {"term_statistics": inputs}, concurrency=256)
    sha256 = EMBEDDED.sha256 if choice.name == "local" else _gguf(choice.name)[1]
    return Ready(unasked(_identity(sha256, engine_id()), is_server=True))


def unasked(identity: str, *, is_server: bool = False) -> Model:
    """A model that stands for another where nobody is asked."""

    async def ask(_request: Request) -> Reply:
        raise NotImplementedError(f"{identity} is not to be asked")

    return Model(identity, ask, is_server=is_server)


def _identity(sha256: str, engine: str) -> str:
    return f"gguf {sha256} {engine}"


def _gguf(name: str) -> tuple[Path, str]:
    """The file behind an embedded model's name, and its SHA-256."""
    if name != "local":
        path = expanded(name.removeprefix("gguf:"))
        if not path.is_file():
            raise Misconfigured(f"{path}: no such model file")
        return path, sha256_of(path)
    if not EMBEDDED.is_here:
        raise Misconfigured(
            f"the embedded model is not here yet ({EMBEDDED.size / 1e6:.0f} MB): labeler fetch "
            "model, or name a file of your own: LABELER_MODEL=gguf:PATH"
        )
    return EMBEDDED.path, EMBEDDED.sha256
