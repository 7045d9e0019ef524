"""`labeler relabel`: the pairs of one set of labels, judged with another prompt or model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import options
from labeler.cli.asking import Asked, label, relabel_from_store
from labeler.cli.reporting import check_complete
from labeler.cli.signals import run_until_stopped
from labeler.errors import Misuse

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.judging.assessor import Texts
    from labeler.judging.label import Pairs, Tally


@options.unfolded
def command(
    folder: options.Folder,
    *,
    source: Annotated[str, typer.Option("--from", help="The labels whose pairs are judged.")],
    name: options.NewName = None,
    prompt: Annotated[
        str | None, typer.Option(help="A prompt's name, or a file's path; else umbrela.")
    ] = None,
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    reparse: Annotated[
        bool, typer.Option("--reparse", help="Read the stored replies anew; ask nothing.")
    ] = False,
    limits: options.Limits,
    manner: options.Manner,
) -> None:
    """Judge the same pairs with another prompt or model, then show which grades moved."""
    from labeler.collection.layout import open_collection
    from labeler.judging.label import pairs_of_labels

    collection = open_collection(folder)
    tally: Tally | None
    if reparse:
        _check_nothing_is_asked(name, model or base_url)
        new = name or f"{source}-reparsed"
        tally = run_until_stopped(
            lambda stop: relabel_from_store(collection, source, new, prompt, stop)
        )
    else:

        def pairs(collection: Collection, _texts: Texts) -> Pairs:
            return pairs_of_labels(collection, source)

        model, base_url = _asked_again(collection, source, model, base_url)
        asked = Asked(prompt or "umbrela", model, base_url, name, limits, manner)
        tally = run_until_stopped(lambda stop: label(collection, pairs, asked, stop))
    show_difference(collection, source, tally)
    check_complete(tally)


def _asked_again(
    collection: Collection, source: str, model: str | None, base_url: str | None
) -> tuple[str | None, str | None]:
    """The model to ask: the one that is named, else the one that made the old labels."""
    from labeler.collection.judgements import origin_of
    from labeler.models.local.caveats import embedded_name
    from labeler.models.server.addresses import HIDDEN

    made_by = origin_of(collection.judgements(source))
    if model or base_url or os.environ.get("LABELER_MODEL") or made_by is None:
        return model, base_url
    if name := embedded_name(made_by.model):
        return name, None
    address, _, served = made_by.model.partition(" ")
    if HIDDEN in address:
        problem = f"the labels were made at {address}, whose query is not kept"
        raise Misuse(f"{problem}; give --model and the whole address with --base-url")
    return (served, address) if served else (None, None)


def _check_nothing_is_asked(name: str | None, model: str | None) -> None:
    if not name:
        raise Misuse("--reparse needs --as NAME for the new labels")
    if model:
        raise Misuse("--reparse asks no model; --model and --base-url do not go with it")


def show_difference(collection: Collection, source: str, tally: Tally | None) -> None:
    """Print what moved from the old labels to the new ones, as `labeler diff` does."""
    from labeler.cli.diff import show_transitions
    from labeler.cli.screen import say
    from labeler.judging.diff import compare_judgements

    if tally is not None:
        say()
        found = compare_judgements(collection, source, tally.name)
        show_transitions(found, source, tally.name, 20)
