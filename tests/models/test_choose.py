"""Which model a command asks, and why; against a real server on loopback."""

import asyncio
import os
from collections.abc import Mapping
from unittest import mock

import pytest

from labeler.errors import Misconfigured, Misuse
from labeler.models.choose import Choice, Task, choose
from labeler.models.embedded import caveat
from labeler.testing import FakeServer

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}
"""An environment in which no server answers: port 9 discards."""


def choice(
    task: Task,
    model: str | None = None,
    base_url: str | None = None,
    environment: Mapping[str, str] = NOBODY,
) -> Choice:
    others = ("OPENAI_", "OLLAMA_", "LABELER_MODEL")
    own = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    with mock.patch.dict(os.environ, own | dict(environment), clear=True):
        return asyncio.run(choose(task, model, base_url))


@pytest.mark.parametrize(("task", "expected"), [("generate", "local"), ("judge", "similarity")])
def test_with_nothing_at_hand_the_embedded_default_of_the_task(task: Task, expected: str) -> None:
    found = choice(task)
    assert found == Choice(expected, "no key in the environment, no server at Ollama's port")
    assert found.is_embedded


@pytest.mark.parametrize("name", ["local", "gguf:/models/some.gguf"])
def test_an_embedded_name_wins_over_a_key(name: str) -> None:
    assert choice("judge", name, environment={"OPENAI_API_KEY": "k"}).is_embedded


def test_a_key_means_its_server_and_a_model_must_be_named() -> None:
    found = choice("judge", "gpt-4.1-mini", environment={"OPENAI_API_KEY": "k"})
    assert found.base_url == "https://api.openai.com/v1"
    assert str(found) == (
        "gpt-4.1-mini at https://api.openai.com/v1 (model given; OPENAI_API_KEY is set)"
    )


def test_the_environment_can_name_the_model() -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "LABELER_MODEL": "qwen"}
    assert choice("judge", environment=environment) == Choice(
        "qwen", "LABELER_MODEL is set; OPENAI_BASE_URL is set", "http://127.0.0.1:8000/v1"
    )


def test_a_server_without_a_model_named_is_refused_with_the_list_of_its_models() -> None:
    with FakeServer() as server, pytest.raises(Misuse) as caught:
        choice("judge", base_url=server.base_url)
    assert caught.value.parameter == "model"
    assert "fake" in str(caught.value)


def test_a_server_at_ollama_s_port_is_found() -> None:
    with FakeServer() as server:
        host = server.base_url.removesuffix("/v1")
        found = choice("judge", "llama", environment={"OLLAMA_HOST": host})
    assert found.base_url == server.base_url
    assert "Ollama" in found.why


def test_a_server_s_model_without_a_server_says_what_to_set() -> None:
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY"):
        choice("judge", "gpt-4.1-mini")


def test_similarity_cannot_write() -> None:
    with pytest.raises(Misuse, match="can only judge"):
        choice("generate", "similarity")


def test_an_embedded_model_has_no_address() -> None:
    with pytest.raises(Misuse, match="address does not go with") as caught:
        choice("judge", "local", "http://127.0.0.1:1/v1")
    assert caught.value.parameter == "base_url"


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(Misconfigured) as caught:
        choice("judge", "m", "http://user:secret@127.0.0.1:1/v1?key=secret")
    found = choice("judge", "m", "http://127.0.0.1:1/v1?key=secret")
    assert "secret" not in f"{caught.value} {found}"


def test_the_environment_can_name_the_embedded_llm_s_file() -> None:
    environment = {**NOBODY, "LABELER_MODEL": "gguf:/models/own.gguf"}
    chosen = choice("generate", None, environment=environment)
    assert chosen.name == "gguf:/models/own.gguf"
    assert chosen.why.endswith("LABELER_MODEL is set")
    assert "not measured" in caveat(chosen.name)
    assert choice("judge", "similarity", environment=environment).name == "similarity"
