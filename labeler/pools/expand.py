"""A pool that grows round after round by the neighbors of the documents that were found relevant.

Relevant documents tend to be alike. So the pool is judged, the neighbors of each relevant document,
by terms and by vectors, are added and judged, and their neighbors in turn, until a round brings too
few relevant documents to go on.

Each pair keeps the documents that it came from, its seeds, so that leaving a run out of the pool
takes with it what only that run's documents led to.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import CorpusTexts, documents_of
from labeler.collection.layout import AnyCollection, Collection, locked, open_collection
from labeler.collection.pool import Pool, merge_pools, read_pool, write_pool
from labeler.collection.search import Searched, searched_corpus
from labeler.data import Pair, Pooled, Qrels
from labeler.errors import BadInput
from labeler.files.jsonl import JsonObject
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, ajudge
from labeler.messages import count_of
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.session import Control, sync
from labeler.options import COUNT, SHARE, TOP_GRADE, Options, option
from labeler.report.result import Merged, Result
from labeler.report.table import Table, shown, table_of
from labeler.runs.retrieve import neighbors
from labeler.text.terms import DENSE_EXTRA
from labeler.trec.files import read_qrels

ENOUGH_JUDGED = 0.9
"""The share of a round that must have grades before it says whether another one pays."""

EXPANDING = "Round after round"
_rule = partial(option, panel=EXPANDING, rare=True)


@dataclass(frozen=True, slots=True)
class Expansion(Options):
    """How a pool grows, and when its rounds end.

    `neighbors` is how many of a relevant document are added, by each retriever. Rounds stop at one
    that brought less than the share `until` of all relevant documents, or after `max_rounds` on the
    same judgements. `rel` is the lowest grade that counts as relevant.
    """

    neighbors: int = _rule(5, "Neighbors of each, by BM25 and by vectors.", COUNT)
    until: float = _rule(0.05, "Stop where a round brought less of all relevant documents.", SHARE)
    rel: int = _rule(1, "The lowest grade that counts as relevant.", TOP_GRADE)
    max_rounds: int = _rule(10, "The most rounds.", COUNT)


@dataclass(frozen=True)
class RoundFound:
    """What a round of expansion brought: its pairs, those judged, and the relevant among them.

    `relevant_in_pool` are those of the whole pool.
    """

    round: int
    pairs: int
    judged: int
    relevant: int
    relevant_in_pool: int

    @classmethod
    def of(cls, pool: Pool, grades: Qrels, number: int, rel: int) -> RoundFound:
        """A round of a pool; number 0 is no round, but what was in the pool before."""
        of_round, so_far = (
            [pair.grade_in(grades) for pair in pool.keep(rows).pairs]
            for rows in (pool.rounds == number, pool.rounds <= number)
        )
        relevant, total = (sum((g or 0) >= rel for g in each) for each in (of_round, so_far))
        return cls(number, len(of_round), len(of_round) - of_round.count(None), relevant, total)

    @shown
    def share(self) -> float:
        """The share of all relevant documents that this round brought."""
        return self.relevant / self.relevant_in_pool if self.relevant_in_pool else 0.0

    def __str__(self) -> str:
        documents = count_of(self.relevant, "relevant document")
        return (
            f"round {self.round} brought {documents} in {count_of(self.pairs, 'pair')}, "
            f"{self.share:.1%} of the {self.relevant_in_pool:,} there are"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ExpandedJudging(Result):
    """A set of judgements whose pool grew round after round, and why it grew no further.

    `judging` is what the last judging left, and what all of them took. `rounds` are all that the
    pool has, those of earlier calls included.
    """

    judging: Merged[JudgeResult]
    rounds: Sequence[RoundFound]
    ended: str

    @property
    def sentences(self) -> list[str]:
        """What each round brought, what all did together, and why they ended."""
        pairs = sum(r.pairs for r in self.rounds)
        relevant = sum(r.relevant for r in self.rounds)
        brought = count_of(relevant, "relevant document")
        rounds = count_of(len(self.rounds), "round")
        whole = f"{rounds} brought {brought} in {count_of(pairs, 'pair')}; {self.ended}"
        return [*map(str, self.rounds), whole]

    def tables(self) -> list[Table]:
        """A row for each round: its pairs, how many were judged, and what that brought."""
        return [table_of("rounds", RoundFound, self.rounds)]


async def aexpand_until(
    collection: AnyCollection,
    judging: JudgeOptions | None = None,
    expansion: Expansion | None = None,
    *,
    encoding: Encoding | None = None,
    control: Control | None = None,
) -> ExpandedJudging:
    """Judge a collection's pool, and round after round the neighbors of what is relevant.

    The limits of `judging` hold for all rounds together. The same call, made again, goes on where
    it stopped: what was answered is not asked again, and a round that was added is not added twice.
    Raises `BadInput` where the corpus was changed while neighbors were looked for.

    >>> from labeler.testing import fake_model, small_collection
    >>> model = fake_model('{"grade": 1}')
    >>> expand_until(small_collection(), JudgeOptions(model=model, name="llm")).ended
    'stopped, as the pool has all neighbors of its relevant documents'
    """
    opened = open_collection(collection)
    options = judging or JudgeOptions()
    how = expansion or Expansion()
    control = control or Control()
    # what each judging would say again, as which model was chosen, is said once
    watch = replace(control, note=cache(control.note))
    encode = encoding or Encoding(limits=options.limits)
    encode.options.check()
    before = replace(watch.spent)
    judged = await ajudge(opened, options, control=watch)
    options = replace(options, name=judged.name)
    growth = _Growth(opened, judged.name, how)
    while not (ended := _ended(judged, growth)):
        if not await asyncio.to_thread(growth.grow, encode, watch):
            ended = "stopped, as the pool has all neighbors of its relevant documents"
            break
        judged = await ajudge(opened, options, control=watch)
        if not judged.stopped:
            watch.note(str(growth.rounds()[-1]))
    spent = watch.spent.since(before)
    return ExpandedJudging(replace(judged, spent=spent), tuple(growth.rounds()[1:]), ended)


expand_until = sync(aexpand_until)


def _ended(judged: JudgeResult, growth: _Growth) -> str:
    """Why there is no further round; empty where there is one."""
    last = growth.rounds()[-1]
    how = growth.expansion
    if judged.stopped:
        return "stopped at the budget; the same command with a larger one goes on"
    if not last.relevant_in_pool:
        return f"stopped, as no document of the pool has a grade of {how.rel} or more"
    if last.judged < ENOUGH_JUDGED * last.pairs and last.round:
        return (
            f"stopped, as only {last.judged:,} of the {count_of(last.pairs, 'pair')} of round "
            f"{last.round} have a grade"
        )
    if last.round and growth.is_own(last.round) and last.share < how.until:
        return (
            f"stopped, as round {last.round} brought "
            f"{last.share:.1%} of all relevant documents, less than {how.until:.1%}"
        )
    if sum(map(growth.is_own, range(1, last.round + 1))) >= how.max_rounds:
        rounds = count_of(how.max_rounds, "round")
        return f"stopped after round {last.round}, as at most {rounds} may be"
    return ""


@dataclass(frozen=True, slots=True)
class _Growth:
    """A collection whose pool grows by its qrels of a name."""

    collection: Collection
    name: str
    expansion: Expansion

    def rounds(self) -> list[RoundFound]:
        """What each round of the pool brought, by the grades as they are now."""
        pool = read_pool(self.collection.pool)
        path = self.collection.qrels(self.name)
        grades = read_qrels(path) if path.exists() else {}
        last = int(pool.rounds.max(initial=0))
        return [RoundFound.of(pool, grades, n, self.expansion.rel) for n in range(last + 1)]

    @property
    def settings(self) -> JsonObject:
        """What the card says of a round that this expansion adds."""
        how = self.expansion
        return {"qrels": self.name, "rel": how.rel, "neighbors": how.neighbors}

    def is_own(self, number: int) -> bool:
        """Whether a round has the settings of this expansion, or none in the card."""
        entry = card_section(read_card(self.collection), "pool", "rounds", str(number))
        return all(entry.get(name, value) == value for name, value in self.settings.items())

    def grow(self, encoding: Encoding, control: Control) -> int:
        """Add the neighbors of all relevant documents as a round; how many pairs are new."""
        collection = self.collection
        searched = searched_corpus(collection, control.progress)
        grades = read_qrels(collection.qrels(self.name))
        pool = read_pool(collection.pool)
        seeds = [p for p in pool.pairs if (p.grade_in(grades) or 0) >= self.expansion.rel]
        near = self._neighbors(searched, seeds, encoding, control)
        with locked(collection, control.note):
            if searched_corpus(collection, control.progress).sha256 != searched.sha256:
                raise BadInput(f"{collection.corpus}: changed meanwhile; run the command again")
            pool = read_pool(collection.pool)
            number = 1 + int(pool.rounds.max(initial=0))
            from_seeds = defaultdict(list)
            for query_id, seed in seeds:
                for doc_id in near[seed]:
                    from_seeds[Pair(query_id, doc_id)].append(seed)
            added = [Pooled(pair, seeds=tuple(s), round=number) for pair, s in from_seeds.items()]
            merged = merge_pools(pool, added)
            write_pool(collection.pool, merged)
            new = len(merged) - len(pool)
            section = card_section(read_card(collection), "pool")
            entry = {**self.settings, "pairs": new}
            rounds = {**card_section(section, "rounds"), str(number): entry}
            update_card(collection, "pool", {**section, "pairs": len(merged), "rounds": rounds})
        if new:
            documents = count_of(len(seeds), "relevant document")
            control.note(f"round {number}: {count_of(new, 'pair')} added, from {documents}")
        return new

    def _neighbors(
        self, searched: Searched, seeds: Sequence[Pair], encoding: Encoding, control: Control
    ) -> Mapping[str, Mapping[str, int]]:
        """Of each relevant document its neighbors."""
        encoder = None
        if encoding.is_possible:
            texts = EncoderTexts(CorpusTexts(self.collection.corpus))
            encoder = encoding.ready(self.collection.vectors, texts, control=control)
        else:
            control.note(f"neighbors by BM25 only: {DENSE_EXTRA}")
        documents = documents_of(self.collection.corpus, {pair.doc_id for pair in seeds})
        for query_id, doc_id in seeds:
            if doc_id not in documents:
                raise BadInput(
                    f"{self.collection.pool}: "
                    f"the pair {query_id} {doc_id} is of a document that the corpus lacks"
                )
        most = self.expansion.neighbors
        return neighbors(searched, documents.values(), most, encoder, control.progress)
