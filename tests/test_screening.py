import pytest

from labeler.screening import longest_copy, reason_to_reject, tidied

PASSAGE = "Since version 2.2 the teardown functions run even if the view raised an error before."


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("how to configure flask", "how to configure flask"),
        ('  "how to configure flask"\nanother line', "how to configure flask"),
        ("Query: what is __name__", "what is __name__"),
        ("1. what does copy_tree do", "what does copy_tree do"),
        ("- **bold** words", "bold words"),
        ("3 ways to sort", "3 ways to sort"),
        ("what is `g`?", "what is g?"),
        ("\n\n", ""),
    ],
)
def test_a_reply_becomes_a_query_a_person_could_have_typed(reply: str, query: str) -> None:
    assert tidied(reply) == query


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("do teardown functions run after errors", None),
        ("", "too short"),
        ("flask", "too short"),
        ("one two three four five six seven eight nine ten eleven", "more than 10 words"),
        ("what does this passage say", "speaks of the passage"),
        ("the teardown functions run even if", "copies more than 5 words in a row"),
        ("How to revive sourdough starter", "like an example of the prompt"),
        ("如何在请求结束后运行函数", None),
    ],
)
def test_only_queries_fit_to_test_with_are_kept(query: str, reason: str | None) -> None:
    assert reason_to_reject(query, PASSAGE, ["how do I revive sourdough starter"]) == reason


def test_the_longest_copy_is_counted_in_words() -> None:
    assert longest_copy(["a", "b", "c", "x", "d", "e"], ["z", "a", "b", "c", "d", "e"]) == 3
    assert longest_copy([], ["a"]) == 0
