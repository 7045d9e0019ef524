"""Pairs for people: drawn with known chances, graded on a blind sheet, taken back and weighted."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.agreement.align import AssessorLabels, Rules, align, grade_matrix
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.differences import differences
from labeler.agreement.joint import ceiling, query_coincidences
from labeler.agreement.statistics import find_statistic, nominal_alpha
from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.people import read_people, read_sample
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Pair, Pooled, Qrels, Query
from labeler.errors import Misuse
from labeler.people.sample import draw, share_out
from labeler.people.sheet import harmless
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels, write_run


def population(queries: int = 24, pairs: int = 30) -> tuple[Qrels, Qrels]:
    """People, and an assessor that is good on some queries and bad on others."""
    rng = np.random.default_rng(7)
    people: Qrels = {}
    other: Qrels = {}
    for q in range(queries):
        keep = rng.beta(2, 1)
        grades = rng.choice(4, pairs, p=[0.6, 0.25, 0.1, 0.05])
        guesses = np.where(rng.random(pairs) < keep, grades, rng.integers(0, 4, pairs))
        people[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(grades)}
        other[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(guesses)}
    return people, other


def strata(other: Qrels) -> dict[Pair, int | None]:
    return {Pair(q, d): g for q, row in other.items() for d, g in row.items()}


PEOPLE, OTHER = population()


def table(drawn: Qrels, weights: dict[Pair, float] | None) -> np.ndarray:
    both = align(drawn, AssessorLabels(OTHER), Rules((0, 1, 2, 3)), weights)
    return both.pairs.tables().sum(axis=0)


@pytest.mark.parametrize("queries", [None, pytest.param(12, marks=pytest.mark.sweep)])
def test_weighted_figures_are_unbiased_over_many_draws(queries: int | None) -> None:
    whole, draws = table(PEOPLE, None), 150
    kappa = find_statistic("kappa", range(4)).compute
    grades = np.arange(4.0)
    truth = float(kappa(whole, grades))
    tables, weighted, plain = [], [], []
    for seed in range(draws):
        drawn = draw(strata(OTHER), 120, queries, seed)
        sample: Qrels = {}
        for pair in drawn:
            q, d = pair
            sample.setdefault(q, {})[d] = PEOPLE[q][d]
        weights = {pair: 1 / chance for pair, chance in drawn.items()}
        tables.append(table(sample, weights))
        weighted.append(float(kappa(tables[-1], grades)))
        plain.append(float(kappa(table(sample, None), grades)))
    noise = np.std(tables, axis=0) / np.sqrt(draws)
    assert np.all(np.abs(np.mean(tables, axis=0) - whole) < 4 * noise + 1e-9)
    assert abs(np.mean(weighted) - truth) < 4 * np.std(weighted) / np.sqrt(draws) + 0.005
    assert abs(np.mean(plain) - truth) > 3 * abs(np.mean(weighted) - truth)


@steadily(30)
@given(st.integers(1, 720), st.integers(0, 1000))
def test_a_draw_has_as_many_pairs_as_asked_and_every_chance_above_zero(
    pairs: int, seed: int
) -> None:
    drawn = draw(strata(OTHER), pairs, None, seed)
    assert len(drawn) == pairs
    assert all(0 < chance <= 1 for chance in drawn.values())


def test_a_draw_is_the_same_for_the_same_seed_whatever_the_order_of_the_pool() -> None:
    known = strata(OTHER)
    turned = dict(reversed(list(known.items())))
    assert [*draw(known, 50, 10, 3).items()] == [*draw(turned, 50, 10, 3).items()]
    assert draw(known, 50, 10, 3) != draw(known, 50, 10, 4)
    assert len({pair.query_id for pair in draw(known, 50, 10, 3)}) == 10


def test_rare_grades_are_seen_more_often_than_their_share() -> None:
    known = strata(OTHER)
    top = sum(grade == 3 for grade in known.values()) / len(known)
    drawn = draw(known, 200, None, 1)
    assert sum(known[pair] == 3 for pair in drawn) / 200 > 1.2 * top


def test_more_pairs_than_there_are_is_misuse() -> None:
    with pytest.raises(Misuse, match="cannot draw 721 pairs; these 24 queries have 720"):
        draw(strata(OTHER), 721, None, 0)


def test_assessors_share_an_overlap_and_nothing_else() -> None:
    drawn = draw(strata(OTHER), 100, None, 0)
    first, second = share_out(drawn, 2, 0.2, 0)
    pairs = [dealt.keys() for dealt in (first, second)]
    assert len(pairs[0] & pairs[1]) == 20
    assert len(pairs[0] | pairs[1]) == 100
    assert len(first) == len(second) == 60
    assert first == pytest.approx({pair: 0.6 * drawn[pair] for pair in first})


def collection(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    write_qrels(folder / "qrels/llm.qrels", OTHER)
    texts = ["@import", 'a, "b"\nc; d', "-1", "\x1b[2J\u2028x", "+cmd|' /C calc'!A0"]
    documents = [Document(f"d{d}", texts[d % 5], title="=1+1") for d in range(30)]
    with locked(Collection(folder)):
        write_queries(folder / "queries.jsonl", [Query(q, f"=what is {q}?") for q in OTHER])
        write_corpus(folder / "corpus.jsonl", documents)
    return folder


def rows_of(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))


def graded(sheet: Path, separator: str = ",") -> list[dict[str, str]]:
    """Fill the sheet in with people's grades, as a spreadsheet would save it."""
    with sheet.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.reader(lines))
    grade = next(i for i, name in enumerate(rows[0]) if name.startswith("grade"))
    for row in rows[1:]:
        q, d = row[2].removeprefix("'"), row[4].removeprefix("'")
        row[grade] = str(PEOPLE[q][d])
    rows[1][grade] = ""
    rows[2][grade] += ".0"
    with sheet.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter=separator).writerows(rows)
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_sheet_comes_back_with_whatever_separator_a_spreadsheet_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], separator: str
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    option = ["--pairs", "100", "--scale", "0:3", "-o", str(sheet)]
    assert execute(["people", "sample", str(coll), *option]) == 0
    asked = {(row["query_id"], row["doc_id"]) for row in graded(sheet, separator)[1:]}
    taken = ["people", "import", str(sheet), str(coll), "--as", "human2", "--assessor", "anna"]
    assert execute(taken) == 0
    assert "99 grades; 1 row skipped" in capsys.readouterr().out
    people = read_people(coll / "people/human2.jsonl")
    assert {row.assessor for row in people} == {"anna"}
    grades = read_qrels(coll / "qrels/human2.qrels")
    assert len(asked) == sum(map(len, grades.values())) == 99
    for query_id, row in grades.items():
        assert all(PEOPLE[query_id][doc_id] == grade for doc_id, grade in row.items())
    assert execute(taken) == 0, "importing the same sheet again changes nothing"


def test_a_sheet_goes_out_blind_and_comes_back_weighted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    option = ["--pairs", "100", "--scale", "0:3", "-o", str(sheet)]
    assert execute(["people", "sample", str(coll), *option]) == 0
    (sample,) = (coll / "samples").iterdir()
    header = sheet.read_text(encoding="utf-8-sig").splitlines()[0]
    assert ",grade,scale,assessor,time,comment" in header
    assert not {"probability", "llm"} & set(header.split(","))
    rows = graded(sheet)
    assert len(rows) == len(read_sample(sample)) == 100
    taken = ["people", "import", str(sheet), str(coll), "--as", "human2", "--assessor", "anna"]
    assert execute(taken) == 0
    assert "99 grades; 1 row skipped" in capsys.readouterr().out
    people = read_people(coll / "people/human2.jsonl")
    assert {row.assessor for row in people} == {"anna"}
    assert sum(row.grade is None for row in people) == 1
    for query_id, row in read_qrels(coll / "qrels/human2.qrels").items():
        assert all(PEOPLE[query_id][doc_id] == grade for doc_id, grade in row.items())
    assert execute(["agree", str(coll), "human2", "llm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 99
    assert sum(map(sum, found["confusion"])) == pytest.approx(720, rel=0.1)
    assert any("weighted to stand for about" in warning for warning in found["warnings"])
    out, whole = found["left_out"], sum(map(len, OTHER.values()))
    assert (out["only_other"], out["skipped_by_people"], out["not_drawn"]) == (0, 1, whole - 100)
    assert execute(["agree", str(coll), "human2", "llm", "-s", "kappa"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"gives the same grade as human2 to an estimated \d+ of 100 pairs", said)
    assert "left out: 1 pair drawn for people and skipped by them" in said
    assert f"left out: {whole - 100} pairs that the other graded, not drawn for people" in said
    assert execute(taken) == 0, "importing the same sheet again changes nothing"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_scale_of_twelve_grades_does_not_hide_the_separator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], separator: str
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    option = ["--pairs", "30", "--scale", "0:11", "-o", str(sheet)]
    assert execute(["people", "sample", str(coll), *option]) == 0
    graded(sheet, separator)
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human2"]) == 0
    assert "29 grades; 1 row skipped" in capsys.readouterr().out


NAMED = {"0": "incorrect", "1": "related", "2": "incomplete", "3": "excellent"}


@pytest.mark.parametrize(
    "card",
    [
        {"fetch": {"scale": NAMED}},
        {"judge": {"llm": {"model": "m", "scale": NAMED}}},
        {"judge": {"llm": {"scale": NAMED}}, "fetch": {"scale": {"0": "no", "x": 1}}},
    ],
)
def test_the_scales_names_of_the_card_are_on_the_sheet_and_in_the_matrix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], card: dict[str, object]
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    (coll / "card.json").write_text(json.dumps(card))
    assert execute(["people", "sample", str(coll), "--pairs", "300", "-o", str(sheet)]) == 0
    assert {row["scale"] for row in rows_of(sheet)} == {
        "0 = incorrect; 1 = related; 2 = incomplete; 3 = excellent"
    }
    graded(sheet)
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human2"]) == 0
    capsys.readouterr()
    asked = ["agree", str(coll), "human2", "llm", "-s", "agreement"]
    assert execute(asked) == 0
    assert "2 incomplete" in capsys.readouterr().out
    assert execute([*asked, "--cut", "2"]) == 0
    cut = capsys.readouterr().out
    assert "1 at least 2" in cut
    assert "incorrect" not in cut


def test_the_sheets_own_scale_names_peoples_grades(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    assert (
        execute(
            ["people", "sample", str(coll), "--pairs", "300", "--scale", "0:3", "-o", str(sheet)]
        )
        == 0
    )
    graded(sheet)
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human2"]) == 0
    card = json.loads((coll / "card.json").read_text())
    (sample,) = card["samples"].values()
    sample["scale"] = NAMED
    (coll / "card.json").write_text(json.dumps(card))
    capsys.readouterr()
    assert execute(["agree", str(coll), "human2", "llm", "-s", "agreement"]) == 0
    assert "3 excellent" in capsys.readouterr().out
    asked = ["agree", str(coll), "human2", "llm", "-s", "agreement"]
    assert execute([*asked, "--map-human", "0=1,1=2,2=3,3=3"]) == 0
    assert "excellent" not in capsys.readouterr().out


def test_no_cell_begins_a_formula(tmp_path: Path) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    assert execute(["people", "sample", str(coll), "--pairs", "100", "-o", str(sheet)]) == 0
    with sheet.open(encoding="utf-8-sig", newline="") as lines:
        cells = [cell for row in csv.reader(lines) for cell in row]
    parted = sheet.read_text(encoding="utf-8-sig").replace("\n", ";").split(";")
    for cell in (*cells, *parted):
        assert not cell.startswith(tuple("=+-@\t\r＝＋－＠"))
    assert not [cell for cell in cells if "\x1b" in cell]


STRANGE_IDS = (
    *(
        "=1",
        "-1",
        "+1",
        "@x",
        "'x",
        "''=1",
        "'",
        "a;=1",
        ";-x",
        "007",
        "1e5",
        "＝1",
        '"',
        "a,b",
        "é",
    ),
    *("a\x1b[2J", "\u202eb", "a\x9bc", "\x07"),
)


def test_ids_that_a_spreadsheet_might_run_come_back_as_they_were(tmp_path: Path) -> None:
    coll, sheet = Collection(tmp_path / "c"), tmp_path / "sheet.csv"
    ids = list(STRANGE_IDS)
    with locked(coll):
        write_corpus(coll.corpus, [Document(f"d{name}", "t", "x") for name in ids])
        write_queries(coll.queries, [Query(name, "=text") for name in ids])
        write_pool(coll.pool, [Pooled(Pair(name, f"d{name}"), ("a",), 1) for name in ids])
    assert (
        execute(["people", "sample", str(coll.folder), "--pairs", str(len(ids)), "-o", str(sheet)])
        == 0
    )
    for cell in sheet.read_text(encoding="utf-8-sig").replace("\n", ",").split(","):
        assert not cell.startswith(tuple("=+-@"))
        assert not any(part.startswith(tuple("=+-@")) for part in cell.split(";"))
    with sheet.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.reader(lines))
    (grade,) = (i for i, name in enumerate(rows[0]) if name == "grade")
    with sheet.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(
            [rows[0], *([*r[:grade], "1", *r[grade + 1 :]] for r in rows[1:])]
        )
    assert execute(["people", "import", str(sheet), str(coll.folder), "--as", "human"]) == 0
    assert read_qrels(coll.qrels("human")) == {name: {f"d{name}": 1} for name in ids}


@every_row(
    ("text", "cell"),
    [
        *[("=1", "'=1"), ("a=1", "a=1"), ("-", "'-"), ("", "")],
        ("x" * 40_000, "x" * 29_999 + "…"),
        *[("＝1+1", "'＝1+1"), ("＠x", "'＠x"), ("＋1", "'＋1"), ("－1", "'－1")],
        *[("a;=1+1", "a;'=1+1"), ("a\t@x", "a\t'@x"), ("a\n=1", "a\n'=1"), ("; =1", ";' =1")],
        *[("a;b - c", "a;b - c"), (" =1", "' =1"), ("\t1", "'\t1")],
        *[("a\n- b\n- c", "a\n- b\n- c"), ("a\n- cmd|' /C'!A0", "a\n'- cmd|' /C'!A0")],
    ],
)
def test_harmless(text: str, cell: str) -> None:
    assert harmless(text) == cell


@pytest.mark.parametrize(
    ("column", "written", "said"),
    [
        ("grade", "7", "the grade 7 is none of 0, 1, 2, 3"),
        ("grade", "yes", "expected a grade or an empty cell, found 'yes'"),
        ("query_id", "'q99", "and is 'q99' in the sheet"),
        ("row", "500", "the sample has no row 500"),
        ("row", "x", "expected the row's number"),
    ],
)
def test_a_damaged_sheet_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, written: str, said: str
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    assert execute(["people", "sample", str(coll), "--pairs", "20", "-o", str(sheet)]) == 0
    rows = graded(sheet)
    names = list(rows[0])
    place = next(i for i, name in enumerate(names) if name.startswith(column))
    rows[4][names[place]] = written
    with sheet.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, names)
        writer.writeheader()
        writer.writerows(rows)
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human2"]) == 65
    assert said in capsys.readouterr().err
    assert not (coll / "qrels/human2.qrels").exists()


def test_two_assessors_get_a_sheet_each_and_their_agreement_is_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll = collection(tmp_path / "c")
    sheets = [tmp_path / "a.csv", tmp_path / "b.csv"]
    places = [part for sheet in sheets for part in ("-o", str(sheet))]
    assert (
        execute(["people", "sample", str(coll), "--pairs", "100", "--overlap", "0.3", *places]) == 0
    )
    for sheet, name in zip(sheets, ("anna", "ben"), strict=True):
        graded(sheet)
        assert execute(["people", "import", str(sheet), str(coll), "--as", name]) == 0
    capsys.readouterr()
    assert execute(["agree", str(coll), "anna", "ben", "-s", "agreement", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 28 <= found["pairs"] <= 30
    assert found["statistics"]["agreement"]["value"] == 1.0


def test_all_pairs_of_some_queries_are_what_correcting_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    given = ["--all-pairs", "--queries", "8", "-o", str(sheet)]
    assert execute(["people", "sample", str(coll), *given]) == 0
    assert len(graded(sheet)) == 240
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human2"]) == 0
    scores = {q: {d: -float(d[1:]) for d in row} for q, row in OTHER.items()}
    write_run(coll / "runs/first.trec", scores, "first")
    capsys.readouterr()
    named = ["--human", "human2", "--assessor", "llm", "-m", "P@5"]
    assert execute(["correct", str(coll), *named, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["scores"]
    assert (row["human_queries"], row["queries"]) == (8, 24)


def test_before_any_judging_the_pool_alone_is_drawn_from(tmp_path: Path) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    (coll / "qrels/llm.qrels").unlink()
    assert execute(["people", "sample", str(coll), "-o", str(sheet)]) == 2
    with locked(Collection(coll)):
        write_pool(coll / "pool.jsonl", [Pooled(pair) for pair in strata(OTHER)])
    assert execute(["people", "sample", str(coll), "--pairs", "48", "-o", str(sheet)]) == 0
    rows = graded(sheet)
    assert len(rows) == 48
    assert len({row["query_id"] for row in rows}) == 24


def other_judge(seed: int) -> Qrels:
    """One more set of labels of the same pairs: people's, or at random on every third query."""
    rng = np.random.default_rng(seed)
    return {
        q: {d: g if int(q[1:]) % 3 else int(rng.integers(0, 4)) for d, g in row.items()}
        for q, row in PEOPLE.items()
    }


@pytest.mark.sweep
@pytest.mark.parametrize("draws", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_alpha_ceiling_and_differences_of_a_sample_are_unbiased(draws: int) -> None:
    raters = {"anna": PEOPLE, "ben": other_judge(1), "llm": OTHER}
    second, grades = other_judge(2), (0, 1, 2, 3)
    kappa = find_statistic("kappa", grades)
    options = StatisticOptions(("kappa",), draws=100)

    def figures(weights: dict[Pair, float] | None, sample: Qrels) -> list[float]:
        side_by_side = grade_matrix({**raters, "anna": sample}, grades, weights)
        alpha = nominal_alpha(query_coincidences(side_by_side).sum(axis=0), np.arange(4.0))
        beside = ceiling(side_by_side, "llm", kappa, options).overall.difference
        aligned = [
            align(sample, AssessorLabels(o), Rules(grades), weights).pairs for o in (OTHER, second)
        ]
        apart = differences(*aligned, [kappa], options)[0].value
        return [float(alpha), beside or 0.0, apart or 0.0]

    truth = np.array(figures(None, PEOPLE))
    weighted, plain = [], []
    for seed in range(draws):
        drawn = draw(strata(OTHER), 150, None, seed)
        sample: Qrels = {}
        for pair in drawn:
            q, d = pair
            sample.setdefault(q, {})[d] = PEOPLE[q][d]
        weights = {pair: 1 / chance for pair, chance in drawn.items()}
        weighted.append(figures(weights, sample))
        plain.append(figures(dict.fromkeys(weights, 1.0), sample))
    noise = np.std(weighted, axis=0) / np.sqrt(draws)
    off = np.abs(np.mean(weighted, axis=0) - truth)
    assert np.all(off < 4 * noise + 0.005), off
    assert np.abs(np.mean(plain, axis=0) - truth).max() > 2 * off.max()


def test_two_sheets_of_one_draw_may_share_a_name_and_two_draws_may_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll = collection(tmp_path / "c")
    sheets = [tmp_path / name for name in ("a.csv", "b.csv", "other.csv")]
    places = [part for sheet in sheets[:2] for part in ("-o", str(sheet))]
    assert (
        execute(["people", "sample", str(coll), "--pairs", "100", "--overlap", "0.2", *places]) == 0
    )
    said = capsys.readouterr().err
    assert f"{sheets[0]} {coll} --as human\n" in said
    assert f"{sheets[1]} {coll} --as human2\n" in said
    chances = []
    for sheet in sheets[:2]:
        graded(sheet)
        assert execute(["people", "import", str(sheet), str(coll), "--as", "both"]) == 0
        rows = read_people(coll / "people/both.jsonl")
        chances.append({row.pair: row.probability for row in rows})
    first, both = chances
    assert (len(first), len(both)) == (60, 100)
    whole = draw(strata(OTHER), 100, None, 0)
    assert all(both[pair] == pytest.approx(whole[pair]) for pair in both)
    assert all(first[pair] == pytest.approx(0.6 * whole[pair]) for pair in first)
    more = ["--pairs", "50", "--seed", "9", "-o", str(sheets[2])]
    assert execute(["people", "sample", str(coll), *more]) == 0
    graded(sheets[2])
    assert execute(["people", "import", str(sheets[2]), str(coll), "--as", "both"]) == 65
    assert "chances cannot be pooled; use another name" in capsys.readouterr().err
    assert read_people(coll / "people/both.jsonl") == rows


def test_a_grade_that_a_person_changed_replaces_the_old_one_when_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll, sheet = collection(tmp_path / "c"), tmp_path / "sheet.csv"
    assert execute(["people", "sample", str(coll), "--pairs", "20", "-o", str(sheet)]) == 0
    graded(sheet)
    taken = ["people", "import", str(sheet), str(coll), "--as", "human"]
    assert execute(taken) == 0
    with sheet.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    cells, place = rows[-1], rows[0].index("grade")
    cells[place] = str((int(cells[place]) + 1) % 4)
    with sheet.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)
    assert execute(taken) == 65
    assert "--replace: " in capsys.readouterr().err
    assert execute([*taken, "--replace"]) == 0
    pair = Pair(cells[2].removeprefix("'"), cells[4].removeprefix("'"))
    assert read_qrels(coll / "qrels/human.qrels")[pair.query_id][pair.doc_id] == int(cells[place])


def test_a_sample_says_before_anybody_grades_what_it_will_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll, sheets = collection(tmp_path / "c"), [tmp_path / "a.csv", tmp_path / "b.csv"]
    outputs = [word for sheet in sheets for word in ("-o", str(sheet))]
    assert execute(["people", "sample", str(coll), "--pairs", "20", *outputs]) == 0
    # of all sheets of the draw together
    assert "20 pairs of " in capsys.readouterr().err
    assert execute(["people", "sample", str(coll), "--all-pairs", "-o", str(tmp_path / "w")]) == 0
    assert "two systems are told apart if their nDCG@10 differs by" in capsys.readouterr().err
