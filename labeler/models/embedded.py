"""The embedded assessors: the rule of `similarity`, and how far each can be trusted."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from labeler.errors import CallFailed, ProviderError
from labeler.messages import Note
from labeler.model import Model, Reply, Request
from labeler.models.local import minilm
from labeler.models.settings import ENCODER_NAME, MINILM, WORDLLAMA
from labeler.text import terms as words
from labeler.text.terms import TermStatistics, matched_share, terms

# The `similarity` assessor, which is asked as any model is. It is not an LLM.

Cosine = Callable[[str, str], float]


class SimilarityRule(NamedTuple):
    """What `similarity` compares: an encoder's vectors, and where grades 1, 2 and 3 begin."""

    encoder: str
    encode: Callable[[Sequence[str]], Any]
    cuts: tuple[float, ...]

    def fetch(self, tell: Note) -> None:
        """Bring the files of its encoder where they are not there yet."""
        try:
            if self.encoder == minilm.ID:
                minilm.fetch_minilm(tell=tell)
        except ProviderError as error:
            raise ProviderError(f"{error}; {ENCODER_NAME}={WORDLLAMA} does without it") from error
        if self.encoder != minilm.ID and os.environ.get(ENCODER_NAME) != WORDLLAMA:
            tell(f"similarity: by {WORDLLAMA}, as {minilm.MINILM_EXTRA}")


def similarity_rule() -> SimilarityRule:
    """The rule by `minilm`; by `wordllama` where LABELER_ENCODER says so, or it alone can run."""
    if os.environ.get(ENCODER_NAME) == WORDLLAMA or not minilm.can_run():
        return SimilarityRule(words.encoder_id(), words.encode, CUTS[WORDLLAMA])
    return SimilarityRule(minilm.ID, minilm.encode, CUTS[MINILM])


def similarity_model(by: SimilarityRule, statistics: TermStatistics) -> Model:
    """A model that grades by a rule and does not read the prompt.

    It looks at a request's `inputs`: `query`, and `passage`, or `text` where a prompt shows no
    passage. What the grades depend on beside these, the corpus' term statistics, has to be in every
    request too, as `term_statistics`: their digest. What the rule consists of is in the model's
    identity.
    """
    rule, cosine = f"{TERM_WEIGHT}*terms; {', '.join(map(str, by.cuts))}", cosine_of(by.encode)

    async def ask(request: Request) -> Reply:
        if request.inputs.get("term_statistics") != statistics.digest:
            raise CallFailed("the request is of another corpus than the similarity assessor's")
        query, passage = request.inputs["query"], request.inputs.get("passage")
        passage = passage or request.inputs.get("text", "")
        matched = matched_share(terms(query), terms(passage), statistics)
        score = similarity_score(cosine(query, passage), matched)
        content = {"reason": f"closeness {score:.4f}", "grade": similarity_grade(score, by.cuts)}
        return Reply(json.dumps(content), model="similarity")

    return Model(f"similarity [{rule}] {by.encoder}", ask)


def cosine_of(encode: Callable[[Sequence[str]], Any]) -> Cosine:
    """The cosine of two texts; the vectors of texts seen before are kept."""
    from functools import lru_cache

    @lru_cache(maxsize=16_384)
    def vector(text: str) -> Any:
        return encode([text])[0]

    return lambda first, second: float(vector(first) @ vector(second))


TERM_WEIGHT = 0.3


CUTS: Mapping[str, tuple[float, ...]] = {MINILM: (0.42, 0.69, 0.77), WORDLLAMA: (0.38, 0.69, 0.80)}
"""Where grades 1, 2 and 3 begin by each encoder's vectors.

Fitted by `scripts/fit_similarity.py` on MedQuAD x LiveQA-Med alone.
"""


GRADES = (0, 1, 2, 3)


def similarity_score(cosine: float, matched: float) -> float:
    """How alike a query and a text are: their vectors' cosine and `TERM_WEIGHT` x matched terms."""
    return cosine + TERM_WEIGHT * matched


def similarity_grade(score: float, cuts: Sequence[float]) -> int:
    """The number of cut points that `score` reaches."""
    return bisect_right(cuts, score)


MEASURED: Mapping[str, str] = {
    "similarity": "not an LLM; kappa with people .24 [.18, .31] on the Chorus product queries, "
    "by wordllama .16 [.11, .20]",
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
