"""Collections whose pairs are all answered already, for `scripts/bench_transport.py --answered`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fast_server import BODY

from labeler.collection.corpus import read_corpus
from labeler.collection.queries import read_queries
from labeler.data import Pair
from labeler.judging.assessor import Assessor, Texts
from labeler.model import Reply, Request
from labeler.models.policies.learn import Abilities
from labeler.models.server.client import server_model
from labeler.prompt import find_prompt
from labeler.store import Store, open_store
from labeler.store.base import KeyedReply, WriteBatch
from labeler.store.keys import Canon
from labeler.store.replies import kept_secret

PASSAGE = "words of a passage that is about as long as passages are " * 14
NOBODY = "http://127.0.0.1:9/v1"
"""An address where no server listens, as none is asked."""

QUERIES = 100
BATCH = 1000
SHARES = {"0": -3.1, "1": -2.2, "2": -0.2, "3": -4.0, " ": -9.0}
TOKENS = ({'{"grade": ': 0.0}, {"2": SHARES["2"], **SHARES}, {"}": 0.0})


class Took(NamedTuple):
    """What `labeler judge` took: seconds by the clock, CPU seconds, megabytes at most."""

    seconds: float
    cpu: float
    peak: float


def make_collection(folder: Path, count: int) -> None:
    """A pool of `count` pairs: 100 queries and as many documents as that takes."""
    queries, documents = min(QUERIES, count), count // min(QUERIES, count)
    rows = [{"_id": f"d{d}", "title": "", "text": f"{d} {PASSAGE}"} for d in range(documents)]
    _write(folder / "corpus.jsonl", rows)
    _write(folder / "queries.jsonl", [{"_id": f"q{q}", "text": f"q {q}"} for q in range(queries)])
    with (folder / "pool.jsonl").open("w", encoding="utf-8") as out:
        for pair in _pairs(queries, documents):
            row = {**pair._asdict(), "runs": ["bm25", "dense"], "best_rank": 1}
            out.write(json.dumps(row) + "\n")


def _pairs(queries: int, documents: int) -> Iterator[Pair]:
    return (Pair(f"q{q}", f"d{d}") for q in range(queries) for d in range(documents))


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def answer_all(folder: Path, *, logprobs: bool) -> None:
    """Put a reply for every pair of `make_collection` into the store."""
    texts = Texts(read_queries(folder / "queries.jsonl"), read_corpus(folder / "corpus.jsonl"))
    pairs = _pairs(len(texts.queries), len(texts.documents))
    answer_pairs(folder, texts, pairs, logprobs=logprobs)


def answer_pairs(
    folder: Path, texts: Texts, pairs: Iterator[Pair], *, logprobs: bool = False
) -> None:
    """Put a reply for each pair into the store, as a run that is over would have."""
    assessor = Assessor(find_prompt("four-grades"), server_model("bench", NOBODY, "k"))
    able = Abilities()
    canon = Canon(assessor.model.id, reads_inputs=False)
    tokens = TOKENS if logprobs else ()
    reply = Reply('{"grade": 2}', "stop", None, "bench", 600, 6, tokens, body=BODY)
    with open_store(folder / "replies.db") as store:
        assessor = replace(assessor, secret=kept_secret(store))
        store.learn(f"abilities of {assessor.model.id}", json.dumps(asdict(able)))
        while some := list(islice(pairs, BATCH)):
            requests = [assessor.request(*texts.of(pair)) for pair in some]
            _keep(store, canon, requests, assessor.model.id, reply)


def _keep(store: Store, canon: Canon, requests: list[Request], model_id: str, reply: Reply) -> None:
    keyed = [canon.keyed(request) for request in requests]
    store.write(WriteBatch([KeyedReply(key, model_id, text, reply) for key, text, _ in keyed]))


def judge(folder: Path) -> Took:
    """Run `labeler judge`, which has nothing to ask, in a process of its own."""
    where = ["--model", "bench", "--base-url", NOBODY, "--as", "a", "--quiet"]
    command = [sys.executable, "-m", "labeler", "judge", str(folder), *where]
    began = time.monotonic()
    process = subprocess.Popen(
        command, env={**os.environ, "OPENAI_API_KEY": "k"}, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    assert process.returncode == 0, f"labeler judge ended with {process.returncode}"
    return Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure(count: int, folder: Path, *, logprobs: bool) -> Took:
    """Make a collection of `count` answered pairs, unless the folder holds one, and judge it."""
    if not (folder / "replies.db").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_collection(folder, count)
        answer_all(folder, logprobs=logprobs)
    for made in (folder / "judgements" / "a.jsonl", folder / "qrels" / "a.qrels"):
        made.unlink(missing_ok=True)
    return judge(folder)


def show(count: int, folder: Path, *, logprobs: bool) -> None:
    """Print what nothing to do, 10,000 answered pairs and `count` of them take."""
    print(f"{'answered pairs':>14}{'seconds':>10}{'CPU s':>8}{'peak MB':>9}", flush=True)
    for pairs in sorted({100, 10_000, count}):
        took = measure(pairs, folder / str(pairs), logprobs=logprobs)
        print(f"{pairs:14,}{took.seconds:10.1f}{took.cpu:8.1f}{took.peak:9.0f}", flush=True)
