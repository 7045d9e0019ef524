#!/usr/bin/env python3
"""Measure fuse, run, qrels and agree at 10 thousand to 10 million lines: CPU and peak memory.

    .venv/test/bin/python -m pip install --group bench
    .venv/test/bin/python scripts/bench_tools.py [-o bench/] [--most 10000000] [--peers 1000000]

Each command is a process of its own, and so is its peer up to `--peers` lines: ranx where it has
the command, else the way it is commonly written with pandas; of agree the table and one kappa, by
pandas and scikit-learn. Lines are those of all input files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import parser, spent

DEPTH = 1000
DOCUMENTS = 20_000
JUDGED, BLOCK = 100, 10_000
RUN_COLUMNS = ["query", "q0", "doc", "rank", "score", "tag"]
QRELS_COLUMNS = ["query", "zero", "doc", "grade"]


def write_run(path: Path, lines: int, seed: int) -> None:
    """A run of 1,000 documents a query, drawn from 20,000."""
    rng = np.random.default_rng(seed)
    with path.open("w") as out:
        for query in range(lines // DEPTH):
            ids = rng.choice(DOCUMENTS, DEPTH, replace=False).tolist()
            scores = np.sort(rng.normal(50, 10, DEPTH))[::-1].tolist()
            rows = enumerate(zip(ids, scores, strict=True), 1)
            out.writelines(f"{query} Q0 doc{d} {rank} {s:.4f} bench\n" for rank, (d, s) in rows)


def write_qrels(path: Path, lines: int, seed: int) -> None:
    """Qrels of 100 documents a query."""
    rng = np.random.default_rng(seed)
    with path.open("w") as out:
        for query in range(lines // JUDGED):
            ids = rng.choice(DOCUMENTS, 100, replace=False).tolist()
            grades = rng.choice([0, 0, 0, 1, 1, 2, 3], 100).tolist()
            rows = zip(ids, grades, strict=True)
            out.writelines(f"{query} 0 doc{d} {grade}\n" for d, grade in rows)


def digits(numbers: np.ndarray, width: int) -> np.ndarray:
    """The decimal digits of numbers, `(numbers, width)` bytes."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def write_labels(paths: Sequence[Path], queries: int) -> None:
    """Two files of the same pairs; the second keeps a grade about three times of five.

    Ten thousand queries at a time have the same documents, and grades of their own.
    """
    rng = np.random.default_rng(0)
    count = min(BLOCK, queries)
    steps = rng.integers(1, 800_000, (count, JUDGED))
    document = 10_000_000 + np.cumsum(steps, axis=1).ravel()
    lines = np.empty((count * JUDGED, 23), dtype=np.uint8)
    lines[:] = np.frombuffer(b"q0000000 0 d00000000 0\n", dtype=np.uint8)
    lines[:, 12:20] = digits(document, 8)
    with paths[0].open("wb") as people, paths[1].open("wb") as other:
        for start in range(0, queries, count):
            query = digits(np.arange(start, start + count), 7)
            lines[:, 1:8] = np.repeat(query, JUDGED, axis=0)
            human = np.searchsorted([0.55, 0.75, 0.9], rng.random(len(lines)))
            kept = rng.random(len(lines)) < np.repeat(rng.uniform(0.45, 0.75, count), JUDGED)
            for out, grade in (
                (people, human),
                (other, np.where(kept, human, rng.integers(0, 4, len(lines)))),
            ):
                lines[:, 21] = grade + ord("0")
                out.write(lines.tobytes())


def pandas_run(path: Path):
    import pandas as pd

    return pd.read_csv(path, sep=" ", names=RUN_COLUMNS, dtype={"query": str, "doc": str})


def pandas_qrels(path: Path):
    import pandas as pd

    return pd.read_csv(path, sep=" ", names=QRELS_COLUMNS, dtype={"query": str, "doc": str})


def ranx_fuse(out: Path, *paths: Path) -> None:
    import warnings

    warnings.simplefilter("ignore")
    import ranx

    runs = [ranx.Run.from_file(str(path), kind="trec") for path in paths]
    ranx.fuse(runs, norm=None, method="rrf").save(str(out), kind="trec")


def sort_with_pandas(out: Path, path: Path) -> None:
    frame = pandas_run(path).sort_values(["query", "score", "doc"], ascending=[True, False, False])
    frame["rank"] = frame.groupby("query").cumcount() + 1
    frame.to_csv(out, sep=" ", header=False, index=False)


def cut_with_pandas(out: Path, path: Path) -> None:
    frame = pandas_run(path).sort_values(["query", "score", "doc"], ascending=[True, False, False])
    frame.groupby("query").head(100).to_csv(out, sep=" ", header=False, index=False)


def convert_with_pandas(out: Path, path: Path) -> None:
    groups = pandas_run(path).groupby("query", sort=False)
    run = {q: dict(zip(g["doc"], g["score"], strict=True)) for q, g in groups}
    out.write_text(json.dumps(run))


def stats_with_pandas(out: Path, path: Path) -> None:
    out.write_text(str(pandas_run(path).groupby("query").size().describe()))


def merge_with_pandas(out: Path, *paths: Path) -> None:
    import pandas as pd

    frame = pd.concat([pandas_qrels(path) for path in paths])
    merged = frame.groupby(["query", "doc"], as_index=False)["grade"].max()
    merged.to_csv(out, sep=" ", header=False, index=False)


def qrels_stats_with_pandas(out: Path, path: Path) -> None:
    out.write_text(str(pandas_qrels(path).groupby("grade").size()))


def agree_with_pandas(out: Path, *paths: Path) -> None:
    """The table and one kappa, without an interval."""
    import pandas as pd
    from sklearn.metrics import cohen_kappa_score

    first, second = map(pandas_qrels, paths)
    both = first.merge(second, on=["query", "doc"])
    table = pd.crosstab(both["grade_x"], both["grade_y"])
    out.write_text(f"{table} {cohen_kappa_score(both['grade_x'], both['grade_y'])}")


class Case(NamedTuple):
    """A command over some files, `{out}` being the file to write; and its peer."""

    arguments: tuple[str, ...]
    files: int
    kind: str
    peer: Callable[..., None] | None = None
    most: int = 10**9


CASES = {
    "fuse (3 runs)": Case(("runs", "fuse", "{in}", "-o", "{out}"), 3, "trec", ranx_fuse),
    "runs sort": Case(("runs", "sort", "{in}", "-o", "{out}"), 1, "trec", sort_with_pandas),
    "runs cut": Case(
        ("runs", "cut", "{in}", "-o", "{out}", "--depth", "100"), 1, "trec", cut_with_pandas
    ),
    "runs convert (.json)": Case(
        ("runs", "convert", "{in}", "-o", "{out}", "--to", "json"), 1, "trec", convert_with_pandas
    ),
    "runs stats": Case(("runs", "stats", "{in}"), 1, "trec", stats_with_pandas),
    "qrels merge (2)": Case(
        ("qrels", "merge", "{in}", "-o", "{out}", "--conflict", "max"),
        2,
        "qrels",
        merge_with_pandas,
    ),
    "agree (2)": Case(("agree", "{in}", "--format", "csv"), 2, "labels", agree_with_pandas),
    "qrels stats": Case(("qrels", "stats", "{in}"), 1, "qrels", qrels_stats_with_pandas),
}


def inputs(folder: Path, case: Case, lines: int) -> list[Path]:
    """Files of so many lines together."""
    each = max(1, lines // case.files // DEPTH) * DEPTH
    paths = [folder / f"{each}-{number}.{case.kind}" for number in range(case.files)]
    if case.kind == "labels":
        write_labels(paths, each // JUDGED)
        return paths
    write = write_run if case.kind == "trec" else write_qrels
    for number, path in enumerate(paths):
        if not path.exists():
            write(path, each, number)
    return paths


def report(folder: Path, sizes: Sequence[int], most_of_peers: int, only: Sequence[str]) -> None:
    labeler = str(Path(sys.executable).with_name("labeler"))
    out = folder / "out"
    for name, case in CASES.items():
        if only and not any(word in name for word in only):
            continue
        for lines in [size for size in sizes if size <= case.most]:
            paths = [str(path) for path in inputs(folder, case, lines)]
            places = {"{out}": [str(out)], "{in}": paths}
            words = [w for word in case.arguments for w in places.get(word, [word])]
            cpu, _, memory, _ = spent([labeler, *words])
            line = f"{name:20} {lines:>10,} lines {cpu:7.2f} s {memory:6.0f} MB"
            if case.peer and lines <= most_of_peers:
                command = [sys.executable, __file__, "--peer", name, str(out), *paths]
                theirs = spent(command)
                line += f"   peer {theirs.cpu:7.2f} s {theirs.megabytes:6.0f} MB"
                line += f"   {cpu / theirs.cpu:.2f} of its time"
                line += f", {memory / theirs.megabytes:.2f} memory"
            print(line, flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--peer"]:
        name, out, *paths = sys.argv[2:]
        peer = CASES[name].peer
        assert peer is not None
        peer(Path(out), *map(Path, paths))
        return
    options = parser(__doc__, most=10_000_000, peers=1_000_000)
    options.add_argument("-o", type=Path, default=Path("bench"), help="folder for the files")
    options.add_argument("--only", action="append", default=[], help="commands with this word")
    given = options.parse_args()
    given.o.mkdir(parents=True, exist_ok=True)
    sizes = [size for size in (10**4, 10**5, 10**6, 10**7) if size <= given.most]
    report(given.o, sizes, given.peers, given.only)


if __name__ == "__main__":
    main()
