"""Judge by batches to the end: hand over, wait, collect, and again."""

from __future__ import annotations

from pathlib import Path

from labeler.collection.layout import Collection, open_collection
from labeler.errors import ProviderError
from labeler.judging.batch.collect import collected
from labeler.judging.batch.collected import CollectedBatches, Taken
from labeler.judging.batch.submit import asubmit
from labeler.judging.result import JudgeResult
from labeler.judging.session import JudgeOptions
from labeler.models.control import Control

WAIT_SECONDS = 60.0
MOST_LOOKS = 60
"""How often in a row `await_batches` looks again at a server that cannot be reached."""

SHORT_LOOKS = 10
"""How often in a row `await_batches` looks again for answers that a server counts and lacks."""

MOST_ROUNDS = 12
"""Rounds of requests that `await_batches` hands over at most: re-asks, methods, expired batches."""


async def await_batches(
    collection: Collection | Path | str,
    options: JudgeOptions,
    control: Control | None = None,
    every: float = WAIT_SECONDS,
) -> CollectedBatches:
    """Hand over what nobody has answered, wait, collect, and again, until all is answered.

    Batches that were submitted before are waited for, too; files that somebody else has answered
    are not. Each look is `every` seconds after the last.
    """
    control, opened = control or Control(), open_collection(collection)
    total, sets, result = Taken(), dict[str, JudgeResult](), None
    for _ in range(MOST_ROUNDS):
        submitted = await asubmit(opened, options, control)
        if not (submitted.batches or submitted.waiting):
            break
        result = await _rounds_end(opened, options, control, every, (total, sets))
        if control.stop.is_over or not (submitted.batches or result.ended):
            break
    left = (result.open, result.in_files, result.problems) if result else (0, 0, ())
    return CollectedBatches(total.collected, tuple(total.ended), tuple(sets.values()), *left)


async def _rounds_end(
    collection: Collection,
    options: JudgeOptions,
    control: Control,
    every: float,
    so_far: tuple[Taken, dict[str, JudgeResult]],
) -> CollectedBatches:
    """What the last look found, after which no batch is open but those that are not waited for."""
    total, sets = so_far
    short_looks = 0
    while True:
        result = await _collected_patiently(collection, options, control, every)
        total.collected.add(result.collected)
        total.ended += result.ended
        sets |= {judged.name: judged for judged in result.results}
        is_short = result.open == result.in_files + len(result.problems)
        short_looks = short_looks + 1 if is_short else 0
        is_done = result.open == result.in_files + result.lost or short_looks >= SHORT_LOOKS
        if is_done or control.stop.is_over:
            return result
        await control.stop.sleep(every)


async def _collected_patiently(
    collection: Collection, options: JudgeOptions, control: Control, every: float
) -> CollectedBatches:
    """What `acollect` gives, while a server that cannot be reached is looked for some times."""
    for _ in range(MOST_LOOKS):
        try:
            return await collected(collection, options.base_url, options.limits, control)
        except ProviderError as error:
            if control.stop.is_over:
                raise
            control.note(f"{error}; another look follows")
            await control.stop.sleep(every)
    return await collected(collection, options.base_url, options.limits, control)
