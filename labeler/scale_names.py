"""What the grades of a collection's labels are called, as its card and its prompts say."""

from __future__ import annotations

import re
from collections.abc import Collection as Some
from collections.abc import Mapping
from typing import Any

from labeler.formats.collection import Collection, card_section, read_card
from labeler.formats.samples import people_path, read_people
from labeler.prompt import find_prompt, prompt_files

_GRADE = re.compile(r"-?[0-9]+")


def names_of_labels(
    collection: Collection, name: str, prompts: Some[str] = frozenset()
) -> dict[int, str]:
    """The grades' names of a set of labels, empty where nothing says them.

    Of people's, the sheets they graded say them; of an assessor's, its prompt. Otherwise the
    recipe that the collection was fetched by does.
    """
    card = read_card(collection)
    judged = card_section(card_section(card, "judge"), name)
    return (
        _of_sheets(collection, card, name)
        or names_of_prompts(prompts)
        or _named(judged)
        or _named(card_section(card, "fetch"))
    )


def names_of_prompts(prompts: Some[str]) -> dict[int, str]:
    """What the grades are called in the one prompt used, if it is a shipped one, unchanged."""
    name = next(iter(prompts)).partition("@")[0] if len(prompts) == 1 else ""
    if name not in prompt_files():
        return {}
    prompt = find_prompt(name)
    named = {int(grade): text for grade, text in prompt.front.scale.items()}
    return named if {prompt.id} == set(prompts) else {}


def _of_sheets(collection: Collection, card: Mapping[str, Any], name: str) -> dict[int, str]:
    path = people_path(collection.folder, name)
    if not path.exists():
        return {}
    samples, named = card_section(card, "samples"), dict[int, str]()
    for sample in sorted({row.sample for row in read_people(path)}):
        named |= _named(card_section(samples, sample))
    return named


def _named(section: Mapping[str, Any]) -> dict[int, str]:
    """The names of a section's scale; what somebody wrote there that is no name is passed over."""
    return {
        int(grade): text
        for grade, text in card_section(section, "scale").items()
        if _GRADE.fullmatch(grade) and isinstance(text, str) and text
    }
