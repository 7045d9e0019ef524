"""`relabel`: judge the pairs of one set of judgements anew, with another prompt or model."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import numpy as np

from labeler.arrays import Flags
from labeler.collection.card import DISAGREEMENTS, FAILURES, QUERIES, SAMPLE, Parent, parent_of
from labeler.collection.judged_set import JudgedSet, read_set
from labeler.collection.judgements import Origin, judged_lines, origin_of
from labeler.collection.layout import AnyCollection, Collection, check_name, open_collection
from labeler.collection.pool import Pairs, Which
from labeler.collection.queries import parse_ids
from labeler.data import Failure, Judged, Judgement, Outcome, Pair
from labeler.errors import BadInput, LabelerError, Misuse, about
from labeler.files.boundary import count
from labeler.judging.assessor import Assessor, Texts, as_shown
from labeler.judging.changes import (
    Transitions,
    changes_of,
    human_beside,
    sets_alike,
    texts_of_queries,
)
from labeler.judging.job import DerivedPairs, Job, JudgeResult, check_free, texts_of
from labeler.judging.judge import JudgeOptions, JudgingPlan, judge_set, judged_after_pilot
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.methods.inquiry import ReadAtMost
from labeler.messages import Note, count_of
from labeler.models.choose import Choice, rehearsed
from labeler.models.embedded import embedded_name
from labeler.models.policies.limits import RateLimiter, RateLimits
from labeler.models.policies.stack import Guard, only_remembered
from labeler.models.server.client import wire_format
from labeler.models.session import Act, Control, sync
from labeler.models.settings import Api, AssessorSettings
from labeler.options import SEED, given, option
from labeler.prompt import Prompt, find_prompt, prompt_files
from labeler.report.result import Hidden, Merged, Result
from labeler.report.table import Table
from labeler.store import Store, open_store
from labeler.store.replies import secret_of
from labeler.trec.rows import LARGEST_GRADE
from labeler.wire.addresses import HIDDEN
from labeler.wire.gate import admit


@dataclass(frozen=True)
class RelabelResult(Result):
    """The new judgements, and what became of each grade of the old ones.

    `sets` are what the old judgements and the new ones say of each pair; where a part of the pairs
    was judged, of these alone.
    """

    judging: Merged[JudgeResult]
    sets: Hidden[tuple[JudgedSet, JudgedSet]] = field(repr=False)

    @cached_property
    def changes(self) -> Transitions:
        """What became of each grade."""
        return changes_of(*self.sets, texts_of_queries(self.judging.job.collection))

    def as_json(self) -> dict[str, Any]:
        """The changes, and the counts of the new judgements."""
        return {"changes": self.changes.as_json(), **super().as_json()}

    def tables(self) -> list[Table]:
        """The counts of the new judgements, and the changes."""
        return [*self.judging.tables(), *self.changes.tables()]


def arelabel(
    collection: AnyCollection,
    source: str,
    options: JudgeOptions | None = None,
    *,
    only: PartOfSet | str = "",
    control: Control | None = None,
    **settings: Any,
) -> Act[RelabelResult, JudgingPlan]:
    """Judge the pairs of the judgements `source` anew; `settings` are fields of `JudgeOptions`.

    `source` may be qrels as well, as `human`. `only` says which of its pairs are judged, as
    `PartOfSet` explains. Where no model is named, the one that made the old judgements is asked.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> first = judge(collection, model=fake_model('{"grade": 2}', "mild"), name="first")
    >>> strict = fake_model('{"reason": "no", "grade": 0}', "strict")
    >>> relabel(collection, "first", prompt="basic", model=strict, name="second").changes
    Transitions(4 of 4 moved)
    """
    opened, control = open_collection(collection), control or Control()
    part = only if isinstance(only, PartOfSet) else PartOfSet(only)
    asked = asked_again(opened, source, given(JudgeOptions, options, settings))

    def same_pairs(collection: Collection, texts: Texts) -> DerivedPairs:
        return derived_pairs(collection, source, part, texts, control.note)

    judging = judge_set(opened, same_pairs, asked, control)

    async def begin() -> RelabelResult:
        return _result(opened, source, await judging)

    return Act(begin, judging.plan)


relabel = sync(arelabel)


def _result(collection: Collection, source: str, judging: JudgeResult) -> RelabelResult:
    """The new judgements beside the old ones, each set read once."""
    names = source, judging.name
    before, after = (read_set(collection, name) for name in names)
    parents = parent_of(collection, source), parent_of(collection, judging.name)
    return RelabelResult(judging, sets_alike(parents, (before, after)))


def asked_again(collection: Collection, source: str, options: JudgeOptions) -> JudgeOptions:
    """The options with the model to ask: the one named, else the one that judged before."""
    path = collection.judgements(source)
    made_by = origin_of(path)
    is_model_set = options.model or options.base_url or os.environ.get("LABELER_MODEL")
    if is_model_set or made_by is None:
        return options
    if made_by.is_panel:
        problem = f"{source} was put together by a panel ({made_by.model}); name the model to ask"
        raise Misuse(problem, parameter="model")
    if name := embedded_name(made_by.model):
        return replace(options, model=AssessorSettings(model=name, file=str(path)))
    address, _, served = made_by.model.partition(" ")
    if HIDDEN in address:
        problem = f"the judgements were made at {address}, whose query is not kept"
        raise Misuse(f"{problem}; give the model and the whole address", parameter="base_url")
    if not served:
        return options
    # else somebody's file would say who gets the texts and the key
    server = admit(address, named_by=path)
    asked = _declared_before(made_by, server.address, served)
    return replace(options, model=replace(asked, file=str(path)))


_FORMAT = re.compile(r"(.*?)( (chat|responses|messages|ollama)-[0-9a-f]{8})?")
_BESIDE_A_PROMPT = ("top_p", "seed", "reasoning_effort", "thinking", "body", "reader")
"""What is recorded of an assessor that no prompt says, so that it was declared."""


def _declared_before(made_by: Origin, address: str, served: str) -> AssessorSettings:
    """The model that made judgements, with what was declared of it, as far as rows say that."""
    name, suffix, api = re.fullmatch(_FORMAT, served).groups("")  # type: ignore[union-attr]  # it takes any text
    beside = {n: made_by.parameters[n] for n in _BESIDE_A_PROMPT if n in made_by.parameters}
    with suppress(LabelerError):
        front = _prompt_of(made_by, None).front
        for what in ("temperature", "max_tokens"):
            if (value := made_by.parameters.get(what)) not in (None, getattr(front, what)):
                beside[what] = value
    settings = AssessorSettings(model=name, server=address, api=cast(Api, api), **beside)
    if wire_format(address, settings).identity != suffix:
        problem = f"the judgements were made by {made_by.model}, with headers or a context"
        raise Misuse(f"{problem} that no row holds; name the declared assessor", parameter="model")
    return settings


class Contradiction(NamedTuple):
    """A line whose grade is not what the stored replies give, and what they do."""

    line: int
    pair: Pair
    grade: int
    given: Outcome

    def __str__(self) -> str:
        given = self.given.status if isinstance(self.given, Failure) else str(self.given.grade)
        return f"{' '.join(self.pair)} has the grade {self.grade}, and its replies give {given}"


def unproven(
    collection: Collection, name: str, stale: Set[Pair]
) -> tuple[list[Contradiction], int]:
    """The grades of a set that its stored replies do not give, and how many they do.

    Nothing is said of a set whose prompt is another now, of `stale` pairs, whose texts are others
    now, nor of a pair to whose requests no reply is stored.
    """
    path, texts = collection.judgements(name), texts_of(collection)
    made_by = origin_of(path)
    if made_by is None or made_by.is_panel or not collection.store.exists():
        return [], 0
    lines, grades = array("q"), list[int | None]()

    def pairs() -> Iterator[Pair]:
        for line, pair, state, rest in judged_lines(path):
            if texts.has(pair):
                lines.append(line)
                grades.append(None if rest.carried or pair in stale else state.grade)
                yield pair

    with open_store(collection.store, reading=True) as store, suppress(Misuse):
        assessor = same_assessor(made_by, store, None, texts)
        inquiries = Inquiries(Pairs.of(pairs()), texts, as_shown(assessor, collection, name, texts))
        return _contradicted(inquiries, lines, grades)
    return [], 0


def _contradicted(
    inquiries: Inquiries, lines: Sequence[int], grades: Sequence[int | None]
) -> tuple[list[Contradiction], int]:
    """What stored replies say against the grades of pairs, and how many grades they give."""
    texts, assessor, seen = inquiries.texts, inquiries.assessor, ReadAtMost()
    every, wrong, proven = inquiries.pairs, list[Contradiction](), 0
    for line, grade, (pair, judged, _) in zip(lines, grades, inquiries.every(), strict=True):
        if grade is None or not isinstance(judged, Judged):
            continue
        seen.note_pair(judged, *texts.of(pair))
        if isinstance(judged.outcome, Judgement) and judged.outcome.grade == grade:
            proven += 1
        else:
            wrong.append(Contradiction(line, pair, grade, judged.outcome))
    if not wrong or not seen.is_cut or assessor.context is not None:
        return wrong, proven
    by_passages = replace(assessor, context=seen.tokens)
    return _contradicted(Inquiries(every, texts, by_passages), lines, grades)


async def areparse(
    collection: AnyCollection,
    source: str,
    name: str,
    prompt: str | None = None,
    control: Control | None = None,
) -> RelabelResult:
    """Read the stored replies behind the judgements `source` anew, as `name`; nothing is asked.

    `prompt` is that of the old judgements, where it is not found under its name any more.
    """
    opened, control = open_collection(collection), control or Control()
    texts = texts_of(opened)
    with about("source", "name"):
        path = opened.existing_judgements(check_name(source))
    every = Pairs.in_columns(read_set(opened, source).states)
    pairs = every.keep(every.among(texts.queries, texts.documents))
    made_by = origin_of(path)
    if made_by is None or not made_by.model:
        raise Misuse(f"{path} does not say which model was asked")
    job = Job(opened, name, pairs, texts, parent=Parent(source, is_reparsed=True))
    with open_store(opened.store) as store:
        assessor = same_assessor(made_by, store, prompt, texts)
        assessor = as_shown(assessor, opened, source, job.texts)
        check_free(opened, name, assessor)
        guard = Guard(RateLimiter(RateLimits(), stop=control.stop), stop=control.stop)
        tally = await judged_after_pilot(job, assessor, guard, control)
    result = JudgeResult(job, tally, guard.budget.spent)
    return _result(opened, source, result)


def _prompt_of(made_by: Origin, prompt: str | None) -> Prompt:
    """The prompt that is named, else that of the old judgements; `Misuse` where it is not found."""
    name = made_by.prompt.split("@")[0]
    if not (prompt or name in prompt_files() or Path(name).is_file()):
        raise Misuse(
            f"the judgements were made with {made_by.prompt}, a file; give its path",
            parameter="prompt",
        )
    return find_prompt(prompt or name)


def same_assessor(made_by: Origin, store: Store, prompt: str | None, texts: Texts) -> Assessor:
    """The assessor that made a set of judgements, to look its replies up with."""
    model, secret = only_remembered(made_by.model, store), secret_of(store)
    if made_by.is_panel:
        names = ", ".join(made_by.members)
        raise Misuse(f"a panel has no replies of its own; look at its members: {names}")
    current = _prompt_of(made_by, prompt)
    if current.id != made_by.prompt:
        problem = f"the judgements were made with {made_by.prompt}"
        problem += f", and {current.name} is {current.id} now; give the old file"
        raise Misuse(problem, parameter="prompt")
    if not made_by.model.startswith("similarity "):
        asked = dict(made_by.parameters)
        votes, reader = int(asked.pop("votes", 1)), str(asked.pop("reader", ""))
        return Assessor(current.read_by(reader), model, asked, secret=secret, votes=votes)
    inputs = rehearsed(Choice("similarity", ""), texts.documents.values()).inputs
    return Assessor(current, model, made_by.parameters, inputs, secret=secret)


FORMS = "disagreements, disagreements:SET,…, failures, sample:N, queries:FILE"


@dataclass(frozen=True, slots=True)
class PartOfSet:
    """Which of a set's pairs to judge; all of them where `only` is empty.

    `disagreements` are the pairs of the set of which it and people have grades that differ;
    `disagreements:A,B` those of which the set and A and B have two grades or more, not all the
    same. `failures` are the pairs without a grade. `sample:N` draws N pairs, each as likely as any;
    the same `seed` draws the same, and a larger N more beside them. `queries:FILE` takes the pairs
    of the queries whose ids a file or a list with commas names.
    """

    only: str = option(
        "",
        "Of them alone disagreements (with people), disagreements:SET,..., failures, "
        "sample:500 or queries:FILE.",
        metavar="PART",
    )
    seed: int = option(0, "Decides which pairs a sample draws.", SEED)

    def __post_init__(self) -> None:
        alone, with_more = (DISAGREEMENTS, FAILURES, ""), (DISAGREEMENTS, SAMPLE, QUERIES)
        is_alone = self.kind in alone and ":" not in self.only
        if not (self.kind in with_more if self.argument else is_alone):
            raise Misuse(f"cannot read {self.only!r:.80}; expected {FORMS}", parameter="only")
        if self.kind == SAMPLE and not count(self.argument):
            raise Misuse(
                f"expected a number of pairs, found {self.argument!r:.40}; sample:500 draws 500",
                parameter="only",
            )

    @property
    def kind(self) -> str:
        """What stands before the colon."""
        return self.only.partition(":")[0]

    @property
    def argument(self) -> str:
        """What stands after the colon."""
        return self.only.partition(":")[2]


def derived_pairs(
    collection: Collection, source: str, part: PartOfSet, texts: Texts, warn: Note
) -> DerivedPairs:
    """The pairs of a set of judgements, or of qrels as people's, that a part of it has.

    Of qrels, pairs whose query or document the collection has not are left out, and `warn` is told.
    """
    judged = _judgeable(collection, source, texts, warn)
    beside = _sets_beside(collection, source, part)
    every = Pairs.in_columns(judged.states)
    which: Which = slice(None)
    if part.kind == SAMPLE:
        # the places of pairs at random; a larger draw by the same seed holds a smaller one
        shuffled = array("q", every.order().tobytes())
        Random(part.seed).shuffle(shuffled)
        which = np.sort(np.array(shuffled[: count(part.argument)], dtype=np.int64))
    elif part.kind == FAILURES:
        which = ~judged.is_graded
    elif part.kind == DISAGREEMENTS:
        which = _differ(judged, (read_set(collection, name) for name in beside))
    elif part.kind == QUERIES:
        which = _of_queries(every, part.argument)
    pairs = every.keep(which)
    if not pairs:
        raise Misuse(f"no pair of {source} is among them: {part.only}", parameter="only")
    whole = Parent(source)
    if not part.only:
        return DerivedPairs(pairs, whole)
    seed = part.seed if part.kind == SAMPLE else None
    return DerivedPairs(pairs, Parent(source, part.only, len(pairs), len(every), seed, beside))


def _judgeable(collection: Collection, source: str, texts: Texts, warn: Note) -> JudgedSet:
    """What the set says of each pair that can be judged."""
    with about("source", "name"):
        name = check_name(source)
        if not collection.judgements(name).exists() and not collection.qrels(name).exists():
            collection.existing_judgements(name)
    judged = read_set(collection, name)
    # a negative grade of qrels says that nobody judged the pair
    asked = judged.restricted(~judged.is_graded | (judged.grade >= 0))
    is_present = Pairs.in_columns(asked.states).among(texts.queries, texts.documents)
    if not is_present.any():
        raise BadInput(
            f"{name}: no pair of which the collection has both the query and the document",
            parameter="source",
        )
    if missing := int((~is_present).sum()):
        pairs = count_of(missing, "pair is", "pairs are")
        warn(f"{name}: {pairs} left out: the collection has no such query or document")
    return asked.restricted(is_present)


def _sets_beside(collection: Collection, source: str, part: PartOfSet) -> tuple[str, ...]:
    """The sets whose grades are compared with the source's, by default people's."""
    if part.kind != DISAGREEMENTS:
        return ()
    names = tuple(dict.fromkeys(filter(None, map(str.strip, part.argument.split(",")))))
    if part.argument and (not names or source in names):
        raise Misuse(f"expected the names of other sets than {source}", parameter="only")
    with about("only", "name"):
        for name in names:
            if not collection.judgements(check_name(name)).exists():
                collection.existing_qrels(name)
    if names:
        return names
    human = human_beside(collection, source)
    if human is None:
        problem = f"{collection.folder} has no human qrels beside {source}"
        raise Misuse(f"{problem}; name the sets: disagreements:A,B", parameter="only")
    return (human,)


def _differ(judged: JudgedSet, others: Iterable[JudgedSet]) -> Flags:
    """Of which pairs the sets that have a grade do not all have the same; a failure is none."""
    low = np.where(judged.is_graded, judged.grade, LARGEST_GRADE)
    high = np.where(judged.is_graded, judged.grade, -1)
    for other in others:
        grade = judged.states.beside(other.grades, -1)
        low = np.where(grade >= 0, np.minimum(low, grade), low)
        high = np.maximum(high, grade)
    return low < high


def _of_queries(pairs: Pairs, named: str) -> Flags:
    origins = parse_ids(named, "only") or {}
    present = {pairs.queries[number] for number in np.unique(pairs.query).tolist()}
    for query_id, origin in origins.items():
        if query_id not in present:
            where = f"{origin}: " if origin else ""
            problem = f"{where}no pair is of the query {query_id!r:.80}"
            problem += "" if origin else ", and no file is called so"
            raise BadInput(problem, parameter="" if origin else "only")
    return np.array([id_ in origins for id_ in pairs.queries], dtype=np.bool_)[pairs.query]
