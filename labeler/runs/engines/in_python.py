"""A retriever of Python: a function of a query, or an object of LangChain, LlamaIndex, Haystack."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, CallFailed, Misuse, NoAnswer
from labeler.messages import squeezed
from labeler.options import option
from labeler.runs.engines.answers import (
    ANSWER,
    SYSTEM,
    TEXT,
    Hit,
    HitPaths,
    Search,
    hits_in,
    text_key,
)

_METHODS = ("ainvoke", "invoke", "aretrieve", "retrieve", "run")
"""How LangChain's, LlamaIndex's and Haystack's retrievers are asked, the asynchronous way first."""

_IDS = ("id", "id_", "node_id", "_id", "doc_id")
_TEXTS = ("page_content", "content", "text")
_METADATA = ("metadata", "meta")


@dataclass(frozen=True, slots=True)
class PythonEngine:
    """A retriever, or where one is found: `retriever` is the object, or `python` names it.

    Of what it returns for a query, `id_from` says which document is meant: a key of the returned
    documents' metadata, or `text`; without one, their own ids do. A function may return ids, pairs
    of an id and a score, a mapping of ids to scores, or documents; it is given the query, and the
    depth as well where it takes two arguments. What is not asynchronous is called in one thread,
    one query after another.
    """

    python: str = option(
        "", "A function or retriever of yours, as MODULE:NAME.", metavar="NAME", panel=SYSTEM
    )
    id_from: str = option(
        "",
        "A key of returned metadata, or text, in place of ids.",
        metavar="KEY",
        panel=ANSWER,
        rare=True,
    )
    retriever: Any = None

    def check(self) -> None:
        """Raise `Misuse` where there is no such object, or it can be asked in no known way."""
        self._asking()

    def tag(self) -> str:
        """What the run is called by default in its last column."""
        return "python"

    def shown(self) -> str:
        """The name of the function, or of the object's class."""
        retriever = self.retriever
        return self.python or getattr(retriever, "__name__", "") or type(retriever).__name__

    @asynccontextmanager
    async def open(self, seconds: float) -> AsyncIterator[Search]:
        """A function that asks it, as long as the block runs."""
        asking = self._asking()
        where = self.shown()
        takes_depth = _takes_two(asking)
        thread = ThreadPoolExecutor(1, "labeler-retriever")

        async def search(query: str, depth: int) -> list[Hit]:
            try:
                async with asyncio.timeout(seconds):
                    returned = await _answer(
                        asking, (query, depth) if takes_depth else (query,), thread
                    )
            except TimeoutError:
                raise NoAnswer(f"{where}: no answer in {seconds:g} s") from None
            except Exception as error:  # whatever a function of somebody's raises
                raise CallFailed(f"{where}: {type(error).__name__}: {error}") from error
            return self._hits(returned, where)[:depth]

        try:
            yield search
        finally:
            thread.shutdown(wait=False, cancel_futures=True)

    def _asking(self) -> Callable[..., Any]:
        """The function to call with a query."""
        retriever = _named(self.python) if self.retriever is None else self.retriever
        names = [name for name in _METHODS if callable(getattr(retriever, name, None))]
        asking: Callable[..., Any] = getattr(retriever, names[0]) if names else retriever
        if callable(asking):
            return (lambda query: asking(query=query)) if names[:1] == ["run"] else asking
        raise Misuse(
            f"{self.shown()}: no function, and no object with invoke, retrieve or run; of a "
            "store or an index, take as_retriever()",
            parameter="python",
        )

    def _hits(self, returned: Any, where: str) -> list[Hit]:
        """What was returned, as hits in its order."""
        if isinstance(returned, Mapping):  # Haystack's, of a component or of a pipeline
            parts = (part for part in (returned, *returned.values()) if isinstance(part, Mapping))
            of_pipeline = (part["documents"] for part in parts if "documents" in part)
            returned = next(of_pipeline, returned)
        is_mapping = isinstance(returned, Mapping)
        is_frame = hasattr(returned, "columns")
        if isinstance(returned, str) or is_frame or not isinstance(returned, Iterable):
            shown = f"{squeezed(repr(returned)):.60}"
            raise BadInput(
                f"{where}: expected a list of documents, found {shown}", parameter="python"
            )
        returned = dict(returned).items() if is_mapping else returned
        hits = hits_in([self._hit(item, where) for item in returned], HitPaths(), where)
        return sorted(hits, key=lambda hit: -(hit.score or 0.0)) if is_mapping else hits

    def _hit(self, item: Any, where: str) -> Any:
        """A returned document as an object with an id and a score."""
        if isinstance(item, tuple | list) and len(item) == 2:
            item, score = item
            if isinstance(item, str | int):
                return {"id": item, "score": score}
        else:
            score = _value(item, ("score",))
        if isinstance(item, str | int):
            return item
        inner = getattr(item, "node", item)  # LlamaIndex's stand beside their scores
        if self.id_from == TEXT:
            doc_id = text_key(str(_value(inner, _TEXTS) or ""))
        elif self.id_from:
            doc_id = _value(_value(inner, _METADATA), (self.id_from,))
        else:
            doc_id = _value(inner, _IDS)
        if doc_id is None:
            raise BadInput(
                f"{where}: a returned document has no {self.id_from or 'id'}: {item!r:.80}; name "
                "a key of its metadata, or text, by which it is found in the corpus",
                parameter="id_from",
            )
        return {"id": doc_id, "score": score}


async def _answer(
    asking: Callable[..., Any], arguments: Sequence[Any], thread: ThreadPoolExecutor
) -> Any:
    call = partial(asking, *arguments)
    if inspect.iscoroutinefunction(asking):
        return await call()
    returned = await asyncio.get_running_loop().run_in_executor(thread, call)
    return await returned if isinstance(returned, Awaitable) else returned


def _takes_two(asking: Callable[..., Any]) -> bool:
    """Whether a plain function has to be given the depth, too."""
    try:
        parameters = inspect.signature(asking).parameters.values()
    except (TypeError, ValueError):
        return False
    plain = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    required = [each for each in parameters if each.default is each.empty and each.kind in plain]
    return len(required) == 2


def _value(item: Any, names: Sequence[str]) -> Any:
    """The first of some values that an object or a mapping has."""
    has = item.get if isinstance(item, Mapping) else partial(getattr, item)
    values = (has(name, None) for name in names)
    return next((value for value in values if value is not None), None)


def _named(name: str) -> Any:
    """The object that `MODULE:NAME` stands for; modules of the current folder are found, too."""
    module, _, inside = name.partition(":")
    if not module or not inside:
        raise Misuse(f"expected MODULE:NAME, found {name!r:.80}", parameter="python")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = import_module(module.removesuffix(".py"))
        for part in inside.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise Misuse(f"{name}: {error}", parameter="python") from error
    return value
