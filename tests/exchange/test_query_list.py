"""Queries of one's own come in three forms, and keep the ids they bring."""

from pathlib import Path

import pytest

from labeler.errors import BadInput
from labeler.exchange.queries import read_query_list


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("q.txt", "what is it?\n\n# c\u2028d\r\n", {"q1": "what is it?", "q2": "# c d"}),
        ("q", "\ufeffone\n", {"q1": "one"}),
        ("q.tsv", "007\tfirst\n8\tsecond\n", {"007": "first", "8": "second"}),
        ("q.txt", "007\tfirst\n8\tsecond\n", {"007": "first", "8": "second"}),
        ("q.tsv", "qid\tquery\n7\tfirst\n", {"7": "first"}),
        ("q.jsonl", '{"_id": "007", "text": "a"}\n{"_id": 8, "text": "b"}', {"007": "a", "8": "b"}),
        ("q.jsonl", '{"query": "a"}\n{"query": "b"}', {"q1": "a", "q2": "b"}),
    ],
)
def test_queries_are_read_in_order(
    tmp_path: Path, name: str, content: str, wanted: dict[str, str]
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    found = read_query_list(tmp_path / name)
    assert {key: query.text for key, query in found.items()} == wanted
    assert all(query.metadata["origin"] == "real" for query in found.values())


def test_what_else_a_row_says_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv"
    path.write_text("id\ttext\tdescription\nq\ta\tWhat a is.\n", encoding="utf-8")
    assert read_query_list(path)["q"].metadata["description"] == "What a is."


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("q.txt", "", "no query in it"),
        ("q.txt", "1\tone\ntwo\n", "q.txt:2: expected 2 columns"),
        ("q.txt", "same\nsame\n", "q.txt:2: the same query as 'q1'"),
        ("q.tsv", "1\ta\n1\tb\n", "q.tsv:2: the id '1' stands in an earlier line too"),
        ("q.tsv", "a b\tc\n", "which column holds the query's text?"),
        ("q.jsonl", '{"text": " "}', "a query without text"),
        ("q.jsonl", '{"_id": "1"}', "which holds the query's text"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=problem):
        read_query_list(tmp_path / name)
