"""A column is known by the whole of its name, and two that could each be it are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labeler.corpus.readers.tables import documents_of_rows
from labeler.errors import BadInput, Misuse
from labeler.exchange.fields import LogFields
from labeler.exchange.logs import read_log
from labeler.exchange.qrels import read_qrels
from labeler.exchange.queries import read_query_list
from labeler.exchange.runs import read_run
from labeler.trec.memory import as_qrels, as_run


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("q.tsv", "qid\ttext\ttext\n1\ta\tb\n", "q.tsv:1: two columns have the name 'text'"),
        ("q.tsv", "qid\tid\ttext\n1\t2\tb\n", "q.tsv:2: 'qid' and 'id' could each be the query's"),
        ("q.tsv", "qid\ttext\tquery\n1\ta\tb\n", "'text' and 'query' could each be the query's"),
        ("q.jsonl", '{"id": 1, "qid": 2, "text": "a"}\n', "'id' and 'qid' could each be"),
        ("q.jsonl", '{"id": 1, "text": "a", "question": "b"}\n', "'text' and 'question' could"),
    ],
)
def test_two_columns_for_one_part_of_a_query_are_refused(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput) as caught:
        read_query_list(tmp_path / name)
    assert problem in str(caught.value)


READS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "queries": (read_query_list, "id,{part},query\na,{value},cats\n"),
    "a run": (read_run, "qid,{part},doc_id,score\na,{value},d,1\n"),
    "qrels": (read_qrels, "qid,{part},doc_id,grade\na,{value},d,1\n"),
}


@pytest.mark.parametrize("kind", READS)
def test_two_columns_of_one_meaning_are_read_where_they_hold_the_same_and_else_refused_alike(
    tmp_path: Path, kind: str
) -> None:
    read, table = READS[kind]
    path = tmp_path / "t.csv"
    path.write_text(table.format(part="topic_id", value="a"))
    assert list(read(path)) == ["a"]
    path.write_text(table.format(part="topic_id", value="b"))
    with pytest.raises(BadInput) as caught:
        read(path)
    both = "'id' and 'topic_id'" if kind == "queries" else "'qid' and 'topic_id'"
    assert f"t.csv:2: {both} could each be the query's id; rename or remove one" in str(
        caught.value
    )


def test_two_columns_of_a_log_that_count_otherwise_are_refused_with_what_names_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query,count,searches\nusb hub,3,3\ncable,2,4\n")
    with pytest.raises(BadInput, match=r"log.csv:3: 'count' and 'searches' could each") as caught:
        list(read_log(path))
    assert caught.value.parameter == "count_field"
    assert [row.times for row in read_log(path, LogFields(count_field="searches"))] == [3, 4]


def test_two_columns_of_one_meaning_in_parquet_are_compared_too(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    names = ["query_id", "qid", "doc_id", "score"]
    for qid, problem in (("q", ""), ("p", "'query_id' and 'qid' could each be the query's id")):
        arrays = [pa.array(column) for column in (["q"], [qid], ["d"], [1.5])]
        pq.write_table(pa.Table.from_arrays(arrays, names=names), path)
        if not problem:
            assert read_run(path) == {"q": {"d": 1.5}}
            continue
        with pytest.raises(BadInput, match=problem):
            read_run(path)


def test_two_columns_of_a_query_that_say_the_same_are_one(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "a", "qid": "a", "text": "t", "text_2": "x", "my_id": "y"}\n')
    (query,) = read_query_list(path).values()
    assert (query.id, query.text) == ("a", "t")


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "Text": "one", "text": "two"},
        {"ID": "a", "id": "b", "text": "two"},
        {"id": "a", "Title": "one", "title": "two", "text": "x"},
    ],
)
def test_columns_of_a_document_that_differ_in_letter_case_alone_are_refused(
    row: dict[str, Any],
) -> None:
    with pytest.raises(BadInput, match=r"docs.jsonl:7: .* are one name; rename or remove one"):
        list(documents_of_rows(Path("docs.jsonl"), [(7, row)]))


def test_a_documents_columns_whose_names_begin_alike_are_metadata() -> None:
    row = {"id": "a", "text": "t", "text_en": "x", "idx": 3, "title page": "y"}
    (document,) = documents_of_rows(Path("docs.jsonl"), [(1, row)])
    assert (document.id, document.text, document.title) == ("a", "t", "")
    assert document.metadata == {"text_en": "x", "idx": 3, "title page": "y"}


@pytest.mark.parametrize("read", [as_qrels, as_run])
@pytest.mark.parametrize(
    ("columns", "both"),
    [
        (["query_id", "qid", "doc_id", "score", "relevance"], "'query_id' and 'qid'"),
        (["query_id", "doc_id", "doc_id", "score", "relevance"], "'doc_id' and 'doc_id'"),
        (["qid", "docno", "score", "score", "label", "label"], "'(score|label)' and"),
    ],
)
def test_a_frame_with_two_columns_for_one_part_is_refused(
    read: Any, columns: list[str], both: str
) -> None:
    frame = pd.DataFrame([[1] * len(columns)], columns=columns)
    with pytest.raises(Misuse, match=both):
        read(frame)


@pytest.mark.parametrize(
    ("arrays", "names", "problem"),
    [
        (
            [["q"], ["d"], ["high"]],
            ["query_id", "doc_id", "score"],
            "r.parquet:1: expected a finite",
        ),
        ([["q"], [b"d"], [1.5]], ["query_id", "doc_id", "score"], "expected a document id"),
        ([["q"], [1.5], [1.5]], ["query_id", "doc_id", "score"], "expected a document id"),
        ([[["q"]], ["d"], [1.5]], ["query_id", "doc_id", "score"], "expected a query id"),
        ([["q"], ["d"], [None]], ["query_id", "doc_id", "score"], "r.parquet:1: expected a finite"),
        ([["q"], ["d"], [{"a": 1}]], ["query_id", "doc_id", "score"], "expected a finite"),
        ([["q"], ["d"], [1.5]], ["query_id", "doc_id", "value"], "expected those of a run"),
        (
            [["q"], ["d"], [1.5], [2.5]],
            ["query_id", "doc_id", "score", "score"],
            "two columns have",
        ),
    ],
)
def test_a_parquet_file_of_other_types_or_columns_is_named(
    tmp_path: Path, arrays: list[list[Any]], names: list[str], problem: str
) -> None:
    path = tmp_path / "r.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(a) for a in arrays], names=names), path)
    with pytest.raises(BadInput) as caught:
        read_run(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
