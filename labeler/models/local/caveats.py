"""How far the grades of the embedded assessors can be trusted, as measured against people."""

from __future__ import annotations

from collections.abc import Mapping

MEASURED: Mapping[str, str] = {
    "similarity": "not an LLM; kappa with people .16 [.11, .20] on the Chorus product queries",
    "local": "a 0.5B LLM; kappa with people -.03 [-.09, .04] on Chorus, .02 [-.02, .05] on MedQuAD",
}
"""How far the embedded assessors agreed with people; `scripts/measure_embedded.py` measures it."""


NOT_FOR_DECISIONS = "such grades are for trying the tool, not for decisions"


def caveat(embedded: str) -> str:
    """How far an embedded assessor's grades can be trusted."""
    measured = MEASURED.get(embedded, "an embedded model that was not measured against people")
    return f"{embedded}: {measured}; {NOT_FOR_DECISIONS}"


def embedded_name(model_id: str) -> str | None:
    """The name of the shipped embedded model behind a model's identity, if it is one."""
    from labeler.models.local.serve import EMBEDDED

    if model_id.startswith("similarity "):
        return "similarity"
    if model_id.startswith("gguf "):
        return "local" if EMBEDDED.sha256 in model_id else None
    return None
