"""Objects by query: `{query: {document: value}}`, ranked lists, and predictions of MTEB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labeler.exchange.contents import Contents, may_be_id, objects, ranked, rated
from labeler.exchange.fields import value_at
from labeler.exchange.ratings import number_of
from labeler.exchange.tables import column_of, is_nested
from labeler.files.jsonl import RowValues
from labeler.trec.values import DOCUMENT_ID, SCORE

META = "mteb_model_meta"
_IDS = ("_id", *DOCUMENT_ID, "id")


def predictions(value: Any) -> Contents | None:
    """The rankings that MTEB keeps of a model: by subset, split, query and document."""
    if value_at(value, META) is None:
        return None
    model = value_at(value, f"{META}.model_name") or "a model"
    runs = dict(_splits(value))
    kind = f"predictions of {model} in MTEB"
    if len(runs) == 1:
        ((name, run),) = runs.items()
        kind = f"{kind} ({name})"
        pairs = ((q, d, score) for q, scores in run.items() for d, score in scores.items())
        return Contents(kind, rankings=rated(f"a run from {kind}", pairs))
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
        rankings=rated("a run from JSON ({query: {document: score}})", pairs()),
    )


def ranked_lists(value: Any) -> Contents | None:
    """Documents by query, best first: ids, or pairs with a score, or objects that have both.

    A single word with objects is no query: so an engine names its answer, as `matches`.
    """
    if not isinstance(value, Mapping) or not value:
        return None
    if len(value) == 1 and next(iter(value)).isalpha() and objects(*value.values()):
        return None
    lists = {q: [*map(_hit, each)] for q, each in value.items() if isinstance(each, list) and each}
    if len(lists) < len(value) or any(None in hits for hits in lists.values()):
        return None
    rankings = ((query, [*filter(None, hits)]) for query, hits in lists.items())
    kind = "a run from JSON ({query: [document]})"
    return Contents("ranked lists", rankings=ranked(kind, rankings))


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
