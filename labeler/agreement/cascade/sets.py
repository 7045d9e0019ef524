"""The sets behind a cascade: a cheap assessor's rows, a strong one's, and what each pair took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from labeler import __version__
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judgements import (
    JudgementLines,
    JudgementRow,
    Origin,
    read_judgements,
    replacing_set,
)
from labeler.collection.layout import Collection
from labeler.collection.lock import Note, locked
from labeler.collection.readme import write_readme
from labeler.data import Failure, Judgement, Pair
from labeler.judging.panel.members import Member
from labeler.judging.panel.write import check_panel_name

RULE = "cascade"


@dataclass(frozen=True, eq=False)
class CascadeMember:
    """A set of judgements: its rows by pair, in the order of its file."""

    name: str
    rows: Mapping[Pair, JudgementRow]

    @property
    def failures(self) -> dict[Pair, str]:
        """The status of each pair that has no grade."""
        return {
            pair: row.judged.outcome.status
            for pair, row in self.rows.items()
            if isinstance(row.judged.outcome, Failure)
        }

    @property
    def grades(self) -> dict[Pair, int]:
        """The grade of each pair that has one."""
        return {
            pair: row.judged.outcome.grade
            for pair, row in self.rows.items()
            if isinstance(row.judged.outcome, Judgement)
        }

    @property
    def digest(self) -> str:
        """A hash of its grades and failures."""
        return Member(self.name, self.grades, self.failures).digest

    def grade_or_status(self, pair: Pair) -> int | str | None:
        """The grade of a pair, the status of its failure, or `None` where it was not asked."""
        if pair not in self.rows:
            return None
        outcome = self.rows[pair].judged.outcome
        return outcome.status if isinstance(outcome, Failure) else outcome.grade

    def took(self, pair: Pair, unit: str) -> float:
        """What a pair took: dollars, tokens or calls."""
        judged = self.rows[pair].judged
        if unit == "dollars":
            return judged.cost or 0.0
        if unit == "tokens":
            return float(judged.prompt_tokens + judged.completion_tokens)
        return float(max(judged.attempts, 1))

    @property
    def models(self) -> list[str]:
        """The models that answered, as they were asked for."""
        return sorted({row.origin.model for row in self.rows.values()} - {""})


def member_of(collection: Collection, name: str) -> CascadeMember:
    """A set of a collection's judgements."""
    path = collection.existing_judgements(name)
    return CascadeMember(name, {row.judged.outcome.pair: row for row in read_judgements(path)})


def took_by(members: Iterable[CascadeMember], pair: Pair, unit: str) -> float:
    """What a pair took of all who judged it."""
    return sum(member.took(pair, unit) for member in members if pair in member.rows)


def unit_of(*members: CascadeMember) -> str:
    """What costs are counted in: dollars where every reply has some, else tokens, else calls.

    The strong member is the last.
    """
    judged = [row.judged for side in members for row in side.rows.values()]
    of_strong = members[-1].rows.values()
    if all(j.cost is not None for j in judged) and any(row.judged.cost for row in of_strong):
        return "dollars"
    tokens = all(j.prompt_tokens + j.completion_tokens > 0 for j in judged)
    return "tokens" if tokens else "calls"


class CascadeMade(NamedTuple):
    """A cascade's members, the pairs that the strong one decides, and how these were told."""

    members: tuple[CascadeMember, CascadeMember]
    sent: frozenset[Pair]
    settings: Mapping[str, Any]


def write_cascade(
    collection: Collection,
    name: str,
    made: CascadeMade,
    note: Note = lambda _line: None,
) -> None:
    """Write `judgements/NAME.jsonl` and `qrels/NAME.qrels`: each row says who decided it.

    A pair that was sent has the strong member's grade, or its failure; every other pair the cheap
    one's grade.
    """
    (cheap, strong), sent = made.members, made.sent
    origin = cascade_origin(made.members, made.settings)
    path, qrels = collection.judgements(name), collection.qrels(name)
    lines = JudgementLines(origin)
    with locked(collection, note):
        check_panel_name(collection, name, RULE, [cheap.name, strong.name])
        with replacing_set(path, qrels) as out:
            for pair in cheap.rows:
                decided = strong if pair in sent else cheap
                says = {
                    cheap.name: cheap.grade_or_status(pair),
                    strong.name: strong.grade_or_status(pair),
                }
                more = {"members": says, "decided": decided.name}
                out.write(lines.line(decided.rows[pair].judged, panel=more) + "\n")
        entry = _card_entry(collection, made.members, sent, origin)
        update_card_entry(collection, "judge", name, entry)
        write_readme(collection)


def cascade_origin(
    members: tuple[CascadeMember, CascadeMember], settings: Mapping[str, Any]
) -> Origin:
    """What made a cascade's grades: its threshold, and each member with a hash of its grades."""
    cheap, strong = members
    digests = {member.name: member.digest for member in members}
    title = f"{RULE} of {cheap.name}, {strong.name}"
    return Origin("", title, {"rule": RULE, **settings, "members": digests})


def _card_entry(
    collection: Collection,
    members: tuple[CascadeMember, CascadeMember],
    sent: frozenset[Pair],
    origin: Origin,
) -> dict[str, Any]:
    cheap, strong = members
    judge = card_section(read_card(collection), "judge")
    statuses = [strong.failures[pair] for pair in sorted(sent) if pair in strong.failures]
    pairs = len(cheap.rows)
    return {
        "labeler": __version__,
        "prompt": origin.model,
        "model": origin.model,
        "served": sorted({*cheap.models, *strong.models}),
        "parameters": dict(origin.parameters),
        "members": {m.name: {"models": m.models, "digest": m.digest} for m in members},
        "scale": card_section(card_section(judge, strong.name), "scale"),
        "pairs": pairs,
        "judged": pairs - len(statuses),
        "failed": len(statuses),
        "failures": {status: statuses.count(status) for status in sorted(set(statuses))},
        "sent": len(sent),
    }
