"""BEIR's qrels: a header, then a query's id, a document's id and a grade, with tabs between."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from labeler.files.atomic import replacing

HEADER = ("query-id", "corpus-id", "score")


def write_beir_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> int:
    """Write qrels as BEIR's loader reads them, sorted; how many pairs there are."""
    pairs = [(q, d, grade) for q, grades in qrels.items() for d, grade in grades.items()]
    with replacing(path) as out:
        rows = csv.writer(out, delimiter="\t", lineterminator="\n")
        rows.writerow(HEADER)
        rows.writerows(sorted(pairs))
    return len(pairs)
