"""Whose grades qrels hold: people's, a model's, or those of several, line by line in a file."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from labeler.collection.card import card_section, read_card
from labeler.collection.corpus import corpus_on_demand
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import (
    Collection,
    check_name,
    collection_of_qrels,
    sources_path,
)
from labeler.collection.people import people_path, read_people
from labeler.collection.queries import read_queries
from labeler.data import Document, Judged, Judgement, Pair, Qrels, Query
from labeler.errors import BadInput, Misuse
from labeler.files.boundary import reading
from labeler.files.cache import sha256_of
from labeler.files.paths import true_path
from labeler.files.read import numbered_lines
from labeler.messages import Note, count_of
from labeler.text.terms import text_to_search
from labeler.text.visible import bounded, visible

if TYPE_CHECKING:
    from labeler.prompt import Prompt

# Which models made the qrels and the queries of a collection, and what its systems are called.


@dataclass(frozen=True)
class MadeBy:
    """The models that judged, as they were asked for and as servers named them; empty for people's.

    `writer` is the model that wrote the queries, `tags` are what runs call their systems, with the
    models behind them.
    """

    models: tuple[str, ...] = ()
    writer: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def made_by(collection: Collection, name: str) -> MadeBy:
    """What the card says of the collection's qrels of this name, else what its judgements say."""
    card = read_card(collection)
    entry = card_section(card_section(card, "judge"), name)
    served = entry.get("served")
    models = [entry.get("model"), *(served if isinstance(served, list) else [])]
    named = tuple(dict.fromkeys(m for m in models if isinstance(m, str) and m))
    pooled = card_section(card_section(card, "pool"), "runs")
    runs = dict.fromkeys((*pooled, *card_section(card, "retrieve")))
    tags = {run: " ".join(_called(card, run, pooled.get(run))) for run in runs}
    writer = card_section(card, "generate").get("model", "")
    return MadeBy(named or _judged_by(collection.judgements(name)), str(writer), tags)


def models_behind(card: Mapping[str, Any], run: str) -> list[str]:
    """The models that made a run of a collection, as its card tells: encoders and re-rankers."""
    entry = card_section(card_section(card, "retrieve"), run)
    models = entry.get("models")
    names = [entry.get("encoder"), *(models if isinstance(models, list) else [])]
    if run in ("dense", "hybrid"):
        names.append(card_section(card, "pool").get("encoder"))
    return [name for name in names if isinstance(name, str) and name]


def _called(card: Mapping[str, Any], run: str, tag: object) -> list[str]:
    """What a run is called, and the models behind it."""
    return [*([tag] if isinstance(tag, str) else []), *models_behind(card, run)]


def _judged_by(judgements: Path) -> tuple[str, ...]:
    """The models that the first row of judgements names."""
    if not judgements.exists():
        return ()
    models = [
        model
        for row in islice(read_judgements(judgements), 1)
        for model in (row.origin.model, row.judged.model)
    ]
    return tuple(dict.fromkeys(model for model in models if model))


HUMAN = "human"
COLUMNS = "query_id\tdoc_id\tgrade\tsource"

MIXED = " (mixed)"
"""Stands behind the name of a source that mixes grades itself."""

Whose = Literal["people", "model", "both", ""]


def is_of_people(collection: Collection, name: str) -> bool:
    """Whether a set of qrels is people's: called so, from a sheet, or brought along as theirs."""
    if collection.judgements(name).exists():
        return False
    if name == HUMAN or people_path(collection.folder, name).exists():
        return True
    card = read_card(collection)
    fetched = card_section(card_section(card, "fetch"), "qrels")
    return name in card_section(card, "imported") or name in fetched


def check_model_name(name: str) -> str:
    """`name`, if a model's judgements may be called so; `Misuse` of the name of people's."""
    if check_name(name) == HUMAN:
        problem = f"{HUMAN} is the name of people's grades, and these are a model's"
        raise Misuse(f"{problem}; give another name", parameter="name")
    return name


def whose(path: Path) -> Whose:
    """Whose grades a file of qrels holds, as far as its collection or its sources tell."""
    if sources_beside(path):
        return "both"
    where = collection_of_qrels(path)
    if where is None or not where[0].card.exists():
        return "people" if path.name.partition(".")[0] == HUMAN else ""
    collection, name = where
    if is_of_people(collection, name):
        return "people"
    is_judged = name in card_section(read_card(collection), "judge")
    return "model" if is_judged or collection.judgements(name).exists() else ""


def mixture(path: Path) -> str:
    """That a file of qrels holds grades from several sources, and how many; empty where not."""
    counts = sources_beside(path)
    if len(counts) < 2 and not any(source.endswith(MIXED) for source in counts):
        return ""
    each = ", ".join(f"{count:,} of {source}" for source, count in counts.most_common())
    return f"{path} mixes grades: {each}"


def not_of_people(path: Path) -> str:
    """That a file of qrels which is taken for people's holds a model's grades; empty where not."""
    if whose(path) != "model":
        return ""
    return f"{path} holds a model's grades, and is taken for people's"


def sources_beside(qrels: Path) -> Counter[str]:
    """How many lines of qrels came from each source; nothing where that is not known.

    A file of sources that was written with other grades says nothing of these.
    """
    path = sources_path(qrels)
    if not path.is_file() or not qrels.is_file():
        return Counter()
    with reading(path):
        lines = (line for _, line in numbered_lines(path))
        if next(lines, "") != f"# sha256 {sha256_of(qrels)}" or next(lines, "") != COLUMNS:
            return Counter()
        return Counter(line.rpartition("\t")[2] for line in lines)


# Pairs that were routed to people: no random sample, so that they enter no statistic as one.

CHOSEN = "sent to a person because their grades were in doubt, not drawn by chance"


def routed_pairs(collection: Collection, name: str) -> frozenset[Pair]:
    """The pairs of people's qrels that were routed; none where they come from no sheet."""
    path = people_path(collection.folder, name)
    if not path.is_file():
        return frozenset()
    return frozenset(row.pair for row in read_people(path) if row.probability is None)


def sampled_from(collection: Collection, name: str) -> str | None:
    """The qrels whose grades people checked, as the card says of their sample; None where unknown.

    Of several samples it is that of the last answer.
    """
    path = people_path(collection.folder, name)
    samples = card_section(read_card(collection), "samples")
    for row in reversed(read_people(path) if path.is_file() else []):
        source = card_section(samples, row.sample).get("source")
        if isinstance(source, str) and source in collection.qrels_names():
            return source
    return None


def routed_of_file(path: Path) -> frozenset[Pair]:
    """The routed pairs of qrels that stand in a collection's folder of qrels."""
    origin = collection_of_qrels(path)
    return frozenset() if origin is None else routed_pairs(*origin)


def drawn_by_chance(
    qrels: Qrels, routed: frozenset[Pair], source: object, warn: Note = lambda _line: None
) -> Qrels:
    """People's grades without those of routed pairs; `BadInput` where none is left.

    `warn` is given a line that counts them.
    """
    if not routed:
        return qrels
    rest = {
        query: {doc: grade for doc, grade in grades.items() if Pair(query, doc) not in routed}
        for query, grades in qrels.items()
    }
    rest = {query: grades for query, grades in rest.items() if grades}
    left_out = sum(map(len, qrels.values())) - sum(map(len, rest.values()))
    if left_out and not rest:
        problem = f"all {count_of(left_out, 'pair was', 'pairs were')} {CHOSEN}"
        advice = "grade a sheet that `sample` draws, and compare with that"
        raise BadInput(f"{source}: {problem}, so that they tell nothing of the pool; {advice}")
    if left_out:
        counted = count_of(left_out, "pair is", "pairs are")
        warn(f"{source}: {counted} left out, {CHOSEN}")
    return rest


# Which grades are of texts that have changed since: each row keeps a hash of what was shown.
#
# The rules by which the texts were shown stand before it, so that it can be made again without the
# prompt: `query passage:50000 03fbc2a1d7e0 9d1c07b2e6aa` is of a query's text, and of the first
# 50,000 characters of a document's title and text. Of documents that are shown together (in a list,
# two by two) each counts for its own pair alone, and examples count for none.

_SHOWN = re.compile(r"[\w+]{1,200} [a-z+]{1,99}:[0-9]{0,9}(?: [0-9a-f]{12}){2}")
Label = TypeVar("Label")
Grades = dict[str, dict[str, Label]]
_OF_A_DOCUMENT = {"title", "text", "passage"}
_OF_THE_PROMPT = {
    *("mark", "passages", "first", "second", "count"),
    *("criterion", "criteria", "question", "examples"),
}


def hash_of(*texts: str) -> str:
    """Twelve hex digits of some texts; others have others."""
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:12]


def rules_of(prompt: Prompt) -> str:
    """The rules by which a prompt shows texts: the fields that it asks for, and where it cuts."""
    names, writer = prompt.placeholders, prompt.question_writer
    names |= writer.placeholders | {"questions"} if writer else set()
    of_query = "+".join(sorted(names - _OF_A_DOCUMENT - _OF_THE_PROMPT)) or "query"
    of_document = "+".join(sorted(names & _OF_A_DOCUMENT)) or "passage"
    return f"{of_query} {of_document}:{prompt.max_chars or ''}"


def shown_by(rules: str, query: Query, document: Document) -> str:
    """The rules with the hashes of the texts that they show; hashes behind them are put anew."""
    of_query, of_document, *_ = rules.split()
    return f"{of_query} {of_document} {_hash(of_query, query)} {_hash(of_document, document)}"


def _hash(rule: str, record: Query | Document) -> str:
    names, _, most = rule.partition(":")
    texts = (visible(_field(record, name)) for name in names.split("+"))
    return hash_of(*(bounded(text, int(most) if most else None) for text in texts))


def _field(record: Query | Document, name: str) -> str:
    if isinstance(record, Document):
        return text_to_search(record) if name == "passage" else str(getattr(record, name, ""))
    return record.text if name == "query" else str(record.metadata.get(name) or "")


def stale_in(source: object, warn: Note = lambda _line: None, stale: str = "drop") -> set[Pair]:
    """The stale pairs of a file of qrels or judgements in a collection; of other sources none.

    `warn` is given a line that counts them, and says what becomes of them: `drop` or `keep`.
    """
    if stale not in ("drop", "keep"):
        raise Misuse(f"stale is drop or keep, not {stale!r}", parameter="stale")
    true = true_path(Path(source)) if isinstance(source, str | os.PathLike) else Path()
    if true.parent.name not in ("qrels", "judgements"):
        return set()
    folder, name = true.parent.parent, true.name.removesuffix(".gz").rpartition(".")[0]
    pairs = stale_pairs(Collection(folder), name)
    if pairs:
        grades = count_of(len(pairs), "grade is", "grades are")
        left = "left out" if stale == "drop" else "counted all the same"
        again = f"labeler judge {folder}, as {name}, with its prompt and model"
        warn(f"{name}: {grades} of texts that have changed since, {left}; next: {again}")
    return pairs


def without(labels: Mapping[str, Mapping[str, Label]], pairs: set[Pair]) -> Grades[Label]:
    """Grades or other labels without those of stale pairs; `BadInput` where none is left."""
    rest = {
        query: {doc: label for doc, label in row.items() if (query, doc) not in pairs}
        for query, row in labels.items()
    }
    if pairs and not any(rest.values()):
        raise BadInput("all grades are of texts that have changed since they were judged")
    return {query: row for query, row in rest.items() if row}


def stale_pairs(collection: Collection, name: str) -> set[Pair]:
    """The pairs of a set of judgements with a grade of other texts than are shown of them now.

    Where the query or the document is gone, or no row says what was shown, a pair is none of them.
    """
    return stale_by_set(collection, [name])[name]


def stale_by_set(collection: Collection, names: Sequence[str]) -> dict[str, set[Pair]]:
    """The same of several sets; each document is looked at once."""
    stale: dict[str, set[Pair]] = {name: set() for name in names}
    names_shown = [name for name in names if any(shown_in(collection.judgements(name)))]
    if not (names_shown and collection.corpus.is_file() and collection.queries.is_file()):
        return stale
    queries, documents = read_queries(collection.queries), corpus_on_demand(collection.corpus)
    of_query = cache(lambda id_, rule: _hash(rule, queries[id_]))
    of_document = cache(lambda id_, rule: _hash(rule, documents[id_]))
    for name in names_shown:
        for pair, shown in shown_in(collection.judgements(name)):
            if pair.query_id in queries and pair.doc_id in documents:
                query, document, *hashes = shown.split()
                now = [of_query(pair.query_id, query), of_document(pair.doc_id, document)]
                stale[name].update([pair] if hashes != now else [])
    return stale


def shown_in(path: Path) -> Iterator[tuple[Pair, str]]:
    """The pairs with a grade, each with what its row says that was shown."""
    for row in read_judgements(path) if path.is_file() else ():
        if shown := shown_to(row.judged):
            yield row.judged.outcome.pair, shown


def shown_to(judged: Judged) -> str:
    """What was shown for a grade; empty of a failure, and where that is not known."""
    is_graded = isinstance(judged.outcome, Judgement)
    return judged.shown if is_graded and _SHOWN.fullmatch(judged.shown) else ""
