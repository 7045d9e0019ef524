"""What became of grades, as a matrix and as the pairs that moved."""

from labeler.data import Pair
from labeler.judging.transitions import State, judged, transitions
from labeler.report.render import render

REFUSED = State(None, "refused")
BEFORE = {Pair("q", "a"): judged(2), Pair("q", "b"): judged(0), Pair("q", "c"): REFUSED}
AFTER = {Pair("q", "a"): judged(0), Pair("q", "b"): judged(0), Pair("q", "c"): judged(2)}
CHANGES = transitions(BEFORE, AFTER)


def test_the_matrix_counts_every_pair_and_the_list_names_those_that_moved() -> None:
    assert render(CHANGES.matrix_table("old", "new")).splitlines() == [
        "old \\ new  0  2  refused  all",
        "0          1  0        0    1",
        "2          1  0        0    1",
        "refused    0  1        0    1",
    ]
    assert render(CHANGES.moved_table("old", "new")).splitlines() == [
        "query  document      old  new",
        "q      c         refused    2",
        "q      a               2    0",
    ]


def test_a_notebook_gets_a_frame_of_the_pairs_that_moved_and_a_table() -> None:
    assert CHANGES.frame().to_dict("records") == [
        {"query_id": "q", "doc_id": "c", "before": "refused", "after": "2"},
        {"query_id": "q", "doc_id": "a", "before": "2", "after": "0"},
    ]
    assert CHANGES._repr_html_().startswith("<table>")
    assert repr(CHANGES) == "Transitions(2 of 3 moved)"
