"""A folder of partitions: what determines their requests, the pairs, and what came of them.

`job.json` says what is asked, `prompt/NAME.md` is the prompt, `secret` what the marks round
documents are made with. `pairs/N.jsonl.gz` holds the pairs of partition N with their texts,
`replies/N.db` what their requests were answered, and `judged/N.jsonl` their judgements, which is
written once, when all of them are done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import ConfigDict, TypeAdapter

from labeler.collection.layout import locked_if_free
from labeler.collection.rows import read_record
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.files.atomic import replacing
from labeler.files.jsonl import read_rows, write_rows
from labeler.files.paths import did_you_mean
from labeler.files.read import file_problems, sha256_of
from labeler.judging.assessor import TOPIC, Lists, Texts, values_of
from labeler.models.settings import AssessorSettings
from labeler.options import STRICT
from labeler.prompt import Prompt, read_prompt

if TYPE_CHECKING:
    from labeler.store import StorePlace

FORMAT = "labeler partitions 1"
_PARTS = {"job.json", "prompt", "secret", "pairs", "judged", "replies", ".lock"}


@dataclass(frozen=True, slots=True)
class Partition:
    """The pairs of some queries: how many, and the file's hash."""

    __pydantic_config__ = STRICT

    pairs: int
    sha256: str


class ShownGrade(NamedTuple):
    """A grade that the prompt shows as an example, and the texts of its pair."""

    query_id: str
    doc_id: str
    grade: int
    query: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class PartitionedJob:
    """All that determines the requests of a set of judgements, but for its pairs and the secret.

    `model` is the name by which it is chosen, `model_id` what its replies are kept under, `server`
    its address without secrets, None of an embedded one. `store` is the database in which replies
    are kept, empty where each partition has a file. `declared` is what else is sent with each
    request. `facts` were found out about the server, and
    `files` are the hashes of the collection's files that the pairs were made from.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    name: str
    prompt: str
    model: str
    model_id: str
    server: str | None
    files: Mapping[str, str]
    format: str = FORMAT
    store: str = ""
    redact: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[ShownGrade, ...] | None = None
    declared: AssessorSettings = field(default_factory=AssessorSettings)
    partitions: tuple[Partition, ...] = ()

    @property
    def pairs(self) -> int:
        """How many pairs there are in all partitions."""
        return sum(partition.pairs for partition in self.partitions)


_JOB = TypeAdapter(PartitionedJob)


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """Which file of a folder of partitions is which; making one touches nothing."""

    path: Path

    @classmethod
    def of(cls, folder: AnyFolder) -> PartitionFolder:
        """The folder at an absolute path, which holds from wherever a worker is started."""
        return folder if isinstance(folder, PartitionFolder) else cls(Path(os.path.abspath(folder)))

    @property
    def job(self) -> Path:
        """The file that says what is asked."""
        return self.path / "job.json"

    @property
    def secret(self) -> Path:
        """The file of what marks round documents are made with, for its owner alone."""
        return self.path / "secret"

    def prompt(self, name: str) -> Path:
        """The file of the prompt."""
        return self.path / "prompt" / f"{name}.md"

    def pairs(self, number: int) -> Path:
        """The file of a partition's pairs."""
        return self.path / "pairs" / f"{number:05}.jsonl.gz"

    def judged(self, number: int) -> Path:
        """The file of a partition's judgements, which is there once all of them are done.

        Its rows are those of a set of judgements.
        """
        return self.path / "judged" / f"{number:05}.jsonl"

    def replies(self, number: int) -> Path:
        """The file of the replies to a partition's requests."""
        return self.path / "replies" / f"{number:05}.db"

    def store(self, job: PartitionedJob, number: int) -> StorePlace:
        """Where the replies to a partition's requests are kept."""
        if not job.store:
            return self.replies(number)
        from labeler.store.address import DatabaseAddress

        return DatabaseAddress.of(job.store, unsent=self.replies(number))

    def read_job(self) -> PartitionedJob:
        """What is asked; `FileProblem` where nothing is there, `BadInput` of something else."""
        if not self.job.is_file():
            raise FileProblem(
                f"{self.path}: no partitions are there; is the folder shared with this "
                f"machine?{did_you_mean(self.path)}"
            )
        job = read_record(self.job, _JOB, "no partitions of this version")
        if job.format != FORMAT:
            raise BadInput(f"{self.job}: partitions of another version of labeler")
        return job

    def write_job(self, job: PartitionedJob) -> None:
        """Write what is asked, last of all: without it there are no partitions."""
        with replacing(self.job) as out:
            out.write(json.dumps(asdict(job), ensure_ascii=False, indent=1) + "\n")

    def read_prompt(self, job: PartitionedJob) -> Prompt:
        """The prompt of the partitions; `BadInput` where it was changed."""
        prompt = read_prompt(self.prompt(job.prompt.rpartition("@")[0]))
        if prompt.id != job.prompt:
            raise BadInput(f"{self.path}: the prompt is {prompt.id}, and was {job.prompt}")
        return prompt

    def write_secret(self, secret: bytes) -> None:
        """Write the secret for its owner alone."""
        with file_problems(self.secret):
            self.secret.unlink(missing_ok=True)
            with open(os.open(self.secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
                f.write(secret)

    def read_secret(self) -> bytes:
        """The secret."""
        with file_problems(self.secret):
            return self.secret.read_bytes()

    def check_own(self) -> None:
        """`Misuse` where the folder holds something else, which is not to be written among."""
        if not self.path.exists():
            return
        with file_problems(self.path):
            strange = sorted({path.name for path in self.path.iterdir()} - _PARTS)
            is_nobodys = not self.job.exists() and any(self.judged(0).parent.glob("*"))
        if strange:
            raise Misuse(
                f"{self.path} holds something else ({strange[0]}); name a new folder",
                parameter="folder",
            )
        if is_nobodys:
            raise Misuse(
                f"{self.path} holds judgements, and no job.json that says of what; name a new "
                "folder",
                parameter="folder",
            )

    def unfinished(self, job: PartitionedJob) -> list[int]:
        """The numbers of the partitions without judgements."""
        return [n for n in range(len(job.partitions)) if not self.judged(n).is_file()]

    def locked(self, number: int) -> AbstractContextManager[bool]:
        """Whether no other worker is at a partition; none will be as long as the block runs."""
        return locked_if_free(self.path / "replies" / f".{number:05}.lock")


AnyFolder = PartitionFolder | Path | str
"""A folder of partitions, or where it is."""


# The pairs of partitions with their texts: a row of JSON for each.


class PartitionPairs(NamedTuple):
    """The pairs of a partition in their order, and their texts."""

    pairs: list[Pair]
    texts: Texts
    lists: Lists


def write_pairs(path: Path, pairs: Sequence[Pair], texts: Texts, lists: Lists) -> Partition:
    """Write the pairs of a partition with their texts."""
    write_rows(path, (_pair_row(pair, texts, lists) for pair in pairs))
    return Partition(len(pairs), sha256_of(path))


def _pair_row(pair: Pair, texts: Texts, lists: Lists) -> dict[str, Any]:
    """A pair as it is written; `list` are the documents with which its own was shown before."""
    query, document = texts.of(pair)
    values = values_of(query)
    return {
        "query_id": query.id,
        "query": query.text,
        "topic": {name: values[name] for name in TOPIC},
        "doc_id": document.id,
        "title": document.title,
        "text": document.text,
        "list": lists.get(pair),
    }


def read_pairs(path: Path, partition: Partition) -> PartitionPairs:
    """The pairs of a partition; `BadInput` where the file is not as it was written."""
    with file_problems(path):
        is_whole = path.is_file() and sha256_of(path) == partition.sha256
    if not is_whole:
        problem = "is damaged" if path.is_file() else "is not there"
        raise BadInput(f"{path}: this partition {problem}; write the partitions to a new folder")
    queries, documents, lists = dict[str, Query](), dict[str, Document](), dict[Pair, Any]()
    read = PartitionPairs([], Texts(queries, documents), lists)
    for _, row in read_rows(path):
        pair = Pair(row["query_id"], row["doc_id"])
        read.pairs.append(pair)
        queries.setdefault(pair.query_id, Query(pair.query_id, row["query"], row["topic"]))
        documents.setdefault(pair.doc_id, Document(pair.doc_id, row["text"], row["title"]))
        if row["list"]:
            lists[pair] = tuple(row["list"])
    return read
