"""What to say where qrels and a run have no query in common: three ids of each, and a guess why."""

from __future__ import annotations

from collections.abc import Collection, Sequence

SHOWN = 3


def nothing_in_common(qrels: str, of_qrels: Sequence[str], run: str, of_run: Sequence[str]) -> str:
    """The one line that names both files, some ids of each and why they might not match."""
    sides = f"the qrels have {_some(of_qrels)}; the run has {_some(of_run)}"
    reason = guess(of_qrels, of_run)
    return f"{qrels} and the run {run} share no query: {sides}" + (f"; {reason}" if reason else "")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")


def guess(some: Collection[str], others: Collection[str]) -> str:
    """Why two sets of ids that share nothing might be meant to be the same; empty if unknown."""
    for changed, reason in REASONS:
        if {changed(one) for one in some} & {changed(one) for one in others} - {""}:
            return reason
    return ""


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _unpadded(text: str) -> str:
    return text.lstrip("0") or "0"


def _whole(text: str) -> str:
    """An id less the `.0` that a column read as numbers with gaps leaves behind."""
    return text.removesuffix(".0")


REASONS = (
    (str.casefold, "they differ in upper and lower case (Q7 and q7)"),
    (_unpadded, "one side is padded with zeros, or was read as an integer (007 and 7)"),
    (_whole, "one side was read as numbers with decimals (7.0 and 7)"),
    (lambda text: text.strip("\"'"), 'one side stands in quotation marks ("7" and 7)'),
    (_digits, "they differ in a prefix or suffix (q7 and 7)"),
    (lambda text: _unpadded(_digits(text)), "they differ in a prefix and in zeros (q007 and 7)"),
)
"""What would make them the same, from the surest sign to the weakest."""
