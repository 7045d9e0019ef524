"""`labeler.toml`: what a project's commands have in common, in the folder where they are started.

The file may come with somebody's documents: it names no key, and nothing in it is run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from labeler.errors import Misconfigured
from labeler.files.read import file_problems

NAME = "labeler.toml"
LARGEST = 64 * 1024

ASSESSORS = "assessor"
"""The table of the assessors that the file declares, each by its name."""

Value = str | int | float

TEXT, WHOLE, AMOUNT = (str,), (int,), (int, float)
KINDS: Mapping[tuple[type, ...], str] = {
    TEXT: "a text in quotation marks",
    WHOLE: "a whole number",
    AMOUNT: "a number",
}
SETTINGS: Mapping[str, tuple[type, ...]] = {
    "model": TEXT,
    "base_url": TEXT,
    "prompt": TEXT,
    "prices": TEXT,
    "queries": WHOLE,
    "depth": WHOLE,
    "concurrency": WHOLE,
    "max_calls": WHOLE,
    "max_cost": AMOUNT,
}
"""What may stand in the file, and of which kind it is."""

TEMPLATE = """\
# Settings of the labeler commands that are started in this folder.
# An option beats the environment, and the environment beats this file.
# API keys do not belong here: they are read from OPENAI_API_KEY alone.

# model = "gpt-4.1-mini"                    # or "local", "similarity" (LABELER_MODEL)
# base_url = "http://127.0.0.1:8000/v1"     # an OpenAI-compatible server (OPENAI_BASE_URL);
#                                           # which is asked once you `labeler trust` it
# prompt = "four-grades"                    # the grading prompt's name, or a file
# queries = 50                              # queries to write
# depth = 10                                # documents of each run to pool
# concurrency = 16                          # calls under way at once
# max_calls = 5000                          # stop before more calls
# max_cost = 5.0                            # stop before more dollars
# prices = "prices.toml"                    # your own prices; labeler doctor shows the format

# An assessor with a name; or the same lines in a file of its own, assessors/mini.toml. Its key
# is the name of the variable that holds the key:
# assessor.mini = { model = "gpt-5-mini", reasoning_effort = "low", key = "OPENAI_API_KEY" }
"""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of a file, by name; `path` is None where there is no file."""

    path: Path | None = None
    values: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        """One line that says what the file sets."""
        listed = ", ".join(f"{name} = {value!r}" for name, value in self.values.items())
        return f"{self.path} sets {listed or 'nothing'}"


def read_settings(path: Path = Path(NAME)) -> ProjectSettings:
    """The settings of a file; none where there is no such file."""
    if not path.is_file():
        return ProjectSettings()
    values = read_toml(path)
    values.pop(ASSESSORS, None)
    for name, value in values.items():
        _check(path, name, value)
    return ProjectSettings(path, values)


def read_toml(path: Path) -> dict[str, Any]:
    """What a file of settings holds, of bounded size; `Misconfigured` where it is no TOML."""
    with file_problems(path), path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Misconfigured(f"{path}: larger than settings are ({LARGEST:,} bytes)")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Misconfigured(f"{path}: not TOML: {error or 'nested too deep'}") from error


def _check(path: Path, name: str, value: object) -> None:
    if "key" in name.lower():
        problem = "a key does not belong in a file; set OPENAI_API_KEY instead"
        raise Misconfigured(f"{path}: {name}: {problem}")
    if name not in SETTINGS:
        close = get_close_matches(name, SETTINGS, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise Misconfigured(f"{path}: no setting {name!r}; {hint}known: {', '.join(SETTINGS)}")
    kinds = SETTINGS[name]
    if type(value) not in kinds:
        raise Misconfigured(f"{path}: {name}: expected {KINDS[kinds]}, found {value!r:.60}")
