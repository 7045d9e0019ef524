"""What a working process runs: it answers the calls that come in, with this very package.

It is run as a file, with the folder that holds the package as its argument. Beside that folder's
`labeler` nothing in it is looked at: another package there may have the name of a module of ours.
"""

from __future__ import annotations

if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.argv[1])
    import labeler  # noqa: F401 - from now on its modules are found where it lies

    del sys.path[0]
    from labeler.evaluation.workers import answer_calls

    answer_calls()
