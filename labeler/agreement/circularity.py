"""Systems of the same model family as the assessor, and whether their scores gain from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeler.stats.means import mean_interval

if TYPE_CHECKING:
    from labeler.evaluation.board import Leaderboard

FAMILIES: dict[str, str] = {
    "GPT": r"gpt(?!q)|davinci|openai|text-embedding-(3|ada)|ada-002|\bo[134](-|\b)",
    "Claude": r"claude|anthropic",
    "Gemini or Gemma": r"gemini|gemma|gecko",
    "Llama": r"(?<!o)llama|vicuna",
    "Mistral": r"mistral|mixtral|ministral",
    "Qwen": r"qwen|qwq",
    "DeepSeek": r"deepseek",
    "Command or Cohere": r"command-?r|cohere",
    "Grok": r"grok",
    "Phi": r"\bphi-?\d",
    "T5": r"(?<!es)t5(?!\d)",
    "GLM": r"(?<![a-z])(chat)?glm",
    "Kimi": r"kimi|moonshot",
    "Yi": r"\byi-\d|01-ai",
    "Granite": r"granite",
    "OLMo": r"olmo|tulu",
    "Falcon": r"falcon",
    "InternLM": r"internlm",
    "Baichuan": r"baichuan",
    "Hunyuan": r"hunyuan",
    "ERNIE": r"\bernie",
    "Doubao": r"doubao",
    "MiniMax": r"minimax",
    "Jamba": r"jamba|ai21",
    "Nemotron": r"nemotron",
    "Nova or Titan": r"\bnova-(micro|lite|pro|premier)|\btitan-",
    "BGE": r"\bbge\b",
    "Jina": r"\bjina\b",
    "Arctic": r"snowflake|\barctic\b",
    "BM25": r"bm25",
    "WordLlama": r"wordllama",
}
"""Family to a pattern of how its members are called in run tags and model names."""

COMMON = frozenset(
    {
        *("assessor", "human", "judge", "judges", "label", "labels", "other", "people", "qrels"),
        *("baseline", "dense", "hybrid", "rerank", "reranker", "retriever", "run", "sparse"),
        *("gold", "llm", "model", "new", "old", "rater", "system", "test", "the", "trec"),
    }
)
"""Words that two names may share without being kin."""

RELATED = {"WordLlama": r"similarity", "BM25": r"similarity"}
"""The embedded judge `similarity` is made of these two."""


@dataclass(frozen=True)
class Circularity:
    """A system of the assessor's (or the query writer's) family, and how it fared.

    `residual` is the system's bias minus the others' mean bias, with its interval over queries.
    """

    run: str
    family: str
    role: str
    model: str
    residual: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        kin = f"circular: {self.run} and the {self.role} {self.model} are both {self.family}"
        if self.residual is None or self.low is None or self.high is None:
            return f"{kin}; too few systems or queries to see whether that favours it"
        size = f"{self.residual:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        if self.low > 0:
            return f"{kin}; its score rises by {size} more than the others' do: favoured"
        return f"{kin}; its score changes by {size} against the others': no favour shown"


def families(text: str) -> set[str]:
    """The families that a model's name or a run's tag speaks of."""
    lowered = text.lower()
    names = {name for name, pattern in FAMILIES.items() if re.search(pattern, lowered)}
    if "WordLlama" in names:
        names.discard("Llama")
    return names | {name for name, pattern in RELATED.items() if re.search(pattern, lowered)}


def kinship(called: Sequence[str], model: str) -> list[str]:
    """What a system of these names and a model, or several parted by commas, have in common.

    These are families of `FAMILIES`; else a name that is the same, or begins with the same word.
    """
    shared_families = families(" ".join(called)) & families(model)
    if shared_families:
        return sorted(shared_families)
    own = {word for name in called for word in _speaking(name)}
    names = [_base(name) for name in model.split(", ") if not families(name)]
    alike = (word for name in names for word in _speaking(name) if word in own)
    return list(alike)[:1]


def _base(name: str) -> str:
    """A model's name without the publisher's before it."""
    return name.strip().lower().rpartition("/")[2]


def _speaking(name: str) -> list[str]:
    """The whole name, and its first word, where they are no common words."""
    whole = _base(name)
    first = re.match(r"[a-z]{3,}(?![a-z])", whole)
    words = [whole, *([first[0]] if first else [])]
    return [word for word in words if word and word.strip("-_.0123456789") not in COMMON]


def circularities(
    board: Leaderboard, tags: Mapping[str, str], models: Mapping[str, str], seed: int = 0
) -> list[Circularity]:
    """Systems akin to a model; `tags` is run to tag, `models` role ("assessor") to model name."""
    circular = []
    for index in board.order:
        system = board.systems[index]
        called = [system.run, *tags.get(system.run, "").split()]
        for role, model in models.items():
            for family in kinship(called, model):
                evidence = _residual(board, index, seed)
                circular.append(Circularity(system.run, family, role, model, *evidence))
    return circular


def _residual(
    board: Leaderboard, index: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    if len(board.systems) < 2:
        return None, None, None
    change = board.scores[1] - board.scores[0]
    mean_change = np.delete(change, index, axis=0).mean(axis=0)
    residual = change[index] - mean_change
    return float(residual.mean()), *(mean_interval(residual, seed=seed) or (None, None))
