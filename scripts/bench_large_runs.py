#!/usr/bin/env python3
"""Measure `labeler evaluate` on runs larger than memory beside trec_eval: minutes, memory, ratio.

    .venv/test/bin/python scripts/bench_large_runs.py --folder FOLDER [--lines 1e6 1e7] [--kind ...]

Writes made qrels (100 judgements a query) and a run (1,000 documents a query), has each tool read,
sort and score them in a process of its own, and checks that the values agree. trec_eval is its own
C code, as the package pytrec-eval-terrier has it compiled: its readers of qrels and runs and its
measures, called one after another; queries are looked up in a dict, where trec_eval searches.
10^8 lines take 4 GB on the disk, and twice that where the lines are scattered.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_long, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import parser, spent

MEASURES = {"nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "AP": "map", "R@100": "recall_100"}
TREC_EVAL = ("ndcg_cut", "recip_rank", "map", "recall")
DEPTH, JUDGED, SEEN = 1000, 100, 50
PRIME = 8_841_823
KINDS = ("sorted", "scattered", "ties", "gzip")
_LINE = b"0000000 Q0 0000000 0000 00.0000 made\n"
_QUERY, _DOCUMENT, _RANK, _WHOLE, _PART = (0, 7), (11, 18), (19, 23), (24, 26), (27, 31)


def write_files(folder: Path, lines: int, kind: str) -> tuple[Path, Path]:
    """Made qrels and a run; one document in twenty of a ranking is judged.

    `scattered` runs give the first documents of a thousand queries, then the second ones, and so
    on; in `ties` most scores are equal to another.
    """
    stem = folder / f"{lines}-{kind}"
    qrels, run = stem.with_suffix(".qrels"), stem.with_suffix(".trec")
    if not run.exists():
        rng = np.random.default_rng(lines)
        with run.open("wb") as out, qrels.open("wb") as graded:
            for first in range(0, lines // DEPTH, 1000):
                count = min(1000, lines // DEPTH - first)
                rows = [_ranking(rng, first + q, kind, graded) for q in range(count)]
                block = np.stack(rows)
                out.write((block.swapaxes(0, 1) if kind == "scattered" else block).tobytes())
    if kind != "gzip":
        return qrels, run
    packed = run.with_suffix(".trec.gz")
    if not packed.exists():
        with run.open("rb") as source, gzip.open(packed, "wb", 1) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    return qrels, packed


def _ranking(rng: np.random.Generator, query: int, kind: str, graded: Any) -> npt.NDArray[np.uint8]:
    """The lines of one query, `(documents, characters)`; its judgements go to `graded`."""
    start, step = rng.integers(0, PRIME), rng.integers(1, PRIME)
    ids = 1_000_000 + (start + step * np.arange(DEPTH + JUDGED)) % PRIME
    scores = np.sort(np.clip(rng.normal(500_000, 100_000, DEPTH), 100_000, 999_999))[::-1]
    scores = scores.astype(np.int64) // (10_000 if kind == "ties" else 1)
    scores = scores * (10_000 if kind == "ties" else 1)
    lines = np.tile(np.frombuffer(_LINE, dtype=np.uint8), (DEPTH, 1))
    _digits(lines, _QUERY, np.full(DEPTH, 1_000_000 + query))
    _digits(lines, _DOCUMENT, ids[:DEPTH])
    _digits(lines, _RANK, np.arange(1, DEPTH + 1))
    _digits(lines, _WHOLE, scores // 10_000)
    _digits(lines, _PART, scores % 10_000)
    judged = [*rng.choice(DEPTH, SEEN, replace=False), *range(DEPTH, DEPTH + JUDGED - SEEN)]
    grades = rng.choice([0, 0, 0, 1, 1, 2, 3], JUDGED).tolist()
    rows = zip(ids[judged].tolist(), grades, strict=True)
    graded.write(b"".join(b"%d 0 %d %d\n" % (1_000_000 + query, d, g) for d, g in rows))
    return lines


def _digits(lines: npt.NDArray[np.uint8], columns: tuple[int, int], values: Any) -> None:
    first, last = columns
    for column in range(last - 1, first - 1, -1):
        lines[:, column] = 48 + values % 10
        values = values // 10


def of_labeler(qrels: Path, run: Path) -> dict[str, float]:
    """The whole command, in a process of its own; what is shown is in JSON."""
    command = [
        sys.executable,
        "-m",
        "labeler",
        "evaluate",
        str(qrels),
        str(run),
        "--format",
        "json",
    ]
    command += [word for name in MEASURES for word in ("--measure", name)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    scores = json.loads(done.stdout)["runs"][0]["scores"]
    return {name: scores[name]["value"] for name in MEASURES}


class _Argument(Structure):
    _fields_ = [("name", c_char_p), ("parameters", c_char_p)]


class _Options(Structure):
    _fields_ = [
        *((name, c_long) for name in ("per_query", "summary", "debug")),
        ("debug_query", c_char_p),
        *((name, c_long) for name in ("relation", "complete", "judged_only", "collection")),
        *((name, c_long) for name in ("relevance_level", "most_documents")),
        *((name, c_char_p) for name in ("qrels_format", "results_format")),
        ("z_scores", c_long),
        ("arguments", POINTER(_Argument)),
    ]


class _Value(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class _Evaluation(Structure):
    _fields_ = [
        ("query", c_char_p),
        ("queries", c_long),
        ("values", POINTER(_Value)),
        ("count", c_long),
        ("room", c_long),
    ]


class _Ranked(Structure):
    _fields_ = [(name, c_char_p) for name in ("query", "run", "format")] + [("own", c_void_p)]


class _Graded(Structure):
    _fields_ = [(name, c_char_p) for name in ("query", "format")] + [("own", c_void_p)]


class _Runs(Structure):
    _fields_ = [("count", c_long), ("room", c_long), ("items", POINTER(_Ranked))]


class _AllGraded(Structure):
    _fields_ = [("count", c_long), ("room", c_long), ("items", POINTER(_Graded))]


class _Measure(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("explanation", c_char_p),
        ("init", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("calculate", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
    ]


def of_trec_eval(qrels: Path, run: Path) -> dict[str, float]:
    """trec_eval's C code: means over all queries of the qrels, as with `-c`."""
    import pytrec_eval_ext

    code = ctypes.CDLL(pytrec_eval_ext.__file__)
    options = _Options(summary=1, relation=1, relevance_level=1, most_documents=2**63 - 1)
    options.qrels_format, options.results_format = b"qrels", b"trec_results"
    graded, ranked, evaluation = _AllGraded(), _Runs(), _Evaluation()
    if code.te_get_qrels(byref(options), os.fsencode(qrels), byref(graded)) != 1:
        sys.exit("trec_eval cannot read the qrels")
    if code.te_get_trec_results(byref(options), os.fsencode(run), byref(ranked)) != 1:
        sys.exit("trec_eval cannot read the run")
    measures = [_Measure.in_dll(code, f"te_meas_{name}") for name in TREC_EVAL]
    for measure in measures:
        measure.init(byref(options), byref(measure), byref(evaluation))
    of_query = {graded.items[i].query: i for i in range(graded.count)}
    totals = dict.fromkeys(MEASURES.values(), 0.0)
    values = [v for v in range(evaluation.count) if evaluation.values[v].name.decode() in totals]
    for i in range(ranked.count):
        number = of_query.get(ranked.items[i].query)
        if number is None:
            continue
        for v in range(evaluation.count):
            evaluation.values[v].value = 0.0
        pair = byref(graded.items[number]), byref(ranked.items[i])
        for measure in measures:
            measure.calculate(byref(options), *pair, byref(measure), byref(evaluation))
        for v in values:
            totals[evaluation.values[v].name.decode()] += evaluation.values[v].value
    return {ours: totals[theirs] / graded.count for ours, theirs in MEASURES.items()}


TOOLS: dict[str, Callable[[Path, Path], dict[str, float]]] = {
    "labeler": of_labeler,
    "trec_eval": of_trec_eval,
}


def measured(tool: str, qrels: Path, run: Path, gigabytes: float) -> dict[str, Any]:
    """Values, CPU seconds, peak megabytes and minutes of a tool; `error` where it failed."""
    command = [sys.executable, __file__, "--tool", tool, "--files", str(qrels), str(run)]
    try:
        took = spent([*command, "--most", str(gigabytes)])
    except SystemExit as failed:
        return {"error": (str(failed).strip().splitlines() or ["killed"])[-1]}
    of_process = {"cpu": took.cpu, "mb": took.megabytes, "minutes": took.seconds / 60}
    return {"values": json.loads(took.output), **of_process}


def run_tool(tool: str, qrels: Path, run: Path, gigabytes: float) -> None:
    """One tool in this process, within so much memory."""
    if gigabytes:
        most = int(gigabytes * (1 << 30))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    print(json.dumps(TOOLS[tool](qrels, run)))


def report(folder: Path, lines: int, kind: str, tools: list[str], gigabytes: float) -> None:
    """A line for each tool over one pair of files; ends where two disagree."""
    qrels, run = write_files(folder, lines, kind)
    print(f"\n{lines:,} lines, {kind}, {lines // DEPTH * JUDGED:,} judgements", flush=True)
    results: dict[str, dict[str, Any]] = {}
    for tool in tools:
        peer_reads = run.with_suffix("") if tool == "trec_eval" and kind == "gzip" else run
        results[tool] = result = measured(tool, qrels, peer_reads, gigabytes)
        if "error" in result:
            print(f"{tool:10} failed: {result['error']}", flush=True)
            continue
        took = f"{result['cpu']:8.1f} s of CPU {result['minutes']:6.1f} min {result['mb']:7.0f} MB"
        print(f"{tool:10} {took}  AP {result['values']['AP']:.10f}", flush=True)
    whole = [result for result in results.values() if "error" not in result]
    if len(whole) == 2:
        for name in MEASURES:
            if abs(whole[0]["values"][name] - whole[1]["values"][name]) > 1e-12:
                sys.exit(f"the tools disagree on {name}: {whole}")
        cpu, memory = whole[0]["cpu"] / whole[1]["cpu"], whole[0]["mb"] / whole[1]["mb"]
        print(f"ratio to trec_eval: CPU {cpu:.2f}, memory {memory:.3f}; values agree", flush=True)


def every(folder: Path, given: argparse.Namespace) -> Iterator[tuple[int, str]]:
    """The sizes and kinds to measure; files are removed after unless they are to be kept."""
    for lines in given.lines:
        for kind in given.kind:
            yield int(lines), kind
            if not given.keep:
                for path in folder.glob(f"{int(lines)}-{kind}.*"):
                    path.unlink()


def main() -> None:
    options = parser(
        __doc__, folder=Path(".benchmarks"), lines=[1000000.0, 10000000.0], most=0.0, keep=False
    )
    options.add_argument("--kind", choices=KINDS, nargs="+", default=["sorted"])
    options.add_argument("--only", choices=TOOLS, action="append", help="these tools alone")
    options.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    options.add_argument("--files", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.tool:
        run_tool(given.tool, *given.files, given.most)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(given.folder)  # what is laid aside goes to the disk, too
    for lines, kind in every(given.folder, given):
        report(given.folder, lines, kind, given.only or list(TOOLS), given.most)


if __name__ == "__main__":
    main()
