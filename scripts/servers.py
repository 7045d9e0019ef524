"""The table of servers in docs/reference/servers.md: what each is sent, and how that was tried.

    PYTHONPATH=. python scripts/servers.py [--check]

What is sent is read from the package; what was tried, from the tables of tests/models.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from labeler.model import Message, Request  # noqa: E402  the same
from labeler.models.server.client import wire_format  # noqa: E402  the same
from labeler.models.settings import Api, AssessorSettings  # noqa: E402  the same
from tests.models.test_dialects import NATIVE  # noqa: E402  the path comes first
from tests.models.test_recorded import FACTS, REFUSALS, SCHEMAS, SENT  # noqa: E402  the same

PAGE = ROOT / "docs" / "reference" / "servers.md"
BEGIN, END = "<!-- servers -->", "<!-- end of servers -->"

ROWS: list[tuple[str, str, Api, tuple[str, ...]]] = [
    ("OpenAI", "https://api.openai.com/v1", "", ("openai",)),
    (
        "OpenAI",
        "https://api.openai.com/v1",
        "responses",
        ("openai_responses", "openai_prompt_cache"),
    ),
    ("Azure", "https://NAME.openai.azure.com/openai/v1", "", ()),
    ("Anthropic", "https://api.anthropic.com", "", ("anthropic",)),
    ("Anthropic", "https://api.anthropic.com/v1", "chat", ()),
    ("Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "", ()),
    ("OpenRouter", "https://openrouter.ai/api/v1", "", ("openrouter", "cache")),
    ("Groq", "https://api.groq.com/openai/v1", "", ("groq",)),
    ("Mistral", "https://api.mistral.ai/v1", "", ("mistral",)),
    ("Cerebras", "https://api.cerebras.ai/v1", "", ("cerebras",)),
    ("Hugging Face", "https://router.huggingface.co/v1", "", ("huggingface",)),
    ("DeepSeek", "https://api.deepseek.com", "", ()),
    ("DeepSeek", "https://api.deepseek.com", "responses", ("deepseek_responses",)),
    ("Z.ai", "https://api.z.ai/api/paas/v4", "", ("zai",)),
    ("Snowflake", "https://X.snowflakecomputing.com/api/v2/cortex/v1", "", ("snowflake",)),
    ("DashScope, SiliconFlow", "https://api.siliconflow.com/v1", "", ()),
    ("Ollama", "http://127.0.0.1:11434", "", ()),
    ("Ollama", "http://127.0.0.1:11434/v1", "", ("ollama",)),
    ("vLLM, LM Studio, SGLang", "http://127.0.0.1:8000/v1", "", ()),
    ("llama.cpp", "http://127.0.0.1:8080/v1", "", ()),
    ("LiteLLM's proxy", "http://127.0.0.1:4000/v1", "", ()),
]
HEAD = ("server", "asked in", "thoughts: how to set them", "schema of replies")
BESIDE = ("log probabilities", "`batch`", "caching", "tried how")
WAYS = {"reasoning_effort": "effort", "off": "off", "on": "on", "budget": "tokens"}
REAL = {"llama.cpp", "LiteLLM's proxy"}
"""What `scripts/try_servers.py` runs here."""

REQUEST = Request(
    (Message("system", "s"), Message("user", "u")), {"logprobs": True, "top_logprobs": 5}, {}
)


def table() -> Iterator[str]:
    """The lines of the table."""
    columns = (*HEAD, *BESIDE)
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for name, address, api, folders in ROWS:
        form = wire_format(address, AssessorSettings(api=api))
        body = form.body("m", REQUEST)
        has_logprobs = "top_logprobs" in body
        has_marks = "cache_control" in json.dumps(body)
        cells = (
            f"{name}: `{address}`",
            f"`{form.api}`",
            "<br>".join(_ways(form.words)) or "not set",
            f"`{_place_of_schema(body)}`",
            "asked for" if has_logprobs else "the format has none",
            "yes" if (name, form.api) == ("OpenAI", "chat") else "not tried",
            "the system turn is marked" if has_marks else "the server's own",
            _tried(name, form.api, folders),
        )
        yield f"| {' | '.join(cells)} |"


def _ways(words: Any) -> Iterator[str]:
    for way, shown in WAYS.items():
        if way in words:
            sent = (
                json.dumps(words[way]).replace('"$"', "…") if words[way] else "nothing: the default"
            )
            yield f"{shown}: `{sent}`" if words[way] else f"{shown}: {sent}"


def _place_of_schema(body: dict[str, Any]) -> str:
    return next(n for n in ("response_format", "text", "output_config", "format") if n in body)


def _tried(name: str, api: str, folders: tuple[str, ...]) -> str:
    """Exchanges that were recorded, a real server here, a made one."""
    files = [*(f.file for f in FACTS), *(row[0] for row in (*REFUSALS, *SENT, *SCHEMAS))]
    recorded = {file for file in files if _folder(file, name) in folders}
    parts = [f"{len(recorded)} recorded"] if recorded else []
    parts += ["real server here"] if name in REAL else []
    parts += ["made server"] if api == "chat" or api in {row[0] for row in NATIVE} else []
    return ", ".join(parts)


def _folder(file: str, name: str) -> str:
    """Whose a recording is; those of thoughts are of several providers in one folder."""
    folder, _, rest = file.partition("/")
    of_several = folder in {"settings", "thinking_wire_contract", "embeddings"}
    return next((n for n in (name.lower(),) if n in rest), "") if of_several else folder


def page_with_table(page: str) -> str:
    """The page with the table as it is now."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{chr(10).join(table())}\n{END}{rest.split(END)[1]}"


def main() -> int:
    """Write the page, or say whether it is fresh."""
    page = PAGE.read_text(encoding="utf-8")
    fresh = page_with_table(page)
    if "--check" in sys.argv:
        return int(fresh != page)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
