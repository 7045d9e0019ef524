"""How the pairs of a run are asked about: each alone, in parts, or in lists of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from math import ceil
from random import Random
from typing import NamedTuple

from labeler.data import (
    Document,
    Failure,
    Judged,
    Judgement,
    Listed,
    Outcome,
    Pair,
    Query,
    most_given,
)
from labeler.errors import Misuse
from labeler.judging.assessor import Assessor, Lists, Texts
from labeler.judging.methods.inquiry import (
    ALONE,
    SHORTEST,
    Inquiry,
    JudgingPart,
    Rounds,
    calls_left,
    cut_of,
    fits,
    in_chunks,
    is_too_long,
    recall_inquiries,
)
from labeler.judging.methods.points import point_rounds
from labeler.judging.reply import Numbered, parse_numbered
from labeler.model import Reply, Request
from labeler.prompt import Prompt, numbered_schema

# One document in one request, or in one a passage where it is too long; and votes of repeats.


def single_rounds(
    assessor: Assessor,
    pair: Pair,
    query: Query,
    document: Document,
    whole: Request | None = None,
) -> Rounds:
    """The only round of a document that fits into one request; else the rounds of its passages.

    `whole` is the request that shows all of the document, where it is made already.
    """

    def asked(shown: Document) -> Rounds:
        own = whole if whole and shown is document else assessor.request(query, shown)
        most = assessor.context
        if most is not None and len(shown.text) >= SHORTEST and not fits(own, most):
            return {pair: Failure(pair, "call_failed", NEVER_FITS)}
        read = partial(assessor.outcome_of, pair)
        likely = Judgement(pair, assessor.prompt.grades[0])
        [outcome] = yield [JudgingPart("", own, read, likely, pair)]
        return {pair: outcome}

    return passage_rounds(asked, pair, document, assessor.prompt.grades[-1])


NEVER_FITS = "longer than the context"


def passage_rounds(
    asked: Callable[[Document], Rounds], pair: Pair, document: Document, best: int
) -> Rounds:
    """The rounds of a document; where it is too long those of its halves, which overlap.

    The grade is that of the best passage: there is none where another one failed, unless it is the
    best grade that there is.
    """
    outcomes = yield from asked(document)
    outcome, size = outcomes[pair], len(document.text)
    if size < SHORTEST or not isinstance(outcome, Failure) or not is_too_long(outcome):
        return outcomes
    passages = list[Outcome | None]()
    for half in (document.text[: size * 9 // 16], document.text[size * 7 // 16 :]):
        outcomes = yield from passage_rounds(asked, pair, replace(document, text=half), best)
        passages.append(outcomes[pair])
    return {pair: _best_of(passages, best)}


def _best_of(passages: Sequence[Outcome | None], best: int) -> Outcome | None:
    """The outcome of the best passage, with the grades of all."""
    judged = [passage for passage in passages if isinstance(passage, Judgement)]
    top = max(judged, key=lambda passage: passage.grade, default=None)
    if None in passages:
        return None
    if top is None or (len(judged) < len(passages) and top.grade < best):
        return next(passage for passage in passages if isinstance(passage, Failure))
    grades = [getattr(passage, "passages", ()) or grades_in([passage]) for passage in passages]
    return replace(top, passages=tuple(chain.from_iterable(grades)))


def vote_rounds(ways: Iterable[Rounds]) -> Rounds:
    """The rounds of several votes on the same pairs."""
    votes = list[dict[Pair, Outcome | None]]()
    for way in ways:
        votes.append(dict((yield from way)))
    return {pair: elected([vote[pair] for vote in votes]) for pair in votes[0]}


def elected(votes: Sequence[Outcome | None]) -> Outcome | None:
    """The grade of most votes, or where several have as many, the lower median of all votes.

    There is none where half of the votes or more failed, or one was not asked. That the most
    frequent answer stands is after Wang et al. (2023), ICLR, "Self-consistency".
    """
    grades = [vote.grade for vote in votes if isinstance(vote, Judgement)]
    if None in votes:
        return None
    if 2 * len(grades) <= len(votes):
        return next(vote for vote in votes if isinstance(vote, Failure))
    grade = most_given(grades)
    vote = next(vote for vote in votes if isinstance(vote, Judgement) and vote.grade == grade)
    return replace(vote, votes=grades_in(votes))


def grades_in(outcomes: Iterable[Outcome | None]) -> tuple[int | None, ...]:
    """The grade of each outcome, None of one that failed."""
    return tuple(each.grade if isinstance(each, Judgement) else None for each in outcomes)


# Several documents of a query in one request: the model is shown a list and grades each of it.
#
# The order is shuffled, so that where a document stands says nothing of it, and what the position
# does to a grade can be measured. A document without a grade in the reply is asked about alone.


def list_rounds(assessor: Assessor, texts: Texts, whole: DocumentList) -> Rounds:
    """The rounds by which the documents of a list are judged: together, then alone what is left."""
    pairs = whole.pairs
    [answer] = yield [replace(_list_part(assessor, texts, pairs, "list"), pays=whole.pays)]
    if answer is None:
        return dict.fromkeys(pairs)
    outcomes = dict(zip(pairs, _outcomes(pairs, answer), strict=True))
    # where the call failed, the server has to be asked again, and with the list unless too long
    left = [
        pair
        for pair, outcome in outcomes.items()
        if isinstance(outcome, Failure)
        and (outcome.status != "call_failed" or is_too_long(outcome))
    ]
    if left and len(pairs) > 1:
        answers = yield [_list_part(assessor, texts, [pair], ALONE) for pair in left]
        for pair, own in zip(left, answers, strict=True):
            if own is not None:
                [outcomes[pair]] = _outcomes([pair], own)
    return outcomes


def _list_part(assessor: Assessor, texts: Texts, pairs: Sequence[Pair], name: str) -> JudgingPart:
    """The request for the grades of some documents, in their order."""
    prompt, count = assessor.prompt, len(pairs)
    schema = numbered_schema(count, prompt.grades, reason=prompt.front.reason)
    read = partial(parse_numbered, pairs, grades=prompt.grades)
    likely = [Judgement(pair, prompt.grades[0]) for pair in pairs]
    query, documents = texts.of(pairs[0])[0], [texts.of(pair)[1] for pair in pairs]
    request = assessor.list_request(query, documents, schema)
    return JudgingPart(name, request, read, likely, pairs[0], is_final=count == 1)


def _outcomes(pairs: Sequence[Pair], answer: Numbered | Failure) -> Numbered:
    """What a reply says of each of the documents that were shown."""
    if not isinstance(answer, Failure):
        return answer
    shared = f"in a list of {len(pairs)}: " if len(pairs) > 1 else ""
    return [replace(answer, pair=pair, detail=f"{shared}{answer.detail}") for pair in pairs]


class DocumentList(NamedTuple):
    """Pairs of a query whose documents are shown together, in their order.

    What the list's request takes is counted in the row of the pair `pays`, the first to be judged.
    """

    pairs: tuple[Pair, ...]
    pays: Pair

    def listed(self) -> dict[Pair, Listed]:
        """Where each document stands."""
        documents = tuple(pair.doc_id for pair in self.pairs)
        return {pair: Listed(documents, at) for at, pair in enumerate(self.pairs, start=1)}


def lists_of(pairs: Iterable[Pair], most: int, earlier: Lists) -> dict[Pair, DocumentList]:
    """The list in which each pair's document is shown.

    Those that were in a list stay in it, so that a reply to it stands when the pool grows. The
    others of a query are shuffled, by the query's id, and cut into lists of nearly equal length, of
    `most` documents at most.
    """
    lists: dict[Pair, DocumentList] = {}
    new: dict[str, list[str]] = {}
    for pair in pairs:
        if pair in earlier and pair not in lists:
            whole = tuple(Pair(pair.query_id, doc_id) for doc_id in earlier[pair])
            lists |= dict.fromkeys(whole, DocumentList(whole, pair))
        elif pair not in earlier:
            new.setdefault(pair.query_id, []).append(pair.doc_id)
    for query_id, doc_ids in new.items():
        shuffled = sorted(doc_ids)  # in an order by chance, in lists of nearly equal length
        Random(f"lists\0{query_id}").shuffle(shuffled)
        count = ceil(len(shuffled) / most)
        for start, end in pairwise(len(shuffled) * at // count for at in range(count + 1)):
            shown = shuffled[start:end]
            whole = tuple(Pair(query_id, doc_id) for doc_id in shown)
            first = Pair(query_id, next(filter(set(shown).__contains__, doc_ids)))
            lists |= dict.fromkeys(whole, DocumentList(whole, first))
    return lists


class Item(NamedTuple):
    """A pair, and what became of it where stored replies say that; else how it is asked about.

    `is_new` is false where an earlier pair was given the same inquiry.
    """

    pair: Pair
    by: Judged | Inquiry
    is_new: bool


class Inquiries:
    """Makes the inquiries of a run's pairs, which it is given in their order.

    `pairs` are all of them, which are gone through once here where documents are shown in lists.
    """

    def __init__(self, pairs: Iterable[Pair], texts: Texts, assessor: Assessor) -> None:
        self.texts = texts
        self.assessor = assessor
        front = assessor.prompt.front
        self._asks_once = not (front.has_parts or front.batch > 1)
        votes = range(assessor.repeat * assessor.votes, (assessor.repeat + 1) * assessor.votes)
        self._voters = [replace(assessor, repeat=repeat) for repeat in votes]
        self._is_single = self._asks_once and len(votes) == 1 and assessor.context is None
        self._lists: dict[Pair, DocumentList] = {}
        self.pairs = pairs
        if front.batch > 1:
            self.pairs = list(pairs)
            self._lists = lists_of(self.pairs, front.batch, assessor.lists)
        self._begun: dict[tuple[Pair, ...], tuple[Inquiry, int]] = {}
        self._queries: set[str] = set()

    def example(self, pair: Pair) -> Request | None:
        """The first request for a pair, were nothing stored, by inquiries made for it."""
        inquiry, _ = self.of(pair)
        return next((task.request for _, task in inquiry.open), None)

    def of(self, pair: Pair, whole: Request | None = None) -> tuple[Inquiry, bool]:
        """How a pair is asked about, and whether no pair was given that inquiry before.

        Pairs of one list have one inquiry. `whole` is the request for a pair that takes one, where
        it is made already.
        """
        if self._lists:
            return self._of_list(pair)
        if self._asks_once:
            texts = self.texts.of(pair)
            rounds_of_all = self._voted(lambda by: single_rounds(by, pair, *texts, whole))
            return Inquiry([pair], rounds_of_all), True
        pays = pair.query_id not in self._queries
        self._queries.add(pair.query_id)
        query, document = self.texts.of(pair)

        def rounds(by: Assessor) -> Rounds:
            def asked(shown: Document) -> Rounds:
                texts = Texts({query.id: query}, {pair.doc_id: shown})
                return point_rounds(by, texts, pair, pays=pays and shown is document)

            return passage_rounds(asked, pair, document, by.prompt.grades[-1])

        return Inquiry([pair], self._voted(rounds)), True

    def _voted(self, rounds_by: Callable[[Assessor], Rounds]) -> Rounds:
        """The rounds by which an assessor judges, or those of each of its votes."""
        ways = list(map(rounds_by, self._voters))
        return vote_rounds(ways) if len(ways) > 1 else ways[0]

    def _of_list(self, pair: Pair) -> tuple[Inquiry, bool]:
        """The inquiry of a pair's list, which is let go of once each of its pairs was given it."""
        whole = self._lists.pop(pair)
        inquiry, given = self._begun.pop(whole.pairs, (None, 0))
        if inquiry is None:
            rounds = self._voted(lambda by: list_rounds(by, self.texts, whole))
            inquiry = Inquiry(whole.pairs, rounds, whole.listed())
        if given + 1 < len(whole.pairs):
            self._begun[whole.pairs] = inquiry, given + 1
        return inquiry, not given

    def every(self, *, retry_failed: bool = False) -> Iterator[Item]:
        """All pairs in their order, as `recalled` gives them."""
        for chunk in in_chunks(self.pairs):
            yield from self.recalled(chunk, retry_failed=retry_failed)

    def recalled(self, chunk: Sequence[Pair], *, retry_failed: bool) -> list[Item]:
        """The pairs of a chunk, each with what stored replies say of it, or with its inquiry."""
        settled, whole = dict[Pair, Item](), dict[Pair, Request]()
        without = set[Pair]()  # what no stored reply says anything of
        if self._is_single:
            whole = {pair: self.assessor.request(*self.texts.of(pair)) for pair in chunk}
            replies = self.assessor.model.recall([*whole.values()])
            for pair, reply in zip(whole, replies, strict=True):
                if reply is None:
                    without.add(pair)
                elif judged := self._settled(pair, whole[pair], reply):
                    settled[pair] = Item(pair, judged, is_new=True)
        given = [(p, *self.of(p, whole.get(p))) for p in chunk if p not in settled]
        fresh = [inquiry for p, inquiry, is_new in given if is_new and p not in without]
        recall_inquiries(fresh, self.assessor.model, retry_failed=retry_failed)
        others = {p: Item(p, each.judged().get(p, each), is_new) for p, each, is_new in given}
        return [settled.get(pair) or others[pair] for pair in chunk]

    def _settled(self, pair: Pair, request: Request, reply: Reply) -> Judged | None:
        """What one reply says of a pair that takes one request; None where that is no grade.

        In a run that is made again nearly all pairs end here, in two thirds of the time that
        inquiries take.
        """
        outcome = None if cut_of(request, reply) else self.assessor.outcome_of(pair, reply)
        if not isinstance(outcome, Judgement):
            return None
        return Judged(
            outcome,
            1,
            reply.prompt_tokens,
            reply.completion_tokens,
            reply.cost,
            reply.model,
            reply.remembered,
            reply.shared,
            thought=reply.thought,
            sent=reply.sent,
        )


def check_reads(prompt: Prompt, model: str) -> None:
    """Raise `Misuse` where a prompt needs a model that reads it, and this one does not."""
    front = prompt.front
    if model == "similarity" and (front.has_parts or front.batch > 1 or front.examples):
        raise Misuse(
            f"similarity reads no prompt, so it cannot do what {prompt.name} asks for; name an LLM",
            parameter="model",
        )


def unanswered(
    inquiries: Inquiries, *, retry_failed: bool, worst: bool = False
) -> Iterator[Sequence[Request]]:
    """The requests that would be made for each pair that stored replies do not settle.

    What depends on replies is thought of as going well, each right at the first attempt; or, at
    the `worst`, as if no reply held what was asked for. A request that pairs share is among those
    of one of them alone.
    """
    for _, by, is_new in inquiries.every(retry_failed=retry_failed):
        if isinstance(by, Inquiry):
            yield _pretended(by, retry_failed, worst) if is_new else ()


def _pretended(inquiry: Inquiry, retry_failed: bool, worst: bool) -> list[Request]:
    """The requests of an inquiry, which is taken to its end with answers made up."""
    requests = list[Request]()
    while not inquiry.is_done:
        requests += [
            task.request
            for part, task in inquiry.open
            if part.pays is not None and calls_left(part, task, retry_failed)
        ]
        inquiry.pretend(retry_failed, worst=worst)
    return requests
