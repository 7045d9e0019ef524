"""Write the parts of README.md that are read from the registries; `--check` only compares.

python scripts/readme.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from labeler.cli import COMMANDS, summary_of
from labeler.metrics import MEASURES

README = Path(__file__).resolve().parent.parent / "README.md"


def commands_table() -> str:
    rows = ["| command | what | example |", "|---|---|---|"]
    for name, command in COMMANDS.items():
        rows.append(f"| `{name}` | {summary_of(command)} | `{command.example}` |")
    return "\n".join(rows)


def measures_table() -> str:
    rows = ["| family | measure | what |", "|---|---|---|"]
    for name, definition in MEASURES.items():
        cutoff = {"required": "@k", "optional": "[@k]", "none": ""}[definition.cutoff]
        given = ", ".join(f"{key}=" for key in definition.defaults)
        shown = f"`{name}{f'({given})' if given else ''}{cutoff}`"
        rows.append(f"| {definition.family} | {shown} | {definition.description} |")
    return "\n".join(rows)


SECTIONS = {"commands": commands_table, "measures": measures_table}


def generated(text: str) -> str:
    """`text` with every section between its two markers made anew."""
    for name, make in SECTIONS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text, count = pattern.subn(lambda found, make=make: f"{found[1]}{make()}\n{found[2]}", text)
        if count != 1:
            sys.exit(f"README.md: expected one section {name!r}, found {count}")
    return text


def main() -> None:
    there = README.read_text(encoding="utf-8")
    fresh = generated(there)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if fresh == there else "README.md is stale: run python scripts/readme.py")
    README.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
