import pytest
from every_row import every_row

from labeler.queries.filter import longest_copy, reason_to_reject, tidied

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


@every_row(
    "reply",
    [
        "I'm sorry, I cannot help",
        "I’m sorry, but I can’t assist with that request.",
        "I am very sorry",
        "Sorry, no query comes to mind",
        "Sorry.",
        "Sorry but I cannot",
        "I can't help with that.",
        "I cannot provide medical advice",
        "I'm unable to generate a query for this",
        "I won't do that",
        "Unfortunately, I cannot assist",
        "I apologize, that is not possible",
        "My apologies",
        "As an AI, I have no opinions",
        "As an AI language model I cannot",
        "As a large language model, I",
        '"I cannot comply"',
    ],
)
def test_a_refusal_is_no_query(reply: str) -> None:
    assert reason_to_reject(tidied(reply), PASSAGE, []) == "a refusal"


@pytest.mark.parametrize(
    "query",
    [
        "can I return a purchase without receipt",
        "sorry board game rules",
        "I'm sorry lyrics brenda lee",
        "I can't log in to my account",
        "i cannot generate ssh key",
        "i can't help falling in love chords",
        "I am unable to sleep at night",
        "as an AI engineer what should I learn",
        "unfortunately synonym",
        "how to apologize to a customer",
    ],
)
def test_a_query_that_sounds_like_a_refusal_is_kept(query: str) -> None:
    assert reason_to_reject(query, PASSAGE, []) is None
