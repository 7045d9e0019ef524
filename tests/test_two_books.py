"""The pages for users stay as few and as short as one person reads; the rest is another book."""

import json
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
OTHER_BOOKS = {"reference", "methods", "site"}
MOST_PAGES, MOST_WORDS = 20, 20_000


def words_of(page: Path) -> int:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = " ".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return len(text.split())


def test_the_users_book_has_at_most_twenty_pages_and_twenty_thousand_words() -> None:
    pages = [
        page
        for page in sorted(DOCS.rglob("*"))
        if page.suffix in {".md", ".ipynb"}
        and not OTHER_BOOKS & set(page.relative_to(DOCS).parts[:-1])
    ]
    assert len(pages) <= MOST_PAGES, [page.name for page in pages]
    assert sum(map(words_of, pages)) <= MOST_WORDS
