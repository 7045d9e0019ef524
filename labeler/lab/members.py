"""Who sits on a panel, and what the panel makes of their grades, pair by pair."""

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
from labeler.collection.layout import Collection, safe_name
from labeler.collection.lock import Note, locked
from labeler.collection.readme import write_readme
from labeler.collection.stale import shown_in
from labeler.collection.user_files import Output
from labeler.collection.whose import check_model_name, made_by
from labeler.data import FAILURES, Failure, Judged, Judgement, Outcome, Pair
from labeler.errors import BadInput, Misuse
from labeler.files.atomic import replacing
from labeler.files.boundary import count
from labeler.lab.panel_rules import (
    PANEL_RULES,
    PanelGrades,
    Shares,
    Votes,
    combine,
    disagreement,
    find_rule,
    votes_of,
)
from labeler.messages import count_of
from labeler.options import COUNT, SEED, check_options, option
from labeler.trec.qrels import read_qrels
from labeler.trec.write import write_qrels

PANEL = "Panel"


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


class PanelRow(NamedTuple):
    """A pair's grade or failure, what each member says of it, and how far two members lie apart.

    `members` holds a grade, the status of a failure, or `None` of a pair that a member lacks.
    """

    outcome: Outcome
    members: Mapping[str, int | str | None]
    disagreement: float | None


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
    rows: tuple[PanelRow, ...]
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
    def qrels(self) -> dict[str, dict[str, int]]:
        """The panel's grades."""
        qrels: dict[str, dict[str, int]] = {}
        for row in self.rows:
            if isinstance(row.outcome, Judgement):
                pair = row.outcome.pair
                qrels.setdefault(pair.query_id, {})[pair.doc_id] = row.outcome.grade
        return qrels

    @property
    def origin(self) -> Origin:
        """What made the panel's grades: the rule, and each member with the digest of its grades."""
        members = {member.name: member.digest for member in self.members}
        rule = {"rule": self.options.rule, "fewest": self.fewest, "seed": self.options.seed}
        return Origin("", self.title, {**rule, "members": members})

    @property
    def title(self) -> str:
        """What the panel is called: its rule and its members."""
        return f"{self.options.rule} of {', '.join(member.name for member in self.members)}"

    @property
    def models(self) -> list[str]:
        """The models that its members asked, each once."""
        return sorted({model for m in self.members for model in m.made_by.get("models", ())})


def panel_of(members: Sequence[Member], options: PanelOptions | None = None) -> PanelSet:
    """One grade for each pair from several members' grades.

    A member without a grade is left out of that pair. A pair of which fewer than `fewest` members
    have a grade is a failure, by the status that most of its members failed with.
    """
    options = options or PanelOptions()
    fewest = check_members(members, options)
    votes = votes_of(
        {member.name: member.grades for member in members},
        options.scale,
        {member.name: member.shares for member in members},
    )
    votes = votes.of(votes.graded.sum(axis=1) >= fewest)
    grades = combine(votes, options.rule, options.seed)
    graded = set(votes.pairs)
    held = Counter(pair for m in members for pair in {*m.grades, *m.failures})
    without = [pair for pair, n in held.items() if n >= fewest and pair not in graded]
    rows = [
        *_graded_rows(members, votes, grades, options.rule),
        *_failures(members, without, fewest),
    ]
    if not rows:
        raise BadInput("no pair has the grades of so many members; do they judge the same pairs?")
    rows.sort(key=lambda row: row.outcome.pair)
    left_out = len(held) - len(rows)
    return PanelSet(tuple(members), options, fewest, votes, grades, tuple(rows), left_out)


def check_members(members: Sequence[Member], options: PanelOptions) -> int:
    """How many members must have a grade of a pair; `Misuse` of a panel that cannot be."""
    names = [member.name for member in members]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Misuse(f"{twice[0]} is named twice; each member once, please")
    if len(members) < 2:
        raise Misuse("a panel takes two members or more")
    find_rule(options.rule, len(members))
    fewest = len(members) // 2 + 1 if options.fewest is None else options.fewest
    if not count(fewest) or not 1 <= fewest <= len(members):
        problem = f"expected 1 to {len(members)}, as many as there are members; found {fewest}"
        raise Misuse(problem, parameter="fewest")
    return fewest


def _graded_rows(
    members: Sequence[Member], votes: Votes, grades: PanelGrades, rule: str
) -> list[PanelRow]:
    rows, apart = [], disagreement(votes)
    for number, pair in enumerate(votes.pairs):
        answers = _answers(members, pair)
        reason = ", ".join(
            f"{name} {grade}" for name, grade in answers.items() if grade is not None
        )
        shares = zip(votes.grades, grades.shares[number].tolist(), strict=True)
        distribution = {grade: round(share, 6) for grade, share in shares}
        grade = votes.grades[int(grades.values[number])]
        outcome = Judgement(pair, grade, f"{rule} of {reason}", distribution)
        far = float(apart[number])
        rows.append(PanelRow(outcome, answers, None if np.isnan(far) else round(far, 6)))
    return rows


def _failures(members: Sequence[Member], pairs: Sequence[Pair], fewest: int) -> list[PanelRow]:
    rows = []
    for pair in pairs:
        answers = _answers(members, pair)
        statuses = Counter(status for status in answers.values() if isinstance(status, str))
        status = max(FAILURES, key=lambda name: statuses[name])
        graded = sum(isinstance(grade, int) for grade in answers.values())
        have = count_of(graded, "member has", "members have")
        failed = ", ".join(f"{name} {x}" for name, x in answers.items() if isinstance(x, str))
        detail = f"{have} a grade, and {fewest} are needed: {failed}"
        rows.append(PanelRow(Failure(pair, status, detail), answers, None))
    return rows


def _answers(members: Sequence[Member], pair: Pair) -> dict[str, int | str | None]:
    return {m.name: m.grades.get(pair, m.failures.get(pair)) for m in members}


def read_member(collection: Collection, name: str) -> Member:
    """A set of a collection's judgements as a member; of qrels alone, the grades of 0 and more."""
    path = collection.judgements(name)
    models = list(made_by(collection, name).models)
    if not path.exists():
        qrels = read_qrels(collection.existing_qrels(name))
        grades = {Pair(q, d): g for q, row in qrels.items() for d, g in row.items() if g >= 0}
        return Member(name, grades, made_by={"models": models})
    grades, failures, shares = dict[Pair, int](), dict[Pair, str](), {}
    origin = None
    for row in read_judgements(path):
        outcome, origin = row.judged.outcome, row.origin
        if isinstance(outcome, Failure):
            failures[outcome.pair] = outcome.status
            continue
        grades[outcome.pair] = outcome.grade
        if outcome.distribution:
            shares[outcome.pair] = outcome.distribution
    made = {"prompt": origin.prompt, "asked": origin.model} if origin else {}
    shown = dict(shown_in(path))
    return Member(name, grades, failures, shares, {**made, "models": models}, shown)


# Write a panel's grades: as a set of judgements of a collection, or as a file.

JSON_LINES = (".jsonl", ".jsonl.gz")


def default_panel_name(rule: str) -> str:
    """The name that a panel's judgements get when none is given."""
    return safe_name(f"panel-{rule}")


def check_panel_name(collection: Collection, name: str, rule: str, members: list[str]) -> None:
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
        return
    before = earlier.parameters.get("rule"), list(earlier.members)
    if not earlier.is_panel or before != (rule, members):
        made = f"made by {earlier.model}" if earlier.model else "made otherwise"
        raise Misuse(f"{path} was {made}; give another name", parameter="name")


def write_panel(
    collection: Collection, name: str, panel: PanelSet, note: Note = lambda _line: None
) -> None:
    """Write `judgements/NAME.jsonl` and `qrels/NAME.qrels`; the card names rule and members."""
    path, qrels = collection.judgements(name), collection.qrels(name)
    members = [member.name for member in panel.members]
    with locked(collection, note):
        check_panel_name(collection, name, panel.options.rule, members)
        with replacing_set(path, qrels) as out:
            out.writelines(f"{line}\n" for line in panel_lines(panel))
        update_card_entry(collection, "judge", name, _card_entry(collection, panel))
        write_readme(collection)


def panel_lines(panel: PanelSet) -> Iterator[str]:
    """The rows as lines of a file of judgements, each with its members' grades."""
    lines, models = JudgementLines(panel.origin), ", ".join(panel.models)
    for row in panel.rows:
        by_each = (member.shown.get(row.outcome.pair) for member in panel.members)
        shown = next(filter(None, by_each), "")
        judged = Judged(row.outcome, cost=0.0, model=models, shown=shown)
        more = {"members": dict(row.members), "disagreement": row.disagreement}
        yield lines.line(judged, panel=more)


def save_panel(panel: PanelSet, output: Output | Path) -> None:
    """Write a panel to a file: grades alone as qrels, or judgements, where it is called .jsonl."""
    to = Output.of(output)
    with to.writing():
        if to.path.name.endswith(JSON_LINES):
            with replacing(to.path) as out:
                out.writelines(f"{line}\n" for line in panel_lines(panel))
        else:
            write_qrels(to.path, panel.qrels)


def _card_entry(collection: Collection, panel: PanelSet) -> dict[str, Any]:
    """What the card says of the panel, in the places in which it says so of an assessor."""
    origin = panel.origin
    statuses = [r.outcome.status for r in panel.rows if isinstance(r.outcome, Failure)]
    return {
        "labeler": __version__,
        "prompt": panel.title,
        "model": origin.model,
        "served": panel.models,
        "parameters": dict(origin.parameters),
        "members": {member.name: _made(member) for member in panel.members},
        "scale": _scale(collection, panel),
        "pairs": len(panel.rows),
        "judged": panel.judged,
        "failed": panel.failed,
        "failures": {status: statuses.count(status) for status in sorted(set(statuses))},
    }


def _made(member: Member) -> dict[str, Any]:
    return {**member.made_by, "digest": member.digest}


def _scale(collection: Collection, panel: PanelSet) -> dict[str, Any]:
    """What the grades mean, where all members that say so say the same."""
    sets = card_section(read_card(collection), "judge")
    scales = [card_section(card_section(sets, m.name), "scale") for m in panel.members]
    named = [scale for scale in scales if scale]
    return named[0] if named and all(scale == named[0] for scale in named) else {}
