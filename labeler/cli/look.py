"""`labeler status`, `explain`, `validate`, `doctor`: what is there, and whether it is sound."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from labeler.cli.model_options import ModelFlags
from labeler.cli.options import Destination, Opened, argument
from labeler.cli.output import said_to, show, show_json, show_records
from labeler.cli.reporting import control_of, say_messages, show_failures, suspicious_pairs
from labeler.cli.screen import how_long, note, say
from labeler.cli.settings import project_path
from labeler.collection.layout import Collection, next_for_qrels
from labeler.collection.user_files import COMPARED
from labeler.data import Failure, Judgement
from labeler.errors import BadInput, Misuse
from labeler.messages import count_of, dollars, moment
from labeler.models.settings import Limits
from labeler.options import COUNT, option
from labeler.report.neutral import flat, one_line

if TYPE_CHECKING:
    from labeler.judging.explain import AttemptHistory, Explanation
    from labeler.judging.status import SetStatus
    from labeler.judging.validate import Validation
    from labeler.models.call_plan import CallPlan, TrialCall
    from labeler.report.table import Table


def status(collection: Opened, *, to: Destination) -> None:
    """Show what is judged, what failed, what it cost, how to go on."""
    from labeler.judging.status import pool_size, status, status_table, store_status

    sets, pool, store = list(status(collection)), pool_size(collection), store_status(collection)
    table = status_table(sets)
    if to.form == "json":
        whole = {"pool": pool, "judgements": [judged.as_json() for judged in sets]}
        show_json({**whole, "store": store.as_json() if store else None}, to)
    elif to.form == "table":
        with said_to(to):
            if pool:
                say(f"pool: {pool:,} pairs")
            _show_sets(collection, sets, table)
            if store:
                size = "" if store.bytes is None else f", {store.bytes / 1e6:,.1f} MB"
                say(f"store: {store.replies:,} replies{size} ({store.path})")
    else:
        show([table], to)


def _show_sets(collection: Collection, sets: Sequence[SetStatus], table: Table) -> None:
    """Print the sets of judgements, and what they lack."""
    if sets:
        show([table])
    else:
        how = next_for_qrels(collection.folder)
        say(f"no judgements yet: {how if 'import' in how.split()[:2] else 'labeler judge'}")
    for judged in sets:
        _show_checks(judged)
    for judged in sets:
        if judged.origin is not None and (judged.tally.failed or judged.left or judged.stale):
            _show_rest(collection, judged)


def _show_checks(judged: SetStatus) -> None:
    """Print what part a set is of, its controls, and how many of its documents look suspicious."""
    if judged.of_part:
        say(judged.of_part)
    if judged.controls:
        controls = count_of(len(judged.controls), "control")
        say(f"{judged.tally.name}: {controls}, the last: {one_line(judged.controls[-1], 100)}")
    if judged.tally.suspicious:
        say(f"{judged.tally.name}: {suspicious_pairs(judged.tally)}")


def _show_rest(collection: Collection, judged: SetStatus) -> None:
    """Print what has no grade, with examples, and the status that asks for it."""
    from labeler.cli import options_by_parameter, words_of
    from labeler.prompt import prompt_source

    tally, origin = judged.tally, judged.origin
    whose = "it" if judged.of_part else "the pool"
    say(f"\n{tally.name}: {tally.failed:,} failed, {judged.left:,} of {whose} not asked yet")
    if judged.stale:
        grades = count_of(judged.stale, "grade is", "grades are")
        say(f"{tally.name}: {grades} of texts that have changed since, which no figure counts")
    show_failures(tally)
    if origin and origin.is_panel:
        say(f"to go on: judge the rest for its members, {', '.join(origin.members)}, then again")
        return
    if tally.name.endswith(COMPARED):
        say("to go on: the same labeler compare again")
        return
    if judged.of_part and judged.parent:
        seed = f" --seed {judged.parent.seed}" if judged.parent.seed else ""
        say(
            f"to go on: the same labeler relabel again, with --from {judged.parent.name} --only "
            f"{judged.parent.only}{seed} --as {tally.name}"
        )
        return
    words = words_of(judged.parameters(), options_by_parameter(["judge"]))
    say(f"to go on: {shlex.join(['labeler', 'judge', str(collection.folder), *words])}")
    if origin and not judged.has_its_prompt:
        source = prompt_source(origin.prompt)
        say(f"({source} stands for the prompt's file as it was: {origin.prompt})")


def explain(
    collection: Opened,
    query_id: Annotated[str, argument("The query's id.", "QID")],
    doc_id: Annotated[str, argument("The document's id.", "DOCID")],
    *,
    name: str | None = option(None, "One set of judgements; else all.", flags="--as"),
    prompt: str | None = option(None, "The prompt's file, where it is no longer as it was."),
    to: Destination,
) -> None:
    """Show how a pair came by its grade: prompt, reply, attempts, cost."""
    from labeler.judging.explain import explain as explain_pair

    explanations = list(explain_pair(collection, query_id, doc_id, name, prompt))
    if not explanations:
        names = ", ".join([name] if name else collection.judgement_names())
        raise Misuse(f"no judgements of {query_id} {doc_id}; there are: {names or '-'}")
    if to.form == "json":
        show_json([explanation.as_json() for explanation in explanations], to)
    elif to.form == "table":
        with said_to(to):
            for explanation in explanations:
                show_explanation(explanation)
    else:
        show_records([e.as_record() for e in explanations], to)


def show_explanation(explanation: Explanation) -> None:
    """Print one set's judgement of a pair, and what it was made of."""
    from labeler.judging.suspicions import SUSPICIONS

    judged, origin = explanation.row.judged, explanation.row.origin
    say(f"== {explanation.name}: {', '.join(filter(None, (origin.prompt, origin.model)))}")
    say(f"now: {_outcome(judged.outcome)}")
    for name in judged.suspicions:
        say(f"suspicious ({name}): {SUSPICIONS.get(name, 'by a later version')}")
    if origin.is_panel:
        note(f"a panel asks nothing itself; its members: {', '.join(origin.members)}")
        return
    if explanation.problem:
        note(f"its replies cannot be looked up: {explanation.problem}")
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


def show_attempts(history: AttemptHistory) -> None:
    """Print all attempts."""
    for number, (request, record, outcome) in enumerate(history.attempts, start=1):
        say(
            f"\n-- attempt {number}, {moment(record.at)}, {record.served}, "
            f"{record.prompt_tokens:,} tokens in, {record.completion_tokens:,} out, cost "
            f"{dollars(record.cost)}"
        )
        if number == 1:
            say_messages(request.messages)
        sent = {**request.parameters, "schema": request.schema is not None}
        say(f"\nparameters: {sent}")
        say(f"reply ({record.finish_reason or 'no finish reason'}): {record.text}")
        if record.refusal:
            say(f"refusal: {record.refusal}")
        if record.body:
            say(f"as received: {record.body.decode('utf-8', 'replace')}")
        say(f"read as: {_outcome(outcome)}")
    if not history.attempts:
        say("\n-- no reply is stored to what would be asked today:")
        say_messages(history.asks.messages)
    if history.failed:
        at, status, detail = history.failed
        say(f"\n-- the last call, {moment(at)}: {status}: {detail}")


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


def validate(
    collection: Opened,
    *,
    strict: bool = option(False, "Fail at warnings, too."),
    to: Destination,
) -> None:
    """Check a whole collection: ids, hashes, texts.

    It says where its files contradict one another, too.
    """
    from labeler.judging.validate import validate

    result = validate(collection, control=control_of())
    if to.form == "json":
        show_json(result.as_json(), to)
    elif to.form == "table":
        with said_to(to):
            _show(result)
    else:
        show([result.table()], to)
    if not result.is_valid(strict=strict):
        raise BadInput(f"{collection.folder}: {_counts(result)}")


def _show(result: Validation) -> None:
    for problem in result.problems:
        say(f"{problem.level}: {flat(str(problem))}")
    documents = count_of(result.checked["documents"], "document")
    queries = count_of(result.checked["queries"], "query")
    if result.is_valid():
        say(f"{documents}, {queries}: {_counts(result)}")


def _counts(result: Validation) -> str:
    return f"{count_of(result.errors, 'error')}, {count_of(result.warnings, 'warning')}"


LONGEST_TRIAL = 60.0
"""Seconds that the one call may take."""


def doctor(
    *,
    who: ModelFlags,
    pairs: int = option(1000, "How many pairs to estimate for.", COUNT),
    limits: Limits,
    to: Destination,
) -> None:
    """Say which model would judge, try one call, estimate the cost."""
    import asyncio

    from labeler.models.call_plan import estimate, time_of, try_call
    from labeler.models.choose import choose
    from labeler.report.result import as_plain
    from labeler.wire.addresses import identity

    settings, has_key = project_path(), bool(os.environ.get("OPENAI_API_KEY"))
    choice = asyncio.run(choose("judge", who.asked(), who.base_url))
    taken = estimate(choice, pairs)

    def tried() -> TrialCall | None:
        return asyncio.run(try_call(choice, min(limits.timeout, LONGEST_TRIAL), note))

    if to.form != "table":
        call = tried()
        record = {
            "has_key": has_key,
            "settings": str(settings) if settings else None,
            "model": choice.name,
            "address": identity(choice.base_url) if choice.base_url else None,
            "why": choice.why,
            "call_seconds": call.seconds if call else None,
            "accepts": as_plain(call.abilities) if call else None,
            "pairs": pairs,
            "tokens_in": taken.about.inside,
            "tokens_out": taken.about.outside,
            "cost": taken.about_cost,
            "seconds": time_of(call, pairs).seconds if call else None,
        }
        show_records([record], to)
        return
    key = "set" if has_key else "not set"
    file = str(settings or "no labeler.toml here")
    with said_to(to):
        _say_each({"OPENAI_API_KEY": key, "settings": file, "model": str(choice)})
        _say_each(_in_words(taken, tried(), pairs))


def _say_each(lines: Mapping[str, str]) -> None:
    for name, what in lines.items():
        say(f"{name:17}{what}")


def _in_words(taken: CallPlan, call: TrialCall | None, pairs: int) -> dict[str, str]:
    """What the call for trial showed, and what so many calls like it take."""
    from labeler.models.call_plan import time_of
    from labeler.models.choose import SERVER_CONCURRENCY

    lines = {"test call": "none: this assessor asks no server"}
    if call is not None:
        able = call.abilities
        parameters = [n for n in ("temperature", "stop", "logprobs") if n not in able.refused]
        thinks = ["reasons before it answers"] if able.thoughts else []
        accepted = [f"replies as {able.shape}", able.limit, *parameters, *thinks]
        lines = {"test call": f"works ({call.seconds:.1f} s)", "it accepts": ", ".join(accepted)}
    cost = "unknown: not listed; --set model.tokens_in=X --set model.tokens_out=Y gives it"
    if taken.price:
        cost = f"about {dollars(taken.about_cost)}, {taken.price.basis}"
    lines[f"{pairs:,} pairs"] = f"{cost} (about {taken.about.inside:,} tokens in)"
    if call is not None:
        lines["that takes"] = (
            f"about {how_long(time_of(call, pairs).seconds)} with {SERVER_CONCURRENCY} calls at "
            "once as long as this one"
        )
    return lines
