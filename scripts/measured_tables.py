"""Tables of what was measured, for `simulate_scale.py`; their figures are in a file beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

DAY = 86_400.0
MEASURED = tomllib.loads(
    Path(__file__).with_name("measured_scale.toml").read_text(encoding="utf-8")
)
LIVE, TOKENS, WORKERS = MEASURED["live"], MEASURED["tokens"], MEASURED["workers"]


def spoken(seconds: float) -> str:
    """A time in the unit that a person would use."""
    for unit, size in (("days", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or unit == "min":
            amount = seconds / size
            return f"{amount:,.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    raise AssertionError


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def heading(cells: Sequence[str], left: int = 1) -> Iterator[str]:
    yield row(*cells)
    marks = ["---"] * left + ["---:"] * (len(cells) - left)
    yield f"|{'|'.join(marks)}|"


def store_table() -> Iterator[str]:
    """How many bytes a reply takes in the store."""
    yield from heading(["bytes a reply, in the store", "all", "with `store.redact`"])
    yield row("with log probabilities", f"{LIVE['store_bytes']:,}", f"{LIVE['redacted_bytes']:,}")
    yield row("without", f"{LIVE['plain_bytes']:,}", f"{LIVE['least_bytes']:,}")


def live_table() -> Iterator[str]:
    """What each part of the live run took."""
    columns = ["part", "clock", "CPU", "CPU a pair", "peak memory", "calls", "asked again"]
    yield from heading([*columns, "first new call after"])
    for part in MEASURED["part"]:
        first = part.get("first_call")
        yield row(
            part["what"],
            spoken(part["seconds"]),
            f"{part['cpu']:,.0f} s",
            f"{1000 * part['cpu'] / part['pairs']:.2f} ms",
            f"{part['peak']:,.0f} MB",
            f"{part['calls']:,}",
            f"{part['again']:,}",
            f"{first:,.0f} s" if first else "",
        )


def memory_table() -> Iterator[str]:
    """How the memory of the live run went."""
    curve = MEASURED["memory"]
    yield from heading(["calls", *(f"{calls:,}" for calls in curve["calls"])])
    yield row("memory, MB", *(f"{size:,}" for size in curve["megabytes"]))


def simulated_table() -> Iterator[str]:
    """The formula beside the simulation."""
    yield from heading(["way", "calls a second, simulated", "by the formula", "ratio", "refused"])
    for each in MEASURED["simulated"]:
        ratio = f"{each['simulated'] / each['formula']:.2f} ± {each['error']:.3f}"
        rates = f"{each['simulated']:,.1f}", f"{each['formula']:,.1f}"
        yield row(each["way"], *rates, ratio, f"{each['refused']:.1%}")


def validated_table() -> Iterator[str]:
    """The simulation beside real runs."""
    columns = [
        "server, and how it is asked",
        "pairs",
        "predicted",
        "measured",
        "measured / predicted",
    ]
    yield from heading([*columns, "429s predicted", "429s"])
    for each in MEASURED["validated"]:
        predicted = f"{each['predicted']:.1f} s ± {each['error']:.1f}"
        ratio = f"{each['measured'] / each['predicted']:.2f}"
        refusals = f"{each['refusals_predicted']:,}", f"{each['refusals']:,}"
        yield row(
            each["way"],
            f"{each['pairs']:,}",
            predicted,
            f"{each['measured']:.1f} s",
            ratio,
            *refusals,
        )
