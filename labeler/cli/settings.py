"""What `labeler.toml` and `--set` say of options, which come below flags and the environment."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_origin

from labeler.cli.screen import note
from labeler.errors import Misconfigured, Misuse
from labeler.files.settings import ASSESSORS, NAME, read_toml
from labeler.messages import meant_or_known
from labeler.options import UNSET, Declared, options_of

Sections = Mapping[str, Mapping[str, Any]]
"""What is said of options, by section and key."""

SECTIONS = {
    "model": ("models.settings:AssessorSettings", "models.settings:Limits"),
    "budget": ("models.settings:Limits",),
    "store": ("cli.model_options:ShownFlags", "judging.judge:JudgeOptions"),
    "encoder": ("models.settings:EncoderOptions",),
    "reading": ("corpus.ingest:IngestOptions",),
    "fields": ("exchange.fields:FieldNames",),
    "passages": ("queries.set_aside:PassageRules",),
    "filters": ("queries.filter:FilterRules",),
    "generate": ("queries.generate:GenerateOptions",),
    "pool": ("pools.pool:PoolOptions",),
}
"""The sections of `labeler.toml`, and the records whose options may stand in each."""


def settings_in(section: str) -> dict[str, Declared]:
    """The options that may stand in a section, by their keys."""
    settings: dict[str, Declared] = {}
    for path in SECTIONS[section]:
        module, _, record = path.partition(":")
        for each in options_of(getattr(import_module(f"labeler.{module}"), record)):
            if each.option.section == section:
                settings.setdefault(each.key, each)
    return settings


@dataclass(frozen=True)
class Project:
    """What a file of settings says, and what `--set` says for this time, by section and key.

    `used` collects what was taken out of the file, which may have come with somebody's documents.
    """

    path: Path | None = None
    in_file: Sections = field(default_factory=dict)
    given: Sections = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)

    def value_of(self, each: Declared) -> Any:
        """The value of an option: as `--set` gives it, as the file says, or else `UNSET`."""
        section, variable = each.option.section, each.option.variable
        if each.key in self.given.get(section, {}):
            return each.converted(self.given[section][each.key])
        value = self.in_file.get(section, {}).get(each.key)
        if value is None or (variable and os.environ.get(variable)):
            return UNSET
        self._check_safe(each, str(value))
        self.used[each.setting] = value
        return each.converted(value)

    def marked(self, record: Any) -> Any:
        """A record of options; what the file says of an assessor says where it was declared."""
        if self.used.keys().isdisjoint(("model.server", "model.key")):
            return record
        from labeler.models.settings import AssessorSettings

        declared = getattr(record, "declared", None)
        if isinstance(declared, AssessorSettings):
            return replace(record, declared=replace(declared, file=str(self.path)))
        return record

    def tell(self) -> None:
        """Say on standard error what the file set."""
        if self.used:
            from labeler.wire.addresses import masked

            shown = {n: masked(v) if "://" in str(v) else v for n, v in self.used.items()}
            listed = ", ".join(f"{name} = {value!r}" for name, value in shown.items())
            note(f"{self.path} sets {listed}")

    def _check_safe(self, each: Declared, value: str) -> None:
        """Refuse what a file alone must not say: what is loaded, and who gets texts and keys.

        Loading a model's file that came with documents is not safe.
        """
        kind, colon, _ = value.partition(":")
        if colon and kind in _FILES.get(each.setting, ()):
            raise Misconfigured(
                f"{self.path}: {each.setting}: {kind}:PATH is named by an option or the "
                "environment, not by this file"
            )
        if each.option.is_address:
            from labeler.wire.addresses import Place, masked
            from labeler.wire.gate import check_named

            check_named(Place.of(value), masked(value), self.path)


_FILES = {"model.model": ("gguf",)}
"""The settings that may name a file of a model, and what stands before it."""


def project_path() -> Path | None:
    """The file of settings: in the current folder, or the one that `LABELER_CONFIG` names.

    None where there is none.
    """
    name = os.environ.get("LABELER_CONFIG", NAME)
    if name and not Path(name).is_file() and name != NAME:
        raise Misconfigured(f"{name}: no such file of settings; see LABELER_CONFIG")
    return Path(name) if name and Path(name).is_file() else None


def read_project(settings: Mapping[str, Declared], given: Iterable[str]) -> Project:
    """What is said of the settings of a command; errors name those that are known."""
    if not settings:
        return Project()
    path = project_path()
    return Project(path, {} if path is None else checked_sections(path), _given(settings, given))


def checked_sections(path: Path) -> Sections:
    """The sections of a file; `Misconfigured` where one, or a key or a value in it, is unknown."""
    sections = read_toml(path)
    sections.pop(ASSESSORS, None)
    for section, values in sections.items():
        if section not in SECTIONS or not isinstance(values, dict):
            problem = f"no section [{section}]; {meant_or_known(section, [*SECTIONS, ASSESSORS])}"
            if section in SECTIONS:
                problem = f"no section [{section}] of settings, found {values!r:.60}"
            elif "key" in section.lower():
                problem = "a key does not belong in a file; set OPENAI_API_KEY instead"
            raise Misconfigured(f"{path}: {section}: {problem}")
        settings = settings_in(section)
        for key, value in values.items():
            if key not in settings:
                problem = f"no setting {key!r}; {meant_or_known(key, settings)}"
                raise Misconfigured(f"{path}: {section}: {problem}")
            if problem := _problem(settings[key], value):
                raise Misconfigured(f"{path}: {section}.{key}: {problem}")
    _check_model(sections, str(path))
    return sections


def _check_model(sections: Sections, where: str) -> None:
    """Refuse a key, or what would hold a secret, among the settings of the model."""
    from labeler.models.choose import check_no_secret

    try:
        check_no_secret(sections.get("model", {}))
    except Misuse as error:
        raise Misconfigured(f"{where}: model.{error.parameter}: {error}") from error


def _given(settings: Mapping[str, Declared], words: Iterable[str]) -> Sections:
    """What `--set` gives, by section and key."""
    given: dict[str, dict[str, Any]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in settings:
            problem = f"no setting {name!r}" if equals else f"expected SECTION.KEY=VALUE: {word!r}"
            raise Misuse(f"{problem}; {meant_or_known(name, settings)}", parameter="set_")
        each, (section, _, key) = settings[name], name.partition(".")
        value = text if str in _types(each) else _of_toml(text)
        if problem := _problem(each, value):
            raise Misuse(f"{name}: {problem}", parameter="set_")
        given.setdefault(section, {})[key] = value
    _check_model(given, "--set")
    return given


def _of_toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


_WORDS: Mapping[type, str] = {
    str: "a text in quotation marks",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
"""What may stand in a file, in words."""


def _types(each: Declared) -> Sequence[type]:
    """The types of TOML that an option takes."""
    types: list[type] = []
    for kind in each.kinds:
        origin = get_origin(kind)
        if kind in _WORDS:
            types += [int, float] if kind is float else [kind]
        elif origin in (tuple, Sequence):
            types.append(list)
        else:
            types.append(dict if origin is Mapping else str)
    return tuple(types)


def _problem(each: Declared, value: object) -> str:
    """What is wrong with the type of a value; empty where nothing is."""
    types = _types(each)
    if type(value) in types:
        return ""
    return f"expected {_WORDS[types[-1]]}, found {value!r:.60}"


def template() -> str:
    """A file of settings whose every line is a comment: all options of all sections."""
    lines = [_HEAD]
    for section in SECTIONS:
        lines.append(f"\n[{section}]")
        for key, each in settings_in(section).items():
            usual = each.example
            if usual is not None:
                value = list(usual) if isinstance(usual, tuple) else usual
                line = f"# {key} = {json.dumps(value, default=str)}"
                lines.append(f"{line:42}# {each.option.text}")
    return "\n".join([*lines, _ASSESSORS])


_HEAD = """\
# Settings of the labeler commands that are started in this folder.
# An option beats the environment, and the environment beats this file.
# API keys do not belong here: they are read from OPENAI_API_KEY alone.
# A server that this file names is asked once you `labeler trust` it."""

_ASSESSORS = """
# [model] is the assessor without a name. One with a name has the same keys, here or in a file of
# its own, assessors/mini.toml. Its key is the name of the variable that holds the key:
# [assessor.mini]
# model = "gpt-5-mini"
# reasoning_effort = "low"
# key = "OPENAI_API_KEY"
"""
