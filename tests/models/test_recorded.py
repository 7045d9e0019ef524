"""What real providers sent and were sent, as recorded: see ../shared/data/providers/README.md."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from labeler.errors import CallFailed, LabelerError, NoCompletion, NotFound, Retryable
from labeler.model import Message, Reply, Request, status_of_ending
from labeler.models.server.answers import read_reply
from labeler.models.server.client import wire_format
from labeler.models.settings import AssessorSettings


class Exchange(NamedTuple):
    """A request and its answer, as they went over the wire."""

    url: str
    sent: Any
    status: int
    body: bytes


@pytest.fixture(scope="module")
def recordings(shared: Path) -> Path:
    folder = shared / "providers"
    if not folder.is_dir():
        pytest.skip("no recorded exchanges of providers are beside this checkout")
    return folder


def exchanges(path: Path) -> list[Exchange]:
    rows = yaml.load(
        path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return list(_exchanges(rows["interactions"]))


def _exchanges(rows: list[dict[str, Any]]) -> Iterator[Exchange]:
    for row in rows:
        if "response" not in row:  # gRPC, which is no HTTP
            continue
        request, response = row["request"], row["response"]
        body = response.get("parsed_body", response.get("body"))
        text = body["string"] if isinstance(body, dict) and set(body) == {"string"} else body
        raw = text if isinstance(text, bytes) else None
        raw = raw or (text if isinstance(text, str) else json.dumps(text)).encode()
        sent = request.get("parsed_body")
        yield Exchange(request["uri"], sent, response["status"]["code"], raw)


def read(exchange: Exchange) -> Reply:
    return read_reply(exchange.status, exchange.body, "there", {})


def test_every_recorded_answer_is_a_reply_or_an_error_of_ours(recordings: Path) -> None:
    replies, errors = 0, 0
    for path in sorted(recordings.rglob("*.yaml")):
        for exchange in exchanges(path):
            try:
                reply = read(exchange)
            except LabelerError:
                errors += 1
                continue
            replies += 1
            has_said = reply.text or reply.refusal or reply.thought or reply.finish_reason
            assert has_said, path.name
            assert reply.cached_tokens <= reply.prompt_tokens, path.name
    assert (replies > 100, errors > 10) == (True, True)


class Fact(NamedTuple):
    """What stands in an answer, as a person reads it in the recording."""

    file: str
    at: int
    text: str
    thought: bool
    tokens: tuple[int, int]
    cached: int = 0
    status: str | None = None


FACTS = [
    Fact(
        "anthropic/anthropic_cache_count_tokens", 1, "# What is Python?", False, (1114, 414), 1111
    ),
    Fact("anthropic/anthropic_model_instructions", 0, "The capital of France", False, (20, 10)),
    Fact("anthropic/anthropic_model_thinking_part_redacted", 0, "I notice that", True, (92, 196)),
    Fact(
        "anthropic/anthropic_native_output_decimal_strict", 0, '{"amount":12.34}', False, (222, 10)
    ),
    Fact("anthropic/anthropic_opus_46_features[adaptive-thinking]", 0, "\n\n2 + 2", True, (31, 30)),
    Fact("anthropic/anthropic_opus_48_features", 0, "2 + 2 = 4", False, (13, 11)),
    Fact(
        "bedrock/bedrock_cache_point_adds_cache_control[claude-sonnet-4-5]",
        *(0, "5", False, (1517, 5)),
    ),
    Fact("bedrock/bedrock_thinking_true_openai_variant", 0, "ok", True, (74, 26)),
    Fact(
        "cache/openrouter_cache_instructions_gemini_real_api",
        *(0, "The CAP theorem", False, (2168, 100), 2161, "truncated"),
    ),
    Fact("cerebras/cerebras_thinking_part_survives_multiturn", 0, "4.", True, (79, 37)),
    Fact("cerebras/cerebras_disable_reasoning_setting", 0, "The answer is 4.", False, (13, 7)),
    Fact("cohere/cohere_model_thinking_part", 1, "Crossing a river", True, (2190, 1257)),
    Fact("cohere/request_usage_with_cached_tokens", 0, "Hello!", False, (2935, 4), 2928),
    Fact("deepseek_responses/deepseek_responses[reasoning_effort]", 0, "391", True, (91, 20)),
    Fact(
        "deepseek_responses/deepseek_responses[structured_output]",
        *(0, '{"city": "Tokyo"', True, (376, 81), 256),
    ),
    Fact("google/google_model_max_tokens", 0, "The capital", False, (15, 5), 0, "truncated"),
    Fact("google/google_model_thinking_part", 0, "Crossing the street", True, (29, 1737)),
    Fact("google/google_model_structured_output", 0, '{"', False, (69, 14)),
    Fact("google/google_native_output", 0, '{\n  "city"', False, (8, 20)),
    Fact("google/google_vertex_service_tier_flex", 0, "OK", True, (5, 52)),
    Fact("groq/groq_model_thinking_part", 0, "<think>\nOkay", True, (21, 1414)),
    Fact("groq/groq_model_thinking_part", 1, "To create authentic", True, (524, 1590)),
    Fact("groq/extra_headers", 0, "Hello! How can I", False, (48, 8)),
    Fact("huggingface/request_structured_response", 0, '{"response":[2,3,5]}', False, (19, 29)),
    Fact("mistral/mistral_model_thinking_part", 1, "Crossing a river", True, (664, 747)),
    Fact("ollama/ollama_local_native_output_uses_json_schema", 0, '{ "city"', True, (136, 15)),
    Fact("openai/openai_instructions", 0, "The capital of France is Paris.", False, (24, 8)),
    Fact("openai/openai_native_output", 1, '{"city":"Mexico City"', False, (92, 15)),
    Fact("openai_prompt_cache/openai_responses_prompt_cache_e2e", 1, "OK", False, (4020, 5), 4012),
    Fact("openai_responses/background_mode_reasoning_vcr", 0, "", False, (0, 0), 0, "unparsable"),
    Fact("openai_responses/openai_responses_reasoning_effort", 0, "Ingredients", True, (88, 547)),
    Fact("openrouter/openrouter_map_messages_reasoning", 0, "I am Claude", True, (43, 402)),
    Fact("openrouter/openrouter_usage", 0, "Brief summary", True, (17, 1515)),
    Fact("settings/stop_settings[anthropic]", 0, "The beautiful city of ", False, (32, 5)),
    Fact("settings/stop_settings[cohere]", 0, "The capital of France", False, (91, 11)),
    Fact("snowflake/snowflake_model_simple", 0, "4", False, (22, 5)),
    Fact("snowflake/snowflake_thinking", 0, "Sure! Let me check", True, (597, 81)),
    Fact(
        "thinking_wire_contract/reasoning_wire_contract[mistral-small-thinking-high]",
        *(0, "4", True, (28, 35)),
    ),
    Fact("zai/zai_thinking_mode", 0, "2 + 2 is 4.", True, (13, 247)),
]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.file.split('/')[1]}-{fact.at}")
def test_text_thoughts_and_tokens_are_read_wherever_a_provider_puts_them(
    fact: Fact, recordings: Path
) -> None:
    reply = read(exchanges(recordings / f"{fact.file}.yaml")[fact.at])
    assert reply.text.startswith(fact.text)
    assert bool(reply.text) is bool(fact.text)
    assert reply.thought is fact.thought
    assert (reply.prompt_tokens, reply.completion_tokens) == fact.tokens
    assert reply.cached_tokens == fact.cached
    assert status_of_ending(reply.finish_reason) == fact.status
    assert reply.refusal is None


REFUSALS: list[tuple[str, type[LabelerError], str]] = [
    ("anthropic/anthropic_count_tokens_error", NotFound, "claude-does-not-exist"),
    (
        "anthropic/anthropic_explicit_effort_xhigh_unsupported_model_errors",
        *(CallFailed, "does not support effort level 'xhigh'"),
    ),
    ("bedrock/bedrock_error", CallFailed, "model identifier is invalid"),
    ("embeddings/TestGoogle.test_count_tokens_error", NotFound, "models/nonexistent-model"),
    ("embeddings/TestVoyageAI.test_embed_error", CallFailed, "Model nonexistent is not supported"),
    ("openai_responses/openai_responses_model_http_error", CallFailed, "temperature"),
    ("openrouter/openrouter_errors_raised", Retryable, "temporarily rate-limited upstream"),
    ("openai_responses/responses_usage_limit_exceeded", NoCompletion, "input_tokens"),
]


@pytest.mark.parametrize(("file", "kind", "words"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_what_a_provider_says_that_refused_stands_in_the_error(
    file: str, kind: type[LabelerError], words: str, recordings: Path
) -> None:
    with pytest.raises(kind) as raised:
        read(exchanges(recordings / f"{file}.yaml")[0])
    assert words in str(raised.value)


S = AssessorSettings
SENT: list[tuple[str, AssessorSettings, dict[str, Any]]] = [
    ("anthropic/anthropic_model_thinking_part_redacted", S(thinking=1024), {"max_tokens": 4096}),
    ("anthropic/anthropic_opus_46_features[adaptive-thinking]", S(thinking=True), {}),
    ("anthropic/anthropic_opus_46_features[effort]", S(reasoning_effort="low"), {}),
    ("settings/stop_settings[anthropic]", S(), {"stop": ["Paris"], "max_tokens": 1024}),
    ("settings/stop_settings[mistral]", S(top_p=1.0), {"stop": ["Paris"]}),
    ("settings/stop_settings[openai]", S(), {"stop": ["Paris"]}),
    ("cerebras/cerebras_disable_reasoning_setting", S(thinking=False), {}),
    (
        "deepseek_responses/deepseek_responses[reasoning_effort]",
        *(S(api="responses", reasoning_effort="high"), {}),
    ),
    ("groq/groq_prompted_output", S(), {"response_format": {"type": "json_object"}}),
    (
        "openai_responses/openai_responses_reasoning_effort",
        *(S(api="responses", reasoning_effort="low"), {}),
    ),
    (
        "openai_responses/openai_responses_gpt_5_6_reasoning_off_keeps_sampling_params",
        *(S(api="responses", thinking=False), {"temperature": 0.5}),
    ),
    (
        "openai_responses/prompted_output_multiple",
        *(S(api="responses"), {"response_format": {"type": "json_object"}}),
    ),
    ("openrouter/openrouter_thinking_false_supports_thinking_model", S(thinking=False), {}),
    ("openrouter/openrouter_thinking_high_emits_effort_high", S(reasoning_effort="high"), {}),
    ("openrouter/openrouter_with_google_model", S(), {}),
    ("snowflake/snowflake_thinking", S(reasoning_effort="low"), {"temperature": 1}),
    (
        "thinking_wire_contract/reasoning_wire_contract[groq-gpt-oss-thinking-high]",
        *(S(reasoning_effort="high"), {}),
    ),
    (
        "thinking_wire_contract/reasoning_wire_contract[groq-qwen3-disable-merges-user-extra-body]",
        *(S(thinking=False, body={"service_tier": "on_demand"}), {}),
    ),
    (
        "thinking_wire_contract/reasoning_wire_contract[mistral-small-thinking-high]",
        *(S(reasoning_effort="high"), {}),
    ),
    ("zai/zai_thinking_mode", S(thinking=True), {}),
    ("zai/zai_glm_5_3_reasoning_effort", S(thinking=True, reasoning_effort="max"), {}),
]
BESIDE = {"messages", "input", "store", "max_tokens"}
"""What holds texts, and what is always said in a format."""


@pytest.mark.parametrize(("file", "settings", "parameters"), SENT, ids=[row[0] for row in SENT])
def test_what_is_sent_is_what_was_sent_for_the_same_settings(
    file: str, settings: AssessorSettings, parameters: Mapping[str, Any], recordings: Path
) -> None:
    exchange = exchanges(recordings / f"{file}.yaml")[0]
    url, sent = exchange.url.partition("?")[0], exchange.sent
    path = next(p for p in ("chat/completions", "responses", "messages") if url.endswith(p))
    form = wire_format(url.removesuffix(f"/{path}"), settings)
    assert f"{form.address}/{form.words['path']}" == url
    request = Request((Message("user", "x"),), {**settings.parameters, **parameters})
    body = form.body(sent["model"], request)
    for name in body.keys() - BESIDE:
        assert is_within(body[name], sent[name]), (name, body[name], sent[name])


SCHEMAS = [
    ("anthropic/anthropic_native_output_decimal_strict", "output_config", S()),
    ("openai_responses/native_output", "text", S(api="responses")),
    ("snowflake/snowflake_native_output", "response_format", S()),
    ("openai/openai_native_output", "response_format", S()),
    ("ollama/ollama_local_native_output_uses_json_schema", "response_format", S()),
]


@pytest.mark.parametrize(("file", "name", "settings"), SCHEMAS, ids=[row[0] for row in SCHEMAS])
def test_a_schema_is_sent_where_the_provider_takes_it(
    file: str, name: str, settings: AssessorSettings, recordings: Path
) -> None:
    exchange = exchanges(recordings / f"{file}.yaml")[0]
    url, sent = exchange.url.partition("?")[0], exchange.sent
    ends = ("chat/completions", "responses", "messages")
    path = next(p for p in ends if url.endswith(p))
    form = wire_format(url.removesuffix(f"/{path}"), settings)
    schema = next(_schemas(sent[name]))
    body = form.body(sent["model"], Request((Message("user", "x"),), schema=schema))
    assert is_within(_unnamed(body[name]), _unnamed(sent[name]))


def _schemas(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if isinstance(part.get("schema"), dict):
            yield part["schema"]
        for value in part.values():
            yield from _schemas(value)


def _unnamed(part: Any) -> Any:
    """Without what each names as it likes, and whether the schema is kept strictly."""
    if not isinstance(part, dict):
        return part
    return {k: _unnamed(v) for k, v in part.items() if k not in {"name", "strict"}}


def is_within(part: Any, whole: Any) -> bool:
    """Whether all of a JSON value stands in another, which may have further keys."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and is_within(part[name], whole[name]) for name in part)
    return bool(part == whole)
