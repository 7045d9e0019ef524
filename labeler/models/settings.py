"""What is declared of who is asked: an assessor, an encoder, and within which limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

from labeler.errors import Misuse, about
from labeler.model import Headers, JsonObject, Model
from labeler.options import (
    A_MINUTE,
    AT_ONCE,
    COUNT,
    COUNT_OR_NONE,
    DOLLARS,
    SECONDS,
    SECONDS_OF_A_CALL,
    SHARE,
    STRICT,
    TOKENS,
    Bounds,
    Option,
    Options,
    check_options,
    option,
)

# What a run may take of a server and of an account.

BUDGET = "Budget"
"""The heading of what bounds a run."""


@dataclass(frozen=True, slots=True)
class Proof(Options):
    """What a run has to show before all its pairs are paid for, and while they are.

    A run of many pairs begins with a pilot of a few, unless `no_pilot`. It ends where the share of
    them without a grade exceeds `max_failed`, or later that of the latest pairs, as far as chance
    does not explain it; 1 ends no run. Without a pilot, it ends where all the latest pairs fail.
    """

    max_failed: float = option(
        0.1,
        "Stop where more of the pairs come to no grade; 1 never stops.",
        SHARE,
        section="budget",
    )
    no_pilot: bool = option(
        False,
        "Ask about all pairs at once, and not first about 30 of 100 or more.",
        section="budget",
    )


@dataclass(frozen=True, slots=True)
class Limits(Options):
    """What a run may take of a server and of an account; None is no limit.

    `rpm` and `tpm` bound the calls begun and the tokens used in a minute. `max_calls`,
    `max_tokens`, `max_cost` (dollars) and `deadline` (seconds) end the run before they are
    exceeded. `timeout` is the longest that a call may take, `patience` the longest that one request
    is retried, both in seconds, and `tries` the calls for one request before it has failed.
    """

    __pydantic_config__ = STRICT

    rpm: float | None = option(
        None, "Begin at most so many calls a minute.", A_MINUTE, section="model", example=60
    )
    tpm: float | None = option(
        None, "Use so many tokens a minute.", A_MINUTE, section="model", example=200_000
    )
    max_calls: int | None = option(
        None,
        "Stop before more calls than this.",
        COUNT_OR_NONE,
        section="budget",
        flag=True,
        panel=BUDGET,
        example=5000,
    )
    max_tokens: int | None = option(
        None, "Stop before more tokens than this.", TOKENS, section="budget", example=5_000_000
    )
    max_cost: float | None = option(
        None,
        "Stop before it costs more.",
        DOLLARS,
        section="budget",
        flag=True,
        panel=BUDGET,
        metavar="DOLLARS",
        example=5.0,
    )
    deadline: float | None = option(
        None,
        "Stop after so many seconds; no call outlasts it.",
        SECONDS,
        section="budget",
        example=3600,
    )
    timeout: float = option(
        600.0, "The most seconds that a call may take.", SECONDS_OF_A_CALL, section="model"
    )
    patience: float = option(
        900.0, "The most seconds that one request is retried.", SECONDS, section="model"
    )
    tries: int = option(8, "Calls for one request before it has failed.", COUNT, section="model")

    def over(self, lower: Limits) -> Limits:
        """These limits, and where one of them is the default, that of `lower`."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(lower, **{n: v for n, v in given.items() if v != getattr(_DEFAULTS, n)})


_DEFAULTS = Limits()


Api = Literal["", "chat", "responses", "messages", "ollama"]
"""The wire format of a server; empty where its address says which."""

MODEL = "Model"
"""The heading of who is asked."""

setting = partial(option, section="model")

CONCURRENCY = Option(
    "Calls under way at once, at most.",
    AT_ONCE,
    section="model",
    flag=True,
    panel=MODEL,
    example=16,
)
RETRY_FAILED = Option("Ask again where a reply could not be used.", panel=MODEL)
REDACT = Option("Keep no request texts in the store, only their hashes.", section="store")
"""The options of whatever asks a model."""

_SENT = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort", "thinking", "body")
_OURS = frozenset(["model", "messages", "input", "system", "instructions", "stream", "n"])
"""What a request's body holds that no declaration may replace."""


@dataclass(frozen=True, slots=True)
class AssessorSettings:
    """All that is declared of an assessor; what is empty or None is left to the defaults.

    `server` is the address that is asked, `api` its wire format, `key` the name of the environment
    variable with the key. `reader` replaces the prompt's own reader of replies. `thinking` turns a
    model's thoughts off or on, or is the most tokens of them; `reasoning_effort` is the word that
    the provider knows. `body` and `headers` are sent beside everything else, as they are. `context`
    is how many tokens a request and its reply may have together. `tokens_in` and `tokens_out` are
    dollars for a million tokens; `concurrency` and `limits` bound the calls. `file` is where it was
    declared, empty where that was in a call.
    """

    __pydantic_config__ = STRICT

    name: str = ""
    model: str = setting(
        "",
        "A server's model, or local or similarity (LABELER_MODEL).",
        example="gpt-4.1-mini",
        variable="LABELER_MODEL",
    )
    server: str = setting(
        "",
        "The address of an OpenAI-compatible server (OPENAI_BASE_URL).",
        example="http://127.0.0.1:8000/v1",
        variable="OPENAI_BASE_URL",
    )
    api: Api = option("", "Its wire format, where its address does not say which.", section="model")
    key: str = setting("", "The name of the variable that holds its key.", example="OPENAI_API_KEY")
    prompt: str = setting("", "The grading prompt's name, or a file.", example="four-grades")
    reader: str = setting("", "The reader of replies, in place of the prompt's own.")
    temperature: float | None = setting(None, "How far replies vary.", Bounds(0, 2), example=0.0)
    top_p: float | None = setting(
        None, "The share of likely tokens that it chooses among.", SHARE, example=1.0
    )
    seed: int | None = setting(None, "The seed that is sent.", example=0)
    max_tokens: int | None = setting(
        None, "The most tokens of a reply.", Bounds(1, 1_000_000), example=500
    )
    reasoning_effort: str = setting("", "How much it reasons, in the provider's word.")
    thinking: bool | int | None = setting(
        None, "Whether it thinks first, or in how many tokens.", Bounds(0, 1_000_000), example=False
    )
    body: JsonObject = field(default_factory=dict, hash=False)
    headers: Headers = field(default_factory=dict, hash=False, repr=False)
    context: int | None = setting(
        None,
        "The most tokens of a request and its reply together.",
        Bounds(256, 100_000_000),
        example=8192,
    )
    tokens_in: float | None = setting(
        None, "Dollars for a million tokens of requests.", Bounds(0, 1e6), example=0.4
    )
    tokens_out: float | None = setting(
        None, "Dollars for a million tokens of replies.", Bounds(0, 1e6), example=1.6
    )
    concurrency: int | None = option(None, CONCURRENCY)
    limits: Limits = field(default_factory=Limits)
    file: str = ""

    def __post_init__(self) -> None:
        check_options(self)
        if (self.tokens_in is None) is not (self.tokens_out is None):
            raise Misuse("a price is tokens_in and tokens_out, both", parameter="tokens_in")
        if taken := _OURS & self.body.keys():
            raise Misuse(f"{min(taken)!r} is what labeler itself sends", parameter="body")

    def to_share(self) -> AssessorSettings:
        """The same for a file that others read: without the name, the place and the key."""
        return replace(self, name="", server="", key="", file="", limits=Limits(), concurrency=None)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is declared of those parameters that a request carries, in this package's names."""
        declared = {name: getattr(self, name) for name in _SENT}
        return {name: value for name, value in declared.items() if value not in (None, "", {})}


AnyModel = str | Model | AssessorSettings
"""What can be asked: a model's name, as `choose` takes it, a model itself, or what is declared."""


LONGEST_NAME = 500
"""Characters of a model's name."""


def check_model_name(model_name: str) -> None:
    """Raise `Misuse` where no server can have a model of that name."""
    if not model_name.isprintable() or len(model_name) > LONGEST_NAME:
        raise Misuse(
            f"{model_name[:40]!r} is no model's name: it is too long, or has characters "
            "without a shape",
            parameter="model",
        )


MINILM, WORDLLAMA = "minilm", "wordllama"
"""The embedded encoders: a small transformer, and the mean of words' vectors."""

ENCODER_NAME, ENCODER_ADDRESS = "LABELER_ENCODER", "LABELER_EMBEDDINGS_URL"


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """Which encoder makes vectors, and what it is given before each text.

    `encoder` is `minilm` or `wordllama`, the embedded ones, or the name of a server's model; empty,
    it is LABELER_ENCODER's, else an embedded one. `embeddings_url` is the address of an
    OpenAI-compatible server. `query_prefix` and `document_prefix` stand before every text, as some
    models want it.
    """

    encoder: str = option(
        "",
        "minilm, wordllama, or a server's model (LABELER_ENCODER). Default: minilm where it takes "
        "less than 30 s, else wordllama.",
        section="encoder",
        key="name",
        variable=ENCODER_NAME,
        example=MINILM,
    )
    embeddings_url: str = option(
        "",
        "An OpenAI-compatible server (LABELER_EMBEDDINGS_URL).",
        section="encoder",
        key="server",
        variable=ENCODER_ADDRESS,
        is_address=True,
    )
    query_prefix: str = option(
        "", "What stands before each query that is encoded.", section="encoder"
    )
    document_prefix: str = option(
        "", "What stands before each document that is encoded.", section="encoder"
    )

    @property
    def name(self) -> str:
        """The encoder's name; empty where none is given, and an embedded one is chosen."""
        return self.encoder or os.environ.get(ENCODER_NAME, "")

    @property
    def is_served(self) -> bool:
        """Whether a server encodes, so that vectors are asked for."""
        return self.name not in ("", MINILM, WORDLLAMA)

    def check(self) -> None:
        """Raise `Misuse` where what is given does not go with the encoder."""
        if self.is_served:
            with about("encoder", "model"):
                check_model_name(self.name)
            return
        for parameter in ("embeddings_url", "query_prefix", "document_prefix"):
            if getattr(self, parameter):
                which = f"the encoder {self.name!r}" if self.name else "an embedded encoder"
                raise Misuse(f"does not go with {which}; name a server's", parameter=parameter)
