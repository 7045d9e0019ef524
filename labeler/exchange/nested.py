"""Objects by query: `{query: {document: value}}`, ranked lists, and predictions of MTEB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labeler.exchange.contents import Contents, Ranked, may_be_id, ranked, rated
from labeler.exchange.fields import value_at
from labeler.exchange.ratings import number_of
from labeler.exchange.tables import column_of, is_nested
from labeler.files.jsonl import RowValues
from labeler.trec.values import DOCUMENT_ID, SCORE

META = "mteb_model_meta"
_IDS = ("_id", *DOCUMENT_ID, "id")


def predictions(value: Any) -> Contents | None:
    """The rankings that MTEB keeps of a model: by subset, split, query and document."""
    if not isinstance(value, Mapping) or META not in value:
        return None
    model = value_at(value, f"{META}.model_name") or "a model"
    runs = dict(_splits(value))
    kind = f"predictions of {model} in MTEB"
    if len(runs) == 1:
        ((name, run),) = runs.items()
        kind = f"{kind} ({name})"
        pairs = ((q, d, score) for q, scores in run.items() for d, score in scores.items())
        return Contents(kind, ranking=rated(f"a run from {kind}", pairs))
    first = next(iter(runs), "default.test")
    path = "".join(f"[{name!r}]" for name in first.split(".", 1)).replace("'", '"')
    why = f"it holds {len(runs)} runs ({', '.join(runs)}); take one: jq '.{path}'"
    return Contents(kind, lacks={"rankings": why})


def _splits(value: RowValues) -> Iterator[tuple[str, RowValues]]:
    for subset, splits in value.items():
        if subset != META and isinstance(splits, Mapping):
            for split, run in splits.items():
                if isinstance(run, Mapping) and all(isinstance(x, Mapping) for x in run.values()):
                    yield f"{subset}.{split}", run


def by_query(value: Any) -> Contents | None:
    """Grades or scores by query and document, as ranx and pytrec_eval have them."""
    if not value or not is_nested(value):
        return None
    if any(isinstance(x, dict | list) for values in value.values() for x in values.values()):
        return None

    def pairs() -> Iterator[tuple[Any, Any, Any]]:
        return ((query, *each) for query, values in value.items() for each in values.items())

    return Contents(
        "JSON by query",
        grades=rated("qrels from JSON ({query: {document: grade}})", pairs()),
        ranking=rated("a run from JSON ({query: {document: score}})", pairs()),
    )


def ranked_lists(value: Any) -> Contents | None:
    """Documents by query, best first: ids, or pairs with a score, or objects that have both."""
    if not isinstance(value, Mapping) or not value:
        return None
    rankings = {query: ranking_of(documents) for query, documents in value.items()}
    if not all(rankings.values()):
        return None
    lists = ((query, documents) for query, documents in rankings.items() if documents)
    return Contents("ranked lists", ranking=ranked("a run from JSON ({query: [document]})", lists))


def ranking_of(value: Any) -> Ranked | None:
    """The ranking that a list is; None where it is none."""
    if not isinstance(value, list) or not value:
        return None
    hits = [_hit(each) for each in value]
    return None if None in hits else [hit for hit in hits if hit is not None]


def _hit(value: Any) -> tuple[Any, float | None] | None:
    """A document and its score, where it has one; None of anything else."""
    if may_be_id(value):
        return value, None
    if isinstance(value, list) and len(value) == 2 and may_be_id(value[0]):
        score = number_of(value[1])
        return None if score is None else (value[0], score)
    if not isinstance(value, Mapping):
        return None
    name, scored = column_of(value, _IDS), column_of(value, SCORE)
    if name is None:
        return None
    return value[name], None if scored is None else number_of(value[scored])
