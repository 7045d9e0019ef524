"""What the grades of a collection's qrels are called, as its card and its prompts say."""

from __future__ import annotations

from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection, collection_of_qrels
from labeler.collection.people import people_path, read_people
from labeler.errors import BadInput
from labeler.prompt import find_prompt, prompt_files
from labeler.prompt.template import GRADE


def grade_names(
    collection: Collection, name: str, prompts: Some[str] = frozenset()
) -> dict[int, str]:
    """The names of the grades of the qrels `name`, empty where nothing says them.

    They are those of the sheets that people graded, else of the prompt that was used, else of the
    recipe that the collection was fetched by.
    """
    card = read_card(collection)
    judged = card_section(card, "judge", name)
    return (
        _of_sheets(collection, card, name)
        or names_of_prompts(prompts)
        or _names_in(judged)
        or _names_in(card_section(card, "fetch"))
    )


def names_of_prompts(prompts: Some[str]) -> dict[int, str]:
    """What the grades are called in the one prompt used, if it is a shipped one, unchanged."""
    name = next(iter(prompts)).partition("@")[0] if len(prompts) == 1 else ""
    if name not in prompt_files():
        return {}
    prompt = find_prompt(name)
    names = {int(grade): text for grade, text in prompt.front.scale.items()}
    return names if {prompt.id} == set(prompts) else {}


def _of_sheets(collection: Collection, card: Mapping[str, Any], name: str) -> dict[int, str]:
    path = people_path(collection.folder, name)
    if not path.exists():
        return {}
    samples, names = card_section(card, "samples"), dict[int, str]()
    for sample in sorted({row.sample for row in read_people(path)}):
        names |= _names_in(card_section(samples, sample))
    return names


def _names_in(section: Mapping[str, Any]) -> dict[int, str]:
    """The names of the grades in a section's scale; an entry that is no name is passed over."""
    return {
        int(grade): text
        for grade, text in card_section(section, "scale").items()
        if GRADE.fullmatch(grade) and isinstance(text, str) and text
    }


def card_top_grade(folder: Path, name: str | None = None, asked: Iterable[int] = ()) -> int | None:
    """The scale's top grade, where the collection's card says what its grades may be.

    The scale is that on which the qrels `name` were judged, else upstream's, else that of the
    sheets which people filled in, else the widest of what was judged, or is to be `asked` for.
    """
    collection = Collection(folder)
    card = read_card(collection)
    judged = _grades_by_name(collection, card, "judge")
    sampled = _grades_by_name(collection, card, "samples")
    fetched = card_section(card, "fetch", "grades")
    scales = (
        judged.get(name or "", []),
        _grades(collection, "fetch", fetched.values()),
        [grade for scale in sampled.values() for grade in scale],
        [*asked, *(grade for scale in judged.values() for grade in scale)],
    )
    return max(next(filter(None, scales), []), default=None)


def sample_scale(collection: Collection, sample: str) -> dict[int, str]:
    """The grades that a sample's sheet may hold, with their names, empty where one has none.

    `BadInput` where the card does not say them.
    """
    section = card_section(read_card(collection), "samples", sample)
    grades = _grades(collection, "samples", card_section(section, "scale"))
    if not grades:
        problem = f"no scale of the sample {sample!r}, by which its sheet is checked"
        raise BadInput(f"{collection.card}: {problem}; draw it again with the same seed")
    names = _names_in(section)
    return {grade: names.get(grade, "") for grade in sorted(grades)}


def _grades_by_name(
    collection: Collection, card: Mapping[str, Any], section: str
) -> dict[str, list[int]]:
    """The grades of the scale that each entry of a section names."""
    entries = card_section(card, section)
    scales = {name: card_section(entries, name, "scale") for name in entries}
    return {name: _grades(collection, section, scale) for name, scale in scales.items()}


def _grades(collection: Collection, section: str, grades: Iterable[object]) -> list[int]:
    """The grades of a scale; `BadInput` where the card has something else for one."""
    texts = [grade if isinstance(grade, str) else repr(grade) for grade in grades]
    for text in texts:
        if not GRADE.fullmatch(text):
            problem = f"expected the integer grades of a scale in {section!r}, found {text[:40]!r}"
            raise BadInput(f"{collection.card}: {problem}")
    return [int(text) for text in texts]


def top_grade_of(qrels: Path, asked: Iterable[int] = ()) -> int | None:
    """The top grade of qrels that stand where a collection keeps them, as its card says."""
    where = collection_of_qrels(qrels)
    return None if where is None else card_top_grade(where[0].folder, where[1], asked)
