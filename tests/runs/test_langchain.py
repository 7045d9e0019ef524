"""Retrievers of LangChain itself are systems, handed over or named."""

import runpy
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.errors import ProviderError
from labeler.runs.asking import AskingLimits
from labeler.runs.engines.in_python import PythonEngine
from labeler.runs.retrieve_run import RetrieveOptions, retrieve_run
from labeler.testing import small_collection
from labeler.trec.files import ranking, read_run

pytestmark = pytest.mark.sweep  # to import LangChain takes seconds

RETRIEVER = '''
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

TEXTS = {"cats": "Cats sleep for most of the day.", "fish": "Fish swim."}


class ByWords(BaseRetriever):
    """Its documents have no ids of their own, but one in their metadata."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if "fails" in query:
            raise ValueError("no index")
        words = set(query.split())
        ranked = sorted(TEXTS, key=lambda key: -len(words & {*TEXTS[key].casefold().split()}))
        return [Document(page_content=TEXTS[key], metadata={"key": key}) for key in ranked]


by_words = ByWords()
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
store.add_documents([Document(id=key, page_content=text) for key, text in TEXTS.items()])
nearest = store.as_retriever(search_kwargs={"k": 2})
'''


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    pytest.importorskip("langchain_core", reason="it is a test dependency, not of the package")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_langchain.py").write_text(RETRIEVER)
    return small_collection(tmp_path / "coll")


def test_a_retriever_is_handed_over_as_it_is(collection: Collection) -> None:
    objects = runpy.run_path("of_langchain.py")
    engine = PythonEngine(retriever=objects["by_words"], id_from="key")
    result = retrieve_run(collection, engine, "mine")
    assert (result.answered, result.failures) == (2, {})
    assert ranking(read_run(result.run)["q1"]) == ["cats", "fish"]
    assert retrieve_run(collection, objects["nearest"], "nearest").documents == 4


def test_the_retriever_of_a_vector_store_is_named_on_the_command_line(
    collection: Collection,
) -> None:
    command = ["retrieve", str(collection.folder), "--as", "mine", "--python"]
    assert execute([*command, "of_langchain:nearest"]) == 0
    run = read_run(collection.run("mine")).as_dict()
    assert {query: set(scores) for query, scores in run.items()} == {
        "q1": {"cats", "fish"}, "q2": {"cats", "fish"},
    }  # fmt: skip


def test_what_it_raises_is_a_failure_and_no_empty_ranking(collection: Collection) -> None:
    collection.queries.write_text('{"_id": "q1", "text": "it fails"}\n')
    once = RetrieveOptions(asking=AskingLimits(1, 20, tries=1))
    with pytest.raises(ProviderError, match="ValueError: no index"):
        retrieve_run(collection, PythonEngine("of_langchain:by_words"), "mine", once)
