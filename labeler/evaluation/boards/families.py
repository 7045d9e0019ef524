"""Families of models, what their members are called, and which systems are kin to a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

FAMILIES: Mapping[str, str] = {
    "GPT": "gpt davinci openai text-embedding-3 text-embedding-ada ada-002 o1 o3 o4",
    "Claude": "claude anthropic sonnet opus haiku",
    "Gemini or Gemma": "gemini gemma embeddinggemma gecko text-bison",
    "Llama": "llama openllama vicuna alpaca hermes guanaco koala tulu llm2vec",
    "Mistral": (
        "mistral mixtral ministral codestral devstral magistral pixtral zephyr openhermes gritlm "
        "sfr-embedding nv-embed linq-embed e5-mistral"
    ),
    "Qwen": "qwen qwq gte-qwen mxbai-rerank-v2",
    "DeepSeek": "deepseek",
    "Command or Cohere": (
        "command-r command-a cohere aya embed-english embed-multilingual rerank-english "
        "rerank-multilingual"
    ),
    "Grok": "grok",
    "Phi": "phi#",
    "T5": "t5 mt5 byt5 ul2 flan doct5query docttttquery doctttttquery gtr-t5 sentence-t5",
    "GLM": "glm chatglm",
    "Kimi": "kimi moonshot",
    "Yi": "yi# 01-ai",
    "Granite": "granite",
    "OLMo": "olmo tulu",
    "Falcon": "falcon",
    "InternLM": "internlm",
    "Baichuan": "baichuan",
    "Hunyuan": "hunyuan",
    "ERNIE": "ernie",
    "Doubao": "doubao",
    "MiniMax": "minimax",
    "Jamba": "jamba ai21",
    "Nemotron": "nemotron",
    "Nova or Titan": "nova-micro nova-lite nova-pro nova-premier titan-embed titan-text",
    "BGE": "bge",
    "Jina": "jina",
    "Arctic": "snowflake arctic",
    "BM25": "bm25 bm25f bm25s bm25l bm25plus similarity",
    "WordLlama": "wordllama similarity",
}
"""Family to its members' names: words, or words in a row; `#` stands for a number that must follow.

A word may go on with a number or a size (`llama3`, `t5xl`), and begin with one of `BEFORE`
(`rankzephyr`). The embedded judge `similarity` is made of BM25 and WordLlama.
"""

BEFORE = (
    *("rank", "rep", "mono", "duo", "list", "lit", "chat", "code", "tiny", "med", "bio"),
    *("long", "multi", "safe", "star", "umbrela", "judge", "query", "doc", "ft", "my"),
)
"""What a model made from another has before its name, in one word."""

_SIZES = "xs|s|m|l|xl|xxl|tiny|mini|small|base|large|huge|turbo|instruct"

COMMON = frozenset(
    {
        *("assessor", "human", "judge", "judges", "label", "labels", "other", "people", "qrels"),
        *("baseline", "dense", "hybrid", "rerank", "reranker", "retriever", "run", "sparse"),
        *("gold", "llm", "model", "new", "old", "rater", "system", "test", "the", "trec"),
        *("team", "group", "task", "track", "submission", "sub", "part", "set", "fold", "split"),
        *("exp", "experiment", "version", "variant", "config", "final", "best", "main", "official"),
        *("first", "second", "base", "small", "large", "input", "passage", "document", "doc"),
    }
)
"""Words that two names may share without being kin."""


def families(text: str) -> set[str]:
    """The families that a model's name or a run's tag names.

    >>> sorted(families("rank_zephyr_7b")), families("part5-run")
    (['Mistral'], set())
    """
    spellings = {" ".join(_words(text)), " ".join(_words(_apart(text)))}
    return {
        family for family in FAMILIES if any(_pattern(family).search(words) for words in spellings)
    }


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _apart(text: str) -> str:
    """The text with a space where a capital begins a word: RankZephyr, but not LLaMA."""
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z0-9])", " ", text)


@lru_cache(maxsize=64)
def _pattern(family: str) -> re.Pattern[str]:
    before = f"(?:{'|'.join(BEFORE)})?"
    after = rf"(?:{_SIZES}|\d\w*)?"
    members = []
    for name in FAMILIES[family].split():
        words = name.replace("-", " ")
        if words.endswith("#"):
            members.append(rf"{before}{words[:-1]} ?\d\w*")
        else:
            members.append(f"{before}{words}{after}")
    return re.compile(rf"(?<!\S)(?:{'|'.join(members)})(?!\S)")


def kinship(called: Sequence[str], model: str) -> list[str]:
    """What a system of these names and a model, or several parted by commas, have in common.

    These are families of `FAMILIES`; else a name that is the same, or begins with the same word.
    """
    shared_families = families(" ".join(called)) & families(model)
    if shared_families:
        return sorted(shared_families)
    own = {word for name in called for word in _speaking(name)}
    names = [_base(_without_origin(name)) for name in model.split(", ") if not families(name)]
    alike = (word for name in names for word in _speaking(name) if word in own)
    return list(alike)[:1]


def _base(name: str) -> str:
    """A model's name without the publisher's before it."""
    return name.strip().lower().rpartition("/")[2]


def _speaking(name: str) -> list[str]:
    """The whole name, and its first word, where they are no common words."""
    whole = _base(name)
    first = re.match(r"[a-z]{3,}(?![a-z0-9])", whole)
    words = [whole, *([first[0]] if first else [])]
    return [word for word in words if word and word.strip("-_.0123456789") not in COMMON]


def short_model(model: str) -> str:
    """Models by their names alone, without addresses and what stands in brackets, each once.

    >>> short_model("similarity, similarity [0.3*terms; 0.4, 0.7] wordllama")
    'similarity'
    >>> short_model("https://api.openai.com/v1 gpt-4o, gpt-4o-2024-08-06")
    'gpt-4o, gpt-4o-2024-08-06'
    """
    names = map(_without_origin, _without_brackets(model).split(", "))
    return ", ".join(dict.fromkeys(names))


def _without_origin(name: str) -> str:
    """A model's name without its server's address; of a file the first digits of its hash."""
    origin, _, rest = name.partition(" ")
    if "://" in origin and rest:
        return rest
    return f"gguf {rest[:8]}" if origin == "gguf" else name


def _without_brackets(model: str) -> str:
    """The text less what stands in brackets, and what follows them up to a comma."""
    outside = ""
    while "]" in model.partition("[")[2]:
        before, _, rest = model.partition("[")
        after = rest.partition("]")[2]
        outside += before.rstrip()
        model = after[after.find(",") :] if "," in after else ""
    return outside + model
