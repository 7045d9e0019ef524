"""Qrels are converted to every format, and read back as the same."""

import csv
import gzip
import json
from pathlib import Path

import pandas as pd
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

import labeler
from labeler.cli import execute
from labeler.data import Qrels
from labeler.errors import Misuse
from labeler.exchange.written import QRELS_FORMATS
from labeler.qrels.edit import convert_qrels
from labeler.trec.write import write_qrels, write_run

QRELS = {
    "007": {"1e5": 2, "007": 0, "2024-01-01": -1},
    "ü": {'"d': 3, "a,b": 1, "=1+1": 0},
    '"q': {"NA": 1, "null": 2},
}
NAMES = ("a.qrels", "a.txt.gz", "a.tsv", "a.json", "a.csv", "a.parquet", "a.csv.gz")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "human.qrels"
    write_qrels(path, QRELS)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_what_was_converted_reads_back_as_the_same(source: Path, name: str) -> None:
    path = source.parent / name
    assert execute(["qrels", "convert", str(source), "-o", str(path)]) == 0
    assert labeler.read_qrels(path) == QRELS
    back = source.parent / "back.qrels"
    assert execute(["qrels", "convert", str(path), "-o", str(back)]) == 0
    assert back.read_bytes() == source.read_bytes()


def test_other_readers_read_the_same(source: Path) -> None:
    folder = source.parent
    for name in NAMES:
        convert_qrels(source, folder / name)
    rows = {(q, d, str(g)) for q, grades in QRELS.items() for d, g in grades.items()}
    assert json.loads((folder / "a.json").read_text(encoding="utf-8")) == QRELS
    with (folder / "a.tsv").open(encoding="utf-8") as lines:  # as BEIR's loader does
        header, *table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
    assert (header, set(map(tuple, table))) == (["query-id", "corpus-id", "score"], rows)
    frame = pd.read_csv(folder / "a.csv", dtype=str, keep_default_na=False)
    assert set(frame.itertuples(index=False, name=None)) == rows
    frame = pd.read_parquet(folder / "a.parquet")
    assert list(frame.columns) == ["query_id", "doc_id", "relevance"]
    assert set(frame.astype({"relevance": str}).itertuples(index=False, name=None)) == rows
    assert gzip.decompress((folder / "a.txt.gz").read_bytes()) == source.read_bytes()


ID = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=4)


@steadily(25)
@given(
    st.dictionaries(
        ID.filter(lambda text: text.split() == [text] and not text.startswith("#")),
        st.dictionaries(
            ID.filter(lambda text: text.split() == [text]), st.integers(-2, 9), min_size=1
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_ids_survive_every_format(
    tmp_path_factory: pytest.TempPathFactory, qrels: Qrels
) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_qrels(folder / "a.qrels", qrels)
    for form in QRELS_FORMATS:
        convert_qrels(folder / "a.qrels", folder / f"b.{form}", form)
        convert_qrels(folder / f"b.{form}", folder / f"{form}.qrels")
        assert (folder / f"{form}.qrels").read_bytes() == (folder / "a.qrels").read_bytes()


def test_a_format_that_is_none_is_refused(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["qrels", "convert", str(source), "-o"]
    assert execute([*words, str(source.with_suffix(".feather"))]) == Misuse.exit_code
    assert "qrels are not written as .feather; known: .tsv" in capsys.readouterr().err
    assert execute([*words, str(source.with_suffix(".odd")), "--to", "json"]) == 0
    assert json.loads(source.with_suffix(".odd").read_text(encoding="utf-8")) == QRELS
    with pytest.raises(Misuse, match="no format 'xml'"):
        convert_qrels(source, source.with_suffix(".x"), "xml")


def test_a_run_goes_to_csv_and_back(tmp_path: Path) -> None:
    run = {"007": {'"d': 2.5, "a,b": 0.1}, "ü": {"1e5": 1e-300}}
    write_run(tmp_path / "a.trec", run, "tag")
    assert execute(["runs", "convert", f"{tmp_path}/a.trec", "-o", f"{tmp_path}/a.csv"]) == 0
    frame = pd.read_csv(tmp_path / "a.csv", dtype={"query_id": str, "doc_id": str})
    assert list(frame.columns) == ["query_id", "doc_id", "rank", "score"]
    assert labeler.read_run(tmp_path / "a.csv") == run


@pytest.mark.parametrize(
    ("name", "more", "start"),
    [
        ("scores.csv", [], "qrels,"),
        ("scores.CSV", [], "qrels,"),
        ("scores.json", [], "{"),
        ("scores.md", [], "|"),
        ("scores.txt", [], "qrels "),
        ("scores.csv", ["--format", "markdown"], "|"),
        ("scores.csv", ["--json"], "{"),
    ],
)
def test_an_outputs_suffix_decides_its_form_unless_an_option_does(
    source: Path, name: str, more: list[str], start: str
) -> None:
    output = source.parent / name
    assert execute(["qrels", "stats", str(source), "-o", str(output), *more]) == 0
    assert output.read_text(encoding="utf-8").startswith(start)
