"""What changed between two sets of grades, against counts by hand and the statistics of agree."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import labeler
from labeler.agreement.compare import StatisticOptions, share_of
from labeler.agreement.diff.diff import DiffOptions
from labeler.cli import execute
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.testing import fake_model, small_collection
from labeler.trec.write import write_qrels

BEFORE = {"q1": {"a": 0, "b": 2, "c": 3}, "q2": {"a": 1, "b": 1}, "q3": {"a": 0}}
AFTER = {"q1": {"a": 1, "b": 2, "c": 1}, "q2": {"a": 3, "b": 1}, "q4": {"a": 2}}
HUMAN = {"q1": {"a": 1, "b": 2, "c": 1}, "q2": {"a": 3, "b": 0}}


def test_shares_moves_and_the_matrix_are_those_counted_by_hand() -> None:
    changes = labeler.diff(BEFORE, AFTER)
    figures = changes.as_json()
    assert (figures["pairs"], figures["grades"]) == (5, [0, 1, 2, 3])
    # rows: before; columns: after
    assert figures["transitions"] == [[0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]
    assert (changes.up.value, changes.down.value) == (0.4, 0.2)
    assert [move.pair for move in changes.moved[:3]] == [("q1", "c"), ("q2", "a"), ("q1", "a")]
    assert figures["agreement"] is None
    assert figures["leaderboard"] is None
    assert "1 pair" not in changes.sentences[1]
    assert "2 pairs stand on one side only." in changes.sentences[0]


def test_a_set_against_itself_moves_nothing_and_promises_no_certainty() -> None:
    changes = labeler.diff(BEFORE, BEFORE)
    assert changes.moved == ()
    assert (changes.up.value, changes.up.low) == (0.0, 0.0)
    assert 0.3 < (changes.up.high or 0) < 1


@pytest.mark.sweep
def test_agreement_before_and_after_is_what_agree_says(shared: Path) -> None:
    dl19 = shared / "dl19"
    files = [dl19 / name for name in ("gpt-4o.qrels", "llama-3.1-8b.qrels", "nist.qrels")]
    changes = labeler.diff(files[0], files[1], people=files[2])
    agreed = labeler.agree(files[2], files[0], files[1])
    figures = changes.as_json()["agreement"]
    for side, report in zip("ab", agreed.assessors, strict=True):
        of = report.agreement.statistics["kappa"]
        assert figures[side]["kappa"] == {"value": of.value, "low": of.low, "high": of.high}
    differences = {d.statistic.name: d for d in agreed.assessors[1].differences}
    assert figures["difference"]["kappa"]["value"] == differences["kappa"].value
    assert figures["difference"]["kappa"]["verdict"] == "gpt-4o is closer"
    assert changes.sentences[1].startswith("gpt-4o is closer to nist by kappa")
    # from the two files by hand: join, awk and sort count the same
    assert changes.as_json()["transitions"][0] == [1932, 1400, 904, 94]
    assert changes.pairs == 9260


@pytest.mark.sweep
def test_systems_before_and_after_are_those_of_a_leaderboard(shared: Path) -> None:
    dl19 = shared / "dl19"
    first, second, human = (dl19 / n for n in ("gpt-4o.qrels", "llama-3.1-8b.qrels", "nist.qrels"))
    runs = sorted((dl19 / "runs").iterdir())[:4]
    board = labeler.diff(first, second, people=human, runs=runs).as_json()["leaderboard"]
    own = labeler.leaderboard(first, second, runs).as_json()
    assert board["statistics"] == own["statistics"]
    assert board["swaps"] == own["swaps"]
    by_human = labeler.leaderboard(human, first, runs).as_json()["statistics"]
    assert board["to_human"]["a"]["tau_b"]["value"] == by_human["tau_b"]["value"]


def test_files_dicts_frames_and_judgements_give_the_same(tmp_path: Path) -> None:
    write_qrels(tmp_path / "before.qrels", BEFORE)
    rows = [(q, d, grade) for q, graded in AFTER.items() for d, grade in graded.items()]
    judged = [
        json.dumps({"query_id": q, "doc_id": d, "grade": grade, "status": "judged"})
        for q, d, grade in rows
    ]
    (tmp_path / "after.jsonl").write_text("\n".join(judged) + "\n")
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    expected = labeler.diff(BEFORE, AFTER, people=HUMAN).as_json()
    for before, after in (
        (tmp_path / "before.qrels", tmp_path / "after.jsonl"),
        (str(tmp_path / "before.qrels"), frame),
    ):
        figures = labeler.diff(before, after, people=HUMAN).as_json()
        for name in ("pairs", "transitions", "up", "down", "moves"):
            assert figures[name] == expected[name]
        assert (
            figures["agreement"]["difference"].keys() == expected["agreement"]["difference"].keys()
        )


def test_the_command_says_it_in_three_sentences_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {}
    for name, qrels in {"old": BEFORE, "new": AFTER, "people": HUMAN}.items():
        paths[name] = str(tmp_path / f"{name}.qrels")
        write_qrels(Path(paths[name]), qrels)
    asked = ["diff", paths["old"], paths["new"], "--people", paths["people"]]
    assert execute(asked) == 0
    shown = capsys.readouterr()
    first, second, third = shown.out.splitlines()[:3]
    assert first.startswith("new gives another grade than old to 3 of the 5 pairs")
    assert "people" in second
    assert third == "Whether systems change places is not known: fewer than two runs were given."
    assert execute([*asked, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["names"] == {"a": "old", "b": "new"}


def test_what_cannot_be_compared_is_refused_in_a_line() -> None:
    with pytest.raises(Misuse, match="two qrels, or a collection"):
        labeler.diff(BEFORE)
    with pytest.raises(Misuse, match="two names after"):
        labeler.diff(Path.cwd(), "one")
    with pytest.raises(BadInput, match="share no query"):
        labeler.diff({"q": {"a": 1}}, {"r": {"b": 1}}, people={"z": {"y": 1}})
    with pytest.raises(Misuse, match="is a file: expected two qrels"):
        labeler.diff(__file__, __file__, __file__)
    with pytest.raises(FileProblem, match=r"none\.trec: no such file"):
        labeler.diff(BEFORE, AFTER, runs=["none.trec"])
    with pytest.raises(Misuse, match="did you mean 'nDCG@10'"):
        labeler.diff(BEFORE, AFTER, options=DiffOptions(measure="nDGC@10"))


def test_a_statistic_without_a_value_is_not_called_a_want_of_pairs() -> None:
    alike = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    second = labeler.diff(alike, alike, people=alike).sentences[1]
    assert second.endswith("cannot be told: kappa is not defined on the 3 pairs that all graded.")


def test_two_sets_without_a_common_query_say_so_of_their_runs() -> None:
    runs = {name: {"q1": {"a": 1.0}} for name in ("one", "two")}
    changes = labeler.diff({"q1": {"a": 1}}, {"q2": {"a": 1}}, runs=runs)
    assert changes.sentences[2].endswith("is not known: no query has grades in both.")


def test_a_verdict_that_its_interval_does_not_explain_says_what_it_allows_for() -> None:
    rng = np.random.default_rng(11)
    human = {f"q{n}": {f"d{d}": int(rng.integers(3)) for d in range(8)} for n in range(40)}

    def wrong(share: float, seed: int) -> dict[str, dict[str, int]]:
        draw = np.random.default_rng(seed)
        return {
            q: {d: (g + 1) % 3 if draw.random() < share else g for d, g in row.items()}
            for q, row in human.items()
        }

    before, after = wrong(0.25, 1), wrong(0.32, 6)
    changes = labeler.diff(before, after, people=human)
    kappa = changes.as_json()["agreement"]["difference"]["kappa"]
    assert kappa["high"] < 0
    assert kappa["verdict"] == "cannot tell apart"
    assert "(the interval is of kappa alone; the verdict allows for 6 statistics)" in str(
        changes.sentences[1]
    )
    titles = [table.title for table in changes.tables()]
    assert any("verdicts allow for 6 statistics" in title for title in titles)


@pytest.mark.sweep
def test_figures_of_two_published_sets_are_those_of_scipy_and_sklearn(shared: Path) -> None:
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    dl19 = shared / "dl19"
    first, second, human = (
        {
            (words[0], words[2]): int(words[3])
            for words in map(str.split, (dl19 / f"{name}.qrels").read_text().splitlines())
        }
        for name in ("gpt-4o", "llama-3.1-8b", "nist")
    )
    statistics = StatisticOptions(("kappa", "kappa-quadratic", "tau-b", "agreement"), draws=100)
    files = [dl19 / f"{name}.qrels" for name in ("gpt-4o", "llama-3.1-8b")]
    runs = sorted((dl19 / "runs").iterdir())[:5]
    figures = labeler.diff(
        *files, people=dl19 / "nist.qrels", runs=runs, options=DiffOptions(statistics)
    ).as_json()
    pairs = sorted(first.keys() & second.keys() & human.keys())
    a, b, people = ([side[pair] for pair in pairs] for side in (first, second, human))
    assert figures["transitions"] == confusion_matrix(a, b).tolist()
    assert figures["up"]["value"] == pytest.approx(np.mean(np.array(b) > np.array(a)))
    assert figures["down"]["value"] == pytest.approx(np.mean(np.array(b) < np.array(a)))
    for side, grades in (("a", a), ("b", b)):
        values = {name: of["value"] for name, of in figures["agreement"][side].items()}
        assert values == pytest.approx(
            {
                "kappa": cohen_kappa_score(people, grades),
                "kappa-quadratic": cohen_kappa_score(people, grades, weights="quadratic"),
                "tau-b": stats.kendalltau(people, grades).statistic,
                "agreement": np.mean(np.array(people) == np.array(grades)),
            },
            abs=1e-9,
        )
    board = figures["leaderboard"]
    scores = [[run[side] for run in board["runs"]] for side in ("first", "second")]
    tau = stats.kendalltau(*scores).statistic
    assert board["statistics"]["tau_b"]["value"] == pytest.approx(tau)
    moved = {query["query_id"]: query for query in figures["queries"]}
    apart = Counter(q for (q, _), x, y in zip(pairs, a, b, strict=True) if x != y)
    assert {name: of["up"] + of["down"] for name, of in moved.items()} == apart


def test_sets_on_different_scales_are_said_to_be(tmp_path: Path) -> None:
    collection = small_collection(tmp_path)
    (tmp_path / "two.md").write_text(
        '+++\nkind = "grade"\ndescription = "x"\n[scale]\n0 = "no"\n1 = "yes"\n+++\n'
        '# system\nGrade.\n# user\n{query}\n{passage}\nAnswer {"grade": N}, N being 0 or 1.\n'
    )
    grade = fake_model('{"grade": 1}')
    labeler.judge(collection, model=grade, name="four")
    labeler.relabel(collection, "four", model=grade, prompt=str(tmp_path / "two.md"), name="two")
    first = labeler.diff(collection, "four", "two").sentences[0]
    assert "Their scales differ, so that up and down mean little: four grades from 0 to 3" in first


def test_a_share_near_0_has_a_longer_end_towards_the_middle() -> None:
    part, whole = np.array([0, 1, 0, 9, 1, 2.0]), np.full(6, 40.0)
    of = share_of(part, whole, StatisticOptions())
    assert of.value == pytest.approx(13 / 240)
    assert of.low is not None
    assert of.high is not None
    assert of.high - 13 / 240 > 2 * (13 / 240 - of.low)
    mirrored = share_of(whole - part, whole, StatisticOptions())
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - of.high, 1 - of.low), abs=0.01)
