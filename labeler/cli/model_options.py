"""Options of the commands that ask a model: which one, and what is shown meanwhile."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

from labeler.cli.options import Without
from labeler.models.settings import MODEL, AssessorSettings
from labeler.options import OUTPUT, Option, option

Options = TypeVar("Options")

BASE_URL = Option(
    "The address of an OpenAI-compatible server (OPENAI_BASE_URL).", metavar="URL", panel=MODEL
)

ASSESSOR_NAME = Option(
    "An assessor declared in assessors/NAME.toml or labeler.toml; with --model and "
    "--prompt, another model or prompt in place of its own.",
    metavar="NAME",
    panel=MODEL,
)


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """The server that is asked, where nothing else says which."""

    base_url: str | None = option(None, BASE_URL)


@dataclass(frozen=True, slots=True)
class NamedModel:
    """Who is asked, where that is said for this time: a model by its name, or an assessor."""

    model: str | None = option(
        None,
        "A server's model, or local, similarity, gguf:PATH. Default: LABELER_MODEL; "
        "without a key and a server, an embedded model.",
        panel=MODEL,
    )
    base_url: str | None = option(None, BASE_URL)
    assessor: str = option("", ASSESSOR_NAME)

    def asked(self) -> AssessorSettings | str | None:
        """The model to ask; None where none is named.

        A model's name beside an assessor's is asked in place of the one that is declared.
        """
        from labeler.models.choose import find_assessor

        if not self.assessor:
            return self.model
        declared = find_assessor(self.assessor)
        return replace(declared, model=self.model, name="") if self.model else declared

    def asking(self, options: Options, **others: Any) -> Options:
        """The options of whatever asks a model, with the model that is asked."""
        return replace(options, model=self.asked(), base_url=self.base_url, **others)  # type: ignore[type-var]  # all have both


@dataclass(frozen=True, slots=True)
class ModelFlags(NamedModel):
    """Who is asked: the one named for this time, else the model that `labeler.toml` has."""

    declared: AssessorSettings = field(default_factory=AssessorSettings)

    def asked(self) -> AssessorSettings | str | None:
        """The model to ask: the declared assessor, or what `labeler.toml` has under `[model]`."""
        from labeler.models.choose import is_embedded_name
        from labeler.models.settings import Limits

        named = NamedModel.asked(self)
        if isinstance(named, AssessorSettings):
            return named
        name = named or self.declared.model
        whole = replace(self.declared, model=name, limits=Limits(), concurrency=None)
        if self.base_url or is_embedded_name(name or os.environ.get("LABELER_MODEL", "")):
            whole = replace(whole, server="", file="")
        return (name or None) if replace(whole, file="") == AssessorSettings(model=name) else whole


@dataclass(frozen=True, slots=True)
class ShownFlags:
    """Whether anything is asked at all, what is shown meanwhile, and where replies are kept."""

    dry_run: bool = option(False, "Ask nothing; say how much would be asked, and show it.")
    quiet: bool = option(False, "Show no progress.", panel=OUTPUT)
    store: str = option(
        "",
        "Keep replies in a PostgreSQL database that machines share, as "
        "postgresql://user@host/database (LABELER_STORE; its password in PGPASSWORD).",
        section="store",
        key="url",
        variable="LABELER_STORE",
        is_address=True,
    )

    def __post_init__(self) -> None:
        """Have every collection of this process keep its replies there."""
        if self.store:
            from labeler.store.address import DatabaseAddress

            os.environ["LABELER_STORE"] = str(DatabaseAddress.of(self.store))


TakingFlags = Annotated[ShownFlags, Without(["dry_run"])]
"""The same of a command that has no plan to show."""
