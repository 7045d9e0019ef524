"""What files lose on their way into a corpus is counted by rule, said, and bounded."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from made_documents import HTML, word_document, zipped

from labeler.cli import execute
from labeler.corpus.blocks import FileRules
from labeler.corpus.documents import Reading, read_documents
from labeler.corpus.ingest import ingest
from labeler.corpus.losses import characters_of
from labeler.errors import BadInput

WORDS = "Some words of a text that says something about cats.\n\n"
LOSING = {
    "a.md": (
        f"# Cats\n\n{WORDS * 9}{{* ../src/cats.py *}}\n\n<!-- no -->\n\n[a](http://x.y/z)\n",
        {
            "includes of other files": "{* ../src/cats.py *}",
            "scripts, styles and comments": "<!-- no -->",
            "addresses of links and images": "http://x.y/z",
        },
    ),
    "b.md": (
        f"{WORDS}{{{{#include a.rs}}}}\n\nSee {{% raw %}}\n\n[TOC]\n\n"
        "```{toctree}\na\nb\n```\n\n> [!NOTE]\n> Words.\n",
        {
            "includes of other files": "{{#include a.rs}}",
            "attributes, and tags of templates": "[TOC]",
            "directives that show nothing": "{toctree} a b",
            "kinds of notes": "[!NOTE]",
        },
    ),
    "c.mdx": (
        f"import A from 'a'\n\n{WORDS}The sum is {{1 + 2}}.\n",
        {
            "imports and exports": "import A from 'a'",
            "expressions that are known when they run": "{1 + 2}",
        },
    ),
    "d.rst": (
        f"Cats\n====\n\n{WORDS * 3}.. no words\n\n.. include:: other.rst\n\n"
        ".. toctree::\n\n   a\n   b\n\n"
        ".. _cats: http://x.y\n\n.. note::\n   :class: a\n\n   Words `a <http://z>`_.\n",
        {
            "scripts, styles and comments": ".. no words",
            "includes of other files": ".. include:: other.rst",
            "directives that show nothing": ".. toctree:: a b",
            "addresses of links and images": "http://z",
            "options of directives": ":class: a",
        },
    ),
    "e.html": (
        HTML,
        {
            "what a site shows around a page's text": "Home",
            "what a page hides": "¶",
            "addresses of links and images": "#i",
        },
    ),
    "f.ipynb": (
        json.dumps(
            {
                "cells": [
                    {"cell_type": "markdown", "source": WORDS * 4},
                    {"cell_type": "raw", "source": "raw"},
                    {"cell_type": "code", "source": "1", "outputs": [{"text": "1"}]},
                ]
            }
        ),
        {"cells of other kinds": "raw", "what code printed": '[{"text": "1"}]'},
    ),
    "g.txt": (WORDS, {}),
}


@pytest.mark.parametrize("name", LOSING)
def test_each_rule_is_counted_with_an_example(name: str, tmp_path: Path) -> None:
    content, examples = LOSING[name]
    (tmp_path / name).write_text(content)
    result = read_documents([str(tmp_path)])
    rules = result.losses[name].rules
    assert {rule: lost.example for rule, lost in rules.items()} == examples
    assert all(lost.characters > 0 and lost.count > 0 for lost in rules.values())


def test_a_text_without_losses_has_as_many_characters_in_as_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WORDS)
    losses = read_documents([str(tmp_path)]).losses["a.txt"]
    assert losses.characters_in == losses.characters_out == characters_of(WORDS)


def test_headers_of_a_word_document_are_counted(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(word_document())) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    parts["word/header1.xml"] = "<f><t>Said of a cat.</t></f>"
    (tmp_path / "a.docx").write_bytes(zipped(parts))
    (lost,) = read_documents([str(tmp_path)]).losses["a.docx"].rules.items()
    assert lost[0] == "headers and footers of pages"
    assert lost[1].example == "Said of a cat."


MOSTLY_LOST = "A word.\n\n" + "{* ../src/a_long_name_of_a_file.py *}\n\n" * 19


def test_a_file_that_loses_most_of_its_text_stops_it_and_is_named(tmp_path: Path) -> None:
    docs, out = tmp_path / "docs", tmp_path / "c"
    docs.mkdir()
    (docs / "a.md").write_text(MOSTLY_LOST)
    (docs / "b.md").write_text(WORDS)
    with pytest.raises(BadInput, match=r"a\.md: 99% of its text would be left out .*includes"):
        ingest(docs, out)
    assert not (out / "corpus.jsonl").exists()
    taken = read_documents([str(docs)], how=Reading(files=FileRules(most_lost=0.995)))
    assert len(taken.documents) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("index.rst", "Cats\n====\n\nWords.\n\n.. toctree::\n\n" + "   a_name\n" * 200),
        (
            "a.ipynb",
            json.dumps(
                {
                    "cells": [
                        {
                            "cell_type": "code",
                            "source": "plot()",
                            "outputs": [{"data": "iVBOR" * 400}],
                        }
                    ]
                }
            ),
        ),
        ("a.html", f"<nav>{'<a href=b>menu</a> ' * 300}</nav><main><p>A word.</p></main>"),
        ("links.md", "".join(f"- [a](https://a.b/{n}/a-long-address)\n" for n in range(100))),
    ],
)
def test_what_is_no_text_of_a_document_stops_nothing(
    name: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    result = read_documents([str(tmp_path)])
    (losses,) = result.losses.values()
    assert sum(lost.characters for lost in losses.rules.values()) > 500


def test_few_lost_characters_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Words.\n\n{* ../src/a_long_name_of_a_file.py *}\n")
    assert len(read_documents([str(tmp_path)]).documents) == 1


def test_the_command_says_in_a_line_what_is_left_out_and_writes_it_into_the_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs, out = tmp_path / "docs", tmp_path / "c"
    docs.mkdir()
    (docs / "a.md").write_text(MOSTLY_LOST)
    words = ["corpus", "ingest", str(docs), "-o", str(out), "--json"]
    assert execute(words) == 65
    assert "--most-lost" in capsys.readouterr().err
    assert execute([*words, "--set", "reading.most_lost=1"]) == 0
    shown = capsys.readouterr()
    assert "left out of 1 file, 665 of 671 characters: 19 × includes of other" in shown.err
    losses = json.loads(shown.out)["losses"]
    assert losses["files"]["a.md"]["rules"]["includes of other files"]["count"] == 19
    card = json.loads((out / "card.json").read_text())["ingest"]["losses"]
    assert card == {name: value for name, value in losses.items() if name != "files"}
