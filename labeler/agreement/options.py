"""What a user writes of scales and maps, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from labeler.agreement.align import Rules
from labeler.agreement.tally import Label, Labels
from labeler.data import Qrels
from labeler.errors import Misuse
from labeler.trec.labels import number

_SCALE = re.compile(r"(-?[0-9]{1,9}):(-?[0-9]{1,9})")
_PAIR = re.compile(r"(-?[0-9]{1,9})=(-?[0-9]{1,9})")
SIDES = HUMAN, ASSESSOR = "human", "assessor"


def parse_scale(text: str | None) -> tuple[int, ...] | None:
    """`0:3` as `(0, 1, 2, 3)`."""
    if text is None:
        return None
    match = _SCALE.fullmatch(text.strip())
    if not match or int(match[1]) >= int(match[2]) or int(match[2]) - int(match[1]) >= 50:
        problem = f"expected LOW:HIGH, such as 0:3 (at most 50 grades); got {text!r:.80}"
        raise Misuse(problem, parameter="scale")
    return tuple(range(int(match[1]), int(match[2]) + 1))


def parse_maps(texts: Iterable[str]) -> dict[str, dict[int, int]]:
    """`human:1=0,2=1` and `1=0,2=1` as maps of grades by side, "" where no side is named."""
    maps: dict[str, dict[int, int]] = {HUMAN: {}, ASSESSOR: {}, "": {}}
    for text in texts:
        side, colon, pairs = text.rpartition(":")
        matches = [_PAIR.fullmatch(part.strip()) for part in pairs.split(",")]
        if (colon and side not in SIDES) or not all(matches):
            example = "human:1=0,2=1 or assessor:0=3,1=2"
            problem = f"expected a map of grades such as {example}; got {text!r:.80}"
            raise Misuse(problem, parameter="maps")
        maps[side].update((int(pair[1]), int(pair[2])) for pair in matches if pair)
    return maps


def rules_for(
    human: Qrels, labels: Labels, maps: Mapping[str, Mapping[int, int]], rest: Rules
) -> Rules:
    """`rest` with the maps of both sides; one that names no side is for the side that it covers.

    That is people's where it names every grade of theirs and not every whole number of the
    other's; otherwise the other's.
    """
    used = (grade for row in human.values() for grade in row.values())
    given = (label for row in labels.values() for label in row.values())
    return rules_between(used, given, maps, rest)


def rules_between(
    grades: Iterable[int],
    labels: Iterable[Label],
    maps: Mapping[str, Mapping[int, int]],
    rest: Rules,
) -> Rules:
    """The same from the human grades and the labels that are used."""
    ours = {grade for grade in set(grades) if grade >= 0}
    numbers = {number(label) for label in set(labels)}
    theirs = {int(value) for value in numbers if value is not None and value % 1 == 0}
    keys = set(maps[""])
    side = HUMAN if keys and ours <= keys and not theirs <= keys else ASSESSOR
    of_human, of_assessor = ({**maps[name], **(maps[""] if name == side else {})} for name in SIDES)
    return replace(
        rest,
        map_human={**rest.map_human, **of_human},
        map_assessor={**rest.map_assessor, **of_assessor},
    )


def parse_share(text: str) -> float:
    """`20%` or `0.2` as 0.2."""
    number_text, percent, rest = text.strip().partition("%")
    try:
        share = float(number_text) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if rest or not 0 <= share <= 1:
        raise Misuse(f"expected a share such as 20% or 0.2; got {text!r}", parameter="overlap")
    return share
