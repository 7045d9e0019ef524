"""`judge --ray`: the pool judged by workers on Ray, by partitions in a folder that they share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.collect import check_collected, show_collected
from labeler.cli.numbers import AT_ONCE, COUNT, number
from labeler.cli.reporting import show_outcome
from labeler.cli.signals import run_until_stopped
from labeler.errors import Misuse

if TYPE_CHECKING:
    from labeler.cli.options import OutputFlags
    from labeler.collection.layout import Collection
    from labeler.collection.user_files import Output
    from labeler.judging.judge import JudgeOptions
    from labeler.models.control import Control

RAY = "Ray"
WORKERS = 2


@dataclass(frozen=True, slots=True)
class RayFlags:
    """Where partitions lie, and how many workers judge them on which cluster."""

    ray: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Judge by partitions in this folder, which all machines of a Ray cluster share.",
            rich_help_panel=RAY,
        ),
    ] = None
    workers: Annotated[
        int | None,
        number(
            AT_ONCE,
            help=f"Workers, which share all limits; {WORKERS} by default.",
            show_default=False,
            rich_help_panel=RAY,
        ),
    ] = None
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A running cluster (RAY_ADDRESS); else Ray is started on this machine.",
            rich_help_panel=RAY,
        ),
    ] = None
    partition_rows: Annotated[
        int | None,
        number(
            COUNT,
            help="Pairs of a partition, at least.",
            show_default=False,
            rich_help_panel=RAY,
        ),
    ] = None

    def is_asked(self) -> bool:
        """Whether Ray is to be used; `Misuse` where an option needs the folder that none names."""
        for name in ("workers", "ray_address", "partition_rows"):
            if self.ray is None and getattr(self, name) is not None:
                raise Misuse("it is for workers on Ray; it goes with --ray", parameter=name)
        return self.ray is not None


def judge_on_ray(
    collection: Collection,
    asked: JudgeOptions,
    flags: RayFlags,
    control: Control,
    shown: tuple[OutputFlags, Output | None],
) -> None:
    """Judge on Ray, print what came of it, and end as judging does."""
    from labeler.scale.partitions.on_ray import RayOptions, ajudge_on_ray

    assert flags.ray is not None, "it is what calls this"
    parts = flags.ray
    how = RayOptions(flags.workers or WORKERS, flags.ray_address, flags.partition_rows)
    collected = run_until_stopped(
        lambda stop: ajudge_on_ray(collection, parts, asked, how, control.with_stop(stop))
    )
    show_outcome(collected, show_collected, *shown)
    check_collected(collected)
