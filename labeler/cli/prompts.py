"""`labeler prompts`: which prompts there are; copy one, and check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from labeler.cli.options import MADE, Destination, ToFile, argument
from labeler.cli.output import deliver, said_to, show_result
from labeler.cli.output import show as show_tables
from labeler.cli.reporting import say_messages
from labeler.cli.screen import note, say
from labeler.errors import BadInput, Misuse
from labeler.options import option
from labeler.prompt import find_prompt
from labeler.report.render import FORMS

if TYPE_CHECKING:
    from labeler.prompt.check import PromptCheck


def show(
    name: Annotated[
        str | None, argument("A prompt's name, or a file's path; without one, all.")
    ] = None,
    *,
    to: Destination,
) -> None:
    """Print a prompt as it is in its file; without a name, list all.

    The list has the identities under which the prompts' replies are kept.
    """
    from labeler.prompt.listing import prompt_tables, shipped_prompts

    if name is None:
        show_tables(prompt_tables(shipped_prompts(), for_people=FORMS[to.form].for_people), to)
        return
    with said_to(to):
        say(find_prompt(name, kind=None).text.rstrip("\n"))


def new(
    name: Annotated[str, argument("What the new prompt is called."), MADE],
    *,
    source: str = option(
        "four-grades", "The prompt to copy: its name, or a file's path.", flags="--from"
    ),
    to: ToFile,
) -> None:
    """Write a copy of a prompt, to be edited."""
    from labeler.prompt.read import copy_of

    prompt, name = find_prompt(source, kind=None), name.removesuffix(".md")
    text, file = copy_of(prompt, name), to.file or to.written_to(Path(f"{name}.md"))
    path = file.path
    if path.is_file() and not to.force and path.read_bytes() not in (b"", text.encode()):
        raise Misuse(f"{path} exists already; edit it, or give another name or output")
    deliver(text, file)
    note(f"wrote {path}, a copy of {prompt.id}; edit it, then: labeler prompts check {path}")


def check(
    name: Annotated[str, argument("A prompt's file, or its name.", "FILE")],
    *,
    to: Destination,
) -> None:
    """Say what is wrong with a prompt's file, and show what it would send.

    The same is checked before any pair is judged. Exit code 65 where the file has errors.
    """
    from labeler.prompt.check import check_prompt
    from labeler.prompt.read import prompt_path

    path = prompt_path(name)
    checked = check_prompt(path)
    show_result(checked, to, _show_check)
    if checked.errors:
        raise BadInput(f"{path}: {checked.summary()}")


def _show_check(checked: PromptCheck) -> None:
    for problem in checked.problems:
        level = "warning: " if problem.level == "warning" else ""
        say(f"{checked.path}:{problem.line}: {level}{problem.text}")
    if checked.prompt is None:
        return
    if checked.problems:
        say()
    say("\n".join(checked.facts()))
    if checked.schema:
        from labeler.report.neutral import json_text

        say(f"replies are bound to {json_text(checked.schema, None)}")
    say("\nfilled in:")
    say_messages(checked.example)
