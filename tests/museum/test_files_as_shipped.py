"""Files as other projects ship them, where they lie beside the checkout."""

from pathlib import Path

import pytest
from specimen import ROLES, reading

RANKED = {"q1": ["d3", "d2", "d1"], "q2": ["d2", "d1"]}
GRADED = {"q1": {"d1": 1, "d2": 2, "d3": 3}, "q2": {"d1": 1, "d2": 2}}
NONE_OF_YOURS = "none of yours, left out"

RECORDED = {
    "elastic/books.json": {"documents": 1},
    "elastic/bulk_request.ndjson": {"documents": "this removes it: sed"},
    "elastic/ragas_evaluation.csv": {
        "queries": 4,
        "documents": 10,
        "grades": "no query has reference_contexts",
        "rankings": NONE_OF_YOURS,
    },
    "opensearch-srw/CreateQuerySet.json": {"queries": 8},
    "opensearch-srw/ImportJudgments.json": {"queries": 4, "grades": "ratings that are no grades"},
    "opensearch-srw/esci_us_queryset.json": {"queries": 150},
    "quepid/Chorus_Electronics_basic.csv": {"queries": 2, "grades": NONE_OF_YOURS},
    "quepid/rre_ratings.json": {"queries": 2, "grades": NONE_OF_YOURS},
    "quepid/static_queryset.csv": {"queries": 1, "rankings": NONE_OF_YOURS},
    "ranx/qrels.json": {"grades": GRADED, "rankings": RANKED},
    "ranx/qrels.parquet": {"grades": GRADED, "rankings": RANKED},
    "ranx/qrels.trec": {"grades": GRADED},
    "ranx/qrels.trec.gz": {"grades": GRADED},
    "ranx/run.json": {"rankings": RANKED},
    "ranx/run.lz4": {"rankings": RANKED},
    "ranx/run.parquet": {"rankings": RANKED},
    "ranx/run.trec": {"rankings": RANKED},
    "ranx/run.trec.gz": {"rankings": RANKED},
    "rre/ratings_example.json": {"queries": 6, "grades": NONE_OF_YOURS},
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_file_is_read_right_or_refused(name: str, shared: Path) -> None:
    path = shared / "foreign" / name
    for role in ROLES:
        made, expected = reading(role, path), RECORDED[name].get(role, str(path))
        if isinstance(expected, str):
            assert isinstance(made, str), f"{role} are read: {made}"
            assert expected in made
        else:
            assert (len(made) if isinstance(expected, int) else made) == expected, role
