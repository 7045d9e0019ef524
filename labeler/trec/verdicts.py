"""Which queries a person would keep: `query verdict`, a line each."""

from __future__ import annotations

from pathlib import Path

from labeler.errors import BadInput
from labeler.trec.rows import rows, shown, texts

VERDICTS = dict.fromkeys((b"yes", b"pass", b"true", b"1"), True) | dict.fromkeys(
    (b"no", b"fail", b"false", b"0"), False
)


def read_verdicts(path: Path) -> dict[str, bool]:
    """Whether a person passed each query that they looked at: `yes` or `no` after its id."""
    verdicts: dict[str, bool] = {}
    for number, columns in rows(path, "query verdict"):
        (query_id,) = texts(path, number, columns[0])
        verdict = VERDICTS.get(columns[1].lower())
        if verdict is None:
            raise BadInput.at(path, number, f"expected yes or no, found {shown(columns[1])}")
        if query_id in verdicts:
            raise BadInput.at(
                path, number, f"the query {query_id:.80} stands in an earlier line too"
            )
        verdicts[query_id] = verdict
    return verdicts
