#!/usr/bin/env python3
"""Measure judging on Ray beside one process: pairs a second, and CPU seconds of all processes.

    .venv/test/bin/python scripts/bench_ray.py stored --pairs 40000 --workers 1 2
    .venv/test/bin/python scripts/bench_ray.py fast --pairs 20000 --workers 1 2
    .venv/test/bin/python scripts/bench_ray.py slow --pairs 1600 --workers 1 2 4 8

`stored`: all replies are there already. `fast`: a server of this machine's answers at once. `slow`:
it answers after 200 ms, and each worker judges so many pairs. It needs the extra `ray`. Rates are
of the time from the first pairs that are done to the last: starting Ray and its workers, and
collecting, are said beside.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import parser

from labeler import Control, JudgeOptions, ajudge
from labeler.collection.layout import Collection
from labeler.scale.partitions.on_ray import RayOptions, ajudge_on_ray

SENTENCE = "the search of passages about rivers and harbors in early maps of northern towns "
DOCUMENTS_OF_A_QUERY = 50
TICKS = os.sysconf("SC_CLK_TCK")


def make_collection(folder: Path, pairs: int) -> Collection:
    """A pool of so many pairs, each with a document of a hundred words."""
    folder.mkdir()
    queries = max(1, pairs // DOCUMENTS_OF_A_QUERY)
    text = SENTENCE * 7
    with (folder / "queries.jsonl").open("w") as out:
        out.writelines(
            json.dumps({"_id": f"q{q}", "text": f"what is {q}?"}) + "\n" for q in range(queries)
        )
    with (folder / "corpus.jsonl").open("w") as out, (folder / "pool.jsonl").open("w") as pool:
        for q in range(queries):
            for d in range(DOCUMENTS_OF_A_QUERY):
                document = {"_id": f"d{q}-{d}", "title": "", "text": f"{q} {d} {text}"}
                out.write(json.dumps(document) + "\n")
                pool.write(json.dumps({"query_id": f"q{q}", "doc_id": f"d{q}-{d}"}) + "\n")
    return Collection(folder)


class Watch:
    """When how many pairs were done."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.done: list[float] = []

    @contextmanager
    def judging(self, _run: Any) -> Iterator[Any]:
        yield lambda _judged: self.done.append(time.monotonic())

    def figures(self) -> dict[str, float]:
        ended = time.monotonic()
        first = self.done[0]
        later = sum(1 for at in self.done if at > first + 0.1)
        return {
            "rate": later / max(1e-9, self.done[-1] - first),
            "start": first - self.began,
            "end": ended - self.done[-1],
            "seconds": ended - self.began,
        }


class Processors:
    """The CPU seconds of this process' descendants, those that have ended among them."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Processors:
        self._thread.start()
        self._own = time.process_time()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        parents, seconds = dict[int, int](), dict[int, float]()
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            number = int(path.parent.name)
            parents[number], spent = int(fields[1]), int(fields[11]) + int(fields[12])
            seconds[number] = spent / TICKS
        for number in parents:
            above = number
            while above > 1 and above != os.getpid():
                above = parents.get(above, 0)
            if above == os.getpid() and number != os.getpid():
                self._seconds[number] = seconds[number]

    @property
    def seconds(self) -> float:
        return sum(self._seconds.values()) + time.process_time() - self._own


@contextmanager
def server(delay: float) -> Iterator[str]:
    script = Path(__file__).with_name("fast_server.py")
    command = [sys.executable, str(script), "--seconds", str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        yield f"http://127.0.0.1:{run.stdout.readline().strip()}/v1"
        run.terminate()


def measured(kind: str, collection: Collection, url: str, workers: int | None) -> None:
    """Judge, on Ray or in one process, and print what that took."""
    watch, options = Watch(), JudgeOptions("four-grades", "bench", url, "one")
    control = Control(judging=watch.judging)
    parts = collection.folder.parent / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    with Processors() as processors:
        before = len(watch.done)
        if workers is None:
            result = asyncio.run(ajudge(collection, options, control))
        else:
            how = RayOptions(workers)
            work = ajudge_on_ray(collection, parts, options, how, control)
            result = asyncio.run(work).result
        assert result.judged == len(watch.done) - before, "every pair has a grade"
    row = {"kind": kind, "workers": workers or "one process", "pairs": result.judged}
    figures = {name: round(value, 1) for name, value in watch.figures().items()}
    print(json.dumps({**row, **figures, "cpu": round(processors.seconds, 1)}), flush=True)


def main() -> None:
    arguments = parser(
        __doc__, kind=dict.fromkeys(("stored", "fast", "slow")), pairs=20000, workers=[1, 2]
    ).parse_args()
    os.environ["OPENAI_API_KEY"] = "sk-bench"
    kind = arguments.kind
    with TemporaryDirectory() as folder, server(0.2 if kind == "slow" else 0.0) as url:
        whole = make_collection(Path(folder) / "whole", arguments.pairs)
        if kind == "stored":
            asyncio.run(
                ajudge(whole, JudgeOptions("four-grades", "bench", url, "one", concurrency=64))
            )
        for workers in (None, *arguments.workers):
            copy = Path(folder) / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            if kind == "slow":
                make_collection(copy, arguments.pairs * (workers or 1))
            else:
                shutil.copytree(whole.folder, copy)
            measured(kind, Collection(copy), url, workers)


if __name__ == "__main__":
    main()
