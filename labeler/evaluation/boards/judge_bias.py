"""What an assessor does to systems' scores: a line, what is each system's own, and favour to kin.

An assessor's bias towards a system, its mean less the people's, depends on how good the system is:
most assessors compress, so that weak systems gain and strong ones lose. And each system has an
effect of its own, whether it is kin to the assessor or not. So favour to kin is not what differs
from the mean bias, nor what queries' noise does not explain: it is what lies farther from the line
through the unrelated systems than an unrelated one would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.messages import count_of
from labeler.metrics import parse
from labeler.report.finding import Finding
from labeler.report.result import Hidden
from labeler.report.table import number_text
from labeler.stats.regression import Components, Trend, components, trend

if TYPE_CHECKING:
    from labeler.evaluation.boards.board import Leaderboard

# Families of models, what their members are called, and which systems are kin to a model.

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


FEWEST_OTHERS = 6
"""So many unrelated systems are needed to see how far one of them may lie from their line."""


@dataclass(frozen=True)
class Kin:
    """A system of the family of a model that judged, or wrote the queries.

    `families` is what they have in common, `ties` the roles of the models and their names.
    """

    run: str
    families: tuple[str, ...]
    ties: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        models = " and ".join(f"the {role} {short_model(model)}" for role, model in self.ties)
        both = "both" if len(self.ties) == 1 else "all"
        return f"{self.run} and {models} are {both} {' and '.join(self.families)}"


def together(kin: Sequence[Kin]) -> str:
    """Several kin in one sentence: what each has in common with which models."""
    *most, last = (f"{system.run} ({' and '.join(system.families)})" for system in kin)
    models = dict.fromkeys(f"the {role} {short_model(m)}" for of in kin for role, m in of.ties)
    return f"{', '.join(most)} and {last} are kin to {' and '.join(models)}"


def kin_of(runs: Sequence[str], tags: Mapping[str, str], models: Mapping[str, str]) -> list[Kin]:
    """Systems akin to a model; `tags` is run to tag, `models` role ("assessor") to model name."""
    kin = []
    for run in runs:
        called = [run, *tags.get(run, "").split()]
        shared = {role: kinship(called, model) for role, model in models.items()}
        ties = tuple((role, models[role]) for role, names in shared.items() if names)
        names = dict.fromkeys(name for names in shared.values() for name in names)
        if ties:
            kin.append(Kin(run, tuple(names), ties))
    return kin


@dataclass(frozen=True)
class Favour:
    """How a system that is kin to a model fared, against the `others`, of which none is kin.

    `residual` is by how much its bias lies above their line; 95 of 100 unrelated systems lie within
    `reach` of it. Both are `None` where there are too few others. `outside` says that no other
    system scores as high, or none as low, so that the line is drawn beyond its points.
    """

    kin: Kin
    others: int
    residual: float | None = None
    reach: float | None = None
    outside: bool = False

    @property
    def has_evidence(self) -> bool:
        """Whether there were others enough to see."""
        return self.residual is not None

    @property
    def verdict(self) -> str:
        """Whether the system lies farther up than an unrelated one would."""
        if self.residual is None or self.reach is None:
            return "no evidence"
        return "favoured" if self.residual > self.reach else "no favour shown"

    def __str__(self) -> str:
        circular = f"circular: {self.kin}"
        if self.residual is None or self.reach is None:
            return f"{circular}; whether that favors it cannot be seen from {_too_few(self.others)}"
        size = f"{_signed(self.residual)} off the line of the {self.others} unrelated systems"
        within = f"95 of 100 such lie within {number_text(self.reach, '.3f')}"
        beyond = ", drawn beyond their scores" if self.outside else ""
        return f"{circular}; its bias is {size}{beyond} ({within}): {self.verdict}"

    def as_json(self) -> dict[str, Any]:
        """The fields, with families and roles as text."""
        return {
            "run": self.kin.run,
            "family": " and ".join(self.kin.families),
            "role": " and ".join(role for role, _ in self.kin.ties),
            "model": ", ".join(model for _, model in self.kin.ties),
            "others": self.others,
            "residual": self.residual,
            "reach": self.reach,
            "outside": self.outside,
            "verdict": self.verdict,
        }


def _too_few(others: int) -> str:
    counted = count_of(others, "unrelated system", "unrelated systems")
    return f"{counted}, where {FEWEST_OTHERS} that differ are needed"


def favour_findings(favors: Sequence[Favour]) -> Iterator[Finding]:
    """A sentence for each system of which something can be seen, and one for all the others."""
    seen = [favour for favour in favors if favour.has_evidence]
    unseen = [favour for favour in favors if not favour.has_evidence]
    for favour in seen + (unseen if len(unseen) == 1 else []):
        yield Finding(str(favour), about=favour.kin.run)
    if len(unseen) > 1:
        circular = f"circular: {together([favour.kin for favour in unseen])}"
        few = _too_few(unseen[0].others)
        yield Finding(f"{circular}; whether that favors them cannot be seen from {few}")


@dataclass(frozen=True)
class JudgeBias:
    """What an assessor does to the scores of systems that are not kin to it.

    `line` is of bias on people's mean, as both came out on these queries: what a further system is
    to be held against. `components` is how the true scores hang together. `residuals` has each
    system's distance from the line, above 0 where it gains; kin have theirs from the others' line.
    Either is `None` where the systems are too few or too close.
    """

    line: Trend | None
    components: Components | None
    residuals: Mapping[str, float]
    favors: Hidden[tuple[Favour, ...]] = ()

    def sentences(self, first: str, second: str) -> list[str]:
        """How far the assessor compresses, and how much of its own it does to systems."""
        of = self.components
        if of is None:
            return []
        low, slope, high = (number_text(0.1 * x, ".3f") for x in (of.low, of.slope, of.high))
        return [
            f"Where two systems differ by 0.100 by {first}'s grades, they differ by {slope}"
            f" by {second}'s ({low} to {high}); beyond that, systems' scores move by"
            f" {number_text(of.own, '.3f')} (standard deviation) for what they are, and by"
            f" {number_text(of.noise, '.3f')} for these queries."
        ]


def judge_bias(board: Leaderboard, kin: Sequence[Kin] = ()) -> JudgeBias:
    """Fit the line to the systems that are no kin, and hold all kin against it.

    For measures where lower is better a residual above 0 is a gain, too.
    """
    akin = {system.run: system for system in kin}
    is_other = np.array([system.run not in akin for system in board.systems], dtype=np.bool_)
    sign = -1.0 if parse(board.measure).definition.lower_is_better else 1.0
    first, second = sign * board.scores
    x, bias = first.mean(axis=1), (second - first).mean(axis=1)
    line = trend(x[is_other], bias[is_other])
    residuals = {}
    if line is not None:
        residuals = {
            s.run: float(bias[i] - line.at(float(x[i]))) for i, s in enumerate(board.systems)
        }
    others = x[is_other]
    favors = []
    for i in board.order:
        run = board.systems[i].run
        if run in akin and line is not None and len(others) >= FEWEST_OTHERS:
            outside = not others.min() <= x[i] <= others.max()
            reach = line.reach(float(x[i]))
            favors.append(Favour(akin[run], len(others), residuals[run], reach, bool(outside)))
        elif run in akin:
            favors.append(Favour(akin[run], len(others)))
    return JudgeBias(line, components(first[is_other], second[is_other]), residuals, tuple(favors))


def _signed(value: float) -> str:
    return number_text(value, "+.3f")
