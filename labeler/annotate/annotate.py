"""`annotate`: a collection's pairs on a page, on which people grade them."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labeler.annotate.grade import grading, purpose_of
from labeler.annotate.journal import RatingJournal
from labeler.annotate.session import RatingSession
from labeler.collection.annotations import journal_path
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection, check_name, open_collection, safe_name
from labeler.collection.lock import Note
from labeler.collection.people import read_sample, sample_path
from labeler.errors import Misuse, about
from labeler.people.sample import SampleDesign, draw_for_raters

PAIRS = 200
"""How many pairs are drawn where nobody says so, as `sample` does."""


@dataclass(frozen=True)
class AnnotateOptions:
    """Who grades, and what: `sample` is the id of one, `routed` the pairs that were routed.

    Where neither is said it is the rater's random sample, which is drawn where there is none: so
    many `pairs`, balanced over the grades of `source`. Of several raters each grades `overlap` of
    them, and a part of the others.
    """

    raters: tuple[str, ...] = ()
    sample: str | None = None
    routed: bool = False
    pairs: int | None = None
    source: str | None = None
    overlap: float = 0.2
    seed: int = 0


def rating_sessions(
    collection: Collection,
    options: AnnotateOptions | None = None,
    note: Note = lambda _line: None,
) -> list[RatingSession]:
    """A session for each rater, to be served; what was answered before is in it.

    >>> from labeler.annotate.task import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> (session,) = rating_sessions(small_collection(), AnnotateOptions(("anna",)))
    >>> session.state()["item"]["query"]["text"]
    'where do cats sleep'
    >>> session.answer(RaterAnswer(session.state()["item"]["id"], grade=3))["progress"]["done"]
    1
    """
    options = options or AnnotateOptions()
    opened = open_collection(collection)
    with about("rater"):
        raters = [check_name(rater) for rater in options.raters or (login_name(),)]
    if len(set(raters)) < len(raters):
        raise Misuse("a rater is named twice", parameter="rater")
    samples = _samples(opened, raters, options, note)
    tasks = {sample: grading(opened, sample) for sample in dict.fromkeys(samples)}
    for line in dict.fromkeys(line for task in tasks.values() for line in task.notes):
        note(line)
    return [
        RatingSession(rater, tasks[sample], RatingJournal(journal_path(opened, rater)))
        for rater, sample in zip(raters, samples, strict=True)
    ]


def login_name() -> str:
    """The name under which somebody works at this machine, as a rater's name."""
    try:
        return safe_name(getpass.getuser()).lstrip(".") or "rater"
    except (OSError, KeyError):  # the system knows no name
        return "rater"


def _samples(
    collection: Collection, raters: Sequence[str], options: AnnotateOptions, note: Note
) -> list[str]:
    """The sample of each rater; drawn where there is none."""
    if sum((options.sample is not None, options.routed, options.pairs is not None)) > 1:
        problem = "a sample that is there, routed pairs, or a new draw: which one?"
        raise Misuse(problem, parameter="sample")
    kinds = _kinds(collection)
    if options.sample is not None:
        return [_named(collection, options.sample, kinds)] * len(raters)
    if options.routed:
        routed = [sample for sample, kind in kinds.items() if kind == "fix"]
        return [_only(routed, "routed sample", "`route` with a sheet makes one")] * len(raters)
    drawn = [sample for sample, kind in kinds.items() if kind == "audit"]
    if options.pairs is None and drawn:
        return [_of_rater(collection, rater, drawn) for rater in raters]
    wish = (None, PAIRS) if options.pairs is None else (options.pairs, None)
    design = SampleDesign(wish[0], None, options.overlap, options.seed, up_to=wish[1])
    return [each.id for each in draw_for_raters(collection, options.source, design, raters, note)]


def _kinds(collection: Collection) -> Mapping[str, str]:
    """The samples of a collection by id, each with its purpose."""
    return {
        path.stem: purpose_of(collection, path.stem, read_sample(path))
        for path in sorted((collection.folder / "samples").glob("[!.]*.jsonl"))
    }


def _named(collection: Collection, sample: str, kinds: Mapping[str, str]) -> str:
    with about("sample", "name"):
        path = sample_path(collection.folder, sample)
    if not path.exists():
        listed = ", ".join(kinds) or "none"
        raise Misuse(f"no sample {sample!r}; there are: {listed}", parameter="sample")
    return sample


def _of_rater(collection: Collection, rater: str, samples: Sequence[str]) -> str:
    """The rater's own sample, else the one that is everybody's."""
    entries = card_section(read_card(collection), "samples")
    owners = {sample: card_section(entries, sample).get("rater") for sample in samples}
    own = [sample for sample, owner in owners.items() if owner == rater]
    shared = [sample for sample, owner in owners.items() if owner is None]
    if not own and not shared:
        names = ", ".join(sorted({str(owner) for owner in owners.values()}))
        problem = f"no sample of {rater}: those that were drawn are for {names}"
        raise Misuse(f"{problem}; name one, or how many pairs to draw", parameter="sample")
    return _only(own or shared, "sample", "name how many pairs to draw")


def _only(samples: Sequence[str], what: str, advice: str) -> str:
    if not samples:
        raise Misuse(f"the collection has no {what}; {advice}", parameter="sample")
    if len(samples) > 1:
        raise Misuse(f"which {what}? there are: {', '.join(samples)}", parameter="sample")
    return samples[0]
