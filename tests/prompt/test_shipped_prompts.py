"""Each shipped prompt: its facts, its cost before it is paid, and that it renders the same."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from every_row import every_row

from labeler.data import Document, Pair, Query
from labeler.judging.assessor import Assessor, texts_of, values_of
from labeler.judging.job import texts_of as texts_of_collection
from labeler.judging.judge import ajudge, judge
from labeler.judging.methods.inquiries import Inquiries
from labeler.people.sheet import instructions
from labeler.prompt import find_prompt, prompt_files, read_prompt
from labeler.prompt.listing import facts_of, shipped_prompts, tokens_of
from labeler.testing import fake_model, small_collection

GRADING = [prompt.name for prompt in shipped_prompts() if prompt.front.kind == "grade"]
ONE_CALL = [
    "basic",
    "binary",
    "by-topic",
    "intent-trust",
    "product",
    "sufficient",
    "terse",
    "four-grades",
]


@every_row("name", GRADING)
def test_a_prompt_that_asks_for_nothing_but_an_object_asks_for_no_other_words(name: str) -> None:
    """Steps are to be thought through, and not written down, where no reason is read."""
    prompt = find_prompt(name)
    asked = prompt.turns[-1].content
    speaks_first = re.search(r"^(First|Then|Next) (tell|say|write|name|list)\b", asked, re.M)
    assert prompt.front.reason or speaks_first is None


@every_row("path", prompt_files().values(), ids=prompt_files())
def test_each_prompt_says_that_what_it_shows_is_material_and_no_instruction(path: Path) -> None:
    prompt = read_prompt(path)
    asked = [prompt.turns, prompt.question_writer.turns if prompt.question_writer else prompt.turns]
    for turns in asked:
        words = "\n".join(turn.content for turn in turns)
        assert re.search(
            r"\b(material|data only)\b[^.]*\b(never|ignore any) (an )?instruction", words
        )


def test_prompts_of_the_literature_say_where_they_are_from() -> None:
    sources = {
        "four-grades": ("Upadhyay et al. 2024", "GPT-4o", (0, 1, 2, 3)),
        "intent-trust": ("Thomas et al. 2024", "GPT-4", (0, 1, 2)),
        "product": ("Reddy et al. 2022", "", (0, 1, 2, 3)),
        "sufficient": ("Joren et al. 2025", "Gemini 1.5 Pro", (0, 1)),
        "criteria": ("Farzi & Dietz 2024", "Llama 3", (0, 1, 2, 3)),
        "facts": ("Pradeep et al. 2024", "GPT-4o", (0, 1, 2, 3)),
    }
    for name, (source, models, grades) in sources.items():
        prompt = find_prompt(name)
        assert f"{source}, " in f"{prompt.front.source}, "
        assert prompt.front.fidelity == "adapted"
        assert (prompt.front.shown_with, prompt.grades) == (models, grades)
    assert list(find_prompt("product").front.scale.values()) == [
        *("I: irrelevant", "C: complement", "S: substitute", "E: exact")
    ]
    assert tokens_of(find_prompt("terse")).inside < tokens_of(find_prompt("basic")).inside / 2


@pytest.mark.parametrize("name", ONE_CALL)
def test_each_prompt_has_its_cost_before_it_is_paid_and_every_grade_of_it_is_read(
    name: str, tmp_path: Path
) -> None:
    prompt, collection = find_prompt(name), small_collection(tmp_path / "c")
    grades = iter(prompt.grades * 9)
    reply = {"reason": "so it is"} if prompt.front.reason else {}
    model = fake_model(lambda _request: json.dumps({**reply, "grade": next(grades)}))
    plan = asyncio.run(ajudge(collection, prompt=name, model=model).plan())
    assert plan.calls.calls == plan.pairs
    assert plan.calls.about.inside > plan.pairs * tokens_of(prompt).inside
    assert plan.calls.about.outside == plan.pairs * prompt.front.max_tokens
    result = judge(collection, model=model, prompt=name, name="x")
    assert (result.judged, result.failed) == (plan.pairs, 0)


@pytest.mark.parametrize("name", ONE_CALL)
def test_what_differs_between_documents_of_a_query_stands_behind_what_does_not(
    name: str, tmp_path: Path
) -> None:
    collection = small_collection(tmp_path / "c")
    ids = [json.loads(line)["_id"] for line in collection.corpus.read_text().splitlines()[:2]]
    assessor, texts = Assessor(find_prompt(name), fake_model("")), texts_of_collection(collection)
    pairs = [Pair("q1", doc_id) for doc_id in (*ids, ids[0])]
    shown = [Inquiries([p], texts, assessor).example(p).messages for p in pairs]
    assert shown[0] == shown[2]
    first, second = ("\n".join(turn.content for turn in messages) for messages in shown[:2])
    shared = next(
        at for at, pair in enumerate(zip(first, second, strict=False)) if len({*pair}) > 1
    )
    assert "\nQuery: " in first[:shared] or "\nQuestion: " in first[:shared]
    assert "{passage}" not in first


@every_row("path", prompt_files().values(), ids=prompt_files())
def test_a_prompt_is_filled_in_once_and_what_is_put_in_is_never_read(path: Path) -> None:
    prompt = read_prompt(path)
    names = ("query", "title", "text", "passage", "other", "passages", "count", "mark")
    values = dict.fromkeys(names, "{query} ${text} {{passage}} %s")
    rendered = prompt.render(values)
    assert rendered == read_prompt(path).render(values)
    assert any("{query} ${text} {{passage}} %s" in turn.content for turn in rendered)


@every_row("name", GRADING)
def test_people_who_grade_beside_a_prompt_read_what_its_grades_mean(name: str) -> None:
    prompt = find_prompt(name)
    page = instructions({int(grade): text for grade, text in prompt.front.scale.items()}, name)
    assert all(f"| {grade} |" in page for grade in prompt.grades)


def test_what_a_query_says_of_its_answer_is_shown_where_it_says_so() -> None:
    metadata = {"reference": "Within 30 days.", "nuggets": ["30 days", "unworn"], "language": "de"}
    prompt, document = find_prompt("by-topic"), Document("d", "Shoes can be sent back.")
    said, unsaid = (
        prompt.render({**values_of(Query("q", "schuhe", says)), **texts_of(document)})[-1].content
        for says in (metadata, {})
    )
    lines = [line for line in said.splitlines() if line not in unsaid.splitlines()]
    assert lines[:2] == [
        "What a complete answer states: 30 days; unworn",
        "A right answer, for comparison: Within 30 days.",
    ]
    assert lines[2].startswith("The query is in German: ")
    assert len(lines) == 3


def test_each_grading_prompt_says_how_faithful_it_is_to_a_source_and_what_was_measured() -> None:
    facts = [facts_of(find_prompt(name)) for name in GRADING]
    for fact in facts:
        assert bool(fact["source"]) == bool(fact["fidelity"]), fact["prompt"]
        assert fact["measured"]
    assert [fact["prompt"].split("@")[0] for fact in facts if fact["measured"] != "nothing"] == [
        "four-grades"
    ]
