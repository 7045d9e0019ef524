"""Ask candidates about pairs: one session for each model, one prompt of it after another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from labeler.agreement.align import Rules
from labeler.agreement.estimate import StatisticOptions
from labeler.agreement.tune.candidates import Candidate, CandidateAnswers, distinct
from labeler.collection.batches import held_back
from labeler.collection.layout import Collection
from labeler.data import Pair
from labeler.errors import Misuse
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.methods.examples import examples_for
from labeler.judging.methods.inquiries import check_reads
from labeler.judging.session import DEFAULT_PROMPT, IN_HAND
from labeler.model import Model
from labeler.models.control import Control, Underway
from labeler.models.limits import Limits
from labeler.models.session import Selection, Session, SessionOptions, open_session, select_model
from labeler.models.settings import AnyModel
from labeler.prompt import Prompt
from labeler.prompt.shipped import checked_prompt


@dataclass(frozen=True)
class TuneOptions:
    """Who is compared, on which people's grades, by what, and within which limits.

    Every prompt is asked of every model; without any, each assessor's own, or the default.
    `held_out` is the share of queries that nobody is chosen by. Without `halving`, all are
    asked about all pairs. `rules` say how grades are read, `maps` rename them, as of `agree`.
    `concurrency`, `retry_failed`, `redact` and `limits` are as of `JudgeOptions`; the limits
    hold for all candidates together.
    """

    prompts: Sequence[str] = ()
    models: Sequence[AnyModel | None] = (None,)
    base_url: str | None = None
    human: str = "human"
    statistic: str = "kappa"
    held_out: float = 0.5
    halving: bool = True
    seed: int = 0
    draws: int | None = None
    rules: Rules = field(default_factory=Rules)
    maps: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    concurrency: int | None = None
    retry_failed: bool = False
    redact: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def intervals(self) -> StatisticOptions:
        """Of which statistic intervals are made, and how."""
        return StatisticOptions((self.statistic,), draws=self.draws, seed=self.seed)

    def session(self, model: AnyModel | None, *, rehearsal: bool = False) -> SessionOptions:
        """How one of the models is asked."""
        return SessionOptions(
            model,
            None if isinstance(model, Model) else self.base_url,
            self.limits,
            self.concurrency,
            self.redact,
            patient=False,
            rehearsal=rehearsal,
        )


@dataclass(frozen=True)
class ModelPrompts:
    """A model that was chosen, and the candidates that it stands behind."""

    selection: Selection
    candidates: tuple[Candidate, ...]


async def selected(
    options: TuneOptions, control: Control, *, rehearsal: bool = False
) -> tuple[ModelPrompts, ...]:
    """Every model with every prompt, in the order in which they were named."""
    checked, selections = dict[str, Prompt](), list[Selection]()
    prompts_of = list[list[Prompt]]()
    for model in dict.fromkeys(options.models):
        selection = await select_model(
            "judge", options.session(model, rehearsal=rehearsal), control
        )
        names = dict.fromkeys(options.prompts or [selection.options.declared.prompt])
        for name in names:
            if name not in checked:
                checked[name] = checked_prompt(name or DEFAULT_PROMPT, note=control.note)
            check_reads(checked[name], selection.choice.name)
        selections.append(selection)
        reader = selection.options.declared.reader
        prompts_of.append([checked[name].read_by(reader) for name in names])
    prompts = list(checked.values())
    if len({prompt.grades for prompt in prompts}) > 1:
        listed = ", ".join(f"{p.name} {p.grades[0]} to {p.grades[-1]}" for p in prompts)
        problem = f"prompts of several scales have no grades to compare: {listed}"
        raise Misuse(problem, parameter="prompts")
    named = distinct(
        [
            Candidate.of(prompt, selection.options.model, selection.name)
            for selection, prompts in zip(selections, prompts_of, strict=True)
            for prompt in prompts
        ]
    )
    if len(named) < 2:
        raise Misuse("one assessor alone cannot be the best; name two prompts", parameter="prompts")
    left = iter(named)
    return tuple(
        ModelPrompts(selection, tuple(islice(left, len(prompts))))
        for selection, prompts in zip(selections, prompts_of, strict=True)
    )


def names_of(models: Sequence[ModelPrompts]) -> list[str]:
    """The candidates' names, in the order in which they were named."""
    return [candidate.name for model in models for candidate in model.candidates]


@dataclass
class TuneSession:
    """What was asked so far: of each candidate its answers, by the candidate's name.

    A prompt that shows examples of people's grades shows none of the queries `held_out`.
    """

    collection: Collection
    texts: Texts
    options: TuneOptions
    control: Control
    held_out: frozenset[str] = frozenset()
    answers: dict[str, CandidateAnswers] = field(default_factory=dict)

    async def ask(
        self, models: Sequence[ModelPrompts], names: Sequence[str], pairs: Sequence[Pair]
    ) -> None:
        """Ask the named candidates about further pairs; `BudgetReached` ends it.

        A model's prompts are asked one after another, each with its queries in order, so that what
        requests have in common at their beginning is sent in a row.
        """
        for model in models:
            asked = [candidate for candidate in model.candidates if candidate.name in names]
            if asked:
                async with self.open(model.selection) as session:
                    for candidate in asked:
                        await self._ask_one(candidate, session, pairs)

    @asynccontextmanager
    async def open(self, selection: Selection) -> AsyncIterator[Session]:
        """A model that can be asked, as long as the block runs."""
        store, documents = self.collection.store, self.texts.documents.values()
        selection = selection._replace(options=held_back(self.collection, selection.options))
        async with open_session(selection, documents, store, self.control) as session:
            yield session

    async def _ask_one(self, candidate: Candidate, session: Session, pairs: Sequence[Pair]) -> None:
        assessor, guard = self.assessor(candidate, session), session.guard
        at_once = IN_HAND * guard.limiter.limits.at_once
        answers = self.answers.setdefault(candidate.name, CandidateAnswers())
        underway = Underway(len(pairs), guard, asks=assessor.model.is_server)
        with self.control.judging(underway) as on_judged:
            how = PairOptions(at_once, self.options.retry_failed, on_judged, guard.stop)
            async for judged in judge_pairs(pairs, self.texts, assessor, how):
                answers.add(judged)

    def assessor(self, candidate: Candidate, session: Session) -> Assessor:
        """The candidate as an assessor that can be asked in a session."""
        prompt = candidate.prompt
        examples = examples_for(self.collection, "", prompt, self.texts, self.held_out)
        return replace(Assessor.asked_in(session, prompt), examples=examples)
