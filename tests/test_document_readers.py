"""Every reader of documents and of public collections, on files made wrong in many ways."""

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from fuzzing import mutants, refused
from made_documents import HTML, epub, pdf, slides, word_document, workbook

from labeler.catalog.recipes import READERS, Recipe, read_recipe
from labeler.corpus.blocks import SourceDocument
from labeler.corpus.cut import Spans, passages
from labeler.corpus.read import documents_in
from labeler.data import Query
from labeler.errors import BadInput
from labeler.trec.rows import LARGEST_GRADE

SOME, MANY = 60, 4_000
SHORT = 10_000  # bytes; Markdown takes some 30 µs for each

MARKDOWN = """---
title: "A title"
---
# Cats {#cats}

A *cat* [sleeps](a.md "b") `anywhere`; see [^1] and <b title="x">this</b>, {doc}`that <x>`.

| a | b |
|---|:-:|
| 1 | `x|y` |

- one
  1. two

      code
> [!NOTE]
> quoted &amp; \\*not\\* <!-- hidden -->

```{note} A note
:class: tip
Inside ![it](i.png).
```

:::{tip} T
words
:::

!!! note "N"
    indented

Term
: Definition

[^1]: A footnote.
<Tabs caption="C">x</Tabs>
--8<-- "file"
$$
x
$$
"""
RST = """Cats
====

A *cat* ``sleeps`` :py:func:`~a.b` `here <x>`_ |v| [1]_::

    code

.. |v| replace:: 1.0
.. note:: A note
   :class: tip

   Inside.

- one

  - two

1. item
:field: body
term
   definition

+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+

=== ===
a   b
=== ===
1   2
=== ===

| line
>>> 1 + 1
2

.. [1] Footnote
.. code-block:: python
   :caption: C

   x = 1
"""
ROWS = """{"_id": "d1", "title": "T", "text": "x y", "metadata": {"url": "u"}}
{"id": 2, "contents": "é", "year": 1999}
{"title": "no id", "body": "words"}
"""
CSV = 'id,title,text,year\n1,T,"a, b\nc",1999\n2,,x,\n'
GOOD = {
    "a.md": MARKDOWN,
    "a.mdx": f"import A from 'a'\n\n{MARKDOWN}{{/* x */}} {{`shown`}} <A b={{1}}/>\n",
    "a.rst": RST,
    "a.txt": "A cat.\nsleeps\n\nanywhere\n",
    "a.jsonl": ROWS,
    "a.csv": CSV,
    "a.tsv": "id\ttitle\ttext\n1\tT\ta b\n2\t\tx\n",
}
"""A good file of each kind."""

NOTEBOOK = """{"cells": [{"cell_type": "markdown", "source": ["# Cats\\n", "They sleep."]},
{"cell_type": "code", "source": "sleep(1)", "outputs": []}], "metadata": {}, "nbformat": 4}
"""
MAIL = """Subject: A
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: text/plain; charset=utf-8

Some words.
--B
Content-Type: text/html

<p>Some words.</p>
--B--
"""
OTHERS = {
    "a.html": HTML.encode(),
    "a.ipynb": NOTEBOOK.encode(),
    "a.pdf": pdf("A line of text.", "Another page (of words)."),
    "a.docx": word_document(),
    "a.epub": epub(),
    "a.xlsx": workbook({"a": [["b", "<><v>1</v>"]]}),
    "a.pptx": slides([("A", ["words", "more"])], "notes"),
    "a.eml": MAIL.encode(),
    "a.mhtml": b"Subject: A\nContent-Type: text/html\n\n<p>A page.</p>\n",
    "a.adoc": b"= A\n\n* b\n\n----\nc\n----\n\n|===\n|d |e\n|===\n\ninclude::f[]\n",
}
"""A good file of each kind that is converted."""


def check_documents(path: Path, content: bytes) -> bool:
    """Whether a file was read; its documents must then be fit to be written as a corpus."""
    path.write_bytes(content)
    read = refused(path, lambda: list(documents_in(path)))
    if not isinstance(read, list):
        return False
    for document in read:
        check_document(document, content)
    return True


def check_document(document: SourceDocument, content: bytes) -> None:
    shown = [passage for passage in passages(document.blocks) if passage.text.strip()]
    assert shown or not any(block.text for block in document.blocks)
    texts = [document.title, document.text, *(p.text for p in shown)]
    assert all(text.encode() for text in texts if text)
    if document.id is not None:
        assert document.id.split() == [document.id]
    if document.spans_in is not None:
        text = document.spans_in.text
        spans = Spans(text, document.blocks, any_line_end=document.spans_in.any_line_end)
        places = [spans.of(passage) for passage in passages(document.blocks)]
        assert all(0 <= start <= end <= len(text) for start, end in places), places
        if not document.spans_in.own:
            return
    last = content.count(b"\n") + content.count(b"\r") + 1
    if content[:2] != b"\x1f\x8b":
        assert all(1 <= block.line <= last for block in document.blocks), document.blocks


@pytest.mark.parametrize("name", GOOD)
def test_documents_are_read_or_their_file_is_named(name: str, tmp_path: Path) -> None:
    good = GOOD[name].encode()
    assert check_documents(tmp_path / name, good)
    short = (mutant for mutant in mutants(good, SOME) if len(mutant) < SHORT)
    read = [check_documents(tmp_path / name, mutant) for mutant in short]
    assert 0 < sum(read) < len(read)


@pytest.mark.parametrize("name", OTHERS)
def test_other_documents_are_read_or_their_file_is_named(name: str, tmp_path: Path) -> None:
    good = OTHERS[name]
    assert check_documents(tmp_path / name, good)
    for mutant in mutants(good, SOME // 2):
        check_documents(tmp_path / name, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_many_other_documents_are(name: str, tmp_path: Path) -> None:
    for mutant in mutants(OTHERS[name], MANY, seed=1):
        check_documents(tmp_path / name, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_many_documents_are(name: str, tmp_path: Path) -> None:
    for mutant in mutants(GOOD[name].encode(), MANY, seed=1):
        check_documents(tmp_path / name, mutant)


TABLE = "query,id,title,text,final\nred shoes,7,Shoe,,2\nred shoes,12,Hat,A hat.,3\n"
ANSWERS = 'AnswerID,Answer\na1,"Question: q\nURL: u\nAnswer: a"\n'
QUESTIONS = """<?xml version="1.0"?>
<r><NLM-QUESTION qid="TQ1"><Original-Question><SUBJECT>s</SUBJECT><MESSAGE>m &amp; n</MESSAGE>
</Original-Question><NLM-Summary>s</NLM-Summary></NLM-QUESTION></r>
"""
JUDGED = "1 2 a1\n1 3 a1\n"
COLUMNS = {"query": "query", "document": "id", "title": "title", "text": "text"}
MAPPED = Recipe.model_construct(
    columns=COLUMNS,
    members={"answers": "a", "qrels": "q"},
    qrels={"human": "final"},
    grades={"2": 2, "3": 3},
)
RECIPE = f"""title = "T"
licence = "MIT"
citation = "Nobody (2020)"
homepage = "https://example.org"
layout = "judged-table"
columns = {{query = "query", document = "id"}}
qrels = {{human = "final"}}
grades = {{2 = 2, 3 = 3}}
counts = {{queries = 2, documents = 2, pairs = 2}}
[sources.table]
repository = "some/shop"
commit = "{"a" * 40}"
path = "t.csv"
size = 12
sha256 = "{"b" * 64}"
"""


def zipped(answers: bytes, judged: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", answers)
        archive.writestr("q", judged)
    return content.getvalue()


def read_upstream(layout: str, folder: Path) -> None:
    """Read a public collection; its ids must be ids, and its grades grades."""
    files = {path.name: path for path in folder.iterdir()}
    upstream = READERS[layout](files, MAPPED)
    ids = {i for pair in upstream.pool for i in pair} | {*upstream.queries, *upstream.documents}
    assert all(i.split() == [i] and "\0" not in i for i in ids), ids
    assert all(isinstance(query, Query) and query.text for query in upstream.queries.values())
    for grades in (grades for qrels in upstream.qrels.values() for grades in qrels.values()):
        assert all(abs(grade) <= LARGEST_GRADE for grade in grades.values())


def read_as_recipe(folder: Path) -> None:
    recipe = read_recipe(folder / "r.toml").recipe
    assert all("/" not in name and name.strip(".") for name in recipe.qrels)
    for source in recipe.sources.values():
        assert ".." not in source.pinned_path.split("/")


class Upstream(NamedTuple):
    """The files of a public collection, which of them is made wrong and how, and its reader."""

    file: str
    good: str
    read: Callable[[Path], None]
    others: dict[str, bytes]
    packed: Callable[[bytes], bytes] = bytes


def of_liveqa(folder: Path) -> None:
    read_upstream("liveqa-medquad", folder)


ARCHIVE = {"answers": zipped(ANSWERS.encode(), JUDGED.encode())}
XML = {"questions": QUESTIONS.encode()}
UPSTREAM = {
    "table": Upstream("table", TABLE, lambda folder: read_upstream("judged-table", folder), {}),
    "questions": Upstream("questions", QUESTIONS, of_liveqa, ARCHIVE),
    "answers": Upstream(
        "answers", ANSWERS, of_liveqa, XML, lambda content: zipped(content, JUDGED.encode())
    ),
    "judged": Upstream(
        "answers", JUDGED, of_liveqa, XML, lambda content: zipped(ANSWERS.encode(), content)
    ),
    "archive": Upstream(
        "answers", "latin", of_liveqa, XML, lambda content: content.decode("latin-1").encode()
    ),
    "recipe": Upstream("r.toml", RECIPE, read_as_recipe, {}),
}


def check_upstream(name: str, folder: Path, content: bytes) -> bool:
    """Whether the files were read, of which one holds this."""
    upstream = UPSTREAM[name]
    for other, raw in upstream.others.items():
        (folder / other).write_bytes(raw)
    path = folder / upstream.file
    path.write_bytes(content)
    also = [folder / other for other in upstream.others]
    return not isinstance(refused(path, lambda: upstream.read(folder), also), BadInput)


def files_of(name: str, count: int, seed: int = 0) -> Iterator[bytes]:
    """The good file, and as many that are not."""
    upstream = UPSTREAM[name]
    if name == "archive":
        yield ARCHIVE["answers"]
        yield from mutants(ARCHIVE["answers"], count, seed)
        return
    yield upstream.packed(upstream.good.encode())
    yield from map(upstream.packed, mutants(upstream.good.encode(), count, seed))


@pytest.mark.parametrize("name", UPSTREAM)
def test_a_public_collection_is_read_or_its_file_is_named(name: str, tmp_path: Path) -> None:
    read = [check_upstream(name, tmp_path, content) for content in files_of(name, SOME)]
    assert read[0]
    assert not all(read)


@pytest.mark.slow
@pytest.mark.parametrize("name", UPSTREAM)
def test_many_public_collections_are(name: str, tmp_path: Path) -> None:
    for content in files_of(name, MANY, seed=1):
        check_upstream(name, tmp_path, content)
