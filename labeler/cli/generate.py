"""`labeler generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from labeler.cli import options
from labeler.cli.options import Limits
from labeler.cli.reporting import show_calls, show_request
from labeler.cli.screen import note, progress, say
from labeler.cli.signals import run_until_stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labeler.collection.layout import Collection
    from labeler.data import Document
    from labeler.models.policies.budget import Spending
    from labeler.models.policies.stop import StopSignal
    from labeler.models.prices import Price
    from labeler.queries.generate import Generated, Writer

EMBEDDED_SAMPLES = 5


class Wish(NamedTuple):
    """What the command was asked for."""

    queries: int
    prompt: str = "question"
    model: str | None = None
    base_url: str | None = None
    samples: int | None = None
    seed: int = 0
    dry_run: bool = False
    limits: Limits = Limits()
    redacted: bool = False


@options.unfolded
def command(
    folder: options.Folder,
    *,
    queries: Annotated[int, typer.Option(min=1, help="How many queries to have.")] = 50,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "question",
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, help="Candidates a passage; the closest is kept. Default: 1, embedded 5."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides which passages are asked about.")] = 0,
    dry_run: options.DryRun = False,
    limits: Limits,
) -> None:
    """Write queries that the corpus answers: queries.jsonl, and rejected.jsonl with reasons."""
    from labeler.collection.layout import open_collection

    wish = Wish(queries, prompt, model, base_url, samples, seed, dry_run, limits)
    collection = open_collection(folder)
    run_until_stopped(lambda stop: generate(collection, wish, stop))
    if not dry_run:
        say(f"queries: {collection.queries}")


async def generate(collection: Collection, wish: Wish, stop: StopSignal) -> Spending:
    """What the command does, for `build` to do too; what it has spent."""
    from dataclasses import replace

    from labeler.cli.asking import guard_of, known_price
    from labeler.collection.corpus import read_corpus
    from labeler.models.choose import choose, ready
    from labeler.models.policies.stack import guarded, knows
    from labeler.prompt import find_prompt
    from labeler.queries.generate import (
        MIN_WORDS,
        Writer,
        closeness,
        generated_before,
        keep_generated,
    )
    from labeler.store import open_store

    documents, prompt = read_corpus(collection.corpus), find_prompt(wish.prompt, "generate")
    choice = await choose("generate", wish.model, wish.base_url)
    note(f"model: {choice}")
    price = known_price(choice, wish.limits)
    async with ready(choice, documents.values(), wish.limits.timeout) as there:
        with open_store(collection.store, redacted=wish.redacted) as store:
            samples = wish.samples or (EMBEDDED_SAMPLES if choice.is_embedded else 1)
            guard = guard_of(wish.limits, there.concurrency, price, stop)
            model = guarded(there.model, store, guard)
            writer = Writer(prompt, model, closeness(documents.values()), samples, wish.seed)
            if wish.dry_run:
                first = not knows(there.model, store)
                show_plan(documents, writer, wish.queries, price, preflight=first)
                return guard.budget.spent
            writer = replace(writer, already=tuple(generated_before(collection, writer)))
            generated = await with_progress(documents, writer, wish.queries, there.concurrency)
    kept = keep_generated(collection, generated, writer)
    new = kept - len(writer.already)
    note(f"wrote {new} queries, dropped {len(generated.rejected)} candidates; {kept} in all")
    if len(generated.queries) < wish.queries:
        note(f"{wish.queries} were wanted; the corpus has no more passages of {MIN_WORDS} words")
    return guard.budget.spent


async def with_progress(
    documents: Mapping[str, Document], writer: Writer, wanted: int, at_once: int
) -> Generated:
    """Write the queries with a progress bar."""
    from labeler.queries.generate import generate_queries

    with progress("writing queries") as advance:
        try:
            return await generate_queries(documents.values(), writer, wanted, at_once, advance)
        finally:
            await writer.model.close()


def show_plan(
    documents: Mapping[str, Document],
    writer: Writer,
    wanted: int,
    price: Price | None,
    *,
    preflight: bool,
) -> None:
    """Print how many calls there would be, about how many tokens, and one request in full."""
    from functools import reduce

    from labeler.models.tokens import Tokens, about, at_most
    from labeler.queries.generate import chosen_passages, generation_requests

    chosen = chosen_passages(documents.values(), writer.seed)[:wanted]
    requests = [request for d in chosen for request in generation_requests(d, writer)]
    none = Tokens(0, 0)
    thought = reduce(Tokens.plus, map(about, requests), none)
    most = reduce(Tokens.plus, map(at_most, requests), none)
    say(f"passages    {len(chosen):,}, more where a candidate is no good")
    show_calls(len(requests), (thought, most), price, preflight=preflight)
    show_request(requests[0] if requests else None)
