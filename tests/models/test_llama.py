"""The same path against a real third-party server: llama.cpp's, with the embedded model."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from made import make_collection
from running import environment, finish

from labeler.cli import execute
from labeler.collection.judgements import read_judgements
from labeler.data import Judgement
from labeler.model import Message, Reply, Request
from labeler.models.embedded import EMBEDDED
from labeler.models.local.serve import Served, can_serve, serving
from labeler.models.policies.learn import Abilities, probe
from labeler.models.server.client import server_model
from labeler.prompt import find_prompt, schema_of

GRADE = Request(
    (Message("user", 'Is tea a drink? Reply with {"grade": N}, N from 0 to 3.'),),
    {"temperature": 0.0, "max_tokens": 32},
    schema_of(find_prompt("four-grades")),
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    path = EMBEDDED.path
    if not EMBEDDED.is_here:
        pytest.skip("the embedded model is not in the cache folder: labeler fetch model")
    if not can_serve():
        pytest.skip("the engine is not installed: pip install 'ir-labeler[local]'")
    with serving(path) as there:
        yield there


def ask(served: Served, *requests: Request) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        model = server_model("local", *served, seconds=120)
        try:
            return await asyncio.gather(*map(model.ask, requests))
        finally:
            await model.close()

    return asyncio.run(all_of_them())


@pytest.mark.sweep  # with a small model of zeros it is in tests/models/test_local.py
def test_a_schema_is_kept_and_the_tokens_are_counted(served: Served) -> None:
    (reply,) = ask(served, GRADE)
    assert reply.finish_reason == "stop"
    assert reply.prompt_tokens > 10
    assert reply.completion_tokens > 3
    assert reply.model


@pytest.mark.slow
def test_what_the_server_accepts_is_found_out(served: Served) -> None:
    async def find() -> Abilities:
        model = server_model("local", *served, seconds=120)
        try:
            return await probe(model)
        finally:
            await model.close()

    assert asyncio.run(find()) == Abilities()


@pytest.mark.slow
def test_log_probabilities_give_a_distribution(served: Served, tmp_path: Path) -> None:
    assert EMBEDDED.is_here
    collection = make_collection(tmp_path, queries=1, documents=3)
    url = ["--base-url", served.base_url, "--model", "tiny", "--as", "a"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", served.api_key)
        assert execute(["judge", str(tmp_path), *url]) == 0
    outcomes = [row.judged.outcome for row in read_judgements(collection.judgements("a"))]
    for outcome in outcomes:
        assert isinstance(outcome, Judgement)
        assert outcome.distribution is not None
        assert set(outcome.distribution) == {0, 1, 2, 3}
        assert sum(outcome.distribution.values()) == pytest.approx(1)
        assert max(outcome.distribution.values()) == outcome.distribution[outcome.grade]


@pytest.mark.slow
def test_requests_that_wait_for_one_another_do_not_mix_replies_up(served: Served) -> None:
    words = ("apple", "river", "seven", "window")
    schemas = [
        {"type": "object", "properties": {"w": {"const": word}}, "required": ["w"]}
        for word in words
    ]
    requests = [
        Request((Message("user", f"Say {w} in JSON."),), {"max_tokens": 16, "temperature": 0.0}, s)
        for w, s in zip(words, schemas, strict=True)
    ]
    for word, reply in zip(words, ask(served, *requests), strict=True):
        assert word in reply.text


@pytest.mark.slow
def test_a_server_unplugged_in_mid_run_loses_no_reply(tmp_path: Path) -> None:
    path = EMBEDDED.path
    if not EMBEDDED.is_here or not can_serve():
        pytest.skip("the embedded model or its engine is not here: labeler fetch model")
    collection = make_collection(tmp_path, queries=4, documents=20)
    with serving(path) as served:
        where = ["--base-url", served.base_url, "--model", "tiny", "--as", "a"]
        quick = [
            "--set",
            "model.tries=1",
            "--set",
            "model.timeout=60",
            "--concurrency",
            "2",
            "--quiet",
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "labeler", "judge", str(tmp_path), *where, *quick],
            env=environment(OPENAI_API_KEY=served.api_key),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not collection.store.exists() or replies_in(collection.store) < 3:
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
    code, said = finish(process, 120)
    assert code == 69, said
    assert "Traceback" not in said
    assert replies_in(collection.store) >= 3
    assert execute(["store", "verify", str(tmp_path)]) == 0


def replies_in(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
