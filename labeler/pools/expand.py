"""A pool that grows round after round by the neighbors of the documents that were found relevant.

Relevant documents tend to be alike. So the neighbors of each, by terms and by vectors, are added,
judged, and their neighbors in turn, until a round brings too few relevant documents to go on.

Each pair keeps the documents that it came from, its seeds, so that leaving a run out of the pool
takes with it what only that run's documents led to. Documents of the random sample beyond the pool
are no seeds: what is added must not depend on the sample, or the estimate of what was missed would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import CorpusTexts, documents_of
from labeler.collection.dropped import drop_absent
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.pool import merge_pools, read_pool
from labeler.collection.queries import read_queries
from labeler.collection.search import Searched, searched_corpus
from labeler.collection.user_files import run_name, run_paths
from labeler.data import Document, Pair, Pooled, Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import hold_run
from labeler.files.boundary import count
from labeler.files.read import file_of, file_problems, rereadable
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, ajudge
from labeler.messages import count_of
from labeler.models.control import Control, run_to_end
from labeler.models.encoders import EncoderTexts, Encoding, EncodingPlan
from labeler.options import COUNT, COUNT_OR_NONE, SHARE, TOP_GRADE, check_options, option
from labeler.pools.adding import (
    Added,
    DepthReached,
    Expanded,
    RoundFound,
    add_pairs,
    check_depth,
    continues,
    pool_runs,
    read_own_run,
    rounds_from,
    within_budget,
)
from labeler.pools.pool import DEPTH, PoolResult
from labeler.report.table import Column, Row, Table
from labeler.runs.retrieve import neighbors
from labeler.text.vectors import DENSE_EXTRA, Encoder, can_encode, embedded_encoder
from labeler.trec.qrels import read_qrels

ENOUGH_JUDGED = 0.9
"""The share of a round that must have grades before it says whether another one pays."""


EXPANDING = "Round after round"


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a pool is expanded by what the collection's qrels of a name say.

    `neighbors` is how many of a relevant document are added, by each retriever. A round that
    brought less than the share `until` of all relevant documents is the last. `rel` is the lowest
    grade that counts as relevant. `max_pairs` bounds the pool, to which the tops of new runs come
    before neighbors; 0 is no limit.
    """

    qrels: str = ""
    neighbors: int = option(
        5, "Neighbors of each, by BM25 and by vectors.", COUNT, panel=EXPANDING, rare=True
    )
    until: float = option(
        0.05,
        "Stop where a round brought less of all relevant documents.",
        SHARE,
        panel=EXPANDING,
        rare=True,
    )
    rel: int = option(
        1, "The lowest grade that counts as relevant.", TOP_GRADE, panel=EXPANDING, rare=True
    )
    max_pairs: int = option(
        0, "Pool by rank up to so many pairs in all; 0 is any number.", COUNT_OR_NONE
    )

    def __post_init__(self) -> None:
        check_options(self)


class NewRuns(NamedTuple):
    """Files of runs whose first `depth` documents join a pool, too."""

    files: tuple[Path | str, ...] = ()
    depth: int = DEPTH


def expand(
    collection: Collection | Path | str,
    expansion: Expansion,
    runs: NewRuns | None = None,
    encoding: Encoding | None = None,
    control: Control | None = None,
) -> PoolResult:
    """Add the neighbors of the documents judged relevant to a pool, and the tops of `runs`.

    Call it, judge what it added, and call it again; it stops by itself. With new runs there is a
    round whatever the last one brought, and so there is where the last one was added from other
    qrels, from a higher grade or with fewer neighbors. Raises `Misuse` where the last round is not
    judged yet, and `BadInput` where the corpus was changed while neighbors were looked for.
    """
    opened, watch = open_collection(collection), control or Control()
    encode = encoding or Encoding()
    encode.options.check()
    runs = runs or NewRuns()
    check_depth(runs.depth)
    own, depth = run_paths([Path(path) for path in runs.files]), runs.depth
    qrels = opened.existing_qrels(expansion.qrels)
    with rereadable():
        for path in own:
            with file_problems(path):
                file_of(path)
            hold_run(path)
        with locked(opened, watch.note):
            dropped = drop_absent(opened, watch.note)
        last = _last_round(read_pool(opened.pool), read_qrels(qrels), expansion)
        again = last is not None and continues(opened, last.round, expansion)
        if last is not None and again and last.share < expansion.until and not own:
            result = _result(opened, 0, Expanded(last.round, 0, 0, True, expansion.until, last))
            return replace(result, dropped=dropped)
        searched = _searched(opened, watch)
        seeds = _seeds(read_pool(opened.pool), read_qrels(qrels), expansion.rel)
        near = _neighbors(opened, searched, seeds, (expansion, encode), watch)
        with locked(opened, watch.note):
            if _searched(opened, watch).sha256 != searched.sha256:
                raise BadInput(f"{opened.corpus}: changed meanwhile; run the command again")
            tops = {run_name(p): read_own_run(p, opened, depth, watch.note) for p in own}
            result = _add(opened, expansion, (seeds, near, last), tops, depth)
            return replace(result, dropped=dropped)


def plan_expansion(collection: Collection | Path | str, encoding: Encoding) -> EncodingPlan | None:
    """What a server would be asked for the vectors of all documents; None where none is."""
    opened = open_collection(collection)
    return encoding.plan(opened.vectors, _texts(opened))


def _texts(collection: Collection) -> EncoderTexts:
    return EncoderTexts(CorpusTexts(collection.corpus))


def _last_round(pool: Sequence[Pooled], grades: Qrels, expansion: Expansion) -> RoundFound | None:
    """What the last round brought; `Misuse` where too little of it is judged."""
    number = max((entry.round or 0 for entry in pool), default=0)
    if not number:
        return None
    last = round_found(pool, grades, number, expansion.rel)
    if last.judged < ENOUGH_JUDGED * last.pairs:
        count = f"{last.judged:,} of the {last.pairs:,} pairs of round {number}"
        problem = f"the qrels {expansion.qrels!r} have grades of {count}; judge the others first"
        raise Misuse(problem, parameter="expand")
    return last


def round_found(pool: Sequence[Pooled], grades: Qrels, number: int, rel: int) -> RoundFound:
    """What a round brought, beside what the pool had by then but for its random sample."""
    of_round = [entry.pair for entry in pool if entry.round == number]
    judged = [pair for pair in of_round if _grade(grades, pair) is not None]
    relevant = sum((_grade(grades, pair) or 0) >= rel for pair in judged)
    certain = (e.pair for e in pool if e.inclusion is None and (e.round or 0) <= number)
    total = sum((_grade(grades, pair) or 0) >= rel for pair in certain)
    return RoundFound(number, len(of_round), len(judged), relevant, total)


def _grade(grades: Qrels, pair: Pair) -> int | None:
    return grades.get(pair.query_id, {}).get(pair.doc_id)


def _seeds(pool: Sequence[Pooled], grades: Qrels, rel: int) -> list[Pair]:
    """The relevant pairs of a pool, without those of its random sample."""
    certain = (entry.pair for entry in pool if entry.inclusion is None)
    seeds = [pair for pair in certain if (_grade(grades, pair) or 0) >= rel]
    if not seeds:
        problem = f"no document of the pool has a grade of {rel} or more in these qrels"
        raise Misuse(f"{problem}; there is nothing to expand it from", parameter="expand")
    return seeds


def _searched(collection: Collection, control: Control) -> Searched:
    with control.progress("reading the corpus") as advance:
        return searched_corpus(collection, advance)


def _neighbors(
    collection: Collection,
    searched: Searched,
    seeds: Sequence[Pair],
    how: tuple[Expansion, Encoding],
    control: Control,
) -> dict[str, dict[str, int]]:
    """Of each relevant document its neighbors, with the best rank that either retriever gives."""
    expansion, encoding = how
    encoder = _encoder(collection, encoding, control)
    ids = {pair.doc_id for pair in seeds}
    documents = documents_of(collection.corpus, ids)
    _check_documents(collection, seeds, documents)
    near = (searched, list(documents.values()), expansion.neighbors)
    return neighbors(*near, encoder, control.progress)


def _encoder(collection: Collection, encoding: Encoding, control: Control) -> Encoder | None:
    if encoding.options.is_served:
        return encoding.ready(collection.vectors, _texts(collection), control)
    if can_encode():
        return embedded_encoder()
    control.note(f"neighbors by BM25 only: {DENSE_EXTRA}")
    return None


def _check_documents(
    collection: Collection, seeds: Sequence[Pair], documents: Mapping[str, Document]
) -> None:
    for query_id, doc_id in seeds:
        if doc_id not in documents:
            problem = f"the pair {query_id} {doc_id} is of a document that the corpus lacks"
            raise BadInput(f"{collection.pool}: {problem}")


def _add(
    collection: Collection,
    expansion: Expansion,
    neighbors: tuple[Sequence[Pair], Mapping[str, Mapping[str, int]], RoundFound | None],
    runs: Mapping[str, Run],
    depth: int,
) -> PoolResult:
    """Write the pool with the neighbors and the runs' tops; the collection is locked."""
    seeds, near, last = neighbors
    pool = read_pool(collection.pool)
    number = 1 + max((entry.round or 0 for entry in pool), default=0)
    brought = merge_pools(list(_pairs(seeds, near).values()), pool_runs(runs, depth))
    pairs = {entry.pair for entry in brought}
    reached: DepthReached | None = None
    if expansion.max_pairs:
        pairs, reached = _bounded(brought, pool, (runs, depth), expansion.max_pairs)
    of_round = [replace(entry, round=number) for entry in brought if entry.pair in pairs]
    section = card_section(read_card(collection), "pool")
    before, now = count(section.get("depth")) or depth, reached.most if reached else depth
    merged, new = add_pairs(collection, runs, Added(of_round, max(before, now) if runs else before))
    _note_round(collection, expansion, number, new)
    left_out = len(brought) - len(of_round)
    expanded = Expanded(number, len(seeds), new, False, expansion.until, last, left_out)
    result = _result(collection, new, expanded)
    return replace(result, pairs=len(merged), reached=reached if runs else None)


def _pairs(seeds: Sequence[Pair], near: Mapping[str, Mapping[str, int]]) -> dict[Pair, Pooled]:
    """The pairs of the neighbors, each with the relevant documents that it comes from."""
    from_seeds: dict[Pair, list[str]] = {}
    for query_id, seed in seeds:
        for doc_id in near[seed]:
            from_seeds.setdefault(Pair(query_id, doc_id), []).append(seed)
    return {pair: Pooled(pair, seeds=tuple(names)) for pair, names in from_seeds.items()}


def _bounded(
    brought: Sequence[Pooled],
    pool: Sequence[Pooled],
    tops: tuple[Mapping[str, Run], int],
    max_pairs: int,
) -> tuple[set[Pair], DepthReached]:
    """The pairs of a pool of a size, and how deep the new runs, whose tops come first, are in it.

    What room they leave is for the neighbors: those that most relevant documents lead to.
    """
    old = {entry.pair for entry in pool}
    new_tops, reached = within_budget(*tops, old, max_pairs)
    with_tops = old | {entry.pair for entry in new_tops}
    near: Run = {}
    for entry in brought:
        if entry.seeds:
            query_id, doc_id = entry.pair
            near.setdefault(query_id, {})[doc_id] = float(len(entry.seeds))
    new_near, _ = within_budget({"neighbors": near}, len(brought), with_tops, max_pairs)
    return with_tops | {entry.pair for entry in new_near}, reached


def _note_round(collection: Collection, expansion: Expansion, number: int, new: int) -> None:
    section = card_section(read_card(collection), "pool")
    rounds = card_section(section, "rounds")
    settings = {"qrels": expansion.qrels, "rel": expansion.rel, "neighbors": expansion.neighbors}
    entry = {**rounds, str(number): {**settings, "pairs": new}}
    update_card(collection, "pool", {**section, "rounds": entry})


def _result(collection: Collection, new: int, expanded: Expanded) -> PoolResult:
    pairs, queries = len(read_pool(collection.pool)), len(read_queries(collection.queries))
    names = collection.run_names()
    return PoolResult(collection.pool, pairs, new, queries, names, expansion=expanded)


# Judge a pool, then round after round the neighbors of what is relevant, until few are new.


@dataclass(frozen=True, slots=True)
class Rounds:
    """When the rounds of an expansion end.

    A round that brought less than the share `until` of all relevant documents is the last, and so
    is the round number `most` of those that come from these judgements. `rel` is the lowest grade
    that counts as relevant; `neighbors` is how many of each relevant document join, by each
    retriever. `max_pairs` bounds the pool; 0 is no limit.
    """

    until: float = 0.05
    most: int = 10
    rel: int = 1
    neighbors: int = 5
    max_pairs: int = 0

    def __post_init__(self) -> None:
        if count(self.most) in (None, 0):
            raise Misuse("rounds count from 1", parameter="max_rounds")
        self.expansion("")

    def expansion(self, qrels: str) -> Expansion:
        """The same of one round."""
        return Expansion(qrels, self.neighbors, self.until, self.rel, self.max_pairs)


@dataclass(frozen=True, slots=True)
class ExpandedJudging:
    """A set of judgements whose pool grew round after round, and why it grew no further.

    `judging` is what the last judging left, and what all of them took. `rounds` are all that the
    pool has, those of earlier calls included.
    """

    judging: JudgeResult
    rounds: tuple[RoundFound, ...]
    ended: str

    def as_json(self) -> dict[str, Any]:
        """The figures of the judging, the rounds, and why they ended."""
        rounds = [{**each._asdict(), "share": each.share} for each in self.rounds]
        return {**self.judging.as_json(), "rounds": rounds, "ended": self.ended}

    def table(self) -> Table:
        """A row for each round: its pairs, how many were judged, and what that brought."""
        columns = [
            Column("round", format="d"),
            *(Column(name, format=",d") for name in ("pairs", "judged", "relevant")),
            Column("relevant in pool", format=",d"),
            Column("share", format=".3f"),
        ]
        rows: list[Row] = [[*each, each.share] for each in self.rounds]
        return Table("rounds", columns, rows)

    def sentence(self) -> str:
        """How many rounds there were, what they brought together, and why they ended."""
        pairs, relevant = sum(r.pairs for r in self.rounds), sum(r.relevant for r in self.rounds)
        brought = f"{count_of(relevant, 'relevant document', 'relevant documents')}"
        rounds = count_of(len(self.rounds), "round", "rounds")
        return f"{rounds} brought {brought} in {count_of(pairs, 'pair', 'pairs')}; {self.ended}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        return f"ExpandedJudging({self.judging!r}, rounds={len(self.rounds)})"


def expand_until(
    collection: Collection | Path | str,
    judging: JudgeOptions | None = None,
    rounds: Rounds | None = None,
    control: Control | None = None,
    encoding: Encoding | None = None,
) -> ExpandedJudging:
    """Judge a collection's pool, and round after round the neighbors of what is relevant.

    The limits of `judging` hold for all rounds together. The same call, made again, goes on where
    it stopped: what was answered is not asked again, and a round that was added is not added twice.

    >>> from labeler.testing import fake_model, small_collection
    >>> model = fake_model('{"grade": 1}')
    >>> expand_until(small_collection(), JudgeOptions(model=model, name="llm")).ended
    'stopped, as the pool has all neighbors of its relevant documents'
    """
    how, watch = (collection, judging, rounds), control or Control()
    return run_to_end(lambda stop: aexpand_until(*how, watch.with_stop(stop), encoding))


async def aexpand_until(
    collection: Collection | Path | str,
    judging: JudgeOptions | None = None,
    rounds: Rounds | None = None,
    control: Control | None = None,
    encoding: Encoding | None = None,
) -> ExpandedJudging:
    """`expand_until` for callers that are asynchronous."""
    opened, options = open_collection(collection), judging or JudgeOptions()
    how, watch = rounds or Rounds(), _noting_once(control or Control())
    encode = encoding or Encoding(limits=options.limits)
    before = replace(watch.spent)
    judged = await ajudge(opened, options, watch)
    options = replace(options, name=judged.name)
    while not (ended := _ended(judged, _rounds(opened, judged.name, how)[-1], how)):
        grown = await asyncio.to_thread(
            expand, opened, how.expansion(judged.name), None, encode, watch
        )
        ended = _nothing_added(grown.expansion)
        if ended or grown.expansion is None:
            break
        watch.note(_added(grown.expansion))
        judged = await ajudge(opened, options, watch)
        if not judged.stopped:
            watch.note(str(_rounds(opened, judged.name, how)[-1]))
    all_rounds = tuple(_rounds(opened, judged.name, how)[1:])
    spent = watch.spent.since(before)
    return ExpandedJudging(replace(judged, spent=spent), all_rounds, ended)


def _noting_once(control: Control) -> Control:
    """The same, but what each judging would say again, as which model was chosen, is said once."""
    lines = set[str]()

    def note(line: str) -> None:
        if line not in lines:
            lines.add(line)
            control.note(line)

    return replace(control, note=note)


def _rounds(collection: Collection, name: str, how: Rounds) -> list[RoundFound]:
    """What each round of the pool brought, by the grades as they are now.

    The first is no round, but what was in the pool before.
    """
    pool = read_pool(collection.pool)
    path = collection.qrels(name)
    grades = read_qrels(path) if path.exists() else {}
    last = max((entry.round or 0 for entry in pool), default=0)
    return [round_found(pool, grades, number, how.rel) for number in range(last + 1)]


def _ended(judged: JudgeResult, last: RoundFound, how: Rounds) -> str:
    """Why there is no further round; empty where there is one."""
    if judged.stopped:
        return "stopped at the budget; the same command with a larger one goes on"
    if not last.relevant_in_pool:
        return f"stopped, as no document of the pool has a grade of {how.rel} or more"
    if not last.round:
        return ""
    if last.judged < ENOUGH_JUDGED * last.pairs:
        of = f"{last.judged:,} of the {count_of(last.pairs, 'pair', 'pairs')}"
        return f"stopped, as only {of} of round {last.round} have a grade"
    return _ended_by_yield(judged, last, how)


def _ended_by_yield(judged: JudgeResult, last: RoundFound, how: Rounds) -> str:
    collection, most = judged.job.collection, how.most
    same = continues(collection, last.round, how.expansion(judged.name))
    if same and last.share < how.until:
        share = f"{last.share:.1%} of all relevant documents, less than {how.until:.1%}"
        return f"stopped, as round {last.round} brought {share}"
    if rounds_from(collection, judged.name, last.round) < most:
        return ""
    rounds = count_of(most, "round", "rounds")
    return f"stopped after round {last.round}, as at most {rounds} may be"


def _nothing_added(expanded: Expanded | None) -> str:
    """Why a round added nothing; empty where it did."""
    if expanded is None or expanded.added:
        return ""
    if expanded.left_out:
        left_out = count_of(expanded.left_out, "pair", "pairs")
        return f"stopped, as the pool is at the size that was set for it; left out: {left_out}"
    return "stopped, as the pool has all neighbors of its relevant documents"


def _added(expanded: Expanded) -> str:
    pairs = count_of(expanded.added, "pair", "pairs")
    seeds = count_of(expanded.seeds, "relevant document", "relevant documents")
    return f"round {expanded.round}: {pairs} added, from {seeds}"
