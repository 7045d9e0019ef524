"""A collection's README.md holds what its card says as words: no markup, HTML or escape codes."""

import json
import unicodedata
from pathlib import Path

from markdown_it import MarkdownIt

from labeler.collection.layout import Collection, locked
from labeler.collection.readme import write_readme

HOSTILE = (
    "a\x1b[2J\x07\u202e|b`c`<script>alert(1)</script>\n# head\n[x](http://evil) ![y](z) www.evil.de"
)
CARD = {
    "ingest": {
        "inputs": [HOSTILE],
        "duplicates": 3,
        "unread": [HOSTILE],
        "left_out": {HOSTILE: 2},
        "settings": {"words": 120, "include": [HOSTILE], "exclude": [HOSTILE]},
    },
    "carried": {"judgements": {HOSTILE: {"moved": 3}}},
    "fetch": {"title": HOSTILE, "recipe": HOSTILE, "licence": HOSTILE, "citation": HOSTILE},
    "generate": {"model": HOSTILE, "prompt": HOSTILE, "queries": 3},
    "pool": {"runs": {HOSTILE: {}}, "depth": HOSTILE, "pairs": 3},
    "judge": {"a": {"model": HOSTILE, "prompt": HOSTILE}, HOSTILE: {"served": [HOSTILE, HOSTILE]}},
}


def readme_of(folder: Path, card: object) -> str:
    collection = Collection(folder)
    collection.card.write_text(json.dumps(card), encoding="utf-8")
    rows = {"_id": "q1", "text": "x", "metadata": {"origin": HOSTILE}}
    collection.queries.write_text(json.dumps(rows) + "\n", encoding="utf-8")
    with locked(collection):
        write_readme(collection)
    return collection.readme.read_text(encoding="utf-8")


def test_whatever_the_card_says_is_words(tmp_path: Path) -> None:
    text = readme_of(tmp_path, CARD)
    assert not {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}} - {"\n"}
    _comment, *tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    kinds = {token.type for token in tokens}
    inner = {child.type for token in tokens for child in token.children or ()}
    assert inner <= {"text", "text_special", "softbreak"}
    assert not kinds & {"html_block", "fence", "code_block"}
    assert sum(token.type == "heading_open" for token in tokens) == 1
    assert sum(token.type == "td_open" for token in tokens) == 2 * 8
    assert "http://" not in text


def test_a_plain_address_stays_a_link(tmp_path: Path) -> None:
    home = "https://example.org/data?x=1#top"
    text = readme_of(tmp_path, {"fetch": {"homepage": home, "title": "a_b"}})
    assert f"Homepage: {home}\n" in text
    assert "# a_b\n" in text


def test_the_datasheet_says_what_is_not_known(tmp_path: Path) -> None:
    card = {
        "ingest": {
            "documents": 10, "files": 3, "unread": ["a.pdf: encrypted"],
            "inputs": ["docs"], "settings": {"words": 120},
        },
        "pool": {"pairs": 8, "depth": 10, "runs": {"bm25": {}}},
        "judge": {"llm": {"pairs": 8, "judged": 6, "failed": 2, "model": "m", "prompt": "p"}},
    }  # fmt: skip
    text = readme_of(tmp_path, card)
    for line in (
        "1 file could not be read",
        "2 of 8 pairs of a set of judgements have no grade",
        "no person has judged a pair",
    ):
        assert line in text, text


def test_a_card_that_tells_nothing_has_no_datasheet(tmp_path: Path) -> None:
    text = readme_of(tmp_path, {})
    assert "Judgements by a model" not in text
    assert "Limits" not in text
