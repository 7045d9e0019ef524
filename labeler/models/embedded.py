"""The embedded assessors: the rule of `similarity`, and how far each can be trusted."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labeler.errors import CallFailed
from labeler.model import Model, Reply, Request
from labeler.text.terms import TermStatistics, matched_share, terms

# The `similarity` assessor, which is asked as any model is. It is not an LLM.

Cosine = Callable[[str, str], float]


def similarity_model(cosine: Cosine, encoder: str, statistics: TermStatistics) -> Model:
    """A model that grades by `labeler.similarity`'s rule and does not read the prompt.

    It looks at a request's `inputs`: `query`, and `passage`, or `text` where a prompt shows no
    passage. What the grades depend on beside these, the corpus' term statistics, has to be in every
    request too, as `term_statistics`: their digest. `encoder` names the vectors that `cosine`
    compares.
    """
    rule = f"{TERM_WEIGHT}*terms; {', '.join(map(str, CUTS))}"

    async def ask(request: Request) -> Reply:
        if request.inputs.get("term_statistics") != statistics.digest:
            raise CallFailed("the request is of another corpus than the similarity assessor's")
        query, passage = request.inputs["query"], request.inputs.get("passage")
        passage = passage or request.inputs.get("text", "")
        matched = matched_share(terms(query), terms(passage), statistics)
        score = similarity_score(cosine(query, passage), matched)
        content = {"reason": f"closeness {score:.4f}", "grade": similarity_grade(score)}
        return Reply(json.dumps(content), model="similarity")

    return Model(f"similarity [{rule}] {encoder}", ask)


def cosine_of(encode: Callable[[Sequence[str]], Any]) -> Cosine:
    """The cosine of two texts; the vectors of texts seen before are kept."""
    from functools import lru_cache

    @lru_cache(maxsize=4096)
    def vector(text: str) -> Any:
        return encode([text])[0]

    return lambda first, second: float(vector(first) @ vector(second))


TERM_WEIGHT = 0.3


CUTS = (0.38, 0.69, 0.80)
"""Where grades 1, 2 and 3 begin; fitted by `scripts/fit_similarity.py` on MedQuAD x LiveQA-Med."""


GRADES = (0, 1, 2, 3)


def similarity_score(cosine: float, matched: float) -> float:
    """How alike a query and a text are: their vectors' cosine and `TERM_WEIGHT` x matched terms."""
    return cosine + TERM_WEIGHT * matched


def similarity_grade(score: float, cuts: Sequence[float] = CUTS) -> int:
    """The number of cut points that `score` reaches."""
    return bisect_right(cuts, score)


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
