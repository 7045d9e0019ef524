"""Passages know where in their source they stand."""

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st
from made_documents import HTML, epub, pdf, word_document

from labeler.corpus.blocks import Lengths
from labeler.corpus.cut import Spans, passages
from labeler.corpus.documents import Reading, read_documents
from labeler.corpus.read import documents_in
from labeler.corpus.readers.outline import read_plaintext

DOCS = Path(__file__).parents[3] / "shared" / "data" / "docs"

PROPERTY = steadily(80)

LINES = st.lists(
    st.one_of(
        st.text(alphabet="ab c.\u2028\t", max_size=60),
        st.sampled_from(["", "", "  ", "A sentence. " * 30, "word " * 90, "漢字。" * 99]),
    ),
    max_size=12,
)


@PROPERTY
@given(LINES, st.sampled_from(["\n", "\r\n", " \n"]))
def test_of_plain_text_a_span_holds_the_words_of_its_passage_and_no_others(
    lines: list[str], end: str
) -> None:
    text = end.join(lines)
    _, blocks = read_plaintext(text)
    spans = Spans(text, blocks)
    last = 0
    for passage in passages(blocks, Lengths(20)):
        start, stop = spans.of(passage)
        assert "".join(text[start:stop].split()) == "".join(passage.text.split())
        assert start >= last
        last = stop


MARKDOWN = """# Guide

A [link to the guide](https://example.org/guide "guide") and *words* of the guide; """ + (
    "then *a long* sentence with `code` follows, see [this](a.md). " * 40
)
RST = (
    """Guide
=====

The :doc:`guide <x>` says ``words``; """
    + "then *a long* sentence with `a <b>`_ follows. " * 40
)


@pytest.mark.parametrize(("name", "text"), [("a.md", MARKDOWN), ("a.rst", RST)])
def test_of_markup_a_span_holds_all_words_of_its_passage(
    name: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    documents = list(read_documents([str(path)]).documents.values())
    assert len(documents) > 1
    for document in documents:
        start, end = document.metadata["start"], document.metadata["end"]
        missing = Counter(words_of(document.text)) - Counter(words_of(text[start:end]))
        assert not missing
        assert end - start < 3 * len(document.text)


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", pdf("A line of text.", "Another page.")),
        ("a.html", HTML.encode()),
        ("a.docx", word_document()),
        ("a.epub", epub()),
    ],
    ids=lambda value: "content" if isinstance(value, bytes) else value,  # it holds the time
)
def test_of_a_converted_file_the_span_is_in_the_text_that_was_taken_out(
    name: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (source,) = documents_in(path)
    assert source.spans_in is not None
    text = source.spans_in.text
    for document in read_documents([str(path)]).documents.values():
        metadata = document.metadata
        assert metadata["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
        span = text[metadata["start"] : metadata["end"]]
        assert "".join(span.split()) == "".join(document.text.split())


@pytest.mark.skipif(not DOCS.is_dir(), reason="the shared documents are not here")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("flask", 60),
        *(
            pytest.param(*each, marks=pytest.mark.sweep)
            for each in (("flask", 200), ("rustbook", 60), ("rustbook", 200))
        ),
    ],
)
def test_spans_of_real_documents_hold_their_words(name: str, words: int) -> None:
    folder = DOCS / name
    lost = total = 0
    how = Reading().of_length(words)
    for document in read_documents([str(folder)], how=how).documents.values():
        metadata = document.metadata
        text = (folder / metadata["source"]).read_bytes().decode()
        span = text[metadata["start"] : metadata["end"]]
        lost += sum((Counter(words_of(document.text)) - Counter(words_of(span))).values())
        total += len(words_of(document.text))
    assert lost < total * 0.004  # words that the markup only stands for, as "Added in version"
