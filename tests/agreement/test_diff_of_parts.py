"""`relabel --only`: which pairs are judged, what is kept, and what a diff may say of them."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import pytest
from made import make_collection, pair_in

import labeler
from labeler.cli import execute
from labeler.collection.card import parent_of, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, locked
from labeler.collection.people import HumanAnswer, people_path, write_people
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.judging.job import texts_of
from labeler.judging.relabel import PartOfSet, derived_pairs
from labeler.model import Model, Request
from labeler.testing import fake_model
from labeler.trec.write import write_qrels

QUERIES, DOCUMENTS = 6, 8
GRADES = Random(5)
USUAL = {
    Pair(f"q{q}", f"d{d}"): GRADES.choice([0, 0, 1, 2, 3])
    for q, d in product(range(QUERIES), range(DOCUMENTS))
}
HUMAN = {pair: GRADES.choice([grade, 1]) for pair, grade in USUAL.items()}


def assessor(grade_of: Callable[[Pair], object], name: str = "fake") -> Model:
    def answer(request: Request) -> str:
        pair = pair_in(request.messages[-1].content)
        return json.dumps({"reason": "so", "grade": grade_of(pair or Pair("", ""))})

    return fake_model(answer, name)


PLAIN = assessor(USUAL.__getitem__)
HIGHER = assessor(lambda pair: min(3, USUAL[pair] + 1), "higher")
SOME_FAIL = assessor(lambda pair: 9 if pair.doc_id == "d3" else USUAL[pair], "failing")


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = make_collection(tmp_path / "c", QUERIES, DOCUMENTS)
    write_qrels(made.qrels("human"), _nested(HUMAN))
    labeler.judge(made, model=PLAIN, name="old")
    return made


def _nested(grades: dict[Pair, int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for pair, grade in grades.items():
        nested.setdefault(pair.query_id, {})[pair.doc_id] = grade
    return nested


def pairs_of(collection: Collection, name: str) -> set[Pair]:
    return {row.judged.outcome.pair for row in read_judgements(collection.judgements(name))}


def relabel(collection: Collection, only: str, name: str = "new", **more: object) -> None:
    part = PartOfSet(only, int(str(more.pop("seed", 0))))
    labeler.relabel(collection, "old", model=HIGHER, name=name, only=part, **more)


def test_disagreements_are_the_pairs_whose_two_grades_differ(collection: Collection) -> None:
    relabel(collection, "disagreements")
    assert pairs_of(collection, "new") == {pair for pair in USUAL if USUAL[pair] != HUMAN[pair]}
    labeler.judge(collection, model=SOME_FAIL, name="failing")
    relabel(collection, "disagreements:failing,human", "three")
    # a failure is no grade that differs
    assert pairs_of(collection, "three") == pairs_of(collection, "new")
    with pytest.raises(Misuse, match="names of other sets"):
        relabel(collection, "disagreements:old", "more")


def test_failures_are_the_pairs_without_a_grade_and_a_diff_says_which_got_one(
    collection: Collection,
) -> None:
    labeler.judge(collection, model=SOME_FAIL, name="failing")
    result = labeler.relabel(collection, "failing", model=HIGHER, name="new", only="failures")
    assert pairs_of(collection, "new") == {pair for pair in USUAL if pair.doc_id == "d3"}
    assert {str(move.before) for move in result.changes.moved} == {"out_of_scale"}
    first, second, _ = labeler.diff(collection, "failing", "new").sentences
    assert "6 without a grade got one, 0 lost theirs" in first
    assert second.endswith("cannot be told from pairs that were picked by their grades.")
    with pytest.raises(Misuse, match="no pair of old is among them"):
        relabel(collection, "failures", "none")


def test_a_sample_is_drawn_by_its_seed_and_a_larger_one_holds_it(collection: Collection) -> None:
    for name, only, seed in (("a", "sample:9", 1), ("b", "sample:20", 1), ("c", "sample:9", 2)):
        relabel(collection, only, name, seed=seed)
    a, b, c = (pairs_of(collection, name) for name in "abc")
    assert len(a) == 9
    assert a < b
    assert a != c
    relabel(collection, "sample:9", "d", seed=1)
    assert pairs_of(collection, "d") == a


def test_every_pair_is_as_likely_as_any_to_be_in_a_sample(collection: Collection) -> None:
    texts, said = texts_of(collection), list[str]()
    parts = (PartOfSet("sample:12", seed) for seed in range(600))
    each = (derived_pairs(collection, "old", part, texts, said.append).pairs for part in parts)
    drawn = [pair for pairs in each for pair in pairs]
    counts = [drawn.count(pair) for pair in USUAL]
    # binomial(600, 1/4): mean 150, standard deviation 10.6
    assert min(counts) > 150 - 4.5 * 10.6
    assert max(counts) < 150 + 4.5 * 10.6


def test_queries_come_from_a_list_or_a_file_and_unknown_ones_are_named(
    collection: Collection, tmp_path: Path
) -> None:
    relabel(collection, "queries:q1,q4")
    assert {pair.query_id for pair in pairs_of(collection, "new")} == {"q1", "q4"}
    (tmp_path / "ids.txt").write_text("q2\nq9\n")
    with pytest.raises(BadInput, match=r"ids\.txt:2: no pair is of the query 'q9'"):
        relabel(collection, f"queries:{tmp_path / 'ids.txt'}", "more")


@pytest.mark.parametrize(
    "only", ["sample", "sample:0", "sample:x", "all", "failures:1", "queries:", ":", "Sample:5"]
)
def test_a_part_that_cannot_be_meant_is_refused(only: str) -> None:
    with pytest.raises(Misuse) as refused:
        PartOfSet(only)
    assert refused.value.parameter == "only"


def test_pairs_that_people_judged_are_judged_without_an_earlier_set(
    collection: Collection,
) -> None:
    some = {pair: grade for pair, grade in HUMAN.items() if pair.query_id < "q3"}
    stray = {Pair("q0", "gone"): 2, Pair("q0", "d1"): -1}
    write_qrels(collection.qrels("human"), _nested({**some, **stray}))
    labeler.relabel(collection, "human", model=PLAIN, name="new")
    # a negative grade is none, and what the collection has not cannot be shown
    assert pairs_of(collection, "new") == some.keys() - {Pair("q0", "d1")}
    _, second, _ = labeler.diff(collection, "human", "new").sentences
    agreed = labeler.agree(collection.folder, "human", "new").assessors[0].agreement
    assert f"new agrees with them by a kappa of {agreed.statistics['kappa'].value:.2f}" in second
    assert parent_of(collection, "new") is not None


def test_a_sample_stands_for_all_pairs_and_picked_pairs_for_themselves_alone(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relabel(collection, "sample:20", "drawn")
    relabel(collection, "disagreements", "picked")
    for name in ("a", "b"):
        run = {q: {f"d{d}": float(d) for d in range(DOCUMENTS)} for q in _nested(USUAL)}
        lines = [f"{q} Q0 {d} 1 {s} {name}" for q, row in run.items() for d, s in row.items()]
        (collection.folder / "runs").mkdir(exist_ok=True)
        (collection.folder / "runs" / f"{name}.trec").write_text("\n".join(lines) + "\n")
    drawn = labeler.diff(collection, "old", "drawn")
    assert drawn.pairs == drawn.transitions.pairs == 20  # the others are no moves
    assert (
        "20 of the 48 pairs of old, drawn at random (seed 0): the shares hold for all of"
        in (drawn.sentences[0])
    )
    assert [change.pairs for change in drawn.beside.changes[:1]] == [20]
    picked = labeler.diff(collection, "old", "picked")
    assert (
        "those that old and human grade differently: the shares are of these alone"
        in (picked.sentences[0])
    )
    figures = picked.as_json()
    assert (figures["agreement"], figures["leaderboard"]) == (None, None)
    assert figures["parents"]["b"]["only"] == "disagreements"
    assert drawn.as_json()["leaderboard"] is None  # a ranking needs all of its pairs
    files = collection.qrels("old"), collection.qrels("picked")
    by_file = labeler.diff(*files, people=collection.qrels("human"))
    assert by_file.as_json()["agreement"] is None  # nor where its file is named
    assert execute(["evaluate", str(collection.folder), "--qrels", "picked"]) == 0
    said = capsys.readouterr()
    assert "the others are unjudged, and those judged are not like them" in said.out + said.err
    assert execute(["agree", str(collection.folder), "human", "picked"]) == 0
    said = capsys.readouterr()
    assert "those judged are not like them" in said.out + said.err


def test_a_part_never_takes_the_place_of_other_pairs(collection: Collection) -> None:
    before = collection.judgements("old").read_bytes()
    with pytest.raises(Misuse, match="would be lost; give another name"):
        labeler.relabel(collection, "old", model=PLAIN, name="old", only="sample:5")
    assert collection.judgements("old").read_bytes() == before
    relabel(collection, "sample:5")
    relabel(collection, "sample:9")  # the pairs of before are among these
    assert len(pairs_of(collection, "new")) == 9


def test_a_sample_that_a_budget_cut_short_is_called_no_sample(collection: Collection) -> None:
    relabel(collection, "sample:20", limits=labeler.Limits(max_calls=7))
    drawn = labeler.diff(collection, "old", "new")
    assert "the shares are of these alone" in drawn.sentences[0]
    assert any("were not asked about yet" in finding.text for finding in drawn.findings)


def test_the_card_says_what_a_set_was_made_from(collection: Collection) -> None:
    relabel(collection, "disagreements")
    made = read_card(collection)["judge"]["new"]
    differing = sum(USUAL[pair] != HUMAN[pair] for pair in USUAL)
    assert made["parent"] == {
        "from": "old",
        "only": "disagreements",
        "pairs": differing,
        "of_pairs": 48,
        "beside": ["human"],
    }
    assert {"labeler", "prompt", "model", "parameters", "scale"} <= made.keys()
    assert "parent" not in read_card(collection)["judge"]["old"]
    assert (
        execute(["relabel", str(collection.folder), "--from", "old", "--reparse", "--as", "r"]) == 0
    )
    assert read_card(collection)["judge"]["r"]["parent"] == {"from": "old", "reparsed": True}


@pytest.mark.parametrize("entry", [7, [], {"from": 3}, {"from": "a", "only": 4}, {"only": "x"}])
def test_a_card_that_somebody_changed_gives_no_parent(
    collection: Collection, entry: object
) -> None:
    card = read_card(collection)
    card["judge"]["old"]["parent"] = entry
    collection.card.write_text(json.dumps(card))
    assert parent_of(collection, "old") is None


def test_what_is_made_of_picked_pairs_is_of_picked_pairs(collection: Collection) -> None:
    relabel(collection, "disagreements", "picked")
    for name, only in (("again", ""), ("fewer", "sample:5")):
        labeler.relabel(collection, "picked", model=PLAIN, prompt="basic", name=name, only=only)
        labeler.relabel(
            collection, "picked", model=HIGHER, prompt="basic", name=f"{name}2", only=only
        )
        second = labeler.diff(collection, name, f"{name}2").sentences[1]
        assert second.endswith("cannot be told from pairs that were picked by their grades.")
    first = labeler.diff(collection, "again", "again2").sentences[0]
    assert "those that old and human grade differently: the shares are of these alone" in first


def test_a_card_whose_sets_are_each_other_s_parents_ends_nowhere(collection: Collection) -> None:
    relabel(collection, "sample:5")
    card = read_card(collection)
    card["judge"]["old"]["parent"] = {"from": "new", "only": "sample:5", "pairs": 5, "of_pairs": 9}
    collection.card.write_text(json.dumps(card))
    assert parent_of(collection, "old") is not None


def test_shares_of_pairs_that_people_drew_are_weighted_by_their_chances(
    collection: Collection,
) -> None:
    chances = {pair: 0.9 if USUAL[pair] == 3 else 0.2 for pair in sorted(USUAL)[::3]}
    rows = [HumanAnswer(pair, HUMAN[pair], "p", "", "", chance) for pair, chance in chances.items()]
    routed = HumanAnswer(Pair("q5", "d6"), 0, "p", "", "", None)
    with locked(collection):
        write_people(people_path(collection.folder, "human"), [*rows, routed])
    grades = {row.pair: HUMAN[row.pair] for row in rows}
    write_qrels(collection.qrels("human"), _nested({**grades, routed.pair: 0}))
    labeler.relabel(collection, "human", model=HIGHER, name="new")
    changes = labeler.diff(collection, "old", "new")
    # HIGHER moves each pair up that is not at the top
    weights = {pair: 1 / chance for pair, chance in chances.items()}
    up = sum(weight for pair, weight in weights.items() if USUAL[pair] < 3) / sum(weights.values())
    assert changes.up.value == pytest.approx(up)
    assert changes.pairs == len(chances)  # a pair that was routed is no draw
    assert "of 100 (weighted as people's sample is), " in changes.sentences[0]
    assert changes.as_json()["leaderboard"] is None
