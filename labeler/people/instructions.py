"""What raters read before they fill in a sheet: the grades in words, and how to go about it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import origin_of
from labeler.collection.layout import Collection, is_name
from labeler.collection.outputs import Output
from labeler.errors import LabelerError
from labeler.files.atomic import replacing
from labeler.files.special import is_special
from labeler.prompt import Prompt, find_prompt, prompt_files
from labeler.report.neutral import markdown_text

NAME = "INSTRUCTIONS.md"
JUDGING_PROMPT = "four-grades"
"""The prompt whose scale people use where nobody has judged: `judge` has it by default, too."""

_BEFORE = """\
# How to grade

Each row of the sheet holds a query, which somebody typed into a search box, and a document that a
search found. Say how well the document serves whoever typed the query: write one grade into the
column `grade`.

## The grades

"""

_AFTER = """
## How to fill in the sheet

- Open the sheet in a spreadsheet program. Read the query, then the title and the text.
- Write the number alone into `grade`. The column `scale` repeats what the numbers mean.
- Change no other column but `assessor` (your name), `time` and `comment`, which may stay empty.
- Leave `grade` empty where you cannot tell, for example because the text is broken; say why in
  `comment`. An empty cell counts as skipped, and never as the lowest grade.
- Save the sheet as CSV (UTF-8). Rows may be sorted, as long as whole rows move together.

## When in doubt

- Judge what the text says, not how well it is written, nor whether you would have found it.
- Judge each row by itself: several documents of a query may have the same grade.
- Between two grades, take the lower one, and do so throughout.
- Grade alone, and do not look up what others or a model gave: the sheet shows no grades on purpose,
  since agreement counts only between assessors who do not know of each other.
- Some texts hold orders or questions to their reader. They are material to be graded, nothing more.
"""


def instructions(scale: Mapping[int, str], prompt: str = "") -> str:
    """The page for raters as Markdown; `prompt` is the id of one that words the grades, or none."""
    meanings = meanings_in(_unchanged(prompt), scale)
    rows = [
        f"| {grade} | {_cell(name)} | {_cell(meanings.get(grade, ''))} |"
        for grade, name in sorted(scale.items())
    ]
    return _BEFORE + "\n".join(["| grade | name | meaning |", "|---:|---|---|", *rows, _AFTER])


def _cell(text: str) -> str:
    return " ".join(markdown_text(text).split())


def _unchanged(prompt: str) -> Prompt | None:
    """The shipped prompt of this id, or of this name; None where it is another one by now."""
    name = prompt.partition("@")[0]
    if name not in prompt_files():
        return None
    try:
        current = find_prompt(name)
    except LabelerError:  # it writes queries, and words no grades
        return None
    return current if prompt in (name, current.id) else None


def meanings_of(collection: Collection, sample: str, scale: Mapping[int, str]) -> dict[int, str]:
    """What the prompt behind a sample's grades says of each; empty where it says it of none."""
    entry = card_section(card_section(read_card(collection), "samples"), sample)
    source = entry.get("source")
    path = collection.judgements(source) if isinstance(source, str) and is_name(source) else None
    made_by = origin_of(path) if path is not None else None
    prompt = made_by.prompt if made_by is not None else JUDGING_PROMPT
    return meanings_in(_unchanged(prompt), scale)


def meanings_in(prompt: Prompt | None, scale: Mapping[int, str]) -> dict[int, str]:
    """What a prompt says of each grade in a line of its own, as `2 = it answers a part`.

    Nothing where it does not say it of every grade, just once, nor where it lists the grades of
    criteria or questions.
    """
    if prompt is None or prompt.front.has_parts:
        return {}
    lines = [line.strip(" -*") for turn in prompt.turns for line in turn.content.split("\n")]
    words: dict[int, str] = {}
    for grade in scale:
        of_grade = re.compile(rf"{grade}\s?[=:]\s?(\S.*)")
        texts = [match[1] for line in lines if (match := of_grade.fullmatch(line))]
        if len(texts) != 1:
            return {}
        words[grade] = texts[0].rstrip(".")
    return words


def write_instructions(sheet: Output, text: str) -> tuple[Path | None, bool]:
    """Write the page beside a sheet: its path, and whether it is as `text` says.

    Another page in its place stays, unless the sheet is forced. A sheet that goes into a pipe has
    no page.
    """
    path = sheet.path.parent / NAME
    if is_special(sheet.path):
        return None, True
    if os.path.lexists(path) and not (sheet.force and path.is_file()):
        return path, path.is_file() and path.read_bytes() == text.encode()
    with Output(path, sheet.force).writing(), replacing(path) as out:
        out.write(text)
    return path, True
