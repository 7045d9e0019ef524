"""Retrievers of Python: functions, and objects as LangChain, LlamaIndex and Haystack have them."""

import asyncio
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.data import Document
from labeler.errors import BadInput, Misuse, ProviderError
from labeler.runs.asking import AskingLimits
from labeler.runs.engines.in_python import PythonEngine
from labeler.runs.retrieve_run import RetrieveOptions, retrieve_run
from labeler.testing import small_collection
from labeler.trec.files import read_run

CATS = "Cats sleep for most of the day."
OF_LANGCHAIN = SimpleNamespace(id=None, page_content=CATS, metadata={"key": "cats"})


@dataclass
class LangChainLike:
    """`ainvoke` gives documents with a text, metadata, and mostly no id."""

    found: list[Any] = field(default_factory=lambda: [OF_LANGCHAIN])

    async def ainvoke(self, query: str) -> list[Any]:
        await asyncio.sleep(0)
        assert query
        return self.found

    def invoke(self, query: str) -> list[Any]:
        raise AssertionError(query)


class LlamaIndexLike:
    """`retrieve` gives nodes beside their scores."""

    def retrieve(self, query: str) -> list[Any]:
        node = SimpleNamespace(node_id="cats", text=query, metadata={})
        return [SimpleNamespace(node=node, score=0.5)]


class HaystackLike:
    """`run` takes the query by keyword and gives a mapping."""

    def run(self, *, query: str, top_k: int = 10) -> dict[str, Any]:
        documents = [SimpleNamespace(id="cats", content=query, meta={}, score=0.25)]
        return {"documents": documents[:top_k]}


async def asynchronously(query: str) -> list[tuple[str, float]]:
    await asyncio.sleep(0)
    return [("cats", float(len(query)))]


def with_a_depth(query: str, depth: int) -> list[str]:
    assert (len(query) > 0, depth) == (True, 100)
    return ["cats"]


@pytest.fixture
def collection() -> Collection:
    return small_collection()


def ids_in(collection: Collection) -> set[str]:
    run = read_run(collection.run("mine"))
    return {doc_id for query_id in run for doc_id in run[query_id]}


@pytest.mark.parametrize(
    "retriever",
    [
        lambda _query: ["cats"],
        lambda _query: [("cats", 2)],
        lambda _query: [["cats", 2]],
        lambda _query: {"cats": 2.5},
        lambda _query: (name for name in ["cats"]),
        lambda _query: {"retriever": {"documents": ["cats"]}},
        lambda _query: [{"_id": "cats", "score": 1.0}],
        with_a_depth,
        asynchronously,
        LlamaIndexLike(),
        HaystackLike(),
        LangChainLike([SimpleNamespace(id="cats", page_content="", metadata={})]),
        PythonEngine(retriever=LangChainLike(), id_from="key"),
    ],
)
def test_a_function_or_an_object_is_a_system(retriever: Any, collection: Collection) -> None:
    done = retrieve_run(collection, retriever, "mine")
    assert (done.answered, done.failures) == (2, {})
    assert ids_in(collection) == {"cats"}


def test_a_document_is_found_by_its_text_whatever_its_id_is(collection: Collection) -> None:
    rows = {d.id: d for d in collection_documents(collection)}
    text = rows["cats"].text.replace(" ", "\n ")
    found = LangChainLike([SimpleNamespace(id="3f2a", page_content=text, metadata={})])
    with pytest.raises(BadInput, match="'3f2a', which is no _id of the corpus"):
        retrieve_run(collection, found, "mine")
    retrieve_run(collection, PythonEngine(retriever=found, id_from="text"), "mine")
    assert ids_in(collection) == {"cats"}
    found.found = [SimpleNamespace(id="3f2a", page_content="nowhere", metadata={})]
    with pytest.raises(BadInput, match=r"'nowhere #.*, which is no text of the corpus"):
        retrieve_run(collection, PythonEngine(retriever=found, id_from="text"), "other")


def collection_documents(collection: Collection) -> list[Document]:
    from labeler.collection.corpus import read_corpus

    return list(read_corpus(collection.corpus).values())


def test_a_mapping_ranks_by_its_scores(collection: Collection) -> None:
    ids = [document.id for document in collection_documents(collection)][:2]
    retrieve_run(collection, lambda _query: {ids[0]: 1.0, ids[1]: 2.0}, "mine")
    run = read_run(collection.run("mine"))
    assert {tuple(sorted(run[q], key=lambda d: -run[q][d])) for q in run} == {(ids[1], ids[0])}


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ("cats", "expected a list of documents, found 'cats'"),
        (None, "expected a list of documents, found None"),
        (pd.DataFrame({"docno": ["cats"], "score": [1.0]}), r"found docno score 0 cats 1\.0$"),
        ([OF_LANGCHAIN], "a returned document has no id"),
        ([("cats", float("nan"))], "expected a number"),
        ([("cats", 1.0, 2.0)], "a returned document has no id"),
        ({"error": "no index"}, "expected a number"),
    ],
)
def test_what_is_no_ranking_is_said(returned: Any, problem: str, collection: Collection) -> None:
    with pytest.raises(BadInput, match=problem):
        retrieve_run(collection, lambda _query: returned, "mine")
    assert not collection.run("mine").exists()


def test_a_query_that_fails_is_named_and_is_no_empty_ranking(collection: Collection) -> None:
    asked: list[str] = []

    def search(query: str) -> list[str]:
        asked.append(query)
        if len(asked) == 2:
            raise KeyError("index")
        return ["cats"]

    done = retrieve_run(collection, search, "mine")
    assert list(done.failures.values()) == ["search: KeyError: 'index'"]
    assert len(read_run(collection.run("mine"))) == 1


def test_a_function_that_never_answers_is_given_up(collection: Collection) -> None:
    asking = replace(AskingLimits(), seconds=0.05, tries=1)
    free = threading.Event()
    try:
        with pytest.raises(ProviderError, match=r"no answer in 0\.05 s"):
            retrieve_run(
                collection, lambda _query: free.wait(2), "mine", RetrieveOptions(asking=asking)
            )
    finally:
        free.set()


def test_plain_functions_are_called_one_after_another(collection: Collection) -> None:
    inside: list[int] = []
    most: list[int] = []

    def search(_query: str) -> list[str]:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return ["cats"]

    retrieve_run(collection, search, "mine")
    assert max(most) == 1


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("search", "expected MODULE:NAME"),
        ("no_such_module:search", "No module named 'no_such_module'"),
        ("json:no_such_name", "no attribute 'no_such_name'"),
        ("json:__doc__", "no function, and no object with invoke"),
    ],
)
def test_a_name_that_leads_nowhere_is_a_misuse(name: str, problem: str) -> None:
    with pytest.raises(Misuse, match=problem):
        PythonEngine(name).check()


def test_the_command_finds_a_function_in_the_current_folder(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "my_retriever.py").write_text("def search(query):\n    return ['cats']\n")
    monkeypatch.chdir(tmp_path)
    words = ["retrieve", str(collection.folder), "--as", "mine"]
    assert execute([*words, "--python", "my_retriever:search"]) == 0
    assert ids_in(collection) == {"cats"}
    assert execute([*words, "--python", "my_retriever:search", "--command", "x {query}"]) == 2
