"""What of a page is its main text, and what is navigation, decoration or hidden."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_MAIN = "main, [role=main], article, [itemprop=articleBody]"
_UNSHOWN_TAGS = """
script style noscript template head link meta iframe object embed svg canvas audio video button
select input textarea datalist map
"""
_UNSHOWN = frozenset(_UNSHOWN_TAGS.split())
_AROUND = frozenset(("nav", "aside", "footer", "menu"))
_ROLE_NAMES = "navigation banner contentinfo search complementary menu menubar toolbar dialog"
_ROLES = frozenset(_ROLE_NAMES.split())
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|sidebar|toc|table-of-contents|breadcrumbs?|menu|footer"
    r"|masthead|cookies?|consent|comments?|related|share|social|sharing|skip-?link|pagination|pager"
    r"|prev-next|advert|ads?|banner|newsletter|promo|popup|modal|sphinxsidebar|localtoc|headerlink"
    r"|edit-page|feedback)(?:$|[\s_-])",
    re.IGNORECASE,
)
_NAMED = frozenset(("div", "section", "ul", "ol", "header", "form", "a", "span", "p", "details"))
_LEAST_LINKS = 4
_SHARE_OF_LINKS = 0.75


def main_of(tree: Any) -> LexborNode | None:
    """The element that holds a page's main text; its body where none says that it does.

    Of several, as the articles of a blog are, their parent is, unless one holds most of the text.
    """
    body: LexborNode | None = tree.body
    if body is None:
        return None
    nodes = [node for node in tree.css(_MAIN) if not is_hidden(node)]
    longest = max(nodes, key=_size, default=None)
    if longest is None or 2 * _size(longest) < sum(_size(n) for n in nodes if n.tag == "article"):
        return body
    return longest if _size(longest) else body


def _size(node: LexborNode) -> int:
    return len(node.text(deep=True).strip())


def is_hidden(node: LexborNode) -> bool:
    """Whether an element shows no text of its own, or none to anybody."""
    if node.tag in _UNSHOWN:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    style = (attributes.get("style") or "").replace(" ", "").casefold()
    is_link_mark = node.tag == "a" and "headerlink" in (attributes.get("class") or "")
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or "display:none" in style
        or is_link_mark
    )


def is_chrome(node: LexborNode, *, within_main: bool) -> bool:
    """Whether an element belongs to the site rather than to the text of the page.

    Within the main text a header is the text's own, and so are lists of links.
    """
    attributes = node.attributes
    if node.tag in _AROUND or (attributes.get("role") or "") in _ROLES:
        return True
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if node.tag in _NAMED and names.strip() and _NAMES.search(names):
        return _size(node) < 2000 or not within_main
    if within_main:
        return False
    return (node.tag == "header" and node.css_first("h1") is None) or _is_of_links(node)


def _is_of_links(node: LexborNode) -> bool:
    """Whether a list or a division consists of links for the greater part of its text."""
    if node.tag not in ("ul", "ol", "div") or node.css_first("p, pre, table") is not None:
        return False
    links = node.css("a")
    linked = sum(len(link.text(deep=True).strip()) for link in links)
    return len(links) >= _LEAST_LINKS and linked > _SHARE_OF_LINKS * _size(node)
