"""What is wrong with the cut points that make grades of a value, and with comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from labeler.prompt.front import FrontMatter
from labeler.prompt.problem import PromptProblem
from labeler.prompt.source import Source


def cut_problems(
    line: int, cuts: Sequence[float], steps: int, value: str, ends: tuple[int, int]
) -> Iterator[PromptProblem]:
    """Whether so many cut points rise, and each parts what a `value` from end to end can be."""
    low, high = ends
    if len(cuts) != steps:
        problem = f"{len(cuts)} cut points for a scale of {steps + 1} grades"
        problem += f"; write {steps}, the least value of each but the lowest"
        yield PromptProblem(line, problem)
    elif any(first >= second for first, second in pairwise(cuts)):
        yield PromptProblem(line, "the cut points do not rise; write them in ascending order")
    elif outside := [cut for cut in cuts if not low < cut <= high]:
        problem = f"the {value} goes from {low} to {high}, and a cut point at {outside[0]:g}"
        yield PromptProblem(line, f"{problem} parts nothing; write one above {low}, to {high}")


def comparison_problems(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """What keeps comparisons from making grades of the scale."""
    comparisons, line = front.comparisons, source.line_of("comparisons")
    assert comparisons is not None  # the caller looked
    if front.has_parts or front.batch > 1:
        problem = "comparisons go without criteria, questions and lists; leave those out"
        yield PromptProblem(line, problem)
    if front.reason:
        problem = "a comparison has no reason; write reason = false"
        yield PromptProblem(source.line_of("reason"), problem)
    if front.reply != "json":
        problem = 'a comparison is answered with an object; write reply = "json"'
        yield PromptProblem(source.line_of("reply"), problem)
    line = source.line_of("cuts", "comparisons")
    yield from cut_problems(line, comparisons.cuts, len(front.scale) - 1, "share", (0, 1))
