"""Markdown is read by its structure, and what is no markup stays."""

import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.corpus.blocks import Block
from labeler.corpus.cut import passages
from labeler.corpus.readers.markdown import read_markdown

PROPERTY = steadily(80)


def texts(source: str) -> list[str]:
    return [block.text for block in read_markdown(source)[1] if block.text]


def outline(source: str) -> list[tuple[str, ...]]:
    return [block.headings for block in read_markdown(source)[1] if block.text]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("**bold** and _em_ and *em* and ~~gone~~", "bold and em and em and gone"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("`*code*` and `` a`b ``", "`*code*` and ``a`b``"),
        ('[text](http://a.b/c_(d) "title") ![alt](i.png)', "text alt"),
        ("[`Vec<T>`](x) holds Vec<T>", "`Vec<T>` holds Vec<T>"),
        ("<https://a.b> and <me@a.b>", "https://a.b and me@a.b"),
        ("a <b>c</b> <span class='x'>d</span> <T> e", "a c d <T> e"),
        ('<Listing number="4-1" caption="A box">', "Listing 4-1: A box"),
        ("&lt;tag&gt; &amp; \\*stars\\*", "<tag> & *stars*"),
        ("[defined] [not] [^1] [x][Defined]", "defined [not] [^1] x"),
        ("{braces} $dollar {{ template }} [bold]", "{braces} $dollar {{ template }} [bold]"),
    ],
)
def test_marks_fall_away_and_words_stay(source: str, wanted: str) -> None:
    assert texts(f"{source}\n\n[defined]: x") == [wanted]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("# A\n\none\n\n## B ##\n\ntwo\n\n# C {#id}\n\nthree", [("A",), ("A", "B"), ("C",)]),
        ("Top\n===\n\none\n\nSub\n---\n\ntwo", [("Top",), ("Top", "Sub")]),
        ("### Deep\n\none\n\n# A\n\ntwo", [("Deep",), ("A",)]),
        ("#hashtag is no heading", [()]),
        ("# A\n\n> ### In\n> quote\n\nafter", [("A", "In"), ("A",)]),
        ("# `Code` and *more*\n\nx", [("`Code` and more",)]),
        ("# A { #id .wide }\n\n## B {: #b }\n\nx", [("A", "B")]),
        ('<h1 align="center">A <b>b</b></h1>\n\n<h2>C</h2>\nx', [("A b", "C")]),
        ("</div>\n---\n\n# A\n\n<p>\n\n---\n\nx", [("A",)]),
    ],
)
def test_headings_stand_above_what_follows_them(source: str, wanted: list[tuple[str, ...]]) -> None:
    assert outline(source) == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("```py\n# no heading\n\nx\n```", ["```py\n# no heading\n\nx\n```"]),
        ("~~~~\n~~~\n```\n~~~~\nafter", ["````\n~~~\n```\n````", "after"]),
        ("```\nnever closed\n\n# x", ["```\nnever closed\n\n# x\n```"]),
        ("text\n\n    a = 1\n\n    b = 2\n\nafter", ["text", "```\na = 1\n\nb = 2\n```", "after"]),
        ("text\n    not code", ["text not code"]),
        ("1. one\n\n   ```sh\n   run\n   ```\n2. two", ["1. one", "```sh\nrun\n```", "2. two"]),
        ("> ```\n> quoted\n> ```", ["```\nquoted\n```"]),
        ("```rust\n{{#include ../a.rs}}\n```\nx", ["x"]),
        ("<pre><code>a\nb</code></pre>\n\nx", ["```\na\nb\n```", "x"]),
    ],
)
def test_code_is_one_block_between_fences(source: str, wanted: list[str]) -> None:
    assert texts(source) == wanted


@every_row(
    ("source", "wanted"),
    [
        ("a\nb\n\nc", ["a b", "c"]),
        ("a  \nb\\\nc", ["a\nb\nc"]),
        ("- a\n- b\n  more\n\n+ c", ["- a", "- b more", "+ c"]),
        ("- a\n  - b\n\n    c\n  - d\n    1. e", ["- a", "  - b", "c", "  - d", "    1. e"]),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |\n\nx", ["| a | b |", "| 1 | 2 |", "x"]),
        ("<!-- gone\n\ngone --> *b*", ["b"]),
        ("a <!-- gone\ngone --> b", ["a b"]),
        # As CommonMark has it, a comment within a paragraph ends with the paragraph at the latest.
        ("a <!-- stays\n\nstays --> b", ["a <!-- stays", "stays --> b"]),
        ("`<!-- kept -->` x", ["`<!-- kept -->` x"]),
        ("`code of\ntwo lines`<!-- gone --> x", ["`code of two lines` x"]),
        ("<!-- never closed\n\nx", ["<!-- never closed", "x"]),
        ("a\n\n---\n\nb\n\n[ref]: http://x", ["a", "b"]),
        ("<script>\nno()\n</script>\n\nx", ["x"]),
        ("> [!NOTE]\n> Mind this.", ["Mind this."]),
        # A page shows an admonition's title where there is one, else its kind.
        ('!!! note "Mind"\n    this\n\n    too\n\nx', ["Mind", "this", "too", "x"]),
        ("??? note\n    this", ["note", "this"]),
        ("one\u0085two\u2028three", ["one\u0085two\u2028three"]),
    ],
)
def test_paragraphs_lists_tables_and_comments(source: str, wanted: list[str]) -> None:
    assert texts(source) == wanted


@pytest.mark.parametrize(
    ("source", "title", "wanted"),
    [
        ('---\ntitle: "A: B"\ntags: [x]\n---\n\nx', "A: B", ["x"]),
        ("+++\ntitle = 'T'\n+++\nx", "T", ["x"]),
        ("---\ndraft: true\n---\nx", "", ["x"]),
        ("---\n\nno front matter", "", ["no front matter"]),
        ("\n---\ntitle: x\n---\n", "", []),
    ],
)
def test_front_matter_gives_the_title_and_nothing_else(
    source: str, title: str, wanted: list[str]
) -> None:
    assert read_markdown(source)[0] == title
    assert texts(source) == wanted


plain_words = st.lists(
    st.text(alphabet="abcdefgäß漢字ñ", min_size=1, max_size=8), min_size=1, max_size=40
).map(" ".join)
code = st.lists(st.text(alphabet="ab #>-=`~{}", max_size=12), min_size=1, max_size=8)
parts = st.one_of(
    plain_words,
    plain_words.map(lambda text: f"## {text}"),
    plain_words.map(lambda text: f"- {text}"),
    plain_words.map(lambda text: f"> {text}"),
    plain_words.map(lambda text: f"**{text}**"),
)


@PROPERTY
@given(st.lists(parts, min_size=1, max_size=15))
def test_every_word_is_in_some_passage(found: list[str]) -> None:
    blocks = [*read_markdown("\n\n".join(found))[1], Block("end")]
    shown = " ".join(f"{' '.join(p.headings)} {p.text}" for p in passages(blocks)).split()
    wanted = " ".join(found).replace("*", " ").split()
    assert {word for word in wanted if word not in (">", "##", "-")} <= set(shown)


@PROPERTY
@given(st.lists(code, min_size=1, max_size=3), plain_words)
def test_no_passage_splits_a_fenced_block(blocks: list[list[str]], between: str) -> None:
    source = f"\n\n{between}\n\n".join("~~~~~~\n" + "\n".join(b) + "\n~~~~~~" for b in blocks)
    found = passages(read_markdown(source)[1])
    for lines in blocks:
        body = "\n".join(lines).strip("\n ")
        assert not body or any(body in passage.text for passage in found)


@PROPERTY
@given(st.text(alphabet="ab \n\t#>-=`~*_[]()<>!|:.\\0{}&;\u2028", max_size=300))
def test_any_text_can_be_read(source: str) -> None:
    passages(read_markdown(source)[1])
