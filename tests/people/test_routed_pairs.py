"""Pairs routed to people are no random sample: no statistic takes them for one, and all say so."""

import csv
from pathlib import Path

import numpy as np
import pytest

import labeler
from labeler.agreement.sources import sources_of
from labeler.cli.people import note_next
from labeler.collection.card import update_card_entry
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.people import (
    HumanAnswer,
    people_path,
    read_people,
    read_sample,
    sample_path,
    write_people,
)
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.collection.whose import CHOSEN, routed_pairs
from labeler.data import Document, Pair, Pooled, Qrels, Query
from labeler.errors import BadInput
from labeler.judging.changes import human_beside
from labeler.people.import_labels import ImportOptions, import_sheet
from labeler.people.sample import SampleDesign, draw_sheets, route_sheet
from labeler.trec.write import write_qrels, write_run

QUERIES, DOCS = 8, 10
COMPARE, MERGE = "the same labeler compare", "labeler qrels merge"


def grades_of_both() -> tuple[Qrels, Qrels]:
    rng = np.random.default_rng(3)
    people: Qrels = {}
    llm: Qrels = {}
    for q in range(QUERIES):
        truth = rng.integers(0, 4, DOCS)
        guess = np.where(rng.random(DOCS) < 0.6, truth, rng.integers(0, 4, DOCS))
        people[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(truth)}
        llm[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(guess)}
    return people, llm


PEOPLE, LLM = grades_of_both()
EVERY = [Pair(q, d) for q, row in PEOPLE.items() for d in row]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = Collection(tmp_path / "coll")
    made.folder.mkdir()
    with locked(made):
        write_corpus(made.corpus, [Document(f"d{d}", f"text {d}") for d in range(DOCS)])
        write_queries(made.queries, [Query(f"q{q}", f"query {q}") for q in range(QUERIES)])
        write_pool(made.pool, [Pooled(pair) for pair in EVERY])
        write_qrels(made.qrels("llm"), LLM)
        for run in (1, 2):
            ranked = {
                q: {d: (int(d[1:]) * run) % 7 + 0.5 for d in row} for q, row in PEOPLE.items()
            }
            write_run(made.folder / "runs" / f"r{run}.trec", ranked, f"r{run}")
    return made


def people_of(
    collection: Collection, name: str, routed: list[Pair], drawn: list[Pair] | None = None
) -> None:
    """Answers of which some were routed and some drawn with a chance of a half."""
    with locked(collection):
        rows = [
            HumanAnswer(pair, PEOPLE[pair.query_id][pair.doc_id], "ann", "", "", chance, "s1")
            for pairs, chance in ((routed, None), (drawn or [], 0.5))
            for pair in pairs
        ]
        write_people(people_path(collection.folder, name), rows)
        qrels: Qrels = {}
        for row in rows:
            qrels.setdefault(row.pair.query_id, {})[row.pair.doc_id] = int(row.grade or 0)
        write_qrels(collection.qrels(name), qrels)


def graded(sheet: Path) -> None:
    """Fill in a sheet as people would grade it."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["grade"] = str(PEOPLE[row["query_id"]][row["doc_id"]])
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


MADE = {"source": "llm", "by": "entropy"}


def test_a_routed_sheet_comes_back_without_a_probability(
    collection: Collection, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    sample = route_sheet(collection, EVERY[:7], sheet, MADE)
    assert sample.pairs == 7
    rows = read_sample(sample_path(collection.folder, sample.id))
    assert {row.probability for row in rows} == {None}
    graded(sheet)
    import_sheet(collection, sheet, ImportOptions("routed", "ann", "now"))
    assert {row.probability for row in read_people(people_path(collection.folder, "routed"))} == {
        None
    }
    assert routed_pairs(collection, "routed") == set(EVERY[:7])


def test_routed_and_drawn_pairs_never_share_a_name(collection: Collection, tmp_path: Path) -> None:
    drawn, routed, more = (tmp_path / f"{name}.csv" for name in ("drawn", "routed", "more"))
    draw_sheets(collection, "llm", SampleDesign(20), [drawn])
    route_sheet(collection, EVERY[:5], routed, MADE)
    route_sheet(collection, EVERY[3:9], more, MADE)
    for sheet in (drawn, routed, more):
        graded(sheet)
    import_sheet(collection, drawn, ImportOptions("human", "ann", "now"))
    with pytest.raises(BadInput, match="drawn by chance and pairs routed"):
        import_sheet(collection, routed, ImportOptions("human", "ann", "now"))
    import_sheet(collection, routed, ImportOptions("routed", "ann", "now"))
    with pytest.raises(BadInput, match="drawn by chance and pairs routed"):
        import_sheet(collection, drawn, ImportOptions("routed", "ann", "now"))
    import_sheet(collection, more, ImportOptions("routed", "ann", "now"))
    assert routed_pairs(collection, "routed") == set(EVERY[:9])


def sides(collection: Collection, name: str) -> list[tuple[str, ...]]:
    """The human qrels as a name in the collection, and as a file."""
    folder, qrels = str(collection.folder), collection.qrels
    return [(folder, name, "llm"), (str(qrels(name)), str(qrels("llm")))]


def test_agreement_is_that_of_the_drawn_pairs_alone(collection: Collection) -> None:
    people_of(collection, "both", EVERY[:30], EVERY[40:])
    people_of(collection, "human", [], EVERY[40:])
    for mixed, alone in zip(sides(collection, "both"), sides(collection, "human"), strict=True):
        report = labeler.agree(*mixed).assessors[0]
        expected = labeler.agree(*alone).assessors[0].agreement
        assert report.agreement.pairs == expected.pairs == 40
        assert report.agreement.statistics == expected.statistics
        assert any(f"30 pairs are left out, {CHOSEN}" in str(note) for note in report.notes)


def test_a_file_of_routed_pairs_beside_a_dict_is_refused_too(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[:30])
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.agree(collection.qrels("routed"), LLM)


def test_more_people_whose_pairs_were_routed_give_no_ceiling(collection: Collection) -> None:
    people_of(collection, "human", [], EVERY)
    people_of(collection, "second", EVERY[:30], EVERY[40:])
    folder = str(collection.folder)
    sources = sources_of(folder, ["human", "llm"], more_humans=["second"])
    assert sum(map(len, sources.more_humans["second"].values())) == 40


@pytest.mark.parametrize("side", [0, 1])
def test_routed_pairs_alone_are_refused_as_people_to_agree_with(
    collection: Collection, side: int
) -> None:
    people_of(collection, "routed", EVERY[:30])
    with pytest.raises(BadInput, match=f"all 30 pairs were {CHOSEN}"):
        labeler.agree(*sides(collection, "routed")[side])


def test_a_diff_never_compares_with_routed_pairs_unasked(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[:30])
    with locked(collection):
        write_qrels(collection.qrels("other"), PEOPLE)
    assert human_beside(collection, "llm", "other") is None
    assert not labeler.diff(collection, "llm", "other").beside.is_of_both
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.diff(collection, "llm", "other", people="routed")


def test_scores_are_not_corrected_by_routed_pairs(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[:30])
    runs, qrels = collection, collection.qrels
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.correct(qrels("routed"), qrels("llm"), runs, "P@5")
    people_of(collection, "both", EVERY[:20], EVERY[40:])
    people_of(collection, "human", [], EVERY[40:])
    mixed = labeler.correct(qrels("both"), qrels("llm"), runs, "P@5")
    alone = labeler.correct(qrels("human"), qrels("llm"), runs, "P@5")
    assert [s.means for s in mixed.scores] == [s.means for s in alone.scores]
    assert any("20 pairs are left out" in str(finding) for finding in mixed.findings)


def test_scores_and_orders_by_routed_pairs_carry_a_warning(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[::3])
    warning = f"routed: {len(EVERY[::3])} pairs were {CHOSEN}"
    report = labeler.evaluate(collection.qrels("routed"), collection, "P@5")
    board = labeler.leaderboard(collection.qrels("routed"), collection.qrels("llm"), collection)
    plan = labeler.power(collection.qrels("routed"), collection, "P@5")
    for findings in (report.findings, board.findings, plan.findings):
        assert any(warning in str(finding) for finding in findings)


def test_what_a_pool_owes_to_runs_is_not_said_of_routed_pairs(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[:30])
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.reuse(collection, "routed")


def test_sampling_again_may_draw_a_routed_pair(collection: Collection, tmp_path: Path) -> None:
    people_of(collection, "routed", EVERY[:30])
    (sample,) = draw_sheets(collection, "llm", SampleDesign(None), [tmp_path / "sheet.csv"])
    assert sample.pairs == len(EVERY)


def test_a_panel_is_not_held_against_routed_pairs(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[:30])
    people_of(collection, "both", EVERY[:20], EVERY[40:])
    with locked(collection):
        write_qrels(collection.qrels("other"), PEOPLE)
    folder = collection.folder
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.panel(folder, "llm", "other", people="routed")
    result = labeler.panel(folder, "llm", "other", people="both")
    assert any(f"20 pairs are left out, {CHOSEN}" in str(f) for f in result.findings)


def test_neither_doubt_nor_a_threshold_is_learned_from_routed_pairs(collection: Collection) -> None:
    people_of(collection, "routed", EVERY[:30])
    folder = collection.folder
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.calibrate(folder, "llm", people="routed")
    with pytest.raises(BadInput, match=CHOSEN):
        labeler.route(folder, "llm", options=labeler.RouteOptions(people="routed"))
    people_of(collection, "both", EVERY[:20], EVERY[40:])
    people_of(collection, "human", [], EVERY[40:])
    fits = [labeler.calibrate(folder, "llm", people=name).fit for name in ("both", "human")]
    assert fits[0] == fits[1]


@pytest.mark.parametrize(
    ("made_for", "expected"),
    [("cc", [COMPARE]), ("rr", [MERGE]), ("cr", [COMPARE, MERGE]), ("rc", [COMPARE, MERGE])],
)
def test_the_note_after_an_import_goes_by_all_sheets_of_the_name(
    collection: Collection,
    made_for: str,
    expected: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sheet for a comparison and one of doubtful pairs may share a name, in either order."""
    with locked(collection):
        rows = []
        for at, what in enumerate(made_for):
            entry = {"source": "llm", "routed": True, **({"systems": ["a"]} if what == "c" else {})}
            update_card_entry(collection, "samples", f"s{at}", entry)
            rows.append(HumanAnswer(EVERY[at], 1, "ann", "", "", None, f"s{at}"))
        write_people(people_path(collection.folder, "mine"), rows)
        write_qrels(collection.qrels("mine"), {"q0": dict.fromkeys(("d0", "d1"), 1)})
    note_next(collection, "mine")
    noted = capsys.readouterr().err
    assert [line for line in (COMPARE, MERGE) if line in noted] == expected
