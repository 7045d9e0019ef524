"""What stands behind judgements, to be said beside every figure that rests on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labeler.collection.layout import Collection
from labeler.data import Run
from labeler.evaluation.inputs import AnyQrels, qrels_path, short_name
from labeler.evaluation.scores import judgement_findings
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.trec.runs import read_tag


def caveats(models: Sequence[str]) -> Iterator[Finding]:
    """How far the grades of embedded assessors among the models can be trusted, each once."""
    from labeler.models.local.caveats import caveat, embedded_name

    names = dict.fromkeys(filter(None, map(embedded_name, models)))
    return (Finding(caveat(name)) for name in names)


def origin_findings(qrels: AnyQrels) -> list[Finding]:
    """Whose judgements these are, how many failed, and what is known of the pool behind them."""
    from labeler.collection.whose import collection_of_qrels, made_by  # takes long to load

    path = qrels_path(qrels)
    if path is None:
        return []
    mixed = mixed_findings(path)
    origin = collection_of_qrels(path)
    if origin is None:
        return mixed
    collection, name = origin
    findings = [*_routed(collection, name), *caveats(made_by(collection, name).models)]
    findings += part_findings(collection, name)
    findings += judgement_findings(collection.judgements(name))
    return [*mixed, *findings]


def pool_findings(qrels: AnyQrels) -> list[Finding]:
    """Why grades may not stand for those of a pool: they are mixed, routed, or those of a part."""
    from labeler.collection.whose import collection_of_qrels  # takes long to load

    path = qrels_path(qrels)
    if path is None:
        return []
    origin = collection_of_qrels(path)
    of_collection = [] if origin is None else [*_routed(*origin), *part_findings(*origin)]
    return [*mixed_findings(path), *of_collection]


def mixed_findings(path: Path) -> list[Finding]:
    """That qrels hold grades from several sources, and how many from each."""
    from labeler.collection.whose import mixture  # takes long to load

    text = mixture(path)
    return [Finding(text)] if text else []


def _routed(collection: Collection, name: str) -> Iterator[Finding]:
    """That people's grades are of pairs which were chosen for being in doubt, where they are."""
    from labeler.collection.whose import CHOSEN, routed_pairs

    if routed := len(routed_pairs(collection, name)):
        pairs = count_of(routed, "pair was", "pairs were")
        yield Finding(f"{name}: {pairs} {CHOSEN}: no figure by these tells of all pairs")


def part_findings(collection: Collection, name: str) -> list[Finding]:
    """That a set judges a part of another's pairs, and what that keeps it from telling."""
    from labeler.collection.card import parent_of  # takes long to load

    parent = parent_of(collection, name)
    if parent is None or not parent.is_part:
        return []
    tells = "the others are unjudged"
    if parent.is_by_grades:
        tells += ", and those judged are not like them"
    return [Finding(f"{parent.sentence(name)}; {tells}")]


def kin_behind(qrels: AnyQrels, runs: Mapping[str, Path | Run]) -> list[Kin]:
    """The runs that are kin to the model that judged, or to the one that wrote the queries.

    Of qrels outside a collection only the file's name may tell, where it names a family of models.
    """
    from labeler.collection.whose import MadeBy, collection_of_qrels, made_by

    path = qrels_path(qrels)
    if path is None:
        return []
    origin = collection_of_qrels(path)
    made = MadeBy() if origin is None else made_by(*origin)
    stem = short_name(path.name)
    model = ", ".join(made.models) or (stem if families(stem) else "")
    models = {"assessor": model, "query writer": made.writer}
    named = {role: model for role, model in models.items() if model}
    tags = {name: f"{_tag(run)} {made.tags.get(name, '')}" for name, run in runs.items() if named}
    return kin_of(list(runs), tags, named)


def _tag(run: Path | Run) -> str:
    """What a run's file calls its system; a pipe is not read for it."""
    return read_tag(run) if isinstance(run, Path) and run.is_file() else ""


def kin_finding(kin: Sequence[Kin]) -> list[Finding]:
    """That runs are kin to the model whose judgements score them."""
    shows = "only people's grades can show"
    if len(kin) == 1:
        return [Finding(f"circular: {kin[0]}; whether that favors it, {shows}")]
    return [Finding(f"circular: {together(kin)}; whether that favors them, {shows}")] if kin else []


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
