"""Panels of a collection: what is written, what is said, what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from made import make_collection

import labeler
from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions
from labeler.cli import execute
from labeler.collection.card import read_card, update_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, locked
from labeler.data import Pair, Qrels
from labeler.errors import Misuse
from labeler.lab.members import PanelOptions
from labeler.lab.panel import effective_number, independence
from labeler.testing import fake_model
from labeler.trec.pairs import PairColumns
from labeler.trec.write import write_qrels


def made_votes(
    rho: float, members: int, queries: int, pairs: int, seed: int
) -> tuple[GradeMatrix, PairColumns]:
    """Members whose errors correlate by `rho`: each takes the common error with chance sqrt(rho).

    Truth lies within the scale by a grade, so that no error is cut off at an end.
    """
    rng = np.random.default_rng(seed)
    n = queries * pairs
    true = rng.integers(1, 4, n)
    common, own = rng.integers(-1, 2, (n, 1)), rng.integers(-1, 2, (n, members))
    is_common = rng.random((n, members)) < np.sqrt(rho)
    grades = true[:, None] + np.where(is_common, common, own)
    names = tuple(Pair(f"q{i // pairs}", f"d{i}") for i in range(n))
    human = PairColumns.of_pairs(dict(zip(names, true.tolist(), strict=True)), np.int64)
    return GradeMatrix(
        tuple(f"m{i}" for i in range(members)), tuple(range(5)), human, grades
    ), human


@pytest.mark.parametrize("rho", [0.0, 0.25, 0.64])
@pytest.mark.parametrize("members", [3, 6])
def test_the_number_of_independent_assessors_is_the_one_put_in(rho: float, members: int) -> None:
    votes, human = made_votes(rho, members, 40, 100, seed=7)
    worth = independence(votes, human, StatisticOptions(draws=300))
    assert worth.correlation.value == pytest.approx(rho, abs=0.03)
    assert worth.effective_number.value == pytest.approx(effective_number(members, rho), rel=0.06)
    assert (
        worth.effective_number.low
        <= effective_number(members, rho)
        <= worth.effective_number.high + 1e-9
    )


def test_intervals_of_the_number_hold_what_was_put_in() -> None:
    hits = 0
    for seed in range(60):
        votes, human = made_votes(0.36, 3, 20, 15, seed)
        r = independence(votes, human, StatisticOptions(draws=300)).correlation
        hits += (r.low or 0) <= 0.36 <= (r.high or 0)
    # 95 of 100; three standard errors below are 86
    assert hits >= 0.86 * 60


def test_without_people_no_number_is_given(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    assert labeler.panel(collection, "a", "b", options=_quick()).independence is not None
    collection.qrels("human").unlink()
    alone = labeler.panel(collection, "a", "b", options=_quick())
    assert alone.independence is None
    assert alone.sentences == ["median of 2 members: 12 pairs have a grade."]


def test_copies_of_one_assessor_are_one_assessor() -> None:
    votes, human = made_votes(0.0, 1, 20, 50, seed=1)
    copies = GradeMatrix(("a", "b", "c"), votes.grades, votes.pairs, votes.values.repeat(3, axis=1))
    assert independence(copies, human).effective_number.value == pytest.approx(1)


def collection_of_sets(folder: Path) -> Collection:
    """A collection with the sets a, b, c, which agree on nothing but d0, and human grades."""
    collection = make_collection(folder, queries=3, documents=4)
    for number, name in enumerate("abc"):
        replies = fake_model(lambda request, n=number: _reply(request, n), f"model-{name}")
        labeler.judge(collection, model=replies, name=name)
    human: Qrels = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(4)} for q in range(3)}
    write_qrels(collection.qrels("human"), human)
    return collection


def _reply(request: object, number: int) -> str:
    text = str(request)
    if number == 2 and "d3;" in text:
        return "no grade"
    document = next(d for d in range(4) if f"d{d};" in text)
    return json.dumps({"grade": min(3, document + (number if document else 0))})


def test_a_panel_of_a_collection_is_a_set_like_any_other(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    result = labeler.panel(collection, "a", "b", "c", name="all", options=_quick())
    assert result.people == "human"
    rows = {row.judged.outcome.pair: row for row in read_judgements(collection.judgements("all"))}
    assert len(rows) == 12
    assert rows[Pair("q0", "d1")].members == {"a": 1, "b": 2, "c": 3}
    assert rows[Pair("q0", "d1")].judged.outcome.grade == 2
    assert rows[Pair("q0", "d3")].members == {"a": 3, "b": 3, "c": "unparsable"}
    assert rows[Pair("q0", "d0")].origin.is_panel
    entry = read_card(collection)["judge"]["all"]
    assert entry["members"]["a"]["asked"].startswith("model-a")
    assert entry["served"] == sorted(entry["served"])
    assert labeler.agree(collection.folder, "human", "all").assessors[0].agreement.pairs == 12
    # again is the same, and other members are another panel
    labeler.panel(collection, "a", "b", "c", name="all", options=_quick())
    with pytest.raises(Misuse, match="was made by median of a, b, c; give another name"):
        labeler.panel(collection, "a", "b", name="all", options=_quick())
    with pytest.raises(Misuse, match="is a member of the panel"):
        labeler.panel(collection, "a", "b", name="a", options=_quick())
    assert labeler.validate(collection).problems == ()
    taken = f"{collection.qrels('c')} holds a model's grades, and is taken for people's"
    beside = labeler.panel(collection, "a", "b", people="c", options=_quick())
    changes = labeler.diff(collection, "a", "b", people="c")
    for findings in (beside.findings, changes.findings):
        assert taken in map(str, findings)
    assert taken not in map(str, (*result.findings, *labeler.diff(collection, "a", "b").findings))


def _quick() -> PanelOptions:
    return PanelOptions()


def test_a_pair_that_too_few_members_graded_stands_in_no_qrels(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    options = PanelOptions(fewest=3)
    result = labeler.panel(collection, "a", "b", "c", name="strict", options=options)
    assert (result.panel.judged, result.panel.failed) == (9, 3)
    assert "d3" not in collection.qrels("strict").read_text()
    assert '"status": "unparsable"' in collection.judgements("strict").read_text()


def test_a_panel_is_asked_nothing_and_has_no_replies_of_its_own(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    labeler.panel(collection, "a", "b", "c", name="all", options=_quick())
    with pytest.raises(Misuse, match="put together by a panel"):
        labeler.relabel(collection, "all", name="again")
    folder = str(collection.folder)
    for command in (["explain", folder, "q0", "d0", "--as", "all"], ["status", folder]):
        assert execute(command) == 0


def test_a_set_is_not_both_a_member_and_people_s(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    with pytest.raises(Misuse, match="is a member of the panel, and cannot tell") as refused:
        labeler.panel(collection, "a", "b", people="a")
    assert refused.value.parameter == "people"


def test_people_that_a_panel_is_part_of_are_named(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    with locked(collection):
        update_card(collection, "fetch", {"consensus": {"human": ["a", "b"]}})
    result = labeler.panel(collection, "a", "b", "c", options=_quick())
    assert any("human was made from the grades of a, b" in str(f) for f in result.findings)
    report = labeler.agree(collection.folder, "a", "human").assessors[0]
    assert any("agreement of a part with the whole" in w for w in report.warnings)


def test_a_panel_is_kept_as_a_set_and_leaves_out_what_few_members_were_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = made_of(
        tmp_path / "coll", {"a": {"q": {"d": 2, "e": 0}}, "b": {"q": {"d": 1, "e": -1}}}
    )
    write_qrels(collection.qrels("c"), {"q": {"d": 2}})
    asked = ["lab", "panel", str(collection.folder), "a", "b", "c", "--as", "panel"]
    assert execute([*asked, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["judged"], figures["left_out"], figures["rule"]) == (1, 1, "median")
    assert collection.qrels("panel").read_text() == "q 0 d 2\n"
    row = json.loads(collection.judgements("panel").read_text())
    assert row["members"] == {"a": 2, "b": 1, "c": 2}
    assert list(row["parameters"]["members"]) == ["a", "b", "c"]
    assert execute([*asked, "-o", str(collection.qrels("a"))]) == 2


def made_of(folder: Path, qrels_by_name: dict[str, Qrels]) -> Collection:
    """A collection with such qrels."""
    collection = make_collection(folder, queries=1, documents=2)
    collection.qrels("x").parent.mkdir(exist_ok=True)
    for name, qrels in qrels_by_name.items():
        write_qrels(collection.qrels(name), qrels)
    return collection


def test_what_a_panel_gives_can_be_shown_and_compared_with_people(tmp_path: Path) -> None:
    collection = collection_of_sets(tmp_path / "coll")
    result = labeler.panel(collection, "a", "b", name="all", options=_quick())
    assert len(result.frame()) == 3
    assert result.as_json()["people"] == "human"
    reports = labeler.agree(collection.folder, "human", "all", "a", "b").assessors
    assert [report.against for report in reports] == [None, "all", "all"]
