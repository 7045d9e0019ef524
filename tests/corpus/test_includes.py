"""Files that a text includes are inlined from the tree of the input, and from nowhere else."""

from pathlib import Path

import pytest

from labeler.corpus.blocks import FileRules
from labeler.corpus.documents import Reading, read_documents
from labeler.corpus.readers.markdown import front_matter

CODE = "def cat():\n    # ANCHOR: body\n    return 'purr'\n    # ANCHOR_END: body\n"


@pytest.mark.parametrize(
    ("name", "text", "inside"),
    [
        ("a.md", "Look:\n\n{* ../src/cat.py hl[2] *}\n\nDone.", "```py\ndef cat():"),
        ("a.md", "Look:\n\n{* ../src/cat.py ln[3] *}\n", "return 'purr'"),
        ("a.md", "Look:\n\n```Python\n{!../src/cat.py!}\n```\n", "```Python\ndef cat():"),
        ("a.md", 'Look:\n\n--8<-- "src/cat.py:body"\n', "return 'purr'"),
        ("a.md", "Look:\n\n```py\n{{#include ../src/cat.py:3}}\n```\n", "return 'purr'"),
        ("a.md", "Look:\n\n```{literalinclude} ../src/cat.py\n```\n", "```py\ndef cat():"),
        ("a.md", "Look:\n\n```{include} ../more.md\n```\n", "More of cats."),
        ("a.rst", "Look:\n\n.. literalinclude:: ../src/cat.py\n   :lines: 3-3\n\nDone.", "purr"),
        ("a.rst", "Look:\n\n.. include:: ../more.rst\n\nDone.", "More of dogs."),
        ("a.adoc", "Look:\n\n----\ninclude::../src/cat.py[tag=body]\n----\n", "return 'purr'"),
        ("a.adoc", "Look:\n\ninclude::../more.adoc[]\n", "More of birds."),
    ],
)
def test_an_include_is_inlined(name: str, text: str, inside: str, tmp_path: Path) -> None:
    for folder in ("src", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "cat.py").write_text(CODE)
    for file, content in (
        ("md", "More of cats."),
        ("rst", "More of dogs."),
        ("adoc", "More of birds."),
    ):
        (tmp_path / f"more.{file}").write_text(content)
    (tmp_path / "docs" / name).write_text(text)
    result = read_documents([str(tmp_path)])
    (document,) = (d for d in result.documents.values() if d.metadata["source"] == f"docs/{name}")
    assert inside in document.text
    assert "ANCHOR" not in document.text or "body" not in text
    assert "text_sha256" in document.metadata  # of the text with what it includes
    assert "includes of other files" not in result.losses[f"docs/{name}"].rules


@pytest.mark.parametrize("path", ["../secret.py", "/SECRET", "link.py", ".hidden.py", "no.py"])
def test_nothing_is_inlined_from_outside_of_the_tree(path: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for secret in (tmp_path / "secret.py", docs / ".hidden.py"):
        secret.write_text("TOP = 'SECRET'")
    (docs / "link.py").symlink_to(tmp_path / "secret.py")
    named = path.replace("/SECRET", str(tmp_path / "secret.py"))
    (docs / "a.md").write_text(f"Some words of a text.\n\n{{* {named} *}}\n")
    result = read_documents([str(docs)])
    (document,) = result.documents.values()
    assert "SECRET" not in document.text
    assert result.losses["a.md"].rules["includes of other files"].count == 1


def test_files_that_include_one_another_end(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Cats.\n\n{!b.md!}\n\n{!b.md!}\n")
    (tmp_path / "b.md").write_text("Dogs.\n\n{!a.md!}\n\n{!a.md!}\n")
    result = read_documents([str(tmp_path)], how=Reading(files=FileRules(most_lost=1)))
    text = "".join(document.text for document in result.documents.values())
    assert 2 < text.count("Dogs.") < 100


def test_front_matter_is_metadata(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\ntitle: Cats\ntags: [pets, 'small']\ndate: 2024-05-01\nweight: 3\n"
        "authors:\n  - Ann\n  - Bo\nlinks:\n  - name: x\n    url: y\n---\n\nThey purr.\n"
    )
    (tmp_path / "b.md").write_text('+++\ntitle = "Dogs"\ntags = ["pets"]\n+++\n\nThey bark.\n')
    result = read_documents([str(tmp_path)])
    cats, dogs = result.documents.values()
    taken = {key: cats.metadata.get(key) for key in ("tags", "date", "weight", "authors", "title")}
    assert taken == {
        "tags": ["pets", "small"],
        "date": "2024-05-01",
        "weight": 3,
        "authors": ["Ann", "Bo"],
        "title": None,
    }
    assert (cats.title, dogs.title, dogs.metadata["tags"]) == ("Cats", "Dogs", ["pets"])
    assert result.losses["a.md"].rules["front matter that is nested"].example == "url: y"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('k: [a, "b, c", 3]  # said', ["a", "b, c", 3]),
        ("k: true", True),
        ("k: 1.5", 1.5),
        ("k: 007", "007"),
        ("k: http://a.b/c#d", "http://a.b/c#d"),
        ("k: '# no comment'", "# no comment"),
        ("k: >-\n  Two\n  lines", "Two lines"),
        ("k:\n  inner: 1", "inner: 1"),
        ("k: 3\n  more", "3 more"),
        ("tags: oil, seal", None),
    ],
)
def test_values_of_front_matter_are_read_as_yaml_has_them(line: str, value: object) -> None:
    read, _ = front_matter(f"---\n{line}\n---\nWords.\n")
    assert read == ({"k": value} if value is not None else {"tags": ["oil", "seal"]})


def test_fields_on_top_of_a_page_of_sphinx_are_metadata(tmp_path: Path) -> None:
    text = ":tags: oil, seal\n:orphan:\n\nPumps\n=====\n\nThey turn.\n"
    (tmp_path / "a.rst").write_text(text)
    (document,) = read_documents([str(tmp_path)]).documents.values()
    assert document.metadata["tags"] == ["oil", "seal"]
    assert "orphan" not in document.metadata
    assert (document.title, document.text) == ("Pumps", "They turn.")
    assert text[document.metadata["start"] :].startswith("They turn.")


def test_a_role_on_top_of_a_page_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text(":mod:`asyncio` runs loops.\n\nMore of it.\n")
    (document,) = read_documents([str(tmp_path)]).documents.values()
    assert document.text.startswith("`asyncio` runs loops.")


def test_a_path_of_sphinx_that_begins_with_a_slash_begins_at_the_root(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "code.py").write_text("x = 'CODE'\n")
    (tmp_path / "inner" / "a.rst").write_text("Words.\n\n.. literalinclude:: /code.py\n")
    (document,) = read_documents([str(tmp_path)]).documents.values()
    assert "x = 'CODE'" in document.text
