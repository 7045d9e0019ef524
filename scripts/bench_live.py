"""Judge a made collection of many pairs live, stop it half way, go on, and say what all of it took.

    python scripts/bench_live.py --folder DIR [--pairs 1000000] [--stop kill|interrupt|never]
                                 [--at-once 256] [--logprobs] [--seconds S] [--only-asking]
                                 [--options ...]

The collection has 100 documents for each query, drawn from a corpus of a tenth as many passages of
about 1,000 characters. A server on this machine answers every call, and counts those that it had
answered before. `labeler judge` runs in a process of its own, which is stopped when half of all
pairs were asked: `kill` sends SIGKILL, `interrupt` SIGINT. The same command then goes on. Memory is
looked at every few seconds. At last a corrected parser is played: `relabel --reparse` grades all
stored replies anew. Results go to `DIR/result.json` and, for the page of the
docs, to `DIR/result.toml`.

The folder is on a disk that holds 5 KB a pair, and is kept, to be measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import fast_server, parser

POOL = 100
"""Documents that are judged for each query."""

WORDS_OF_A_PASSAGE = (60, 300)
SAMPLE_SECONDS = 2.0
NAME = "live"


def make_collection(folder: Path, pairs: int, seed: int = 0) -> None:
    """Queries with 100 documents each, out of a corpus of a tenth as many passages as pairs."""
    rng = random.Random(seed)
    queries, documents = max(1, pairs // POOL), max(POOL, pairs // 10)
    words = [_word(rng) for _ in range(20_000)]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as out:
        for number in range(documents):
            text = _text(rng, words, rng.randint(*WORDS_OF_A_PASSAGE))
            row = {"_id": f"passage-{number}", "title": _text(rng, words, 4), "text": text}
            out.write(json.dumps(row) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as out:
        for number in range(queries):
            text = _text(rng, words, rng.randint(3, 9))
            out.write(json.dumps({"_id": f"query-{number}", "text": text}) + "\n")
    with (folder / "pool.jsonl").open("w", encoding="utf-8") as out:
        for number in range(pairs):
            query, rank = divmod(number, POOL)
            if not rank:
                drawn = rng.sample(range(documents), POOL)
            row = {"query_id": f"query-{query}", "doc_id": f"passage-{drawn[rank]}"}
            out.write(json.dumps({**row, "runs": ["bm25", "dense"], "best_rank": rank + 1}) + "\n")


def _word(rng: random.Random) -> str:
    """A made word of two to four syllables."""
    return "".join(
        rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randint(1, 4))
    )


def _text(rng: random.Random, words: Sequence[str], count: int) -> str:
    """Words whose frequencies fall off as those of texts do."""
    ranks = (int(len(words) ** rng.random()) - 1 for _ in range(count))
    return " ".join(words[rank] for rank in ranks)


@dataclass(frozen=True)
class Sample:
    """What is seen of a process at one moment: megabytes in all, and of its own."""

    seconds: float
    calls: int
    rss: float
    anonymous: float


@dataclass
class Part:
    """One process: how it ended, what it took, and how its memory went."""

    what: str
    exit_code: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    done: int = 0
    calls: int = 0
    again: int = 0
    first_call_after: float | None = None
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True)
class Server:
    """The server that is asked: where it is, and its counts."""

    url: str
    path: Path

    def counts(self) -> dict[str, Any]:
        try:
            counts: dict[str, Any] = json.loads(self.path.read_text())
        except FileNotFoundError:
            counts = {"calls": 0, "again": 0, "answered": 0, "new_at": 0.0, "most": 0}
        return counts


@contextmanager
def served(folder: Path, options: Sequence[str]) -> Iterator[Server]:
    """A server in a process of its own, as long as the block runs."""
    path = folder / "counts.json"
    path.unlink(missing_ok=True)
    with fast_server("--counts", str(path), *options) as url:
        yield Server(url, path)


def memory_of(process: int) -> tuple[float, float]:
    """Megabytes of a process in memory: all, and what is not of files."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.endswith(" kB")}
    return int(sizes.get("VmRSS", 0)) / 1024, int(sizes.get("RssAnon", 0)) / 1024


def run(
    what: str, words: Sequence[str], server: Server, stop_at: int = 0, stop_by: int = 0
) -> Part:
    """Run a command of labeler; where `stop_at` is given, stop it after so many calls in all."""
    before, part = server.counts(), Part(what)
    began, wall = time.monotonic(), time.time()
    process = subprocess.Popen(
        [sys.executable, "-m", "labeler", *words],
        env={**os.environ, "OPENAI_API_KEY": "k"},
        stdout=subprocess.DEVNULL,
    )
    next_sample, is_stopped = began, False
    while True:
        number, status, used = os.wait4(process.pid, os.WNOHANG)
        if number:
            break
        counts, now = server.counts(), time.monotonic()
        if part.first_call_after is None and counts["new_at"] > wall:
            part.first_call_after = counts["new_at"] - wall
        if now >= next_sample:
            next_sample += SAMPLE_SECONDS
            part.samples.append(Sample(now - began, counts["answered"], *memory_of(process.pid)))
        if stop_at and not is_stopped and counts["answered"] >= stop_at:
            process.send_signal(stop_by)
            is_stopped = True
        time.sleep(0.1)
    process.returncode = os.waitstatus_to_exitcode(status)
    part.seconds, part.exit_code = time.monotonic() - began, process.returncode
    part.cpu, part.peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    time.sleep(1.0)  # the server writes its counts twice a second
    after = server.counts()
    part.calls, part.again = after["calls"] - before["calls"], after["again"] - before["again"]
    show(part)
    return part


def show(part: Part) -> None:
    """Print what a part took."""
    waited = part.first_call_after
    first = "" if waited is None else f", first new call after {waited:.1f} s"
    print(
        f"{part.what}: exit {part.exit_code}, {part.seconds:,.1f} s, {part.cpu:,.1f} s of CPU, "
        f"peak {part.peak:,.0f} MB, {part.calls:,} calls, {part.again:,} of them again{first}",
        flush=True,
    )


def sizes_of(folder: Path) -> dict[str, int]:
    """Bytes of the files that grow with the pairs."""
    names = ("corpus.jsonl", "pool.jsonl", "replies.db", "replies.db-wal")
    names += (f"judgements/{NAME}.jsonl", f"qrels/{NAME}.qrels")
    return {name: (folder / name).stat().st_size for name in names if (folder / name).exists()}


SIGNALS = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Judge all, with a stop half way, go on, and read all replies anew."""
    folder = given.folder / "coll"
    if not (folder / "pool.jsonl").exists():
        make_collection(folder, given.pairs)
    options = ["--seconds", str(given.seconds), *(["--logprobs"] if given.logprobs else [])]
    with served(given.folder, options) as server:
        judge = ["judge", str(folder), "--model", "bench", "--base-url", server.url, "--as", NAME]
        judge += ["--concurrency", str(given.at_once), "--quiet", *given.options]
        parts = []
        if given.stop != "never":
            stop = given.pairs // 2, SIGNALS[given.stop]
            parts.append(run(f"`judge`, stopped at half ({given.stop})", judge, server, *stop))
        parts.append(run("`judge`, to the end", judge, server))
        if not given.only_asking:
            parts.append(run("`judge` again, all answered", judge, server))
            reparse = ["relabel", str(folder), "--from", NAME, "--reparse", "--as", "again"]
            parts.append(run("`relabel --reparse`", reparse, server))
        counts = server.counts()
    for part in parts[1:] if given.stop != "never" else parts:
        part.done = given.pairs
    rows = [{**asdict(part), "done": part.done or part.calls} for part in parts]
    return {"pairs": given.pairs, "counts": counts, "sizes": sizes_of(folder), "parts": rows}


MOMENTS = 8
"""Of the curve of memory."""


def toml_of(result: dict[str, Any]) -> str:
    """What was measured, as `measured_scale.toml` holds it."""
    lines = []
    for part in result["parts"]:
        first = part["first_call_after"]
        lines += ["[[part]]", f'what = "{part["what"]}"', f"pairs = {part['done']}"]
        lines += [f"{name} = {part[name]:.1f}" for name in ("seconds", "cpu", "peak")]
        lines += [f"{name} = {part[name]}" for name in ("calls", "again")]
        lines += [] if first is None else [f"first_call = {first:.1f}"]
        lines.append("")
    samples = [sample for part in result["parts"] for sample in part["samples"]]
    samples = [sample for sample in samples if sample["anonymous"]]
    asked = result["counts"]["answered"]
    shown = [_nearest(samples, asked * n // MOMENTS) for n in range(1, MOMENTS + 1)]
    lines += ["[memory]", f"calls = {[sample['calls'] for sample in shown]}"]
    lines += [f"megabytes = {[round(sample['anonymous']) for sample in shown]}", ""]
    lines += ["[bytes]", *(f'"{name}" = {size}' for name, size in result["sizes"].items())]
    return "\n".join(lines) + "\n"


def _nearest(samples: Sequence[dict[str, Any]], calls: int) -> dict[str, Any]:
    """The last sample that was taken before so many calls were answered."""
    return max((s for s in samples if s["calls"] <= calls), key=lambda s: s["calls"])


def main() -> None:
    options = parser(
        __doc__, pairs=1000000, at_once=256, seconds=0.0, logprobs=False, only_asking=False
    )
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--stop", choices=(*SIGNALS, "never"), default="kill")
    options.add_argument("--options", nargs=argparse.REMAINDER, default=[])
    given = options.parse_args()
    result = measure(given)
    (given.folder / "result.json").write_text(json.dumps(result, indent=1))
    (given.folder / "result.toml").write_text(toml_of(result))
    for name, size in result["sizes"].items():
        print(f"{name}: {size:,} bytes, {size / given.pairs:,.0f} a pair")


if __name__ == "__main__":
    main()
