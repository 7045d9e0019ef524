"""`labeler prompts`: which prompts there are, and what one says."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.options import OutputFlags, unfolded
from labeler.cli.screen import say

app = typer.Typer(help="List the prompts, or show one.", invoke_without_command=True)


@app.callback()
@unfolded
def _list(context: typer.Context, *, output: OutputFlags) -> None:
    """List the shipped prompts, with the identity under which their replies are kept."""
    from labeler.cli.output import show
    from labeler.report.table import Column, Table

    if context.invoked_subcommand:
        return
    from labeler.prompt import prompt_files, read_prompt

    prompts = [read_prompt(path) for path in prompt_files().values()]
    rows = [(p.id, p.front.kind, p.front.description) for p in prompts]
    header = ("prompt", "kind", "what it asks")
    columns = [Column(name, align="left") for name in header]
    show([Table("prompts", columns, rows)], output.format, output.made_from())


@app.command(epilog="Example: labeler prompts show umbrela")
def show(name: Annotated[str, typer.Argument(help="A prompt's name, or a file's path.")]) -> None:
    """Print a prompt as it is in its file."""
    from labeler.prompt import find_prompt

    prompt = find_prompt(name, kind=None)
    say(prompt.text.rstrip("\n"))
