"""A rater at work in a real browser: with keys alone, two at once, and when things fail."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Route, expect
from rated_pages import Raters, grading_of, pair, pairs

from labeler.annotate.journal import RatingJournal
from labeler.annotate.serve import ServeOptions, served
from labeler.annotate.session import RatingSession


def test_a_session_needs_one_key_a_pair(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(8)))
    keys = [str(n % 4) for n in range(8)]
    rater.press(*keys).at("ended")
    assert [str(row.grade) for row in rater.answers] == keys
    assert rater.problems == []


def test_whatever_a_rater_can_do_has_a_key(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(6)))
    page = rater.page
    page.keyboard.press("n")
    page.keyboard.type("2 sentences: it's 3 a.m.")
    page.keyboard.press("Escape")
    rater.press("2").says("Saved: 2, highly relevant. Next pair.")
    rater.press("s").says("Skipped.")
    rater.press("c").says("Saved: Cannot judge.")
    rater.press("1").says("Saved: 1").asks("where does cat 4 sleep")
    rater.press("Backspace").asks("where does cat 3 sleep")
    expect(page.get_by_role("button", pressed=True)).to_contain_text("related")
    rater.press("3").says("Saved: 3").asks("where does cat 4 sleep")
    rater.press("0").asks("where does cat 5 sleep")
    rater.press("u").says("Undone").asks("where does cat 4 sleep")
    rater.press("b", "b").asks("where does cat 2 sleep").press("v").asks("where does cat 3 sleep")
    for key, name in (("?", "Keys"), ("i", "How to judge")):
        rater.press(key)
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        page.keyboard.press("3")  # answers nothing while a dialog is open
        page.keyboard.press("Escape")
    rater.press("v", "2", "2").says("last one").at("ended")
    page.keyboard.press("s")
    rater.ready().asks("where does cat 1 sleep").press("1").at("ended")
    expect(page.locator("#progress")).to_contain_text("6 of 6 done")
    grades = {row.item: row.grade for row in rater.answers}
    assert grades == {"0": 2, "1": 1, "2": None, "3": 3, "4": 2, "5": 2}
    assert rater.answers[0].note == "2 sentences: it's 3 a.m."
    assert rater.problems == []


def test_two_raters_at_once_keep_their_own_answers(raters: Raters) -> None:
    names = ("anna", "ben")
    addresses = raters.serve(grading_of(pairs(4)), *names)
    windows = [raters.window(a, n) for a, n in zip(addresses, names, strict=True)]
    for anna, ben in zip("0123", "3210", strict=True):
        windows[0].press(anna)
        windows[1].press(ben)
    for window, grades in zip(windows, ([0, 1, 2, 3], [3, 2, 1, 0]), strict=True):
        window.at("ended")
        assert [row.grade for row in window.answers] == grades


def test_a_reload_finds_the_note_the_opened_text_and_the_place_again(raters: Raters) -> None:
    text = "\n\n".join(f"Line {n} tells of nothing that anybody asked for." for n in range(300))
    rater = raters.rater(grading_of([*pairs(1), pair(text + "\n\nCats sleep."), *pairs(1)]))
    page = rater.press("1").asks("where do cats sleep").ready().page
    page.keyboard.press("e")
    opened = page.locator(".text > *").count()
    page.keyboard.press("n")
    page.keyboard.type("half a thought")
    page.evaluate("scrollTo(0, 900)")
    page.reload()
    rater.ready().asks("where do cats sleep")
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    assert page.locator(".text > *").count() == opened
    assert page.evaluate("scrollY") == 900
    rater.press("2").says("Saved: 2")
    assert rater.answers[1].note == "half a thought"
    expect(page.get_by_label("Note")).to_have_value("")


def test_a_key_pressed_twice_answers_one_pair(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(4)))
    for number, keys in enumerate(("22", "23", "0s"), 1):
        for key in keys:
            rater.page.keyboard.press(key)
        rater.ready().asks(f"where does cat {number} sleep")
        assert len(rater.answers) == number


@pytest.mark.sweep
def test_a_second_key_on_a_pair_that_has_only_appeared_is_said_not_to_count(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(3)))
    page = rater.ready().page
    page.clock.pause_at(page.evaluate("Date.now()") + 1000)
    page.keyboard.press("2")
    rater.at("new")
    page.keyboard.press("2")
    rater.says("Not counted")
    page.clock.resume()
    rater.press("1").says("Saved: 1")
    assert [row.grade for row in rater.answers] == [2, 1]


@pytest.mark.sweep
def test_a_key_that_is_held_down_answers_one_pair(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(3)))
    rater.ready().page.keyboard.down("2")
    rater.asks("where does cat 1 sleep").ready().page.keyboard.down("2")  # repeats
    rater.page.keyboard.up("2")
    assert len(rater.answers) == 1


def test_nothing_typed_is_lost_where_the_server_cannot_be_reached(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(3)))
    page = rater.ready().page
    page.keyboard.press("n")
    page.keyboard.type("worth keeping")
    page.keyboard.press("Escape")
    page.context.set_offline(True)
    page.keyboard.press("2")
    rater.warns("Not saved. The server cannot be reached").ready().asks("where does cat 0 sleep")
    assert rater.answers == []
    page.context.set_offline(False)
    rater.press("2").says("Saved: 2").asks("where does cat 1 sleep")
    expect(page.get_by_role("alert")).to_be_hidden()
    assert rater.answers[0].note == "worth keeping"


FAILURES = [
    (500, '{"error": "the disk is full"}', "Not saved. The disk is full."),
    (502, "<h1>Bad gateway</h1>", "Not saved. The server failed (502)."),
    (200, "<h1>Log in to this network</h1>", "Not saved. The server failed (200)."),
]


def test_a_failed_save_says_why_and_stays(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(2)))
    replies = iter(FAILURES)

    def fail(route: Route) -> None:
        status, body, _sentence = next(replies)
        route.fulfill(status=status, body=body)

    rater.page.route("**/api/answer", fail)
    for _status, _body, sentence in FAILURES:
        rater.press("2").warns(sentence).ready().asks("where does cat 0 sleep")


@pytest.mark.sweep
def test_an_answer_given_in_another_window_is_not_given_twice(raters: Raters) -> None:
    (address,) = raters.serve(grading_of(pairs(3)), "anna")
    one, other = raters.window(address), raters.window(address)
    one.press("1").says("Saved: 1")
    other.press("3").warns("was answered in another window").ready().asks("where does cat 1 sleep")
    assert [row.grade for row in one.answers] == [1]


@pytest.mark.sweep
def test_a_note_outlives_the_server_and_its_address(raters: Raters, tmp_path: Path) -> None:
    def session() -> RatingSession:
        return RatingSession("anna", grading_of(pairs(2)), RatingJournal(tmp_path / "anna.jsonl"))

    with served([session()], ServeOptions(port=0)) as server:
        (old,) = server.addresses
        rater = raters.window(old)
        rater.press("n").page.keyboard.type("kept")
        rater.page.keyboard.press("Escape")
    rater.press("1").warns("The server cannot be reached").ready()
    with served([session()], ServeOptions(port=urlsplit(old).port)) as server:
        rater.press("1").warns("This address is no longer valid. Open the address").at("stopped")
        expect(rater.page.get_by_label("Note")).to_have_value("kept")
        rater.page.goto(server.addresses[0])
        rater.press("1").says("Saved: 1")
    assert [(row.grade, row.note) for row in rater.answers] == [(1, "kept")]


@pytest.mark.sweep
def test_grades_that_are_no_digit_have_letters(raters: Raters) -> None:
    scale = {-1: "spam", 0: "no", 5: "half", 10: "full"}
    rater = raters.rater(grading_of(pairs(3), scale=scale))
    rater.press("q", "w", "5").at("ended")
    assert [row.grade for row in rater.answers] == [-1, 10, 5]


@pytest.mark.sweep
def test_keys_work_on_layouts_where_digits_and_letters_lie_elsewhere(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(3)))
    event = "new KeyboardEvent('keydown', {key, code, bubbles: true})"
    strike = f"([key, code]) => document.body.dispatchEvent({event})"
    for key, code in (("é", "Digit2"), ("с", "KeyC"), ("٣", "Digit3")):
        rater.ready().page.evaluate(strike, [key, code])
    rater.at("ended")
    answers = [(row.grade, row.cannot_judge) for row in rater.answers]
    assert answers == [(2, False), (None, True), (3, False)]


def test_single_keys_can_be_switched_off_and_buttons_still_work(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(3)))
    page = rater.press("?").page
    page.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.get_by_role("button", name="1 related").click()
    rater.says("Saved: 1")
    page.reload()
    rater.press("2").asks("where does cat 1 sleep")
    assert [row.grade for row in rater.answers] == [1]
