"""Sets of judgements that are made of others: their members, a panel of them, how one is kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler import __version__
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judgements import (
    JudgementLines,
    Origin,
    origin_of,
    read_judgements,
    replacing_set,
)
from labeler.collection.layout import Collection, Note, locked
from labeler.collection.readme import write_readme
from labeler.collection.user_files import Output
from labeler.collection.whose import check_model_name, made_by, shown_in
from labeler.data import FAILURES, Failure, Judged, Judgement, Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.files.atomic import replacing
from labeler.lab.panel_rules import (
    PANEL_RULES,
    PanelGrades,
    Shares,
    Votes,
    check_rule,
    combine,
    disagreement,
    votes_of,
)
from labeler.messages import count_of
from labeler.options import COUNT, SEED, check_options, option
from labeler.trec.qrels import read_qrels
from labeler.trec.write import write_qrels

PANEL = "Panel"
JSON_LINES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class PanelOptions:
    """The rule, one of `PANEL_RULES`, and how many members must have a grade of a pair.

    Without `fewest` these are more than half of the members. `seed` decides ties that nothing else
    does. `scale` holds the grades; without one it is 0 to 3, or the range of the members' grades.
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
    scale: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_options(self)

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
    """An assessor's grades, the statuses of its failures, its distributions, and what made them.

    `shown` is what the rows of its pairs say that was shown.
    """

    name: str
    grades: Mapping[Pair, int]
    failures: Mapping[Pair, str] = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)
    made_by: Mapping[str, Any] = field(default_factory=dict)
    shown: Mapping[Pair, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The first 16 hex digits of the SHA-256 of its grades and failures."""
        rows = sorted([*self.grades.items(), *self.failures.items()])
        text = "".join(f"{pair.query_id}\0{pair.doc_id}\0{value}\n" for pair, value in rows)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def origin(self) -> dict[str, Any]:
        """What made its grades, and their digest."""
        return {**self.made_by, "digest": self.digest}


def read_member(collection: Collection, name: str) -> Member:
    """A set of a collection's judgements as a member; of qrels alone, the grades of 0 and more."""
    path, models = collection.judgements(name), list(made_by(collection, name).models)
    if not path.exists():
        qrels = read_qrels(collection.existing_qrels(name))
        grades = {Pair(q, d): g for q, row in qrels.items() for d, g in row.items() if g >= 0}
        return Member(name, grades, made_by={"models": models})
    rows = list(read_judgements(path))
    outcomes = [row.judged.outcome for row in rows]
    judged = [outcome for outcome in outcomes if isinstance(outcome, Judgement)]
    origin = {"prompt": rows[-1].origin.prompt, "asked": rows[-1].origin.model} if rows else {}
    return Member(
        name,
        {each.pair: each.grade for each in judged},
        {each.pair: each.status for each in outcomes if isinstance(each, Failure)},
        {each.pair: each.distribution for each in judged if each.distribution},
        {**origin, "models": models},
        dict(shown_in(path)),
    )


class MadeRow(NamedTuple):
    """A row of a set that is made of others: how it was judged, and what it says beside."""

    judged: Judged
    says: Mapping[str, Any]


class MadeSet(NamedTuple):
    """A set of judgements that is made of other sets: its rows, and what made them.

    `members` say by name what made each of them, `served` are the models that they asked, and
    `scale_of` are those whose scale it has, where they have one.
    """

    origin: Origin
    rows: Sequence[MadeRow]
    members: Mapping[str, Mapping[str, Any]]
    served: Sequence[str]
    scale_of: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The lines of a file of judgements."""
        lines = JudgementLines(self.origin)
        return (f"{lines.line(row.judged, panel=row.says)}\n" for row in self.rows)


def check_made_name(collection: Collection, name: str, rule: str, members: Sequence[str]) -> None:
    """Raise `Misuse` where `name` is a member's, or holds what something else made."""
    check_model_name(name)
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
    outcomes = [row.judged.outcome for row in made.rows]
    statuses = Counter(each.status for each in outcomes if isinstance(each, Failure))
    with locked(collection, note):
        check_made_name(collection, name, origin.parameters["rule"], list(origin.members))
        with replacing_set(path, qrels) as out:
            out.writelines(made.lines())
        judge = card_section(read_card(collection), "judge")
        scales = [card_section(card_section(judge, each), "scale") for each in made.scale_of]
        named = [scale for scale in scales if scale]
        entry = {
            "labeler": __version__,
            "prompt": origin.model,
            "model": origin.model,
            "served": list(made.served),
            "parameters": dict(origin.parameters),
            "members": {member: dict(by) for member, by in made.members.items()},
            "scale": named[0] if named and all(scale == named[0] for scale in named) else {},
            "pairs": len(outcomes),
            "judged": len(outcomes) - statuses.total(),
            "failed": statuses.total(),
            "failures": dict(sorted(statuses.items())),
        }
        update_card_entry(collection, "judge", name, entry | more)
        write_readme(collection)


# What a panel makes of its members' grades, pair by pair.


@dataclass(frozen=True, eq=False)
class PanelSet:
    """What a panel makes of its members' grades: a row for each pair, in the pairs' order.

    `votes` and `grades` are of the pairs that have a grade; `left_out` counts those that too few
    members were asked about.
    """

    members: tuple[Member, ...]
    options: PanelOptions
    fewest: int
    votes: Votes
    grades: PanelGrades
    rows: tuple[MadeRow, ...]
    left_out: int

    @property
    def judged(self) -> int:
        """How many pairs have a grade."""
        return len(self.votes.pairs)

    @property
    def failed(self) -> int:
        """How many pairs have none, for too few members have one."""
        return len(self.rows) - self.judged

    @property
    def qrels(self) -> Qrels:
        """The panel's grades."""
        qrels: dict[str, dict[str, int]] = {}
        for outcome in (row.judged.outcome for row in self.rows):
            if isinstance(outcome, Judgement):
                qrels.setdefault(outcome.pair.query_id, {})[outcome.pair.doc_id] = outcome.grade
        return qrels

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
        return MadeSet(origin, self.rows, made_by, _models(self.members), list(members))


def _models(members: Sequence[Member]) -> list[str]:
    """The models that members asked, each once."""
    return sorted({model for m in members for model in m.made_by.get("models", ())})


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
    votes = votes_of(
        {member.name: member.grades for member in members},
        options.scale,
        {member.name: member.shares for member in members},
    )
    votes = votes.of(votes.graded.sum(axis=1) >= fewest)
    grades = combine(votes, options.rule, options.seed)
    outcomes = {each.pair: each for each in _judgements(members, votes, grades, options.rule)}
    apart = dict(zip(votes.pairs, disagreement(votes).tolist(), strict=True))
    held = Counter(pair for m in members for pair in {*m.grades, *m.failures})
    rows, models = [], ", ".join(_models(members))
    for pair in sorted(pair for pair, n in held.items() if n >= fewest or pair in outcomes):
        answers = _answers(members, pair)
        outcome = outcomes.get(pair) or _failure(pair, answers, fewest)
        shown = next(filter(None, (member.shown.get(pair) for member in members)), "")
        far = apart.get(pair, np.nan)
        says = {"members": answers, "disagreement": None if np.isnan(far) else round(far, 6)}
        rows.append(MadeRow(Judged(outcome, cost=0.0, model=models, shown=shown), says))
    if not rows:
        raise BadInput("no pair has the grades of so many members; do they judge the same pairs?")
    left_out = len(held) - len(rows)
    return PanelSet(tuple(members), options, fewest, votes, grades, tuple(rows), left_out)


def _judgements(
    members: Sequence[Member], votes: Votes, grades: PanelGrades, rule: str
) -> Iterator[Judgement]:
    """The panel's grade of each pair that has one, and from which grades it comes."""
    columns = zip(votes.pairs, grades.values.tolist(), grades.shares.tolist(), strict=True)
    for pair, value, shares in columns:
        given = _answers(members, pair).items()
        reason = ", ".join(f"{name} {grade}" for name, grade in given if grade is not None)
        each = zip(votes.grades, shares, strict=True)
        distribution = {grade: round(share, 6) for grade, share in each}
        yield Judgement(pair, votes.grades[value], f"{rule} of {reason}", distribution)


def _failure(pair: Pair, answers: Mapping[str, int | str | None], fewest: int) -> Failure:
    failed = {name: each for name, each in answers.items() if isinstance(each, str)}
    statuses = Counter(failed.values())
    status = max(FAILURES, key=lambda name: statuses[name])
    graded = sum(isinstance(grade, int) for grade in answers.values())
    have = count_of(graded, "member has", "members have")
    statuses_by_name = ", ".join(f"{name} {each}" for name, each in failed.items())
    return Failure(pair, status, f"{have} a grade, and {fewest} are needed: {statuses_by_name}")


def _answers(members: Sequence[Member], pair: Pair) -> dict[str, int | str | None]:
    """A grade or the status of a failure by each member, `None` where it lacks the pair."""
    return {m.name: m.grades.get(pair, m.failures.get(pair)) for m in members}


def save_panel(panel: PanelSet, output: Output | Path) -> None:
    """Write a panel to a file: grades alone as qrels, or judgements, where it is called .jsonl."""
    to = Output.of(output)
    with to.writing():
        if to.path.name.endswith(JSON_LINES):
            with replacing(to.path) as out:
                out.writelines(panel.made.lines())
        else:
            write_qrels(to.path, panel.qrels)
