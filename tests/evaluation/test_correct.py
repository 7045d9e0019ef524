"""Scores corrected by people's labels of some queries."""

import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from every_row import every_row

from labeler.cli import execute
from labeler.data import Run
from labeler.metrics import evaluate
from labeler.stats.estimates import Design, balance
from labeler.stats.means import share_interval
from labeler.stats.ppi import LIKE_THESE, THESE, CorrectedMean, Joint
from labeler.trec.files import read_qrels, read_run
from labeler.trec.write import write_qrels

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

from correction_worlds import MEASURES as MADE
from correction_worlds import WORLDS, made_up
from simulate_correction import simulate

RNG = np.random.default_rng(0)
PEOPLE = RNG.random(40)
ASSESSOR = PEOPLE**2 + RNG.normal(0, 0.1, 40)


def correct(
    human: np.ndarray, assessor: np.ndarray, judged: np.ndarray, target: str = THESE
) -> CorrectedMean:
    """The three means of one system's scores."""
    design = Design(judged, len(assessor))
    (corrected,) = Joint(human[None, :], assessor[None, :], design, target).means()
    return corrected


@cache
def runs_of(folder: Path) -> dict[str, Run]:
    """The eleven runs of DL 2019, read once."""
    return {path.name: read_run(path) for path in sorted((folder / "runs").iterdir())}


@cache
def scores_of(shared: Path, judge: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """The eleven systems' scores in DL 2019 by NIST's labels and by an assessor's."""
    folder = shared / "dl19"
    people, other = (read_qrels(folder / f"{name}.qrels") for name in ("nist", judge))
    runs = runs_of(folder).values()
    human, assessor = (
        np.array([evaluate(qrels, run, [measure]).values[0] for run in runs])
        for qrels in (people, other)
    )
    return human, assessor


def test_the_corrected_mean_is_the_regression_estimate() -> None:
    from statsmodels.regression.linear_model import OLS

    labelled = np.arange(12)
    found = correct(PEOPLE[labelled], ASSESSOR, labelled)
    fit = OLS(PEOPLE[labelled], np.column_stack([np.ones(12), ASSESSOR[labelled]])).fit()
    assert found.weight == pytest.approx(fit.params[1])
    assert found.corrected.value == pytest.approx(fit.predict([[1, ASSESSOR.mean()]])[0])


@pytest.mark.parametrize(("slope", "weight"), [(0.5, 1.0), (-1.0, 0.0)])
def test_an_assessor_is_followed_neither_beyond_its_scores_nor_against_them(
    slope: float, weight: float
) -> None:
    labelled = np.arange(12)
    found = correct(PEOPLE[labelled], 0.5 + slope * PEOPLE, labelled)
    assert found.weight == weight


def three_systems() -> tuple[np.ndarray, np.ndarray]:
    """Three systems' scores by people and by an assessor, of the same forty queries."""
    people = np.clip(PEOPLE + RNG.normal(0, 0.2, (3, 40)), 0, 1)
    return people, np.clip(people**2 + RNG.normal(0, 0.1, (3, 40)), 0, 1)


@pytest.mark.parametrize("target", [THESE, LIKE_THESE])
def test_corrected_differences_are_differences_of_corrected_scores(target: str) -> None:
    people, assessor = three_systems()
    for seed in range(20):
        drawn = np.random.default_rng(seed).choice(40, 8, replace=False)
        joint = Joint(people[:, drawn], assessor, Design(drawn, 40), target)
        first, second, third = (mean.corrected.value for mean in joint.means())
        found = [difference.corrected.value for difference in joint.differences(1)]
        assert found == pytest.approx([first - second, third - second], abs=1e-12)
        assert {mean.weight for mean in joint.means()} == {joint.weight}
        assert {mean.weight for mean in joint.differences(1)} == {joint.weight}


def test_p_is_below_5_percent_where_the_interval_leaves_0_out() -> None:
    people, assessor = three_systems()
    words = set()
    for seed in range(30):
        drawn = np.random.default_rng(seed).choice(40, 8, replace=False)
        shifted = people + np.array([[0.3], [0.0], [0.1]])
        joint = Joint(shifted[:, drawn], assessor, Design(drawn, 40))
        for difference, verdict in joint.compared(1):
            ends = difference.corrected
            assert (verdict.p < 0.05) == (ends.low > 0 or ends.high < 0)
            words.add(verdict.word)
    assert words == {"better", "cannot tell apart"}


@pytest.mark.parametrize("target", [THESE, LIKE_THESE])
def test_the_three_intervals_of_a_row_are_of_one_target(target: str) -> None:
    everywhere = np.arange(40)
    found = correct(PEOPLE, PEOPLE, everywhere, target)
    people, other = (found.human.high - found.human.low, found.assessor.high - found.assessor.low)
    assert people == pytest.approx(other, rel=0.15)
    assert (people == pytest.approx(0)) == (target == THESE)


@every_row("judged", [3, 5, 10, 39])
@every_row("value", [0.0, 0.5, 1.0])
def test_no_interval_is_empty_before_people_judged_all_queries(judged: int, value: float) -> None:
    people, drawn = np.full((1, 40), value), np.arange(judged)
    for assessor in (people, np.tile([0.0, 1.0], 20)[None, :]):
        for target in (THESE, LIKE_THESE):
            joint = Joint(people[:, drawn], assessor, Design(drawn, 40), target)
            (mean,) = joint.means()
            assert mean.corrected.high - mean.corrected.low > 0.002
            assert mean.human.high - mean.human.low > 0.002


def test_few_first_places_say_as_much_of_all_as_wilson_lets_them() -> None:
    drawn = np.arange(10)
    finite, infinite = (
        correct(np.ones(10), np.ones(40), drawn, target).human for target in (THESE, LIKE_THESE)
    )
    low, _ = share_interval(np.ones(10))
    assert infinite.low == pytest.approx(low)
    assert low < finite.low < 1 == finite.high


def test_an_end_moves_out_towards_the_tail_and_the_other_stays() -> None:
    tailed = np.array([0.9] * 5 + [1.0, 0.8, 0.85, 0.2, 0.95])
    found = correct(tailed, np.zeros(40), np.arange(10), LIKE_THESE).human
    half = 2.2622 * tailed.std(ddof=1) / np.sqrt(10)
    assert found.high == pytest.approx(min(tailed.mean() + half, 1.0), abs=1e-4)
    assert found.low < tailed.mean() - 1.1 * half


def test_an_assessor_that_one_query_alone_speaks_for_is_not_followed() -> None:
    labelled = np.arange(12)
    assessor = np.where(np.arange(40) == 3, 1.0, 0.0)
    people = assessor[labelled] * 0.9 + 0.05
    found = correct(people, assessor, labelled)
    assert found.weight == 0
    assert found.corrected == found.human


def test_heavy_tails_leave_fewer_degrees_of_freedom() -> None:
    labelled = np.arange(20)
    noise = np.random.default_rng(3).normal(0, 0.1, 40)
    spiky = np.where(np.arange(40) % 10 == 0, 0.6, 0.0)
    even, heavy = (correct((PEOPLE + one)[labelled], PEOPLE, labelled) for one in (noise, spiky))
    assert heavy.freedom < even.freedom <= 18


def test_with_every_query_labelled_nothing_is_left_to_correct() -> None:
    found = correct(PEOPLE, ASSESSOR, np.arange(40))
    assert found.corrected.value == pytest.approx(PEOPLE.mean())
    assert found.corrected.low == pytest.approx(found.corrected.high)
    even = np.linspace(0, 1, 40)  # without a tail on either side
    like_these = correct(even, ASSESSOR, np.arange(40), LIKE_THESE).corrected
    error = even.std(ddof=1) / np.sqrt(40)
    assert like_these.high - like_these.low == pytest.approx(2 * 2.0227 * error, rel=1e-4)


def test_an_assessor_that_tells_nothing_is_given_no_weight() -> None:
    labelled = np.arange(12)
    found = correct(PEOPLE[labelled], np.full(40, 0.5), labelled)
    assert found.weight == 0
    assert found.corrected == found.human


def test_a_good_assessor_makes_the_interval_narrower_wherever_it_is_biased() -> None:
    labelled = np.arange(12)
    found = correct(PEOPLE[labelled], ASSESSOR, labelled)
    width = found.corrected.high - found.corrected.low
    assert width < 0.5 * (found.human.high - found.human.low)
    assert not found.assessor.low <= PEOPLE.mean() <= found.assessor.high
    assert found.corrected.low <= PEOPLE.mean() <= found.corrected.high


@pytest.mark.sweep
def test_on_dl19_the_assessor_alone_misses_and_the_correction_covers(shared: Path) -> None:
    human, assessor = scores_of(shared, "gpt-4o", "nDCG@10")
    found = simulate(human, assessor, judged=20, draws=200, seed=1)
    assert found.covered["assessor"] < 0.3
    assert found.covered["human"] > 0.9
    assert found.covered["corrected"] > 0.92
    assert found.width["corrected"] < 0.9 * found.width["human"]


def test_the_command_prints_all_three(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    people = read_qrels(folder / "nist.qrels")
    some = {query: people[query] for query in sorted(people)[::3]}
    write_qrels(tmp_path / "people.qrels", some)
    files = [str(folder / "gpt-4o.qrels"), str(folder / "runs/minilm-reranker.trec.gz")]
    asked = ["correct", str(tmp_path / "people.qrels"), *files, "-m", "nDCG@10"]
    assert execute([*asked, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["scores"]
    assert (row["human_queries"], row["queries"]) == (15, 43)
    assert row["corrected"]["low"] < row["corrected"]["value"] < row["corrected"]["high"]
    assert execute(asked) == 0
    printed = capsys.readouterr()
    for column in ("human alone", "assessor alone", "corrected", "lambda"):
        assert column in printed.out
    assert "over all queries like these 43, of which people judged 15" in printed.out
    assert (printed.out + printed.err).count("people judged 15") == 1
    assert execute([*asked, "--target", "these"]) == 0
    assert "over these 43, of which people judged 15" in capsys.readouterr().out
    assert execute([*asked, "--target", "moon"]) == 2


def test_people_who_judged_a_few_pairs_a_query_cannot_correct(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    people = read_qrels(folder / "nist.qrels")
    write_qrels(
        tmp_path / "few.qrels", {q: dict(list(row.items())[:20]) for q, row in people.items()}
    )
    files = [str(folder / "gpt-4o.qrels"), str(folder / "runs/minilm-reranker.trec.gz")]
    assert execute(["correct", str(tmp_path / "few.qrels"), *files, "-m", "nDCG@10"]) == 65
    assert "people's grades of whole queries" in capsys.readouterr().err


def with_people(tmp_path: Path) -> list[str]:
    """Sixteen queries that an assessor graded up to 3, half of them graded up to 2 by people."""
    grades = [i % 4 for i in range(16)]
    qrels = {f"q{i}": {"a": grade, "b": 1} for i, grade in enumerate(grades)}
    some = {f"q{i}": {"a": min(grade, 2), "b": 1} for i, grade in enumerate(grades[:8])}
    write_qrels(tmp_path / "llm.qrels", qrels)
    write_qrels(tmp_path / "people.qrels", some)
    lines = [
        f"q{i} Q0 {doc} 1 {score} t\n" for i in range(16) for doc, score in (("a", 2), ("b", 1))
    ]
    (tmp_path / "x.trec").write_text("".join(lines))
    return ["correct", *(str(tmp_path / name) for name in ("people.qrels", "llm.qrels", "x.trec"))]


@pytest.mark.parametrize(
    "option",
    [
        ["--baseline", "x"],
    ],
)
def test_an_option_that_changes_nothing_here_leaves_the_scores_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    asked = [*with_people(tmp_path), "-m", "P@1", "--json"]
    assert execute(asked) == 0
    plain = capsys.readouterr().out
    assert execute([*asked, *option]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scores"][:1] == json.loads(plain)["scores"]


def test_evaluate_leaves_correcting_to_its_own_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, people, *files = with_people(tmp_path)
    for option in ("--people", "--assessor", "--target"):
        assert execute(["evaluate", *files, option, people]) == 2
        assert f"No such option: {option}" in capsys.readouterr().err


def test_qrels_and_a_run_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = with_people(tmp_path)
    for few in (asked[:2], asked[:3]):
        assert execute(few) == 2
        assert "as in: labeler correct HUMAN.qrels LLM.qrels RUN..." in capsys.readouterr().err


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """A collection of the same: an assessor's qrels, people's of half the queries, and a run."""
    files = [Path(path) for path in with_people(tmp_path)[1:]]
    places = ("qrels/human.qrels", "qrels/llm.qrels", "runs/x.trec")
    for file, place in zip(files, places, strict=True):
        (tmp_path / "coll" / place).parent.mkdir(parents=True, exist_ok=True)
        file.rename(tmp_path / "coll" / place)
    return tmp_path / "coll"


def test_a_collection_gives_what_its_files_give(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(coll / place) for place in ("qrels/human.qrels", "qrels/llm.qrels", "runs/x.trec")]
    printed = []
    for asked in ([str(coll)], files, [str(coll), "--human", "human", "--assessor", "llm"]):
        assert execute(["correct", *asked, "-m", "P@1", "--json"]) == 0
        printed.append(capsys.readouterr().out)
    assert len(set(printed)) == 1


def test_whose_grades_are_corrected_has_to_be_said_where_there_are_several(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (coll / "qrels/other.qrels").write_text((coll / "qrels/llm.qrels").read_text())
    assert execute(["correct", str(coll), "-m", "P@1"]) == 2
    shown = capsys.readouterr().err
    assert "--assessor: whose grades of all queries are to be corrected?" in shown
    assert "there are: llm, other" in shown
    assert execute(["correct", str(coll), "--assessor", "other", "-m", "P@1"]) == 0


def test_human_qrels_that_are_not_there_are_named_before_the_assessor_s_are_looked_for(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (coll / "qrels/other.qrels").write_text((coll / "qrels/llm.qrels").read_text())
    assert execute(["correct", str(coll), "--human", "nobody", "-m", "P@1"]) == 2
    assert "has no qrels 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--human", "--assessor"])
def test_names_of_qrels_are_for_collections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert execute([*with_people(tmp_path), option, "llm"]) == 2
    shown = capsys.readouterr().err
    assert f"{option}: this chooses among the qrels of a collection" in shown


def test_a_measure_that_is_not_corrected_is_told_of_by_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([*with_people(tmp_path), "-m", "Judged@10"]) == 2
    assert "--measure: Judged@10 is no mean over queries that grades" in capsys.readouterr().err


def corrected_two(shared: Path, tmp_path: Path) -> list[str]:
    """Two systems of DL 2019, with NIST's labels for every third query."""
    people = read_qrels(shared / "dl19/nist.qrels")
    write_qrels(tmp_path / "some.qrels", {q: people[q] for q in sorted(people)[::3]})
    names = ("gpt-4o.qrels", "runs/bge-base-retriever.trec.gz", "runs/minilm-reranker.trec.gz")
    files = [str(shared / "dl19" / name) for name in names]
    return ["correct", str(tmp_path / "some.qrels"), *files, "-m", "nDCG@10", "--json"]


def test_systems_are_compared_by_their_corrected_difference(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = corrected_two(shared, tmp_path)
    assert execute([*asked, "--baseline", "bge-base-retriever"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["comparisons"]
    assert (one["run"], one["baseline"]) == ("minilm-reranker", "bge-base-retriever")
    base, other = (row["human"]["value"] for row in found["scores"])
    assert one["human_queries"] == 15
    assert one["human"]["value"] == pytest.approx(other - base)
    told = one["corrected"]["low"] > 0 or one["corrected"]["high"] < 0
    assert (one["p"] < 0.05) == told
    assert execute([*asked, "--baseline", "nobody"]) == 2


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("judge", "measure", "labelled", "width"),
    [
        *[("gpt-4o", "nDCG@10", 10, 0.85), ("gpt-4o", "AP", 20, 0.72)],
        *[("llama-3.1-8b", "nDCG@10", 20, 0.98), ("llama-3.1-8b", "P@10", 10, 0.92)],
    ],
)
def test_corrected_intervals_cover_and_are_narrower_than_peoples_alone(
    shared: Path, judge: str, measure: str, labelled: int, width: float
) -> None:
    human, assessor = scores_of(shared, judge, measure)
    found = simulate(human, assessor, labelled, draws=300, seed=1)
    assert 0.91 < found.covered["corrected"] < 0.975
    assert found.width["corrected"] < width * found.width["human"]


def test_scores_for_which_the_assessor_is_not_followed_are_counted_with_the_reason(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = corrected_two(shared, tmp_path)
    assert execute(asked) == 0
    assert not [w for w in json.loads(capsys.readouterr().out)["warnings"] if "lambda" in w]
    asked[2] = str(tmp_path / "flat.qrels")
    people = read_qrels(shared / "dl19/nist.qrels")
    write_qrels(Path(asked[2]), {q: dict.fromkeys(row, 1) for q, row in people.items()})
    assert execute([*asked, "-m", "RR"]) == 0
    found = json.loads(capsys.readouterr().out)
    flat = [row for row in found["scores"] if row["measure"] == "RR"]
    assert all(row["lambda"] == 0 and row["corrected"] == row["human"] for row in flat)
    assert any("lambda is 0 for" in warning for warning in found["warnings"])


def test_no_interval_of_a_share_goes_beyond_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([*with_people(tmp_path), "-m", "nDCG@10", "-m", "DCG@10", "--json"]) == 0
    share, gain = json.loads(capsys.readouterr().out)["scores"]
    assert share["human"]["high"] == 1.0
    assert gain["human"]["high"] > 1.0


def test_people_of_other_queries_are_an_error_with_a_guess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = with_people(tmp_path)
    people = read_qrels(tmp_path / "people.qrels")
    write_qrels(tmp_path / "people.qrels", {query[1:]: row for query, row in people.items()})
    assert execute([*asked, "-m", "P@1"]) == 65
    assert "share no query" in capsys.readouterr().err


def test_both_sides_are_scored_on_one_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*with_people(tmp_path), "-m", "ERR@10", "--json"]
    sides = [read_qrels(tmp_path / f"{name}.qrels") for name in ("llm", "people")]
    ranked = read_run(tmp_path / "x.trec")
    for option, top in (([], 3), (["--max-grade", "4"], 4)):
        assert execute([*asked, *option]) == 0
        (row,) = json.loads(capsys.readouterr().out)["scores"]
        wanted = [evaluate(side, ranked, ["ERR@10"], max_grade=top).means() for side in sides]
        assert row["assessor"]["value"] == pytest.approx(wanted[0]["ERR@10"])
        assert row["human"]["value"] == pytest.approx(wanted[1]["ERR@10"])


@pytest.mark.parametrize("measure", ["GMAP", "NumRelRet", "NumQ", "Judged@10"])
def test_only_means_over_queries_are_corrected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measure: str
) -> None:
    assert execute([*with_people(tmp_path), "-m", measure]) == 2
    assert measure in capsys.readouterr().err


def test_a_sentence_first_says_which_run_leads_and_from_which_it_can_be_told(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [word for word in corrected_two(shared, tmp_path) if word != "--json"]
    assert execute(asked) == 0
    first, second, third = capsys.readouterr().out.splitlines()[:3]
    assert "has the highest corrected nDCG@10, 0." in first
    assert first.endswith("over all queries like these 43, of which people judged 15.")
    assert second.startswith("Against it, ")
    assert not third
    assert execute([word for word in asked if "bge-base" not in word]) == 0
    alone = capsys.readouterr().out.splitlines()[0]
    assert alone.startswith("minilm-reranker: corrected nDCG@10 is 0.")
    assert execute([*asked, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("run,measure,")


def chosen(shared: Path, tmp_path: Path, queries: slice) -> list[str]:
    """DL 2019 with NIST's labels of some queries, from those that systems do well on downwards."""
    people = read_qrels(shared / "dl19/nist.qrels")
    files = ("runs/bge-base-retriever.trec.gz", "runs/minilm-reranker.trec.gz")
    runs = [read_run(shared / "dl19" / name) for name in files]
    scores = [evaluate(people, run, ["nDCG@10"]) for run in runs]
    ease = dict(zip(scores[0].queries, sum(one.values[0] for one in scores), strict=True))
    by_ease = sorted(people, key=lambda query: -ease[query])
    write_qrels(tmp_path / "chosen.qrels", {q: people[q] for q in by_ease[queries]})
    paths = [str(shared / "dl19" / name) for name in ("gpt-4o.qrels", *files)]
    return ["correct", str(tmp_path / "chosen.qrels"), *paths, "-m", "nDCG@10"]


@pytest.mark.parametrize("queries", [slice(0, 20), slice(23, 43)])
def test_queries_chosen_by_ease_are_not_taken_for_a_random_sample(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], queries: slice
) -> None:
    assert execute(chosen(shared, tmp_path, queries)) == 0
    shown = capsys.readouterr().err
    assert "the queries that people judged are not like the others (p 0.0" in shown
    assert execute(chosen(shared, tmp_path, slice(0, 43, 2))) == 0
    assert "not like the others" not in capsys.readouterr().err


def test_a_random_sample_is_suspected_in_one_of_twenty_cases_whatever_the_features() -> None:
    rng = np.random.default_rng(4)
    base = rng.random(40)
    features = np.stack([base, base + rng.normal(0, 0.3, 40), rng.exponential(1, 40), np.ones(40)])
    suspected = 0
    for seed in range(200):
        drawn = np.random.default_rng(seed).choice(40, 12, replace=False)
        found = balance(features, drawn, shuffles=499)
        assert found is not None
        assert found.feature != 3
        suspected += found.p < 0.05
    assert 3 <= suspected <= 18  # 10 are expected


@pytest.mark.parametrize("judged", [0, 40])
def test_without_other_queries_there_is_no_balance(judged: int) -> None:
    assert balance(np.random.default_rng(0).random((2, 40)), np.arange(judged)) is None
    assert balance(np.ones((2, 40)), np.arange(10)) is None


def test_against_the_best_of_the_same_scores_p_allows_for_all_pairs(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = corrected_two(shared, tmp_path)
    asked.insert(5, str(shared / "dl19/runs/e5-unsupervised-retriever.trec.gz"))
    found = {}
    for baseline in ([], ["--baseline", "minilm-reranker"]):
        assert execute([*asked, *baseline]) == 0
        found[bool(baseline)] = json.loads(capsys.readouterr().out)["comparisons"]
    assert {row["family"] for row in found[False]} == {"may be best"}
    assert {row["family"] for row in found[True]} == {"baseline"}
    for row in found[False] + found[True]:
        is_told = row["verdict"] in ("better", "worse", "not the best")
        assert is_told == (row["p"] < 0.05)
        ends = row["corrected"]
        assert is_told == (ends["low"] > 0 or ends["high"] < 0)


@pytest.mark.sweep
def test_of_equal_systems_hardly_any_is_told_from_the_best(shared: Path) -> None:
    human, assessor = scores_of(shared, "gpt-4o", "nDCG@10")
    rng = np.random.default_rng(6)
    false = 0
    for seed in range(60):
        order = rng.permuted(np.tile(np.arange(11)[:, None], 43), axis=0)[:5]
        dealt = [np.take_along_axis(side, order, axis=0) for side in (human, assessor)]
        drawn = rng.choice(43, 30, replace=False)
        joint = Joint(dealt[0][:, drawn], dealt[1], Design(drawn, 43))
        false += any(verdict.is_told for _, verdict in joint.compared(None, seed))
    assert false <= 7  # 3 of 60 are expected, 8 with p .01


@pytest.mark.sweep
@pytest.mark.parametrize("judge", ["gpt-4o", "llama-3.1-8b"])
@pytest.mark.parametrize("measure", ["RR@10", "Success@1", "P@5"])
def test_intervals_hold_of_scores_that_pile_up_at_a_bound(
    shared: Path, judge: str, measure: str
) -> None:
    human, assessor = scores_of(shared, judge, measure)
    for labelled in (10, 20):
        found = simulate(human, assessor, labelled, draws=100, seed=1)
        assert found.covered["corrected"] > 0.92
        assert found.covered["human"] > 0.92
        assert found.empty == 0


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(WORLDS))
def test_intervals_hold_in_worlds_that_are_made_up(name: str) -> None:
    covered: dict[str, list[float]] = {}
    for seed in range(2000, 2025):
        human, assessor = made_up(WORLDS[name], 6, seed)
        for row, measure in enumerate(MADE):
            trial = simulate(human[row], assessor[row], 12, 1, seed)
            covered.setdefault(measure, []).append(trial.covered["corrected"])
    assert min(np.mean(shares) for shares in covered.values()) > 0.87  # of 25 samples
    assert np.mean([np.mean(shares) for shares in covered.values()]) > 0.93
