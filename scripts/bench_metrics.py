#!/usr/bin/env python3
"""Measure labeler's scoring beside pytrec_eval, ir_measures and ranx: CPU time, memory, growth.

    .venv/test/bin/python scripts/bench_metrics.py [-o .benchmarks/] [--queries 10000] [--only NAME]

Writes random qrels and a run (10,000 queries of up to 1,000 documents and 100 judgements: 9.7
million lines), has each tool read, sort and score them in a process of its own, and checks that the
values agree. Then: the library on dicts, a whole `labeler evaluate` process over 50 queries, and
CPU time from 10 thousand to 10 million lines.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import parser, spent

MEASURES = [
    "nDCG",
    "nDCG@10",
    "nDCG@20",
    "AP",
    "RR",
    "P@5",
    "P@10",
    "P@20",
    "R@10",
    "R@100",
    "R@1000",
    "Success@10",
    "Bpref",
]
DEPTH, JUDGED = 1000, 100
PYTREC_EVAL = {
    *("ndcg", "ndcg_cut.10,20", "map", "recip_rank", "P.5,10,20", "recall.10,100,1000"),
    *("success.10", "bpref"),
}
RANX = [
    "ndcg",
    "ndcg@10",
    "ndcg@20",
    "map",
    "mrr",
    "precision@5",
    "precision@10",
    "precision@20",
    "recall@10",
    "recall@100",
    "recall@1000",
    "hit_rate@10",
    "bpref",
]


def write_files(folder: Path, queries: int, decimals: int = 4, depth: int = DEPTH) -> Path:
    """Random qrels and a run; rankings hold .94 to 1 of `depth` documents, 40 % of them judged.

    With one decimal most documents of a ranking tie with another.
    """
    judged = min(JUDGED, depth)
    rng = np.random.default_rng(queries)
    stem = folder / f"{queries}x{depth}-{decimals}-decimals"
    if stem.with_suffix(".trec").exists():
        return stem
    unseen = max(1, judged * 6 // 10)
    with stem.with_suffix(".trec").open("w") as run, stem.with_suffix(".qrels").open("w") as qrels:
        for query in range(100_000, 100_000 + queries):
            ids = rng.choice(8_841_823, size=depth + unseen, replace=False)
            size = max(1, int(depth * rng.uniform(0.94, 1)))
            scores = np.sort(rng.normal(50, 10, size))[::-1].tolist()
            found = enumerate(zip(ids[:size].tolist(), scores, strict=True), 1)
            run.writelines(
                f"{query} Q0 {d} {rank} {s:.{decimals}f} bench\n" for rank, (d, s) in found
            )
            seen = rng.choice(ids[:size], min(size, judged - unseen), replace=False)
            grades = rng.choice([0, 0, 0, 1, 1, 2, 3], size=judged).tolist()
            known = [*seen.tolist(), *ids[depth:].tolist()]
            qrels.writelines(f"{query} 0 {d} {g}\n" for d, g in zip(known, grades, strict=False))
    return stem


def labeler_files(qrels: Path, run: Path) -> dict[str, float]:
    from labeler.metrics import JudgedPairs, score
    from labeler.trec.files import read_qrels

    ranked, _ = JudgedPairs.of(read_qrels(qrels)).rank(run)
    return score(ranked, MEASURES).means()


def pytrec_eval_files(qrels: Path, run: Path) -> dict[str, float]:
    import pytrec_eval

    with qrels.open() as lines:
        judged = pytrec_eval.parse_qrel(lines)
    with run.open() as lines:
        found = pytrec_eval.parse_run(lines)
    values = pytrec_eval.RelevanceEvaluator(judged, PYTREC_EVAL).evaluate(found)
    return {"AP": float(np.mean([row["map"] for row in values.values()]))}


def ir_measures_files(qrels: Path, run: Path) -> dict[str, float]:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    found = ir_measures.calc_aggregate(
        measures, ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
    )
    return {str(measure): float(value) for measure, value in found.items()}


def ranx_files(qrels: Path, run: Path) -> dict[str, float]:
    import warnings

    warnings.simplefilter("ignore")
    import ranx

    judged = ranx.Qrels.from_file(str(qrels), kind="trec")
    found = ranx.Run.from_file(str(run), kind="trec")
    return {"AP": float(ranx.evaluate(judged, found, RANX)["map"])}


TOOLS: dict[str, Callable[[Path, Path], dict[str, float]]] = {
    "labeler": labeler_files,
    "pytrec_eval": pytrec_eval_files,
    "ir_measures": ir_measures_files,
    "ranx": ranx_files,
}


TIES_AS_TREC_EVAL = ("labeler", "pytrec_eval", "ir_measures")


def measured(tool: str, stem: Path) -> dict[str, Any]:
    """One tool over one pair of files in a process of its own: AP, CPU seconds, peak megabytes."""
    took = spent([sys.executable, __file__, "--tool", tool, "--stem", stem])
    return {"AP": float(took.output.split()[-1]), "cpu": took.cpu, "mb": took.megabytes}


def run_tool(tool: str, stem: Path) -> None:
    print(TOOLS[tool](stem.with_suffix(".qrels"), stem.with_suffix(".trec"))["AP"])


def dicts(stem: Path) -> dict[str, float]:
    """CPU seconds of the library's calls on dicts, and of pytrec_eval with its parsing of them."""
    import pytrec_eval

    import labeler
    from labeler.metrics import evaluate
    from labeler.trec.files import read_qrels, read_run

    qrels = read_qrels(stem.with_suffix(".qrels")).as_dict()
    run = read_run(stem.with_suffix(".trec")).as_dict()
    evaluator = labeler.Evaluator(qrels, MEASURES)
    calls = {
        "labeler.metrics.evaluate": lambda: evaluate(qrels, run, MEASURES).means(),
        "labeler.evaluate": lambda: labeler.evaluate(qrels, {"run": run}, MEASURES),
        "labeler.Evaluator": lambda: evaluator.score(run).means(),
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, PYTREC_EVAL).evaluate(run),
    }
    return {name: least(call) for name, call in calls.items()}


def least(call: Callable[[], object], times: int = 3) -> float:
    """The CPU seconds of a call, the least of several."""
    took = []
    for _ in range(times):
        started = time.process_time()
        call()
        took.append(time.process_time() - started)
    return min(took)


def frames(stem: Path) -> dict[str, float]:
    """CPU seconds of `labeler.evaluate` on DataFrames, and of ir_measures on the same."""
    import ir_measures

    import labeler
    from labeler.trec.files import read_qrels, read_run

    qrels = read_qrels(stem.with_suffix(".qrels")).frame()
    run = read_run(stem.with_suffix(".trec")).frame("score")
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    return {
        "labeler.evaluate": least(lambda: labeler.evaluate(qrels, run, MEASURES)),
        "ir_measures": least(lambda: ir_measures.calc_aggregate(measures, qrels, run)),
    }


def in_words(times: dict[str, float]) -> str:
    """Seconds of each, and their shares of the last one's."""
    *_, peer = times.values()
    return ", ".join(f"{name} {took:.3f} s ({took / peer:.2f})" for name, took in times.items())


def command_cpu(stem: Path) -> float:
    """CPU seconds of one whole `labeler evaluate` process; the least of five."""
    labeler = Path(sys.executable).with_name("labeler")
    command = [str(labeler), "evaluate", *(str(stem.with_suffix(s)) for s in (".qrels", ".trec"))]
    return min(spent(command).cpu for _ in range(5))


def main() -> None:
    options = parser(__doc__, queries=10_000)
    options.add_argument("-o", type=Path, default=Path(".benchmarks"), help="folder for files")
    options.add_argument("--only", choices=TOOLS, action="append", help="these tools alone")
    options.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    options.add_argument("--stem", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.tool:
        run_tool(given.tool, given.stem)
        return
    given.o.mkdir(parents=True, exist_ok=True)
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    report(given.o, given.queries, given.only or list(TOOLS))


def compare(stem: Path, tools: list[str]) -> None:
    """A line for each tool over one pair of files; ends where two disagree."""
    results = {tool: measured(tool, stem) for tool in tools}
    base = results.get("pytrec_eval", {}).get("cpu", float("nan"))
    for tool, found in results.items():
        if tool != "ranx" and abs(found["AP"] - results[tools[0]]["AP"]) > 1e-12:
            sys.exit(f"{tool} found another AP: {found['AP']}")  # ranx breaks ties its own way
        share = found["cpu"] / base
        print(f"{tool:12} {found['cpu']:7.2f} {found['mb']:7.0f} {share:6.2f}   AP {found['AP']}")


def report(folder: Path, queries: int, tools: list[str]) -> None:
    columns = "CPU seconds, peak MB, share of pytrec_eval's time"
    print(f"\n{queries} queries, from files: {columns}")
    compare(write_files(folder, queries), tools)
    print(f"\n{queries} queries, scores of one decimal, so that most tie: {columns}")
    compare(write_files(folder, queries, 1), [tool for tool in tools if tool in TIES_AS_TREC_EVAL])
    for decimals in (4, 1):
        print(f"\n{min(queries, 1000)} queries, dicts, scores of {decimals} decimals:")
        print(in_words(dicts(write_files(folder, min(queries, 1000), decimals))))
    print(f"\n{min(queries, 1000)} queries, DataFrames:")
    print(in_words(frames(write_files(folder, min(queries, 1000)))))
    cpu = command_cpu(write_files(folder, 50))
    print(f"\n50 queries, one whole `labeler evaluate` process: {cpu:.2f} s of CPU")
    curve = {}
    for many in [n for n in (10, 100, 1000, 10_000) if n <= queries]:
        files = write_files(folder, many)
        with files.with_suffix(".trec").open("rb") as lines:
            count = sum(1 for _ in lines)
        curve[count] = measured("labeler", files)["cpu"]
        print(f"{count:9} lines: {curve[count]:.2f} s")


if __name__ == "__main__":
    main()
