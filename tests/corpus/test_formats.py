"""PDF, HTML, DOCX, EPUB, notebooks: what of them becomes text."""

import json
import textwrap
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from made_documents import (
    EPUB_PARTS,
    HTML,
    Placed,
    epub,
    pdf,
    slides,
    word_document,
    workbook,
    zipped,
)

from labeler.cli import execute
from labeler.corpus.documents import read_documents
from labeler.corpus.losses import Losses
from labeler.corpus.read import documents_in
from labeler.data import Document
from labeler.errors import BadInput
from labeler.exchange.fields import FieldNames
from labeler.messages import told_what_files_are

PDFS = Path(__file__).parents[3] / "shared" / "data" / "pdf"


def passages_in(path: Path, content: bytes | str) -> list[Document]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_documents([str(path)]).documents.values())


def text_in(path: Path, content: bytes | str) -> str:
    return "\n\n".join(document.text for document in passages_in(path, content))


def test_of_a_page_the_main_text_is_read_with_headings_code_and_tables(tmp_path: Path) -> None:
    (document,) = passages_in(tmp_path / "a.html", HTML)
    assert document.title == "Install"
    assert document.text == textwrap.dedent("""\
        Run `pip install x` now, it's small.

        ```python
        import x
        x.run()
        ```

        Options

        name | meaning
        a | two words

        - one
          - inner
        - two

        term

        definition""")


@pytest.mark.parametrize(
    ("around", "inside"),
    [
        ('<div class="sidebar"><p>menu</p></div>', "<div><p>words</p></div>"),
        ('<div role="navigation">menu</div>', "<article><p>words</p></article>"),
        ("<ul>" + "<li><a href=x>menu</a></li>" * 9 + "</ul>", "<p>words</p>"),
        ("<footer>menu</footer>", "<section><h2>A</h2>words</section>"),
        ('<div style="display: none">menu</div>', "words"),
        ("<header><a>menu</a></header>", "<span>words</span>"),
    ],
)
def test_what_surrounds_the_text_of_a_page_is_left_out(
    around: str, inside: str, tmp_path: Path
) -> None:
    text = text_in(tmp_path / "a.html", f"<html><body>{around}{inside}{around}</body></html>")
    assert "words" in text
    assert "menu" not in text


def test_a_page_is_read_by_the_encoding_that_it_names(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>Käse “fein”</p>'.encode("cp1252")
    assert text_in(tmp_path / "a.html", page) == "Käse “fein”"


def test_a_page_nested_without_end_is_read(tmp_path: Path) -> None:
    assert text_in(tmp_path / "a.html", "<div>" * 20_000 + "deep") == "deep"


def test_the_pages_of_a_pdf_become_paragraphs_with_divided_words_put_together(
    tmp_path: Path,
) -> None:
    text = (
        "The first line of a paragraph which goes on in the sec-\nond line.\nAnother para-\ngraph."
    )
    (document,) = passages_in(tmp_path / "a.pdf", pdf(text))
    assert document.text.split("\n\n") == [
        "The first line of a paragraph which goes on in the second line.",
        "Another paragraph.",
    ]
    assert document.metadata["page"] == 1


def test_lines_at_the_edge_of_most_pages_of_a_pdf_are_left_out(tmp_path: Path) -> None:
    pages = [f"The Handbook\nUnlike the others, {word}.\nPage {n}" for n, word in enumerate("abcd")]
    text = text_in(tmp_path / "a.pdf", pdf(*pages))
    assert "Handbook" not in text
    assert "Page" not in text
    assert "Unlike the others, c." in text


def of_pdf(path: Path, *pages: Sequence[Placed]) -> tuple[list[tuple[str, ...]], Losses]:
    """The headings and the text of each block, and what is left out."""
    path.write_bytes(pdf(*pages))
    (document,) = documents_in(path)
    assert document.losses is not None
    return [(*block.headings, block.text) for block in document.blocks], document.losses


LINE = "A line of the text of this page that goes on as far as lines do,"


def test_what_stands_out_in_a_pdf_is_a_heading(tmp_path: Path) -> None:
    page = [
        Placed("The pump", 72, 700, 20),
        Placed(LINE, 72, 660),
        Placed("and ends.", 72, 648),
        Placed("Pressures", 72, 620, 14),
        Placed(LINE, 72, 600),
        Placed("Of water", 72, 570, bold=True),
        Placed(LINE, 72, 550),
        Placed("42", 72, 500, 30),
    ]
    blocks, losses = of_pdf(tmp_path / "a.pdf", page)
    assert blocks == [
        ("The pump", ""),
        ("The pump", f"{LINE} and ends."),
        ("The pump", "Pressures", ""),
        ("The pump", "Pressures", LINE),
        ("The pump", "Pressures", "Of water", ""),
        ("The pump", "Pressures", "Of water", LINE),
        ("The pump", "Pressures", "Of water", "42"),
    ]
    assert not losses.rules


def test_the_rows_of_a_table_in_a_pdf_stay_rows(tmp_path: Path) -> None:
    rows = [("Pump", "Pressure", "Flow"), ("P1", "4 bar", "10 l/min"), ("P1x", "6 bar", "12 l/min")]
    page = [
        Placed(LINE, 72, 700),
        *(
            Placed(cell, 72 + 60 * column, 680 - 14 * row, bold=row == 0)
            for row, cells in enumerate(rows)
            for column, cell in enumerate(cells)
        ),
        Placed("Use", 72, 600),
        Placed("only", 72 + 20, 600, bold=True),
        Placed("our parts.", 72 + 43, 600),
    ]
    blocks, _ = of_pdf(tmp_path / "a.pdf", page)
    assert [block[-1] for block in blocks] == [
        LINE,
        "Pump | Pressure | Flow",
        "P1 | 4 bar | 10 l/min",
        "P1x | 6 bar | 12 l/min",
        "Use only our parts.",
    ]


def test_columns_of_a_pdf_that_are_written_line_by_line_are_read_one_by_one(tmp_path: Path) -> None:
    half = "A line of text that is half a page wide"
    page = [
        Placed(f"{half} {column}{row},", x, 700 - 12 * row)
        for row in range(4)
        for column, x in (("a", 60), ("b", 320))
    ]
    blocks, _ = of_pdf(tmp_path / "a.pdf", page)
    order = " ".join(block[-1] for block in blocks).replace(half, "").split()
    assert order == ["a0,", "a1,", "a2,", "a3,", "b0,", "b1,", "b2,", "b3,"]


def test_no_fact_of_a_form_is_taken_for_the_edge_of_a_page(tmp_path: Path) -> None:
    pages = [
        [
            Placed("Acme Pumps Ltd", 72, 760, 8),
            Placed(f"Invoice 2024-{36 + n}", 72, 720, 16),
            Placed(f"{n} pumps were delivered.", 72, 690),
            Placed(f"Region {n}", 72, 660),
            Placed(f"Total due: {n}13.50 EUR", 72, 640),
            Placed(f"Pay by {n}.4.2024", 72, 620),
            Placed(f"- {n} -", 300, 30, 8),
        ]
        for n in range(1, 6)
    ]
    blocks, losses = of_pdf(tmp_path / "a.pdf", *pages)
    text = "\n".join(block[-1] or block[-2] for block in blocks)
    for page in pages:
        for placed in page[1:-1]:
            assert placed.text in text
    assert {rule: (lost.count, lost.example) for rule, lost in losses.rules.items()} == {
        "lines that most pages have": (5, "Acme Pumps Ltd"),
        "page numbers": (5, "- 1 -"),
    }
    assert losses.characters_in == losses.characters_out + 5 * 12 + 5 * 3


def test_a_number_that_is_no_page_number_stays(tmp_path: Path) -> None:
    pages = [f"{n * n}\nUnlike the others, {n}.\n{17 * n % 7}" for n in range(1, 5)]
    text = text_in(tmp_path / "a.pdf", pdf(*pages))
    assert [line for line in text.split() if line.isdigit()] == [
        each for n in range(1, 5) for each in (str(n * n), str(17 * n % 7))
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.pdf", pdf("", "", image=True), "only images (2 pages)"),
        ("a.pdf", pdf(""), "no text in it"),
        ("a.pdf", b"%PDF-1.7\nnothing", "a.pdf: "),
        ("a.docx", b"\xd0\xcf\x11\xe0" + b"\0" * 600, "encrypted, or of an old format"),
        ("a.docx", b"words", "no ZIP archive"),
        ("a.docx", zipped({"a.xml": "<a/>"}), "a.docx: "),
        ("a.epub", zipped({"a": ""}), "nothing is called 'META-INF/container.xml' in it"),
        ("a.epub", epub(**{"META-INF/encryption.xml": '<e><CipherReference URI="a.xhtml"/></e>'}),
         "encrypted (DRM)"),
        ("a.epub", epub(**{"OPS/book.opf": "<!DOCTYPE p [<!ENTITY a 'b'>]><p>&a;</p>"}),
         "defines entities of XML"),
        ("a.xlsx", zipped({"a": ""}), "nothing is called 'xl/workbook.xml' in it"),
        ("a.xlsx", workbook({}), "no text in it"),
        ("a.pptx", slides([]), "no text in it"),
        ("a.eml", "\n", "begins with no header"),
        ("a.mhtml", "Subject: a\n\n", "no text in it"),
        ("a.ipynb", "{}", "expected a notebook, a JSON object with a list of cells"),
        ("a.ipynb", '{"cells": []}', "no text in it"),
        ("a.html", "", "empty"),
    ],
    ids=lambda value: "content" if isinstance(value, bytes) else value,  # it holds the time
)  # fmt: skip
def test_a_file_without_text_is_named_with_the_reason(
    name: str, content: bytes | str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "b.txt").write_text("words")
    result = read_documents([str(tmp_path)])
    assert len(result.documents) == 1
    (line,) = result.unread
    assert line.startswith(f"{path}: ")
    assert problem in line


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(zipped({"word/document.xml": "<p>" + " " * (9 << 20)}))
    with pytest.raises(BadInput, match=r"a\.docx: .* than the 8 MB"):
        list(documents_in(path))
    path = tmp_path / "a.epub"
    path.write_bytes(epub(**{"OPS/one.xhtml": "<p>" + " " * (65 << 20)}))
    with pytest.raises(BadInput, match=r"a\.epub: .* than the 64 MB"):
        list(documents_in(path))


def test_a_word_document_keeps_headings_lists_and_tables(tmp_path: Path) -> None:
    (document,) = passages_in(tmp_path / "a.docx", word_document())
    assert document.title == "The guide > Install"
    assert document.text == (
        "Run the installer.\n\n- first\n- second\n\nOptions\n\nname | meaning\na | two words"
    )


IN_PARAGRAPHS = {
    "an edit": (
        "<p><ins><r><t>New</t></r></ins><del><r><delText>Old</delText></r></del></p>",
        "New",
    ),
    "text that was moved": ("<p><moveFrom><r><t>Here</t></r></moveFrom><t>x</t></p>", "x"),
    "a link": ("<p><r><t>see </t></r><hyperlink><r><t>it</t></r></hyperlink></p>", "see it"),
    "a field to fill in": ("<sdt><sdtContent><p><t>A name</t></p></sdtContent></sdt>", "A name"),
    "a tab and a break": ("<p><t>a</t><tab/><t>b</t><br/><t>c</t></p>", "a b c"),
    "a table in a cell": (
        "<tbl><tr><tc><p><t>a</t></p><tbl><tr><tc><p><t>b</t></p></tc></tr></tbl></tc></tr></tbl>",
        "a b",
    ),
    "a box, whose text older programs find again": (
        "<p><r><t>x</t><AlternateContent><Choice><txbxContent><p><t>box</t></p></txbxContent>"
        "</Choice><Fallback><txbxContent><p><t>box</t></p></txbxContent></Fallback>"
        "</AlternateContent></r></p>",
        "x\n\nbox",
    ),
    "a note": ("<p><t>Said</t><footnoteReference id='2'/></p>", "Said[2]\n\n[2] By a cat."),
}


@pytest.mark.parametrize("what", IN_PARAGRAPHS)
def test_a_word_document_loses_no_words(what: str, tmp_path: Path) -> None:
    content, text = IN_PARAGRAPHS[what]
    parts = {
        "word/document2.xml": f"<document><body>{content}</body></document>",
        "word/footnotes.xml": "<a><footnote id='2'><p><t>By a cat.</t></p></footnote></a>",
    }
    (document,) = passages_in(tmp_path / "a.docx", zipped(parts))
    assert document.text == text


def test_the_chapters_of_a_book_come_in_the_order_of_its_spine(tmp_path: Path) -> None:
    (document,) = passages_in(tmp_path / "a.epub", epub())
    assert document.title == "A book"
    assert document.text == "One\n\nThe first chapter.\n\nTwo\n\nThe second chapter."
    long = EPUB_PARTS["OPS/two.xhtml"].replace("The second", "word " * 257)
    documents = passages_in(tmp_path / "b.epub", epub(**{"OPS/two.xhtml": long}))
    assert [document.title for document in documents] == ["A book > One", "A book > Two"]


def test_a_notebook_keeps_its_text_and_code_and_leaves_out_what_was_printed(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Cats\n", "\n", "They sleep."]},
        {"cell_type": "code", "source": "sleep()", "outputs": [{"text": ["printed"]}]},
        {"cell_type": "markdown", "source": "Then they wake."},
        {"cell_type": "raw", "source": "raw"},
    ]
    for metadata in ({}, None, [], {"kernelspec": None}, {"kernelspec": {"language": 3}}):
        notebook = json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4})
        (document,) = passages_in(tmp_path / "a.ipynb", notebook)
        assert document.title == "Cats"
        assert document.text == "They sleep.\n\n```python\nsleep()\n```\n\nThen they wake."


def test_cells_of_a_pdf_that_come_one_by_one_are_rows_and_words_are_words(tmp_path: Path) -> None:
    cells = [
        Placed(text, x, y)
        for y, row in ((700, ("valve", "bar")), (686, ("seven", "four bar")))
        for x, text in zip((72, 160), row, strict=True)
    ]
    words = [Placed(word, 72 + 30 * n, 600) for n, word in enumerate(("every", "pump", "stops."))]
    blocks, _ = of_pdf(tmp_path / "a.pdf", [*cells, *words])
    assert [block[-1] for block in blocks] == [
        "valve | bar",
        "seven | four bar",
        "every pump stops.",
    ]


def test_code_in_a_pdf_keeps_its_lines_and_their_indentation(tmp_path: Path) -> None:
    code = [
        Placed("def run(x):", 72, 700, mono=True),
        Placed("if x:", 72 + 24, 688, mono=True),
        Placed("return x    # why", 72 + 48, 676, mono=True),
    ]
    page = [Placed(f"{LINE} {LINE}", 72, 730), *code, Placed("It runs, as said.", 72, 640)]
    blocks, _ = of_pdf(tmp_path / "a.pdf", page)
    assert [block[-1] for block in blocks][1:] == [
        "```\ndef run(x):\n    if x:\n        return x    # why\n```",
        "It runs, as said.",
    ]
    far = [code[0], code[1]._replace(x=2_000_000_000)]
    blocks, _ = of_pdf(tmp_path / "c.pdf", [page[0], *far])
    assert len(blocks[-1][-1]) < 200
    plain = [each._replace(bold=True) for each in code]  # as letters of a typewriter throughout
    blocks, _ = of_pdf(tmp_path / "b.pdf", plain)
    assert "```" not in blocks[0][-1]


def test_notes_aside_are_of_a_book_and_of_a_text_and_not_of_the_site_around_it(
    tmp_path: Path,
) -> None:
    note = "<aside><p>A note.</p></aside>"
    assert "A note." in text_in(tmp_path / "a.html", f"<main><h1>T</h1><p>Words</p>{note}</main>")
    assert "A note." not in text_in(tmp_path / "a.html", f"<h1>T</h1><p>Words</p>{note}")
    (document,) = passages_in(tmp_path / "a.epub", epub(**{"OPS/one.xhtml": f"<p>Words</p>{note}"}))
    assert "A note." in document.text


def test_what_the_head_of_a_page_says_is_metadata(tmp_path: Path) -> None:
    head = '<head><meta name=keywords content="oil, seal"><meta name=viewport content=x></head>'
    (document,) = passages_in(tmp_path / "a.html", f"<html>{head}<h1>T</h1><p>Words of it</p>")
    assert document.metadata["keywords"] == ["oil", "seal"]
    assert "viewport" not in document.metadata


@pytest.mark.skipif(not PDFS.is_dir(), reason="the shared PDF files are not here")
def test_real_pdfs_are_read_or_named() -> None:
    result = read_documents([str(PDFS)])
    problems = sorted(line.partition(".pdf: ")[2].partition(";")[0] for line in result.unread)
    assert problems == ["encrypted", "only images (6 pages)"]
    sources = {document.metadata["source"][:3] for document in result.documents.values()}
    assert sources == {"002", "004", "015", "026"}
    two_columns = [d.text for d in result.documents.values() if d.metadata["source"][:3] == "026"]
    assert "consectetuer adipiscing elit" in two_columns[0]


def test_no_format_opens_the_network_or_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("TOPSECRET")
    entity = f"<!DOCTYPE x [<!ENTITY e SYSTEM '{secret.as_uri()}'>]><x>&e; words</x>"
    assert "TOPSECRET" not in text_in(tmp_path / "a.html", entity)
    for name, content in (
        ("a.epub", epub(**{"OPS/book.opf": entity})),
        ("a.docx", zipped({"word/document.xml": entity})),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadInput, match="defines entities of XML"):
            list(documents_in(tmp_path / name))


def test_rows_of_codes_and_numbers_ask_which_column_is_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sku,price,farbe\n1,3.5,rot\n2,4,blau\n")
    with pytest.raises(BadInput, match=r"which column is the text\? there are sku, price, farbe"):
        list(documents_in(path))
    fields = FieldNames(text_field="farbe")
    assert [d.blocks[0].text for d in documents_in(path, fields)] == ["rot", "blau"]
    every = list(documents_in(path, FieldNames(text_field="*")))
    assert every[0].text == "sku: 1\nprice: 3.5\nfarbe: rot"


def test_rows_with_texts_under_other_names_say_that_all_columns_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sku,bezeichnung\n1,Ein roter Schuh\n")
    lines: list[str] = []
    with told_what_files_are(lines.append):
        (document,) = documents_in(path)
    assert "bezeichnung: Ein roter Schuh" in document.text
    assert lines[0].endswith("none is called the text, so all are, each with its name")


def test_dates_and_exact_numbers_of_a_parquet_file_become_text_and_bytes_are_refused(
    tmp_path: Path,
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    def file_of(name: str, value: object) -> Path:
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(pa.table({"id": ["a"], "text": ["x y"], name: [value]}), path)
        return path

    values = {
        "day": (date(2020, 1, 2), "2020-01-02"),
        "when": (datetime(2020, 1, 2, 3, 4), "2020-01-02 03:04:00"),
        "price": (Decimal("1.50"), "1.50"),
        "days": ([date(2020, 1, 2)], ["2020-01-02"]),
    }
    for name, (value, text) in values.items():
        out = tmp_path / name
        assert execute(["corpus", "ingest", str(file_of(name, value)), "-o", str(out)]) == 0
        (row,) = map(json.loads, (out / "corpus.jsonl").read_text().splitlines())
        assert row["metadata"][name] == text
    with pytest.raises(BadInput, match="expected text or numbers in 'raw', found bytes"):
        read_documents([str(file_of("raw", b"\xff"))])


def shown_in(path: Path, content: bytes | str) -> tuple[str, list[str], Losses]:
    """The title of a document, the text or the heading of each block, and what is left out."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (document,) = documents_in(path)
    assert document.losses is not None
    texts = [block.text or f"# {block.headings[-1]}" for block in document.blocks]
    return document.title, texts, document.losses


def test_the_sheets_of_a_workbook_are_tables(tmp_path: Path) -> None:
    styles = '<s><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></s>'
    rows = [
        ["Pump", "Price", "Since"],
        ["P1", "<><v>12.5</v>", '<s="1"><v>45413</v>'],
        ['<r="A3" t="b"><v>1</v>', '<r="C3"><f>1+1</f>'],
    ]
    title, texts, _ = shown_in(
        tmp_path / "a.xlsx", workbook({"Prices": rows, "b": [["x"]]}, styles)
    )
    assert title == ""
    assert texts == [
        "# Prices",
        "Pump | Price | Since",
        "P1 | 12.5 | 2024-05-01",
        "TRUE |  | =1+1",
        "# b",
        "x",
    ]


def test_slides_are_read_under_their_titles_with_the_notes(tmp_path: Path) -> None:
    pages = [("Pumps", ["First", "Second"]), ("Prices", ["12"])]
    _, texts, losses = shown_in(tmp_path / "a.pptx", slides(pages, "Say hello"))
    assert texts == ["# Pumps", "First", "Second", "Say hello", "# Prices", "12"]
    assert not losses.rules


MAIL = """From: Ann <ann@x.org>
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= from here
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=M

--M
Content-Type: multipart/alternative; boundary=A

--A
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe, the pump arrived.
--A
Content-Type: text/html

<p>The pump arrived.</p>
--A--
--M
Content-Type: application/pdf
Content-Disposition: attachment; filename=a.pdf

x
--M--
"""
PAGE = """From: <Saved by a browser>
Subject: Cats
MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary=B

--B
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<nav>menu</nav><h1>Cats</h1><p>They p=
urr.</p>
--B
Content-Type: text/css

p { color: red }
--B--
"""


def test_a_message_is_its_plain_text_under_its_subject(tmp_path: Path) -> None:
    title, texts, losses = shown_in(tmp_path / "a.eml", MAIL)
    assert title == "Grüße from here"
    assert texts == ["From: Ann <ann@x.org>", "Grüße, the pump arrived."]
    assert {rule: lost.example for rule, lost in losses.rules.items()} == {
        "the same text as HTML": "<p>The pump arrived.</p>",
        "attachments and pictures": "a.pdf",
    }


def test_a_saved_page_is_read_as_the_page(tmp_path: Path) -> None:
    title, texts, losses = shown_in(tmp_path / "a.mhtml", PAGE)
    assert (title, texts) == ("Cats", ["# Cats", "They purr."])
    assert losses.rules["what a site shows around a page's text"].example == "menu"


ASCIIDOC = """= The pump
:version: 2.1

A pump, version {version}, *strong* and `code`. See <<install,the steps>>
or https://x.y/z[the page].

// a comment
[[install]]
== Install

. First step
that goes on
. Second
** inner

[source,python]
----
import x
----

[NOTE]
====
Mind the gap.
====

.Prices
|===
|Name |Price

|P1 |12
|===

image::a.png[A pump]

term:: its meaning

----
open
"""


def test_asciidoc_is_read_with_headings_lists_code_and_tables(tmp_path: Path) -> None:
    _, texts, losses = shown_in(tmp_path / "a.adoc", ASCIIDOC)
    assert texts == [
        "# The pump",
        "A pump, version 2.1, strong and `code`. See the steps or the page.",
        "# Install",
        "- First step that goes on",
        "- Second",
        "  - inner",
        "```python\nimport x\n```",
        "NOTE",
        "Mind the gap.",
        "Prices",
        "Name | Price",
        "P1 | 12",
        "A pump",
        "term:: its meaning",
        "```\nopen\n```",
    ]
    assert losses.rules["scripts, styles and comments"].example == "// a comment"
