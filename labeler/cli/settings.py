"""The defaults that a `labeler.toml` gives to options: below options and environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.cli.screen import note
from labeler.errors import Misconfigured
from labeler.files.settings import NAME, ProjectSettings, Value, read_settings

MODELED = frozenset(["model", "base_url", "prices", "concurrency", "max_calls", "max_cost"])
USED: Mapping[str, frozenset[str]] = {
    "build": MODELED | {"prompt", "queries", "depth"},
    "generate": MODELED | {"queries"},
    "judge": MODELED | {"prompt"},
    "pool": frozenset(["depth"]),
    "relabel": frozenset(["prices", "concurrency", "max_calls", "max_cost"]),
    "doctor": frozenset(["model", "base_url", "prices"]),
}
"""The settings that each command reads; `relabel` asks the model of the earlier judgements."""

ENVIRONMENT = {"model": "LABELER_MODEL", "base_url": "OPENAI_BASE_URL"}


def project_settings() -> ProjectSettings:
    """The settings of the current folder, or of the file that `LABELER_CONFIG` names."""
    path = os.environ.get("LABELER_CONFIG", NAME)
    if not path:
        return ProjectSettings()
    settings = read_settings(Path(path))
    if settings.path is None and path != NAME:
        raise Misconfigured(f"{path}: no such file of settings; see LABELER_CONFIG")
    return settings


def shown(settings: ProjectSettings) -> str:
    """One line that says what a file sets, without a password in an address."""
    address = settings.values.get("base_url")
    if address is None:
        return str(settings)
    from labeler.wire.addresses import masked

    return str(replace(settings, values={**settings.values, "base_url": masked(str(address))}))


def defaults_of(command: str, words: Sequence[str]) -> dict[str, Any]:
    """What the file sets for the options of a command, as Typer takes defaults.

    What is used is said on standard error, since the file may have come with somebody's documents.
    """
    if command not in USED or "--help" in words or "-h" in words:
        return {}
    settings = project_settings()
    used: dict[str, Any] = {
        name: value
        for name, value in settings.values.items()
        if name in USED[command] and not _is_set(name, words)
    }
    if _names_embedded(words):
        used.pop("base_url", None)
    if not used:
        return {}
    note(shown(ProjectSettings(settings.path, used)))
    _check_model(settings.path, used.get("model"))
    _check_server(settings.path, used.get("base_url"))
    return used


def _is_set(name: str, words: Sequence[str]) -> bool:
    """Whether an option or the environment says what a setting says."""
    option = f"--{name.replace('_', '-')}"
    is_given = any(word == option or word.startswith(f"{option}=") for word in words)
    return is_given or bool(os.environ.get(ENVIRONMENT.get(name, "")))


def _names_embedded(words: Sequence[str]) -> bool:
    named = [*words, os.environ.get("LABELER_MODEL", "")]
    models = [word.removeprefix("--model=") for word in named]
    has_file = any(word.partition("=")[0] == "--model-file" for word in words)
    return has_file or any(m in {"local", "similarity"} or m.startswith("gguf:") for m in models)


def _check_model(path: Path | None, model: Value | None) -> None:
    """Refuse a file of a model: loading one that came with documents is not safe."""
    if str(model).startswith("gguf:"):
        problem = "a model's file is named by an option or LABELER_MODEL_FILE, not by this file"
        raise Misconfigured(f"{path}: model: {problem}")


def _check_server(path: Path | None, base_url: Value | None) -> None:
    """Refuse to take a key or a text to a server that this file alone names."""
    if base_url is not None:
        from labeler.wire.addresses import server_address
        from labeler.wire.gate import admit

        admit(server_address(str(base_url)), named_by=path)
