"""Servers that are asked in their own words, as fakes that answer in theirs."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from labeler.errors import CallFailed, LabelerError, Misconfigured, NotFound
from labeler.model import Message, Reply, Request, status_of_ending
from labeler.models.policies.learn import named_in
from labeler.models.server.answers import read_answer, read_reply
from labeler.models.server.client import Calls, called_model, server_model, wire_format
from labeler.models.settings import AssessorSettings
from labeler.testing import Answer, Call, FakeServer
from labeler.wire.gate import named

SCHEMA = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
PARAMETERS = {"temperature": 0.0, "max_tokens": 64, "seed": 7, "stop": ["\n\n\n"]}
REQUEST = Request((Message("system", "Grade it."), Message("user", "a pair")), PARAMETERS, SCHEMA)
S = AssessorSettings

ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-4",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "text", "text": '{"grade": 2}'},
    ],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 90, "output_tokens": 40},
}
RESPONSES = {
    "id": "resp_1",
    "model": "gpt-5",
    "status": "completed",
    "error": None,
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": '{"grade": 2}'}]},
    ],
    "usage": {
        "input_tokens": 93,
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 32},
        "total_tokens": 133,
    },
}
OLLAMA = {
    "model": "qwen3",
    "message": {"role": "assistant", "content": '{"grade": 2}', "thinking": "Hm."},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 93,
    "eval_count": 40,
}
NATIVE: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "messages",
        "/v1/messages",
        ANTHROPIC,
        {
            "system": [
                {"type": "text", "text": "Grade it.", "cache_control": {"type": "ephemeral"}}
            ],
            "messages": [{"role": "user", "content": "a pair"}],
            "max_tokens": 64,
            "temperature": 0.0,
            "stop_sequences": ["\n\n\n"],
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
    ),
    (
        "responses",
        "/v1/responses",
        RESPONSES,
        {
            "instructions": "Grade it.",
            "input": [{"role": "user", "content": "a pair"}],
            "store": False,
            "max_output_tokens": 64,
            "temperature": 0.0,
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "reply",
                    "strict": True,
                    "schema": SCHEMA,
                }
            },
        },
    ),
    (
        "ollama",
        "/api/chat",
        OLLAMA,
        {
            "messages": [
                {"role": "system", "content": "Grade it."},
                {"role": "user", "content": "a pair"},
            ],
            "stream": False,
            "format": SCHEMA,
            "options": {
                "temperature": 0.0,
                "num_predict": 64,
                "seed": 7,
                "stop": ["\n\n\n"],
                "num_ctx": 8192,
            },
        },
    ),
]


def asked(server: FakeServer, settings: AssessorSettings, request: Request = REQUEST) -> Reply:
    async def once() -> Reply:
        model = server_model("m", server.base_url, "sk-secret", settings=settings)
        try:
            return await model.ask(request)
        finally:
            await model.close()

    return asyncio.run(once())


@pytest.mark.parametrize(("api", "path", "said", "sent"), NATIVE, ids=[row[0] for row in NATIVE])
def test_a_server_is_asked_and_understood_in_its_own_words(
    api: Any, path: str, said: dict[str, Any], sent: dict[str, Any]
) -> None:
    with FakeServer(lambda call: Answer(said)) as server:
        reply = asked(server, S(api=api))
    (call,) = server.calls
    assert call.path == path
    assert call.body == {"model": "m", **sent}
    assert reply.text == '{"grade": 2}'
    assert reply.thought
    assert (reply.prompt_tokens, reply.completion_tokens) == (93, 40)
    assert status_of_ending(reply.finish_reason) is None
    assert json.loads(reply.body) == said


def test_the_key_stands_in_the_header_that_the_format_has_for_it_and_in_no_other() -> None:
    with FakeServer(lambda call: Answer(ANTHROPIC)) as server:
        asked(server, S(api="messages", headers={"anthropic-beta": "x-1"}))
        asked(server, S())
    native, chat = (call.headers for call in server.calls)
    assert (native["x-api-key"], native["anthropic-version"]) == ("sk-secret", "2023-06-01")
    assert native["anthropic-beta"] == "x-1"
    assert "authorization" not in native
    assert chat["authorization"] == "Bearer sk-secret"
    azure = wire_format("https://me.openai.azure.com/openai/deployments/d?api-version=1")
    assert azure.headers("k") == {"api-key": "k"}


ADDRESSES = [
    ("https://api.anthropic.com", "messages", "https://api.anthropic.com"),
    ("https://api.anthropic.com/v1/", "messages", "https://api.anthropic.com"),
    ("http://127.0.0.1:11434", "ollama", "http://127.0.0.1:11434"),
    ("http://10.0.0.3:11434/", "ollama", "http://10.0.0.3:11434"),
    ("http://127.0.0.1:11434/v1", "chat", "http://127.0.0.1:11434/v1"),
    ("https://api.openai.com/v1", "chat", "https://api.openai.com/v1"),
    ("https://notapi.anthropic.com.example/v1", "chat", "https://notapi.anthropic.com.example/v1"),
    ("http://h:8000/v1?a=b", "chat", "http://h:8000/v1?a=b"),
]


@pytest.mark.parametrize(("address", "api", "base"), ADDRESSES)
def test_the_address_says_the_wire_format_where_nobody_does(
    address: str, api: str, base: str
) -> None:
    form = wire_format(address)
    assert (form.api, form.address) == (api, base)


def test_what_changes_an_answer_is_in_the_identity() -> None:
    ways = [
        S(),
        S(api="responses"),
        S(headers={"X-A": "1"}),
        S(headers={"X-A": "2"}),
        S(api="ollama"),
        S(api="ollama", context=4096),
    ]
    ids = [server_model("m", "http://h:1/v1", "k", settings=way).id for way in ways]
    assert len(set(ids)) == len(ways)
    assert ids[0] == "http://h:1/v1 m"
    assert not any("X-A" in name for name in ids)


THOUGHTS: list[tuple[str, AssessorSettings, dict[str, Any]]] = [
    ("https://api.openai.com/v1", S(thinking=False), {"reasoning_effort": "none"}),
    ("https://api.openai.com/v1", S(reasoning_effort="low"), {"reasoning_effort": "low"}),
    (
        "https://generativelanguage.googleapis.com/v1beta/openai",
        S(thinking=512),
        {"extra_body": {"google": {"thinking_config": {"thinking_budget": 512}}}},
    ),
    ("https://openrouter.ai/api/v1", S(thinking=512), {"reasoning": {"max_tokens": 512}}),
    ("https://api.deepseek.com", S(thinking=False), {"thinking": {"type": "disabled"}}),
    (
        "http://127.0.0.1:8000/v1",
        S(thinking=False, body={"chat_template_kwargs": {"x": 1}}),
        {"chat_template_kwargs": {"enable_thinking": False, "x": 1}},
    ),
    ("http://127.0.0.1:11434", S(thinking=False), {"think": False}),
    ("http://127.0.0.1:11434", S(reasoning_effort="high"), {"think": "high"}),
    ("https://api.anthropic.com", S(thinking=True), {"thinking": {"type": "adaptive"}}),
]


@pytest.mark.parametrize(("address", "settings", "sent"), THOUGHTS)
def test_thoughts_are_set_in_the_servers_own_way(
    address: str, settings: AssessorSettings, sent: dict[str, Any]
) -> None:
    request = Request((Message("user", "x"),), settings.parameters)
    plain = wire_format(address).body("m", Request((Message("user", "x"),)))
    body = wire_format(address).body("m", request)
    assert {name: value for name, value in body.items() if plain.get(name) != value} == sent


def test_a_budget_of_thoughts_leaves_room_for_the_reply() -> None:
    parameters = {"max_tokens": 64, "thinking": 2000}
    body = wire_format("https://api.anthropic.com").body("m", Request((), parameters))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body["max_tokens"] == 2064


@pytest.mark.parametrize(
    ("address", "settings"),
    [
        ("https://api.openai.com/v1", S(thinking=512)),
        ("https://api.siliconflow.com/v1", S(reasoning_effort="low")),
        ("http://127.0.0.1:8000/v1", S(thinking=1000)),
    ],
)
def test_what_a_server_is_not_told_is_refused_before_it_is_asked(
    address: str, settings: AssessorSettings
) -> None:
    with pytest.raises(Misconfigured, match="thoughts are not set by"):
        called_model("m", named(address), Calls(), settings)


def test_ollama_is_told_to_make_room_for_the_whole_prompt() -> None:
    form = wire_format("http://127.0.0.1:11434")
    long = Request((Message("user", "word " * 12_000),), {"max_tokens": 64})
    room = form.body("m", long)["options"]["num_ctx"]
    assert 60_000 // 4 < room <= 32_768
    declared = wire_format("http://127.0.0.1:11434", S(context=4096))
    assert declared.body("m", long)["options"]["num_ctx"] == 4096


def choice(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


TEXTS: list[tuple[dict[str, Any], str, str]] = [
    (choice(content='{"grade": 1}', tool_calls=[]), '{"grade": 1}', "stop"),
    (
        choice(content=None, tool_calls=[{"function": {"arguments": '{"grade": 1}'}}]),
        *('{"grade": 1}', "stop"),
    ),
    (choice(content="", function_call={"arguments": '{"grade": 1}'}), '{"grade": 1}', "stop"),
    (
        {**ANTHROPIC, "content": [{"type": "tool_use", "name": "f", "input": {"grade": 1}}]},
        *('{"grade": 1}', "end_turn"),
    ),
    (
        {**OLLAMA, "message": {"tool_calls": [{"function": {"arguments": {"grade": 1}}}]}},
        *('{"grade": 1}', "stop"),
    ),
    (
        {**RESPONSES, "output": [{"type": "function_call", "arguments": '{"grade": 1}'}]},
        *('{"grade": 1}', "completed"),
    ),
    (
        {"candidates": [{"content": {"parts": [{"text": "2"}]}, "finishReason": "STOP"}]},
        "2",
        "STOP",
    ),
]


@pytest.mark.parametrize(("answer", "text", "ending"), TEXTS)
def test_a_call_is_the_text_where_there_is_none(
    answer: dict[str, Any], text: str, ending: str
) -> None:
    reply = read_answer(json.dumps(answer).encode(), "there", {})
    assert (reply.text, reply.finish_reason) == (text, ending)


ENDINGS: list[tuple[dict[str, Any], str]] = [
    ({**ANTHROPIC, "content": [], "stop_reason": "refusal"}, "refused"),
    ({**ANTHROPIC, "content": [], "stop_reason": "max_tokens"}, "truncated"),
    ({**ANTHROPIC, "content": [], "stop_reason": "model_context_window_exceeded"}, "truncated"),
    (
        {
            **RESPONSES,
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [],
        },
        "truncated",
    ),
    (
        {**RESPONSES, "status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        "filtered",
    ),
    ({**RESPONSES, "status": "failed", "output": []}, "unparsable"),
    ({**OLLAMA, "done_reason": "length"}, "truncated"),
    ({"promptFeedback": {"blockReason": "OTHER"}}, "filtered"),
    ({"choices": [{"message": {}, "finish_reason": "content_filter: RECITATION"}]}, "filtered"),
]


@pytest.mark.parametrize(("answer", "status"), ENDINGS)
def test_each_format_says_in_its_own_words_how_a_reply_ended(
    answer: dict[str, Any], status: str
) -> None:
    reply = read_answer(json.dumps(answer).encode(), "there", {})
    assert status_of_ending(reply.finish_reason) == status


def test_a_refusal_among_the_parts_is_one() -> None:
    part = {"type": "refusal", "refusal": "I cannot"}
    answer = {**RESPONSES, "output": [{"type": "message", "content": [part]}]}
    assert read_answer(json.dumps(answer).encode(), "there", {}).refusal == "I cannot"


def thinks(answer: Mapping[str, Any]) -> bool:
    return read_answer(json.dumps(answer).encode(), "there", {}).thought


def test_thoughts_are_seen_by_any_sign_of_them() -> None:
    said = choice(content="2")
    counted = {"prompt_tokens": 9, "completion_tokens": 5}
    assert not thinks(said)
    assert not thinks({**said, "usage": {**counted, "total_tokens": 14}})
    assert thinks({**said, "usage": {**counted, "total_tokens": 300}})
    assert thinks({**said, "usage": {**counted, "details": {"reasoning_tokens": 4}}})
    assert thinks(choice(content="2", reasoning_content="Hm."))
    assert thinks(choice(content="<think>{Hm}</think>2"))
    assert thinks(choice(content='Hm, {"a": 1}</think>{"grade": 2}'))
    assert thinks(choice(content=[{"type": "thinking", "thinking": "Hm."}, {"text": "2"}]))
    cut = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    assert thinks({**cut, "usage": {"prompt_tokens": 9, "total_tokens": 73}})
    assert not thinks({"choices": [{"message": {"content": "2 a"}, "finish_reason": "length"}]})


REFUSED: list[tuple[int, Any, type[LabelerError], bool]] = [
    (403, {"error": {"message": "You are not allowed to request logprobs"}}, CallFailed, True),
    (403, {"error": {"message": "no", "param": "logprobs"}}, CallFailed, True),
    (403, {"error": {"message": "no access to this model"}}, Misconfigured, False),
    (404, {"error": {"message": "the model qwen-thinking does not exist"}}, NotFound, False),
    (
        404,
        {"error": {"message": "No endpoints that support the requested parameters"}},
        *(CallFailed, True),
    ),
    (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}, CallFailed, True),
    (400, [{"error": {"message": "bad", "status": "INVALID_ARGUMENT"}}], CallFailed, True),
    (
        400,
        {"type": "error", "error": {"type": "x", "message": "max_tokens: required"}},
        CallFailed,
        True,
    ),
]


@pytest.mark.parametrize(("status", "body", "kind", "refused"), REFUSED)
def test_an_error_that_names_a_parameter_is_about_that_parameter(
    status: int, body: Any, kind: type[LabelerError], refused: bool
) -> None:
    with pytest.raises(kind) as raised:
        read_reply(status, json.dumps(body).encode(), "there", {})
    assert getattr(raised.value, "refused", False) is refused


NAMED = [
    ("stop_sequences: each stop sequence must contain non-whitespace", "stop"),
    ("output_config.format: Extra inputs are not permitted", "response_format"),
    ("Invalid schema for 'text.format'", "response_format"),
    ("`temperature` may only be set to 1 when thinking is enabled", "temperature"),
]


@pytest.mark.parametrize(("message", "name"), NAMED)
def test_a_refusal_in_a_formats_own_words_names_the_parameter(message: str, name: str) -> None:
    assert named_in(message, REQUEST) == name


FILTERED: list[tuple[int, Any]] = [
    (400, {"error": {"code": "content_filter", "message": "filtered"}}),
    (400, {"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    (400, {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "Output blocked by content filtering policy"}}),
    (403, {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}),
]


@pytest.mark.parametrize(("status", "body"), FILTERED)
def test_a_prompt_that_a_filter_blocked_is_a_reply_without_a_grade(status: int, body: Any) -> None:
    reply = read_reply(status, json.dumps(body).encode(), "there", {})
    assert (reply.text, status_of_ending(reply.finish_reason)) == ("", "filtered")


def test_an_error_about_what_a_format_calls_otherwise_is_a_refusal_of_it() -> None:
    def answer(call: Call) -> Answer:
        if call.body.get("stop_sequences"):  # as Anthropic says of one that is only white
            return Answer({"error": {"message": "stop_sequences: must not be white"}}, 400)
        return Answer(ANTHROPIC)

    with FakeServer(answer) as server, pytest.raises(CallFailed, match="stop_sequences") as raised:
        asked(server, S(api="messages"))
    assert raised.value.refused
