"""Sets of judgements that are made of others: their members, a panel of them, how one is kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from labeler import __version__
from labeler.agreement.align import GradeMatrix, parse_scale
from labeler.arrays import Integers, Places
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judged_set import JudgedSet, judged_in
from labeler.collection.judgements import (
    JudgementLines,
    Origin,
    origin_of,
    replacing_set,
)
from labeler.collection.layout import Collection, check_set_name, locked
from labeler.collection.readme import write_readme
from labeler.collection.whose import made_by
from labeler.data import FAILURES, JUDGED, Failure, Judged, Judgement, Outcome, Pair, state_of
from labeler.errors import BadInput, Misuse
from labeler.lab.panel_rules import (
    PANEL_RULES,
    check_rule,
    combine,
    votes_of,
)
from labeler.messages import Note, count_of
from labeler.options import COUNT, SEED, Options, option
from labeler.trec.columns import plain_values
from labeler.trec.pairs import NONE, PairColumns, joined_pairs
from labeler.trec.qrels import read_qrels

PANEL = "Panel"


@dataclass(frozen=True)
class PanelOptions(Options):
    """The rule, one of `PANEL_RULES`, and how many members must have a grade of a pair.

    Without `fewest` these are more than half of the members. `seed` decides ties that nothing else
    does. `scale` holds the grades; without one it is 0 to 3, or the range of the members' grades.
    `statistic` compares panel and people, with intervals of so many `draws`.
    """

    rule: str = option(
        "median",
        "How the grades of a pair become one; ties lean to neither side.",
        metavar=" | ".join(PANEL_RULES),
        panel=PANEL,
    )
    fewest: int | None = option(
        None,
        "Members that must have a grade of a pair; else more than half.",
        COUNT,
        panel=PANEL,
    )
    seed: int = option(0, "Of ties, and of the intervals.", SEED)
    scale: tuple[int, ...] | None = option(
        None,
        "The grades, as LOW:HIGH; else 0:3, or those that occur.",
        metavar="LOW:HIGH",
        rare=True,
        read=parse_scale,
    )
    statistic: str = option("kappa", "By which statistic.", flags="-s --statistic")
    draws: int | None = None

    def needed(self, members: int) -> int:
        """How many members must have a grade of a pair; `Misuse` of a panel that cannot be."""
        if members < 2:
            raise Misuse("a panel takes two members or more", parameter="panel")
        check_rule(self.rule)
        fewest = members // 2 + 1 if self.fewest is None else self.fewest
        if fewest > members:
            problem = f"expected 1 to {members}, as many as there are members; found {fewest}"
            raise Misuse(problem, parameter="fewest")
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
        documents = [f"{doc_id}\0" for doc_id in states.documents]
        labels, code = states.coded
        values = [f"{label}\n" for label in labels]
        for query_id, (first, last) in zip(states.queries, pairwise(states.edges), strict=True):
            rows = zip(states.document[first:last].tolist(), code[first:last].tolist(), strict=True)
            text = "".join(f"{query_id}\0{documents[at]}{values[of]}" for at, of in rows)
            digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]

    @property
    def origin(self) -> dict[str, Any]:
        """What made its grades, and their digest."""
        return {**self.made_by, "digest": self.digest}


def read_member(collection: Collection, name: str) -> Member:
    """A set of a collection's judgements as a member; of qrels alone, the grades of 0 and more."""
    path, models = collection.judgements(name), list(made_by(collection, name).models)
    if not path.exists():
        judged = JudgedSet.of_grades(read_qrels(collection.existing_qrels(name)))
        return Member(name, judged.restricted(judged.grade >= 0), {"models": models})
    judged = judged_in(path, shares=True)
    of = judged.origin
    origin = {"prompt": of.prompt, "asked": of.model} if of is not None else {}
    return Member(name, judged, {**origin, "models": models})


class MadeRow(NamedTuple):
    """A row of a set that is made of others: how it was judged, and what it says beside."""

    judged: Judged
    says: Mapping[str, Any]


class MadeSet(NamedTuple):
    """A set of judgements that is made of other sets: its rows, and what made them.

    `rows` gives them from the first on whenever it is called. `members` say by name what made each
    of them, `served` are the models that they asked, and `scale_of` are those whose scale it has,
    where they have one.
    """

    origin: Origin
    rows: Callable[[], Iterator[MadeRow]]
    members: Mapping[str, Mapping[str, Any]]
    served: Sequence[str]
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
    path, qrels, origin = collection.judgements(name), collection.qrels(name), made.origin
    with locked(collection, note):
        check_made_name(collection, name, origin.parameters["rule"], list(origin.members))
        with replacing_set(path, qrels) as out:
            lines, failures = JudgementLines(origin), Counter[str]()
            for row in made.rows():
                out.add(lines.line(row.judged, panel=row.says), row.judged.outcome)
                failures[state_of(row.judged.outcome).status] += 1
        judged = failures.pop(JUDGED, 0)
        judge = card_section(read_card(collection), "judge")
        scales = [card_section(judge, each, "scale") for each in made.scale_of]
        named = [scale for scale in scales if scale]
        entry = {
            "labeler": __version__,
            "prompt": origin.model,
            "model": origin.model,
            "served": list(made.served),
            "parameters": dict(origin.parameters),
            "members": {member: dict(by) for member, by in made.members.items()},
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
        is_judged = self._judged_rows != NONE
        answers = map(self._answers, np.flatnonzero(~is_judged).tolist())
        return Counter(_status(each) for each in answers)

    @property
    def title(self) -> str:
        """What the panel is called: its rule and its members."""
        return f"{self.options.rule} of {', '.join(member.name for member in self.members)}"

    @property
    def made(self) -> MadeSet:
        """The set that it is: its rule, and each member with the digest of its grades."""
        members = {member.name: member.digest for member in self.members}
        rule = {"rule": self.options.rule, "fewest": self.fewest, "seed": self.options.seed}
        origin = Origin("", self.title, {**rule, "members": members})
        made_by = {member.name: member.origin for member in self.members}
        return MadeSet(origin, self.made_rows, made_by, self._models, list(members))

    @property
    def _models(self) -> list[str]:
        """The models that members asked, each once."""
        return sorted({model for m in self.members for model in m.made_by.get("models", ())})

    @cached_property
    def _judged_rows(self) -> Places:
        """The row among `votes` of each pair; -1 where it has no grade."""
        return self.pairs.rows_in(self.votes.pairs)

    def made_rows(self) -> Iterator[MadeRow]:
        """The row of each pair, made one by one."""
        models, grades = ", ".join(self._models), self.votes.grades
        # the pairs with a grade are in the order of all pairs
        each = (plain_values(votes.mean_shares) for votes in self.votes.blocks())
        mean_shares = chain.from_iterable(each)
        at = zip(self.pairs.pairs(), plain_values(self._judged_rows), strict=True)
        for row, (pair, vote) in enumerate(at):
            answers = self._answers(row)
            outcome: Outcome = _failure(pair, answers, self.fewest)
            if vote != NONE:
                given = (f"{name} {each}" for name, each in answers.items() if each is not None)
                reason = f"{self.options.rule} of {', '.join(given)}"
                of_grades = zip(grades, next(mean_shares), strict=True)
                shares = {grade: round(share, 6) for grade, share in of_grades}
                outcome = Judgement(pair, grades[int(self.values[vote])], reason, shares)
            judged = Judged(outcome, cost=0.0, model=models, shown=self._shown(row))
            yield MadeRow(judged, {"members": answers})

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


def panel_of(members: Sequence[Member], options: PanelOptions | None = None) -> PanelSet:
    """One grade for each pair from several members' grades.

    A member without a grade is left out of that pair. A pair of which fewer than `fewest` members
    have a grade is a failure, by the status that most of its members failed with.
    """
    options = options or PanelOptions()
    names = [member.name for member in members]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Misuse(f"{twice[0]} is named twice; each member once, please")
    fewest = options.needed(len(members))
    votes = votes_of({each.name: each.judged for each in members}, options.scale, fewest)
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


def _failure(pair: Pair, answers: Mapping[str, int | str | None], fewest: int) -> Failure:
    graded = sum(isinstance(grade, int) for grade in answers.values())
    have = count_of(graded, "member has", "members have")
    failed = ", ".join(f"{name} {each}" for name, each in answers.items() if isinstance(each, str))
    return Failure(pair, _status(answers), f"{have} a grade, and {fewest} are needed: {failed}")


def _status(answers: Mapping[str, int | str | None]) -> str:
    """The status that most members failed with."""
    statuses = Counter(answers.values())
    return max(FAILURES, key=lambda name: statuses[name])
