"""Pairs as columns: the same values as dicts of dicts, of a file or a dict, alone or joined."""

from pathlib import Path

import ir_measures
import numpy as np
import pyarrow
import pytest
import pytrec_eval
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.data import Pair
from labeler.trec.blocks import QRELS, RUN
from labeler.trec.columns import Irregular
from labeler.trec.files import read_qrels
from labeler.trec.pairs import NONE, PairColumns, joined_pairs, labels_in_file, numbers_in_file

IDS = st.sampled_from(["d1", "d2", "d33", "ä", "a-very-long-id-of-a-document", "0"])
TABLES = st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-3, 3), min_size=1), max_size=5)


@steadily()
@given(TABLES)
def test_columns_read_like_the_dict_that_they_were_made_of(table):
    columns = PairColumns.of(table, np.int32)
    assert columns == table
    assert columns.as_dict() == table
    assert list(columns) == list(table)
    assert [*columns.pairs()] == [Pair(q, d) for q, row in table.items() for d in row]
    assert PairColumns.of(table) == table  # as labels, too


@steadily()
@given(st.lists(TABLES, min_size=1, max_size=3))
def test_joined_sets_hold_each_pair_once_in_the_order_of_first_appearance(tables):
    sets = [PairColumns.of(table, np.int32) for table in tables]
    joined = joined_pairs(sets)
    queries = dict.fromkeys(q for table in tables for q in table)
    naive = [Pair(q, d) for q in queries for d in {d: 0 for t in tables for d in t.get(q, {})}]
    pairs = zip(joined.query.tolist(), joined.document.tolist(), strict=True)
    assert [Pair(joined.queries[q], joined.documents[d]) for q, d in pairs] == naive
    for column, (own, table) in enumerate(zip(sets, tables, strict=True)):
        values = joined.values(column, own.value, -9).tolist()
        assert values == [table.get(q, {}).get(d, -9) for q, d in naive]
        assert ((joined.row[:, column] == NONE) == (np.array(values) == -9)).all()


@steadily()
@given(
    st.lists(st.tuples(IDS, IDS, st.integers(0, 3)), min_size=1, unique_by=lambda row: row[:2]),
    st.integers(20, 200),
)
def test_a_file_is_read_as_its_lines_say_whatever_its_blocks(tmp_path_factory, lines, block):
    path = tmp_path_factory.mktemp("pairs") / "a.qrels"
    path.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in lines), encoding="utf-8")
    expected: dict[str, dict[str, int]] = {}
    for query, document, grade in lines:
        expected.setdefault(query, {})[document] = grade
    columns = numbers_in_file(path, QRELS, block)
    assert columns.as_dict() == expected
    assert [*columns.pairs()] == [Pair(q, d) for q, row in expected.items() for d in row]
    assert columns.value.dtype == np.int32
    assert len(columns.documents) == len({d for _, d, _ in lines})
    texts = {q: {d: str(g) for d, g in row.items()} for q, row in expected.items()}
    assert labels_in_file(path, block) == texts


def test_one_long_id_or_label_widens_no_other(tmp_path):
    path, long, size = tmp_path / "a.qrels", "x" * 4096, 120_000
    lines = [f"q{i // 100} 0 {long if i == 5 else f'd{i}'} 1\n" for i in range(size)]
    path.write_text("".join(lines))
    for block in (1 << 16, 1 << 22):
        with pytest.raises(Irregular):
            numbers_in_file(path, QRELS, block)
    qrels = read_qrels(path)
    assert (qrels.size, qrels["q0"][long]) == (size, 1)
    assert (joined_pairs([qrels, qrels]).row == np.arange(size)[:, None]).all()
    path.write_text("".join(lines[10:]).replace("d77 1", f"d77 {long}"))
    labels = labels_in_file(path)
    assert (labels.size, labels["q0"]["d77"], labels["q0"]["d78"]) == (size - 10, long, "1")


def test_a_pair_that_stands_there_twice_is_left_to_the_reader_by_line(tmp_path):
    path = tmp_path / "a.trec"
    path.write_text("q Q0 d 1 2 a\nq Q0 d 2 1 a\n")
    with pytest.raises(Irregular):
        numbers_in_file(path, RUN)


def test_other_tools_take_what_columns_give(tmp_path):
    path = Path(tmp_path / "a.qrels")
    path.write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n")
    qrels = numbers_in_file(path, QRELS)
    run = PairColumns.of({"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}, np.float64)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels.as_dict(), {"recip_rank"})
    scores = evaluator.evaluate(run.as_dict())
    assert {q: row["recip_rank"] for q, row in scores.items()} == {"q1": 0.5, "q2": 1.0}
    frame = qrels.frame()
    assert frame.to_dict("list") == {
        "query_id": ["q1", "q1", "q2"],
        "doc_id": ["d1", "d2", "d1"],
        "relevance": [2, 0, 1],
    }
    measure = ir_measures.parse_measure("RR")
    for tables in ((qrels.frame(), run.frame("score")), (qrels.as_dict(), run.as_dict())):
        assert ir_measures.calc_aggregate([measure], *tables) == {measure: 0.75}
    table = pyarrow.table(run)
    assert table.to_pydict()["value"] == [2.0, 1.0, 1.0]
    assert table.to_pydict()["doc_id"] == ["d2", "d1", "d1"]


def test_the_pairs_of_a_mask_keep_the_queries_that_have_any():
    columns = PairColumns.of({"q1": {"d1": 1, "d2": 2}, "q2": {"d1": 3}}, np.int32)
    assert columns.keep(columns.value == 2).as_dict() == {"q1": {"d2": 2}}
    assert columns.keep(columns.value > 9).as_dict() == {}
