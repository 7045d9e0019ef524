"""The embedded models: the similarity rule, and llama.cpp's own server, of a model of zeros."""

import asyncio
import json
import math
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tiny_model import write_tiny_model

import labeler
from labeler.errors import CallFailed, Misconfigured, Retryable
from labeler.model import Message, Model, Reply, Request
from labeler.models.embedded import SimilarityRule, similarity_model
from labeler.models.local.serve import Served, can_serve, serving
from labeler.models.server.client import models_of, place_of, server_model
from labeler.text.terms import TermStatistics, encode, terms

TEXTS = ["how bread rises", "bread rises because yeast makes gas", "the moon moves the tides"]
STATISTICS = TermStatistics.of(map(terms, TEXTS))
RULE = SimilarityRule("wordllama", encode, (0.38, 0.69, 0.8))


def ask(model: Model, request: Request) -> Reply:
    async def main() -> Reply:
        try:
            return await model.ask(request)
        finally:
            await model.close()

    return asyncio.run(main())


def compared(query: str, passage: str, digest: str = STATISTICS.digest) -> Request:
    inputs = {"query": query, "passage": passage, "term_statistics": digest}
    return Request((Message("user", "grade this"),), inputs=inputs)


def test_similarity_replies_with_a_verdict_like_any_model() -> None:
    model = similarity_model(RULE, STATISTICS)
    near, far = (json.loads(ask(model, compared(TEXTS[0], text)).text) for text in TEXTS[1:])
    assert near["reason"] > far["reason"]  # as "closeness 0.8123", which has one length for all
    assert near["grade"] > far["grade"]
    assert type(near["grade"]) is int


def test_similarity_refuses_requests_that_name_another_corpus() -> None:
    model = similarity_model(RULE, STATISTICS)
    with pytest.raises(CallFailed, match="another corpus"):
        ask(model, compared("a", "b", digest="0"))


@pytest.mark.parametrize("text", ["", " ", "\x85\u2028", "\0", "🦀" * 3000])
def test_any_text_has_a_vector_of_length_one_or_nought(text: str) -> None:
    (vector,) = encode([text])
    norm = math.sqrt(float(vector @ vector))
    assert norm == pytest.approx(1, abs=1e-5) or norm == 0


def test_a_vector_does_not_depend_on_the_texts_beside_it() -> None:
    together = encode([*TEXTS, "a much longer text " * 200])
    alone = [encode([text])[0] for text in TEXTS]
    assert all(abs(one - other).max() < 1e-6 for one, other in zip(together, alone, strict=False))


needs_engine = pytest.mark.skipif(
    not can_serve(), reason="the engine is not installed: pip install 'ir-labeler[local]'"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def served(tiny: Path) -> Iterator[Served]:
    with serving(tiny) as server:
        yield server


def request(text: str, **parameters: object) -> Request:
    schema = {
        "type": "object",
        "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
        "required": ["grade"],
        "additionalProperties": False,
    }
    return Request((Message("user", text),), {"temperature": 0, **parameters}, schema)


@needs_engine
def test_the_real_server_follows_a_schema_and_counts_tokens(served: Served) -> None:
    reply = ask(server_model("local", *served), request("Grade 0 to 3.", max_tokens=200))
    assert json.loads(reply.text)["grade"] in {0, 1, 2, 3}
    assert reply.finish_reason == "stop"
    assert reply.prompt_tokens > 0 < reply.completion_tokens


@needs_engine
def test_the_real_server_says_when_it_was_cut_short(served: Served) -> None:
    reply = ask(server_model("local", *served), request("Grade 0 to 3.", max_tokens=1))
    assert reply.finish_reason == "length"


@needs_engine
def test_the_real_server_refuses_a_text_over_its_context(served: Served) -> None:
    with pytest.raises(CallFailed, match="context") as caught:
        ask(server_model("local", *served), request("word " * 6000, max_tokens=5))
    assert not isinstance(caught.value, Retryable)


@needs_engine
def test_the_real_server_wants_its_key(served: Served) -> None:
    with pytest.raises(Misconfigured):
        ask(server_model("local", served.base_url, "wrong"), request("hello", max_tokens=1))


@needs_engine
def test_the_models_are_listed(served: Served) -> None:
    assert asyncio.run(models_of(place_of(*served))) == ["tiny.gguf"]


@needs_engine
def test_the_server_is_gone_after_the_block(tiny: Path) -> None:
    with serving(tiny) as server:
        assert httpx2.get(server.base_url.removesuffix("/v1") + "/health").status_code == 200
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(server.base_url)


@needs_engine
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path: Path) -> None:
    fake = tmp_path / "fake.gguf"
    fake.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(Misconfigured, match="could not load it"), serving(fake):
        pass


def test_an_engine_that_the_system_cannot_load_is_said_to_be_the_reason(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    scripts = "Scripts" if os.name == "nt" else "bin"
    python = tmp_path / "env" / scripts / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    problem = "libgomp.so.1: cannot open shared object file"
    (packages / "xllamacpp.py").write_text(f"raise ImportError({problem!r})\n")
    beside = [sysconfig.get_path("purelib"), str(Path(labeler.__file__).parent.parent)]
    (packages / "beside.pth").write_text("\n".join(beside) + "\n")
    code = "from pathlib import Path; from labeler.models.local.serve import serving\n"
    code += "with serving(Path('a.gguf')): pass"
    done = subprocess.run([python, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith(f"llama.cpp cannot be loaded: {problem}")


@needs_engine
def test_the_child_ends_when_whoever_started_it_is_killed(tiny: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from labeler.models.local.serve import serving\n"
        "with serving(Path(sys.argv[1])) as server:\n"
        "    print(server.base_url, flush=True)\n"
        "    time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(tiny)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        address = starter.stdout.readline().strip()
        starter.kill()
    assert _ends(address)


def _ends(address: str) -> bool:
    for _ in range(500):
        try:
            httpx2.get(address, timeout=1)
        except httpx2.HTTPError:
            return True
        time.sleep(0.02)
    return False
