"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli import options
from labeler.cli.asking import Asked, Limits, check_complete, label
from labeler.cli.board import how_shown
from labeler.cli.stopping import run_until_stopped


def command(
    folder: options.Folder,
    *,
    prompt: Annotated[str, typer.Option(help="A prompt's name, or a file's path.")] = "umbrela",
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    name: Annotated[
        str | None, typer.Option("--as", help="The labels' name; else PROMPT-MODEL.")
    ] = None,
    concurrency: options.Concurrency = None,
    retry_failed: options.RetryFailed = False,
    rpm: options.RequestsPerMinute = None,
    tpm: options.TokensPerMinute = None,
    max_calls: options.MaxCalls = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    prices: options.Prices = None,
    seconds: options.Seconds = 600.0,
    tries: options.Tries = 8,
    redact: options.Redact = False,
    quiet: options.Quiet = False,
    json_progress: options.JsonProgress = False,
    dry_run: options.DryRun = False,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    from labeler.formats.collection import open_collection
    from labeler.labeling import pairs_of

    collection = open_collection(folder)
    limits = Limits(rpm, tpm, max_calls, max_tokens, max_cost, prices, seconds, tries)
    how = how_shown(quiet, json_progress)
    who = (prompt, model, base_url, name)
    asked = Asked(*who, concurrency, retry_failed, dry_run, redact, how, limits)
    tally = run_until_stopped(lambda brake: label(collection, pairs_of, asked, brake))
    check_complete(tally)
