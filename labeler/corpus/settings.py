"""How a collection's documents were read, as its card tells it, so that they can be read anew."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from labeler.collection.layout import Collection
from labeler.corpus.blocks import FEWEST, MOST_ASKED, USUAL, lengths_of
from labeler.corpus.documents import Reading
from labeler.corpus.find import FileSelection
from labeler.corpus.ignore import Patterns
from labeler.corpus.read import LARGEST_FILE
from labeler.exchange.fields import FieldNames


def as_settings(how: Reading) -> dict[str, Any]:
    """The settings as the card holds them."""
    selection = how.selection
    return {
        "words": how.lengths.usual,
        "code": how.code,
        "gitignore": selection.gitignore,
        "follow_links": selection.follow_links,
        "include": list(selection.patterns.written[0]),
        "exclude": list(selection.patterns.written[1]),
        "max_file_size": how.max_file_size,
        **{name: value for name, value in asdict(how.fields).items() if value},
    }


def settings_of(section: Mapping[str, Any]) -> Reading:
    """The settings in a card's section; the usual ones where it has none, or something else."""
    held = section.get("settings")
    settings: Mapping[str, Any] = held if isinstance(held, dict) else {}
    words, most = settings.get("words"), settings.get("max_file_size")
    patterns = Patterns.of(*(_texts(settings.get(name)) for name in ("include", "exclude")))
    is_usable = type(words) is int and FEWEST <= words <= MOST_ASKED
    return Reading(
        most if type(most) is int and most > 0 else LARGEST_FILE,
        FileSelection(
            patterns,
            settings.get("gitignore") is not False,
            settings.get("follow_links") is True,
        ),
        FieldNames(**{name: str(settings.get(name) or "") for name in asdict(FieldNames())}),
        lengths_of(words if is_usable and words else USUAL),
        settings.get("code") is True,
    )


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def inputs_from(collection: Collection, inputs: Sequence[str]) -> list[str]:
    """The inputs as paths from the collection's folder, so that both may be moved together."""
    folder = os.path.realpath(collection.folder)
    return [os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/") for path in inputs]


def inputs_of(collection: Collection, section: Mapping[str, Any]) -> list[str]:
    """The inputs that a card's section tells of, as paths that can be read from here."""
    relative = _texts(section.get("inputs_from_here"))
    return [os.path.normpath(collection.folder / path) for path in relative]
