"""Which sample a rater grades: one that was named, the rater's own, everybody's, or a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labeler.agreement.plan import will_show
from labeler.collection.annotations import Purpose
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.collection.people import read_sample, sample_path
from labeler.errors import Misuse, check_known
from labeler.messages import Note
from labeler.options import option
from labeler.people.sample import DRAW, DrawOptions, draw_for_raters


@dataclass(frozen=True)
class SampleChoice(DrawOptions):
    """Which pairs: `sample` is the id of a sample, be it drawn or routed.

    Where none is said it is the rater's random sample, which is drawn where there is none.
    """

    sample: str | None = option(
        None, "This sample, where there are several.", metavar="ID", panel=DRAW, rare=True
    )


def purposes(collection: Collection) -> dict[str, Purpose]:
    """What each sample of a collection is for: statistics, or the correction of routed pairs.

    A pair that was routed has no chance of being drawn.
    """
    by_id = dict[str, Purpose]()
    for path in sorted((collection.folder / "samples").glob("[!.]*.jsonl")):
        rows = read_sample(sample_path(collection.folder, path.stem))
        by_id[path.stem] = "fix" if any(row.probability is None for row in rows) else "audit"
    return by_id


def draw_of(collection: Collection, sample: str) -> str:
    """The draw that a sample is a rater's part of; of one that was not shared out, the sample."""
    return str(card_section(read_card(collection), "samples", sample).get("draw", sample))


def samples_of(
    collection: Collection, raters: Sequence[str], choice: SampleChoice, note: Note
) -> list[str]:
    """The sample of each rater; drawn where there is none."""
    if choice.sample is not None and choice.pairs is not None:
        raise Misuse("a sample that is there, or a new draw: which one?", parameter="sample")
    by_id = purposes(collection)
    if choice.sample is not None:
        check_known("sample", choice.sample, by_id, "sample")
        return [choice.sample] * len(raters)
    drawn = [sample for sample, purpose in by_id.items() if purpose == "audit"]
    if choice.pairs is None and drawn:
        return [_of_rater(collection, rater, drawn) for rater in raters]
    samples = draw_for_raters(collection, choice, raters, note)
    note("; ".join(will_show(*samples[0].drawn)))
    return [each.id for each in samples]


def _of_rater(collection: Collection, rater: str, samples: Sequence[str]) -> str:
    """The rater's own sample, else the one that is everybody's."""
    card = read_card(collection)
    owners = {sample: card_section(card, "samples", sample).get("rater") for sample in samples}
    own = [sample for sample, owner in owners.items() if owner == rater]
    shared = [sample for sample, owner in owners.items() if owner is None]
    if not own and not shared:
        names = ", ".join(sorted({str(owner) for owner in owners.values()}))
        problem = f"no sample of {rater}: those that were drawn are for {names}"
        raise Misuse(f"{problem}; name one, or how many pairs to draw", parameter="sample")
    usable = own or shared
    if len(usable) > 1:
        raise Misuse(f"which sample? there are: {', '.join(usable)}", parameter="sample")
    return usable[0]
