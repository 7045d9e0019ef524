"""Labels for a collection: what judging its pool gives, as judgements and as qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labeler import __version__
from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import read_corpus
from labeler.collection.judgements import Origin, Rows, grades_of, origin_of, read_judgements
from labeler.collection.layout import Collection, check_name, safe_name
from labeler.collection.pool import PoolPairs, pool_pairs
from labeler.collection.queries import read_queries
from labeler.collection.readme import write_readme
from labeler.data import FAILURES, Failure, Judged, Pair
from labeler.errors import BudgetReached, Misuse
from labeler.files.atomic import replacing
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.judge import Pace, judge
from labeler.trec.sorted_qrels import write_sorted_qrels

EXAMPLES = 3


@dataclass(slots=True)
class Tally:
    """Counts of the labels `name`; `judged` and all `failures` add up to the pairs that are done.

    `examples` holds the first pairs of each kind of failure; `models` the names that the server
    gave in this run, `served` those of all replies; `stopped` is what ended it before all pairs
    were done.
    """

    name: str = ""
    pairs: int = 0
    judged: int = 0
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    examples: dict[str, list[tuple[Pair, str]]] = field(
        default_factory=lambda: {status: [] for status in FAILURES}
    )
    models: dict[str, None] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    remembered: int = 0
    shared: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stopped: BudgetReached | None = None

    def add(self, judged: Judged) -> None:
        """Count one pair."""
        self.pairs += 1
        if isinstance(judged.outcome, Failure):
            outcome = judged.outcome
            self.failures[outcome.status] += 1
            if len(self.examples[outcome.status]) < EXAMPLES:
                self.examples[outcome.status].append((outcome.pair, outcome.detail))
        else:
            self.judged += 1
        self.remembered += judged.remembered
        self.shared += judged.shared
        self.served.add(judged.model)
        if judged.model and not judged.remembered:
            self.models[judged.model] = None
        self.prompt_tokens += judged.prompt_tokens
        self.completion_tokens += judged.completion_tokens

    @property
    def failed(self) -> int:
        """Pairs that have no label."""
        return self.pairs - self.judged


def label_name(assessor_prompt: str, model: str) -> str:
    """The name that a set of labels gets when none is given: PROMPT-MODEL."""
    return safe_name(f"{assessor_prompt}-{model}")


def origin(assessor: Assessor) -> Origin:
    """What distinguishes one set of labels from another."""
    return Origin(assessor.prompt.id, assessor.model.id, assessor.asked_with)


def check_free(collection: Collection, name: str, assessor: Assessor) -> None:
    """Raise `Misuse` where `name` holds labels that something else made."""
    check_name(name)
    path = collection.judgements(name)
    there, here = origin_of(path), origin(assessor)
    if there is None:
        if collection.qrels(name).exists():
            raise Misuse(f"{collection.qrels(name)} holds labels from elsewhere; give another --as")
        return
    for what in ("prompt", "model", "parameters"):
        old, new = getattr(there, what), getattr(here, what)
        if old != new:
            raise Misuse(f"{path} was made with {what} {old}, not {new}; give another --as")


def texts_of(collection: Collection) -> Texts:
    """The queries and documents of a collection."""
    return Texts(read_queries(collection.queries), read_corpus(collection.corpus))


def pairs_of(collection: Collection, texts: Texts) -> PoolPairs:
    """The pairs of the pool, in its order; `BadInput` where one names a text that is not there."""
    return pool_pairs(collection.pool, texts.queries, texts.documents)


Pairs = Sequence[Pair] | PoolPairs
"""Pairs that can be counted and gone through more than once."""


class Job(NamedTuple):
    """A set of labels to make: where, under which name, of which pairs and texts."""

    collection: Collection
    name: str
    pairs: Pairs
    texts: Texts


async def judge_collection(job: Job, assessor: Assessor, pace: Pace) -> Tally:
    """Judge pairs of a collection; write `judgements/NAME.jsonl` and `qrels/NAME.qrels`.

    Both are written when all pairs are done or the budget is reached, the qrels from the judgements
    as they read back. What an interrupted run was answered is in the store, so that the same call
    goes on where it stopped.
    """
    check_free(job.collection, job.name, assessor)
    tally, rows = Tally(job.name), Rows(origin(assessor))
    path, qrels = job.collection.judgements(job.name), job.collection.qrels(job.name)
    with replacing(path, lambda written: write_sorted_qrels(qrels, grades_of(written))) as out:
        try:
            async for judged in judge(job.pairs, job.texts, assessor, pace):
                tally.add(judged)
                out.write(rows.line(judged) + "\n")
        except BudgetReached as reached:
            if not tally.pairs:
                raise
            tally.stopped = reached
    _note_in_card(job, assessor, tally)
    write_readme(job.collection)
    return tally


def _note_in_card(job: Job, assessor: Assessor, tally: Tally) -> None:
    """What the labels are of and what made them, for whoever reads their grades."""
    entry = {
        "labeler": __version__,
        "prompt": assessor.prompt.id,
        "model": assessor.model.id,
        "served": sorted(tally.served - {""}),
        "parameters": assessor.asked_with,
        "scale": assessor.prompt.front.scale,
        "pairs": len(job.pairs),
        "judged": tally.judged,
        "failed": tally.failed,
        "failures": {status: count for status, count in tally.failures.items() if count},
    }
    known = card_section(read_card(job.collection), "judge")
    update_card(job.collection, "judge", {**known, job.name: entry})


def pairs_of_labels(collection: Collection, name: str) -> list[Pair]:
    """The pairs that a set of judgements holds."""
    path = collection.existing_judgements(check_name(name))
    return [row.judged.outcome.pair for row in read_judgements(path)]
