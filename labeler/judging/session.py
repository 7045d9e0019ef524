"""A judging session: choose the model, open the store, guard the model, judge, write."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from labeler.collection.batches import held_back
from labeler.collection.judgements import JudgementLines
from labeler.collection.layout import Collection
from labeler.collection.lock import locked_in_loop
from labeler.collection.repeats import repeat_file
from labeler.errors import BudgetReached
from labeler.files.atomic import replacing
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.context import CUTS
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import (
    Job,
    Pairs,
    check_free,
    check_keeps,
    default_name,
    do_job,
    job_of,
    origin,
    texts_of,
)
from labeler.judging.methods.inquiries import check_reads
from labeler.judging.methods.shown import as_shown, company_of_whole
from labeler.judging.part import DerivedPairs
from labeler.judging.pilot import FEWEST, piloted
from labeler.judging.plan import JudgingPlan, learn_from, plan_job
from labeler.judging.result import JudgeResult
from labeler.judging.tally import Tally
from labeler.models.control import Control, Underway
from labeler.models.limits import Limits, Proof
from labeler.models.policies.defer import Deferral
from labeler.models.policies.stack import Guard
from labeler.models.session import Session, SessionOptions, open_session, select_model
from labeler.models.settings import AnyModel, AssessorSettings
from labeler.prompt import checked_prompt

PairsOf = Callable[[Collection, Texts], Pairs | DerivedPairs]
"""Which pairs of a collection to judge; the texts are those that they should be among."""


DEFAULT_PROMPT = "four-grades"
IN_HAND = 4
"""Pairs in hand for each call that may be under way: some wait for their reply to be confirmed."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Who judges, under which name, and within which limits.

    `prompt` is a shipped prompt's name or the path of a file; empty, it is the declared one,
    else the default. `model` is the name of a server's model, or `local`, `similarity`,
    `gguf:PATH`, or a `Model`, or what is declared of an assessor; None takes LABELER_MODEL, or
    where there is no key and no server, an embedded model. `name` is that of the new
    judgements; None is the declared assessor's, else PROMPT-MODEL. `concurrency` bounds the
    calls under way at once. With `retry_failed`, pairs are asked about again where a reply was
    no grade. With `redact`, the store keeps hashes of requests and not their texts. Of
    `held_out` queries no grade is shown as an example. `deferral` says what is not asked live,
    beside what waits in a batch. `proof` is what pairs have to show for the run to go on. Each
    pair is asked about `votes` times, and its grade is what most say.
    """

    prompt: str = ""
    model: AnyModel | None = None
    base_url: str | None = None
    name: str | None = None
    concurrency: int | None = None
    retry_failed: bool = False
    redact: bool = False
    limits: Limits = field(default_factory=Limits)
    held_out: frozenset[str] = frozenset()
    deferral: Deferral = field(default_factory=Deferral)
    proof: Proof = field(default_factory=Proof)
    votes: int = 1

    @property
    def declared(self) -> AssessorSettings:
        """What is declared of the assessor, where anything is."""
        return self.model if isinstance(self.model, AssessorSettings) else AssessorSettings()

    @property
    def grading_prompt(self) -> str:
        """The prompt that is asked with: the one named, the one declared, or the default."""
        return self.prompt or self.declared.prompt or DEFAULT_PROMPT

    @property
    def session(self) -> SessionOptions:
        """Which model to ask, and how."""
        options = SessionOptions(self.model, self.base_url, self.limits, self.concurrency)
        return replace(options, redacted=self.redact, patient=False, deferral=self.deferral)


class Prepared(NamedTuple):
    """A job, who does it, and the session in which that assessor can be asked."""

    job: Job
    assessor: Assessor
    session: Session


async def judge_set(
    collection: Collection,
    pairs_of: PairsOf,
    options: JudgeOptions,
    control: Control,
    times: int = 1,
) -> JudgeResult:
    """Judge pairs of a collection, and write their judgements and qrels.

    Of several `times`, the first gives the judgements; what the others give is kept beside them.
    """
    async with prepare(collection, pairs_of, options, control, options.session) as prepared:
        job, assessor, session = prepared
        guard, earlier = session.guard, replace(control.spent)
        selection = session.selection
        deferral, proof = selection.options.deferral, options.proof
        is_free = selection.choice.name == "similarity"
        if is_free or deferral.waiting or not deferral.is_live or len(job.pairs) < FEWEST:
            proof = Proof(1, no_pilot=True)
        asking = PairOptions(retry_failed=options.retry_failed, proof=proof)
        tally = await watched(job, assessor, guard, control, asking)
        if tally.read_at_most.is_cut and assessor.context is None and not tally.stopped:
            context = tally.read_at_most.tokens
            control.note(
                f"{CUTS} at {context:,} tokens: documents that may be longer are judged by passages"
            )
            by_passages = replace(asking, proof=Proof(1, no_pilot=True))
            again = replace(assessor, context=context)
            tally = await watched(job, again, guard, control, by_passages)
        learn_from(tally, session, assessor)
        if times > 1 and not tally.stopped:
            tally.stopped = await ask_again(job, assessor, guard, control, times)
        is_priced = selection.price is not None
        return JudgeResult(job, tally, control.spent.since(earlier), is_priced, selection.caveat)


async def ask_again(
    job: Job, assessor: Assessor, guard: Guard, control: Control, times: int
) -> BudgetReached | None:
    """Ask about the pairs of a job more times, each a request of its own, and keep what they give.

    A time that the budget cuts short is written once it is whole: its replies are kept until then.
    Returns what ended it before that.
    """
    underway = Underway((times - 1) * len(job.pairs), guard, asks=assessor.model.is_server)
    with control.judging(underway) as on_judged:
        options = PairOptions(IN_HAND * guard.limiter.limits.at_once, False, on_judged, guard.stop)
        for time in range(1, times):
            again = replace(assessor, repeat=time)
            rows, path = (
                JudgementLines(origin(assessor)),
                repeat_file(job.collection, job.name, time),
            )
            try:
                judging = judge_pairs(job.pairs, job.texts, again, options)
                lines = [rows.line(judged) async for judged in judging]
            except BudgetReached as reached:
                return reached
            async with locked_in_loop(job.collection, guard.stop, control.note):
                with replacing(path) as out:
                    out.writelines(f"{line}\n" for line in lines)
    return None


async def plan_set(
    collection: Collection,
    pairs_of: PairsOf,
    options: JudgeOptions,
    control: Control,
    times: int = 1,
) -> JudgingPlan:
    """What judging pairs of a collection would take; asks nothing and writes nothing."""
    rehearsal = replace(options.session, rehearsal=True)
    async with prepare(collection, pairs_of, options, control, rehearsal) as prepared:
        return plan_job(*prepared, retry_failed=options.retry_failed, times=times)


@asynccontextmanager
async def prepare(
    collection: Collection,
    pairs_of: PairsOf,
    options: JudgeOptions,
    control: Control,
    session_options: SessionOptions,
) -> AsyncIterator[Prepared]:
    """A job, who does it, and the session, open as long as the block runs."""
    session_options = held_back(collection, session_options)
    prompt = checked_prompt(options.grading_prompt, note=control.note)
    prompt = prompt.read_by(options.declared.reader)
    selection = await select_model("judge", session_options, control)
    check_reads(prompt, selection.choice.name)
    texts = texts_of(collection)
    own_name = "" if options.prompt else options.declared.name
    name = options.name or own_name or default_name(prompt.name, selection.name)
    pairs, parent = pairs_of(collection, texts), None
    if isinstance(pairs, DerivedPairs):
        pairs, parent = pairs
        if parent.only:
            check_keeps(collection, name, pairs)
    job = job_of(collection, name, pairs, texts, parent)
    if collection.judgements(name).exists() and not collection.store.exists():
        lost = f"{name} is judged already, but {collection.store} is not there"
        control.note(f"{lost}: no reply is remembered, and all pairs are asked about anew")
    documents = texts.documents.values()
    with _left_uncollected():
        async with open_session(selection, documents, collection.store, control) as session:
            assessor = Assessor.asked_in(session, prompt)
            assessor = replace(assessor, votes=options.votes, context=options.declared.context)
            assessor = as_shown(assessor, collection, name, texts, options.held_out)
            company = company_of_whole(collection, parent, prompt, texts)
            assessor = replace(assessor, company=company)
            check_free(collection, name, assessor)
            yield Prepared(job, assessor, session)


@contextmanager
def _left_uncollected() -> Iterator[None]:
    """Keep the garbage collector from looking through texts and pairs, which stay to the end."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def watched(
    job: Job, assessor: Assessor, guard: Guard, control: Control, asking: PairOptions | None = None
) -> Tally:
    """Judge the pairs of a job, after its pilot, and let the caller of the session watch."""
    underway = Underway(len(job.pairs), guard, asks=assessor.model.is_server)
    with control.judging(underway) as on_judged:
        at_once, pilot = IN_HAND * guard.limiter.limits.at_once, None
        asking = replace(asking or PairOptions(), at_once=at_once, stop=guard.stop)
        if asking.proof and not asking.proof.no_pilot:
            asking, pilot = await piloted(job, assessor, asking, guard)
        for sentence in pilot.sentences() if pilot and pilot.hours else ():
            control.note(sentence)
        tally = await do_job(job, assessor, replace(asking, on_judged=on_judged), control.note)
        tally.pilot = pilot
        return tally
