"""A recipe becomes a collection only when its files are the ones that it names."""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from file_server import Files, serving
from running import with_little_room

from labeler.catalog.fetch import fetch_collection
from labeler.catalog.recipes import READERS, find_recipe, read_recipe, recipe_files
from labeler.cli import execute
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.errors import BadInput, FileProblem, Misuse, ProviderError
from labeler.trec.files import read_qrels

SHOP = Path(__file__).parent / "shop"
TABLE, RECIPE = ((SHOP / name).read_bytes().decode() for name in ("t.csv", "shop.toml"))
COMMIT, ADDRESS = "a" * 40, "http://127.0.0.1:9"
GRADES = "0 = 0\n1 = 1\n2 = 2\n3 = 3"


def write_recipe(
    folder: Path, address: str = ADDRESS, documents: int = 2, grades: str = GRADES
) -> Path:
    path = folder / "shop.toml"
    recipe = RECIPE.replace(ADDRESS, address).replace(GRADES, grades)
    recipe = recipe.replace("documents = 2", f"documents = {documents}")
    path.write_text(recipe, encoding="utf-8")
    return path


def write_mirror(folder: Path, content: str = TABLE) -> Path:
    place = folder / "mirror" / "some" / "shop" / COMMIT / "data" / "t.csv"
    place.parent.mkdir(parents=True)
    place.write_bytes(content.encode())
    return folder / "mirror"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABELER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LABELER_MIRROR", raising=False)


def fetch(recipe: Path, to: Path) -> Collection:
    collection = Collection(to)
    fetch_collection(read_recipe(recipe), collection)
    return collection


def test_a_table_becomes_documents_queries_pool_and_a_set_of_qrels_a_rater(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(write_mirror(tmp_path)))
    made = fetch(write_recipe(tmp_path), tmp_path / "coll")
    assert {q.id: q.text for q in read_queries(made.queries).values()} == {
        "q1": "red shoes",
        "q2": "hat",
    }
    assert {d.id: (d.title, d.text) for d in read_corpus(made.corpus).values()} == {
        "007": ("Shoe", "A shoe,\nred."),
        "12": ("Hat", "A hat."),
    }
    assert read_qrels(made.qrels("human")) == {"q1": {"007": 2, "12": 0}, "q2": {"12": 3, "007": 1}}
    assert read_qrels(made.qrels("rater1"))["q1"] == {"007": 3, "12": 1}
    assert [tuple(entry.pair) for entry in read_pool(made.pool)] == [
        ("q1", "007"), ("q2", "12"), ("q1", "12"), ("q2", "007")
    ]  # fmt: skip
    card = json.loads(made.card.read_text(encoding="utf-8"))["fetch"]
    assert (card["licence"], card["citation"]) == ("MIT", "Nobody (2020)")
    assert card["sources"][0]["sha256"] == hashlib.sha256(TABLE.encode()).hexdigest()


def test_without_a_mirror_the_pinned_address_is_asked_once(tmp_path: Path) -> None:
    files = Files({f"/some/shop/{COMMIT}/data/t.csv": TABLE.encode()}, cut_after=[50])
    with serving(files):
        recipe = write_recipe(tmp_path, files.address)
        first = fetch(recipe, tmp_path / "one")
        second = fetch(recipe, tmp_path / "two")
    assert files.ranges == [None, "bytes=50-"]
    assert first.corpus.read_bytes() == second.corpus.read_bytes()


@pytest.mark.parametrize("mirrored", [True, False])
def test_a_wrong_file_stops_with_both_sums_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mirrored: bool
) -> None:
    wrong = TABLE.replace("Hat", "Cap")
    sums = [hashlib.sha256(text.encode()).hexdigest() for text in (TABLE, wrong)]
    files = Files({f"/some/shop/{COMMIT}/data/t.csv": wrong.encode()})
    if mirrored:
        monkeypatch.setenv("LABELER_MIRROR", str(write_mirror(tmp_path, wrong)))
    with serving(files), pytest.raises(BadInput, match=f"expected {sums[0]}, found {sums[1]}"):
        fetch(write_recipe(tmp_path, files.address), tmp_path / "coll")
    assert not (tmp_path / "coll").exists()


def test_a_file_missing_in_the_mirror_is_named_and_not_looked_for_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(tmp_path))
    place = tmp_path / "some" / "shop" / COMMIT / "data" / "t.csv"
    with pytest.raises(FileProblem, match=f"^{place}: not in the mirror"):
        fetch(write_recipe(tmp_path), tmp_path / "coll")


def test_an_address_out_of_reach_says_what_a_mirror_would_hold(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=f"holds it as some/shop/{COMMIT}/data/t.csv"):
        fetch(write_recipe(tmp_path), tmp_path / "coll")


def test_a_file_in_the_cache_that_was_damaged_is_not_used(tmp_path: Path) -> None:
    sha256 = hashlib.sha256(TABLE.encode()).hexdigest()
    kept = tmp_path / "cache" / "downloads" / sha256 / "t.csv"
    kept.parent.mkdir(parents=True)
    kept.write_text("damaged", encoding="utf-8")
    with pytest.raises(BadInput, match="wrong SHA-256"):
        fetch(write_recipe(tmp_path), tmp_path / "coll")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"documents": 3}, "2 documents instead of 3"),
        ({"grades": "1 = 1\n2 = 2\n3 = 3"}, r"t.csv:4: the grade '0' is not in the recipe"),
    ],
)
def test_a_recipe_that_does_not_fit_its_file_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, int], problem: str
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(write_mirror(tmp_path)))
    with pytest.raises(BadInput, match=problem):
        fetch(write_recipe(tmp_path, **change), tmp_path / "coll")
    assert not (tmp_path / "coll").exists()


def test_another_collection_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(write_mirror(tmp_path)))
    made = Collection(tmp_path / "coll")
    made.folder.mkdir()
    made.corpus.write_text('{"_id": "1", "text": "mine"}\n', encoding="utf-8")
    with pytest.raises(Misuse, match="holds another collection"):
        fetch(write_recipe(tmp_path), made.folder)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('path = "data/t.csv"', 'path = "../t.csv"', "stay inside its repository"),
        ('path = "data/t.csv"', 'path = "a/../../t.csv"', "stay inside its repository"),
        ('path = "data/t.csv"', 'path = "/etc/t.csv"', "stay inside its repository"),
        ('path = "data/t.csv"', 'path = "."', "stay inside its repository"),
        ('path = "data/t.csv"', 'path = "data/"', "stay inside its repository"),
        ('path = "data/t.csv"', 'path = "a\\\\..\\\\t.csv"', "stay inside its repository"),
        ('path = "data/t.csv"', 'path = "a\\u0000t.csv"', "stay inside its repository"),
        ('"some/shop"', '"../.."', "repository: "),
        ('"some/shop"', '"some/.."', "repository: "),
        (COMMIT, "../" * 13 + "a", "sources.table.commit"),
        ("rater1 =", '"../../../victim" =', "no qrels can be called '../../../victim'"),
        ("rater1 =", '"/any/path/x" =', "no qrels can be called '/any/path/x'"),
        ("rater1 =", '"" =', "no qrels can be called ''"),
        ("rater1 =", '".hidden" =', "no qrels can be called '.hidden'"),
        ("rater1 =", '"a\\nb" =', "no qrels can be called"),
        ("3 = 3", "3 = 1000000000000000000", "grades.3: Input should be less than or equal"),
        (COMMIT, "main", "sources.table.commit"),
        ('licence = "MIT"', "", "licence: Field required"),
        ('licence = "MIT"', "licence", "shop.toml: "),
        ("[columns]", "colour = 1\n[columns]", "colour"),
        ('"judged-table"', '"no-such"', "layout"),
    ],
)
def test_a_recipe_is_checked_before_anything_is_fetched(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    path = write_recipe(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput, match=problem):
        read_recipe(path)


def test_every_shipped_recipe_can_be_read_and_has_a_reader() -> None:
    recipes = [read_recipe(path).recipe for path in recipe_files().values()]
    assert {"chorus", "medquad"} <= recipe_files().keys()
    assert all(recipe.layout in READERS and recipe.citation for recipe in recipes)


def test_an_unknown_recipe_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(Misuse, match="did you mean 'chorus'"):
        find_recipe("corus")


def test_chorus_is_what_its_people_judged(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts as in the upstream table: 3,188 rows, 48 products with a description."""
    monkeypatch.setenv("LABELER_MIRROR", str(shared / "mirror"))
    assert execute(["fetch", "chorus", "-o", str(tmp_path / "c")]) == 0
    made = Collection(tmp_path / "c")
    queries, documents = read_queries(made.queries), read_corpus(made.corpus)
    assert list(queries) == [f"q{number}" for number in range(1, 136)]
    assert queries["q1"].text == "bluetooth speaker"
    assert sum(bool(document.text) for document in documents.values()) == 48
    assert made.qrels_names() == ("human", "rater1", "rater2", "rater3")
    grades = [g for row in read_qrels(made.qrels("human")).values() for g in row.values()]
    assert [grades.count(grade) for grade in range(4)] == [1471, 198, 93, 1426]
    assert len(read_pool(made.pool)) == 3188


def test_medquad_keeps_contested_pairs_out_of_the_human_grades(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,479 judgements of 2,311 pairs upstream; 168 pairs have two grades."""
    monkeypatch.setenv("LABELER_MIRROR", str(shared / "mirror"))
    assert execute(["fetch", "medquad", "-o", str(tmp_path / "m")]) == 0
    made = Collection(tmp_path / "m")
    human, lowest, highest = (
        {(q, d): g for q, row in read_qrels(made.qrels(name)).items() for d, g in row.items()}
        for name in ("human", "lowest", "highest")
    )
    assert (len(human), len(lowest), len(highest)) == (2143, 2311, 2311)
    assert all(lowest[pair] == grade == highest[pair] for pair, grade in human.items())
    assert sum(lowest[pair] < highest[pair] for pair in lowest) == 168
    assert sorted(set(human.values())) == [0, 1, 2, 3]


def test_a_zip_file_without_the_expected_member_is_refused(tmp_path: Path) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("other.txt", "x")
    (tmp_path / "a.zip").write_bytes(raw.getvalue())
    (tmp_path / "q.xml").write_text("<r/>")
    recipe = find_recipe("medquad").recipe
    with pytest.raises(BadInput, match=r"a\.zip: .*no item named"):
        READERS[recipe.layout](
            {"answers": tmp_path / "a.zip", "questions": tmp_path / "q.xml"}, recipe
        )


def test_fetch_alone_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["fetch"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == [
        *("name", *recipe_files(), "prompt:umbrela", "model")
    ]
    assert execute(["fetch", "chorus"]) == Misuse.exit_code


@pytest.mark.parametrize("largest", [0, 100, 250, 800])
def test_where_the_disk_is_full_the_same_command_goes_on_once_there_is_room(
    largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(write_mirror(tmp_path)))
    recipe, cramped = write_recipe(tmp_path), tmp_path / "cramped"
    words = ["fetch", str(recipe), "-o", str(cramped)]
    settings = {name: os.environ[name] for name in ("LABELER_MIRROR", "LABELER_CACHE")}
    code, said = with_little_room(words, largest, **settings)
    assert (code, said.count("labeler: "), "Traceback" in said) == (74, 1, False), said
    assert execute(words) == 0
    whole = fetch(recipe, tmp_path / "whole")
    for name in ("corpus.jsonl", "queries.jsonl", "pool.jsonl", "qrels/human.qrels"):
        assert (cramped / name).read_bytes() == (whole.folder / name).read_bytes()


def test_queries_and_qrels_of_somebody_else_stay_unless_it_is_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(write_mirror(tmp_path)))
    recipe = write_recipe(tmp_path)
    for name in ("queries.jsonl", "qrels/human.qrels"):
        mine = tmp_path / name.replace("/", "-") / name
        mine.parent.mkdir(parents=True)
        mine.write_text("q1 0 d1 1\n")
        folder = tmp_path / name.replace("/", "-")
        with pytest.raises(Misuse, match="was not written by this command"):
            fetch(recipe, folder)
        assert [p.name for p in folder.rglob("*") if p.is_file() and p.name != ".lock"] == [
            mine.name
        ]
        fetch_collection(read_recipe(recipe), Collection(folder), force=True)
        fetch(recipe, folder)
