"""What an assessor does to systems' scores: a line, what is each system's own, favour to kin.

An assessor's bias towards a system, its mean less the people's, depends on how good the system is:
most assessors compress, so that weak systems gain and strong ones lose. And each system has an
effect of its own, whether it is kin to the assessor or not. So favour to kin is not what differs
from the mean bias, nor what queries' noise does not explain: it is what lies farther from the line
through the unrelated systems than an unrelated one would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.evaluation.inputs import Kin, together
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Hidden
from labeler.report.table import number_text
from labeler.stats.regression import Components, Trend, components, trend

FEWEST_OTHERS = 6
"""So many unrelated systems are needed to see how far one of them may lie from their line."""


@dataclass(frozen=True)
class Favour:
    """How a system that is kin to a model fared, against the `others`, of which none is kin.

    `residual` is by how much its bias lies above their line; 95 of 100 unrelated systems lie within
    `reach` of it. Both are `None` where there are too few others. `outside` says that no other
    system scores as high, or none as low, so that the line is drawn beyond its points.
    """

    kin: Kin
    others: int
    residual: float | None = None
    reach: float | None = None
    outside: bool = False

    @property
    def has_evidence(self) -> bool:
        """Whether there were others enough to see."""
        return self.residual is not None

    @property
    def verdict(self) -> str:
        """Whether the system lies farther up than an unrelated one would."""
        if self.residual is None or self.reach is None:
            return "no evidence"
        return "favoured" if self.residual > self.reach else "no favour shown"

    def __str__(self) -> str:
        circular = f"circular: {self.kin}"
        if self.residual is None or self.reach is None:
            return f"{circular}; whether that favors it cannot be seen from {_too_few(self.others)}"
        size = f"{_signed(self.residual)} off the line of the {self.others} unrelated systems"
        within = f"95 of 100 such lie within {number_text(self.reach, '.3f')}"
        beyond = ", drawn beyond their scores" if self.outside else ""
        return f"{circular}; its bias is {size}{beyond} ({within}): {self.verdict}"

    def as_json(self) -> dict[str, Any]:
        """The fields, with families and roles as text."""
        return {
            "run": self.kin.run,
            "family": " and ".join(self.kin.families),
            "role": " and ".join(role for role, _ in self.kin.ties),
            "model": ", ".join(model for _, model in self.kin.ties),
            "others": self.others,
            "residual": self.residual,
            "reach": self.reach,
            "outside": self.outside,
            "verdict": self.verdict,
        }


def _too_few(others: int) -> str:
    counted = count_of(others, "unrelated system", "unrelated systems")
    return f"{counted}, where {FEWEST_OTHERS} that differ are needed"


def favour_findings(favors: Sequence[Favour]) -> Iterator[Finding]:
    """A sentence for each system of which something can be seen, and one for all the others."""
    seen = [favour for favour in favors if favour.has_evidence]
    unseen = [favour for favour in favors if not favour.has_evidence]
    for favour in seen + (unseen if len(unseen) == 1 else []):
        yield Finding(str(favour), about=favour.kin.run)
    if len(unseen) > 1:
        circular = f"circular: {together([favour.kin for favour in unseen])}"
        few = _too_few(unseen[0].others)
        yield Finding(f"{circular}; whether that favors them cannot be seen from {few}")


@dataclass(frozen=True)
class JudgeBias:
    """What an assessor does to the scores of systems that are not kin to it.

    `line` is of bias on people's mean, as both came out on these queries: what a further system is
    to be held against. `components` is how the true scores hang together. `residuals` has each
    system's distance from the line, above 0 where it gains; kin have theirs from the others' line.
    Either is `None` where the systems are too few or too close.
    """

    line: Trend | None
    components: Components | None
    residuals: Mapping[str, float]
    favors: Hidden[tuple[Favour, ...]] = ()

    def sentences(self, first: str, second: str) -> list[str]:
        """How far the assessor compresses, and how much of its own it does to systems."""
        of = self.components
        if of is None:
            return []
        low, slope, high = (number_text(0.1 * x, ".3f") for x in (of.low, of.slope, of.high))
        return [
            f"Where two systems differ by 0.100 by {first}'s grades, they differ by {slope}"
            f" by {second}'s ({low} to {high}); beyond that, systems' scores move by"
            f" {number_text(of.own, '.3f')} (standard deviation) for what they are, and by"
            f" {number_text(of.noise, '.3f')} for these queries."
        ]


def judge_bias(runs: Sequence[str], first: Floats, second: Floats, kin: Sequence[Kin]) -> JudgeBias:
    """Fit the line to the systems that are no kin, and hold all kin against it.

    Scores are `(systems, queries)`, and higher is better. Kin come from the best by the first.
    """
    akin = {system.run: system for system in kin}
    is_other = np.array([run not in akin for run in runs], dtype=np.bool_)
    x, bias = first.mean(axis=1), (second - first).mean(axis=1)
    line, others = trend(x[is_other], bias[is_other]), x[is_other]
    residuals, favors = {}, []
    if line is not None:
        residuals = {run: float(bias[i] - line.at(float(x[i]))) for i, run in enumerate(runs)}
    for i in np.argsort(-x, kind="stable").tolist():
        if runs[i] not in akin:
            continue
        favour = Favour(akin[runs[i]], len(others))
        if line is not None and len(others) >= FEWEST_OTHERS:
            outside = not others.min() <= x[i] <= others.max()
            reach = line.reach(float(x[i]))
            favour = replace(
                favour, residual=residuals[runs[i]], reach=reach, outside=bool(outside)
            )
        favors.append(favour)
    return JudgeBias(line, components(first[is_other], second[is_other]), residuals, tuple(favors))


def _signed(value: float) -> str:
    return number_text(value, "+.3f")
