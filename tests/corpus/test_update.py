"""A collection's documents change, or are cut anew, and its grades stay where they hold."""

import json
from pathlib import Path

import pytest

from labeler.collection.corpus import read_corpus
from labeler.collection.judgements import grades_of, read_judgements
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import read_pool, write_pool
from labeler.collection.queries import read_queries, write_queries
from labeler.collection.stale import stale_pairs
from labeler.corpus.documents import Reading, read_documents
from labeler.corpus.ingest import ingest
from labeler.corpus.matching import CARRIED, STATES, Match, match_passages
from labeler.corpus.rechunk import rechunk
from labeler.corpus.update import Carrying, update
from labeler.data import Document, Pair, Pooled, Query
from labeler.errors import BadInput, Misuse
from labeler.judging.judge import judge
from labeler.testing import fake_model
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels


def sentences(word: str, count: int) -> str:
    return " ".join(
        f"The {word} number {n} sleeps on {word} table {n} near the {word} window {n}."
        for n in range(count)
    )


def page(*sections: tuple[str, int]) -> str:
    parts = [f"## About {word}\n\n{sentences(word, count)}\n" for word, count in sections]
    return "# Guide\n\n" + "\n".join(parts)


class World:
    """A folder of documents, and a collection of it whose pairs are all judged."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.write("a.md", page(("cat", 10), ("dog", 10), ("cow", 30)))
        self.write("b.md", page(("hen", 10)))
        self.collection = Collection(folder / "coll")
        ingest(self.docs, self.collection)
        documents = read_corpus(self.collection.corpus)
        first = next(iter(documents))
        queries = [Query("q1", "cats", {"source": [{"doc_id": first}]}), Query("q2", "dogs")]
        pairs = [Pair(query.id, doc_id) for query in queries for doc_id in documents]
        with locked(self.collection):
            write_queries(self.collection.queries, queries)
            write_pool(self.collection.pool, [Pooled(pair, ("bm25",), 1) for pair in pairs])
            write_qrels(self.collection.qrels("human"), {"q1": dict.fromkeys(documents, 1)})
        self.judge()

    def write(self, name: str, text: str) -> None:
        (self.docs / name).write_text(text)

    def judge(self) -> int:
        """Judge the pool; how many calls that took."""
        asked = fake_model('{"grade": 2}')
        return judge(self.collection, model=asked, name="llm").spent.calls

    def states(self) -> set[str]:
        rows = read_judgements(self.collection.judgements("llm"))
        return {str(row.carried["state"]) if row.carried else "asked" for row in rows}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def check_whole(collection: Collection) -> None:
    """Whatever names a document names one that is there, and the old state is whole."""
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    for entry in read_pool(collection.pool):
        assert entry.pair.doc_id in documents
        assert entry.pair.query_id in queries
    for name in collection.qrels_names():
        for grades in read_qrels(collection.qrels(name)).values():
            assert grades.keys() <= documents.keys()


def test_nothing_changes_where_nothing_was_edited(world: World) -> None:
    before = world.collection.corpus.read_bytes()
    result = update(world.docs, world.collection)
    assert result.carryover.as_json()["passages"] == {
        **dict.fromkeys(STATES, 0), "unchanged": len(read_corpus(world.collection.corpus)),
    }  # fmt: skip
    assert result.history is None
    assert world.collection.corpus.read_bytes() == before


def test_an_edit_asks_again_only_about_what_it_touched(world: World) -> None:
    pairs = len(read_pool(world.collection.pool))
    edited = page(("cat", 10), ("dog", 10), ("cow", 30)).replace("About dog", "On dogs")
    world.write("a.md", edited.replace("The cat number 3 sleeps", "The cat number 3 wakes"))
    (world.docs / "b.md").rename(world.docs / "c.md")
    result = update(world.docs, world.collection)
    counts = result.carryover.as_json()["judgements"]["llm"]
    assert counts["gone"] == 2
    assert counts["moved"] == 4
    assert sum(counts.values()) == pairs
    assert result.carryover.stale == 2  # of the section that has another title
    check_whole(world.collection)
    assert world.judge() == 2  # the pool does not have the passages that are gone
    assert world.states() == {"asked", "moved"}


def test_a_changed_title_has_no_grade_any_more(world: World) -> None:
    rows = read_judgements(world.collection.judgements("llm"))
    titled = {row.judged.outcome.pair for row in rows}
    text = (world.docs / "b.md").read_text().replace("About hen", "On hens")
    world.write("b.md", text)
    result = update(world.docs, world.collection)
    assert result.carryover.as_json()["stale"] == 2
    rows = read_judgements(world.collection.judgements("llm"))
    assert len({row.judged.outcome.pair for row in rows} & titled) == len(titled) - 2
    assert world.judge() == 2
    assert world.judge() == 0
    assert stale_pairs(world.collection, "llm") == set()


def test_a_passage_that_grew_is_asked_about_anew(world: World) -> None:
    grown = page(("hen", 10)) + "One more hen sleeps under the table of the hens.\n"
    world.write("b.md", grown)
    result = update(world.docs, world.collection)
    assert result.carryover.as_json()["judgements"]["llm"]["merged"] == 2
    assert result.carryover.stale == 2
    assert world.judge() == 2


def test_a_larger_passage_that_is_edited_later_loses_the_grade_that_was_carried_to_it(
    world: World,
) -> None:
    rechunk(world.collection, 500)
    assert stale_pairs(world.collection, "llm") == set()
    assert world.judge() == 0
    text = world.collection.corpus.read_text().replace("The hen number 3", "A hen number 3")
    world.collection.corpus.write_text(text)
    assert len(stale_pairs(world.collection, "llm")) == 2
    assert world.judge() == 2
    assert stale_pairs(world.collection, "llm") == set()


def test_what_was_asked_again_about_old_texts_stays_with_the_state_before(world: World) -> None:
    judge(world.collection, model=fake_model('{"grade": 2}'), name="llm", repeat=2)
    world.write("a.md", page(("cat", 10), ("dog", 9), ("cow", 30)))
    update(world.docs, world.collection)
    assert not list(world.collection.repeats.glob("*.jsonl"))
    before = world.collection.folder / "history" / "1" / "repeats" / "llm.1.jsonl"
    assert before.exists()
    check_whole(world.collection)


def test_larger_passages_keep_the_grades_of_what_lies_whole_in_them(world: World) -> None:
    result = rechunk(world.collection, 500)
    counts = result.carryover.as_json()["judgements"]["llm"]
    assert counts["merged"] > 0
    check_whole(world.collection)
    rows = list(read_judgements(world.collection.judgements("llm")))
    merged = [row for row in rows if row.carried and row.carried["state"] == "merged"]
    assert merged
    old = read_corpus(result.history / "corpus.jsonl") if result.history else {}
    new = read_corpus(world.collection.corpus)
    for row in merged:
        assert row.carried is not None
        text = " ".join(new[row.judged.outcome.pair.doc_id].text.split())
        assert all(" ".join(old[id_].text.split()) in text for id_ in row.carried["from"])


def test_smaller_passages_are_judged_anew_and_nothing_else_is(world: World) -> None:
    result = rechunk(world.collection, 60)
    counts = result.carryover.as_json()["judgements"]["llm"]
    assert counts["split"] > 0
    check_whole(world.collection)
    unjudged = result.carryover.unjudged
    assert world.judge() == unjudged > 0
    assert world.judge() == 0


def test_back_and_forth_the_grades_that_a_person_gave_stay_recoverable(world: World) -> None:
    before = read_qrels(world.collection.qrels("human"))
    result = rechunk(world.collection, 60)
    assert result.history is not None
    old = Collection(result.history)
    assert read_qrels(old.qrels("human")) == before
    assert not world.collection.qrels("human").exists()  # no grade holds
    assert set(grades_of(old.judgements("llm")))
    assert world.collection.store.exists()


def test_queries_name_their_passages_as_they_are_called_now(world: World) -> None:
    rechunk(world.collection, 500)
    (source,) = read_queries(world.collection.queries)["q1"].metadata["source"]
    assert source["doc_id"] in read_corpus(world.collection.corpus)


def test_a_rehearsal_writes_nothing(world: World) -> None:
    def files() -> dict[str, bytes]:
        paths = (path for path in world.collection.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in paths if path.name != ".lock"}

    before = files()
    counts = rechunk(world.collection, 60, dry_run=True).carryover
    assert files() == before
    assert rechunk(world.collection, 60).carryover == counts


def test_a_change_that_was_cut_short_begins_again_from_the_state_before(world: World) -> None:
    done = rechunk(world.collection, 60)
    expected = world.collection.pool.read_bytes(), world.collection.corpus.read_bytes()
    card = json.loads(world.collection.card.read_text())
    card["carried"]["state"] = "being written"
    world.collection.card.write_text(json.dumps(card))
    world.collection.pool.write_text("")
    again = rechunk(world.collection, 60)
    assert again.carryover == done.carryover
    assert (world.collection.pool.read_bytes(), world.collection.corpus.read_bytes()) == expected


def test_rechunk_refuses_edits_which_are_another_cause(world: World) -> None:
    world.write("a.md", "# Other\n\nwords\n")
    with pytest.raises(BadInput, match=r"a\.md was edited since the collection was made"):
        rechunk(world.collection, 60)


def test_rechunk_of_rows_says_that_there_is_nothing_to_cut(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"_id": "d1", "text": "words"}\n')
    ingest(rows, tmp_path / "coll")
    with pytest.raises(Misuse, match="nothing to cut anew"):
        rechunk(tmp_path / "coll", 60)


def test_documents_that_moved_are_asked_for_by_name(world: World) -> None:
    elsewhere = world.docs.rename(world.docs.with_name("elsewhere"))
    with pytest.raises(Misuse, match="where are the documents now"):
        rechunk(world.collection, 60)
    assert rechunk(world.collection, 60, inputs=elsewhere, dry_run=True).carryover.pool


def test_the_settings_of_ingest_hold_for_what_is_read_anew(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(page(("cat", 40)))
    (docs / "b.md").write_text("left out")
    made = Collection(tmp_path / "coll")
    ingest(docs, made, exclude=["b.md"], words=60)
    before = read_corpus(made.corpus)
    assert update(docs, made).history is None
    assert read_corpus(made.corpus) == before


def test_pairs_of_an_expansion_keep_their_round_and_what_led_to_them(world: World) -> None:
    collection = world.collection
    found, seed, near, other = list(read_corpus(collection.corpus))[:4]
    expanded = [
        Pooled(Pair("q1", found), ("bm25",), 1),
        Pooled(Pair("q1", seed), (), None, (found, other), 1),
        Pooled(Pair("q1", near), (), None, (seed, found), 2),
    ]
    with locked(collection):
        write_pool(collection.pool, expanded)
    world.write("new.md", page(("owl", 10)))
    update(world.docs, collection)
    assert list(read_pool(collection.pool)) == expanded


def carried(old: Path, pool: list[Pooled], matches: dict[str, Match]) -> list[Pooled]:
    """A pool as it is after the passages became what these matches say."""
    collection = Collection(old)
    with locked(collection):
        write_pool(collection.pool, pool)
    return list(Carrying(collection, matches).pool(collection.pool))


def led_to(doc_id: str, number: int, *seeds: str) -> Pooled:
    return Pooled(Pair("q", doc_id), (), None, seeds, number)


def test_a_seed_that_is_split_is_all_of_its_parts_and_one_that_is_gone_is_none(
    tmp_path: Path,
) -> None:
    matches = {
        "seed": Match("split", ("first", "second")),
        "other": Match("gone"),
        "near": Match("split", ("left", "right")),
    }
    assert carried(tmp_path, [led_to("near", 2, "other", "seed")], matches) == [
        led_to("left", 2, "first", "second"),
        led_to("right", 2, "first", "second"),
    ]


def test_merged_passages_are_of_the_earlier_round_and_do_not_lead_to_themselves(
    tmp_path: Path,
) -> None:
    into = {
        **dict.fromkeys(("a", "b"), Match("merged", ("ab",))),
        **dict.fromkeys(("c", "d"), Match("merged", ("cd",))),
        "e": Match("unchanged", ("e",)),
    }
    pool = [led_to("c", 2, "a"), led_to("d", 1, "b", "e"), led_to("b", 1, "a", "e")]
    first = Pooled(Pair("q", "a"), ("bm25",), 3)
    assert carried(tmp_path, [*pool, first], into) == [
        led_to("cd", 1, "ab", "e"),
        Pooled(Pair("q", "ab"), ("bm25",), 3, ("e",)),
    ]


@pytest.mark.parametrize(("few", "many"), [(60, 400), (200, 120), (30, 1000)])
def test_each_old_passage_is_in_one_state_and_its_words_are_where_that_says(
    few: int, many: int, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(page(("cat", 3), ("dog", 25), ("cow", 60), ("ant", 9)))

    def cut(words: int) -> dict[str, Document]:
        return read_documents([str(tmp_path)], how=Reading().of_length(words)).documents

    old, new = cut(few), cut(many)
    matches = match_passages(old, new)
    assert matches.keys() == old.keys()
    for id_, match in matches.items():
        held = [" ".join(new[each].text.split()) for each in match.new_ids]
        if match.state in CARRIED:
            assert " ".join(old[id_].text.split()) in held[0]
        elif match.state == "split":
            assert set(old[id_].text.split()) <= set(" ".join(held).split()) | {"About"} | {
                "cat", "dog", "cow", "ant",
            }  # fmt: skip
