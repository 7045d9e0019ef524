"""reStructuredText is read by its layout, Sphinx' directives with it."""

import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.corpus.cut import passages
from labeler.corpus.readers.rst import plain, read_rst

PROPERTY = steadily(80)


def texts(source: str) -> list[str]:
    return [block.text for block in read_rst(source)[1] if block.text]


def outline(source: str) -> list[tuple[str, ...]]:
    return [block.headings for block in read_rst(source)[1] if block.text]


@every_row(
    ("source", "wanted"),
    [
        ("``literal *x*`` and *em* and **strong**", "`literal *x*` and em and strong"),
        (":class:`~flask.Flask` and :meth:`!a.b`", "`Flask` and `a.b`"),
        (":py:func:`f() <mod.f>` :doc:`/cli` :ref:`the title <t>`", "`f()` cli the title"),
        (":pep:`8` :rfc:`2616`", "PEP 8 RFC 2616"),
        (r"H\ `2`:sub:\ O and `f`:func:", "H2O and `f`"),
        ("`text <http://x>`_ `other`_ name_ `interp`", "text other name `interp`"),
        ("obj.__dict__ and __init__ and a__b__", "obj.__dict__ and __init__ and a__b__"),
        ("snake_case_ and under_score 2 * 3 * 4", "snake_case and under_score 2 * 3 * 4"),
        (r"\*no emphasis\* re\ ``st``", "*no emphasis* re`st`"),
        ("``a`b``", "``a`b``"),
        ("{braces} $dollar |sub| [1]", "{braces} $dollar |sub| [1]"),
        ("see [1]_, [#]_ and [CIT2002]_", "see [1], [#] and [CIT2002]"),
        ("`__module__` and `__name__` are set", "`__module__` and `__name__` are set"),
        (r":file:`venv\\Scripts\\run.bat`", r"`venv\Scripts\run.bat`"),
    ],
)
def test_marks_fall_away_and_words_stay(source: str, wanted: str) -> None:
    assert plain(source) == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("A\n=\n\none\n\nB\n-\n\ntwo\n\nC\n=\n\nthree", [("A",), ("A", "B"), ("C",)]),
        ("===\nTop\n===\n\none\n\nSub\n===\n\ntwo", [("Top",), ("Top", "Sub")]),
        ("A\n~~\n\none\n\nB\n^^\n\ntwo\n\nC\n~~\n\nthree", [("A",), ("A", "B"), ("C",)]),
        ("The :mod:`x` API\n****************\n\none", [("The `x` API",)]),
        ("A\n=\n\n.. py:data:: DEBUG\n\n    About it.\n\nafter", [("A", "DEBUG"), ("A",)]),
    ],
)
def test_levels_are_those_of_first_appearance(source: str, wanted: list[tuple[str, ...]]) -> None:
    assert outline(source) == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("Do this::\n\n    a\n\n      b\n\nafter", ["Do this:", "```\na\n\n  b\n```", "after"]),
        ("Do this ::\n\n  a", ["Do this", "```\na\n```"]),
        ("x\n\n::\n\n  a", ["x", "```\na\n```"]),
        (
            ".. code-block:: python\n   :linenos:\n   :caption: c.py\n\n   x\n",
            ["c.py", "```python\nx\n```"],
        ),
        (">>> 1\n1\n\nx", ["```python\n>>> 1\n1\n```", "x"]),
        (".. note::\n\n   .. code::\n\n      A\n      =\n", ["```\nA\n=\n```"]),
        (".. math::\n\n   a\n", ["```\na\n```"]),
    ],
)
def test_code_is_one_block_between_fences(source: str, wanted: list[str]) -> None:
    assert texts(source) == wanted


@every_row(
    ("source", "wanted"),
    [
        (".. warning:: Mind\n   this.", ["Mind this."]),
        (".. admonition:: Title\n\n   Body.", ["Title", "Body."]),
        (".. versionadded:: 2.0\n   A thing.", ["Added in version 2.0 A thing."]),
        (".. toctree::\n   :hidden:\n\n   a\n   b\n\nx", ["x"]),
        (".. figure:: a.png\n   :alt: A box\n\n   Its caption.", ["A box", "Its caption."]),
        (".. only:: html\n\n   shown", ["shown"]),
        (".. unknown:: what\n\n   and more", ["what", "and more"]),
        (".. _target:\n\n.. a comment\n   that goes on\n\nx", ["x"]),
        (".. _target: http://x\n   y\n\n  quoted", ["quoted"]),
        (".. [1] A footnote\n   of two lines.", ["[1] A footnote of two lines."]),
        (".. autofunction:: flask.abort", ["`flask.abort`"]),
        (
            ".. tabs::\n\n   .. group-tab:: Bash\n\n      .. code::\n\n         ls",
            ["Bash", "```\nls\n```"],
        ),
    ],
)
def test_directives_show_what_a_reader_would_see(source: str, wanted: list[str]) -> None:
    assert texts(source) == wanted


@every_row(
    ("source", "wanted"),
    [
        ("a\nb\n\nc", ["a b", "c"]),
        ("- a\n  b\n- c\n\n  d", ["- a b", "- c", "d"]),
        ("1. a\n#. b\n(c) c", ["1. a", "#. b", "(c) c"]),
        ("A. Smith wrote\nthis.", ["A. Smith wrote this."]),
        ("term\n   Its definition.\n", ["term", "Its definition."]),
        (":param x: the x\n:returns: y", ["param x: the x", "returns: y"]),
        (":returns:\n  - x\n  - y", ["returns: - x", "  - y"]),
        (":Creator: E. Fisher\n:Date: July", ["Creator: E. Fisher", "Date: July"]),
        ("* - a\n  - b", ["* - a", "  - b"]),
        (":orphan:\n\nx", ["x"]),
        ("|a| x |b|\n\n.. |a| replace:: an\n   *item*", ["an item x |b|"]),
        ("| a\n| b", ["a", "b"]),
        ("+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\nx", ["a | b", "1 | 2", "x"]),
        ("== ==\na  b\n== ==\n1  2\n== ==\n\nx", ["a  b", "1  2", "x"]),
        ("+---+\n| a |\n|===|\n| 1 |\n+---+\n\nx", ["a", "1", "x"]),
        ("a\n\n   quoted\n\nb", ["a", "quoted", "b"]),
        ("a\n\n----\n\nb", ["a", "b"]),
    ],
)
def test_paragraphs_lists_and_tables(source: str, wanted: list[str]) -> None:
    assert texts(source) == wanted


words = st.lists(
    st.text(alphabet="abcdefgäß漢字ñ", min_size=2, max_size=8), min_size=1, max_size=40
).map(" ".join)
parts = st.one_of(
    words,
    words.map(lambda text: f"{text}\n{'=' * 2 * len(text)}"),
    words.map(lambda text: f"- {text}"),
    words.map(lambda text: f".. note:: {text}"),
    words.map(lambda text: f".. unknown::\n\n   {text}"),
    words.map(lambda text: f"xx\n   {text}"),
)
MARKS = {"-", "..", "note::", "unknown::"}


@PROPERTY
@given(st.lists(parts, min_size=1, max_size=15))
def test_every_word_is_in_some_passage(found: list[str]) -> None:
    source = "\n\n".join([*found, "end"])
    shown = " ".join(f"{' '.join(p.headings)} {p.text}" for p in passages(read_rst(source)[1]))
    wanted = {word for word in source.replace("=", " ").split() if word not in MARKS}
    assert wanted <= set(shown.split())


@PROPERTY
@given(st.lists(st.text(alphabet="ab #>-=`~{}", max_size=12), min_size=1, max_size=8), words)
def test_no_passage_splits_a_literal_block(lines: list[str], between: str) -> None:
    body = "\n".join(lines).strip("\n ")
    indented = "\n".join(f"   {line}" for line in ("x " + body).split("\n"))
    found = passages(read_rst(f"{between}::\n\n{indented}\n\n{between}")[1])
    assert any("x " + body in passage.text for passage in found)


@PROPERTY
@given(st.text(alphabet="ab \n\t#>-=`~*_[]()<>!|:.\\0{}&;\u2028", max_size=300))
def test_any_text_can_be_read(source: str) -> None:
    passages(read_rst(source)[1])
