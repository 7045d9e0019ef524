"""`labeler explain`: how one pair came by its grade."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import said_to, show_json, show_records
from labeler.cli.screen import note, say
from labeler.data import Failure, Judgement, Pair
from labeler.errors import Misuse
from labeler.messages import dollars, moment
from labeler.options import option

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.judging.explain import AttemptHistory, Explanation
    from labeler.store.base import Record


def command(
    folder: Folder,
    query_id: Annotated[str, typer.Argument(metavar="QID", help="The query's id.")],
    doc_id: Annotated[str, typer.Argument(metavar="DOCID", help="The document's id.")],
    *,
    name: str | None = option(None, "One set of judgements; else all.", flags="--as"),
    prompt: str | None = option(None, "The prompt's file, where it is no longer as it was."),
    output: OutputFlags,
) -> None:
    """Show how a pair came by its grade: prompt, reply, attempts, cost."""
    import asyncio

    from labeler.collection.layout import open_collection

    to, collection = output.made_from(open_collection(folder).folder), open_collection(folder)
    pair = Pair(query_id, doc_id)
    explanations = asyncio.run(_explanations(collection, pair, name, prompt))
    if not explanations:
        names = ", ".join([name] if name else collection.judgement_names())
        others = f"there are: {names or '-'}{_meant(collection, pair)}"
        raise Misuse(f"no judgements of {query_id} {doc_id}; {others}")
    if output.format == "json":
        show_json([explanation.as_json() for explanation in explanations], to)
    elif output.format == "table":
        with said_to(to):
            for explanation in explanations:
                show_explanation(explanation)
    else:
        show_records([e.as_record() for e in explanations], output.format, to)


def _meant(collection: Collection, pair: Pair) -> str:
    """What a pair without judgements may have been meant to be: the other way round, or another."""
    from labeler.judging.explain import judged_pairs_like

    meant = judged_pairs_like(collection, pair)
    return "".join(f"; did you mean {' '.join(other)}?" for other in meant)


async def _explanations(
    collection: Collection, pair: Pair, name: str | None, prompt: str | None
) -> list[Explanation]:
    """How the pair came by its grade, set by set."""
    from labeler.judging.explain import explain

    return [explanation async for explanation in explain(collection, *pair, name, prompt)]


def show_explanation(explanation: Explanation) -> None:
    """Print one set's judgement of a pair, and what it was made of."""
    from labeler.judging.suspicions import SUSPICIONS

    judged, origin = explanation.row.judged, explanation.row.origin
    made_by = ", ".join(filter(None, (origin.prompt, origin.model)))
    say(f"== {explanation.name}: {made_by}")
    say(f"now: {_outcome(judged.outcome)}")
    for name in judged.suspicions:
        say(f"suspicious ({name}): {SUSPICIONS.get(name, 'by a later version')}")
    if origin.is_panel:
        note(f"a panel asks nothing itself; its members: {', '.join(origin.members)}")
        return
    if explanation.histories is None:
        note(f"its replies can be looked up by the texts alone: {explanation.problem}")
        show_replies(explanation.records)
        return
    for history in explanation.histories:
        if history.part:
            say(f"\n== part: {history.part}")
        show_attempts(history)
    attempts = sum(len(history.attempts) for history in explanation.histories)
    if attempts < judged.attempts:
        say(
            f"\n{judged.attempts} replies made the judgement, {attempts} of them are found now: "
            "the query or the document was edited since, or the replies were pruned"
        )


def show_replies(records: Sequence[Record]) -> None:
    """Print replies with the requests that they answered, where no prompt tells their order."""
    if not records:
        say("no stored reply to a prompt that shows these texts as they are now")
    for record in records:
        request = json.loads(record.request or "{}")
        number = request.get("attempt", 0) + 1
        say(f"\n-- attempt {number}, {moment(record.at)}, {record.served}")
        _show_messages(request.get("messages", ()))
        _show_reply(record)


def show_attempts(history: AttemptHistory) -> None:
    """Print all attempts."""
    for number, (request, record, outcome) in enumerate(history.attempts, start=1):
        tokens = f"{record.prompt_tokens:,} tokens in, {record.completion_tokens:,} out"
        taken = f"{tokens}, cost {dollars(record.cost)}"
        say(f"\n-- attempt {number}, {moment(record.at)}, {record.served}, {taken}")
        if number == 1:
            _show_messages(request.messages)
        sent = {**request.parameters, "schema": request.schema is not None}
        say(f"parameters: {sent}")
        _show_reply(record)
        say(f"read as: {_outcome(outcome)}")
    if not history.attempts:
        say("\n-- no reply is stored to what would be asked today:")
        _show_messages(history.asks.messages)
    if history.failed:
        at, status, detail = history.failed
        say(f"\n-- the last call, {moment(at)}: {status}: {detail}")


def _show_messages(messages: Iterable[Sequence[str]]) -> None:
    for role, content in messages:
        say(f"[{role}]\n{content}\n")


def _show_reply(record: Record) -> None:
    say(f"reply ({record.finish_reason or 'no finish reason'}): {record.text}")
    if record.refusal:
        say(f"refusal: {record.refusal}")
    if record.body:
        say(f"as received: {record.body.decode('utf-8', 'replace')}")


def _outcome(outcome: object) -> str:
    if isinstance(outcome, Failure):
        return f"{outcome.status}: {outcome.detail}"
    if not isinstance(outcome, Judgement):
        return _read(outcome)
    reason = f" ({outcome.reason})" if outcome.reason else ""
    shares = outcome.distribution
    spread = ", ".join(f"{grade}: {share:.2f}" for grade, share in shares.items()) if shares else ""
    return f"grade {outcome.grade}{reason}" + (f"; {spread}" if spread else "")


def _read(answer: object) -> str:
    """What was read in a reply that is not one grade: grades by number, or questions."""
    from labeler.judging.explain import as_read

    value = as_read(answer)
    if not isinstance(value, dict):
        return "".join(f"\n  {number}. {text}" for number, text in enumerate(value, start=1))
    grades = (
        entry["status"] if entry["grade"] is None else entry["grade"] for entry in value.values()
    )
    return ", ".join(f"{number}: {grade}" for number, grade in zip(value, grades, strict=True))
