"""Qrels and runs as they are given: files, a collection, dicts, DataFrames or rows."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard, cast

from labeler.collection.layout import Collection, collection_of_qrels, sources_path
from labeler.collection.user_files import (
    collection_qrels,
    collection_runs,
    run_paths,
    runs_by_name,
    runs_in,
    runs_named,
)
from labeler.data import Run
from labeler.errors import Misuse
from labeler.exchange.qrels import read_qrels
from labeler.exchange.runs import hold_run, names_texts, read_run
from labeler.files.paths import check_existing, true_path
from labeler.files.read import rereadable
from labeler.messages import Note, count_of, tell
from labeler.metrics import JudgedPairs, Rankings
from labeler.metrics.judged import Facts
from labeler.report.finding import Finding
from labeler.trec.files import read_tag
from labeler.trec.memory import Source, as_qrels, as_run, hold_mappings, holds_lists
from labeler.trec.pairs import PairColumns

AnyQrels: TypeAlias = "Source | Collection"
"""A file, a collection (its human qrels, or the only ones), a dict, a DataFrame or rows."""

AnyRuns: TypeAlias = "Source | Collection | Mapping[str, Source] | Iterable[Source]"
"""One run, several, a dict of names to runs, or a collection (all of its runs)."""

RunsByName = Mapping[str, Path | Run]
FilePath = str | os.PathLike[str]


def is_path(source: object) -> TypeGuard[FilePath]:
    """Whether something is the path of a file or folder, and not what lies in one."""
    return isinstance(source, str | os.PathLike)


def qrels_path(qrels: AnyQrels) -> Path | None:
    """The file that holds the qrels, `None` where a program holds them."""
    folder = folder_of(qrels)
    if folder is not None:
        return collection_qrels(folder, None)
    return Path(qrels) if is_path(qrels) else None


def folder_of(source: object) -> Path | None:
    """The folder of a collection, `None` where the source is no collection."""
    if isinstance(source, Collection):
        return source.folder
    if is_path(source) and Path(source).is_dir():
        return Path(source)
    return None


def pool_from(
    qrels: AnyQrels, warn: Note, name: str = "the qrels", stale: str = "drop"
) -> JudgedPairs:
    """The pool of any qrels; messages call those without a file `name`."""
    return JudgedPairs.of(*_graded(qrels, warn, name, stale))


def qrels_from(
    qrels: AnyQrels, warn: Note, name: str = "the qrels", stale: str = "drop"
) -> PairColumns[int]:
    """The grades of any qrels; messages call those without a file `name`."""
    return _graded(qrels, warn, name, stale)[0]


def _graded(
    qrels: AnyQrels, warn: Note, name: str, stale: str
) -> tuple[PairColumns[int], str, int]:
    """The grades, what messages call them, and how many are of texts that have changed since.

    These are left out, unless `stale` is `keep`.
    """
    path = qrels_path(qrels)
    if path is None:  # no collection, so that it is a source
        return as_qrels(cast("Source", qrels), warn, name=name), name, 0
    if true_path(path).parent.name not in ("qrels", "judgements"):
        return read_qrels(path, warn), str(path), 0
    from labeler.collection.stale import stale_in, without  # takes long to load

    changed = stale_in([path], warn, stale)
    grades = read_qrels(path, warn)
    return grades if stale == "keep" else without(grades, changed), str(path), len(changed)


def collection_around(qrels: AnyQrels) -> Collection | None:
    """The collection in whose `qrels/` the file stands."""
    path = qrels_path(qrels)
    return Collection(path.parent.parent) if path and path.parent.name == "qrels" else None


def top_grade_beside(qrels: AnyQrels) -> int | None:
    """The top grade of the qrels' scale, as the card of their collection says."""
    path = qrels_path(qrels)
    if path is None or path.parent.name != "qrels":
        return None
    from labeler.collection.scale import top_grade_of  # takes long to load

    return top_grade_of(path)


def short(qrels: str) -> str:
    """What tables and sentences call qrels: their file's name without its ending, or their name."""
    return re.sub(r"\.(qrels|txt|tsv)(\.gz)?$", "", qrels.rsplit("/", 1)[-1]) or qrels


def runs_from(runs: AnyRuns | None, qrels: AnyQrels) -> RunsByName:
    """Runs by name; without any, those of the collection that `qrels` is.

    Files give their own names. Of runs without one, a single one is `run`, and several are `run1`,
    `run2` and so on.
    """
    folder, around = folder_of(qrels if runs is None else runs), collection_around(qrels)
    if folder is not None:
        return _by_name(runs_in(folder), around)
    if runs is None:
        against = f" against {qrels}" if is_path(qrels) else ""
        raise Misuse(f"no run to score{against}", parameter="runs")
    if isinstance(runs, Mapping) and not _is_run(runs):
        return {name: run_of(run, name, around) for name, run in runs.items()}
    files = (run_paths([Path(run)]) if folder_of(run) else [run] for run in _listed(runs))
    return _by_name([*chain.from_iterable(files)], around)


def _is_run(runs: Mapping[Any, Any]) -> bool:
    """Whether a dict is a run, `{query: {document: score}}`, and not one of names to runs."""
    if not hold_mappings(runs):
        return holds_lists(runs)
    firsts = (next(iter(scores.values()), 0) for scores in runs.values())
    return not any(isinstance(first, Mapping) for first in firsts)


def _listed(runs: Any) -> list[Any]:
    """Several runs as a list; one run as a list of it."""
    if isinstance(runs, str | os.PathLike | Mapping) or hasattr(runs, "columns"):
        return [runs]
    items = list(runs)
    first = items[0] if items else None
    # rows of one run: a query, a document and a score each, or objects that are no DataFrames
    is_triple = isinstance(first, tuple | list) and len(first) == 3 and isinstance(first[2], Real)
    is_object = hasattr(first, "score") and not hasattr(first, "columns")
    return [items] if is_triple or is_object else items


def _by_name(runs: Sequence[Any], around: Collection | None) -> RunsByName:
    if not runs:
        raise Misuse("no run to score", parameter="runs")
    files = iter(runs_by_name([Path(r) for r in runs if is_path(r)]).items())
    named = {}
    for number, run in enumerate(runs, start=1):
        name = "run" if len(runs) == 1 else f"run{number}"
        name, source = next(files) if is_path(run) else (name, run)
        if name in named:
            raise Misuse(f"two runs are called {name!r}; rename one")
        named[name] = run_of(source, name, around)
    return named


def run_of(run: Source, name: str, around: Collection | None = None) -> Path | PairColumns[float]:
    """A run's file, or its scores where a program holds them, or where it names queries by text.

    These get the ids of the collection's queries.
    """
    if not is_path(run):
        return as_run(run, name=f"the run {name}")
    path = Path(run)
    is_readable = around is not None and path.is_file() and around.queries.is_file()
    if around is None or not is_readable or not names_texts(path):
        return path
    return read_run(
        path, queries=around.queries, warn=lambda line: tell(path, line.removeprefix(f"{path}: "))
    )


def rank(run: Path | Run, pool: JudgedPairs, *, outside: bool = False) -> tuple[Rankings, Facts]:
    """A run's rankings of the queries of the qrels, and facts to warn of.

    With `outside` the facts have the documents outside the qrels.
    """
    with rereadable():
        if isinstance(run, Path):
            hold_run(run)
            return pool.rank(run, outside=outside)
    return pool.rank(as_run(run), outside=outside)


def qrels_and_runs(words: Sequence[str], qrels: int) -> tuple[list[Path], list[Path]]:
    """So many qrels and then runs, from the words of a command.

    They are files in this order; or a collection's folder and names of its qrels, of which none is
    needed where one set of qrels is asked for and the collection has one set, or people's.
    """
    folder, names = Path(words[0]), list(words[1:])
    if not folder.is_dir():
        paths = [Path(word) for word in words]
        check_existing(paths)
        return paths[:qrels], run_paths(paths[qrels:])
    if len(names) > qrels or (qrels > 1 and len(names) < qrels):
        raise Misuse(f"after the collection {folder} come the names of {qrels} of its qrels")
    asked: list[str | None] = [*names] or [None]
    return [collection_qrels(folder, name) for name in asked], collection_runs(folder)


def files_or_collection(
    paths: Sequence[Path],
    names: Mapping[str, str | None],
    qrels_of: Callable[[Path], Sequence[Path]],
    example: str,
) -> tuple[Sequence[Path], Sequence[Path] | Collection]:
    """Qrels and runs: files in this order, or those of a collection, whose qrels `qrels_of` gives.

    There are as many qrels as `names`, which choose among those of a collection, by parameter.
    """
    first, *rest = paths
    if first.is_dir():
        return qrels_of(first), runs_named(first, rest) if rest else Collection(first)
    for parameter, name in names.items():
        if name is not None:
            problem = f"this chooses among the qrels of a collection, and {first} is no folder"
            raise Misuse(problem, parameter=parameter)
    if len(rest) < len(names):
        raise Misuse(f"no run to score against {' '.join(map(str, paths))}; as in: {example}")
    return paths[: len(names)], run_paths(paths[len(names) :])


# What stands behind judgements, to be said beside every figure that rests on them.


@dataclass(frozen=True)
class Doubt:
    """Why a verdict is not known, and the command that would change that, with its price."""

    because: str
    command: str
    price: str

    def __str__(self) -> str:
        return f"not known, because {self.because}; next: {self.command} ({self.price})"


def caveats(models: Sequence[str]) -> Iterator[Finding]:
    """How far the grades of embedded assessors among the models can be trusted, each once."""
    from labeler.models.embedded import caveat, embedded_name

    names = dict.fromkeys(filter(None, map(embedded_name, models)))
    return (Finding(caveat(name)) for name in names)


def origin_findings(qrels: AnyQrels, *, of_pool: bool = False) -> list[Finding]:
    """Whose judgements these are, and how many failed.

    With `of_pool` only why grades may not stand for those of a pool: they are mixed, routed, or
    those of a part.
    """
    path = qrels_path(qrels)
    if path is None:
        return []
    mixed, origin = mixed_findings(path), collection_of_qrels(path)
    if origin is None:
        return mixed
    from labeler.collection.whose import CHOSEN, made_by, routed_pairs  # takes long to load

    routed, part = list[Finding](), part_findings(*origin)
    if number := len(routed_pairs(*origin)):
        pairs = count_of(number, "pair was", "pairs were")
        routed.append(
            Finding(f"{origin[1]}: {pairs} {CHOSEN}: no figure by these tells of all pairs")
        )
    if of_pool:
        return [*mixed, *routed, *part]
    failed = judgement_findings(origin[0].judgements(origin[1]))
    return [*mixed, *routed, *caveats(made_by(*origin).models), *part, *failed]


def mixed_findings(path: Path) -> list[Finding]:
    """That qrels hold grades from several sources, and how many from each."""
    if not sources_path(path).is_file():
        return []
    from labeler.collection.whose import mixture  # takes long to load

    text = mixture(path)
    return [Finding(text)] if text else []


def part_findings(collection: Collection, name: str) -> list[Finding]:
    """That a set judges a part of another's pairs, and what that keeps it from telling."""
    from labeler.collection.card import parent_of  # takes long to load

    parent = parent_of(collection, name)
    if parent is None or not parent.is_part:
        return []
    tells = "the others are unjudged"
    if parent.picking:
        tells += ", and those judged are not like them"
    return [Finding(f"{parent.sentence(name)}; {tells}")]


def judgement_findings(judgements: Path) -> list[Finding]:
    """How many pairs have no grade, and why; nothing without a file."""
    if not judgements.exists():
        return []
    from labeler.collection.judged_set import judged_in  # takes long to load

    judged = judged_in(judgements)
    asked = count_of(len(judged), "pair")
    statuses = Counter(judged.failures.values())
    if not statuses:
        return []
    by_status = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    missing = f"no grade for {statuses.total():,} of {asked} ({by_status})"
    return [Finding(f"{judgements}: {missing}; counted as unjudged", about=str(judgements))]


def kin_behind(qrels: AnyQrels, runs: RunsByName, asked: str = "") -> list[Kin]:
    """The runs that are kin to the model that judged, or to the one that wrote the queries.

    Where nobody has judged yet, it is the model that will be `asked`. Of qrels outside a collection
    only the file's name may tell, where it names a family of models.
    """
    path = qrels_path(qrels)
    origin = collection_of_qrels(path) if path else None
    if path is None or (origin is None and not families(short(path.name))):
        return []
    from labeler.collection.whose import MadeBy, made_by  # takes long to load

    made = MadeBy() if origin is None else made_by(*origin)
    stem = short(path.name)
    model = ", ".join(made.models) or asked or (stem if families(stem) else "")
    models = {"assessor": model, "query writer": made.writer}
    # what a run's file calls its system; a pipe is not read for it
    tags = {
        name: f"{read_tag(run) if isinstance(run, Path) and run.is_file() else ''}"
        f" {made.tags.get(name, '')}"
        for name, run in runs.items()
        if any(models.values())
    }
    return kin_of(list(runs), tags, models)


def kin_finding(kin: Sequence[Kin]) -> list[Finding]:
    """That runs are kin to the model whose judgements score them."""
    if not kin:
        return []
    text, favored = str(kin[0]), "it"
    if len(kin) > 1:  # what each has in common with which models
        *most, last = (f"{system.run} ({' and '.join(system.families)})" for system in kin)
        models = dict.fromkeys(f"the {role} {short_model(m)}" for of in kin for role, m in of.ties)
        text = f"{', '.join(most)} and {last} are kin to {' and '.join(models)}"
        favored = "them"
    return [
        Finding(f"circular: {text}; whether that favors {favored}, only people's grades can show")
    ]


# Families of models, what their members are called, and which systems are of a model's family.

FAMILIES = {
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
    "MiniLM": "minilm similarity",
    "WordLlama": "wordllama",
}
"""Family to its members' names: words, or words in a row; `#` stands for a number that must follow.

A word may go on with a number or a size (`llama3`, `t5xl`), and begin with one of `BEFORE`
(`rankzephyr`). The embedded judge `similarity` is made of BM25 and MiniLM; where it is of
WordLlama, the name of the model says so.
"""

BEFORE = (
    *("rank", "rep", "mono", "duo", "list", "lit", "chat", "code", "tiny", "med", "bio"),
    *("long", "multi", "safe", "star", "umbrela", "judge", "query", "doc", "ft", "my"),
)
"""What a model made from another has before its name, in one word."""

_SIZES = "xs|s|m|l|xl|xxl|tiny|mini|small|base|large|huge|turbo|instruct"


def families(text: str) -> set[str]:
    """The families that a model's name or a run's tag names.

    >>> sorted(families("rank_zephyr_7b")), families("part5-run")
    (['Mistral'], set())
    """
    spellings = {" ".join(_words(text)), " ".join(_words(_apart(text)))}
    return {
        family
        for family, names in FAMILIES.items()
        for words in spellings
        # whether a member's name is part of the text is soon known; a pattern takes long
        if any(name.rstrip("#").replace("-", " ") in words for name in names.split())
        and _pattern(family).search(words)
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
    members = (
        rf"{name[:-1]} ?\d\w*" if name.endswith("#") else f"{name}{after}"
        for name in (name.replace("-", " ") for name in FAMILIES[family].split())
    )
    return re.compile(rf"(?<!\S){before}(?:{'|'.join(members)})(?!\S)")


def short_model(model: str) -> str:
    """Models by their names alone, each once: without addresses, and from a bracket on.

    >>> short_model("similarity, similarity [0.3*terms; 0.4, 0.7] wordllama")
    'similarity'
    >>> short_model("https://api.openai.com/v1 gpt-4o, gpt-4o-2024-08-06")
    'gpt-4o, gpt-4o-2024-08-06'
    """
    names = re.sub(r"\[[^][]*\][^,]*", "", model).split(", ")
    return ", ".join(dict.fromkeys(_without_origin(name.rstrip()) for name in names))


def _without_origin(name: str) -> str:
    """A model's name without its server's address; of a file the first digits of its hash."""
    origin, _, rest = name.partition(" ")
    if "://" in origin and rest:
        return rest
    return f"gguf {rest[:8]}" if origin == "gguf" else name


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


def kin_of(runs: Sequence[str], tags: Mapping[str, str], models: Mapping[str, str]) -> list[Kin]:
    """Systems akin to a model; `tags` is run to tag, `models` role ("assessor") to model name."""
    kin = []
    for run in runs:
        own = families(" ".join([run, *tags.get(run, "").split()]))
        shared = {role: sorted(own & families(model)) for role, model in models.items()}
        ties = tuple((role, models[role]) for role, names in shared.items() if names)
        names = dict.fromkeys(name for names in shared.values() for name in names)
        if ties:
            kin.append(Kin(run, tuple(names), ties))
    return kin
