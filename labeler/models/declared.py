"""Assessors that are declared in a project: `assessors/NAME.toml`, or a table of `labeler.toml`.

Such a file may come with somebody's documents: it names no key, loads no file of a model, and its
server is trusted only as far as a person named it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from labeler.errors import Misconfigured, Misuse
from labeler.files.settings import ASSESSORS, NAME, read_toml
from labeler.models.settings import AssessorSettings

FOLDER = "assessors"
_SET_HERE = frozenset(["name", "file"])
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
_SECRET = re.compile(r"authorization|api-?key|token|secret|cookie|password", re.IGNORECASE)
_SETTINGS = TypeAdapter(AssessorSettings)
KEYS = tuple(f.name for f in fields(AssessorSettings) if f.name not in _SET_HERE)
"""What a declaration may say."""


def project_file() -> Path:
    """The project's file of settings: that of the current folder, or of LABELER_CONFIG."""
    return Path(os.environ.get("LABELER_CONFIG") or NAME)


def declared_assessors(folder: Path = Path(), project: Path = Path(NAME)) -> dict[str, Path]:
    """The names of the assessors that a project declares, and the file of each."""
    tables = read_toml(project).get(ASSESSORS, {}) if project.is_file() else {}
    if not isinstance(tables, dict):
        problem = f"expected a table for each assessor, as [{ASSESSORS}.NAME]"
        raise Misconfigured(f"{project}: {ASSESSORS}: {problem}")
    return dict.fromkeys(tables, project) | {
        path.stem: path for path in sorted((folder / FOLDER).glob("*.toml"))
    }


def find_assessor(name: str, folder: Path = Path(), project: Path = Path(NAME)) -> AssessorSettings:
    """The assessor of a name, or in a TOML file of its own; `Misuse` where none is declared so."""
    declared = declared_assessors(folder, project)
    if name.endswith(".toml") and Path(name).is_file():
        path, name = Path(name), Path(name).stem
    elif name in declared:
        path = declared[name]
    else:
        close = get_close_matches(name, declared, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        listed = ", ".join(declared) or f"none; write {FOLDER}/{name}.toml"
        raise Misuse(f"no assessor {name!r}; {hint}declared: {listed}", parameter="assessor")
    values = read_toml(path)
    if path == project:
        values = values[ASSESSORS][name]
    return _read(path, name, values)


def _read(path: Path, name: str, values: object) -> AssessorSettings:
    """The settings that a file declares, checked; an error names the file, the line and the key."""
    if not isinstance(values, dict):
        raise Misconfigured(f"{path}: {name}: expected a table of settings")
    try:
        for key in values:
            if key not in KEYS:
                close = get_close_matches(key, KEYS, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise Misuse(f"no such setting; {hint}known: {', '.join(KEYS)}", parameter=key)
        _check_no_secret(values)
        settings = _SETTINGS.validate_json(json.dumps(values))
    except Misuse as error:
        raise Misconfigured(_at(path, error.parameter, str(error))) from error
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise Misconfigured(_at(path, key, first["msg"])) from None
    except (TypeError, ValueError) as error:  # a date, or a number that JSON has not
        raise Misconfigured(f"{path}: expected texts, numbers and tables ({error})") from error
    return replace(settings, name=name, file=str(path))


def _check_no_secret(values: Mapping[str, Any]) -> None:
    """Raise `Misuse`, without the value, where a key stands in place of a variable's name."""
    key = values.get("key")
    if isinstance(key, str) and not _VARIABLE.fullmatch(key):
        problem = "expected the name of the environment variable that holds the key, as MY_API_KEY"
        raise Misuse(problem, parameter="key")
    headers = values.get("headers")
    for header in headers if isinstance(headers, dict) else ():
        if _SECRET.search(header):
            problem = f"{header!r} would hold a secret; name its variable in `key` instead"
            raise Misuse(problem, parameter="headers")
    if str(values.get("model", "")).startswith("gguf:"):
        problem = "a model's file is named by an option or LABELER_MODEL_FILE, not by a file"
        raise Misuse(problem, parameter="model")


def _at(path: Path, key: str, problem: str) -> str:
    """A problem with the file and the line of a key, where the key begins one."""
    last = re.escape(key.rsplit(".", maxsplit=1)[-1])
    lines = path.read_text(encoding="utf-8").splitlines()
    numbers = [n for n, line in enumerate(lines, start=1) if re.match(rf"\s*\W*{last}\W", line)]
    return f"{path}{f':{numbers[0]}' if numbers else ''}: {key}: {problem}"
