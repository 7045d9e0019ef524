"""Sets of judgements that are made of others: their members, a panel of them, how one is kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from labeler import __version__
from labeler.agreement.align import GradeMatrix, check_named_once
from labeler.arrays import Integers, Places
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judged_set import JudgedSet, read_set
from labeler.collection.judgements import JudgementLines, Origin, origin_of, replacing_set
from labeler.collection.layout import Collection, check_set_name, locked
from labeler.collection.readme import write_readme
from labeler.collection.whose import made_by
from labeler.data import FAILURES, JUDGED, Failure, Judged, Judgement, Outcome, state_of
from labeler.errors import BadInput, Misuse
from labeler.lab.panel_rules import Rule, combine, votes_of
from labeler.messages import Note, count_of
from labeler.options import COUNT, SEED, Options, option
from labeler.trec.columns import plain_values
from labeler.trec.pairs import NONE, PairColumns, joined_pairs


@dataclass(frozen=True)
class PanelOptions(Options):
    """The rule, and how many members must have a grade of a pair.

    Without `fewest` these are more than half of the members. `seed` decides ties that nothing else
    does.
    """

    rule: Rule = option("median", "How the grades of a pair become one; ties lean to neither side.")
    fewest: int | None = option(
        None, "Members that must have a grade of a pair; else more than half.", COUNT
    )
    seed: int = option(0, "Of ties, and of the intervals.", SEED)

    def needed(self, members: int) -> int:
        """How many members must have a grade of a pair; `Misuse` of a panel that cannot be."""
        if members < 2:
            raise Misuse("a panel takes two members or more", parameter="panel")
        fewest = members // 2 + 1 if self.fewest is None else self.fewest
        if fewest > members:
            raise Misuse(
                f"expected 1 to {members}, as many as there are members; found {fewest}",
                parameter="fewest",
            )
        return fewest


@dataclass(frozen=True, eq=False)
class Member:
    """An assessor's set of judgements, under its name, and what made it."""

    name: str
    judged: JudgedSet
    made_by: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """The first 16 hex digits of the SHA-256 of its grades and failures."""
        states, digest = self.judged.states.by_id(), hashlib.sha256()
        labels, code = states.coded
        for query_id, row in states.holding(code, tuple(map(str, labels))).items():
            text = "".join(f"{query_id}\0{doc_id}\0{answer}\n" for doc_id, answer in row.items())
            digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]

    @property
    def origin(self) -> dict[str, Any]:
        """What made its grades, and their digest."""
        return {**self.made_by, "digest": self.digest}


def read_member(collection: Collection, name: str) -> Member:
    """A set of a collection's judgements as a member; of qrels alone, the grades of 0 and more."""
    judged, models = read_set(collection, name, shares=True), made_by(collection, name).models
    if not collection.judgements(name).exists():
        judged = judged.restricted(judged.grade >= 0)
    origin = {"prompt": of.prompt, "asked": of.model} if (of := judged.origin) else {}
    return Member(name, judged, {**origin, "models": list(models)})


def models_of(members: Iterable[Member]) -> list[str]:
    """The models that members asked, each once."""
    return sorted({model for each in members for model in each.made_by.get("models", ())})


class MadeSet(NamedTuple):
    """A set of judgements that is made of other sets.

    `parameters` say by which rule, and how. `rows` are how each pair was judged, and what its line
    says beside. It has the scale of the members `scale_of`, where they have one.
    """

    title: str
    parameters: Mapping[str, Any]
    members: Sequence[Member]
    rows: Iterator[tuple[Judged, Mapping[str, Any]]]
    scale_of: Sequence[str]


def check_made_name(collection: Collection, name: str, rule: str, members: Sequence[str]) -> None:
    """Raise `Misuse` where `name` is a member's, or holds what something else made."""
    check_set_name(name)
    if name in members:
        problem = f"{name} is a member of the panel; give the panel another name"
        raise Misuse(problem, parameter="name")
    path = collection.judgements(name)
    earlier = origin_of(path)
    if earlier is None:
        if collection.qrels(name).exists():
            problem = f"{collection.qrels(name)} holds grades from elsewhere; give another name"
            raise Misuse(problem, parameter="name")
    elif (earlier.parameters.get("rule"), list(earlier.members)) != (rule, [*members]):
        made = f"made by {earlier.model}" if earlier.model else "made otherwise"
        raise Misuse(f"{path} was {made}; give another name", parameter="name")


def write_made(
    collection: Collection,
    name: str,
    made: MadeSet,
    note: Note = lambda _line: None,
    **more: object,
) -> None:
    """Write `judgements/NAME.jsonl` and `qrels/NAME.qrels`; the card names rule and members."""
    path, qrels = collection.judgements(name), collection.qrels(name)
    digests = {member.name: member.digest for member in made.members}
    origin = Origin("", made.title, {**made.parameters, "members": digests})
    with locked(collection, note):
        check_made_name(collection, name, made.parameters["rule"], list(digests))
        with replacing_set(path, qrels) as out:
            lines, failures = JudgementLines(origin), Counter[str]()
            for row, says in made.rows:
                out.add(lines.line(row, panel=says), row.outcome)
                failures[state_of(row.outcome).status] += 1
        judged = failures.pop(JUDGED, 0)
        judge = card_section(read_card(collection), "judge")
        named = [s for each in made.scale_of if (s := card_section(judge, each, "scale"))]
        entry = {
            "labeler": __version__,
            "prompt": made.title,
            "model": made.title,
            "served": models_of(made.members),
            "parameters": dict(origin.parameters),
            "members": {member.name: member.origin for member in made.members},
            "scale": named[0] if named and all(scale == named[0] for scale in named) else {},
            "pairs": judged + failures.total(),
            "judged": judged,
            "failed": failures.total(),
            "failures": dict(sorted(failures.items())),
        }
        update_card_entry(collection, "judge", name, entry | more)
        write_readme(collection)


# What a panel makes of its members' grades, pair by pair.


@dataclass(frozen=True, eq=False)
class PanelSet:
    """What a panel makes of its members' grades of `pairs`, which are in the order of their ids.

    `rows`, `(pairs, members)`, are the pairs' rows in each member's set, -1 where it has none.
    `votes` and `values`, the places of the panel's grades in the scale, are of the pairs that have
    a grade; `left_out` counts those that too few members were asked about.
    """

    members: Sequence[Member]
    options: PanelOptions
    fewest: int
    pairs: PairColumns[Any]
    rows: Places
    votes: GradeMatrix
    values: Integers
    left_out: int

    def __len__(self) -> int:
        return self.pairs.size

    @property
    def judged(self) -> int:
        """How many pairs have a grade."""
        return len(self.values)

    @property
    def failed(self) -> int:
        """How many pairs have none, for too few members have one."""
        return len(self) - self.judged

    @property
    def qrels(self) -> PairColumns[int]:
        """The panel's grades."""
        return self.votes.pairs.holding(np.array(self.votes.grades)[self.values])

    @property
    def failures(self) -> Counter[str]:
        """How many pairs failed with each status."""
        answers = map(self._answers, np.flatnonzero(self._judged_rows == NONE).tolist())
        return Counter(_status(each) for each in answers)

    @property
    def made(self) -> MadeSet:
        """The set that it is."""
        rule = {"rule": self.options.rule, "fewest": self.fewest, "seed": self.options.seed}
        names = [member.name for member in self.members]
        title = f"{self.options.rule} of {', '.join(names)}"
        return MadeSet(title, rule, self.members, self.made_rows(), names)

    @cached_property
    def _judged_rows(self) -> Places:
        """The row among `votes` of each pair; -1 where it has no grade."""
        return self.pairs.rows_in(self.votes.pairs)

    def made_rows(self) -> Iterator[tuple[Judged, Mapping[str, Any]]]:
        """How each pair was judged, and what each member says, made one by one."""
        models, grades = ", ".join(models_of(self.members)), self.votes.grades
        # the pairs with a grade are in the order of all pairs
        each = (plain_values(votes.mean_shares) for votes in self.votes.blocks())
        mean_shares = chain.from_iterable(each)
        at = zip(self.pairs.pairs(), plain_values(self._judged_rows), strict=True)
        for row, (pair, vote) in enumerate(at):
            answers = self._answers(row)
            outcome: Outcome
            if vote == NONE:
                graded = sum(isinstance(answer, int) for answer in answers.values())
                have = count_of(graded, "member has", "members have")
                given = (f"{name} {each}" for name, each in answers.items() if type(each) is str)
                needed = f"{have} a grade, and {self.fewest} are needed: {', '.join(given)}"
                outcome = Failure(pair, _status(answers), needed)
            else:
                given = (f"{name} {each}" for name, each in answers.items() if each is not None)
                reason = f"{self.options.rule} of {', '.join(given)}"
                of_grades = zip(grades, next(mean_shares), strict=True)
                shares = {grade: round(share, 6) for grade, share in of_grades}
                outcome = Judgement(pair, grades[int(self.values[vote])], reason, shares)
            judged = Judged(outcome, cost=0.0, model=models, shown=self._shown(row))
            yield judged, {"members": answers}

    def _answers(self, row: int) -> dict[str, int | str | None]:
        """A grade or the status of a failure by each member, None where it lacks the pair."""
        at = zip(self.members, self.rows[row].tolist(), strict=True)
        return {member.name: member.judged.answer(of) for member, of in at}

    def _shown(self, row: int) -> str:
        """What the first member that says it was shown."""
        at = zip(self.members, self.rows[row].tolist(), strict=True)
        return next(
            filter(None, (member.judged.shown_to(of) for member, of in at if of != NONE)), ""
        )


def panel_of(
    members: Sequence[Member],
    options: PanelOptions | None = None,
    scale: Sequence[int] | None = None,
) -> PanelSet:
    """One grade for each pair from several members' grades.

    Without a `scale` it is 0 to 3, or the range of their grades.
    A member without a grade is left out of that pair. A pair of which fewer than `fewest` members
    have a grade is a failure, by the status that most of its members failed with.
    """
    options = options or PanelOptions()
    check_named_once([member.name for member in members])
    fewest = options.needed(len(members))
    votes = votes_of({each.name: each.judged for each in members}, scale, fewest)
    joined = joined_pairs([each.judged.states for each in members])
    rows = joined.by_id((joined.row != NONE).sum(axis=1) >= fewest)
    if not len(rows):
        raise BadInput("no pair has the grades of so many members; do they judge the same pairs?")
    return PanelSet(
        tuple(members),
        options,
        fewest,
        joined.columns(rows),
        joined.row[rows],
        votes,
        combine(votes, options.rule, options.seed),
        len(joined.row) - len(rows),
    )


def _status(answers: Mapping[str, int | str | None]) -> str:
    """The status that most members failed with."""
    statuses = Counter(answers.values())
    return max(FAILURES, key=lambda name: statuses[name])
