"""Ways of asking in simulated time, beside formulas and real runs, for `simulate_scale.py`."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench_live import make_collection, run, served
from simulated_calls import Played, World, play

from labeler.models.call_plan import CallTimes, duration_of
from labeler.models.policies.limits import RateLimits

SEEDS = 4
MILLION = 10**6
PROCESS = 0.0011


@dataclass(frozen=True)
class Way:
    """A server and how it is asked, in words and as a world; `pairs` are asked in a real run."""

    words: str
    world: World
    pairs: int = 0


WAYS = (
    Way("16 calls at once, 1 s each", World(), 2000),
    Way("256 calls at once, 1 s each", World(limits=RateLimits(256)), 8000),
    Way("5,000 a minute, told", World(rpm=5000, limits=RateLimits(256, 5000)), 8000),
    Way("5,000 a minute, not told", World(rpm=5000, limits=RateLimits(256)), 8000),
    Way("30,000 a minute, not told", World(rpm=30_000, limits=RateLimits(1024)), 30_000),
    Way("4,000,000 tokens a minute, told", World(limits=RateLimits(256, None, 4e6)), 8000),
    Way("256 at once, 1 in 100 lost", World(lost=0.01, limits=RateLimits(256)), 8000),
    Way("the process", World(0.2, process=PROCESS, limits=RateLimits(1024)), 16_000),
    Way(
        "4 workers on 2 cores",
        World(0.2, process=PROCESS, processes=4, cores=2, limits=RateLimits(512)),
        16_000,
    ),
    Way(
        "4 workers, 5,000 a minute in shares",
        World(rpm=5000, processes=4, cores=2, process=PROCESS, limits=RateLimits(256, 5000)),
        8000,
    ),
)

REAL = (
    Way("50 ms, 8 at once", World(0.05, limits=RateLimits(8)), 4000),
    Way("200 ms, 16 at once", World(0.2, limits=RateLimits(16)), 3000),
    Way("200 ms, 6,000 a minute, told", World(0.2, rpm=6000, limits=RateLimits(64, 6000)), 4000),
    Way("200 ms, 6,000 a minute, not told", World(0.2, rpm=6000, limits=RateLimits(64)), 4000),
    Way("50 ms, 3,000 a minute, not told", World(0.05, rpm=3000, limits=RateLimits(64)), 3000),
)


def formula(world: World, calls: int) -> float:
    """What the formula says of a world; of a limit that was not told, as if it were."""
    requests = world.limits.requests or world.rpm
    limits = RateLimits(world.limits.at_once, requests, world.limits.tokens)
    times = CallTimes(world.seconds, world.process / min(world.processes, world.cores))
    return duration_of(calls, calls * world.tokens, limits, times).seconds


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def played(world: World, calls: int, seed: int) -> list[Played]:
    return [play(world, calls, seed + number) for number in range(SEEDS)]


def show_simulated(seed: int) -> None:
    """Each way in simulated time, and what the formula says of a million more calls, as TOML."""
    for way in WAYS:
        runs = played(way.world, way.pairs, seed)
        rate, error = mean_and_error([each.rate for each in runs])
        said = MILLION / (formula(way.world, 2 * MILLION) - formula(way.world, MILLION))
        refused = statistics.mean([each.refused for each in runs]) / way.pairs
        numbers = f"simulated = {rate:.1f}, formula = {said:.1f}, error = {error / said:.3f}"
        print(f'{{ way = "{way.words}", {numbers}, refused = {refused:.4f} }},', flush=True)


def measured(way: Way, folder: Path) -> tuple[float, int]:
    """A real run: seconds between the first call and the last reply, and refused calls."""
    world, collection = way.world, folder / "coll"
    make_collection(collection, way.pairs)
    options = ["--seconds", str(world.seconds), *(["--rpm", str(world.rpm)] if world.rpm else [])]
    with served(folder, options) as server:
        command = ["judge", str(collection), "--model", "bench", "--base-url", server.url]
        command += ["--as", "live", "--quiet", "--concurrency", str(world.limits.at_once)]
        if world.limits.requests:
            command += ["--set", f"model.rpm={world.limits.requests}"]
        run(way.words, command, server)
        counts = server.counts()
    return counts["last_at"] - counts["first_at"], counts["refused"]


def show_validated(seed: int) -> None:
    """Real runs, and what the simulation said of them, as TOML."""
    for way in REAL:
        with tempfile.TemporaryDirectory(prefix="labeler-scale-") as folder:
            seconds, refused = measured(way, Path(folder))
        runs = played(replace(way.world, process=PROCESS), way.pairs, seed)
        said, error = mean_and_error([each.seconds for each in runs])
        expected = statistics.mean([each.refused for each in runs])
        numbers = f"predicted = {said:.1f}, error = {error:.2f}, measured = {seconds:.1f}"
        counted = f"refusals_predicted = {expected:.0f}, refusals = {refused}"
        line = f'{{ way = "{way.words}", pairs = {way.pairs}, {numbers}, {counted} }},'
        print(line, flush=True)
