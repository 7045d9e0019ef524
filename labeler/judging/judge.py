"""`judge`: have a model grade the pairs of a collection's pool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from labeler.collection.layout import Collection, open_collection
from labeler.data import Pair
from labeler.errors import Misuse
from labeler.judging.assessor import Texts
from labeler.judging.job import pool_of
from labeler.judging.plan import JudgingPlan
from labeler.judging.result import JudgeResult
from labeler.judging.session import JudgeOptions, judge_set, plan_set
from labeler.models.control import Control
from labeler.models.limits import Limits, Proof
from labeler.models.loop import run_to_end
from labeler.models.settings import AnyModel

MOST_TIMES = 10
"""A pair is asked about so often at most."""


def judge(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    *,
    prompt: str = "",
    model: AnyModel | None = None,
    base_url: str | None = None,
    name: str | None = None,
    concurrency: int | None = None,
    retry_failed: bool = False,
    redact: bool = False,
    repeat: int = 1,
    limits: Limits | None = None,
    proof: Proof | None = None,
    votes: int = 1,
    control: Control | None = None,
) -> JudgeResult:
    """Judge the pairs of a collection's pool; `JudgeOptions` says what the settings mean.

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
    options = JudgeOptions(
        prompt, model, base_url, name, concurrency, retry_failed, redact, limits or Limits()
    )
    options = replace(options, proof=proof or Proof(), votes=votes)
    control = control or Control()
    return run_to_end(lambda stop: ajudge(collection, options, control.with_stop(stop), repeat))


async def ajudge(
    collection: Collection | Path | str,
    options: JudgeOptions | None = None,
    control: Control | None = None,
    repeat: int = 1,
) -> JudgeResult:
    """Judge the pairs of a collection's pool: `judge` for callers that are asynchronous."""
    opened, times = open_collection(collection), _times(repeat)
    return await judge_set(opened, pool_of, options or JudgeOptions(), control or Control(), times)


def _times(repeat: int) -> int:
    """How often each pair is asked about, within bounds."""
    if not 1 <= repeat <= MOST_TIMES:
        problem = f"a pair is asked about 1 to {MOST_TIMES} times, not {repeat}"
        raise Misuse(problem, parameter="repeat")
    return repeat


async def ajudge_sample(
    collection: Collection | Path | str,
    pairs: int,
    options: JudgeOptions | None = None,
    control: Control | None = None,
    seed: int = 0,
) -> JudgeResult:
    """Judge so many pairs of the pool, drawn by chance, each as likely as any; or all of fewer.

    The same seed draws the same pairs of the same pool.
    """

    def sample_of(opened: Collection, texts: Texts) -> list[Pair]:
        pool = sorted(pool_of(opened, texts))
        return sorted(Random(seed).sample(pool, min(pairs, len(pool))))

    opened = open_collection(collection)
    return await judge_set(opened, sample_of, options or JudgeOptions(), control or Control())


async def aplan_judging(
    collection: Collection | Path | str,
    options: JudgeOptions | None = None,
    control: Control | None = None,
    repeat: int = 1,
) -> JudgingPlan:
    """What `ajudge` would take; asks nothing and writes nothing."""
    opened, times = open_collection(collection), _times(repeat)
    return await plan_set(opened, pool_of, options or JudgeOptions(), control or Control(), times)
