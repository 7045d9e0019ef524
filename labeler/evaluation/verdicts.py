"""Whose grades score systems, whether they may be believed, and what is said of systems by them."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from labeler.arrays import Integers
from labeler.collection.layout import HUMAN, collection_of_qrels
from labeler.collection.user_files import COMPARED, run_name
from labeler.errors import BadInput, about
from labeler.evaluation.inputs import (
    AnyQrels,
    Doubt,
    Kin,
    RunsByName,
    kin_behind,
    pool_from,
    qrels_from,
    qrels_path,
    rank,
    short,
)
from labeler.evaluation.options import FEWEST, EvaluationOptions
from labeler.evaluation.scores import (
    NAMED,
    NOT_KNOWN,
    Comparison,
    CorrectedDifference,
    RunScores,
    listed,
)
from labeler.exchange.qrels import read_qrels
from labeler.messages import Note, command_line, count_of
from labeler.metrics import JudgedPairs, parse
from labeler.report.table import Column, Interval, Table
from labeler.stats.families import FEW
from labeler.trec.pairs import NONE, PairColumns


@dataclass(frozen=True)
class GradesUsed:
    """Whose grades a set of qrels holds, and which other sets lie beside it.

    `models` graded where `whose` is not people. `others` are the collection's other sets by name.
    Of the pairs of a model, people graded `checked` too. Another set may be `filling` the holes;
    `counts` is then how many grades each of both gave, `by_both` by how many pairs of both those in
    the holes are corrected, and `filled` their share of each run's first documents.
    """

    name: str = ""
    whose: str = ""
    models: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    checked: int = 0
    folder: str = ""
    filling: GradesUsed | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    by_both: int = 0
    filled: Mapping[str, float] = field(default_factory=dict)

    def lean(self, run: str) -> float:
        """How far off the grades in the holes may take a run's score, of a measure up to 1.

        A system's own documents are not quite like those that both graded, of which there may be
        few: the share that is filled, times what one of them may be off by on average. As the
        assessor gave them, they may be off by nearly half.
        """
        return self.filled.get(run, 0.0) * (LEAN + 1 / math.sqrt(max(self.by_both, 8)))

    @property
    def assessor(self) -> GradesUsed | None:
        """The assessor among those who graded; None where people did alone, or nobody knows."""
        return self.filling if self.filling else self if self.whose == "model" else None

    @property
    def unchecked(self) -> str:
        """The model among those who graded, of whose pairs people graded hardly any; else empty."""
        by = self.assessor
        return by.name if by and by.whose == "model" and by.checked < ENOUGH_CHECKED else ""

    @property
    def giver(self) -> str:
        """By whose grades: `people's grades (human)`, `gpt's grades, unchecked`."""
        by_people = self.whose == "people"
        own = f"people's grades ({self.name})" if by_people else f"{self.name}'s grades"
        filled = f", with {self.filling.name}'s in the holes" if self.filling else ""
        return f"{own}{filled}{', unchecked' if self.unchecked else ''}"

    def __str__(self) -> str:
        if not self.name:
            return ""
        counted = "; ".join(f"{n:,} of {name}" for name, n in self.counts.items())
        beside = f"; also there: {listed(self.others)}" if self.others else ""
        return f"by {self.giver}{': ' if counted else ''}{counted}{beside}"


LEAN = 0.1
"""How much better or worse one system's documents may be than others of the same grade."""
ENOUGH_CHECKED = 25
"""An assessor of whose pairs people graded fewer is one that nobody checked."""


def grades_used(path: Path) -> GradesUsed:
    """Whose grades a file of qrels holds, as far as its collection tells."""
    where = collection_of_qrels(path)
    if where is None:
        return GradesUsed(short(path.name))
    from labeler.collection.whose import is_of_people, made_by, whose  # takes long to load

    collection, name = where
    folder = str(path.parent.parent)  # as it was given, fit for a command
    others = tuple(other for other in collection.qrels_names() if other != name)
    holder = whose(path)
    if holder != "model":
        return GradesUsed(name, holder, (), others, folder=folder)
    models = made_by(collection, name).models
    people = [other for other in others if is_of_people(collection, other)]
    judged, checked = read_qrels(path), 0
    graded = [judged.beside(read_qrels(collection.qrels(other)), NONE) for other in people]
    if graded:
        checked = int(np.count_nonzero(np.maximum.reduce(graded) >= 0))
    return GradesUsed(name, holder, models, others, checked, folder)


# Holes of a set, filled with the grades of another.


def filled_pool(
    qrels: AnyQrels, runs: RunsByName, options: EvaluationOptions, warn: Note
) -> tuple[JudgedPairs, GradesUsed]:
    """The pool of any qrels, with another set's grades where they have none; and whose these are.

    The other is a set of the same collection, or a file, that the options name. Pairs that a
    comparison had that assessor judge beyond its own count as its own. Where people graded enough
    of its pairs, its grades are corrected (`as_people_grade`). `BadInput` where the two have other
    scales.
    """
    path, fill, stale = qrels_path(qrels), options.fill, options.scoring.stale
    used = GradesUsed() if path is None else grades_used(path)
    if not fill:
        return pool_from(qrels, warn, stale=stale), used
    layers = grade_layers(qrels, fill, warn, stale=stale)
    own, other, whole = (
        PairColumns.of(merged_grades(of), np.int32) for of in (layers[:1], layers[1:], layers)
    )
    paths = fill_paths(path, fill)
    for line in other_prompts(paths):
        warn(line)
    filling, stems = grades_used(paths[0]), [path.stem for path in paths]
    rest = tuple(name for name in used.others if name not in stems)
    # a pool whose grades are places among all pairs
    pool, both = JudgedPairs.of(replace(whole, value=np.arange(whole.size))), 0
    ranked = {name: rank(run, pool)[0] for name, run in runs.items()}
    first = {name: r.grade[r.rank < FIRST_RANKS] for name, r in ranked.items()}
    is_hole = whole.beside(own, NONE) == NONE
    shares = {name: float(is_hole[at].sum() / max(len(at), 1)) for name, at in first.items()}
    if used.whose != "model":
        whole, both = as_people_grade(whole, own, other, np.concatenate([*first.values()]))
    counts = {used.name: own.size, filling.name: whole.size - own.size}
    filled = replace(used, others=rest, filling=filling, counts=counts, by_both=both, filled=shares)
    return JudgedPairs.of(whole, "the qrels" if path is None else str(path)), filled


def as_people_grade(
    whole: PairColumns[int], own: PairColumns[int], other: PairColumns[int], first: Integers
) -> tuple[PairColumns[int], int]:
    """Grades of people, and in their holes an assessor's, drawn as people would grade these pairs.

    Second, by how many pairs that both graded: of fewer than `ENOUGH_CHECKED` the assessor's stay.
    They are among the `first` documents of the runs, places in `whole`, as documents that are
    ranked high are better than others to which an assessor gives the same grade. Of a pair with one
    of its grades each grade of people is as likely as it is there (Little and Rubin 2019,
    Statistical Analysis with Missing Data, chapter 4: stochastic imputation). A grade depends on
    the pair's ids and on these chances alone.
    """
    given, held = (whole.beside(each, NONE) for each in (own, other))
    is_both, holes = (given != NONE) & (held != NONE), np.flatnonzero(given == NONE)
    in_both = np.unique(first[is_both[first]])
    if len(in_both) < ENOUGH_CHECKED or not len(holes):
        return whole, 0
    # what people gave to pairs of each of the assessor's grades; to any, where it gave it to none
    people, values = np.sort(given[in_both]), whole.value.copy()
    alike = {g: np.sort(given[in_both[held[in_both] == g]]) for g in np.unique(held[in_both])}
    for row in holes.tolist():
        digest = hashlib.blake2b("\0".join(whole.pair(row)).encode(), digest_size=8).digest()
        of = alike.get(held[row], people)
        values[row] = of[int.from_bytes(digest, "big") * len(of) >> 64]
    return replace(whole, value=values), len(in_both)


FIRST_RANKS = 10
"""So many first documents of runs tell how people grade what an assessor grades so."""


def other_prompts(paths: Sequence[Path]) -> Iterator[str]:
    """That sets which fill holes were judged by several prompts, or by one that is another now."""
    from labeler.collection.judgements import origin_of  # takes long to load
    from labeler.prompt import prompt_as_it_is  # takes long to load

    prompts = dict[str, str]()
    for path in paths:
        where = collection_of_qrels(path)
        origin = origin_of(where[0].judgements(where[1])) if where else None
        if origin and origin.prompt:
            prompts[origin.prompt] = path.stem
    if len(prompts) > 1:
        each = " and ".join(f"{name} by {prompt}" for prompt, name in prompts.items())
        yield f"grades of two prompts fill the holes: {each}"
    for prompt, name in prompts.items():
        if (now := prompt_as_it_is(prompt)) not in ("", prompt):
            yield f"{name} was judged by an older prompt, {prompt}; it is {now} now"


def merged_grades(layers: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """The grades of several sets, those of earlier ones where two have a pair."""
    merged: dict[str, dict[str, int]] = {}
    for grades in layers:
        for query, row in grades.items():
            merged[query] = {**row, **merged.get(query, {})}
    return merged


def grade_layers(
    qrels: AnyQrels, fill: str, warn: Note, stale: str = "drop"
) -> list[Mapping[str, Mapping[str, int]]]:
    """The grades of any qrels, then those of the set that fills their holes; no negative ones."""
    path, layers = qrels_path(qrels), [qrels_from(qrels, warn, stale=stale)]
    paths = fill_paths(path, fill) if fill else []
    if path is not None and paths:
        check_scales(path, paths[0])
    layers += [qrels_from(path, warn, stale=stale) for path in paths]
    return [
        {
            query: {doc: grade for doc, grade in row.items() if grade >= 0}
            for query, row in of.items()
        }
        for of in layers
    ]


def fill_paths(qrels: Path | None, fill: str) -> list[Path]:
    """The files of a set that fills holes: of the collection that the qrels are of, or a file."""
    origin = collection_of_qrels(qrels) if qrels else None
    if origin is None or Path(fill).is_file():
        return [Path(fill)]
    paths = [
        path for name in (fill, f"{fill}{COMPARED}") if (path := origin[0].qrels(name)).exists()
    ]
    with about("fill"):
        return paths or [origin[0].existing_qrels(fill)]


def check_scales(first: Path, second: object, asked: Sequence[int] = ()) -> None:
    """`BadInput` where qrels, or an assessor who is yet to be `asked`, have another scale."""
    from labeler.collection.scale import top_grade_of  # takes long to load

    tops = top_grade_of(first, asked), max(asked) if asked else top_grade_of(Path(str(second)))
    if None not in tops and tops[0] != tops[1]:
        problem = f"{first} grades up to {tops[0]}, {second} up to {tops[1]}: not one scale"
        raise BadInput(f"{problem}; map one: labeler qrels map", parameter="fill")


# What must hold before the verdict of a comparison counts: enough judged, enough queries, no kin.
#
# A test of scores takes the grades as they are. These rules come before it: where one is broken the
# verdict is `not known`, with the reason and with the command that would change that.

LEAST_JUDGED = 0.7
"""The share of a system's first documents that must be judged: below it a new system is scored by
what nobody looked at."""
PEOPLE_CHECK = 200
"""Pairs that people grade as a rule to check an assessor."""


@dataclass(frozen=True)
class Trust:
    """How far scores by some grades may be believed: the grades, the systems, and their kin.

    `qrels` is the grades' file.
    """

    grades: GradesUsed = field(default_factory=GradesUsed)
    runs: Mapping[str, RunScores] = field(default_factory=dict)
    kin: Mapping[str, Kin] = field(default_factory=dict)
    qrels: str = ""

    def of(
        self,
        names: Sequence[str],
        measure: str,
        queries: int,
        decided: Callable[[], bool] = lambda: False,
    ) -> Doubt | None:
        """The first rule that scores of some runs break; None where they keep all.

        `decided` says, where too little is judged, that no grade of what is unjudged could change
        what is asked.
        """
        if queries < FEWEST:
            few = f"{count_of(queries, 'query is', 'queries are')} too few"
            because = f"{few} (at least {FEWEST})"
            return Doubt(because, self._planning(names[0], measure, queries), "free")
        if self.runs and (doubt := self._holes(names, measure)) and not decided():
            return doubt
        akin = [str(self.kin[name]) for name in names if name in self.kin]
        if not akin or self.grades.assessor is None:
            return None
        because = f"it is circular: {akin[0]}"
        if self.grades.unchecked:
            return self._by_people(because)
        people = self.grades.name if self.grades.filling else self._beside("people")
        sets = self.grades.folder, people, self.grades.assessor.name
        return Doubt(because, command_line("lab", "leaderboard", *sets), "free")

    def believed(self, comparison: Comparison) -> Comparison:
        """The comparison with what is doubtful about it."""
        names, measure = (comparison.run, comparison.baseline), comparison.measure

        def decided() -> bool:
            if len({self.runs[name].mark for name in names}) == 1:  # copies
                return True
            first, second = (self.runs[name].ends(measure) for name in names)
            return bool(first and second) and (
                first["low"] > second["high"] or second["low"] > first["high"]
            )

        doubt = self.of(names, measure, comparison.queries, decided)
        reach = math.hypot(*(self.runs[name].scores.lean for name in names))
        low, high = comparison.low - reach, comparison.high + reach
        if doubt is None and reach and comparison.by_test in TOLD and low <= 0 <= high:
            share, name = max((self.grades.filled[name], name) for name in names)
            because = f"{share:.0%} of the first documents of {name} were holes that are filled"
            price = f"about {share * FIRST_RANKS:.1f} pairs a query"
            doubt = Doubt(because, self._judging(names, measure), price)
        by = self.grades.unchecked
        return replace(comparison, low=low, high=high, doubt=doubt, unchecked=by)

    def against_gate(
        self, names: Sequence[str], measure: str, decided: Callable[[], bool] = lambda: False
    ) -> str:
        """Why scores of some runs cannot be held against a gate; empty where they can."""
        queries = min(len(self.runs[name].scores.queries) for name in names)
        return str(self.of(names, measure, queries, decided) or self.unchecked or "")

    @property
    def unchecked(self) -> Doubt | None:
        """That nobody checked the assessor who gave grades; None where people did."""
        name = self.grades.unchecked
        return self._by_people(f"nobody checked the grades of {name}") if name else None

    def _holes(self, names: Sequence[str], measure: str) -> Doubt | None:
        """That too little of a run is judged."""
        judged = {name: self.runs[name].judged for name in names}
        shares, own = judged[names[0]], f"Judged@{parse(measure).cutoff}"
        what = own if own in shares else next(iter(shares))
        name = min(judged, key=lambda run: judged[run][what])
        share = judged[name][what]
        if share >= LEAST_JUDGED:
            return None
        cutoff = int(what.partition("@")[2])
        holes = round(len(self.runs[name].scores.queries) * (1 - share) * cutoff)
        because = f"{what} of {name} is {share:.2f}, below {LEAST_JUDGED:.2f}"
        command = self._judging(names, measure)
        return Doubt(because, command, f"about {count_of(holes, 'pair')} of {name} without a grade")

    def _judging(self, names: Sequence[str], measure: str) -> str:
        """The command by which unjudged documents of systems get grades, a set's or people's.

        Where there are no texts, or one system alone, it shows what they leave open.
        """
        others, of = [name for name in self.runs if name not in names], self.grades
        systems = [*others[: max(0, 2 - len(names))], *reversed(names)]  # the baseline first
        by = ["-m", measure]
        if len(systems) < 2 or (not of.folder and self.runs[names[0]].file):
            return command_line("evaluate", self.qrels, *self._words(systems), *by, "--scenarios")
        is_of_model = of.whose == "model"
        assessor = "" if is_of_model or of.filling else self._beside("model")
        files: RunsByName = {name: self.runs[name].file or {} for name in systems}
        if assessor and kin_behind(Path(of.folder, "qrels", f"{assessor}.qrels"), files):
            assessor = ""  # its grades in the holes would be circular
        by += ["--fill", assessor] if assessor else ["--sheet", "holes.csv"]
        named_by = "--qrels" if assessor else "--people"
        by += [] if is_of_model or of.name in ("", HUMAN) else [named_by, of.name]
        return command_line("compare", of.folder or "COLL", *self._words(systems, of.folder), *by)

    def _planning(self, name: str, measure: str, queries: int) -> str:
        """The command that says how many queries are needed; of a run alone, what so few say."""
        if len(self.runs) > 1 < queries:
            words, folder = [self.qrels, *self._words(self.runs)], self.grades.folder
            if folder and self._words(self.runs, folder) == [*self.runs]:
                words = [folder, self.grades.name]
            return command_line("power", *words, "-m", measure)
        value = f"{self.runs[name].scores.means()[measure]:.4f}" if self.runs else "0"
        claim = "--measure", measure, "--value", value, "--queries", str(queries)
        return command_line("lab", "audit", *claim)

    def _words(self, names: Iterable[str], folder: str = "") -> list[str]:
        """What commands call systems: their files, named where need be; runs of a `folder` by name.

        A system without a file has its name alone.
        """
        words = list[str]()
        for name in names:
            file = self.runs[name].file
            is_own = file is None or (folder and file.parent == Path(folder) / "runs")
            alone = name if is_own else str(file)
            words.append(alone if file is None or run_name(file) == name else f"{name}={file}")
        return words

    def _beside(self, holder: str) -> str:
        """The first other set of the collection that is of people, or of a model; else empty."""
        from labeler.collection.whose import whose  # takes long to load

        sets = Path(self.grades.folder) / "qrels"
        others = (name for name in self.grades.others if whose(sets / f"{name}.qrels") == holder)
        return next(others, "")

    def _by_people(self, because: str) -> Doubt:
        """What people's grades would change."""
        command = command_line("annotate", self.grades.folder or "COLL")
        return Doubt(because, command, f"at most {PEOPLE_CHECK} pairs by hand")


def scenario_table(runs: Sequence[RunScores]) -> Table:
    """What unjudged documents leave open, a row for each run and measure."""
    columns = [
        *(Column(name, align="left") for name in ("run", "measure")),
        *map(Column, ("score", "unjudged irrelevant", "unjudged of top grade")),
        *(Column(name, only="programs") for name in ("least", "most")),
        Column("least and most", format="", ends=".4f", only="people"),
    ]
    rows = []
    for run in runs:
        means = run.scores.means()
        for name, case in run.scenarios.items():
            ends = Interval(None, case.get("low"), case.get("high"))
            cases = case["unjudged_irrelevant"], case["unjudged_top"]
            rows.append((run.name, name, means[name], *cases, *ends[1:], ends))
    return Table("scenarios", columns, rows)


# What is said of runs that were compared: which may be the best, which can be told apart.

Compared = Comparison | CorrectedDifference
"""A run beside a baseline, by scores as they are or corrected ones."""
TOLD = ("better", "worse", "not the best")
"""The verdicts that tell two runs apart."""


def may_be_best(compared: Sequence[Compared]) -> list[str]:
    """Which runs may be the best, where they were compared with the best of the same scores."""
    of_best = any(c.family in ("best", "may be best") for c in compared)
    if not of_best or all(c.verdict == NOT_KNOWN for c in compared):
        return []
    measure, best = compared[0].measure, compared[0].baseline
    if by := max(c.verdict.partition(" by")[2] for c in compared):  # whose grades, unchecked
        measure = f"{measure}, by{by}"
    names = [best, *(c.run for c in compared if not c.verdict.startswith(TOLD))]
    if len(names) == 1:
        return [f"{best} is the best of these {len(compared) + 1} runs by {measure}."]
    if len(names) > NAMED:
        others = count_of(len(names) - 1, "other", "others")
        return [f"{best} or one of {others} may be the best by {measure}."]
    named = f"{', '.join(names[:-1])} or {names[-1]}"
    return [f"{named} may be the best by {measure}."]


def told_apart(compared: Sequence[Compared], best: str) -> list[str]:
    """Which runs are better or worse than the baseline, and which cannot be told from it."""
    if any(c.family == "all pairs" for c in compared):
        apart = sum(c.verdict.startswith(TOLD) for c in compared)
        return [f"{apart:,} of the {len(compared):,} pairs of runs can be told apart."]
    parts, by_verdict = list[str](), defaultdict[str, list[Compared]](list)
    for each in sorted(compared, key=_rank):
        by_verdict[each.verdict].append(each)
    for verdict, of in by_verdict.items():
        names, p, is_one = listed([c.run for c in of]), [c.p for c in of], len(of) == 1
        if verdict.startswith(TOLD):
            most = "p" if is_one else "p at most"
            parts.append(f"{names} {'is' if is_one else 'are'} {verdict} ({most} {max(p):.2g})")
        elif verdict.startswith("cannot tell apart"):
            least = "p" if is_one else "p at least"
            parts.append(f"{names} cannot be told apart ({least} {min(p):.2g})")
        elif not verdict.startswith("may be the best"):
            parts.append(f"too few queries differ to tell {names} apart by any outcome")
    if not parts:
        return []
    baseline = "it" if compared[0].baseline == best else compared[0].baseline
    return [f"Against {baseline}, {'; '.join(parts)}."]


def _rank(compared: Compared) -> int:
    """Where a verdict comes in a sentence."""
    order = (*TOLD, "may be the best", "cannot tell apart", "unresolvable", "undefined")
    return next(rank for rank, words in enumerate(order) if compared.verdict.startswith(words))


# The columns and the note of their tables.


def beside(compared: Sequence[Compared]) -> list[Column]:
    """The columns of runs and, where there are several, of what each is compared with."""
    run, baseline = Column("run", align="left"), Column("baseline", "against", align="left")
    return [run, baseline] if len({c.baseline for c in compared}) > 1 else [run]


def against(compared: Sequence[Compared]) -> str:
    """What a table says of its one baseline."""
    return "" if len(beside(compared)) > 1 else f"against {compared[0].baseline}"


def allowance(compared: Sequence[Compared]) -> str:
    """What p and intervals allow for, and what they stand on; empty of one pair that is known."""
    runs, pairs = len({c.run for c in compared}), len({(c.run, c.baseline) for c in compared})
    is_doubted = any(c.verdict == NOT_KNOWN for c in compared)
    doubted = "where the verdict is not known, p is by these grades alone"
    allowed = {
        "pair": "",
        "baseline": f"p and intervals allow for the {runs} runs compared with the baseline",
        "best": f"p and intervals allow for the choice of the best of {runs + 1} runs",
        "may be best": f"fewer than {FEW} queries: each run alone may be the best, or is not",
        "all pairs": f"p and intervals allow for all {pairs} pairs of runs",
        "hsd": f"p and intervals allow for all {(runs + 1) * runs // 2} pairs of runs (HSD)",
    }[compared[0].family]
    return "; ".join(filter(None, [allowed, doubted])) if is_doubted else allowed
