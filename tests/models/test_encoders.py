"""Vectors from a server: each text once, checked, within limits, and kept as they come."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.cli import execute
from labeler.collection.whose import made_by
from labeler.errors import BadInput, BudgetReached, CallFailed, Misconfigured, Misuse
from labeler.evaluation.inputs import kin_of
from labeler.models.cost import price_of
from labeler.models.encoders import TEXTS_OF_A_CALL, EncoderTexts, Encoding
from labeler.models.session import Control
from labeler.models.settings import EncoderOptions, Limits
from labeler.testing import Answer, Call, FakeServer, embeddings, small_collection
from labeler.testing.fake_server import texts_in
from labeler.trec.files import read_run
from tests.running import environment

TEXTS = [f"text number {n} about {'cats' if n % 2 else 'fish'}" for n in range(100)]
CALLS = -(-len(TEXTS) // TEXTS_OF_A_CALL)


def encoding(server: FakeServer, **changes: Any) -> Encoding:
    limits = Limits(**{"timeout": 20, "tries": 3, **changes})
    return Encoding(EncoderOptions("fake", server.base_url), limits)


def asked(server: FakeServer) -> list[str]:
    return [text for call in server.calls for text in texts_in(call)]


def test_texts_are_encoded_once_and_their_vectors_are_of_unit_length(tmp_path: Path) -> None:
    with FakeServer() as server:
        encoder = encoding(server).ready(tmp_path, EncoderTexts(TEXTS, ["cats"]))
        vectors = encoder.documents(TEXTS)
        assert sorted(asked(server)) == sorted([*TEXTS, "cats"])
        again = encoding(server).ready(tmp_path, EncoderTexts(TEXTS, ["cats"]))
        assert len(server.calls) == -(-101 // TEXTS_OF_A_CALL)
    assert vectors.shape == (100, 8)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(again.documents(TEXTS), vectors)
    assert encoder.id == "fake"


def test_only_what_is_missing_is_asked_for_and_equal_texts_once(tmp_path: Path) -> None:
    with FakeServer() as server:
        encoding(server).ready(tmp_path, EncoderTexts(["a", "b", "a"]))
        encoding(server).ready(tmp_path, EncoderTexts(["b", "c", " \n"]))
        assert asked(server) == ["a", "b", "c"]


def test_a_text_of_white_space_alone_is_not_sent_and_is_near_nothing(tmp_path: Path) -> None:
    with FakeServer() as server:
        encoder = encoding(server).ready(tmp_path, EncoderTexts(["a", " "]))
    assert not encoder.documents([" "]).any()


def test_prefixes_stand_before_documents_and_queries(tmp_path: Path) -> None:
    with FakeServer() as server:
        options = EncoderOptions("fake", server.base_url, "query: ", "passage: ")
        encoder = Encoding(options).ready(tmp_path, EncoderTexts(["a"], ["a"]))
        assert asked(server) == ["passage: a", "query: a"]
    assert not np.array_equal(encoder.documents(["a"]), encoder.queries(["a"]))


def test_one_name_at_two_servers_is_two_encoders_of_queries(tmp_path: Path) -> None:
    with FakeServer() as server, FakeServer() as other:
        first, again, elsewhere = (
            encoding(where).ready(tmp_path, EncoderTexts([], ["a"]))
            for where in (server, server, other)
        )
        options = EncoderOptions("fake", server.base_url, "query: ")
        prefixed = Encoding(options).ready(tmp_path, EncoderTexts([], ["a"]))
    assert first.query_identity == again.query_identity
    identities = {encoder.query_identity for encoder in (first, elsewhere, prefixed)}
    assert (len(identities), prefixed.id, elsewhere.id) == (3, "fake", "fake")


def test_after_an_error_the_next_run_asks_for_the_rest_alone(tmp_path: Path) -> None:
    def fails_later(call: Call) -> Answer:
        if len(server.calls) > 2:
            return Answer({"error": {"message": "no"}}, 403)
        return Answer(embeddings(texts_in(call)))

    with FakeServer() as server:
        server.encode = fails_later
        with pytest.raises(Misconfigured):
            encoding(server).ready(tmp_path, EncoderTexts(TEXTS))
        first = {text for call in server.calls[:2] for text in texts_in(call)}
        server.calls.clear()
        server.encode = lambda call: Answer(embeddings(texts_in(call)))
        encoding(server).ready(tmp_path, EncoderTexts(TEXTS))
        assert sorted([*first, *asked(server)]) == sorted(TEXTS)


KILLED = """
import sys
from pathlib import Path
from labeler.models.settings import EncoderOptions
from labeler.models.encoders import EncoderTexts, Encoding
texts = [f"text {n}" for n in range(160)]
encoding = Encoding(EncoderOptions("fake", sys.argv[1]))
encoding.ready(Path(sys.argv[2]), EncoderTexts(texts))
"""


def stored_in(folder: Path) -> int:
    """How many vectors the file in a folder holds; 0 before it has a table."""
    for path in folder.glob("*.vectors"):
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(path)) as database:
            (number,) = database.execute("SELECT count(*) FROM vectors").fetchone()
            return int(number)
    return 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
def test_a_kill_loses_no_vector_that_had_come(tmp_path: Path) -> None:
    def holds_back(call: Call) -> Answer:
        return Answer(embeddings(texts_in(call)), fault="hang" if len(server.calls) > 2 else "")

    with FakeServer() as server:
        server.encode = holds_back
        words = [sys.executable, "-c", KILLED, server.base_url, str(tmp_path)]
        process = subprocess.Popen(words, env=environment())
        kept = 2 * TEXTS_OF_A_CALL
        for _ in range(600):
            if stored_in(tmp_path) == kept:
                break
            time.sleep(0.05)
        process.kill()
        process.wait()
        before = {text for call in server.calls[:2] for text in texts_in(call)}
        server.calls.clear()
        server.encode = lambda call: Answer(embeddings(texts_in(call)))
        texts = [f"text {n}" for n in range(160)]
        encoding(server).ready(tmp_path, EncoderTexts(texts))
        assert len(before) == kept
        assert sorted([*before, *asked(server)]) == sorted(texts)


def given(vectors: Any) -> Callable[[Call], Answer]:
    rows = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return lambda _call: Answer(json.dumps({"data": rows}).encode())


NOT_NUMBERS = [
    ([[1.0, math.nan]], "holds no finite numbers"),
    ([[1.0, math.inf]], "holds no finite numbers"),
    ([[1e300, 1.0]], "holds no finite numbers"),
    ([[0.0, 0.0]], "is all zeros"),
    ([[1.0], [2.0]], "expected 1 vectors, found 2"),
]


@pytest.mark.parametrize(("vectors", "problem"), NOT_NUMBERS)
def test_vectors_without_a_cosine_end_the_work_and_are_not_kept(
    tmp_path: Path, vectors: Any, problem: str
) -> None:
    with FakeServer() as server:
        server.encode = given(vectors)
        with pytest.raises(CallFailed, match=problem):
            encoding(server).ready(tmp_path, EncoderTexts(["a"]))
        assert len(server.calls) == 1
        server.encode = given([[1.0, 2.0]])
        assert encoding(server).ready(tmp_path, EncoderTexts(["a"])).documents(["a"]).any()


NO_EMBEDDINGS: list[Any] = [
    b"<html>hello</html>",
    {"data": "text"},
    {"data": [{"embedding": "in base64?"}]},
    {"data": [{"embedding": [True, False]}]},
    {"data": [{"embedding": ["1", "2"]}]},
    {"data": [[1.0]]},
    {"data": []},
    {"data": [{"embedding": []}]},
    {"choices": []},
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", NO_EMBEDDINGS)
def test_an_answer_that_is_no_embeddings_is_shown_at_once(tmp_path: Path, body: Any) -> None:
    with FakeServer() as server:
        server.encode = lambda _call: Answer(body)
        with pytest.raises(Misconfigured, match="expected embeddings, found: "):
            encoding(server).ready(tmp_path, EncoderTexts(["a"]))
        assert len(server.calls) == 1


def test_vectors_may_be_in_any_order(tmp_path: Path) -> None:
    def reversed_rows(call: Call) -> Answer:
        rows = [{"index": at, "embedding": [at, 1.0]} for at, _ in enumerate(texts_in(call))]
        return Answer({"data": rows[::-1], "usage": {"total_tokens": 3}})

    with FakeServer() as server:
        server.encode = reversed_rows
        encoder = encoding(server).ready(tmp_path, EncoderTexts(["a", "b"]))
    assert np.allclose(encoder.documents(["a", "b"]), [[0, 1], [0.5**0.5, 0.5**0.5]])


def test_a_server_that_takes_fewer_texts_at_once_gets_fewer(tmp_path: Path) -> None:
    def takes_ten(call: Call) -> Answer:
        texts = texts_in(call)
        if len(texts) > 10:
            return Answer({"error": {"message": "batch size > maximum allowed 10"}}, 422)
        return Answer(embeddings(texts))

    with FakeServer() as server:
        server.encode = takes_ten
        vectors = encoding(server).ready(tmp_path, EncoderTexts(TEXTS)).documents(TEXTS)
    assert vectors.any(axis=1).all()


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_that_is_too_long_for_the_server_is_cut_and_counted(
    tmp_path: Path, status: int
) -> None:
    def takes_short(call: Call) -> Answer:
        texts = texts_in(call)
        if max(map(len, texts)) > 500:
            return Answer({"error": {"message": "maximum context length is 128"}}, status)
        return Answer(embeddings(texts))

    notes: list[str] = []
    with FakeServer() as server:
        server.encode = takes_short
        long = "cats " * 300
        ready = encoding(server).ready(
            tmp_path, EncoderTexts(["a", long]), control=Control(notes.append)
        )
        assert ready.documents([long]).any()
        calls = len(server.calls)
        encoding(server).ready(tmp_path, EncoderTexts([long]))
        assert len(server.calls) == calls
    assert notes[-1] == "1 text was cut to what fake takes, as the server refused them whole"


def test_a_refusal_that_length_does_not_explain_names_the_text(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.encode = lambda _call: Answer({"error": {"message": "no such task"}}, 400)
        with pytest.raises(CallFailed, match=r"no such task; the text .* begins 'text number"):
            encoding(server).ready(tmp_path, EncoderTexts(TEXTS))
        assert len(server.calls) < 100


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    def busy_at_first(call: Call) -> Answer:
        if len(server.calls) == 1:
            return Answer({"error": {"message": "slow down"}}, 429)
        return Answer(embeddings(texts_in(call)))

    with FakeServer() as server:
        server.encode = busy_at_first
        assert encoding(server).ready(tmp_path, EncoderTexts(["a"])).documents(["a"]).any()


def test_a_budget_ends_the_work_and_what_had_come_is_kept(tmp_path: Path) -> None:
    with FakeServer() as server:
        with pytest.raises(BudgetReached):
            encoding(server, max_calls=2).ready(tmp_path, EncoderTexts(TEXTS))
        plan = encoding(server).plan(tmp_path, EncoderTexts(TEXTS))
    assert plan is not None
    assert (plan.texts, plan.missing) == (100, 100 - 2 * TEXTS_OF_A_CALL)


def test_a_plan_asks_nothing_writes_nothing_and_says_what_it_would_take(tmp_path: Path) -> None:
    with FakeServer() as server:
        plan = encoding(server).plan(tmp_path / "new", EncoderTexts(TEXTS, TEXTS))
        assert server.calls == []
    assert not (tmp_path / "new").exists()
    assert plan is not None
    tokens = plan.plan.about.inside
    assert plan.as_json() | {"tokens_at_most": 0} == {
        "encoder": "fake",
        "texts": 100,
        "missing": 100,
        "calls": CALLS,
        "tokens": tokens,
        "tokens_at_most": 0,
        "cost": None,
    }
    assert sum(map(len, TEXTS)) // 4 - CALLS <= tokens <= plan.plan.at_most.inside


def test_the_prices_of_known_encoders_are_known() -> None:
    address = "https://api.openai.com/v1"
    price = price_of(address, "text-embedding-3-small", writes=False)
    assert price is not None
    assert price.tokens_in > 0 == price.tokens_out
    assert price_of(address, "text-embedding-3-small") is None


def test_its_own_key_comes_first_and_is_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-chat")
    monkeypatch.setenv("LABELER_EMBEDDINGS_KEY", "sk-of-the-encoder")
    with FakeServer() as server:
        encoding(server).ready(tmp_path, EncoderTexts(["a"]))
        assert server.calls[0].headers["authorization"] == "Bearer sk-of-the-encoder"
    assert all(b"sk-of-the" not in path.read_bytes() for path in tmp_path.iterdir())


def test_an_unknown_encoder_is_named_as_the_encoder(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.encode = lambda _call: Answer({"error": {"message": "no model fake"}}, 404)
        with pytest.raises(Misconfigured, match="no model fake") as caught:
            encoding(server).ready(tmp_path, EncoderTexts(["a"]))
    assert caught.value.parameter == "encoder"


def test_an_address_does_not_go_with_the_embedded_encoder(tmp_path: Path) -> None:
    options = EncoderOptions("", "http://127.0.0.1:1/v1")
    with pytest.raises(Misuse) as caught:
        Encoding(options).ready(tmp_path, EncoderTexts(["a"]))
    assert caught.value.parameter == "embeddings_url"


def test_an_encoder_of_a_server_makes_the_dense_run_of_a_pool(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    with FakeServer() as server:
        words = ["pool", str(collection.folder), "--set", "encoder.name=org/fake:1"]
        words += ["--set", f"encoder.server={server.base_url}"]
        assert execute([*words, "--dry-run"]) == 0
        assert server.calls == []
        assert execute(words) == 0
        assert len(server.calls) == 1
        assert execute(words) == 0
        assert len(server.calls) == 1
    run = read_run(collection.run("dense"))
    assert {query: len(row) for query, row in run.items()} == {"q1": 2, "q2": 2}
    assert " org_fake_1\n" in collection.run("dense").read_text()
    assert collection.run("hybrid").read_text().endswith("-org_fake_1\n")


def test_a_run_of_an_encoder_stands_beside_those_of_others(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    with FakeServer() as server:
        where = ["--set", "encoder.name=fake", "--set", f"encoder.server={server.base_url}"]
        words = ["retrieve", str(collection.folder), "--engine", "dense", "--as", "other", *where]
        assert execute(words) == 0
    assert " fake\n" in collection.run("other").read_text()
    assert read_run(collection.run("other")).keys() == {"q1", "q2"}


def test_documents_that_change_while_they_are_encoded_are_a_clear_error(tmp_path: Path) -> None:
    with FakeServer() as server:
        encoder = encoding(server).ready(tmp_path, EncoderTexts(["a"]))
    with pytest.raises(BadInput, match="texts changed while they were encoded"):
        encoder.documents(["b"])
    assert os.listdir(tmp_path)


class Counted:
    """Texts that are made anew each time they are gone through, and how many were in the hand."""

    def __init__(self, count: int) -> None:
        self._count, self.passes = count, 0

    def __iter__(self) -> Iterator[str]:
        self.passes += 1
        return (f"text {n % (self._count // 2)}" for n in range(self._count))


def test_texts_are_gone_through_and_never_held(tmp_path: Path) -> None:
    texts = Counted(1000)
    with FakeServer() as server:
        encoding(server).ready(tmp_path, EncoderTexts(texts))
        assert sorted(asked(server)) == sorted({f"text {n}" for n in range(500)})
    assert texts.passes == 3


def test_runs_of_an_encoder_of_the_judges_family_are_kin_to_it(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    with FakeServer() as server:
        where = ["--set", "encoder.name=qwen-embed", "--set", f"encoder.server={server.base_url}"]
        assert execute(["pool", str(collection.folder), *where]) == 0
        words = ["retrieve", str(collection.folder), "--engine", "dense", "--as", "own"]
        assert execute([*words, "--tag", "t", *where]) == 0
    runs = ["bm25", "dense", "hybrid", "own"]

    def kin() -> list[str]:
        tags = made_by(collection, "llm").tags
        return [system.run for system in kin_of(runs, tags, {"assessor": "qwen-judge"})]

    assert kin() == ["dense", "hybrid", "own"]
    assert execute(["pool", str(collection.folder), "--set", "encoder.name=wordllama"]) == 0
    assert kin() == ["own"]
