"""Is an assessor judging its own kin? Families of models, and the evidence of favour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labeler.agreement.leaderboard import Leaderboard, mean_interval

FAMILIES: dict[str, str] = {
    "GPT": r"gpt|chatgpt|davinci|openai|text-embedding-(3|ada)|ada-002|\bo[134](-|\b)",
    "Claude": r"claude|anthropic",
    "Gemini or Gemma": r"gemini|gemma|gecko",
    "Llama": r"(?<!o)llama|vicuna",
    "Mistral": r"mistral|mixtral|ministral",
    "Qwen": r"qwen|qwq",
    "DeepSeek": r"deepseek",
    "Command or Cohere": r"command-?r|cohere",
    "Grok": r"grok",
    "Phi": r"\bphi-?\d",
    "T5": r"t5",
    "BM25": r"bm25",
    "WordLlama": r"wordllama",
}
"""Family to a pattern of how its members are called in run tags and model names."""

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
    named = {name for name, pattern in FAMILIES.items() if re.search(pattern, lowered)}
    if "WordLlama" in named:
        named.discard("Llama")
    return named | {name for name, pattern in RELATED.items() if re.search(pattern, lowered)}


def circularities(
    board: Leaderboard, tags: Mapping[str, str], models: Mapping[str, str], seed: int = 0
) -> list[Circularity]:
    """Systems akin to a model; `tags` is run to tag, `models` role ("assessor") to model name."""
    found = []
    for place, system in enumerate(board.systems):
        ours = families(f"{system.run} {tags.get(system.run, '')}")
        for role, model in models.items():
            for family in sorted(ours & families(model)):
                evidence = _residual(board, place, seed)
                found.append(Circularity(system.run, family, role, model, *evidence))
    return found


def _residual(
    board: Leaderboard, place: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    if len(board.systems) < 2:
        return None, None, None
    change = board.scores[1] - board.scores[0]
    others = np.delete(change, place, axis=0).mean(axis=0)
    residual = change[place] - others
    return float(residual.mean()), *mean_interval(residual, seed)
