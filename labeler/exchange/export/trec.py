"""Files that TREC's own tools, ranx and ir_datasets read."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from labeler.data import Run
from labeler.exchange.export.content import Content, Export, Write, lost, nothing_lost, passage
from labeler.files.atomic import replacing
from labeler.trec.write import write_qrels, write_run

_BREAKS = str.maketrans("\t\n\r", "   ")


def _runs(content: Content, ending: str) -> dict[str, Write]:
    writer = _json_run if ending == "json" else _trec_run
    return {
        f"runs/{name}.{ending}": partial(writer, run, name) for name, run in content.runs.items()
    }


def _trec_run(run: Run, name: str, path: Path) -> None:
    write_run(path, run, name)


def _json_run(run: Run, _name: str, path: Path) -> None:
    _write_object(path, run)


def _write_object(path: Path, value: object) -> None:
    with replacing(path) as out:
        json.dump(value, out, ensure_ascii=False)


def _trec_files(content: Content) -> dict[str, Write]:
    def documents(path: Path) -> None:
        with replacing(path) as out:
            for document in content.documents.values():
                parts = [("DOCNO", document.id), ("TITLE", document.title), ("TEXT", document.text)]
                marked = (f"<{tag}>{_escaped(text)}</{tag}>\n" for tag, text in parts if text)
                out.write(f"<DOC>\n{''.join(marked)}</DOC>\n")

    def topics(path: Path) -> None:
        with replacing(path) as out:
            for query in content.queries.values():
                title = _escaped(_in_one_line(query.text))
                out.write(f"<top>\n<num> Number: {_escaped(query.id)}\n<title> {title}\n")
                for tag, heading, key in _MORE:
                    text = query.metadata.get(key)
                    shown = _escaped(text) if isinstance(text, str) else ""
                    out.write(f"\n<{tag}> {heading}:\n{shown}\n")
                out.write("</top>\n\n")

    return {
        "documents.trec": documents,
        "topics.trec": topics,
        "qrels.txt": lambda path: write_qrels(path, content.qrels),
        **_runs(content, "trec"),
    }


_MORE = (("desc", "Description", "description"), ("narr", "Narrative", "narrative"))


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _trec_losses(content: Content) -> list[str]:
    texts = (query.text for query in content.queries.values())
    changed = sum(_in_one_line(text) != text for text in texts)
    return lost(changed, "query's text is", "queries' texts are", "put on one line")


TREC = Export(
    _trec_files,
    _trec_losses,
    "trec_eval -m all_trec {}/qrels.txt RUN",
    takes_runs=True,
    keeps_negative=True,
)


def _ranx_files(content: Content) -> dict[str, Write]:
    qrels = {query: dict(sorted(grades.items())) for query, grades in content.qrels.items()}
    return {"qrels.json": lambda path: _write_object(path, qrels), **_runs(content, "json")}


RANX = Export(
    _ranx_files, nothing_lost, 'ranx.Qrels.from_file("{}/qrels.json", kind="json")', takes_runs=True
)


def _ir_datasets_files(content: Content) -> dict[str, Write]:
    def table(rows: Iterable[tuple[str, str]], path: Path) -> None:
        with replacing(path) as out:
            out.writelines(f"{name}\t{text.translate(_BREAKS)}\n" for name, text in rows)

    documents = ((d.id, passage(d)) for d in content.documents.values())
    queries = ((q.id, q.text) for q in content.queries.values())
    tables = {"docs.tsv": partial(table, documents), "queries.tsv": partial(table, queries)}
    return {**tables, "qrels.txt": lambda path: write_qrels(path, content.qrels)}


def _ir_datasets_losses(content: Content) -> list[str]:
    documents = content.documents.values()
    texts = [*(d.title + d.text for d in documents), *(q.text for q in content.queries.values())]
    broken = sum(text != text.translate(_BREAKS) for text in texts)
    titles = sum(bool(document.title) for document in documents)
    return [
        *lost(broken, "text has", "texts have", "spaces in place of tabs and line breaks"),
        *lost(titles, "title stands", "titles stand", "before the text, as there is one field"),
    ]


IR_DATASETS = Export(
    _ir_datasets_files,
    _ir_datasets_losses,
    'ir_datasets.create_dataset("{0}/docs.tsv", "{0}/queries.tsv", "{0}/qrels.txt")',
    keeps_negative=True,
)
