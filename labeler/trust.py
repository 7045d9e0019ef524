"""What labels that a model made are worth: which model made them, and what it could not grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from labeler.data import Failure
from labeler.formats.judgements import read_judgements

MEASURED: Mapping[str, str] = {
    "similarity": "not an LLM; kappa with people .16 [.11, .20] on the Chorus product queries",
    "local": "a 0.5B LLM; kappa with people -.03 [-.09, .04] on Chorus, .02 [-.02, .05] on MedQuAD",
}
"""How far the embedded judges agreed with people; `scripts/measure_embedded.py` measures it."""

NOT_FOR_DECISIONS = "such labels are for trying the tool, not for decisions"


def caveat(embedded: str) -> str:
    """How far an embedded judge's labels can be trusted."""
    measured = MEASURED.get(embedded, "an embedded model that was not measured against people")
    return f"{embedded}: {measured}; {NOT_FOR_DECISIONS}"


def label_warnings(judgements: Path) -> list[str]:
    """What to say beside every figure that stands on a set of judgements; none without a file."""
    if not judgements.exists():
        return []
    failures: Counter[str] = Counter()
    asked = ""
    pairs = 0
    for row in read_judgements(judgements):
        pairs += 1
        asked = asked or row.origin.model
        if isinstance(row.judged.outcome, Failure):
            failures[row.judged.outcome.status] += 1
    warnings = [caveat(name)] if (name := embedded_name(asked)) else []
    if failures:
        listed = ", ".join(f"{count} {status}" for status, count in failures.most_common())
        missing = f"{failures.total()} of {pairs} pairs have no label ({listed})"
        warnings.append(f"{judgements}: {missing}; they count as unjudged")
    return warnings


def embedded_name(asked: str) -> str | None:
    """The name of the shipped embedded model behind a model's identity, if it is one."""
    from labeler.catalog.model_file import EMBEDDED

    if asked.startswith("similarity "):
        return "similarity"
    if asked.startswith("gguf "):
        return "local" if EMBEDDED.sha256 in asked else None
    return None
