"""Documents that stay in their file are those that a reader of the whole file gives."""

import gzip
import json
from pathlib import Path

import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.collection.corpus import DocumentsOnDemand, corpus_on_demand, read_corpus
from labeler.errors import BadInput, FileProblem

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def row(number: int, text: str = "x") -> str:
    return json.dumps({"_id": f"d{number}", "title": "t", "text": text, "metadata": {"n": number}})


@steadily(60)
@given(texts=st.lists(TEXTS, max_size=6), is_ascii=st.booleans(), data=st.data())
def test_each_document_is_the_one_that_stands_in_its_line(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], is_ascii: bool, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("c") / "corpus.jsonl"
    ends = st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"])
    rows = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(texts)]
    lines = [json.dumps(each, ensure_ascii=is_ascii) + data.draw(ends) for each in rows]
    whole = data.draw(st.sampled_from(["", "\ufeff"])) + "".join(lines)
    path.write_bytes((whole.rstrip() if data.draw(st.booleans()) else whole).encode())
    documents, expected = DocumentsOnDemand(path), read_corpus(path)
    assert list(documents.items()) == list(expected.items())
    assert "d99" not in documents
    for doc_id in reversed(expected):
        assert documents[doc_id] == expected[doc_id]


def test_what_is_wrong_with_the_file_is_said_before_any_document_is_asked_for(
    tmp_path: Path,
) -> None:
    path = tmp_path / "corpus.jsonl"
    with pytest.raises(FileProblem, match="labeler corpus ingest"):
        corpus_on_demand(path)
    path.write_text(f"{row(1)}\n{row(2)}\n{row(1)}\n")
    with pytest.raises(BadInput, match=r"corpus.jsonl:3: the id 'd1' stands in an earlier line"):
        corpus_on_demand(path)
    path.write_text(f"{row(1)}\n{{\n")
    with pytest.raises(BadInput, match=r"corpus.jsonl:2: "):
        corpus_on_demand(path)


def test_a_packed_corpus_is_read_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(gzip.compress(f"{row(1)}\n".encode()))
    assert corpus_on_demand(path)["d1"].metadata == {"n": 1}


def test_another_file_in_its_place_changes_nothing_and_a_rewritten_one_is_noticed(
    tmp_path: Path,
) -> None:
    path, other = tmp_path / "corpus.jsonl", tmp_path / "other.jsonl"
    path.write_text(f"{row(1, 'old')}\n{row(2, 'old')}\n")
    documents = corpus_on_demand(path)
    other.write_text(f"{row(2, 'new')}\n")
    other.replace(path)
    assert documents["d2"].text == "old"
    written = corpus_on_demand(path)
    path.write_text(f"{row(3, 'new')}\n")
    with pytest.raises(BadInput, match=r"corpus.jsonl: it was changed meanwhile"):
        written["d2"]
    path.write_text("")
    with pytest.raises(BadInput, match=r"corpus.jsonl: it was changed meanwhile"):
        written["d2"]
