"""Cascades: who decides which pair in made worlds, what that saves and loses, and failures."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

import labeler
from labeler.agreement.align import UNGRADED, GradeMatrix
from labeler.agreement.statistics import find_statistic
from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Failure, Pair, Pooled, Qrels, Query
from labeler.errors import BudgetReached, Misuse
from labeler.judging.judge import JudgeOptions
from labeler.lab.cascade import CascadeOptions, CascadeResult, cascade
from labeler.lab.thresholds import CascadePairs, Doubts, agreement_of, candidates
from labeler.model import Reply, Request
from labeler.models.settings import Limits
from labeler.report.table import Interval
from labeler.testing import fake_model
from labeler.trec.pairs import PairColumns
from labeler.trec.write import write_qrels

QUERIES, DOCS = 12, 10
UNSURE = 3
"""Of each query's documents the first three are hard: the cheap model gives them a grade by chance,
with a distribution that says so. The strong one and people agree on all."""


def truth(query: int, document: int) -> int:
    return (query + document) % 2


def cheap_grade(query: int, document: int) -> int:
    """Wrong on two of the three hard documents."""
    wrong = document < UNSURE and document != query % UNSURE
    return 1 - truth(query, document) if wrong else truth(query, document)


def numbers(request: Request) -> tuple[int, int]:
    """Which query and document a request is about, as their texts say."""
    query, text = (str(request.inputs[name]) for name in ("query", "text"))
    return int(query.removeprefix("query-")), int(text.removeprefix("text-"))


class Asked:
    """A model that counts whom it was asked about."""

    def __init__(self, failing: set[tuple[int, int]] = frozenset()) -> None:  # type: ignore[assignment]
        self.counts: Counter[tuple[int, int]] = Counter()
        self._failing = failing

    def __call__(self, request: Request) -> Reply:
        pair = numbers(request)
        self.counts[pair] += 1
        if pair in self._failing:
            return Reply("I cannot say", model="strong", prompt_tokens=100, completion_tokens=1)
        text = json.dumps({"grade": truth(*pair)})
        return Reply(text, model="strong", prompt_tokens=99, completion_tokens=1)


@pytest.fixture
def collection(tmp_path: Path, judged: Path) -> Collection:
    """A copy of the judged collection."""
    return Collection(copytree(judged, tmp_path / "coll"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool that a cheap model judged; people graded the first eight queries."""
    made = Collection(tmp_path_factory.mktemp("judged") / "coll")
    made.folder.mkdir()
    pairs = [(q, d) for q in range(QUERIES) for d in range(DOCS)]
    with locked(made):
        write_corpus(made.corpus, [Document(f"d{d}", f"text-{d}") for d in range(DOCS)])
        write_queries(made.queries, [Query(f"q{q}", f"query-{q}") for q in range(QUERIES)])
        write_pool(made.pool, [Pooled(Pair(f"q{q}", f"d{d}")) for q, d in pairs])
        human: Qrels = {f"q{q}": {f"d{d}": truth(q, d) for d in range(DOCS)} for q in range(8)}
        write_qrels(made.qrels("human"), human)
    for name, other in (("cheap", False), ("second", True)):

        def answer(request: Request, other: bool = other) -> Reply:
            query, document = numbers(request)
            grade = cheap_grade(query, document)
            grade = 1 - grade if other and document < UNSURE else grade
            text = json.dumps({"grade": grade})
            return Reply(text, model="cheap", prompt_tokens=9, completion_tokens=1)

        labeler.judge(made, model=fake_model(answer, name), name=name)
    return made.folder


def strong(asked: Asked, **settings: object) -> JudgeOptions:
    return JudgeOptions(model=fake_model(asked, "strong"), **settings)  # type: ignore[arg-type]


def decided(collection: Collection, name: str) -> dict[Pair, str]:
    rows = map(json.loads, collection.judgements(name).read_text().splitlines())
    return {Pair(row["query_id"], row["doc_id"]): row["decided"] for row in rows}


def made_cascade(collection: Collection, asked: Asked, **options: object) -> CascadeResult:
    judging = options.pop("judging", None) or strong(asked)
    settings = CascadeOptions("both", judging=judging, **options)  # type: ignore[arg-type]
    return cascade(collection, "cheap", "second", options=settings)


def test_the_strong_model_decides_what_the_cheap_one_is_unsure_of_and_no_more(
    collection: Collection,
) -> None:
    asked = Asked()
    result = made_cascade(collection, asked)
    hard = {Pair(f"q{q}", f"d{d}") for q in range(QUERIES) for d in range(UNSURE)}
    assert result.sent == hard
    by = decided(collection, "both")
    assert {pair for pair, name in by.items() if name == "both-strong"} == hard
    assert {row.judged.outcome for row in read_judgements(collection.judgements("both"))}
    grades = labeler.read_qrels(collection.qrels("both"))
    assert grades == {f"q{q}": {f"d{d}": truth(q, d) for d in range(DOCS)} for q in range(QUERIES)}


def test_the_saving_is_exactly_that_of_the_calls_that_were_not_made(collection: Collection) -> None:
    """Two cheap sets of 10 tokens a pair, strong 100: 2 * 10 + 0.3 * 100 is half of 100."""
    asked = Asked()
    result = made_cascade(collection, asked)
    assert result.unit == "tokens"
    assert result.check.saving.value == pytest.approx(0.5)
    assert result.check.loss.value == pytest.approx(0.0)
    assert result.check.cheap.value == pytest.approx(1 - 2 * 0.2, abs=0.05)
    # people's 80 pairs, to choose the threshold, and the hard ones of the other four queries
    assert sum(asked.counts.values()) == 80 + 4 * UNSURE
    assert set(asked.counts.values()) == {1}
    assert result.calls == 80 + 4 * UNSURE


def test_both_models_replies_are_kept_and_the_provenance_names_both(collection: Collection) -> None:
    asked = Asked()
    made_cascade(collection, asked)
    made_cascade(collection, asked)
    assert set(asked.counts.values()) == {1}
    row = next(iter(read_judgements(collection.judgements("both"))))
    assert set(row.origin.members) == {"cheap", "both-strong"}
    assert set(row.members) == {"cheap", "both-strong"}
    card = json.loads(collection.card.read_text())["judge"]["both"]
    assert set(card["members"]) == {"cheap", "both-strong"}
    assert card["parameters"]["rule"] == "cascade"
    assert (card["sent"], card["parameters"]["people"]) == (QUERIES * UNSURE, "human")


def test_what_the_cheap_model_failed_on_goes_to_the_strong_one(collection: Collection) -> None:
    path = collection.judgements("cheap")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if row["doc_id"] == "d9":
            row.update(grade=None, status="unparsable", detail="")
            row.pop("reason")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    kept = [row for row in rows if row["grade"] is not None]
    qrels: Qrels = {}
    for row in kept:
        qrels.setdefault(row["query_id"], {})[row["doc_id"]] = row["grade"]
    with locked(collection):
        write_qrels(collection.qrels("cheap"), qrels)
    result = made_cascade(collection, Asked())
    assert {pair.doc_id for pair in result.sent} == {"d0", "d1", "d2", "d9"}
    assert len(labeler.read_qrels(collection.qrels("both"))["q0"]) == DOCS


def test_what_the_strong_model_fails_on_is_a_failure(collection: Collection) -> None:
    asked = Asked(failing={(0, 0), (9, 1), (0, 8)})
    result = made_cascade(collection, asked)
    assert result.failures == 2
    outcomes = {
        row.judged.outcome.pair: row.judged.outcome
        for row in read_judgements(collection.judgements("both"))
    }
    assert isinstance(outcomes[Pair("q9", "d1")], Failure)
    # the cheap grade stands where it was sure, though the strong one failed there
    assert not isinstance(outcomes[Pair("q0", "d8")], Failure)
    assert "d0" not in labeler.read_qrels(collection.qrels("both"))["q0"]
    assert any("2 of people's pairs have no grade" in str(f) for f in result.findings)


def test_doubt_is_learned_from_people_where_there_are_no_distributions(
    collection: Collection,
) -> None:
    """One set of plain grades: which grade it gave is all that tells of doubt."""
    options = CascadeOptions("one", judging=strong(Asked()))
    result = cascade(collection, "cheap", options=options)
    assert result.by == "doubt"
    assert result.check.loss.value <= 0.2


def test_without_people_it_is_refused_before_any_call(collection: Collection) -> None:
    collection.qrels("human").unlink()
    asked = Asked()
    with pytest.raises(Misuse, match="there are none; next: labeler people sample"):
        made_cascade(collection, asked)
    assert not asked.counts


def test_what_further_cheap_sets_took_is_no_saving(collection: Collection) -> None:
    result = made_cascade(collection, Asked())
    assert result.check.saving.value == pytest.approx(1 - 0.3 - 2 * 0.1)
    dear = replace(result, check=replace(result.check, saving=Interval(-0.2, -0.3, -0.1)))
    saves = "It saves -20% [-30%, -10%] of what the strong assessor alone takes in tokens."
    assert saves in dear.sentences[1]


@pytest.mark.parametrize(
    ("names", "settings", "problem"),
    [
        (("cheap", "cheap"), {}, "cheap is named twice"),
        (("cheap", "second"), {"statistic": "kapa"}, "no statistic 'kapa'"),
        (("cheap", "second"), {"statistic": "kappa>=7"}, "cannot cut at 7"),
    ],
)
def test_what_cannot_be_reckoned_is_refused_before_any_call(
    collection: Collection, names: tuple[str, ...], settings: dict[str, str], problem: str
) -> None:
    asked = Asked()
    options = CascadeOptions("x", judging=strong(asked), **settings)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=problem):
        cascade(collection, *names, options=options)
    assert not asked.counts


def test_a_budget_that_is_reached_leaves_no_half_made_cascade(collection: Collection) -> None:
    asked = Asked()
    with pytest.raises(BudgetReached):
        made_cascade(collection, asked, judging=strong(asked, limits=Limits(max_calls=40)))
    assert not collection.judgements("both").exists()
    result = made_cascade(collection, asked)
    assert set(asked.counts.values()) == {1}
    assert len(result.sent) == QUERIES * UNSURE


def test_a_name_that_holds_something_else_is_refused_before_any_call(
    collection: Collection,
) -> None:
    asked = Asked()
    for name in ("cheap", "second", "human"):
        with pytest.raises(Misuse):
            cascade(collection, "cheap", options=CascadeOptions(name, judging=strong(asked)))
    assert not asked.counts


AGREEMENT = agreement_of(find_statistic("agreement", (0, 1)))


def made_pairs(queries: int = 40, seed: int = 0) -> tuple[CascadePairs, np.ndarray]:
    """A cheap assessor that errs as often as its doubt says, and a strong one that never does."""
    rng = np.random.default_rng(seed)
    size = queries * 20
    doubt = np.round(rng.random(size), 2)
    human = rng.integers(0, 2, size)
    cheap = np.where(rng.random(size) < doubt / 2, 1 - human, human)
    cost = np.tile([1.0, 10.0], (size, 1))
    query = np.repeat(np.arange(queries), 20)
    rows = PairColumns.of_pairs(
        {Pair(f"q{q}", f"d{n}"): 0 for n, q in enumerate(query.tolist())}, np.int64
    )
    values = np.stack([human, cheap, human], axis=1)
    matrix = GradeMatrix(("people", "cheap", "strong"), (0, 1), rows, values)
    return CascadePairs(matrix, query, cost, AGREEMENT), doubt


def test_the_threshold_is_the_one_that_loses_what_may_be_lost() -> None:
    """Below a doubt of t, t^2 / 4 of all pairs are wrong: a loss of .04 allows t = .4."""
    pairs, doubt = made_pairs(400)
    rows = np.ones(len(doubt), dtype=bool)
    threshold = pairs.threshold_for(rows, Doubts(doubt, doubt), 0.04)
    assert threshold == pytest.approx(0.4, abs=0.06)
    nothing = pairs.threshold_for(rows, Doubts(doubt, doubt), 0.0)
    assert nothing <= 0.06
    everything = pairs.threshold_for(rows, Doubts(doubt, doubt), 1.0)
    assert everything == np.inf


def test_more_than_the_tolerance_is_rarely_lost() -> None:
    """Of few people's pairs: a doubt of t loses t^2 / 4 of all pairs, and .01 allows t = .2."""
    lost = []
    for seed in range(60):
        pairs, doubt = made_pairs(10, seed)
        rows = np.ones(len(doubt), dtype=bool)
        lost.append(pairs.threshold_for(rows, Doubts(doubt, doubt), 0.01) ** 2 / 4)
    # binomial(60, .05): 3 expected, standard deviation 1.7
    assert sum(loss > 0.01 for loss in lost) <= 3 + 3 * 1.7


def test_the_loss_is_checked_on_queries_that_the_threshold_was_not_chosen_on() -> None:
    pairs, doubt = made_pairs(60)
    sent = np.zeros(len(doubt), dtype=bool)
    for rows in (pairs.query % 5 == fold for fold in range(5)):
        sent[rows] = doubt[rows] >= pairs.threshold_for(~rows, Doubts(doubt, doubt), 0.04)
    checked = pairs.check(sent, sent)
    assert checked.loss.low is not None
    assert checked.loss.high is not None
    assert checked.loss.low < 0.04 < checked.loss.high + 0.02
    assert checked.saving.value == pytest.approx(1 - (1 + 10 * sent.mean()) / 10)


def test_a_pair_without_a_cheap_grade_counts_as_sent() -> None:
    pairs, doubt = made_pairs(10)
    values = pairs.matrix.values.copy()
    values[:50, 1] = UNGRADED
    lacking = replace(pairs, matrix=replace(pairs.matrix, values=values))
    nothing = np.zeros(len(doubt), dtype=bool)
    checked = lacking.check(nothing, nothing)
    assert checked.saving.value == pytest.approx(1 - (1 + 10 * 0.25) / 10)
    assert len(candidates(np.zeros(0))) == 1


def test_the_command_says_what_it_would_ask_and_then_does(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["lab", "cascade", str(collection.folder), "cheap", "second", "--model", "similarity"]
    assert execute([*words, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["threshold"]["pairs"], plan["whole"]["pairs"]) == (80, 120)
    assert execute([*words, "--as", "both", "--quiet", "--json"]) in {0, 3}
    told = json.loads(capsys.readouterr().out)
    assert told["strong"] == "both-strong"
    assert told["pairs"] == 120
