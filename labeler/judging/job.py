"""A set of judgements to make of a collection, written as judgements and as qrels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from collections.abc import Collection as Some
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler import __version__
from labeler.collection.card import Parent, update_card_entry
from labeler.collection.corpus import corpus_on_demand
from labeler.collection.judged_set import KEPT_FROM, judged_in
from labeler.collection.judgements import (
    JudgementLines,
    JudgementRow,
    Origin,
    carried_rows,
    origin_of,
    read_judgements,
    replacing_set,
)
from labeler.collection.layout import (
    Collection,
    MadeFile,
    check_name,
    check_set_name,
    claimed,
    locked_in_loop,
    safe_name,
)
from labeler.collection.pool import Pairs, read_pool
from labeler.collection.queries import read_queries
from labeler.collection.readme import write_readme
from labeler.collection.stale import rules_of, shown_by, stale_pairs
from labeler.data import FAILURES, JUDGED, Document, Failure, Judged, Judgement, Pair, Query
from labeler.errors import BudgetReached, Misuse
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.methods.inquiry import ReadAtMost
from labeler.judging.pilot import Pilot
from labeler.judging.suspicions import suspicions
from labeler.messages import Note, count_of
from labeler.models.policies.call import WAITS, StopSignal
from labeler.models.policies.limits import Spending, WithCost
from labeler.report.result import Result
from labeler.report.table import Column, Table, frame_of

if TYPE_CHECKING:
    from pandas import DataFrame


# The counts of a set of judgements: what has a grade, what failed and how, and what it took.

EXAMPLES = 3


@dataclass(slots=True)
class Tally:
    """Counts of the set `name`; `judged` and all `failures` add up to the pairs that are done.

    `examples` holds the first pairs of each kind of failure; `models` the names that the server
    gave in this run, `served` those of all replies; `listed` counts pairs whose documents stood in
    lists; `suspicions` counts pairs by what looks suspicious about their documents, of which
    `suspicious` have any, and `suspicious_pairs` are the first; `stopped` is what ended it before
    all pairs were done. `by_passages` counts pairs whose document was too long to be shown whole,
    `waiting` those that wait in a batch, `asked_again` those of further times that were asked now;
    `pilot` is what the first pairs said of all, where they were looked at. `sent` holds what was
    sent with requests, each once; `read_at_most` is what the server read of the longest.
    """

    name: str = ""
    pairs: int = 0
    judged: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[Pair, str]]] = field(default_factory=lambda: defaultdict(list))
    models: dict[str, None] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    sent: list[Mapping[str, Any]] = field(default_factory=list)
    read_at_most: ReadAtMost = field(default_factory=ReadAtMost)
    remembered: int = 0
    shared: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    suspicious: int = 0
    suspicions: Counter[str] = field(default_factory=Counter)
    suspicious_pairs: list[Pair] = field(default_factory=list)
    stopped: BudgetReached | None = None
    by_passages: int = 0
    waiting: int = 0
    asked_again: int = 0
    pilot: Pilot | None = None

    def add(self, judged: Judged) -> None:
        """Count one pair."""
        self.pairs += 1
        if isinstance(judged.outcome, Failure):
            outcome = judged.outcome
            self.failures[outcome.status] += 1
            self.waiting += outcome.detail.startswith(WAITS)
            if len(self.examples[outcome.status]) < EXAMPLES:
                self.examples[outcome.status].append((outcome.pair, outcome.detail))
        else:
            self.judged += 1
            self.by_passages += bool(judged.outcome.passages)
        if judged.suspicions:
            self.suspicious += 1
            self.suspicions.update(judged.suspicions)
            if len(self.suspicious_pairs) < EXAMPLES:
                self.suspicious_pairs.append(judged.outcome.pair)
        self.remembered += judged.remembered
        self.shared += judged.shared
        self.served.add(judged.model)
        if judged.sent and judged.sent not in self.sent:
            self.sent.append(dict(sorted(judged.sent.items())))
        if judged.model and not judged.remembered:
            self.models[judged.model] = None
        self.prompt_tokens += judged.prompt_tokens
        self.completion_tokens += judged.completion_tokens

    @property
    def failed(self) -> int:
        """How many pairs have no grade."""
        return self.pairs - self.judged

    @property
    def failures_by_status(self) -> dict[str, int]:
        """How many pairs failed in each way that occurred."""
        return {status: self.failures[status] for status in FAILURES if self.failures[status]}


def default_name(prompt: str, model: str) -> str:
    """The name that a set of judgements gets when none is given: PROMPT-MODEL."""
    return safe_name(f"{prompt}-{model}")


def origin(assessor: Assessor) -> Origin:
    """What distinguishes one set of judgements from another."""
    prompt, parameters = assessor.prompt, dict(assessor.asked_with)
    if assessor.votes > 1:
        parameters["votes"] = assessor.votes
    if prompt.other_reader:
        parameters["reader"] = prompt.other_reader
    return Origin(prompt.id, assessor.model.id, parameters)


def check_free(collection: Collection, name: str, assessor: Assessor) -> None:
    """Raise `Misuse` where `name` holds judgements that something else made."""
    check_set_name(name)
    path = collection.judgements(name)
    earlier, new = origin_of(path), origin(assessor)
    if earlier is None:
        if collection.qrels(name).exists():
            problem = f"{collection.qrels(name)} holds grades from elsewhere; give another name"
            raise Misuse(problem, parameter="name")
        return
    for what, before in asdict(earlier).items():
        if before != (now := getattr(new, what)):
            problem = f"{path} was made with {what} {before}, not {now}; give another name"
            raise Misuse(problem, parameter="name")


def texts_of(collection: Collection) -> Texts:
    """The queries and documents of a collection; a document is read when it is asked for."""
    return Texts(read_queries(collection.queries), corpus_on_demand(collection.corpus))


def pool_of(collection: Collection, texts: Texts) -> Pairs:
    """The pairs of the pool, in its order; `BadInput` where one names a text that is not there."""
    return read_pool(collection.pool, texts.queries, texts.documents).pairs


class Job(NamedTuple):
    """A set of judgements to make: where, under which name, of which pairs and texts.

    `carried` are grades of earlier cuts of the documents, which hold for further pairs. `parent` is
    the set whose pairs they are.
    """

    collection: Collection
    name: str
    pairs: Some[Pair]
    texts: Texts
    carried: Mapping[Pair, JudgementRow] = {}
    parent: Parent | None = None

    @property
    def total(self) -> int:
        """How many pairs have a grade in the end, where none fails."""
        return len(self.pairs) + len(self.carried)


class DerivedPairs(NamedTuple):
    """The pairs to judge, and the set that they are of."""

    pairs: Pairs
    parent: Parent


def job_of(
    collection: Collection,
    name: str,
    pairs: Iterable[Pair],
    texts: Texts,
    parent: Parent | None = None,
) -> Job:
    """The job of judging pairs, but for those whose grades are carried over.

    The pairs of a query are asked about one after another, since their requests begin alike: a
    server has such a beginning ready and reads it sooner and for less.
    """
    asked = Pairs.of(pairs).by_query()
    rows = carried_rows(collection.judgements(name))
    for pair in stale_pairs(collection, name).intersection(rows) if rows else ():
        del rows[pair]
    if not rows:
        return Job(collection, name, asked, texts, parent=parent)
    is_carried = asked.within(Pairs.of(rows))
    own = {pair: rows[pair] for pair in asked.keep(is_carried)}
    return Job(collection, name, asked.keep(~is_carried), texts, own, parent)


def check_keeps(collection: Collection, name: str, pairs: Pairs) -> None:
    """Raise `Misuse` where judging a part of a set's pairs as `name` would lose other pairs."""
    path = collection.judgements(check_name(name))
    if not path.exists():
        return
    if others := int((~Pairs.in_columns(judged_in(path).states).within(pairs)).sum()):
        more = count_of(others, "pair that is", "pairs that are")
        raise Misuse(
            f"{path} holds {more} not among these and would be lost; give another name",
            parameter="name",
        )


async def do_job(job: Job, assessor: Assessor, options: PairOptions) -> Tally:
    """Judge pairs of a collection; write `judgements/NAME.jsonl` and `qrels/NAME.qrels`.

    What an interrupted run was answered is in the store, so that the same call goes on where it
    stopped.
    """
    judging = judge_pairs(job.pairs, job.texts, assessor, options)
    flagged = (with_suspicions(judged, job.texts) async for judged in judging)
    return await write_set(job, assessor, flagged, options.stop, options.note)


async def write_set(
    job: Job, assessor: Assessor, judging: AsyncIterator[Judged], stop: StopSignal, note: Note
) -> Tally:
    """Write pairs as they are judged to `judgements/NAME.jsonl`, then to `qrels/NAME.qrels`.

    Both are written when all pairs are done or the budget is reached. Grades of pairs whose query
    or document is gone stay among the judgements, not in the qrels.
    """
    made = origin(assessor)
    tally, rows = Tally(job.name), JudgementLines(made)
    rules_shown = rules_of(assessor.prompt)
    path, qrels = job.collection.judgements(job.name), job.collection.qrels(job.name)
    lock = partial(locked_in_loop, job.collection, stop, note)
    async with AsyncExitStack() as stack:
        async with lock():
            check_free(job.collection, job.name, assessor)
            # whose name no other assessor may use meanwhile
            made_file = MadeFile(job.collection, path, asdict(made), "give another name", "name")
            stack.enter_context(claimed(made_file))
        with replacing_set(path, qrels) as out:
            for row in job.carried.values():
                judged = replace(row.judged, remembered=True)
                tally.add(judged)
                line, outcome = rows.line(judged, row.carried), judged.outcome
                out.add(line, outcome, is_there=job.texts.has(outcome.pair))
            try:
                async for judged in judging:
                    texts = job.texts.of(judged.outcome.pair)
                    tally.add(judged)
                    tally.read_at_most.note_pair(judged, *texts)
                    shown = _shown(judged, rules_shown, *texts)
                    out.add(rows.line(judged, shown=shown), judged.outcome)
            except BudgetReached as reached:
                if not tally.pairs:
                    raise
                tally.stopped = reached
            await stack.enter_async_context(lock())
            check_free(job.collection, job.name, assessor)
            for row in read_judgements(path) if path.exists() else ():
                outcome = row.judged.outcome
                if isinstance(outcome, Judgement) and not job.texts.has(outcome.pair):
                    out.add(rows.line(row.judged, row.carried), outcome, is_there=False)
        _note_in_card(job, assessor, tally)
        write_readme(job.collection)
    if path.stat().st_size >= KEPT_FROM:
        judged_in(path)  # whoever reads a large set first finds its columns kept
    return tally


def with_suspicions(judged: Judged, texts: Texts) -> Judged:
    """The same with what looks suspicious about its document."""
    names = suspicions(*texts.of(judged.outcome.pair))
    return replace(judged, suspicions=names) if names else judged


def _shown(judged: Judged, rules: str, query: Query, document: Document) -> str:
    """What tells the texts that were shown; all of a document that was in passages."""
    if isinstance(judged.outcome, Judgement) and judged.outcome.passages:
        rules = f"{rules.partition(':')[0]}:"
    return shown_by(rules, query, document)


def _note_in_card(job: Job, assessor: Assessor, tally: Tally) -> None:
    """Say in the card what the judgements are of and what made them."""
    made = origin(assessor)
    entry = {
        "labeler": __version__,
        "prompt": assessor.prompt.id,
        "model": assessor.model.id,
        "served": sorted(tally.served - {""}),
        "declared": dict(made.parameters),
        "parameters": dict(sorted(next(iter(tally.sent), made.parameters).items())),
        "scale": assessor.prompt.front.scale,
        "pairs": job.total,
        "judged": tally.judged,
        "failed": tally.failed,
        "failures": tally.failures_by_status,
        "suspicious": tally.suspicious,
    }
    some = {
        "also_sent": tally.sent[1:],
        "context": assessor.context,
        "examples": list(map(list, assessor.examples.pairs)) if assessor.examples else None,
        "parent": job.parent.as_json() if job.parent else None,
    }
    entry |= {what: value for what, value in some.items() if value}
    update_card_entry(job.collection, "judge", job.name, entry)


# What judging gave: the counts of a set of judgements, its files, and the cost of the run.


@dataclass(frozen=True, repr=False)
class JudgeResult(Result, WithCost):
    """A set of judgements as a run left it, and what the run took.

    `total` counts the pairs that were to be judged: those that have a grade, those that failed,
    and those that a budget left out. `spent.calls` and `cost` are those of this run alone, the
    tokens of the tally those of all replies behind the judgements. `caveat` says how far an
    embedded assessor is to be trusted.
    """

    job: Job
    tally: Tally
    spent: Spending
    is_priced: bool = False
    caveat: str | None = None

    @property
    def name(self) -> str:
        """The name of the set of judgements."""
        return self.job.name

    @property
    def total(self) -> int:
        """How many pairs were to be judged."""
        return self.job.total

    @property
    def judged(self) -> int:
        """How many pairs have a grade."""
        return self.tally.judged

    @property
    def failed(self) -> int:
        """How many pairs were asked about and have no grade."""
        return self.tally.failed

    @property
    def failures(self) -> dict[str, int]:
        """How many pairs failed in each way that occurred."""
        return self.tally.failures_by_status

    @property
    def stopped(self) -> BudgetReached | None:
        """What ended the run before all pairs were done."""
        return self.tally.stopped

    @property
    def judgements(self) -> Path:
        """The file of the judgements, failures among them."""
        return self.job.collection.judgements(self.name)

    @property
    def qrels(self) -> Path:
        """The file of the grades."""
        return self.job.collection.qrels(self.name)

    def as_json(self) -> dict[str, Any]:
        """The counts, the files and the cost by name."""
        return self.picked(
            *("name", "judged", "failed", "failures"),
            *("cost", "cost_at_most", "stopped", "judgements", "qrels"),
            pairs=self.total,
            suspicious=self.tally.suspicious,
            calls=self.spent.calls,
            pilot=self.tally.pilot,
        )

    def tables(self) -> list[Table]:
        """How many pairs have a grade, failed in each way, or were not asked about."""
        left = self.total - self.tally.pairs
        counts = {JUDGED: self.judged, **self.failures, **({"not asked": left} if left else {})}
        columns = [Column("status", align="left"), Column("pairs")]
        return [Table("judging", columns, [list(row) for row in counts.items()], title=self.name)]

    def frame(self) -> DataFrame:
        """The judgements as a pandas DataFrame: a row a pair, with its grade or why it has none."""
        outcomes = [row.judged.outcome for row in read_judgements(self.judgements)]
        rows = [
            (*o.pair, None, o.status, o.detail)
            if isinstance(o, Failure)
            else (*o.pair, o.grade, JUDGED, o.reason)
            for o in outcomes
        ]
        frame = frame_of(rows, "query_id", "doc_id", "grade", "status", "reason")
        return frame.astype({"grade": "Int64"})

    def __repr__(self) -> str:
        failures = "".join(f", {status}={count}" for status, count in self.failures.items())
        return f"JudgeResult({self.name!r}, judged={self.judged} of {self.total}{failures})"
