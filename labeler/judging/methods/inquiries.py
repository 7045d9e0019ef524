"""How the pairs of a run are asked about: each alone, in parts, or in lists of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from labeler.data import Failure, Judged, Judgement, Pair
from labeler.errors import Misuse
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.attempts import in_chunks
from labeler.judging.context import cut_of
from labeler.judging.methods.comparisons import Circles, company_of, comparison_rounds
from labeler.judging.methods.inquiry import (
    Inquiry,
    JudgingPart,
    Rounds,
    calls_left,
    recall_inquiries,
)
from labeler.judging.methods.lists import DocumentList, list_rounds, lists_of
from labeler.judging.methods.points import point_rounds
from labeler.judging.methods.single import single_rounds, vote_rounds
from labeler.model import Request
from labeler.prompt import Prompt

Item = tuple[Pair, Judged | Inquiry]
"""A pair, and what became of it where stored replies say that; else how it is asked about."""


class Inquiries:
    """Makes the inquiries of a run's pairs, which it is given in their order.

    `pairs` are all of them, which are gone through once here where documents are shown in lists.
    """

    def __init__(self, pairs: Iterable[Pair], texts: Texts, assessor: Assessor) -> None:
        self.texts = texts
        self.assessor = assessor
        front = assessor.prompt.front
        self._asks_once = not (front.has_parts or front.comparisons or front.batch > 1)
        votes = range(assessor.repeat * assessor.votes, (assessor.repeat + 1) * assessor.votes)
        self._voters = [replace(assessor, repeat=repeat) for repeat in votes]
        self.is_single = self._asks_once and len(votes) == 1 and assessor.context is None
        self._lists: dict[Pair, DocumentList] = {}
        self.pairs = pairs
        if front.batch > 1:
            self.pairs = list(pairs)
            self._lists = lists_of(self.pairs, front.batch, assessor.lists)
        self._circles: Circles | None = None
        if front.comparisons:
            self.pairs = list(pairs)
            company = assessor.company or company_of(self.pairs)
            self._circles = Circles(company, front.comparisons.each, frozenset(self.pairs))
        self._begun: dict[tuple[Pair, ...], tuple[Inquiry, int]] = {}
        self._queries: set[str] = set()

    @property
    def shares_parts(self) -> bool:
        """Whether all pairs of a query wait for one request before they are asked about."""
        return self.assessor.prompt.front.questions is not None

    def example(self, pair: Pair) -> Request | None:
        """The first request for a pair, were nothing stored."""
        if self._circles:
            inquiry, _ = self.of(pair)
        elif self._lists:
            whole = self._lists[pair]
            inquiry = Inquiry(whole.pairs, list_rounds(self._voters[0], self.texts, whole))
        else:
            inquiry, _ = Inquiries([pair], self.texts, self.assessor).of(pair)
        return next((task.request for _, task in inquiry.open), None)

    def of(self, pair: Pair) -> tuple[Inquiry, bool]:
        """How a pair is asked about, and whether no pair was given that inquiry before.

        Pairs of one list have one inquiry.
        """
        if self._lists:
            return self._of_list(pair)
        if self._circles:
            opponents = self._circles.opponents(pair)
            rounds = self._voted(lambda by: comparison_rounds(by, self.texts, pair, opponents))
            return Inquiry([pair], rounds), True
        if self._asks_once:
            return self._alone(pair), True
        pays = pair.query_id not in self._queries
        self._queries.add(pair.query_id)
        rounds = self._voted(lambda by: point_rounds(by, self.texts, pair, pays=pays))
        return Inquiry([pair], rounds), True

    def _alone(self, pair: Pair, request: Request | None = None) -> Inquiry:
        """How a pair is asked about whose document is shown alone, first by that request."""
        texts = self.texts.of(pair)
        return Inquiry([pair], self._voted(lambda by: single_rounds(by, pair, *texts, request)))

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

    def recalled(self, chunk: Sequence[Pair], *, retry_failed: bool = False) -> list[Item]:
        """The pairs of a chunk, each with what stored replies say of it, or with its inquiry."""
        if self.is_single:
            return self._recalled_singly(chunk, retry_failed)
        given = [(pair, *self.of(pair)) for pair in chunk]
        fresh = [inquiry for _, inquiry, is_new in given if is_new]
        recall_inquiries(fresh, self.assessor.model, retry_failed=retry_failed)
        return [(pair, inquiry.judged().get(pair, inquiry)) for pair, inquiry, _ in given]

    def _recalled_singly(self, chunk: Sequence[Pair], retry_failed: bool) -> list[Item]:
        """The same where a pair takes one request: quick, as that is all that most runs do."""
        assessor, result = self.assessor, list[Item]()
        requests = [assessor.request(*self.texts.of(pair)) for pair in chunk]
        replies = assessor.model.recall(requests)
        for pair, request, reply in zip(chunk, requests, replies, strict=True):
            is_whole = reply and not cut_of(request, reply)
            outcome = assessor.outcome_of(pair, reply) if reply and is_whole else None
            if reply and isinstance(outcome, Judgement):
                spent = (reply.prompt_tokens, reply.completion_tokens, reply.cost)
                whence = (reply.model, reply.remembered, reply.shared)
                judged = Judged(outcome, 1, *spent, *whence, thought=reply.thought, sent=reply.sent)
                result.append((pair, judged))
                continue
            inquiry = self._alone(pair, request)
            if reply:
                inquiry.open[0][1].take_in(reply)
            result.append((pair, inquiry))
        failed = [i for _, i in result if isinstance(i, Inquiry) and i.open[0][1].attempts]
        if not failed:
            return result
        recall_inquiries(failed, assessor.model, retry_failed=retry_failed)
        return [
            (pair, item.judged().get(pair, item) if isinstance(item, Inquiry) else item)
            for pair, item in result
        ]


def check_reads(prompt: Prompt, model: str) -> None:
    """Raise `Misuse` where a prompt needs a model that reads it, and this one does not."""
    front = prompt.front
    if model == "similarity" and (
        front.has_parts or front.batch > 1 or front.examples or front.comparisons
    ):
        problem = f"similarity reads no prompt, so it cannot do what {prompt.name} asks for"
        raise Misuse(f"{problem}; name an LLM", parameter="model")


def unanswered(
    inquiries: Inquiries, *, retry_failed: bool = False, worst: bool = False
) -> Iterator[Sequence[Request]]:
    """The requests that would be made for each pair that stored replies do not settle.

    What depends on replies is thought of as going well, each right at the first attempt; or, at
    the `worst`, as if no reply held what was asked for. A request that pairs share is among those
    of one of them alone.
    """
    begun: dict[int, Inquiry] = {}
    for chunk in in_chunks(inquiries.pairs):
        for _, item in inquiries.recalled(chunk, retry_failed=retry_failed):
            if id(item) in begun:
                yield ()
            elif isinstance(item, Inquiry):
                begun[id(item)] = item
                yield _pretended(item, retry_failed, _failed if worst else _as_likely)
        if inquiries.is_single:
            begun.clear()


def _pretended(
    inquiry: Inquiry, retry_failed: bool, answer: Callable[[JudgingPart], object]
) -> list[Request]:
    """The requests of an inquiry, which is taken to its end with answers made up."""
    requests = list[Request]()
    while not inquiry.is_done:
        requests += [
            task.request
            for part, task in inquiry.open
            if part.pays is not None and calls_left(part, task, retry_failed)
        ]
        inquiry.pretend(answer, retry_failed)
    return requests


def _as_likely(part: JudgingPart) -> object:
    return part.likely


def _failed(part: JudgingPart) -> object:
    return Failure(part.pays or Pair("", ""), "unparsable", "")
