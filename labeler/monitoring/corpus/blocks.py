"""What the documents of today say, for the page: counts over the runs, stale pairs, queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from labeler.messages import count_of
from labeler.monitoring.corpus.result import CorpusDrift
from labeler.report.charts import Axis, Moment, control
from labeler.report.page import Block, Chart, Disclosure, Paragraph, TableBlock
from labeler.report.table import Ends

MOST_ROWS = 200
"""Pairs or queries that the page lists; the figures for programs hold all of them."""


def corpus_blocks(drift: CorpusDrift, earlier: Sequence[tuple[datetime, float]]) -> list[Block]:
    """The share of stale judgements at each run, what became of passages, and lists that open."""
    moments = [
        Moment(time.strftime("%Y-%m-%d"), share, limits=Ends(None, drift.watch.stale), at=time)
        for time, share in earlier
    ]
    axis = Axis("stale share of judged pairs", format=".1%", least=0.0)
    over_time = control(f"Stale judgements of {drift.qrels}", moments, axis)
    blocks: list[Block] = [Chart(over_time), TableBlock(drift.table())]
    if drift.stale:
        pairs = count_of(len(drift.stale), "stale judgement", "stale judgements")
        shown = drift.stale_table(MOST_ROWS)
        blocks.append(Disclosure(pairs, [*_left(len(drift.stale)), TableBlock(shown)]))
        blocks.append(Paragraph(f"What mends them: {drift.mended_by}."))
    if drift.touched:
        queries = count_of(len(drift.touched), "query", "queries")
        shown = drift.touched_table(MOST_ROWS)
        title = f"{queries} with relevant documents that are not as they were judged"
        blocks.append(Disclosure(title, [*_left(len(drift.touched)), TableBlock(shown)]))
    return blocks


def _left(count: int) -> list[Block]:
    if count <= MOST_ROWS:
        return []
    return [Paragraph(f"The first {MOST_ROWS} of {count:,}.")]
