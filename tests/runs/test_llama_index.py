"""Retrievers of LlamaIndex itself are systems."""

from pathlib import Path

import pytest

from labeler.runs.engines.in_python import PythonEngine
from labeler.runs.retrieve_run import retrieve_run
from labeler.testing import small_collection
from labeler.trec.files import read_run

pytestmark = pytest.mark.sweep  # to import LlamaIndex takes seconds


def test_a_retriever_of_llama_index_is_a_system_by_ids_or_by_metadata(tmp_path: Path) -> None:
    pytest.importorskip("llama_index.core", reason="it is a test dependency, not of the package")
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Both(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            assert query_bundle.query_str
            nodes = [TextNode(id_=f"n-{key}", text=key, metadata={"key": key}) for key in KEYS]
            return [NodeWithScore(node=node, score=1 / n) for n, node in enumerate(nodes, 1)]

    collection = small_collection(tmp_path)
    result = retrieve_run(collection, PythonEngine(retriever=Both(), id_from="key"), "mine")
    assert read_run(result.run).as_dict()["q1"] == {"fish": 1.0, "cats": 0.5}


KEYS = ("fish", "cats")
