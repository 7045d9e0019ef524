#!/usr/bin/env python3
"""Hold labeler beside its peers: fail where it takes more of a peer's CPU time than it may.

    python scripts/bench_kept.py [--rounds 3] [--only WORD] [--append]

Each pair is measured in several rounds, ours and the peer's in turn, on the same files. The ratio
is that of the least CPU times, which noise of a shared machine makes no larger. One above its bound
is measured once more, in three times as many rounds, and that counts. What it may be at most stands
in `scripts/kept_ratios.json`, beside the ratios of before; `--append` adds those of today. No bound
is in seconds. About two minutes on two cores.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import bench_metrics
import bench_tools
import bench_transport
import ir_measures
import pytrec_eval
from harness import fast_server, machine, parser, spent

import labeler
import labeler.metrics

RATIOS = Path(__file__).with_name("kept_ratios.json")
NAMES = ["nDCG@10", "AP", "RR", "P@10"]
PEER_NAMES = {"ndcg_cut.10", "map", "recip_rank", "P.10"}
REQUESTS, AT_ONCE = 4_000, 256
AGREE = "agree (2)"
OF_PROGRAMS = Path(sys.executable).parent


class Files:
    """What the pairs are measured on: made when first asked for, the same for both of a pair."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    @cached_property
    def small(self) -> Path:
        return bench_metrics.write_files(self.folder, 43, depth=100)

    @cached_property
    def large(self) -> Path:
        return bench_metrics.write_files(self.folder, 300)

    @cached_property
    def labels(self) -> list[Path]:
        return bench_tools.inputs(self.folder, bench_tools.CASES[AGREE], 400_000)


Dicts = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


def dicts(stem: Path) -> Dicts:
    """Qrels and a run as plain dicts."""
    with stem.with_suffix(".qrels").open() as qrels, stem.with_suffix(".trec").open() as run:
        return pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)


def frames(stem: Path) -> tuple[Any, Any]:
    """The same as DataFrames with the columns of ir_measures."""
    import pandas as pd

    of_qrels = ir_measures.read_trec_qrels(str(stem.with_suffix(".qrels")))
    of_run = ir_measures.read_trec_run(str(stem.with_suffix(".trec")))
    return pd.DataFrame(of_qrels), pd.DataFrame(of_run)


def program(*words: str | Path) -> float:
    """The CPU seconds of a process, of which all modules are compiled."""
    return spent([OF_PROGRAMS / words[0], *words[1:]], PYTHONDONTWRITEBYTECODE="").cpu


def refused(*words: str | Path) -> float:
    """The same of a command that is to end with 74, since a file is not there."""
    shell = '"$@" 2>&1; test $? = 74'
    return spent(["sh", "-c", shell, "sh", OF_PROGRAMS / "labeler", *words]).cpu


def of_files(stem: Path) -> list[Path]:
    return [stem.with_suffix(".qrels"), stem.with_suffix(".trec")]


def called(function: Callable[[], object]) -> float:
    """The CPU seconds of a call in this process."""
    began = time.process_time()
    function()
    return time.process_time() - began


def pytrec(qrels: Any, run: Any) -> object:
    return pytrec_eval.RelevanceEvaluator(qrels, PEER_NAMES).evaluate(run)


def ir(qrels: Any, run: Any) -> object:
    return ir_measures.calc_aggregate(list(map(ir_measures.parse_measure, NAMES)), qrels, run)


class Pair(NamedTuple):
    """The CPU seconds of ours and of the peer, each time they are asked for."""

    ours: Callable[[], float]
    theirs: Callable[[], float]


def calls(
    ours: Callable[[Any, Any, Any], object],
    theirs: Callable[[Any, Any], object],
    given: tuple[Any, Any],
) -> Pair:
    return Pair(lambda: called(lambda: ours(*given, NAMES)), lambda: called(lambda: theirs(*given)))


def asked(files: Files, client: str) -> float:
    """The CPU of a client that asks for all replies, without what it takes to load."""
    took = bench_transport.measure(client, files.url, REQUESTS, AT_ONCE)
    return float(took["cpu"]) if took else float("nan")


PAIRS: Mapping[str, Callable[[Files], Pair]] = {
    "labeler --help, of ir_measures' program": lambda f: Pair(
        partial(program, "labeler", "--help"),
        partial(program, "ir_measures", *of_files(f.small), *NAMES),
    ),
    "a missing file, of ir_measures' program": lambda f: Pair(
        partial(refused, "evaluate", of_files(f.small)[0], "missing.trec"),
        partial(program, "ir_measures", *of_files(f.small), *NAMES),
    ),
    "labeler evaluate of 43 x 100, of ir_measures' program": lambda f: Pair(
        partial(program, "labeler", "evaluate", *of_files(f.small)),
        partial(program, "ir_measures", *of_files(f.small), *NAMES),
    ),
    "labeler.evaluate of dicts of 43 x 100, of pytrec_eval": lambda f: calls(
        labeler.evaluate, pytrec, dicts(f.small)
    ),
    "labeler.evaluate of dicts of 300 x 1,000, of pytrec_eval": lambda f: calls(
        labeler.evaluate, pytrec, dicts(f.large)
    ),
    "labeler.evaluate of DataFrames of 300 x 1,000, of ir_measures": lambda f: calls(
        labeler.evaluate, ir, frames(f.large)
    ),
    "labeler.metrics of dicts of 300 x 1,000, of pytrec_eval": lambda f: calls(
        labeler.metrics.evaluate, pytrec, dicts(f.large)
    ),
    "labeler trec-eval of 300 x 1,000, of trec_eval's C": lambda f: Pair(
        partial(program, "labeler", "trec-eval", *of_files(f.large)),
        partial(
            program,
            "python",
            Path(__file__).with_name("bench_large_runs.py"),
            *("--tool", "trec_eval", "--files", *of_files(f.large)),
        ),
    ),
    "labeler agree of 200,000 pairs, of pandas and scikit-learn": lambda f: Pair(
        partial(program, "labeler", "agree", *f.labels, "--format", "csv"),
        partial(
            program,
            "python",
            Path(bench_tools.__file__),
            *("--peer", AGREE, f.folder / "out", *f.labels),
        ),
    ),
    "labeler judge of 4,000 pairs, of bare aiohttp": lambda f: Pair(
        partial(asked, f, bench_transport.OURS), partial(asked, f, "bare aiohttp")
    ),
}


def ratio(pair: Pair, rounds: int) -> float:
    """That of the least CPU times of all rounds."""
    took = [(pair.ours(), pair.theirs()) for _ in range(rounds)]
    ours, theirs = map(min, zip(*took, strict=True))
    return ours / theirs


def main() -> None:
    given = parser(__doc__, rounds=3, only="", append=False).parse_args()
    kept = json.loads(RATIOS.read_text(encoding="utf-8"))
    assert kept.keys() == PAIRS.keys(), "each pair has a bound, and each bound a pair"
    day, above = datetime.now(UTC).date().isoformat(), []
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-kept-") as folder, fast_server() as url:
        files = Files(Path(folder), url)
        for name in [name for name in PAIRS if given.only in name]:
            pair, most = PAIRS[name](files), kept[name]["at_most"]
            value = ratio(pair, given.rounds)
            if value > most:
                print(f"{value:6.2f} at first, so measured once more: {name}", flush=True)
                value = ratio(pair, 3 * given.rounds)
            kept[name]["history"].append(f"{day} {labeler.__version__} {value:.2f}")
            print(f"{value:6.2f} at most {most:5.2f}  {name}", flush=True)
            above += [] if value <= most else [name]
    if given.append:
        RATIOS.write_text(f"{json.dumps(kept, indent=1)}\n", encoding="utf-8")
    if above:
        sys.exit(f"slower beside its peers than it may be: {'; '.join(above)}")


if __name__ == "__main__":
    main()
