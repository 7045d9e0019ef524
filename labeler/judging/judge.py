"""`judge`: have a model grade the pairs of a collection's pool."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from labeler.collection.batches import held_back
from labeler.collection.judgements import JudgementLines, repeat_file
from labeler.collection.layout import AnyCollection, Collection, locked_in_loop, open_collection
from labeler.collection.pool import Pairs
from labeler.data import Pair
from labeler.errors import BudgetReached, Misuse
from labeler.files.atomic import replacing
from labeler.judging.assessor import Assessor, Texts, as_shown
from labeler.judging.in_flight import PairOptions, judge_pairs, proof_in
from labeler.judging.job import (
    DerivedPairs,
    Job,
    JudgeResult,
    Tally,
    check_free,
    check_keeps,
    default_name,
    do_job,
    job_of,
    origin,
    pool_of,
    texts_of,
)
from labeler.judging.methods.inquiries import Inquiries, check_reads, unanswered
from labeler.judging.methods.inquiry import CUTS, TRIES
from labeler.judging.pilot import AskedRound, piloted
from labeler.model import Request
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.cost import Tokens
from labeler.models.policies.call import Deferral
from labeler.models.policies.stack import Guard
from labeler.models.session import (
    Act,
    CallOptions,
    Control,
    Session,
    SessionOptions,
    Underway,
    open_session,
    select_model,
    sync,
)
from labeler.models.settings import (
    AnyModel,
    AssessorSettings,
    Proof,
)
from labeler.options import COUNT, given, option
from labeler.prompt import checked_prompt
from labeler.report.result import Merged, Result

# What judging would take, before any pair is asked about.


@dataclass(frozen=True, slots=True)
class JudgingPlan(Result):
    """How many pairs there are, how many of them need no call, and what the others would take."""

    pairs: int
    remembered: int
    calls: Merged[CallPlan]


def plan_job(
    job: Job, assessor: Assessor, session: Session, *, retry_failed: bool = False, times: int = 1
) -> JudgingPlan:
    """What judging the pairs would take, as others took before that the same assessor judged.

    Of several `times`, each counts as so many pairs more. At most it takes the calls for documents,
    too, to which the reply to their list gives no grade.
    """
    pair = next(iter(job.pairs), None)
    example = Inquiries(job.pairs, job.texts, assessor).example(pair) if pair else None
    asked = 0

    def of_pairs(time: int, *, worst: bool = False) -> Iterator[Sequence[Request]]:
        """The requests for each pair that stored replies do not settle."""
        inquiries = Inquiries(job.pairs, job.texts, replace(assessor, repeat=time))
        return unanswered(inquiries, retry_failed=retry_failed and not time, worst=worst)

    def likely() -> Iterator[Request]:
        nonlocal asked
        for requests in chain.from_iterable(map(of_pairs, range(times))):
            asked += 1
            yield from requests

    def further() -> Iterator[Request]:
        """For documents alone, if no list was answered with the grades of any of them."""
        for time in range(times):
            for first, every in zip(of_pairs(time), of_pairs(time, worst=True), strict=True):
                yield from every[len(first) :]

    if assessor.prompt.front.batch == 1:
        calls = plan_calls(likely(), session, example, tries=TRIES)
    else:
        first = list(likely())
        every = chain(first, further())
        calls = plan_calls(every, session, example, likely=len(first), tries=TRIES)
    if earlier := session.store.fact(_fact_of(assessor)):
        pairs, *tokens = json.loads(earlier)
        calls = replace(calls, about=Tokens(*tokens).times(asked / pairs), learned=pairs)
    total = job.total + (times - 1) * len(job.pairs)
    return JudgingPlan(total, total - asked, calls)


def _fact_of(assessor: Assessor) -> str:
    """Where a run keeps what its pairs took, so that a plan of other pairs tells what they will."""
    return f"tokens of pairs with {assessor.prompt.id} by {assessor.model.id}"


# A judging session: choose the model, open the store, guard the model, judge, write.

PairsOf = Callable[[Collection, Texts], Iterable[Pair] | DerivedPairs]
"""Which pairs of a collection to judge; the texts are those that they should be among."""


DEFAULT_PROMPT = "four-grades"


@dataclass(frozen=True, slots=True)
class JudgeOptions(CallOptions):
    """Who judges, under which name, and within which limits.

    `prompt` is a shipped prompt's name or the path of a file; empty, it is the declared one,
    else the default. `model` is the name of a server's model, or `local`, `similarity`,
    `gguf:PATH`, or a `Model`, or what is declared of an assessor; None takes LABELER_MODEL, or
    where there is no key and no server, an embedded model. `name` is that of the new
    judgements; None is the declared assessor's, else PROMPT-MODEL. Of `held_out` queries no
    grade is shown as an example. `deferral` says what is not asked live, beside what waits in
    a batch. `proof` is what pairs have to show for the run to go on. Each pair is asked about
    `votes` times, and its grade is what most say.
    """

    prompt: str = option("", "A grading prompt's name, or a file's path.", usual=DEFAULT_PROMPT)
    model: AnyModel | None = None
    base_url: str | None = None
    name: str | None = option(
        None, "The judgements' name; else PROMPT-MODEL.", metavar="NAME", flags="--as"
    )
    held_out: frozenset[str] = frozenset()
    deferral: Deferral = field(default_factory=Deferral)
    proof: Proof = field(default_factory=Proof)
    votes: int = option(1, "Ask so often; the grade is what most say.", COUNT, rare=True)

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
        # not patient: a pair that another process asks about waits, and others are judged meanwhile
        how = {"patient": False, "deferral": self.deferral}
        return self.session_of(self.model, self.base_url, **how)


class Prepared(NamedTuple):
    """A job, who does it, and the session in which that assessor can be asked."""

    job: Job
    assessor: Assessor
    session: Session


def judge_set(
    collection: Collection,
    pairs_of: PairsOf,
    options: JudgeOptions,
    control: Control,
    times: int = 1,
) -> Act[JudgeResult, JudgingPlan]:
    """Judge pairs of a collection, and write their judgements and qrels.

    If pairs are asked about several `times`, the first gives the judgements; what the others give
    is kept beside them.
    """

    async def begin() -> JudgeResult:
        async with prepare(collection, pairs_of, options, control, options.session) as prepared:
            return await _judged(prepared, options, control, times)

    async def plan() -> JudgingPlan:
        session = replace(options.session, rehearsal=True)
        async with prepare(collection, pairs_of, options, control, session) as prepared:
            return plan_job(*prepared, retry_failed=options.retry_failed, times=times)

    return Act(begin, plan)


async def _judged(
    prepared: Prepared, options: JudgeOptions, control: Control, times: int
) -> JudgeResult:
    """Judge a job, and ask again as many `times` as are wanted.

    Where the server turns out to cut prompts, a second pass judges by passages what may be longer.
    """
    job, assessor, session = prepared
    guard, earlier = session.guard, replace(control.spent)
    selection, proof = session.selection, proof_in(session, options.proof, len(job.pairs))
    asking = PairOptions(retry_failed=options.retry_failed, proof=proof)
    tally = await judged_after_pilot(job, assessor, guard, control, asking)
    if tally.read_at_most.is_cut and assessor.context is None and not tally.stopped:
        context = tally.read_at_most.tokens
        control.note(
            f"{CUTS} at {context:,} tokens: documents that may be longer are judged by passages"
        )
        by_passages = replace(asking, proof=None)
        again = replace(assessor, context=context)
        tally = await judged_after_pilot(job, again, guard, control, by_passages)
    took = (tally.pairs, tally.prompt_tokens, tally.completion_tokens)
    if all(took):
        session.store.learn(_fact_of(assessor), json.dumps(took))
    if times > 1 and not tally.stopped:
        await ask_again(prepared, proof, control, times, tally)
    is_priced = selection.price is not None
    return JudgeResult(job, tally, control.spent.since(earlier), is_priced, selection.caveat)


async def ask_again(
    prepared: Prepared, proof: Proof | None, control: Control, times: int, tally: Tally
) -> None:
    """Ask about the pairs of a job more times, each a request of its own, and keep what they give.

    A repeat that the budget cuts short is written only after a later run completes it; its replies
    are kept until then. The tally holds what ended it.
    """
    (job, assessor, session), rows = prepared, JudgementLines(origin(prepared.assessor))
    guard = session.guard
    underway = Underway((times - 1) * len(job.pairs), guard, asks=assessor.model.is_server)
    with control.judging(underway) as on_judged:
        in_hand = guard.limiter.limits.in_hand
        options = PairOptions(in_hand, False, on_judged, guard.stop, proof=proof)
        for time in range(1, times):
            again, lines = replace(assessor, repeat=time), list[str]()
            try:
                async for judged in judge_pairs(job.pairs, job.texts, again, options):
                    lines.append(f"{rows.line(judged)}\n")
                    tally.asked_again += not judged.remembered
            except BudgetReached as reached:
                tally.stopped = reached
                return
            async with locked_in_loop(job.collection, guard.stop, control.note):
                with replacing(repeat_file(job.collection, job.name, time)) as out:
                    out.writelines(lines)


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
    if options.prompt and not selection.reads_prompt:
        control.note(f"similarity reads no prompt: {prompt.name} gives it the scale alone")
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
    async with open_session(selection, documents, collection.store, control) as session:
        assessor = Assessor.asked_in(session, prompt)
        assessor = replace(assessor, votes=options.votes)
        assessor = as_shown(assessor, collection, name, texts, options.held_out)
        check_free(collection, name, assessor)
        yield Prepared(job, assessor, session)


async def judged_after_pilot(
    job: Job, assessor: Assessor, guard: Guard, control: Control, asking: PairOptions | None = None
) -> Tally:
    """Judge the pairs of a job, after its pilot, and let the caller of the session watch."""
    underway = Underway(len(job.pairs), guard, asks=assessor.model.is_server)
    with control.judging(underway) as on_judged:
        asking = asking or PairOptions()
        in_hand = guard.limiter.limits.in_hand
        asking = replace(asking, at_once=in_hand, stop=guard.stop, note=control.note)
        pilot = None
        if asking.proof is not None:
            asking, pilot = await piloted(AskedRound(assessor, job.pairs, job.texts), asking, guard)
        tally = await do_job(job, assessor, replace(asking, on_judged=on_judged))
        tally.pilot = pilot
        return tally


MOST_TIMES = 10
"""The most times that a pair is asked about."""


def ajudge(
    collection: AnyCollection,
    options: JudgeOptions | None = None,
    *,
    repeat: int = 1,
    control: Control | None = None,
    **settings: Any,
) -> Act[JudgeResult, JudgingPlan]:
    """Judge the pairs of a collection's pool; `settings` are fields of `JudgeOptions`.

    With `repeat=3` each pair is asked about three times. The first gives its grade; the others are
    kept in `repeats/`, from which `retest_of` tells how far the assessor agrees with itself.
    Replies are kept as they arrive: the same call, made again, asks only for what is missing. A
    pair that failed has no grade; `failures` of the result counts them. `control` shows progress.

    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> judge(collection, model=fake_model('{"grade": 2}'), name="first")
    JudgeResult('first', judged=4 of 4)
    >>> print(collection.qrels("first").read_text().splitlines()[0])
    q1 0 cats 2
    """
    if not 1 <= repeat <= MOST_TIMES:
        raise Misuse(
            f"a pair is asked about 1 to {MOST_TIMES} times, not {repeat}", parameter="repeat"
        )
    opened, asked = open_collection(collection), given(JudgeOptions, options, settings)
    return judge_set(opened, pool_of, asked, control or Control(), repeat)


judge = sync(ajudge)


def ajudge_sample(
    collection: AnyCollection,
    pairs: int,
    options: JudgeOptions | None = None,
    *,
    seed: int = 0,
    control: Control | None = None,
) -> Act[JudgeResult, JudgingPlan]:
    """Judge this many `pairs` of the pool, drawn by chance, each as likely as any; or all of fewer.

    The same seed draws the same pairs of the same pool.
    """

    def sample_of(opened: Collection, texts: Texts) -> Pairs:
        pool = pool_of(opened, texts)
        drawn = Random(seed).sample(range(len(pool)), min(pairs, len(pool)))
        return pool.keep(pool.order()[sorted(drawn)])

    opened = open_collection(collection)
    return judge_set(opened, sample_of, options or JudgeOptions(), control or Control())
