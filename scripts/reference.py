"""Write the parts of the pages that are read from the registries; `--check` only compares.

python scripts/reference.py [--check]

Such a part stands between two comments, `<!-- name -->` and `<!-- /name -->`, in a page of
docs/reference/. Every function of `SECTIONS` has its place in one of them.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import labeler
from labeler import errors
from labeler.agreement.statistics import STATISTICS
from labeler.catalog.recipes import read_recipe, recipe_files
from labeler.cli.help import described
from labeler.cli.overview import ABOUT
from labeler.cli.settings import SECTIONS as PROJECT_SECTIONS
from labeler.cli.settings import settings_in
from labeler.cli.table import COMMANDS, GROUPS, MORE, SHOWN, commands_of
from labeler.exchange.export.formats import EXPORTS
from labeler.metrics import MEASURES
from labeler.monitoring.monitor import KINDS
from labeler.prompt import PLACEHOLDERS, FrontMatter
from labeler.prompt.listing import facts_of, shipped_prompts

DOCS = Path(__file__).resolve().parent.parent / "docs"
REFERENCE = DOCS / "reference"
HOW_TO_ASK = """\
`labeler help --json` prints all commands with their arguments and options, `labeler help WORD
--json` those that a word finds, `labeler COMMAND --help` one. Nearly every command prints JSON with
`--json`. Exit codes: 0 done, 2 usage, 3 some pairs have no grade, 4 stopped at the budget, 5 a gate
failed, 6 a gate cannot tell, 65 bad input, 69 the provider failed, 74 a file, 78 configuration.
All options: reference/commands.md."""


def row(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def table(*columns: str) -> list[str]:
    return [row(*columns), row(*["---"] * len(columns))]


def commands() -> str:
    rows = table("command", "what", "example")
    for name, command in COMMANDS.items():
        anchor = f"labeler-{name.replace(' ', '-')}"
        rows.append(row(f"[`{name}`](#{anchor})", command.summary, f"`{command.example}`"))
    return "\n".join(rows)


def options() -> str:
    """Every command with its arguments and options, as its own help has them."""
    parts = []
    for name, command in COMMANDS.items():
        parts += [f"## labeler {name}", "", command.summary, ""]
        if name == "trec-eval":
            parts += ["Its arguments are trec_eval's.", ""]
            continue
        about = described(command)
        rows = table("argument or option", "what", "default")
        for each in (*about["arguments"], *about["options"]):
            shown = " ".join(f"`{name}`" for name in each["names"]) + f" {each['takes']}".rstrip()
            is_plain = each["default"] not in (None, "") and not isinstance(each["default"], bool)
            usual = f"`{each['default']}`" if is_plain else ""
            rows.append(row(shown, each["help"], usual))
        sections = dict.fromkeys(f"`[{name.partition('.')[0]}]`" for name in about["settings"])
        if sections:
            rows.append(row("`--set` takes", f"the settings of {', '.join(sections)}", ""))
        parts += [*rows, "", f"Example: `{command.example}`", ""]
    return "\n".join(parts).rstrip()


def project_settings() -> str:
    """Every key of `labeler.toml`, section by section."""
    rows = table("setting", "what", "default, or as")
    for section in PROJECT_SECTIONS:
        for key, each in settings_in(section).items():
            usual = each.default if each.option.example is None else each.option.example
            shown = "" if usual in (None, "", ()) else f"`{in_toml(usual)}`"
            rows.append(row(f"`{section}.{key}`", each.option.text, shown))
    return "\n".join(rows)


def llms_text() -> str:
    """What a coding agent reads first: each command in a line, and where the pages are."""
    lines = ["# labeler", "", f"> {ABOUT}", "", HOW_TO_ASK]
    for group in (*SHOWN, *GROUPS, MORE):
        lines += ["", f"## {group}", ""]
        lines += [f"- `{c.example}`: {c.summary}" for c in commands_of(group)]
    return "\n".join(lines) + "\n"


def measures() -> str:
    rows = table("family", "measure", "what")
    for name, definition in MEASURES.items():
        cutoff = "" if definition.cutoff is None else "@k" if definition.needs_cutoff else "[@k]"
        given = ", ".join(f"{key}=" for key in definition.defaults)
        shown = f"`{name}{f'({given})' if given else ''}{cutoff}`"
        rows.append(row(definition.family, shown, definition.description))
    return "\n".join(rows)


def statistics() -> str:
    rows = table("statistic", "what", "from", "to", "undefined where")
    for name, statistic in STATISTICS.items():
        low, high = (("" if end is None else f"{end:g}") for end in (statistic.low, statistic.high))
        rows.append(row(f"`{name}`", statistic.about, low, high, statistic.undefined))
    return "\n".join(rows)


def alarms() -> str:
    return "\n".join(
        [*table("alarm", "what it says"), *(row(f"`{k}`", v) for k, v in KINDS.items())]
    )


def exceptions() -> str:
    rows = table("exception", "exit code", "what it means")
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.LabelerError):
            rows.append(row(f"`{name}`", kind.exit_code, (kind.__doc__ or "").split("\n")[0]))
    return "\n".join(rows)


def python() -> str:
    rows = table("name", "what")
    for name in sorted(set(labeler.__all__) - {"__version__"}, key=str.casefold):
        value = getattr(labeler, name)
        text = (inspect.getdoc(value) or "").split("\n")[0]
        rows.append(row(f"`{name}`", text))
    return "\n".join(rows)


def front_matter() -> str:
    rows = table("key", "what", "value", "default")
    for name, field in FrontMatter.model_fields.items():
        usual = field.get_default(call_default_factory=True, validated_data={})
        default = "needed" if field.is_required() else f"`{in_toml(usual)}`"
        default = "" if usual is None else default
        rows.append(row(f"`{name}`", field.description, in_words(field.annotation), default))
    return "\n".join(rows)


def in_toml(value: Any) -> str:
    """A value as one writes it in a front matter."""
    if isinstance(value, dict | tuple):
        return "[]" if isinstance(value, tuple) else "{}"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def in_words(kind: Any) -> str:
    """A type as somebody who writes TOML would call it."""
    if isinstance(kind, types.UnionType):
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f'`"{value}"`' for value in typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"a table of {', '.join(f'`{key}`' for key in kind.model_fields)}"
    plain = {str: "text", int: "an integer", float: "a number", bool: "`true` or `false`"}
    kinds = {dict: "a table of texts", tuple: "a list of texts"}
    return plain.get(kind) or kinds[typing.get_origin(kind)]


def grading_prompts() -> str:
    columns = ("prompt", "what it asks", "scale", "calls", "tokens", "reason first")
    rows = table(*columns, "source, shown with")
    for prompt in shipped_prompts():
        if prompt.front.kind == "grade":
            facts = facts_of(prompt)
            source = ", shown with ".join(filter(None, [facts["source"], facts["shown with"]]))
            cells = [facts[key] for key in ("what it asks", "scale", "calls a document", "tokens")]
            rows.append(
                row(f"`{prompt.name}`", *cells, "yes" if facts["reason first"] else "", source)
            )
    return "\n".join(rows)


def placeholders() -> str:
    rows = table("kind of prompt", "placeholders")
    for kind, names in PLACEHOLDERS.items():
        rows.append(row(f"`{kind}`", " ".join(f"`{{{name}}}`" for name in names)))
    return "\n".join(rows)


def exports() -> str:
    rows = table("`--to`", "read it with", "takes runs")
    for name, export in EXPORTS.items():
        rows.append(row(f"`{name}`", f"`{export.reader}`", "yes" if export.takes_runs else ""))
    return "\n".join(rows)


def datasets() -> str:
    rows = table("name", "what", "licence")
    for name, path in recipe_files().items():
        recipe = read_recipe(path).recipe
        rows.append(row(f"`{name}`", recipe.title, recipe.licence))
    return "\n".join(rows)


SECTIONS = {
    "commands": commands,
    "options": options,
    "settings": project_settings,
    "measures": measures,
    "statistics": statistics,
    "exceptions": exceptions,
    "alarms": alarms,
    "python": python,
    "front matter": front_matter,
    "grading prompts": grading_prompts,
    "placeholders": placeholders,
    "exports": exports,
    "datasets": datasets,
}


def generated(pages: dict[Path, str]) -> dict[Path, str]:
    """`pages` with every section between its two markers made anew."""
    fresh = dict(pages)
    for name, make in SECTIONS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        places = [path for path, text in fresh.items() if pattern.search(text)]
        if len(places) != 1:
            sys.exit(f"docs/reference: expected one section {name!r}, found {len(places)}")
        made = make()
        fresh[places[0]] = pattern.sub(
            lambda found, made=made: f"{found[1]}\n{made}\n\n{found[2]}", fresh[places[0]]
        )
    return fresh


def main() -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(REFERENCE.glob("*.md"))}
    fresh = generated(pages)
    pages[DOCS / "llms.txt"] = (DOCS / "llms.txt").read_text(encoding="utf-8")
    fresh[DOCS / "llms.txt"] = llms_text()
    stale = [path for path in pages if fresh[path] != pages[path]]
    if "--check" in sys.argv[1:]:
        names = ", ".join(path.name for path in stale)
        sys.exit(f"stale: {names}; run python scripts/reference.py" if stale else 0)
    for path in stale:
        path.write_text(fresh[path], encoding="utf-8")


if __name__ == "__main__":
    main()
