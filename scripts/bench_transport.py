"""Measure the transport: the same judging requests through our path and through others.

    python scripts/bench_transport.py [--requests 20000] [--at-once 256] [--only NAME,NAME]
                                      [--rounds 1]
    python scripts/bench_transport.py --answered 1000000 [--logprobs] [--folder DIR]

A fast loopback server in a process of its own answers at once. Each client runs in a process of
its own too, asks all requests at the given concurrency, validates every reply, and keeps it in a
store of ours in batches. Clients that are not installed are named and left out. Prints requests
per second, CPU and memory of each client, and how many times its CPU ours is: of all that a run
takes, from its first import on, and of each further request, by a quarter as many beside all. Of
several rounds, in each of which all clients have their turn, these are medians.

With `--answered`, no server is asked: a store is filled with a reply for every pair, and `labeler
judge` then makes labels of them. `--folder` keeps the collections, to be measured again.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from answered import PASSAGE, make_collection, show
from harness import fast_server, parser

from labeler.data import Judgement, Pair
from labeler.judging.reply import parse_grade
from labeler.model import Message, Reply, Request
from labeler.store import open_store
from labeler.store.base import KeyedReply, WriteBatch
from labeler.store.keys import Canon

SCALE = (0, 1, 2, 3)
SCHEMA = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "enum": list(SCALE)}},
    "required": ["grade"],
    "additionalProperties": False,
}
FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
}

Ask = Callable[[str], Awaitable[Reply]]


def text_of(number: int) -> str:
    return f"Grade this for query {number}.\n{PASSAGE}"


def messages_of(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def body_of(text: str) -> dict[str, object]:
    return {
        "model": "bench",
        "messages": messages_of(text),
        "temperature": 0.0,
        "max_tokens": 64,
        "response_format": FORMAT,
    }


async def through_openai(url: str, _at_once: int) -> Ask:
    import openai

    client = openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0)

    async def ask(text: str) -> Reply:
        answer = await client.chat.completions.create(**body_of(text))  # type: ignore[call-overload]
        return Reply(answer.choices[0].message.content)

    return ask


async def through_openai_aiohttp(url: str, at_once: int) -> Ask:
    import httpx2
    import openai

    limits = httpx2.Limits(max_connections=at_once)
    wire = openai.DefaultAioHttpClient(limits=limits)
    client = openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=wire)

    async def ask(text: str) -> Reply:
        answer = await client.post("/chat/completions", cast_to=httpx2.Response, body=body_of(text))
        return Reply(json.loads(answer.content)["choices"][0]["message"]["content"])

    return ask


async def through_litellm(url: str, _at_once: int) -> Ask:
    import litellm

    async def ask(text: str) -> Reply:
        answer = await litellm.acompletion(
            **{**body_of(text), "model": "openai/bench"}, api_base=url, api_key="k", num_retries=0
        )
        return Reply(answer.choices[0].message.content)

    return ask


async def through_instructor(url: str, _at_once: int) -> Ask:
    import instructor
    import openai
    from pydantic import BaseModel

    class Verdict(BaseModel):
        grade: int

    client = instructor.from_openai(
        openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0), mode=instructor.Mode.JSON
    )

    async def ask(text: str) -> Reply:
        verdict = await client.chat.completions.create(
            model="bench",
            messages=messages_of(text),  # type: ignore[arg-type]
            response_model=Verdict,
            temperature=0.0,
            max_tokens=64,
            max_retries=0,
        )
        return Reply(verdict.model_dump_json())

    return ask


async def through_langchain(url: str, _at_once: int) -> Ask:
    from langchain_openai import ChatOpenAI

    client = ChatOpenAI(
        model="bench", base_url=url, api_key="k", max_retries=0, temperature=0.0, max_tokens=64
    ).bind(response_format=FORMAT)

    async def ask(text: str) -> Reply:
        return Reply((await client.ainvoke(text)).content)

    return ask


async def through_aiohttp(url: str, at_once: int) -> Ask:
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once))

    async def ask(text: str) -> Reply:
        headers = {"Authorization": "Bearer k"}
        async with session.post(
            f"{url}/chat/completions", json=body_of(text), headers=headers
        ) as answer:
            return Reply(json.loads(await answer.read())["choices"][0]["message"]["content"])

    return ask


OTHERS: dict[str, tuple[str, Callable[[str, int], Awaitable[Ask]]]] = {
    "openai, default transport": ("openai", through_openai),
    "openai, aiohttp, low-level post": ("aiohttp", through_openai_aiohttp),
    "litellm": ("litellm", through_litellm),
    "instructor": ("instructor", through_instructor),
    "langchain-openai": ("langchain_openai", through_langchain),
    "bare aiohttp": ("aiohttp", through_aiohttp),
}
OURS = "labeler judge, all of it"


async def drive_other(name: str, url: str, folder: Path, count: int, at_once: int) -> None:
    """All requests through another client, each reply validated and kept in batches."""
    ask = await OTHERS[name][1](url, at_once)
    numbers = iter(range(count))
    rows: list[KeyedReply] = []
    with open_store(folder / "replies.db") as store:

        async def work() -> None:
            nonlocal rows
            for number in numbers:
                text = text_of(number)
                reply = await ask(text)
                outcome = parse_grade(Pair("q", str(number)), reply, SCALE)
                assert isinstance(outcome, Judgement), outcome
                request = Request((Message("user", text),))
                rows.append(KeyedReply(Canon("bench").keyed(request).key, "bench", text, reply))
                if len(rows) >= 500:
                    full, rows = rows, []
                    await asyncio.to_thread(store.write, WriteBatch(full))

        await asyncio.gather(*(work() for _ in range(at_once)))
        store.write(WriteBatch(rows))
        assert len(store) == count


def drive_ours(url: str, folder: Path, count: int, at_once: int) -> None:
    """`labeler judge` on a collection of as many pairs: from the files to the qrels."""
    from labeler.cli import execute

    gc.set_threshold(50_000)  # as the command line does for the process' life
    command = ["judge", str(folder), "--model", "bench", "--base-url", url, "--as", "a"]
    assert execute([*command, "--concurrency", str(at_once), "--quiet"]) == 0
    with open_store(folder / "replies.db") as store:
        assert len(store) == count


def child(name: str, url: str, count: int, at_once: int) -> None:
    """Run one client; a line of JSON with what it took."""
    os.environ["OPENAI_API_KEY"] = "k"
    with tempfile.TemporaryDirectory(prefix="labeler-bench-") as folder:
        if name == OURS:
            make_collection(Path(folder), count)
        began, cpu = time.monotonic(), time.process_time()
        if name == OURS:
            drive_ours(url, Path(folder), count, at_once)
        else:
            asyncio.run(drive_other(name, url, Path(folder), count, at_once))
        seconds, used = time.monotonic() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"rate": count / seconds, "cpu": used / count * 1e6, "peak": peak}
    print(json.dumps(found), file=sys.__stdout__, flush=True)


def is_here(name: str) -> bool:
    """Whether a client is installed."""
    from importlib.util import find_spec

    return name == OURS or find_spec(OTHERS[name][0]) is not None


def measure(name: str, url: str, count: int, at_once: int) -> dict[str, float] | None:
    command = [sys.executable, __file__, "--child", name, "--url", url]
    command += ["--requests", str(count), "--at-once", str(at_once)]
    cached = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # else all modules are compiled again
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=cached)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        print(f"{name}: failed: {said[-1] if said else 'no word'}", flush=True)
        return None
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure_both(name: str, url: str, count: int, at_once: int) -> dict[str, float] | None:
    """What `measure` finds, and the microseconds of CPU of each further request."""
    few, found = count // 4, measure(name, url, count, at_once)
    fewer = measure(name, url, few, at_once) if found else None
    if not found or not fewer:
        return None
    further = (found["cpu"] * count - fewer["cpu"] * few) / (count - few)
    return {**found, "further": further}


def main() -> None:
    options = parser(__doc__, requests=20_000, at_once=256, only="", rounds=1, logprobs=False)
    options.add_argument("--answered", type=int, metavar="N")
    options.add_argument("--folder", type=Path)
    options.add_argument("--child")
    options.add_argument("--url")
    given = options.parse_args()
    if given.child:
        child(given.child, given.url, given.requests, given.at_once)
        return
    if given.answered:
        with tempfile.TemporaryDirectory(prefix="labeler-bench-") as made:
            show(given.answered, given.folder or Path(made), logprobs=given.logprobs)
        return
    with fast_server() as url:
        compare(given, url)


def compare(given: argparse.Namespace, url: str) -> None:
    """A line for each client that is installed."""
    print(f"{given.requests:,} requests, {given.at_once} at once", flush=True)
    print(
        f"{'client':34}{'requests/s':>11}{'CPU µs each':>13}{'further':>9}{'peak MB':>9}"
        f"{'ours is':>13}{'further':>9}"
    )
    names = [n for n in (OURS, *OTHERS) if any(part in n for part in given.only.split(","))]
    for name in [name for name in names if not is_here(name)]:
        print(f"{name}: not installed, left out", flush=True)
        names.remove(name)
    rounds = [
        {name: measure_both(name, url, given.requests, given.at_once) for name in names}
        for _ in range(given.rounds)
    ]
    ours = (0.0, 0.0)
    for name in names:
        found = [took for each in rounds if (took := each[name])]
        if found:
            rate, cpu, peak, further = (median(t[what] for t in found) for what in found[0])
            ours = ours if any(ours) else (cpu, further)
            numbers = f"{rate:11,.0f}{cpu:13,.0f}{further:9,.0f}{peak:9,.0f}"
            ratios = f"{ours[0] / cpu:13.2f}{ours[1] / further:9.2f}"
            print(f"{name:34}{numbers}{ratios}", flush=True)


if __name__ == "__main__":
    main()
