"""What a search system has answered so far, kept beside its run until every query is answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from labeler.files.read import file_problems
from labeler.runs.engines.answers import Hit


@dataclass(frozen=True, slots=True)
class AnswerJournal:
    """A file of answers, a line each, to the queries with these texts by id.

    `asked` is all that the answers depend on, but for the query: those to something else are
    forgotten.
    """

    path: Path
    asked: str
    texts: Mapping[str, str]

    def earlier(self) -> dict[str, list[Hit]]:
        """The answers that an earlier start was given to these queries; no others are kept."""
        answers: dict[str, list[Hit]] = {}
        with file_problems(self.path), suppress(OSError, ValueError, TypeError, KeyError):
            lines = self.path.read_text(encoding="utf-8").splitlines()
            for line in lines[1:] if lines[:1] == [self._head] else ():
                row = json.loads(line)  # the last one may be cut short
                if self.texts.get(row["query_id"]) == row["text"]:
                    answers[row["query_id"]] = [Hit(*hit) for hit in row["hits"]]
        with file_problems(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(f"{self._head}\n", encoding="utf-8")
        for query_id, hits in answers.items():
            self.add(query_id, hits)
        return answers

    @property
    def _head(self) -> str:
        return json.dumps({"asked": hashlib.sha256(self.asked.encode()).hexdigest()})

    def add(self, query_id: str, hits: Sequence[Hit]) -> None:
        """Keep the answer to a query."""
        row = {"query_id": query_id, "text": self.texts[query_id], "hits": hits}
        with file_problems(self.path), self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")

    def forget(self) -> None:
        """Remove the file: all is answered, or nothing of it is of use."""
        with file_problems(self.path):
            self.path.unlink(missing_ok=True)
