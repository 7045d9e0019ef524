"""`labeler generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from labeler.cli.options import BaseUrl, DryRun, Folder, ModelName
from labeler.cli.screen import note, progress, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labeler.cli.stopping import Stopping
    from labeler.data import Document
    from labeler.formats.collection import Collection
    from labeler.generating import Generated, Writer

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


def command(
    folder: Folder,
    queries: Annotated[int, typer.Option(min=1, help="How many queries to have.")] = 50,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "question",
    model: ModelName = None,
    base_url: BaseUrl = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, help="Candidates a passage; the closest is kept. Default: 1, embedded 5."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides which passages are asked about.")] = 0,
    dry_run: DryRun = False,
) -> None:
    """Write queries that the corpus answers: queries.jsonl, and rejected.jsonl with reasons."""
    from labeler.formats.collection import open_collection

    wish = Wish(queries, prompt, model, base_url, samples, seed, dry_run)
    collection = open_collection(folder)
    generate(collection, wish)
    if not dry_run:
        say(f"queries: {collection.queries}")


def generate(collection: Collection, wish: Wish) -> None:
    """What the command does, for `build` to do too."""
    from labeler.cli.asking import chosen_model, wrapped
    from labeler.cli.stopping import run_until_stopped
    from labeler.formats.beir import read_corpus
    from labeler.generating import Writer, closeness, keep_generated
    from labeler.prompt import find_prompt
    from labeler.store import open_store

    documents, prompt = read_corpus(collection.corpus), find_prompt(wish.prompt, "generate")
    with (
        chosen_model("generate", wish.model, wish.base_url, documents.values()) as (choice, asked),
        open_store(collection.store) as store,
    ):
        samples = wish.samples or (EMBEDDED_SAMPLES if choice.is_embedded else 1)
        model = wrapped(asked.model, store, asked.concurrency)
        writer = Writer(prompt, model, closeness(documents.values()), samples, wish.seed)
        if wish.dry_run:
            show_plan(documents, writer, wish.queries)
            return
        with progress("writing queries") as advance:

            async def work(_stopping: Stopping) -> Generated:
                from labeler.generating import generate_queries

                try:
                    return await generate_queries(
                        documents.values(), writer, wish.queries, asked.concurrency, advance
                    )
                finally:
                    await model.close()

            generated = run_until_stopped(work)
    kept = keep_generated(collection, generated, writer)
    note(f"wrote {kept} queries, dropped {len(generated.rejected)} candidates")
    if len(generated.queries) < wish.queries:
        note(f"the corpus has no more passages to ask about: {wish.queries} were wanted")


def show_plan(documents: Mapping[str, Document], writer: Writer, wanted: int) -> None:
    """Print how many calls there would be, about how many tokens, and one request in full."""
    from labeler.cli.asking import show_request
    from labeler.generating import chosen_passages, generation_requests

    chosen = chosen_passages(documents.values(), writer.seed)[:wanted]
    requests = [request for d in chosen for request in generation_requests(d, writer)]
    characters = sum(len(turn.content) for request in requests for turn in request.messages)
    most = writer.prompt.front.max_tokens * len(requests)
    say(f"passages  {len(chosen):,}, more where a candidate is no good")
    say(f"calls     {len(requests):,}")
    say(f"tokens    about {characters // 4:,} in, at most {most:,} out")
    show_request(requests[0] if requests else None)
