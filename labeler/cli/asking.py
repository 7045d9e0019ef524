"""What `judge`, `relabel` and `build` share: a set of labels from options, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeler.cli.screen import note, progress, say
from labeler.errors import Incomplete

if TYPE_CHECKING:
    from labeler.assessing import Assessor
    from labeler.data import Model, Pair, Request
    from labeler.formats.collection import Collection
    from labeler.judging import Pace
    from labeler.labeling import Job, Tally
    from labeler.models.brake import Brake
    from labeler.store import Store


@dataclass(frozen=True, slots=True)
class Asked:
    """The options with which labels are asked for; `None` is the default of what is not said."""

    prompt: str = "umbrela"
    model: str | None = None
    base_url: str | None = None
    name: str | None = None
    at_once: int | None = None
    retry_failed: bool = False
    dry_run: bool = False


async def label(
    collection: Collection, pairs: Sequence[Pair], asked: Asked, brake: Brake
) -> Tally | None:
    """Choose the model and judge `pairs` with it; with `dry_run`, only say what that would take."""
    from labeler.assessing import Assessor
    from labeler.choosing import choose, ready
    from labeler.guarding import Guard, guarded
    from labeler.judging import Pace
    from labeler.labeling import Job, check_free, label_name, texts_of
    from labeler.models.limiting import Ceiling, Gate
    from labeler.prompt import find_prompt
    from labeler.store import open_store

    prompt = find_prompt(asked.prompt)
    choice = await choose("judge", asked.model, asked.base_url)
    note(f"model: {choice}")
    texts = texts_of(collection)
    name = asked.name or label_name(prompt.name, choice.name)
    async with ready(choice, texts.documents.values()) as there:
        with open_store(collection.store) as store:
            at_once = asked.at_once or there.concurrency
            guard = Guard(Gate(Ceiling(at_once)), brake=brake)
            model = guarded(there.model, store, guard, patient=False)
            assessor = Assessor(prompt, model, inputs=there.inputs)
            check_free(collection, name, assessor)
            job = Job(collection, name, pairs, texts)
            if asked.dry_run:
                show_plan(job, assessor)
                return None
            pace = Pace(2 * at_once, asked.retry_failed, brake=brake)
            tally = await judge_with_progress(job, assessor, pace)
    if choice.caveat:
        note(choice.caveat)
    return tally


def wrapped(model: Model, store: Store, at_once: int, brake: Brake) -> Model:
    """The model with all policies around it: retries, a limit, and the memory."""
    from labeler.guarding import Guard, guarded
    from labeler.models.limiting import Ceiling, Gate

    return guarded(model, store, Guard(Gate(Ceiling(at_once)), brake=brake))


async def judge_with_progress(job: Job, assessor: Assessor, pace: Pace) -> Tally:
    """Judge with a progress bar."""
    from dataclasses import replace

    from labeler.labeling import judge_collection

    done = 0
    with progress("judging") as advance:

        def told(_judged: object) -> None:
            nonlocal done
            done += 1
            advance(done, len(job.pairs))

        try:
            tally = await judge_collection(job, assessor, replace(pace, told=told))
        finally:
            await assessor.model.close()
    report(job, tally)
    return tally


def show_plan(job: Job, assessor: Assessor) -> None:
    """Print how many calls there would be, about how many tokens, and one request in full."""
    from labeler.judging import plan

    planned = plan(job.pairs, job.texts, assessor)
    say(f"pairs       {len(job.pairs):,}")
    say(f"remembered  {planned.remembered:,}")
    say(f"calls       {planned.calls:,}, without re-asks")
    say(f"tokens      about {planned.tokens_in:,} in, at most {planned.tokens_out:,} out")
    show_request(planned.example)


def show_request(request: Request | None) -> None:
    """Print a request as the model would read it."""
    for role, content in request.messages if request else ():
        say(f"\n--- {role}\n{content}")


def report(job: Job, tally: Tally) -> None:
    """Print what was done, in counts that add up to the pool."""
    say(f"{tally.judged:,} of {tally.pairs:,} pairs judged, {tally.remembered:,} from the store")
    for status, count in tally.failures.items():
        if count:
            say(f"{count:,} {status}")
    say(f"tokens: {tally.prompt_tokens:,} in, {tally.completion_tokens:,} out")
    note(f"wrote {job.collection.judgements(job.name)} and {job.collection.qrels(job.name)}")


def check_complete(tally: Tally | None) -> None:
    """Raise `Incomplete` where pairs have no label."""
    if tally and tally.failed:
        problem = f"{tally.failed:,} of {tally.pairs:,} pairs have no label"
        raise Incomplete(f"{problem}; run the same command with --retry-failed to ask again")
