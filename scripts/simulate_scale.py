#!/usr/bin/env python3
"""How long do a million pairs and more take, what do they cost, and which way is the right one?

    scripts/simulate_scale.py             the tables of docs/methods/millions.md
    scripts/simulate_scale.py --write     the same, written into the page
    scripts/simulate_scale.py --simulate  each way played in simulated time, beside the formula
    scripts/simulate_scale.py --validate  runs of `labeler judge` against a server on this machine,
                                          beside what the simulation says of them (some minutes)
    scripts/simulate_scale.py --prices    the library's own prices of today

The tables come from formulas: `labeler.models.call_plan` for calls, and what follows for batches,
workers, disk and memory. `--simulate` holds the formulas against the library's own rate limiter and
retries (`simulated_calls.py`), `--validate` holds the simulation against the clock. What they count
with stands in `measured_scale.toml`. The same seed gives the same figures, but for those of
`--validate`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import parser
from measured_tables import (
    DAY,
    LIVE,
    MEASURED,
    TOKENS,
    WORKERS,
    heading,
    live_table,
    memory_table,
    row,
    simulated_table,
    spoken,
    store_table,
    validated_table,
)

from labeler.models.call_plan import CallTimes, Duration, duration_of
from labeler.models.cost import BATCH_SHARE, Price, price_of
from labeler.models.policies.limits import RateLimits
from labeler.wire.addresses import OPENAI

PAGE = Path(__file__).resolve().parent.parent / "docs" / "methods" / "millions.md"
PAIRS = (10**6, 10**7, 10**8)
CALL_SECONDS = 1.0
WINDOW = DAY
"""Seconds within which the Batch API answers; it mostly takes less, and promises no more."""

CORES = 8
"""Of the machines on which workers run, together."""

WAITS = {"a day": DAY, "a week": 7 * DAY, "a month": 30 * DAY}


@dataclass(frozen=True)
class Server:
    """What is asked: its limits a minute, the tokens that may wait in batches, and calls at once.

    One without `queue` takes no batches.
    """

    named: str
    at_once: int
    rpm: float | None = None
    tpm: float | None = None
    queue: float | None = None

    @property
    def limits(self) -> RateLimits:
        """The limits of a run, which its workers share."""
        return RateLimits(self.at_once, self.rpm, self.tpm)


SERVERS = [Server(**values) for values in MEASURED["servers"].values()]


def tokens_of(pairs: int) -> int:
    return pairs * (TOKENS["inside"] + TOKENS["outside"])


def live(pairs: int, server: Server) -> Duration:
    """How long calls take, by one process."""
    times = CallTimes(CALL_SECONDS, LIVE["process_seconds"])
    return duration_of(pairs, tokens_of(pairs), server.limits, times)


def by_workers(pairs: int, server: Server, workers: int = CORES) -> float:
    """How long workers on Ray take, each on a core of its own: start, calls, and collecting."""
    times = CallTimes(CALL_SECONDS, LIVE["process_seconds"] / (workers * WORKERS["share"]))
    calls = duration_of(pairs, tokens_of(pairs), server.limits, times).seconds
    return WORKERS["start_seconds"] + calls + pairs * WORKERS["pair_seconds"]


def batched(pairs: int, server: Server) -> float | None:
    """How long batches take at most: as many windows as it takes for all tokens to wait once."""
    if server.queue is None:
        return None
    rounds = math.ceil(pairs * TOKENS["inside"] / server.queue)
    return max(rounds * WINDOW, pairs * LIVE["recall_seconds"])


def cost_of(pairs: int, price: Price) -> float:
    return price.of(pairs * TOKENS["inside"], pairs * TOKENS["outside"], pairs)


def price_named(model: str) -> Price:
    return Price(*MEASURED["prices"][model], MEASURED["prices"]["as_of"])


def choice(pairs: int, server: Server, most: float) -> str:
    """The cheapest way that ends in time, and of those that cost the same the simplest.

    Batches take one round more where a line is refused, and so must end a window earlier.
    """
    half = batched(pairs, server)
    if half is not None and half + WINDOW <= most:
        return "batches"
    if live(pairs, server).seconds <= most:
        return "one process"
    if by_workers(pairs, server) <= most:
        return f"{CORES} workers"
    return "not possible"


BOUNDS = {
    "rpm": "calls a minute",
    "tpm": "tokens a minute",
    "concurrency": "calls at once",
    "machine": "the process",
}


def named(pairs: int) -> str:
    return f"{pairs:,}"


def time_table() -> Iterator[str]:
    """How long, by what the server allows, by one process and by workers, and in batches."""
    yield from heading(
        ["server", "pairs", "one process", "bound by", f"{CORES} workers", "batches, at most"]
    )
    for server in SERVERS:
        for pairs in PAIRS:
            alone, several = live(pairs, server), by_workers(pairs, server)
            half = batched(pairs, server)
            waits = "none" if half is None else spoken(half)
            gain = spoken(several) if several < 0.95 * alone.seconds else "the same"
            cells = spoken(alone.seconds), BOUNDS[alone.bound], gain, waits
            yield row(server.named, named(pairs), *cells)


def cost_table() -> Iterator[str]:
    """How much, by the model, live and in batches."""
    yield from heading(["model", *(f"{named(pairs)}, live" for pairs in PAIRS), "in batches"])
    for model in MEASURED["prices"]:
        if model != "as_of":
            price = price_named(model)
            costs = [f"${cost_of(pairs, price):,.0f}" for pairs in PAIRS]
            yield row(model, *costs, f"{BATCH_SHARE:.0%} of it")


def room_table() -> Iterator[str]:
    """How much disk and memory, and how long a run needs to go on after a stop."""
    columns = ["pairs", "store", "other files", "memory", "to go on from half"]
    yield from heading([*columns, "`relabel --reparse`", "its memory"], left=0)
    for pairs in PAIRS:
        store, rest = pairs * LIVE["store_bytes"], pairs * LIVE["other_bytes"]
        memory = LIVE["memory_base"] + pairs * LIVE["memory_a_pair"]
        again = spoken(pairs / 2 * LIVE["recall_seconds"])
        reparse = spoken(pairs * LIVE["reparse_seconds"])
        whole = memory + pairs * LIVE["relabel_a_pair"]
        sizes = [f"{size / 1e9:,.1f} GB" for size in (store, rest, memory, whole)]
        yield row(named(pairs), *sizes[:3], again, reparse, sizes[3])


def choice_table() -> Iterator[str]:
    """Which way, by the server, the pairs and the time that there is."""
    yield from heading(["server", "pairs", *(f"{wait} at most" for wait in WAITS)], left=5)
    for server in SERVERS:
        for pairs in PAIRS:
            yield row(
                server.named, named(pairs), *(choice(pairs, server, w) for w in WAITS.values())
            )


TABLES = {
    "time": time_table,
    "cost": cost_table,
    "room": room_table,
    "store": store_table,
    "choice": choice_table,
    "live": live_table,
    "memory": memory_table,
    "simulated": simulated_table,
    "validated": validated_table,
}
_MARKED = r"(<!-- table: {} -->\n).*?(<!-- end of table -->)"


def with_tables(text: str) -> str:
    """A page with its tables as they are now."""
    for name, table in TABLES.items():
        lines = "".join(f"{line}\n" for line in table())
        pattern = re.compile(_MARKED.format(name), re.DOTALL)
        text = pattern.sub(lambda found, lines=lines: f"{found[1]}\n{lines}\n{found[2]}", text)
    return text


def show_prices() -> None:
    """The library's own prices, as lines of `measured_scale.toml`."""
    for model in MEASURED["prices"]:
        price = price_of(OPENAI, model) if model != "as_of" else None
        if price:
            print(f'"{model}" = [{price.tokens_in:g}, {price.tokens_out:g}]  # {price.as_of}')


def main() -> None:
    switches = dict.fromkeys(("prices", "simulate", "validate", "write"), False)
    given = parser(__doc__, seed=0, **switches).parse_args()
    if given.prices:
        show_prices()
    elif given.simulate or given.validate:
        from played_scale import show_simulated, show_validated

        (show_validated if given.validate else show_simulated)(given.seed)
    elif given.write:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for table in TABLES.values():
            print(*table(), "", sep="\n")


if __name__ == "__main__":
    main()
