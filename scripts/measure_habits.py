"""How many pairs are judged where a server has a real provider's habits, and for what.

    PYTHONPATH=. python scripts/measure_habits.py [--only gemini,hybrid] [--pairs 208]

A loopback server has one habit a model name (tests/provider_habits.py). Each habit judges a made
collection of its own with `labeler judge`, first as a dry run. Prices are those of gpt-5-mini.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from labeler.testing import Answer, Call, FakeServer  # noqa: E402  the path comes first
from tests.provider_habits import HABITS, answer_by_habit  # noqa: E402  the same

IN, OUT = 0.25, 2.0
"""Dollars for a million tokens."""

QUERIES = 30
EQUAL = 14
"""Pairs whose requests are those of others, as products that are listed twice."""

LONG = ("ollama", "short", "short-thinks")
"""Habits that need documents of which some are longer than their context."""

WORDS = """river engine battery screen glass garden winter policy market protein signal vessel
copper memory harbour tunnel planet fabric doctor ballot lantern muscle orchard bridge saddle cement
comet barrel feather pigment turbine""".split()  # noqa: SIM905 - read as words, not quotes


def make_collection(folder: Path, pairs: int, *, some_long: bool) -> None:
    """Pairs of made texts that share some words with their query; a quarter may be very long."""
    draw = random.Random(24)
    folder.mkdir()
    queries = {f"q{n}": draw.sample(WORDS, 3) for n in range(QUERIES)}
    documents, pool = {}, []
    for n in range(pairs):
        query = f"q{n % QUERIES}"
        shared = draw.sample(queries[query], draw.randint(0, 3))
        text = " ".join(draw.choices(WORDS, k=120) + shared)
        is_long = some_long and n % 4 == 0
        doc = f"d{n - QUERIES}" if pairs - EQUAL <= n and not is_long else f"d{n}"
        text = documents[doc] if doc != f"d{n}" else " ".join([text] * (30 if is_long else 1))
        documents[f"d{n}"] = text
        pool.append({"query_id": query, "doc_id": f"d{n}", "runs": ["made"], "best_rank": 1})
    _write(
        folder / "corpus.jsonl", [{"_id": d, "title": "", "text": t} for d, t in documents.items()]
    )
    _write(folder / "queries.jsonl", [{"_id": q, "text": " ".join(w)} for q, w in queries.items()])
    _write(folder / "pool.jsonl", pool)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


class Billing:
    """What the server would bill a model for, whatever it says in its usage."""

    def __init__(self) -> None:
        self.calls = self.tokens_in = self.tokens_out = 0

    def answer(self, call: Call) -> Answer:
        """Answer by habit, and count."""
        answer = answer_by_habit(call)
        usage = answer.body.get("usage", {}) if isinstance(answer.body, dict) else {}
        self.calls += 1
        self.tokens_in += usage.get("prompt_tokens", 0)
        self.tokens_out += usage.get("total_tokens", 0) - usage.get("prompt_tokens", 0)
        return answer

    @property
    def cost(self) -> float:
        """In dollars."""
        return (self.tokens_in * IN + self.tokens_out * OUT) / 1e6


def judged(folder: Path, name: str, address: str, *more: str) -> dict[str, Any]:
    """The JSON that `labeler judge` prints, and its last line of warnings where it fails."""
    command = [sys.executable, "-m", "labeler", "judge", str(folder), "--model", name, "--as", "x"]
    command += ["--base-url", address, "--set", f"budget.prices={folder.parent / 'prices.toml'}"]
    environment = {**os.environ, "OPENAI_API_KEY": "any key", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--quiet", "--json", *more], capture_output=True, env=environment, check=False
    )
    said = json.loads(done.stdout) if done.stdout.strip().startswith(b"{") else {}
    return {**said, "code": done.returncode, "last": done.stderr.decode().strip().split("\n")[-1]}


def row(folder: Path, name: str, pairs: int, more: list[str]) -> str:
    """One habit, measured."""
    collection, billing = folder / name, Billing()
    make_collection(collection, pairs, some_long=name in LONG)
    with FakeServer(billing.answer, tuple(HABITS)) as server:
        before = judged(collection, name, server.base_url, "--dry-run")
        run = judged(collection, name, server.base_url, *more)
    most, out = before.get("cost_at_most") or 0.0, before.get("tokens_out_at_most")
    why = "" if run.get("judged") == pairs else " ".join(run["last"].split())[:90]
    return (
        f"| {name} | {run.get('judged', 0)} | {billing.calls} | {out} | {billing.tokens_out} "
        f"| {most:.4f} | {billing.cost:.4f} | {run['code']} | {why} |"
    )


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(HABITS))
    parser.add_argument("--pairs", type=int, default=208)
    parser.add_argument("more", nargs="*", help="options of `labeler judge`, after --")
    options = parser.parse_args()
    print(
        "| habit | judged | calls | out at most | out billed | $ at most | $ billed | exit | end |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    with TemporaryDirectory() as folder:
        names = options.only.split(",")
        prices = "\n".join(f"{n!r} = {{ tokens_in = {IN}, tokens_out = {OUT} }}" for n in HABITS)
        (Path(folder) / "prices.toml").write_text(
            f"as_of = '2026'\n[hosts.'127.0.0.1']\n{prices}\n"
        )
        for name in names:
            print(row(Path(folder), name, options.pairs, options.more), flush=True)


if __name__ == "__main__":
    main()
