"""HTML: the main text of a page as blocks under headings, without what surrounds it on the site."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.corpus.losses import ADDRESSES, AROUND, HIDDEN, drop
from labeler.corpus.readers.exports import property_of
from labeler.corpus.readers.outline import Extracted, Outline, extracted
from labeler.files.boundary import needing
from labeler.files.jsonl import JsonObject
from labeler.files.read import decoded
from labeler.messages import missing_extra

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# What of a page is its main text, and what is navigation, decoration or hidden.

_MAIN = "main, [role=main], article, [itemprop=articleBody]"
_UNSHOWN_TAGS = """
script style noscript template head link meta iframe object embed svg canvas audio video button
select input textarea datalist map
"""
_UNSHOWN = frozenset(_UNSHOWN_TAGS.split())
_AROUND = ("nav", "footer", "menu")
_ROLE_NAMES = "navigation banner contentinfo search complementary menu menubar toolbar dialog"
_ROLES = frozenset(_ROLE_NAMES.split())
_NAMES = re.compile(
    r"(?i)(?:^|[\s_-])(?:nav|navbar|navigation|sidebar|toc|table-of-contents|breadcrumbs?|menu|footer"
    r"|masthead|cookies?|consent|comments?|related|share|social|sharing|skip-?link|pagination|pager"
    r"|prev-next|advert|ads?|banner|newsletter|promo|popup|modal|sphinxsidebar|localtoc|headerlink"
    r"|edit-page|feedback|page-metadata|page-header-icon|pagesectionheader|greybox)(?:$|[\s_-])"
)
_NAMED = frozenset(
    ("aside", "div", "section", "ul", "ol", "header", "form", "a", "span", "p", "details")
)
_LEAST_LINKS = 4
_SHARE_OF_LINKS = 0.75


def main_of(tree: Any) -> LexborNode | None:
    """The element that holds a page's main text; its body where none says that it does.

    Of several, as the articles of a blog are, their parent is, unless one holds most of the text.
    """
    body: LexborNode | None = tree.body
    nodes = [node for node in tree.css(_MAIN) if not is_hidden(node)]
    longest = max(nodes, key=_size, default=None)
    if longest is None or 2 * _size(longest) < sum(_size(n) for n in nodes if n.tag == "article"):
        return body
    return longest if _size(longest) else body


def _size(node: LexborNode) -> int:
    return len(node.text(deep=True).strip())


def is_hidden(node: LexborNode) -> bool:
    """Whether an element shows no text of its own, or none to anybody."""
    attributes = node.attributes
    style = (attributes.get("style") or "").replace(" ", "").casefold()
    is_link_mark = node.tag == "a" and "headerlink" in (attributes.get("class") or "")
    return (
        node.tag in _UNSHOWN
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or "display:none" in style
        or is_link_mark
    )


def is_chrome(node: LexborNode, *, within_main: bool) -> bool:
    """Whether an element belongs to the site rather than to the text of the page.

    Within the main text a header is the text's own, and so are notes aside and lists of links.
    """
    attributes = node.attributes
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if node.tag in _AROUND or (attributes.get("role") or "") in _ROLES:
        return True
    if node.tag in _NAMED and names.strip() and _NAMES.search(names):
        return _size(node) < 2000 or not within_main
    if within_main:
        return False
    is_header = node.tag == "header" and node.css_first("h1") is None
    return node.tag == "aside" or is_header or _is_of_links(node)


def _is_of_links(node: LexborNode) -> bool:
    """Whether a list or a division consists of links for the greater part of its text."""
    if node.tag not in ("ul", "ol", "div") or node.css_first("p, pre, table") is not None:
        return False
    links = node.css("a")
    linked = sum(len(link.text(deep=True).strip()) for link in links)
    return len(links) >= _LEAST_LINKS and linked > _SHARE_OF_LINKS * _size(node)


_DEEPEST = 150
_CHARSET = re.compile(rb"(?i)<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]{1,40})")
_HEAD = 4096
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight|brush:)[-\s]?([\w+#]+)")
_UNLIT = ("default", "none", "text", "notranslate", "plaintext")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_TAGS = """
address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td
tfoot th thead tr ul
"""  # eight dozen names read better without their quotes
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_CODE = ("code", "kbd", "samp", "tt")


def read_html(path: Path, raw: bytes) -> Extracted:
    """The title of a page without headings, its main text, and the blocks of that."""
    outline = Outline()
    title = add_html(text_of_page(path, raw), outline)
    return extracted("" if any(b.headings for b in outline.blocks) else title, outline)


def text_of_page(path: Path, raw: bytes) -> str:
    """A page's text by the encoding that it names, if it names one, else as UTF-8."""
    named = _CHARSET.search(raw[:_HEAD])
    if not named or raw.startswith(_MARKS):
        return decoded(path, raw)
    try:
        name = codecs.lookup(named[1].decode("ascii")).name
        text = raw.decode("cp1252" if name in ("iso8859-1", "ascii") else name, "replace")
    except LookupError:
        return decoded(path, raw)
    return decoded(path, raw if name == "utf-8" else text.encode("utf-8", "replace"))


_PEOPLE = (
    "a.confluence-userlink, a.user-mention, span.author, span.editor, span.user, [itemprop=author]"
)


def add_html(text: str, outline: Outline, *, is_text: bool = False) -> str:
    """Add the blocks of a page to an outline, and what it says of itself; its title is returned.

    With `is_text` there is no site around the page, as around those of a book.
    """
    with needing(missing_extra("html", "HTML and EPUB need")):
        from selectolax.lexbor import LexborHTMLParser
    tree = LexborHTMLParser(bounded_markup(text))
    root = main_of(tree)
    head = tree.css_first("title")
    outline.people += map(_text_in, tree.css(_PEOPLE))
    title = _text_in(head) if head is not None else ""
    outline.metadata |= _metadata(tree)
    if root is not None:
        _drop_around(root)
        _Walk(outline, within_main=is_text or root.tag != "body").children(root, 0)
    return title


def _text_in(node: LexborNode) -> str:
    return _BLANKS.sub(" ", node.text(deep=True)).strip()


def _metadata(tree: Any) -> JsonObject:
    """The keywords in a page's head, and the properties that Notion shows below its title."""
    keywords = tree.css_first("meta[name=keywords i]")
    words = keywords.attributes.get("content") if keywords is not None else ""
    values: JsonObject = {"keywords": property_of("keywords", words)} if words else {}
    for row in tree.css("table.properties tr"):
        cells = [cell for cell in row.iter() if cell.tag in ("th", "td")]
        several = [_text_in(value) for value in row.css(".selected-value")]
        if cells:
            values[_text_in(cells[0])] = several or _text_in(cells[-1])
        row.decompose()
    return values


def _drop_around(root: LexborNode) -> None:
    """Note what stands beside the main text, and the addresses of links in it."""
    inner = root
    while inner.tag != "body" and (around := inner.parent) is not None:
        for beside in around.iter(include_text=True):
            if beside.mem_id != inner.mem_id:
                drop(AROUND, beside.text(deep=True))
        inner = around
    for node in root.css("a, img"):
        attributes = node.attributes
        drop(ADDRESSES, attributes.get("href") or attributes.get("src") or "")
        if node.tag == "img":
            drop("descriptions of images", attributes.get("alt") or "")


# The same page for a parser whose work grows with the square of how deep elements are nested, of
# how many attributes one has, and of the marks of fonts that stay open.

_W = r"[\t\n\f\r ]"
_ATTRIBUTE = (
    r"(=[^\t\n\f\r />=]*+|[^\t\n\f\r />=]++)"
    rf"(?:{_W}*+={_W}*+(\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >]*+))?+"
)
_MARKUP = re.compile(
    r"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|\Z))|[!?][^>]*+>?|/(?![a-zA-Z])[^>]*+>?"
    rf"|(/?)([a-zA-Z][^\t\n\f\r />]*+)((?:[\t\n\f\r /]*+{_ATTRIBUTE})*+)[\t\n\f\r /]*+(?:>|\Z))"
)
_EACH = re.compile(_ATTRIBUTE)
_READ = frozenset(("class", "id", "role", "style", "hidden", "aria-hidden", "itemprop"))
_LONGEST_TAG = 1000
_MOST_ATTRIBUTES = 64
_MOST_OPEN = 256
_RAW_TAGS = "title script style iframe noembed noframes noscript textarea"
_RAW = frozenset(_RAW_TAGS.split())
_FONTS = ("b", "big", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "u")
_INSTEAD = {"code": "samp", "tt": "samp", "form": "div", "plaintext": "pre", "xmp": "pre"}
_INSTEAD |= dict.fromkeys(_FONTS, "span")
_SHORT_TAGS = """
p li dt dd tr td th thead tbody tfoot option html head body caption colgroup area base br col embed
hr img input link meta param source track wbr
"""
_SHORT = frozenset(_SHORT_TAGS.split())
"""Elements that are empty, or that others end."""

_SCOPES = frozenset(("table", "template", "object", "applet", "marquee", "select", "svg", "math"))
_SPECIAL = _BLOCKS | _SCOPES | {"button", "center", "dir", "hgroup", "listing", "menu", "summary"}


def bounded_markup(text: str) -> str:
    """A page without scripts, whose tags are short and not nested too deep.

    What would stand deeper stands beside. An element counts as open for as long as a parser may
    hold it open.
    """
    parts = []
    at = 0
    is_open = list[str]()
    while mark := _MARKUP.search(text, at):
        parts.append(text[at : mark.start()])
        at = mark.end()
        name = (mark[2] or "").lower()
        if name in _RAW and not mark[1]:
            end = re.compile(rf"(?i)</{name}(?=[\t\n\f\r />])").search(text, at)
            stop = end.start() if end else len(text)
            inner = text[at:stop]
            at = stop
            parts.append(f"<title>{inner.replace('<', '&lt;')}" if name == "title" else "")
        elif name and (name == "title" or name not in _RAW):
            parts.append(_bounded_tag(mark, name, is_open))
        else:
            parts.append(
                mark[0] if mark[0][:3] != "<![" else "<!---->"
            )  # which is text in a drawing
    return "".join([*parts, text[at:]])


def _bounded_tag(mark: re.Match[str], name: str, is_open: list[str]) -> str:
    """A tag as it is handed on; `is_open` are the elements around it, the inner ones last."""
    whole = mark[0]
    shown = _INSTEAD.get(name, name)
    if mark[1]:
        if shown in is_open and _is_closed(shown, is_open):
            del is_open[len(is_open) - 1 - is_open[::-1].index(shown) :]
        return f"</{shown}>"
    if shown not in _SHORT:
        if len(is_open) >= _MOST_OPEN:
            return "<br>" if shown in _BLOCKS else "<!---->"
        is_open.append(shown)
    if shown == name and len(whole) < _LONGEST_TAG and whole[-1] == ">":
        return whole
    return f"<{shown}{_attributes_read(mark[3], is_font=name in _FONTS)}>"


def _is_closed(name: str, is_open: Sequence[str]) -> bool:
    """Whether a parser closes the last element of a name, and all within it."""
    stays = _SCOPES if name in _SPECIAL else _SPECIAL
    inner = takewhile(lambda each: each != name, reversed(is_open))
    return is_open[-1] == name or (name != "a" and stays.isdisjoint(inner))


def _attributes_read(attributes: str, *, is_font: bool) -> str:
    """Those of the first attributes that say what an element is, and whether it is shown."""
    names = _READ - {"class", "id"} if is_font else _READ
    each = islice(_EACH.finditer(attributes), _MOST_ATTRIBUTES)
    read = [(m[1], m[2] or "") for m in each if m[1].lower() in names]
    values = [(name, value.strip("\"'")[:_LONGEST_TAG].replace('"', "")) for name, value in read]
    return "".join(f' {name}="{value}"' for name, value in values)


@dataclass
class _Walk:
    """Goes through the elements of a page in their order."""

    outline: Outline
    within_main: bool

    def children(self, node: LexborNode, depth: int) -> None:
        """Add what an element holds: its blocks, and the words between them as paragraphs."""
        words = []
        for child in node.iter(include_text=True):
            if _is_inline(child):
                words.append(_words(child, depth))
                continue
            self.prose("".join(words))
            words = []
            self.block(child, depth + 1)
        self.prose("".join(words))

    def block(self, node: LexborNode, depth: int) -> None:
        """Add one element that stands on lines of its own."""
        tag = node.tag
        hidden = is_hidden(node)
        if hidden or is_chrome(node, within_main=self.within_main):
            drop(HIDDEN if hidden else AROUND, node.text(deep=True))
            return
        if depth > _DEEPEST:
            self.prose(node.text(deep=True))
        elif tag in _HEADINGS:
            self.heading(node, depth)
        elif tag == "pre":
            self.code(node)
        elif tag in ("ul", "ol"):
            self.list_of(node, depth)
        elif (  # which holds data, rather than laying out a page or numbering lines of code
            tag == "table"
            and node.attributes.get("role") not in ("presentation", "none")
            and node.css_first("table table, td h1, td h2, td h3, td pre, td ul p") is None
        ):
            self.table(node, depth)
        elif tag in ("dt", "summary", "figcaption", "caption"):
            self.prose(_words(node, depth), leads=tag != "figcaption")
        elif tag in ("blockquote", "dd"):
            _Walk(self.outline.nested(), self.within_main).children(node, depth)
        else:
            self.children(node, depth)

    def heading(self, node: LexborNode, depth: int) -> None:
        """A heading without the mark of its link."""
        text = _BLANKS.sub(" ", _words(node, depth)).strip(" ¶#§🔗")
        if node.attributes.get("id") == "title-heading":  # Confluence's, behind that of the space
            text = text.partition(" : ")[2] or text
        if text and self.outline.items:
            self.prose(text, leads=True)
        elif text:
            self.outline.heading(_HEADINGS[str(node.tag)], text, 1)

    def prose(self, text: str, *, leads: bool = False) -> None:
        """A paragraph."""
        self.outline.prose(_BLANKS.sub(" ", text).strip(), 1, leads=leads)

    def code(self, node: LexborNode) -> None:
        """Preformatted text, with its language where a class names it."""
        lines = node.text(deep=True).replace("\r\n", "\n").expandtabs(4).split("\n")
        self.outline.code(list(enumerate(lines, 1)), _language(node))

    def list_of(self, node: LexborNode, depth: int) -> None:
        """A list: each item with its mark, indented by the lists that it stands in."""
        number = 0
        for child in node.iter(include_text=False):
            if child.tag != "li":
                self.block(child, depth + 1)
                continue
            number += 1
            mark = f"{number}. " if node.tag == "ol" else "- "
            inner = self.outline.item(mark, tight=number > 1 or self.outline.items > 0)
            _Walk(inner, self.within_main).children(child, depth + 1)
            inner.mark.text = ""

    def table(self, node: LexborNode, depth: int) -> None:
        """A table, a block a row, so that a long one can be cut between rows."""
        caption = node.css_first("caption")
        if caption is not None:
            self.prose(_words(caption, depth), leads=True)
        first = True
        for row in node.css("tr"):
            cells = [c for c in row.iter(include_text=False) if c.tag in ("td", "th")]
            texts = [_BLANKS.sub(" ", _words(cell, depth)).strip() for cell in cells]
            if any(texts):
                is_head = all(cell.tag == "th" for cell in cells)
                self.outline.prose(" | ".join(texts), 1, tight=not first, leads=first and is_head)
                first = False


def _is_inline(node: LexborNode) -> bool:
    if node.tag in _BLOCKS or str(node.tag).startswith(("-", "_")):
        return node.tag == "-text"
    # a block within a few levels of an inline element makes it one
    children = list(node.iter(include_text=False))
    below = (inner for child in children for inner in child.iter(include_text=False))
    return not any(inner.tag in _BLOCKS for inner in (*children, *below))


def _words(node: LexborNode, depth: int) -> str:
    """What a reader sees of an element within a paragraph; code stands between backticks."""
    tag = node.tag
    if tag == "-text":
        return node.text(deep=False) or ""
    if str(tag).startswith(("-", "_")):
        return ""
    if is_hidden(node):
        drop(HIDDEN, node.text(deep=True))
        return ""
    if tag == "br":
        return "\n"
    if tag in _CODE or depth > _DEEPEST:
        text = _BLANKS.sub(" ", node.text(deep=True)).strip()
        return f"`{text}`" if tag in _CODE and text and "`" not in text else text
    inner = "".join(_words(child, depth + 1) for child in node.iter(include_text=True))
    return f" {inner} " if tag in _BLOCKS else inner


def _language(node: LexborNode) -> str:
    """The language that a class of a code block, in it or around it, names."""
    around = node.parent
    nodes = (node, node.css_first("samp"), around, around and around.parent)
    classes = (each.attributes.get("class") or "" for each in nodes if each is not None)
    languages = (match[1] for match in map(_LANGUAGE.search, classes) if match)
    return next((language for language in languages if language not in _UNLIT), "")
