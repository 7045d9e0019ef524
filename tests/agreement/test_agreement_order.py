"""What disagreement does to the order of systems, who is kin to whom, and whom people resemble."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from every_row import every_row
from scipy import stats

from labeler.agreement.align import Rules, grade_matrix
from labeler.agreement.calibration import calibration
from labeler.agreement.compare import StatisticOptions, compare_labels
from labeler.agreement.differences import differences
from labeler.agreement.joint import JOINT, ceiling, query_coincidences
from labeler.agreement.statistics import find_statistic
from labeler.cli import execute
from labeler.collection.judged_set import Distributions
from labeler.data import Pair, Qrels, Run
from labeler.evaluation.inputs import families, kin_finding, kin_of
from labeler.evaluation.leaderboard import leaderboard_of
from labeler.evaluation.two_sided import two_qrels
from labeler.metrics import evaluate, parse
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels, write_run

GRADES = (0, 1, 2, 3)


def chorus(shared: Path) -> dict[str, Qrels]:
    (path,) = (shared / "mirror/o19s/chorus").glob("*/katas/*.csv")
    raters: dict[str, Qrels] = {}
    with path.open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            for name in ("agent_1", "agent_2", "agent_3", "final"):
                qrels = raters.setdefault(name, {}).setdefault(row["query"], {})
                qrels[row["docid"]] = int(row[f"{name}_rating"])
    return raters


def people_of_chorus(shared: Path) -> dict[str, Qrels]:
    return {name: qrels for name, qrels in chorus(shared).items() if name != "final"}


def test_alpha_of_three_raters_is_that_of_chorus(shared: Path) -> None:
    """alpha nominal .6426, ordinal .7695, interval .7707, computed with krippendorff 0.8."""
    found = grade_matrix(people_of_chorus(shared), GRADES)
    total = query_coincidences(found).sum(axis=0)
    assert total.sum() == 3 * 3188
    values = {name: float(JOINT[name](total, np.arange(4.0))) for name in JOINT}
    assert values["alpha-nominal"] == pytest.approx(0.6426, abs=5e-5)
    assert values["alpha-ordinal"] == pytest.approx(0.7695, abs=5e-5)
    assert values["alpha-interval"] == pytest.approx(0.7707, abs=5e-5)


def test_fleiss_kappa_of_three_raters_equals_statsmodels(shared: Path) -> None:
    from statsmodels.stats import inter_rater

    found = grade_matrix(people_of_chorus(shared), GRADES)
    counts, _ = inter_rater.aggregate_raters(found.values, n_cat=4)
    ours = JOINT["fleiss"](query_coincidences(found).sum(axis=0), np.arange(4.0))
    assert float(ours) == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


def test_alpha_with_missing_cells_is_krippendorffs_own_example() -> None:
    """Krippendorff (2011), example C: four observers, twelve units; nominal .743, interval .849."""
    rows = ["1 2 3 3 2 1 4 1 2 * * *", "1 2 3 3 2 2 4 1 2 5 * 3"]
    rows += ["* 3 3 3 2 3 4 2 2 5 1 *", "1 2 3 3 2 4 4 1 2 5 1 *"]
    raters = {
        f"observer{i}": {"q": {f"unit{j}": int(x) for j, x in enumerate(row.split()) if x != "*"}}
        for i, row in enumerate(rows)
    }
    total = query_coincidences(grade_matrix(raters, (1, 2, 3, 4, 5))).sum(axis=0)
    grades = np.arange(1.0, 6.0)
    assert float(JOINT["alpha-nominal"](total, grades)) == pytest.approx(0.743, abs=5e-4)
    assert float(JOINT["alpha-ordinal"](total, grades)) == pytest.approx(0.815, abs=5e-4)
    assert float(JOINT["alpha-interval"](total, grades)) == pytest.approx(0.849, abs=5e-4)


def test_a_rater_of_chorus_is_as_good_as_a_colleague_and_a_coin_is_not(shared: Path) -> None:
    people = people_of_chorus(shared)
    rng = np.random.default_rng(0)
    third = people.pop("agent_3")
    coin = {q: {d: int(rng.integers(0, 4)) for d in row} for q, row in third.items()}
    chosen = find_statistic("kappa-quadratic", GRADES)
    for assessor, verdict in ((third, "as good as a colleague"), (coin, "not as good")):
        found = ceiling(
            grade_matrix({**people, "x": assessor}, GRADES),
            "x",
            chosen,
            StatisticOptions(draws=300),
        )
        assert found.pairs == 3188
        assert verdict in found.verdict


def test_a_ceiling_that_tells_nothing_says_how_far_off_it_may_be(shared: Path) -> None:
    people = people_of_chorus(shared)
    found = grade_matrix(people, GRADES)
    third = ceiling(found, "agent_3", find_statistic("kappa-quadratic", GRADES), StatisticOptions())
    assert third.verdict.endswith(
        "cannot be told: its difference may be anything from -0.09 to 0.01"
    )


def test_the_ceiling_is_the_mean_over_everybody_left_out(shared: Path) -> None:
    raters = chorus(shared)
    chosen = find_statistic("kappa", GRADES)
    found = ceiling(grade_matrix(raters, GRADES), "final", chosen, StatisticOptions(draws=100))

    def kappa(a: str, b: str) -> float:
        value = (
            compare_labels(raters[a], raters[b], None, StatisticOptions(("kappa",), draws=100))
            .statistics["kappa"]
            .value
        )
        assert value is not None
        return value

    first = found.people[0]
    assert first.persons == pytest.approx(
        (kappa("agent_1", "agent_2") + kappa("agent_1", "agent_3")) / 2
    )
    assert first.assessors == pytest.approx(
        (kappa("agent_2", "final") + kappa("agent_3", "final")) / 2
    )
    assert found.overall.persons == pytest.approx(np.mean([row.persons for row in found.people]))


def toy(queries: int = 30, seed: int = 0) -> tuple[Qrels, Qrels, dict[str, Run]]:
    """People; an assessor that adds a grade to whatever `gpt-ranker` puts first; three runs."""
    rng = np.random.default_rng(seed)
    people: Qrels = {}
    runs: dict[str, Run] = {"gpt-ranker": {}, "bm25": {}, "other": {}}
    for q in range(queries):
        grades = {f"d{d}": int(rng.integers(0, 3)) for d in range(20)}
        people[f"q{q}"] = grades
        for name, noise in (("gpt-ranker", 1.0), ("bm25", 0.8), ("other", 1.2)):
            scores = {d: g + float(rng.normal(0, noise)) for d, g in grades.items()}
            runs[name][f"q{q}"] = scores
    other = {
        q: {
            d: 3 if d in sorted(runs["gpt-ranker"][q], key=runs["gpt-ranker"][q].get)[-5:] else g
            for d, g in row.items()
        }
        for q, row in people.items()
    }
    return people, other, runs


def test_a_leaderboard_has_the_means_that_evaluate_gives() -> None:
    people, other, runs = toy()
    board = leaderboard_of(two_qrels(people, other), runs, parse("nDCG@10"))
    assert board is not None
    for system in board.systems:
        for qrels, mean in ((people, system.first), (other, system.second)):
            ours = evaluate(qrels, runs[system.run], ["nDCG@10"]).means()["nDCG@10"]
            assert mean == pytest.approx(ours)
    ours, theirs = zip(*((s.first, s.second) for s in board.systems), strict=True)
    assert board.statistics["tau_b"].value == pytest.approx(
        stats.kendalltau(ours, theirs).statistic
    )


def test_a_leaderboard_names_the_kin_of_the_assessor() -> None:
    people, other, runs = toy()
    kin = kin_of(list(runs), {"other": "claude-3"}, {"assessor": "gpt-4o"})
    board = leaderboard_of(two_qrels(people, other), runs, parse("nDCG@10"), kin=kin)
    assert board is not None
    (found,) = board.kin
    assert (found.run, found.families) == ("gpt-ranker", ("GPT",))
    assert found.ties == (("assessor", "gpt-4o"),)
    (warning,) = kin_finding(board.kin)
    assert str(warning).endswith("grades can show")
    assert kin_of(list(runs), {}, {"assessor": "mistral-large"}) == []


@every_row(
    ("name", "family"),
    [
        ("gpt-4o-2024-08-06", {"GPT"}),
        ("meta-llama/Llama-3.1-8B", {"Llama"}),
        ("ollama", set()),
        ("o3-mini", {"GPT"}),
        ("solo3", set()),
        ("wordllama", {"WordLlama"}),
        ("similarity@2", {"MiniLM", "BM25"}),
        ("Qwen2.5-Coder-0.5B", {"Qwen"}),
        ("gemma-3", {"Gemini or Gemma"}),
        ("monot5-base", {"T5"}),
        ("hybrid", set()),
        ("llama-3-8b-gptq", {"Llama"}),
        ("rankgpt", {"GPT"}),
        ("glm-4-plus", {"GLM"}),
        ("test5", set()),
        ("bge-base-retriever", {"BGE"}),
        ("rank_zephyr_7b", {"Mistral"}),
        ("RankZephyrRho", {"Mistral"}),
        ("codestral-22b", {"Mistral"}),
        ("SFR-Embedding-2_R", {"Mistral"}),
        ("nvidia/NV-Embed-v2", {"Mistral"}),
        ("e5-mistral-7b-instruct", {"Mistral"}),
        ("e5-large-v2", set()),
        ("sonnet-3.5", {"Claude"}),
        ("anthropic/claude-3-opus", {"Claude"}),
        ("haiku-rerank", {"Claude"}),
        ("Nous-Hermes-2", {"Llama"}),
        ("alpaca-lora", {"Llama"}),
        ("rank_vicuna_7b", {"Llama"}),
        ("RepLLaMA", {"Llama"}),
        ("text-embedding-3-large", {"GPT"}),
        ("text_embedding_ada_002", {"GPT"}),
        ("part5-bm25", {"BM25"}),
        ("part5-run", set()),
        ("setT5x", set()),
        ("mt5-base", {"T5"}),
        ("flan-t5-xl", {"T5"}),
        ("phi-4", {"Phi"}),
        ("phi", set()),
        ("opusculum", set()),
    ],
)
def test_families_are_read_from_names(name: str, family: set[str]) -> None:
    assert families(name) == family


def with_card(folder: Path, card: dict[str, object]) -> Path:
    """The toy world as a collection without judgements, and its card."""
    people, other, runs = toy()
    for name, qrels in (("human", people), ("judge1", other)):
        write_qrels(folder / f"qrels/{name}.qrels", qrels)
    for place, (name, tag) in enumerate(zip(runs, ("rerank-gpt-4.1", "b", "c"), strict=True)):
        write_run(folder / f"runs/r{place}.trec", runs[name], tag)
    (folder / "card.json").write_text(json.dumps(card))
    return folder


@pytest.mark.parametrize(
    ("card", "said"),
    [
        ({"judge": {"judge1": {"model": "gpt-4o"}}}, "circular: r0 and the assessor gpt-4o"),
        (
            {"judge": {"judge1": {"model": "claude-3", "served": ["claude-3", "gpt-4o"]}}},
            "circular: r0 and the assessor claude-3, gpt-4o",
        ),
        (
            {"judge": {"judge1": {"model": "https://api.example.org/v1 gpt-4o"}}},
            "circular: r0 and the assessor gpt-4o are both",
        ),
        (
            {"judge": {"judge1": {"model": f"gguf {'4f' * 32} llama 9", "served": ["gpt-2"]}}},
            "circular: r0 and the assessor gguf 4f4f4f4f, gpt-2 are both",
        ),
        (
            {
                "judge": {"judge1": {"model": "o3-mini"}},
                "pool": {"runs": {"r1": "text-embedding-3-large"}},
            },
            "circular: r0 (GPT) and r1 (GPT) are kin to the assessor o3-mini",
        ),
        ({"generate": {"model": "gpt-4.1"}}, "circular: r0 and the query writer gpt-4.1"),
        ({"judge": "x", "pool": {"runs": ["r1"]}, "generate": 3}, ""),
    ],
)
def test_models_that_only_the_card_names_are_kin_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], card: dict[str, object], said: str
) -> None:
    coll = with_card(tmp_path / "c", card)
    assert execute(["agree", str(coll), "human", "judge1", "-s", "agreement", "--json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    circular = [warning for warning in warnings if warning.startswith("circular")]
    assert any(warning.startswith(said) for warning in circular) if said else not circular


def test_the_paired_difference_is_surer_than_two_intervals() -> None:
    people, _, _ = toy()
    rng = np.random.default_rng(1)
    keep = {q: rng.beta(2, 1) for q in people}
    other = {
        q: {d: g if rng.random() < keep[q] else int(rng.integers(0, 3)) for d, g in row.items()}
        for q, row in people.items()
    }
    worse = {
        q: {d: g if rng.random() < 0.9 else 0 for d, g in row.items()} for q, row in other.items()
    }
    options = StatisticOptions(("kappa", "mae", "bias"), draws=300)
    rules = Rules(scale=GRADES)
    a, b = (compare_labels(people, labels, rules, options) for labels in (other, worse))
    chosen = [find_statistic(name, a.scale) for name in options.names or ()]
    kappa, mae, bias = differences(a.paired, b.paired, chosen, options)
    assert kappa.value == pytest.approx(a.statistics["kappa"].value - b.statistics["kappa"].value)
    assert kappa.verdict == "first is closer"
    widths = [x.statistics["kappa"].high - x.statistics["kappa"].low for x in (a, b)]
    assert kappa.high - kappa.low < 0.7 * np.hypot(*widths)
    assert mae.value is not None
    assert mae.value < 0
    assert mae.verdict == "first is closer"
    assert bias.verdict == "first is higher"
    same = differences(a.paired, a.paired, chosen, options)
    assert {d.verdict for d in same} == {"cannot tell apart"}


def test_calibration_equals_scikit_learns() -> None:
    from sklearn import metrics

    people, _, _ = toy()
    rng = np.random.default_rng(5)
    shares = {
        Pair(q, d): {0: 1 - p, 2: p}
        for q, row in people.items()
        for d, p in zip(row, rng.random(len(row)), strict=True)
    }
    (one,) = calibration(people, Distributions.of_pairs(shares), [1])
    true = [int(people[pair.query_id][pair.doc_id] >= 1) for pair in shares]
    said = [row[2] for row in shares.values()]
    assert one.brier == pytest.approx(metrics.brier_score_loss(true, said))
    assert sum(b.pairs for b in one.bins) == len(true)
    assert one.plain_error == pytest.approx(
        sum(b.pairs * abs(b.probability - b.true) for b in one.bins) / len(true)
    )


def with_distributions(folder: Path) -> tuple[Path, list[dict[int, float]]]:
    """A collection of which people graded 200 pairs, and an assessor's distributions over them."""
    rng = np.random.default_rng(8)
    shares: list[dict[int, float]] = []
    people: Qrels = {}
    other: Qrels = {}
    (folder / "judgements").mkdir(parents=True)
    (folder / "qrels").mkdir()
    with (folder / "judgements/llm.jsonl").open("w", encoding="utf-8") as lines:
        for i in range(200):
            q, d, chances = f"q{i // 10:02}", f"d{i:03}", rng.dirichlet([2, 1, 1, 1])
            shares.append(dict(enumerate(map(float, chances))))
            grade = int(np.argmax(chances))
            people.setdefault(q, {})[d] = int(rng.choice(4, p=chances))
            other.setdefault(q, {})[d] = grade
            row = {"query_id": q, "doc_id": d, "grade": grade, "status": "judged"}
            row |= {"reason": None, "distribution": {str(g): c for g, c in shares[-1].items()}}
            row |= {"attempts": 1, "prompt_tokens": 1, "completion_tokens": 1, "cost": None}
            row |= {"model": "m", "prompt": "p@1", "asked": "m", "parameters": {}}
            lines.write(json.dumps(row) + "\n")
    write_qrels(folder / "qrels/human.qrels", people)
    write_qrels(folder / "qrels/llm.qrels", other)
    return folder, shares


@pytest.mark.parametrize(
    ("option", "cuts", "mapped"),
    [
        ([], [1, 2, 3], {}),
        (["--cut", "2"], [2], {}),
        (["--map-assessor", "0=3,1=2,2=1,3=0"], [1, 2, 3], {0: 3, 1: 2, 2: 1, 3: 0}),
        (["--map-human", "1=0"], [2, 3], {}),
    ],
)
def test_calibration_follows_cuts_and_maps(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    option: list[str],
    cuts: list[int],
    mapped: dict[int, int],
) -> None:
    folder, shares = with_distributions(tmp_path / "c")
    people = read_qrels(folder / "qrels/human.qrels")
    true = [grade for row in people.values() for grade in row.values()]
    given = ["-s", "kappa", "--json", "--details", *option]
    assert execute(["agree", str(folder), "human", "llm", *given]) == 0
    found = json.loads(capsys.readouterr().out)["details"]["calibration"]
    assert [one["cut"] for one in found] == cuts
    for one in found:
        cut = one["cut"]
        said = [sum(c for g, c in row.items() if mapped.get(g, g) >= cut) for row in shares]
        errors = [(s - (t >= cut)) ** 2 for s, t in zip(said, true, strict=True)]
        assert one["brier"] == pytest.approx(np.mean(errors))
        places = np.minimum((np.array(said) * 10).astype(int), 9)
        off = [
            abs(np.sum((np.array(said) - (np.array(true) >= cut))[places == b])) for b in range(10)
        ]
        assert one["plain_error"] == pytest.approx(sum(off) / len(true))


def test_calibration_of_sampled_pairs_is_weighted_back() -> None:
    people = {"q": {"a": 1, "b": 0}}
    shares = {Pair("q", "a"): {0: 0.4, 1: 0.6}, Pair("q", "b"): {0: 0.9, 1: 0.1}}
    of = Distributions.of_pairs(shares)
    (alone,) = calibration(people, of, [1])
    (found,) = calibration(people, of, [1], {Pair("q", "a"): 9.0, Pair("q", "b"): 1.0})
    assert alone.brier == pytest.approx((0.16 + 0.01) / 2)
    assert found.brier == pytest.approx((9 * 0.16 + 0.01) / 10)
    assert found.plain_error == pytest.approx((9 * 0.4 + 0.1) / 10)
    assert found.pairs == 2


def test_joint_alpha_is_of_all_pairs_that_two_graded_whoever_comes_first(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    files = []
    holed = {}
    for name, qrels in people_of_chorus(shared).items():
        holed[name] = {
            q.replace(" ", "_"): {d: g for d, g in row.items() if rng.random() < 0.6}
            for q, row in qrels.items()
        }
        files.append(tmp_path / f"{name}.qrels")
        write_qrels(files[-1], holed[name])
    expected = query_coincidences(grade_matrix(holed, GRADES)).sum(axis=0)
    values = []
    for order in ((0, 1, 2), (2, 0, 1)):
        first, *more = [str(files[place]) for place in order]
        people = [part for name in more for part in ("--human", name)]
        write_qrels(
            tmp_path / "llm.qrels", {q: dict.fromkeys(r, 0) for q, r in holed[name].items()}
        )
        given = [first, str(tmp_path / "llm.qrels"), *people]
        assert execute(["agree", *given, "-s", "kappa", "--draws", "100", "--json"]) == 0
        joint = json.loads(capsys.readouterr().out)["joint"]
        assert set(joint["raters"]) == set(map(str, files))
        values.append(joint["statistics"]["alpha-nominal"]["value"])
    alpha = float(JOINT["alpha-nominal"](expected, np.arange(4.0)))
    assert values == [pytest.approx(alpha), pytest.approx(alpha)]


def test_a_gate_holds_the_value_or_the_low_end_and_fails_with_five(
    tmp_path: Path, shared: Path
) -> None:
    files = [str(shared / "dl19" / name) for name in ("nist.qrels", "gpt-4o.qrels")]
    assert execute(["agree", *files, "-s", "kappa", "--require-low", "kappa:0.25"]) == 0
    assert execute(["agree", *files, "-s", "kappa", "--require-low", "kappa:0.33"]) == 6
    assert execute(["agree", *files, "-s", "kappa", "--require-low", "kappa:0.5"]) == 5
    assert execute(["agree", *files, "--require", "kappa:0.33"]) == 0
    assert execute(["agree", *files, "-s", "kappa", "--require", "mae:0.9"]) == 0
    assert execute(["agree", *files, "-s", "kappa", "--require", "mae:0.1"]) == 5
    assert execute(["agree", *files, "--require", "kappa"]) == 2


def test_where_there_is_no_interval_a_gate_on_how_far_off_a_value_is_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "human.qrels", tmp_path / "llm.qrels"]
    for more, path in enumerate(files):  # of one query
        path.write_text("".join(f"q 0 d{n} {min(n % 4 + more, 3)}\n" for n in range(12)))
    command = ["agree", *map(str, files), "-s", "bias"]
    assert execute([*command, "--require", "bias:0.8"]) == 0
    assert execute([*command, "--require", "bias:0.7"]) == 5
    assert "bias is 0.7500, above 0.7" in capsys.readouterr().err
    assert execute([*command, "--require-low", "bias:2"]) == 5
    assert "bias has no interval to hold against 2" in capsys.readouterr().err


@pytest.mark.parametrize("gate", ["kapa:0.5", "kappa:high", "kappa>=7:0.1"])
def test_a_gate_that_cannot_be_meant_fails_before_anything_is_computed(
    shared: Path, capsys: pytest.CaptureFixture[str], gate: str
) -> None:
    files = [str(shared / "dl19" / name) for name in ("nist.qrels", "gpt-4o.qrels")]
    assert execute(["agree", *files, "--require", gate]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert gate.partition(":")[0] in shown.err


def test_the_command_shows_order_beside_labels(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    files = [str(folder / "nist.qrels"), str(folder / "gpt-4o.qrels")]
    assert (
        execute(["agree", *files, "--run", str(folder / "runs"), "-s", "kappa", "--details"]) == 0
    )
    said = capsys.readouterr().out
    assert "same grade" in said or "people's grade to 56 of 100 pairs" in said
    assert "orders 11 systems" in said
    assert execute(["agree", *files, "--run", str(folder / "runs"), "-s", "kappa", "--json"]) == 0
    board = json.loads(capsys.readouterr().out)["leaderboard"]
    assert len(board["runs"]) == 11
    assert board["statistics"]["tau_b"]["value"] == pytest.approx(0.854545, abs=1e-6)


def test_the_interval_of_a_difference_leaves_no_values_that_two_could_not_have() -> None:
    people = {"q1": {"a": 0, "b": 1}, "q2": {"a": 0, "b": 1}}
    wrong = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}
    options = StatisticOptions(("kappa",), draws=100)
    a, b = (compare_labels(people, of, Rules(scale=(0, 1)), options) for of in (people, wrong))
    (kappa,) = differences(a.paired, b.paired, [find_statistic("kappa", a.scale)], options)
    assert (kappa.value, kappa.low, kappa.high) == (1.0, -2.0, 2.0)
    assert kappa.verdict == "cannot tell apart"
