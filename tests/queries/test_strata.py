"""Which passages are asked about: all of a corpus is, and nothing that answers nobody."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.corpus.ingest import ingest
from labeler.data import Document
from labeler.errors import Misuse
from labeler.queries.generate import generate
from labeler.queries.passages import choose_passages, values_of
from labeler.queries.set_aside import REASONS, PassageRules, file_of, set_aside
from labeler.testing import FakeServer, fake_model


def passage(file: str, number: int, text: str = "", title: str = "T") -> Document:
    stem = Path(file).stem
    own = " ".join(f"{stem}w{number}x{i}" for i in range(40))
    return Document(f"{file}:{number}", text or f"{own}.", title, {"source": file})


LONG = [passage("long.md", n) for n in range(1000)]
SHORT = [passage(f"short/{n}.md", 0) for n in range(100)]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_long_file_and_a_hundred_short_ones_give_queries_from_all_of_it(seed: int) -> None:
    choice = choose_passages([*LONG, *SHORT], seed)
    files = Counter(file_of(document) for document in choice.passages[:132])
    assert 28 <= files["long.md"] <= 34
    assert len(files) >= 98
    first = Counter(file_of(document) for document in choice.passages[:50])
    assert len(first) >= 36
    assert max(first.values()) <= 14


def test_every_beginning_of_the_order_is_spread_over_folders() -> None:
    folders = [passage(f"{name}/{n}.md", 0) for name in "abcd" for n in range(25)]
    order = choose_passages(folders, 3).passages
    for count in (8, 20, 40):
        per_folder = Counter(file_of(d)[0] for d in order[:count])
        assert max(per_folder.values()) - min(per_folder.values()) <= 2


def test_the_order_is_the_seeds_and_no_passage_is_lost() -> None:
    documents = [*LONG[:40], *SHORT]
    order = [d.id for d in choose_passages(documents, 5).passages]
    assert order == [d.id for d in choose_passages(documents[::-1], 5).passages]
    assert sorted(order) == sorted(d.id for d in documents)


WORDS = " ".join(f"term{n}" for n in range(40))
UNFIT = {
    "short": passage("a.md", 0, "Obsolete, see elsewhere."),
    "changelog": passage("CHANGES.md", 0, WORDS),
    "licence": passage("legal/LICENSE.txt", 0, WORDS),
    "code": passage("b.md", 0, f"Like so:\n\n```python\n{WORDS}\n```"),
    "contents": passage("c.md", 0, "Parts\n\n" + "\n".join(f"- The {n}th part" for n in range(20))),
}


@pytest.mark.parametrize("reason", UNFIT)
def test_what_answers_nobody_is_set_aside_with_its_reason_unless_it_is_asked_about(
    reason: str,
) -> None:
    assert set_aside([UNFIT[reason], *SHORT]) == {UNFIT[reason].id: reason}
    rules = PassageRules(ask_about=(reason,))
    assert set_aside([UNFIT[reason], *SHORT], rules) == {}


@pytest.mark.parametrize(
    "document",
    [
        passage("history.md", 0, WORDS),
        passage("docs/x.rst", 0, WORDS, "Flask > Version 3.1.0"),
        passage("docs/x.rst", 0, WORDS, "Flask > 0.12.2 (2017-05-16)"),
        passage("docs/x.rst", 0, WORDS, "Changelog > Added"),
    ],
)
def test_release_notes_are_known_by_file_or_heading(document: Document) -> None:
    assert set_aside([document]) == {document.id: "changelog"}


@pytest.mark.parametrize("title", ["Handling Changes", "Version control", "Chapter 3.2 of it"])
def test_prose_about_changes_is_no_release_note(title: str) -> None:
    assert set_aside([passage("guide.md", 0, WORDS, title)]) == {}


def test_a_product_with_a_size_in_its_name_is_no_release_note() -> None:
    assert set_aside([Document("p", WORDS, "15.6 - a notebook")]) == {}


def test_a_list_that_says_something_is_no_table_of_contents() -> None:
    steps = "\n".join(f"- The step number {n} pushes the context onto a stack." for n in range(9))
    assert set_aside([passage("steps.md", 0, steps)]) == {}


def test_of_near_duplicates_the_first_stays() -> None:
    words = [f"w{n}" for n in range(60)]
    same = passage("b.md", 1, " ".join([*words[:58], "other", "end"]))
    half = passage("c.md", 1, " ".join([*words[:30], *(f"v{n}" for n in range(30))]))
    assert set_aside([passage("a.md", 1, " ".join(words)), same, half]) == {
        same.id: "near-duplicate"
    }


def test_a_reason_that_is_none_is_misuse_with_those_there_are() -> None:
    with pytest.raises(Misuse, match="no reason 'changes'; known: short, changelog"):
        set_aside([], PassageRules(ask_about=("changes",)))
    assert len(set(REASONS)) == 6


def test_release_notes_of_a_real_project_give_no_query(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    for path in (root / "CHANGELOG.md", *sorted((root / "docs").glob("*.md"))):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    documents = ingest(tmp_path, Collection(tmp_path / "coll")).documents
    choice = choose_passages(list(documents.values()))
    assert any(file_of(d) == "CHANGELOG.md" for d in documents.values())
    assert "CHANGELOG.md" not in {file_of(d) for d in choice.passages}
    assert len(choice.set_aside) < len(documents) / 3


def tagged(number: int, *tags: object) -> Document:
    metadata = {"tags": list(tags)} if tags else {}
    return replace(passage(f"{number}.md", 0), metadata=metadata)


TAGGED = [
    *(tagged(n, "api") for n in range(80)),
    *(tagged(n, "billing") for n in range(80, 90)),
    *(tagged(n, "billing", 3) for n in range(90, 95)),
    *(tagged(n) for n in range(95, 100)),
]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_value_of_a_key_has_as_many_turns_as_another_until_it_runs_out(seed: int) -> None:
    choice = choose_passages(TAGGED, seed, PassageRules(stratify="tags"))
    for asked in (4, 8):
        turns = Counter(v for d in choice.passages[:asked] for v in values_of(d, "tags"))
        assert max(turns.values()) - min(turns.values()) <= 2
    assert choice.passages[:8] == choose_passages(TAGGED[::-1], seed, RULES_OF_TAGS).passages[:8]
    assert sorted(d.id for d in choice.passages) == sorted(d.id for d in TAGGED)


RULES_OF_TAGS = PassageRules(stratify="tags")


def test_no_value_always_comes_with_the_same_kind_of_query() -> None:
    pairs = [tagged(n, "ab"[n % 2]) for n in range(100)]
    order = [values_of(d, "tags")[0] for d in choose_passages(pairs, 0, RULES_OF_TAGS).passages]
    assert 10 < order[::2].count("a") < 40


@pytest.mark.parametrize("key", ["section.name", "metadata"])
def test_a_value_may_be_nested_and_no_list(key: str) -> None:
    first, second = (replace(tagged(n), metadata={"section": {"name": f"s{n}"}}) for n in range(2))
    if key == "metadata":
        with pytest.raises(Misuse, match="no value in metadata of 'metadata'; known: section"):
            choose_passages([first, second], 0, PassageRules(stratify=key))
    else:
        choice = choose_passages([first, second], 0, PassageRules(stratify=key))
        assert sorted(values_of(d, key)[0] for d in choice.passages) == ["s0", "s1"]


def test_queries_are_spread_over_the_tags_of_pages_and_carry_them(tmp_path: Path) -> None:
    for number, document in enumerate(TAGGED[70:95]):
        tags = ", ".join(map(str, document.metadata["tags"]))
        text = f"---\ntags: [{tags}]\n---\n# Page {number}\n\n{document.text}\n"
        (tmp_path / f"{number}.md").write_text(text)
    collection = Collection(tmp_path / "coll")
    ingest(tmp_path, collection, exclude=("coll",))
    llm = fake_model(lambda request: " ".join(request.messages[-1].content.split()[-3:]))
    result = generate(collection, queries=9, model=llm, topics=False, stratify="tags")
    written = [q.metadata["tags"] for q in read_queries(collection.queries).values()]
    assert sorted(Counter(written)) == ["api", "billing", "billing, 3"]
    assert result.strata == dict(Counter(written).most_common())
    assert written.count("api") == 3  # as one in ten has two tags, by the rarer of which it comes
    assert json.loads(collection.card.read_text())["generate"]["stratify"] == "tags"


def test_the_command_lists_the_order_and_names_the_keys_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, tag in enumerate(("api", "api", "billing")):
        words = " ".join(f"{tag}{number}x{n}" for n in range(40))
        page = f"---\ntags: [{tag}]\n---\n# Page {number}\n\n{words}\n"
        (tmp_path / f"{number}.md").write_text(page)
    coll = str(tmp_path / "coll")
    ingest(tmp_path, coll)
    assert execute(["queries", "passages", coll, "--stratify", "tags", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["list"]
    assert {Path(row["file"]).stem for row in listed[:2]} & {"2"}  # the one of billing
    number = iter(range(9))
    with FakeServer(lambda _call: f"what is term{next(number)}x1") as server:
        where = ["generate", coll, "--model", "fake", "--base-url", server.base_url, "--no-topics"]
        assert execute([*where, "--stratify", "tag"]) == 2
        assert not server.calls
        error = capsys.readouterr().err
        assert "--stratify: no value in metadata of 'tag'; known: tags, source, line" in error
        assert execute([*where, "--stratify", "tags", "--queries", "2"]) == 0
    assert "queries by value: 1 billing, 1 api" in capsys.readouterr().err
