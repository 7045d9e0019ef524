"""Documents made to keep a reader busy or to fill the memory: work and texts grow with the file."""

import gc
import io
import itertools
import json
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from every_row import every_row
from examples import tiers
from made_documents import EPUB_PARTS, Placed, epub, pdf, slides, word_document, workbook, zipped

from labeler.corpus.cut import passages
from labeler.corpus.read import TEXT_READERS, documents_in, kinds_read
from labeler.corpus.readers import markdown_tokens
from labeler.corpus.readers.asciidoc import read_asciidoc
from labeler.corpus.readers.markdown import read_markdown
from labeler.corpus.readers.outline import read_plaintext
from labeler.corpus.readers.rst import read_rst
from labeler.errors import BadInput, TooLarge
from tests.work import peak

READERS = {
    "md": read_markdown,
    "mdx": partial(read_markdown, mdx=True),
    "rst": read_rst,
    "adoc": read_asciidoc,
    "txt": read_plaintext,
}

REPEATED = (
    *("a ", " ", "\\", "[", "](", "`", "|", "<", "&", "'", '"', "*", "_", "~", "$", "{", "}"),
    *(":", "/", "-", "#", "+", "!", "=", "%", ".", "^", "\n", "\t", "\r", "\0", "\u3000", "é"),
    *("a\n", "a\n\n", "> ", "- ", "1. ", "[a](", "![", "[a]: b\n", "[^a]: ", "`a", "<a ", "<!--"),
    *("</a>", "{a}`", ":a:`b` ", "{{", "{%", "# a\n", "a\n=\n", "```\n", "```{note}\n", ":::\n"),
    *(":::{note}\n", "/// a\n", "!!! a\n    ", "|a", "|-|-|\n", "+--", "== ==\na  b\n\n"),
    *(".. a::\n", ".. |a| replace:: b\n", "|a| ", "`a <b>`_ ", "a_ ", "**a", "::\n\n  a\n"),
    *(":a: b\n", "$$\na\n", "import {", "export const a\n", "--8<--\n", "<script>\n", "<Tabs a={"),
    *("a: b\n", "\n:", "&amp;", "<http://", "[[", "[a][", "+++\n", "---\n", "  \n", "a  \n"),
)
OPENED = (
    *("*a ", "`", "[", "<a ", "> " * 50 + "\n", "- " * 40, "_a", "\\", "|-\n", "<!--\n", "<pre>\n"),
    *("/// a\n", ":::{x}\n", "{a=", "!!! n\n    ", "<T a={", "{", "a\n: b\n", "![", "export {\n"),
    *("--8<--\n", "[^a]: ", "$$\n"),
)
"""Marks that a reader of Markdown could look for the end of, once for each."""
NESTED: dict[str, Callable[[int], str]] = {
    "quotations": lambda n: "".join(">" * i + " a\n" for i in range(_side(n))),
    "lists": lambda n: "".join("  " * i + "- a\n" for i in range(_side(n) // 2)),
    "indentation": lambda n: "".join(" " * i + "a\n" for i in range(_side(n), 0, -1)),
    "fences": lambda n: "".join("`" * i + "{note}\n" for i in range(_side(n), 3, -1)),
    "directives": lambda n: "".join("   " * i + ".. note::\n\n" for i in range(_side(n) // 2)),
    "images": lambda n: "![" * (n // 6) + "a" + "](b)" * (n // 6),
    "links": lambda n: "[" * (n // 5) + "a" + "](b)" * (n // 5),
    "a wide table": lambda n: "|" * (n // 3) + "\n" + "|-" * (n // 6) + "\n|" * (n // 10),
    "a long substitution": lambda n: f".. |a| replace:: {'b' * (n // 2)}\n\n" + "|a|" * (n // 6),
    "substitutions": lambda n: (
        "".join(f".. |a{i}| replace:: b\n" for i in range(n // 40)) + "|a" * (n // 4)
    ),
    "a long heading": lambda n: f"# {'a ' * (n // 4)}\n\n" + f"{'b ' * 250}\n\n" * (n // 1000),
    "headings alone": lambda n: "# a\n" * (n // 4),
    "definitions": lambda n: "".join(f"[a{i}]: b\n" for i in range(n // 20)) + "[a1] " * (n // 10),
    "tags": lambda n: "".join(f"</a{i}>" for i in range(n // 16)) + "<a1>" * (n // 8),
    "front matter": lambda n: "---\ntitle: >\n" + " a\n" * (n // 3) + "---\n",
}


def _side(n: int) -> int:
    return int((2 * n) ** 0.5)


SHAPES: dict[str, Callable[[int], str]] = {
    **{repr(text): lambda n, text=text: text * (n // len(text)) for text in REPEATED},
    **NESTED,
}


def work(kind: str, text: str) -> tuple[float, int]:
    """The seconds of this process that reading takes, and the characters of the passages."""
    start = time.process_time()
    title, blocks = READERS[kind](text)
    cut = passages(blocks)
    seconds = time.process_time() - start
    return seconds, len(title) + sum(len(p.text) + sum(map(len, p.headings)) for p in cut)


def grows(kind: str, shape: Callable[[int], str], size: int, times: int, noise: float) -> str:
    """How the work grows, where it grows by far more than the text."""
    long = shape(times * size)
    seconds, characters = work(kind, long)
    if characters > 10 * len(long) + 10_000:
        return f"{len(long)} characters become {characters}"
    if seconds < noise:
        return ""
    once = min(work(kind, shape(size))[0] for _ in range(2))
    most = 3 * times * max(once, noise / times)
    if seconds > most and work(kind, long)[0] > most:
        return f"{times} times the text takes {seconds / once:.0f} times as long"
    return ""


@pytest.mark.parametrize("kind", READERS)
def test_no_shape_of_text_makes_much_more_work_than_it_is_long(kind: str) -> None:
    shapes = SHAPES if kind != "mdx" else dict(itertools.islice(SHAPES.items(), 0, None, 4))
    problems = {name: grows(kind, shape, 250, 4, noise=0.1) for name, shape in shapes.items()}
    assert not {name: problem for name, problem in problems.items() if problem}


@pytest.mark.parametrize("kind", ["md", pytest.param("mdx", marks=pytest.mark.sweep)])
@every_row("unit", OPENED)
def test_no_mark_that_stays_open_does(kind: str, unit: str) -> None:
    assert not grows(kind, lambda n: unit * (n // len(unit)), 1_500, 4, noise=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", SHAPES)
def test_no_long_text_does(kind: str, name: str) -> None:
    assert not grows(kind, SHAPES[name], 20_000, 4, noise=0.5)


HELD = {
    "cells": ("|a|b|\n|-|-|\n" + "|a|b|\n" * 900, 520),
    "cells of a wide table": ("|a" * 99 + "\n" + "|-" * 99 + "\n" + ("|a" * 99 + "\n") * 50, 450),
    "lines": ("a\n" * 200 + "\n" + ("a\n" * 200 + "\n") * 15, 140),
    "emphasis": ("*a*" * 150 + "\n\n" + ("*a*" * 150 + "\n\n") * 15, 140),
}
"""Texts of many tokens, and how many times its size may be held, of which a token takes 500."""


@pytest.mark.parametrize("name", tiers(HELD, "cells"))
def test_the_tokens_of_one_block_alone_are_held(name: str) -> None:
    text, times = HELD[name]
    read_markdown(text)
    assert peak(lambda: read_markdown(text)) < times * len(text)


@pytest.mark.slow
def test_a_document_of_more_blocks_than_are_held_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("- a\n" * (markdown_tokens.MOST_TOKENS // 5 + 1))
    with pytest.raises(TooLarge, match=r"a\.md: more than 1,000,000 marks of blocks in it; divide"):
        list(documents_in(path))


@pytest.mark.sweep
def test_what_follows_the_most_tokens_of_a_block_is_kept_as_it_is() -> None:
    text = "*a* " * (markdown_tokens.MOST_IN_BLOCK // 3) + "*b*"
    ((block,),) = [read_markdown(text)[1]]
    assert block.text.startswith("a a a ")
    assert block.text.endswith("*b*")


def test_a_long_substitution_is_not_repeated() -> None:
    text = f".. |a| replace:: {'b' * 1000}\n.. |d| replace:: e\n\nx |a| |d|_ c\n"
    assert read_rst(text)[1][0].text == "x |a| e c"


def test_a_heading_as_long_as_a_text_is_a_paragraph() -> None:
    blocks = read_markdown(f"# {'a' * 1990}\n\n## {'b' * 11}\n\nc\n")[1]
    assert [len("".join(block.headings)) for block in blocks] == [1990, 1990, 1990]
    assert [block.text for block in blocks] == ["", "b" * 11, "c"]


PAGES: dict[str, Callable[[int], str]] = {
    "divisions in one another": lambda n: "<div>" * (n // 5) + "words " * 50,
    "divisions that only comments end": lambda n: "<div><!--</div>-->" * (n // 18) + "words",
    "divisions in forms that end": lambda n: "<form><div></form>" * (n // 18) + "words",
    "divisions across cells": lambda n: "<table><td><div></table>" * (n // 24) + "words",
    "attributes": lambda n: f"<p {' '.join(f'a{i}=1' for i in range(n // 8))}>words",
    "quoted attributes": lambda n: (
        "<p" + "".join(f" a{i}='></p>'" for i in range(n // 14)) + ">words"
    ),
    "fonts that stay open": lambda n: (
        "<p>" + "".join(f"<b a={i}>" for i in range(n // 20)) + "</p>" + "<p>x</p>" * (n // 16)
    ),
    "links that stay open": lambda n: "<a>x<div></a>" * (n // 13),
    "code of many languages": lambda n: "".join(
        f"<p><code class=c{i}></p>x" for i in range(n // 25)
    ),
    "lists in one another": lambda n: "<ul><li>a" * (n // 9),
    "lists of links": lambda n: "<div>" * 140 + "<ul><li><a>x</a></ul>" * (n // 21),
    "tables in one another": lambda n: "<table><tr><td>a" * (n // 16),
    "cells": lambda n: "<table>" + "<tr><td>a" * (n // 9),
    "drawings": lambda n: f"<svg>{'<g>' * (n // 3)}",
    "spans": lambda n: "<span>" * 300 + "<p></span>a" * (n // 11),
    "signs": lambda n: "<" * n,
    "comments": lambda n: "a<!--" * (n // 5),
    "a quotation mark": lambda n: '<a b="' + "<a b=x" * (n // 6),
    "scripts": lambda n: "<script>a</script>b" * (n // 19),
    "headings": lambda n: "<h1>a" * (n // 5),
    "paragraphs": lambda n: "<p>some words of a text</p>\n" * (n // 28),
}
XML = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def words(n: int) -> str:
    """Words that do not repeat, as those of a text that does not pack well."""
    return " ".join(f"{i * 7919 % 99991:x}" for i in range(n // 6))


def book(pages: int, n: int) -> bytes:
    """A book whose spine names one chapter so often."""
    package = EPUB_PARTS["OPS/book.opf"]
    named = package.replace('<itemref idref="a"/>', '<itemref idref="a"/>' * pages)
    return epub(**{"OPS/book.opf": named, "OPS/one.xhtml": f"<p>{words(n)}</p>"})


FILES: dict[str, Callable[[int], bytes]] = {
    **{f"{name}.html": lambda n, page=page: page(n).encode() for name, page in PAGES.items()},
    "a chapter many times.epub": lambda n: book(n // 20, 20_000),
    "a long chapter.epub": lambda n: book(1, n),
    "pages.pdf": lambda n: pdf(*(words(600) for _ in range(n // 1000))),
    "lines.pdf": lambda n: pdf("\n".join(["some words of-"] * (n // 14))),
    "a line.pdf": lambda n: pdf([Placed("ab", i % 600, 700) for i in range(n // 40)]),
    "columns.pdf": lambda n: pdf(
        [
            Placed("some words that fill a line of it", x, 30_000 - i)
            for i in range(n // 160)
            for x in (50, 350)
        ]
    ),
    "cells.ipynb": lambda n: json.dumps(
        {"cells": [{"cell_type": "markdown", "source": [words(200)]}] * (n // 250)}
    ).encode(),
    "paragraphs.docx": lambda n: repacked(
        word_document(), f"<w:p><w:r><w:t>{words(50)}</w:t></w:r></w:p>" * (n // 60)
    ),
    **{f"a text{kind}": lambda n: words(n).encode() for kind in TEXT_READERS},
    "rows.xlsx": lambda n: workbook({"a": [[words(50), str(i)] for i in range(n // 55)]}),
    "sheets.xlsx": lambda n: workbook({f"a{i}": [[words(50)]] for i in range(n // 500)}),
    "slides.pptx": lambda n: slides([(f"a{i}", [words(400)]) for i in range(n // 400)]),
    "a slide.pptx": lambda n: slides([("a", [words(50)] * (n // 50))]),
    "lines.eml": lambda n: b"Subject: a\n\n" + b"> words of a text\n\n" * (n // 19),
    "headers.eml": lambda n: b"To: a@b\n" * (n // 8) + b"\nwords",
    "parts.eml": lambda n: (
        b"Content-Type: multipart/mixed; boundary=B\n\n" + b"--B\n\nwords\n" * (n // 11)
    ),
    "parts in one another.eml": lambda n: b"".join(
        b"Content-Type: multipart/mixed; boundary=B%d\n\n--B%d\n" % (i, i) for i in range(n // 60)
    ),
    "a page.mhtml": lambda n: b"Content-Type: text/html\n\n" + b"<p>words</p>\n" * (n // 13),
    "rows.csv": lambda n: b"id,text\n" + b"1,some words\n" * (n // 13),
    "a cell.csv": lambda n: b'text\n"' + b'a ""b"" ' * (n // 8) + b'"\n',
    "a cell that stays open.csv": lambda n: b'text\n"' + b"a,b\n" * (n // 4),
    "columns.tsv": lambda n: "\n".join(
        "\t".join(f"{word}{i}" for i in range(n // 15)) for word in ("c", "a b")
    ).encode(),
    "rows.jsonl": lambda n: "".join(
        json.dumps({"text": f"{words(50)} {i}"}) + "\n" for i in range(n // 80)
    ).encode(),
    "keys.ndjson": lambda n: json.dumps(
        {"text": "a b", **{f"k{i}": "v" for i in range(n // 13)}}
    ).encode(),
    "lists in one another.jsonl": lambda n: b'{"text": "a b", "x": ' + b"[" * n,
    "objects in one another.json": lambda n: b'{"a": ' * (n // 6),
    "a number.json": lambda n: b'[{"text": "a b", "x": ' + b"9" * n + b"}]",
    "a line.json": lambda n: json.dumps([{"text": words(n)}]).encode(),
    "rows.parquet": lambda n: in_parquet([f"{words(50)} {i}" for i in range(n // 55)]),
}
"""A file of about so many bytes, or that holds as many, by the ending of its reader."""


def in_parquet(texts: list[str]) -> bytes:
    out = io.BytesIO()
    pd.DataFrame({"text": texts}).to_parquet(out)
    return out.getvalue()


def repacked(whole: bytes, paragraphs: str) -> bytes:
    """A DOCX with paragraphs in place of its own."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = f'<w:document xmlns:w="{XML}"><w:body>{paragraphs}</w:body></w:document>'
    return zipped({**parts, "word/document.xml": body})


def reading_time(path: Path) -> float:
    gc.disable()  # the more there is in memory, the longer it takes, whatever is read
    began = time.process_time()
    try:
        with suppress(BadInput):  # where a shape holds no text
            for document in documents_in(path):
                passages(document.blocks)
        return time.process_time() - began
    finally:
        gc.enable()


def check_growth(name: str, folder: Path, size: int) -> None:
    """Ten times the file takes at most some twenty times as long."""
    small, large = folder / f"small {name}", folder / f"large {name}"
    small.write_bytes(FILES[name](size))
    large.write_bytes(FILES[name](10 * size))
    reading_time(small)  # loads what is read with
    once = min(reading_time(small) for _ in range(2))
    assert reading_time(large) < 25 * max(once, size * 4e-7)


ONE_OF_EACH_KIND = (
    *("links that stay open.html", "a long chapter.epub", "pages.pdf", "cells.ipynb"),
    *("paragraphs.docx", "a text.md", "a text.rst", "a text.adoc", "rows.xlsx", "a slide.pptx"),
    *("parts.eml", "a page.mhtml", "a cell that stays open.csv"),
    *("lists in one another.jsonl", "a line.json", "rows.parquet"),
)


@pytest.mark.parametrize("name", tiers(FILES, *ONE_OF_EACH_KIND))
def test_no_reader_takes_longer_than_in_proportion_to_a_file(name: str, tmp_path: Path) -> None:
    check_growth(name, tmp_path, 5_000)


@pytest.mark.sweep
@pytest.mark.parametrize("name", FILES)
def test_twice_the_file_takes_little_more_than_twice_as_long(name: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{size} {name}" for size in (100_000, 200_000)]
    for path, size in zip(paths, (100_000, 200_000), strict=True):
        path.write_bytes(FILES[name](size))
    reading_time(paths[0])  # loads what is read with
    ratios = (times_as_long(*paths) for _ in range(4))  # another process may slow one of them
    assert any(ratio < 3 for ratio in ratios)


def times_as_long(once: Path, twice: Path) -> float:
    return reading_time(twice) / max(reading_time(once), 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_nor_does_it_from_100_kilobytes_to_a_megabyte(name: str, tmp_path: Path) -> None:
    check_growth(name, tmp_path, 100_000)


def test_every_ending_that_is_read_is_measured() -> None:
    measured = {Path(name).suffix for name in FILES}
    alike = {".htm", ".xhtml", ".mht", ".arrow"}  # read as others are
    assert measured == {*kinds_read()} - alike


def test_an_archive_that_holds_far_more_than_any_text_packs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    path.write_bytes(epub(**{"OPS/one.xhtml": "<p>a</p>" * 1_000_000}))
    with pytest.raises(TooLarge, match="times its size, as no text does"):
        list(documents_in(path))
