"""A set of judgements to make of a collection, written as judgements and as qrels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from labeler import __version__
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.claims import MadeFile, claimed
from labeler.collection.judgements import (
    JudgementLines,
    JudgementRow,
    Origin,
    carried_rows,
    grades_of,
    origin_of,
    read_judgements,
    replacing_set,
)
from labeler.collection.layout import Collection, check_name, safe_name
from labeler.collection.lock import Note, locked_in_loop
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.parent import Parent
from labeler.collection.pool import PoolPairs, pool_pairs
from labeler.collection.queries import read_queries
from labeler.collection.readme import write_readme
from labeler.collection.stale import rules_of, shown_by, stale_pairs
from labeler.collection.whose import check_model_name
from labeler.data import Judged, Judgement, Pair
from labeler.errors import BudgetReached, Misuse, about
from labeler.files.numbers import count
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.suspicions import suspicions
from labeler.judging.tally import Tally
from labeler.messages import count_of
from labeler.models.policies.stop import StopSignal


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
    check_model_name(name)
    path = collection.judgements(name)
    earlier, new = origin_of(path), origin(assessor)
    if earlier is None:
        if collection.qrels(name).exists():
            problem = f"{collection.qrels(name)} holds grades from elsewhere; give another name"
            raise Misuse(problem, parameter="name")
        return
    for what in ("prompt", "model", "parameters"):
        before, now = getattr(earlier, what), getattr(new, what)
        if before != now:
            problem = f"{path} was made with {what} {before}, not {now}; give another name"
            raise Misuse(problem, parameter="name")


def texts_of(collection: Collection) -> Texts:
    """The queries and documents of a collection; a document is read when it is asked for."""
    return Texts(read_queries(collection.queries), corpus_on_demand(collection.corpus))


def pool_of(collection: Collection, texts: Texts) -> PoolPairs:
    """The pairs of the pool, in its order; `BadInput` where one names a text that is not there."""
    return pool_pairs(collection.pool, texts.queries, texts.documents)


Pairs = Sequence[Pair] | PoolPairs
"""Pairs that can be counted and gone through more than once."""


class Job(NamedTuple):
    """A set of judgements to make: where, under which name, of which pairs and texts.

    `carried` are grades of earlier cuts of the documents, which hold for further pairs. `parent` is
    the set whose pairs they are.
    """

    collection: Collection
    name: str
    pairs: Pairs
    texts: Texts
    carried: Mapping[Pair, JudgementRow] = {}
    parent: Parent | None = None

    @property
    def total(self) -> int:
        """How many pairs have a grade in the end, where none fails."""
        return len(self.pairs) + len(self.carried)


def job_of(
    collection: Collection, name: str, pairs: Pairs, texts: Texts, parent: Parent | None = None
) -> Job:
    """The job of judging pairs, but for those whose grades are carried over.

    The pairs of a query are asked about one after another, since their requests begin alike: a
    server has such a beginning ready and reads it sooner and for less.
    """
    pairs = _by_query(pairs)
    rows = carried_rows(collection.judgements(name))
    for pair in stale_pairs(collection, name).intersection(rows) if rows else ():
        del rows[pair]
    if not rows:
        return Job(collection, name, pairs, texts, parent=parent)
    asked = [pair for pair in pairs if pair not in rows]
    own = {pair: rows[pair] for pair in pairs if pair in rows}
    return Job(collection, name, asked, texts, own, parent)


def _by_query(pairs: Pairs) -> Pairs:
    if isinstance(pairs, PoolPairs):
        return pairs.by_query()
    numbers: dict[str, int] = {}
    return sorted(pairs, key=lambda pair: numbers.setdefault(pair.query_id, len(numbers)))


def check_keeps(collection: Collection, name: str, pairs: Pairs) -> None:
    """Raise `Misuse` where judging a part of a set's pairs as `name` would lose other pairs."""
    path = collection.judgements(check_name(name))
    if not path.exists():
        return
    others = {row.judged.outcome.pair for row in read_judgements(path)}.difference(pairs)
    if others:
        more = count_of(len(others), "pair that is", "pairs that are")
        problem = f"{path} holds {more} not among these and would be lost; give another name"
        raise Misuse(problem, parameter="name")


async def do_job(
    job: Job, assessor: Assessor, options: PairOptions, note: Note = lambda _line: None
) -> Tally:
    """Judge pairs of a collection; write `judgements/NAME.jsonl` and `qrels/NAME.qrels`.

    What an interrupted run was answered is in the store, so that the same call goes on where it
    stopped. `note` is given a line that says which process is waited for.
    """
    judging = judge_pairs(job.pairs, job.texts, assessor, options)
    flagged = (with_suspicions(judged, job.texts) async for judged in judging)
    return await write_set(job, assessor, flagged, options.stop, note)


async def write_set(
    job: Job, assessor: Assessor, judging: AsyncIterator[Judged], stop: StopSignal, note: Note
) -> Tally:
    """Write pairs as they are judged to `judgements/NAME.jsonl`, then to `qrels/NAME.qrels`.

    Both are written when all pairs are done or the budget is reached, the qrels from the judgements
    as they read back. Grades of pairs whose query or document is gone stay among the judgements,
    not in the qrels.
    """

    def grades(written: Path) -> Iterator[tuple[str, str, int]]:
        return (row for row in grades_of(written) if job.texts.has(Pair(*row[:2])))

    tally, rows = Tally(job.name), JudgementLines(origin(assessor))
    rules_shown = rules_of(assessor.prompt)
    path, qrels = job.collection.judgements(job.name), job.collection.qrels(job.name)
    lock = partial(locked_in_loop, job.collection, stop, note)
    async with AsyncExitStack() as stack:
        async with lock():
            check_free(job.collection, job.name, assessor)
            stack.enter_context(claimed(_judgements_made(job, assessor)))
        with replacing_set(path, qrels, grades) as out:
            for row in job.carried.values():
                judged = replace(row.judged, remembered=True)
                tally.add(judged)
                out.write(rows.line(judged, row.carried) + "\n")
            try:
                async for judged in judging:
                    tally.add(judged)
                    out.write(rows.line(_with_shown(judged, rules_shown, job.texts)) + "\n")
            except BudgetReached as reached:
                if not tally.pairs:
                    raise
                tally.stopped = reached
            await stack.enter_async_context(lock())
            check_free(job.collection, job.name, assessor)
            for row in _of_absent(path, job.texts):
                out.write(rows.line(row.judged, row.carried) + "\n")
        _note_in_card(job, assessor, tally)
        write_readme(job.collection)
    return tally


def with_suspicions(judged: Judged, texts: Texts) -> Judged:
    """The same with what looks suspicious about its document."""
    names = suspicions(*texts.of(judged.outcome.pair))
    return replace(judged, suspicions=names) if names else judged


def _with_shown(judged: Judged, rules: str, texts: Texts) -> Judged:
    """The same with what tells the texts that were shown; all of a document that was in passages.

    What a part of a set holds already was judged before.
    """
    if judged.shown:
        return judged
    if isinstance(judged.outcome, Judgement) and judged.outcome.passages:
        rules = f"{rules.partition(':')[0]}:"
    return replace(judged, shown=shown_by(rules, *texts.of(judged.outcome.pair)))


def _of_absent(path: Path, texts: Texts) -> Iterator[JudgementRow]:
    """The rows with a grade whose query or document has left the collection."""
    if path.exists():
        for row in read_judgements(path):
            outcome = row.judged.outcome
            if isinstance(outcome, Judgement) and not texts.has(outcome.pair):
                yield row


def _judgements_made(job: Job, assessor: Assessor) -> MadeFile:
    """The judgements as this assessor makes them, whose name no other one may use meanwhile."""
    path, made = job.collection.judgements(job.name), origin(assessor)
    made_by = {"prompt": made.prompt, "model": made.model, "parameters": dict(made.parameters)}
    return MadeFile(job.collection, path, made_by, "give another name", "name")


def _note_in_card(job: Job, assessor: Assessor, tally: Tally) -> None:
    """Say in the card what the judgements are of and what made them.

    Tokens from a server's cache are those of all runs: each run knows of its own calls alone.
    """
    cached = cached_before(job.collection, job.name) + tally.cached_tokens
    made = origin(assessor)
    entry = {
        "labeler": __version__,
        "prompt": assessor.prompt.id,
        "model": assessor.model.id,
        "served": sorted(tally.served - {""}),
        "declared": dict(made.parameters),
        "parameters": dict(sorted(next(iter(tally.sent), made.parameters).items())),
        **({"also_sent": tally.sent[1:]} if tally.sent[1:] else {}),
        "scale": assessor.prompt.front.scale,
        "pairs": job.total,
        "judged": tally.judged,
        "failed": tally.failed,
        "failures": tally.failures_by_status,
        "suspicious": tally.suspicious,
        **({"cached_tokens": cached} if cached else {}),
        **({"examples": assessor.examples.noted()} if assessor.examples else {}),
        **({"parent": job.parent.as_json()} if job.parent else {}),
    }
    update_card_entry(job.collection, "judge", job.name, entry)


def cached_before(collection: Collection, name: str) -> int:
    """Tokens of requests that servers had ready, in the runs that made a set; 0 if none was noted.

    They were counted at the calls: a reply from the store says nothing of them.
    """
    entry = card_section(card_section(read_card(collection), "judge"), name)
    return max(0, count(entry.get("cached_tokens")) or 0)


def judged_pairs(collection: Collection, name: str, texts: Texts) -> list[Pair]:
    """The pairs that a set of judgements holds, whose query and document are there still."""
    with about("source", "name"):
        path = collection.existing_judgements(check_name(name))
    pairs = (row.judged.outcome.pair for row in read_judgements(path))
    return [pair for pair in pairs if texts.has(pair)]
