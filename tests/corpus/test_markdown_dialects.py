"""What tools add to Markdown comes out as the words that a reader of the page sees."""

import re

import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.corpus.blocks import Block
from labeler.corpus.readers.markdown import read_markdown

PROPERTY = steadily(80)


def texts(source: str) -> list[str]:
    return [block.text for block in read_markdown(source)[1] if block.text]


def numbered(blocks: list[Block]) -> list[tuple[int, str]]:
    return [(block.line, block.text) for block in blocks if block.text]


FASTAPI_STYLE = """\
# Query strings { #query-strings }

Not in the **path**: a *query* parameter, see [there](p.md){.internal-link target=_blank}.

{* ../../docs_src/query/tutorial001_py310.py hl[9] *}

/// note | Technical details

The framework re-exports `Query`.

///

//// tab | Python 3.10+

```Python hl_lines="1 3"
{!> ../../docs_src/query/tutorial001.py!}
q: str | None = None
```

/// tip

Prefer `Annotated`.

///

////

<div class="termy">

```console
$ fastapi dev <u>main.py</u>
```

</div>

## Recap { #recap }

::: toolkit.Query
    options:
        members:
            - validate

--8<-- "includes/end.md"

That is all.
{: .lead }
"""

DOCUSAURUS_STYLE = """\
---
title: Install
---
import Tabs from '@theme/Tabs';
import {
  Card,
} from "../card";

export const Mark = ({children}) => (
  <span style={{color: 'red'}}>{children}</span>
);

{/* written by hand */}

Version {props.version} is <Mark color="red">new</Mark>, {'really'}. A Vec<T> stays.

<Tabs
  values={[
    { label: 'npm', value: 'npm' },
  ]}>
<TabItem value="npm" label="With npm">
```bash {1} showLineNumbers
npm i
```
</TabItem>
</Tabs>

:::tip[A hint]

Read *on*.

:::

    Indented, and no code.
"""

MYST_STYLE = """\
(top)=
# The title

Ask {ref}`the guide <guide>` about {py:class}`~a.b.Client`.

```{code-block} python
run()
```

```{toctree}
install
```

:::{warning}
:name: w1
It is {abbr}`HTML`.
:::

:::{toctree}
usage
:::

+++

The end.
"""

README_STYLE = """\
<h1 align="center">Tool</h1>

<p align="center">
  <img src="logo.svg" alt="The logo">
  <em>It does things</em>
</p>

> [!WARNING]
> Not yet.

<details>
<summary>More</summary>
Hidden **words**:
- one
- [x] two
</details>

Press <kbd>Ctrl</kbd>+<kbd>C</kbd>[^1], or see [the site][site].

[^1]: Twice, on
    some systems.

[site]:
    https://example.org
    "A title
    of two lines"

<table>
<tr><th>Name</th><th>Type</th></tr>
<tr><td><code>a</code></td><td>int</td></tr>
</table>

Term
:   What it *means*.

    And more.

=== "Linux"

    Use `apt`.

[//]: # (a comment)
"""


def test_a_page_in_the_style_of_fastapi_shows_its_words_and_their_lines() -> None:
    assert numbered(read_markdown(FASTAPI_STYLE)[1]) == [
        (3, "Not in the path: a query parameter, see there."),
        (7, "Technical details"),
        (9, "The framework re-exports `Query`."),
        (13, "Python 3.10+"),
        (17, "```Python\nq: str | None = None\n```"),
        (20, "tip"),
        (22, "Prefer `Annotated`."),
        (31, "```console\n$ fastapi dev <u>main.py</u>\n```"),
        (38, "`toolkit.Query`"),
        (45, "That is all."),
    ]
    assert {block.headings for block in read_markdown(FASTAPI_STYLE)[1]} == {
        ("Query strings",),
        ("Query strings", "Recap"),
    }


def test_a_page_of_mdx_shows_no_javascript() -> None:
    title, blocks = read_markdown(DOCUSAURUS_STYLE, mdx=True)
    assert title == "Install"
    assert numbered(blocks) == [
        (15, "Version is new, really. A Vec<T> stays."),
        (21, "With npm"),
        (23, "```bash\nnpm i\n```"),
        (28, "A hint"),
        (30, "Read on."),
        (34, "Indented, and no code."),
    ]


def test_a_page_of_myst_shows_what_its_directives_and_roles_show() -> None:
    assert numbered(read_markdown(MYST_STYLE)[1]) == [
        (4, "Ask the guide about `Client`."),
        (7, "```code-block\nrun()\n```"),
        (14, "warning"),
        (16, "It is HTML."),
        (25, "The end."),
    ]


def test_a_page_of_html_and_markdown_shows_both() -> None:
    blocks = read_markdown(README_STYLE)[1]
    assert numbered(blocks) == [
        (4, "The logo It does things"),
        (9, "Not yet."),
        (12, "More"),
        (13, "Hidden words:"),
        (14, "- one"),
        (15, "- [x] two"),
        (18, "Press Ctrl+C[1], or see the site."),
        (20, "[1] Twice, on some systems."),
        (29, "Name | Type"),
        (30, "a | int"),
        (33, "Term"),
        (34, "What it means."),
        (36, "And more."),
        (38, "Linux"),
        (40, "Use `apt`."),
    ]
    assert {block.headings for block in blocks} == {("Tool",)}
    assert {block.text for block in blocks if block.leads} == {"More", "Term", "Linux"}


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("rust,ignore", "rust"),
        ("Python hl_lines='1 3'", "Python"),
        ("{ .py3 .annotate }", "py3"),
        ("{r, echo=FALSE}", "r"),
        ("js {1,3} showLineNumbers", "js"),
        ("c++", "c++"),
        ("", ""),
    ],
)
def test_of_a_fence_the_language_stays(info: str, language: str) -> None:
    assert texts(f"```{info}\nx = {{y}}\n```") == [f"```{language}\nx = {{y}}\n```"]


def test_the_title_of_a_code_block_leads_up_to_it() -> None:
    head, code = read_markdown('```python title="app.py"\nx\n```')[1]
    assert (head.text, head.leads, code.text) == ("app.py", True, "```python\nx\n```")


@every_row(
    ("source", "words"),
    [
        ("foo*bar*baz, 5 \\* 3 &copy; a\\_b", ["foobarbaz, 5 * 3 © a_b"]),
        ("[text][a\nb]\n\n[A b]: <u> 'x\ny'", ["text"]),
        ("![An *image*](x.png){ width=20 } here", ["An image here"]),
        ("Set {x: 1} or {#a} in it", ["Set {x: 1} or {#a} in it"]),
        ("{% include 'x' %}\n{{< note >}}\nyes {{% ref x %}}\n{{< /note >}}", ["yes"]),
        ("/// is no block\n\n/// neither\n\nx", ["/// is no block", "/// neither", "x"]),
        ("import this\n\nexport your data", ["import this", "export your data"]),
        ("| a | b |\n|-|-|\n| `x\\|y` | \\| |", ["| a | b |", "| `x|y` | | |"]),
        ("costs $5, $HOME and `$PATH` too", ["costs $5, $HOME and `$PATH` too"]),
        ("$$\na_1\n\\b\n$$", ["```math\na_1\n\\b\n```"]),
        (
            '<Listing number="1" caption="In *a.rs*">\n\nx\n\n</Listing>',
            ["Listing 1: In a.rs", "x"],
        ),
        ("<ul>\n<li>a</li>\n<li>b</li>\n</ul>", ["- a", "- b"]),
        ("<dl><dt>a</dt><dd>b</dd></dl>", ["a", "b"]),
        ("a<br>b<br/>c", ["a\nb\nc"]),
        ("> <pre>a\n>\n> b</pre>\n>\n> c", ["```\na\n\nb\n```", "c"]),
        ("- a\n\n  > b\n  >\n  > - c", ["- a", "b", "  - c"]),
        ("- ```\n  x\n  ```", ["-", "```\nx\n```"]),
        ("1. a\n   | h |\n   |---|\n   | c |", ["1. a", "| h |", "| c |"]),
    ],
)
def test_what_is_no_words_falls_away_and_nothing_else(source: str, words: list[str]) -> None:
    assert texts(source) == words


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: >-\n  Long\n  title\nx: y\n---\nx", "Long title"),
        ('+++\ntitle = "A \\"b\\""\n[extra]\nx = 1\n+++\nx', 'A "b"'),
        ("+++\nno toml\n+++\nx", ""),
    ],
)
def test_a_title_stands_on_one_line(source: str, title: str) -> None:
    assert read_markdown(source)[0] == title
    assert texts(source) == ["x"]


def test_what_is_nested_too_deeply_is_still_there() -> None:
    deep = "".join(f"{'  ' * n}- w{n}\n" for n in range(60)) + "> " * 60 + "end"
    shown = " ".join(texts(deep))
    assert all(f"w{n}" in shown.split() for n in range(60))
    assert shown.endswith("end")


def test_directives_in_directives_are_followed_so_far_and_then_kept_as_they_are() -> None:
    fences = ["`" * (300 - n) for n in range(290)]
    opened = "".join(f"{fence}{{note}}\n" for fence in fences)
    closed = "".join(f"{fence}\n" for fence in reversed(fences))
    (code,) = texts(f"{opened}end\n{closed}")
    assert "\nend\n" in code


def indented(text: str, by: str) -> str:
    return "\n".join(by + line if line else line for line in text.split("\n"))


words = st.lists(st.text("ABCDßÑ漢", min_size=2, max_size=6), min_size=1, max_size=5).map(" ".join)
leaves = st.one_of(
    words,
    words.map("## {} {{ #id }}".format),
    words.map("```py\n{}\n```".format),
    words.map("**{0}** [{0}](u) <b>{0}</b>".format),
    words.map("| {0} | x |\n|---|---|\n| {0} | `{0}` |".format),
    words.map("<h3>{0}</h3>\n<p>{0}<br>{0}</p>".format),
    words.map("<pre>\n{0}\n\n{0}</pre>".format),
    words.map("{0}\n: {0}\n\n  {0}".format),
)


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pages = st.lists(inner, min_size=1, max_size=3).map("\n\n".join)
    return st.one_of(
        pages.map(lambda page: f"- {indented(page, '  ')[2:]}"),
        pages.map(lambda page: "> [!NOTE]\n" + "\n".join(f"> {li}" for li in page.split("\n"))),
        pages.map(lambda page: f'!!! note "xx"\n\n{indented(page, "    ")}'),
        pages.map(lambda page: f'=== "xx"\n\n{indented(page, "    ")}'),
        pages.map(lambda page: f"/// tip | xx\n\n{page}\n\n///"),
        pages.map(lambda page: f":::note xx\n\n{page}\n\n:::"),
        pages.map(lambda page: f"~~~~{{note}} xx\n:class: x\n\n{page}\n~~~~"),
        pages.map(lambda page: f"<details>\n<summary>xx</summary>\n\n{page}\n\n</details>"),
    )


@PROPERTY
@given(st.lists(st.recursive(leaves, nested, max_leaves=8), min_size=1, max_size=4))
def test_every_word_is_shown_however_the_dialects_are_nested(parts: list[str]) -> None:
    source = "\n\n".join(parts)
    blocks = read_markdown(source)[1]
    shown = " ".join([*(b.text for b in blocks), *(h for b in blocks for h in b.headings)])
    letters = re.compile("[ABCDßÑ漢]+")
    assert set(letters.findall(source)) <= set(letters.findall(shown))
