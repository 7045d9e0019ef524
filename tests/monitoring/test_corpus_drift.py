"""Corpus drift: what edited, new and lost documents make of judgements."""

from collections.abc import Callable
from pathlib import Path

import pytest

from labeler.corpus.ingest import ingest
from labeler.errors import BadInput, Misuse
from labeler.judging.judge import judge
from labeler.monitoring.corpus import CorpusDrift, CorpusWatch, corpus_drift
from labeler.pools.pool import pool
from labeler.testing import fake_model

PAGES = {
    "cats": "A cat sleeps anywhere, on any table.",
    "fish": "Fish rest in the water without moving a fin.",
    "bats": "Bats hang from the roof while they sleep.",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Documents in `docs`, and in `coll` a collection of them whose pairs are judged."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    (tmp_path / "asked.txt").write_text("where do cats sleep\nhow do fish rest\n")
    ingest(docs, tmp_path / "coll", tmp_path / "asked.txt")
    pool(tmp_path / "coll")
    about = fake_model(
        lambda request: (
            '{"grade": 2}'
            if any(
                f"{word}" in (text := str(request.messages)) and f"{near}" in text
                for word, near in (("cats sleep", "any table"), ("fish rest", "a fin"))
            )
            else '{"grade": 0}'
        )
    )
    judge(tmp_path / "coll", model=about, name="llm")
    return tmp_path


def drift(place: Path, **watch: float) -> CorpusDrift:
    return corpus_drift(place / "docs", place / "coll", CorpusWatch(**watch))  # type: ignore[arg-type]


def kinds(result: CorpusDrift) -> list[str]:
    return [alarm.about for alarm in result.alarms]


def cut_fish(place: Path) -> None:
    (place / "docs" / "fish.md").unlink()


def edit_fish(place: Path) -> None:
    (place / "docs" / "fish.md").write_text("# fish\n\nAll of it is written anew by now.\n")


def retitle_fish(place: Path) -> None:
    (place / "docs" / "fish.md").write_text(f"# On fish\n\n{PAGES['fish']}\n")


def add_dogs(place: Path) -> None:
    (place / "docs" / "dogs.md").write_text("# dogs\n\nWhere do dogs sleep? They rest on rugs.\n")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda _: None, []),
        (retitle_fish, []),
        (cut_fish, ["stale-judgements", "lost-queries"]),
        (edit_fish, ["stale-judgements", "lost-queries"]),
        (add_dogs, []),
    ],
)
def test_each_change_raises_the_alarms_that_it_should(
    change: Callable[[Path], None], expected: list[str], place: Path
) -> None:
    change(place)
    assert kinds(drift(place)) == expected


def test_a_query_that_lost_its_only_relevant_document_is_named_and_what_mends_it(
    place: Path,
) -> None:
    cut_fish(place)
    result = drift(place)
    assert [query.text for query in result.touched] == ["how do fish rest"]
    assert result.lost_queries == [query.query_id for query in result.touched]
    assert all(each.state == "gone" for each in result.stale)
    said = " ".join(map(str, result.alarms))
    assert f"labeler corpus update {place / 'docs'} {place / 'coll'}, then labeler judge" in said
    assert result.as_json()["stale"] == len(result.as_json()["stale_pairs"]) == len(result.stale)
    assert [row[2] for row in result.tables()[1].values()] == [2, 0]


def test_alarms_keep_to_the_shares_that_were_set(place: Path) -> None:
    edit_fish(place)
    add_dogs(place)
    assert kinds(drift(place, stale=1.0)) == ["lost-queries"]
    assert kinds(drift(place, stale=1.0, rel=3)) == []


def test_watching_writes_nothing_and_asks_nothing(place: Path) -> None:
    edit_fish(place)
    before = {path: path.read_bytes() for path in (place / "coll").rglob("*") if path.is_file()}
    drift(place)
    after = {path: path.read_bytes() for path in (place / "coll").rglob("*") if path.is_file()}
    assert after == before


def test_documents_that_are_none_and_qrels_that_are_not_there_are_said(place: Path) -> None:
    (place / "empty").mkdir()
    with pytest.raises(BadInput, match="empty"):
        corpus_drift(place / "empty", place / "coll")
    with pytest.raises(Misuse, match="has no qrels 'human'"):
        corpus_drift(place / "docs", place / "coll", CorpusWatch("human"))
