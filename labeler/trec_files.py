"""What people do to qrels and runs: look at, check, merge, cut, convert them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misconfigured, Misuse
from labeler.files import replacing
from labeler.formats.ranked import pool_of, read_rankings
from labeler.formats.trec import read_qrels, read_run, write_run
from labeler.fusion import cut, ranking

CHOICES: dict[str, Callable[[Sequence[int]], int]] = {
    "first": lambda grades: grades[0],
    "last": lambda grades: grades[-1],
    "max": max,
    "min": min,
}
_SHOWN = 10


def qrels_stats(path: Path) -> dict[str, Any]:
    """Counts of a qrels file."""
    warnings: list[str] = []
    qrels = read_qrels(path, warnings.append)
    sizes = sorted(map(len, qrels.values()))
    grades = Counter(grade for judged in qrels.values() for grade in judged.values())
    return {
        "qrels": str(path),
        "queries": len(qrels),
        "pairs": sum(sizes),
        "per_query": {"least": sizes[0], "median": sizes[len(sizes) // 2], "most": sizes[-1]},
        "grades": {str(grade): grades[grade] for grade in sorted(grades)},
        "without_relevant": sum(max(judged.values()) < 1 for judged in qrels.values()),
        "warnings": warnings,
    }


def validate_qrels(path: Path, scale: Collection[int]) -> dict[str, Any]:
    """The counts, if the file reads and its grades are on the scale; else `BadInput`."""
    found = qrels_stats(path)
    outside = [g for g in map(int, found["grades"]) if scale and g not in scale]
    if outside:
        counts = ", ".join(f"{found['grades'][str(g)]} of grade {g}" for g in outside)
        raise BadInput(f"{path}: grades outside the scale {_range(scale)}: {counts}")
    return found


def _range(scale: Collection[int]) -> str:
    return ", ".join(map(str, sorted(scale)))


def merge_qrels(paths: Sequence[Path], conflict: str) -> tuple[Qrels, list[str]]:
    """All pairs of some qrels, and the pairs whose grades differ.

    `conflict` says which grade wins (`first`, `last`, `max`, `min`), or `error` stops with a list.
    """
    if conflict != "error" and conflict not in CHOICES:
        raise Misuse(f"--conflict is error, {', '.join(CHOICES)}; not {conflict!r}")
    given: dict[tuple[str, str], list[int]] = {}
    for path in paths:
        for query_id, judged in read_qrels(path).items():
            for doc_id, grade in judged.items():
                given.setdefault((query_id, doc_id), []).append(grade)
    conflicts = [
        f"{query_id} {doc_id}: {', '.join(map(str, grades))}"
        for (query_id, doc_id), grades in sorted(given.items())
        if len(set(grades)) > 1
    ]
    if conflicts and conflict == "error":
        more = f"; and {len(conflicts) - _SHOWN} more" if len(conflicts) > _SHOWN else ""
        listed = "; ".join(conflicts[:_SHOWN])
        raise BadInput(f"{len(conflicts)} pairs have several grades: {listed}{more}; --conflict")
    merged: Qrels = {}
    choose = CHOICES.get(conflict, max)
    for (query_id, doc_id), grades in given.items():
        merged.setdefault(query_id, {})[doc_id] = choose(grades)
    return merged, conflicts


def regraded(qrels: Qrels, regrade: Callable[[int], int]) -> Qrels:
    """The same pairs with other grades."""
    return {q: {d: regrade(grade) for d, grade in judged.items()} for q, judged in qrels.items()}


def mapping_of(text: str) -> dict[int, int]:
    """`1:0,2:1` as a dict; each grade once."""
    found: dict[int, int] = {}
    for pair in text.split(","):
        before, colon, after = pair.partition(":")
        try:
            if not colon or int(before) in found:
                raise ValueError
            found[int(before)] = int(after)
        except ValueError as error:
            raise Misuse(f"cannot read {pair!r}; write the mapping as 1:0,2:1,3:2") from error
    return found


def mapped(qrels: Qrels, mapping: Mapping[int, int]) -> Qrels:
    """Grades replaced; one that the mapping lacks is `BadInput`, not guessed."""
    lacking = {g for judged in qrels.values() for g in judged.values()} - mapping.keys()
    if lacking:
        raise BadInput(f"the mapping says nothing of the grades {_range(lacking)}")
    return regraded(qrels, lambda grade: mapping[grade])


def subset(qrels: Qrels, queries: Collection[str]) -> Qrels:
    """The chosen queries; one that is not there is `BadInput`."""
    if missing := sorted(set(queries) - qrels.keys()):
        raise BadInput(f"{len(missing)} of the queries are not in the qrels: {missing[0]} …")
    return {query_id: judged for query_id, judged in qrels.items() if query_id in set(queries)}


def compare_qrels(first: Qrels, second: Qrels) -> dict[str, Any]:
    """How many pairs each has, and the grades of those that both have."""
    pairs = [_pairs(qrels) for qrels in (first, second)]
    common = pairs[0].keys() & pairs[1].keys()
    table = Counter((pairs[0][pair], pairs[1][pair]) for pair in common)
    return {
        "first_only": len(pairs[0]) - len(common),
        "second_only": len(pairs[1]) - len(common),
        "both": len(common),
        "same_grade": sum(n for (a, b), n in table.items() if a == b),
        "grades": [{"first": a, "second": b, "pairs": table[a, b]} for a, b in sorted(table)],
    }


def _pairs(qrels: Qrels) -> dict[tuple[str, str], int]:
    return {(q, d): grade for q, judged in qrels.items() for d, grade in judged.items()}


def run_stats(path: Path) -> dict[str, Any]:
    """Counts of a run, and what its scores and ranks say of each other."""
    run = read_run(path)
    sizes = sorted(map(len, run.values()))
    one_a_query = pool_of(path, {query_id: {"-": 0} for query_id in run})
    _, facts = read_rankings(path, one_a_query)
    return {
        "run": str(path),
        "queries": len(run),
        "documents": sum(sizes),
        "per_query": {"least": sizes[0], "median": sizes[len(sizes) // 2], "most": sizes[-1]},
        "tied_pairs": facts.tied_pairs,
        "contradicting_ranks": facts.contradictions,
    }


def cut_run(run: Run, depth: int) -> Run:
    """The first documents of every query, in trec_eval's order."""
    if depth < 1:
        raise Misuse("--depth counts from 1")
    return {query_id: cut(scores, depth) for query_id, scores in run.items()}


def sorted_run(run: Run) -> Run:
    """Queries by id, documents in trec_eval's order."""
    return {q: {d: run[q][d] for d in ranking(run[q])} for q in sorted(run)}


def read_any_run(path: Path) -> Run:
    """A run from TREC's six columns, BEIR's JSON (`query: {document: score}`) or parquet."""
    if path.suffix == ".json":
        return _read_json_run(path)
    if path.suffix == ".parquet":
        rows = _parquet(path)
        run: Run = {}
        for query_id, doc_id, score in rows:
            run.setdefault(str(query_id), {})[str(doc_id)] = float(score)
        return run
    return read_run(path)


def _read_json_run(path: Path) -> Run:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            query_id: {doc_id: _score(score) for doc_id, score in scores.items()}
            for query_id, scores in found.items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise BadInput(f"{path}: expected an object of query: {{document: score}}") from error


def _score(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
        raise ValueError("no finite number")
    return float(value)


def _parquet(path: Path) -> list[tuple[object, object, float]]:
    """The columns `query_id`, `doc_id`, `score`, as ir_measures' DataFrames have them."""
    import pandas as pd

    try:
        frame = pd.read_parquet(path, columns=["query_id", "doc_id", "score"])
    except ImportError as error:
        raise Misconfigured("parquet needs pyarrow: pip install pyarrow") from error
    except (ValueError, KeyError) as error:
        raise BadInput(f"{path}: expected the columns query_id, doc_id, score") from error
    return list(zip(frame["query_id"], frame["doc_id"], frame["score"], strict=True))


def write_any_run(path: Path, run: Run, tag: str) -> None:
    """Write a run in the format that the file's name says."""
    if path.suffix == ".json":
        with replacing(path) as out:
            json.dump(run, out, ensure_ascii=False)
    elif path.suffix == ".parquet":
        _write_parquet(path, run)
    else:
        write_run(path, run, tag)


def _write_parquet(path: Path, run: Run) -> None:
    import pandas as pd

    rows = [(q, d, s) for q, scores in run.items() for d, s in scores.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    try:
        frame.to_parquet(path, index=False)
    except ImportError as error:
        raise Misconfigured("parquet needs pyarrow: pip install pyarrow") from error
