"""Write a panel's grades: as a set of judgements of a collection, or as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labeler import __version__
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judgements import JudgementLines, origin_of, replacing_set
from labeler.collection.layout import Collection, safe_name
from labeler.collection.lock import Note, locked
from labeler.collection.outputs import Output
from labeler.collection.readme import write_readme
from labeler.collection.whose import check_model_name
from labeler.data import Failure, Judged
from labeler.errors import Misuse
from labeler.files.atomic import replacing
from labeler.judging.panel.members import Member, PanelSet
from labeler.trec.write import write_qrels

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
