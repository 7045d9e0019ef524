"""`labeler init`, `import`, `export`, `fetch` and `trust`: what goes in and out of a project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from labeler.cli.options import (
    FORCE,
    GRADE_MAP,
    SCALE,
    Destination,
    OnScreen,
    Opened,
    argument,
)
from labeler.cli.output import show
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import caution, note, progress, say
from labeler.cli.settings import template
from labeler.collection.export import Exported, ExportOptions, export
from labeler.collection.layout import Collection
from labeler.collection.user_files import Output
from labeler.errors import BadInput, Misuse
from labeler.exchange.export.content import FormatName
from labeler.files.settings import NAME
from labeler.messages import count_of
from labeler.options import OUTPUT, REQUIRED, option

if TYPE_CHECKING:
    from labeler.catalog.recipes import UpstreamCollection
    from labeler.pools.import_qrels import Imported


def init(force: bool = option(False, FORCE)) -> None:
    """Write a labeler.toml, the settings of this folder.

    An option beats the environment, and the environment beats the file. Every init that uses a
    setting says so. LABELER_CONFIG names another file; set to nothing, no file is read.
    """
    path = Path(NAME)
    Output(path, force).write(template())
    say(f"wrote {path}: every setting is commented out; remove the # of those that you want")


def take_in(
    source: Annotated[
        Path,
        argument("A file, a folder or a ZIP archive of any tool.", "SOURCE"),
    ],
    *,
    into: Path | None = option(None, "The collection that it goes into.", metavar="COLL"),
    name: str = option("human", "The name of the qrels.", flags="--as"),
    grade_map: str = option("", GRADE_MAP),
    scale: str = option("", SCALE),
    to: Destination,
) -> None:
    """Say what a file, folder or archive of any tool holds, and take it into a collection.

    Without a collection nothing is kept. No model is asked. Documents become the corpus, queries
    the queries, and people's judgements qrels whose pairs are pooled.
    """
    from labeler.exchange.bundles import left_lines, plan_lines
    from labeler.exchange.contents import GRADES, RANKINGS
    from labeler.models.session import Control
    from labeler.pools.import_qrels import ImportSettings, import_plan, look_at

    if into is None:
        looked_at = look_at(source)
        show_outcome(looked_at, lambda plan: say("\n".join(plan_lines(plan))), to)
        if looked_at.refused:
            raise BadInput(looked_at.refused[0])
        parts = {each.what for each in looked_at.taken}
        run = source if len(looked_at.taken) == 1 else "FILE"
        is_run = parts == {RANKINGS}
        take = f"pool COLL --run {run}" if is_run else f"import {source} --into COLL"
        note(f"to take it: labeler {take}")
        if parts == {GRADES, RANKINGS}:
            note("to score it as it is: labeler evaluate QRELS RUN...")
        return
    settings = ImportSettings(name, grade_map, scale, to.force)
    imported = import_plan(source, into, settings, Control(progress=progress, note=caution))
    show_outcome(imported, _show, to)
    for line in [*left_lines(imported.plan), *(f"left: {path}" for path in imported.left)]:
        note(line)
    if imported.qrels is not None:
        pool, new = imported.qrels.pool, imported.qrels.new
        note(f"the pool has {count_of(pool, 'pair')}, {new:,} of them new")
        note(f"next: labeler judge {into} --as llm, then labeler agree {into} {name} llm")


def _show(imported: Imported) -> None:
    folder = imported.collection
    if imported.documents:
        say(f"{folder}/corpus.jsonl: {count_of(imported.documents, 'document')}")
    if imported.queries:
        say(f"{folder}/queries.jsonl: {count_of(imported.queries, 'query')}")
    if imported.qrels is not None:
        pairs = count_of(imported.qrels.pairs, "judged pair")
        say(f"{imported.qrels.qrels}: {pairs} of {count_of(imported.qrels.queries, 'query')}")


def write_export(
    collection: Opened,
    *,
    to: FormatName = option(REQUIRED, "The tool that shall read it."),
    out: Path = option(
        REQUIRED,
        "A folder; or a file, for a tool that reads one.",
        flags="--output -o",
        panel=OUTPUT,
    ),
    options: ExportOptions,
    shown: OnScreen,
) -> None:
    """Write a collection as files that another tool reads."""

    exported = export(collection, Output(out, shown.force), to, options, caution)
    show_outcome(exported, _show_write_export, shown)


def _show_write_export(exported: Exported) -> None:
    for path in exported.files:
        say(str(path))
    pairs = count_of(exported.pairs, "pair")
    queries = count_of(exported.queries, "query")
    note(f"{exported.qrels}: {pairs}; {queries}, {count_of(exported.documents, 'document')}")
    note(f"to read it: {exported.reader}")


MODEL = "model"
IR_DATASETS = "ir_datasets:"
PROMPTS = "prompt:"
MEGABYTE = 1_000_000


def fetch(
    name: Annotated[
        str | None,
        argument("A recipe's name or file, or 'model'; without one, all are listed."),
    ] = None,
    out: Path | None = option(
        None, "The collection's directory; of the list, a file.", flags="--output -o", panel=OUTPUT
    ),
    *,
    to: OnScreen,
) -> None:
    """Fetch a public, human-judged collection, published prompts, or a model's file.

    prompt:umbrela writes the prompts of UMBRELA, word for word, into this folder or the output's.

    With the 'ir_datasets' extra, ir_datasets:NAME is a data set of that package; a name with a
    slash, such as beir/scifact/test, needs no prefix.

    LABELER_MIRROR names a folder with the upstream files as OWNER/REPO/COMMIT/PATH, for machines
    without a way out; LABELER_CACHE the folder in which downloads are kept.
    """
    if name is None:
        _list(to if out is None else replace(to, file=to.written_to(out)))
    elif name.startswith(IR_DATASETS) or ("/" in name and not name.endswith(".toml")):
        _fetch_dataset(f"{IR_DATASETS}{name.removeprefix(IR_DATASETS)}", out, to.force)
    elif name.startswith(PROMPTS):
        _fetch_prompts(name.removeprefix(PROMPTS), out, to.force)
    elif name == MODEL:
        _fetch_model(out)
    else:
        _fetch(name, out, to.force)


def _list(to: Destination) -> None:
    from labeler.catalog.fetch import prompt_recipes
    from labeler.catalog.recipes import read_recipe, recipe_files
    from labeler.models.embedded import EMBEDDED
    from labeler.report.table import Column, Row, Table

    recipes = [read_recipe(path) for path in recipe_files().values()]
    rows: list[Row] = [
        [r.name, r.recipe.title, r.recipe.counts.queries, r.recipe.counts.pairs] for r in recipes
    ]
    rows += [[f"{PROMPTS}{n}", r.title, None, None] for n, r in prompt_recipes().items()]
    size = f"{EMBEDDED.size / MEGABYTE:.0f} MB"
    rows.append([MODEL, f"the embedded model's file ({EMBEDDED.licence}, {size})", None, None])
    columns = [
        Column("name", align="left"),
        Column("what", align="left"),
        Column("queries", undefined=""),
        Column("judged pairs", undefined=""),
    ]
    show([Table("recipes", columns, rows)], to)


def _fetch(name: str, out: Path | None, force: bool) -> None:
    from labeler.catalog.fetch import fetch_collection
    from labeler.catalog.recipes import find_recipe

    recipe = find_recipe(name)
    collection = _fetched_into(out, name, recipe.name)
    with progress(f"{recipe.name}, kB") as advance:
        judged = fetch_collection(
            recipe,
            collection,
            lambda done, total: advance(done // 1000, total // 1000),
            note,
            force=force,
        )
    note(f"licence: {recipe.recipe.licence}")
    note(f"cite: {recipe.recipe.citation}")
    _say_fetched(collection, judged)


def _fetch_prompts(name: str, out: Path | None, force: bool) -> None:
    from labeler.catalog.fetch import fetch_prompts, prompt_recipes

    paths = fetch_prompts(name, out or Path(), force=force)
    recipe = prompt_recipes()[name]
    note(f"licence: {recipe.licence}; cite: {recipe.citation}; {recipe.notes}")
    say("\n".join(map(str, paths)))


def _fetch_dataset(name: str, out: Path | None, force: bool) -> None:
    from labeler.catalog.ir_datasets import fetch_dataset

    collection = _fetched_into(out, name, name.removeprefix(IR_DATASETS).replace("/", "-"))
    with progress("documents") as advance:
        fetched = fetch_dataset(name, collection, advance, note, force=force)
    note("licence and citation: see https://ir-datasets.com")
    _say_fetched(collection, fetched)


def _fetched_into(out: Path | None, name: str, folder: str) -> Collection:
    """The collection to write; `Misuse` where nobody said where."""

    if out is None:
        raise Misuse(f"-o says where to: labeler fetch {name} -o {folder}/")
    return Collection(out)


def _say_fetched(collection: Collection, fetched: UpstreamCollection) -> None:
    if fetched.conflicts:
        pairs = ("pair with two grades upstream is", "pairs with two grades upstream are")
        note(f"{count_of(len(fetched.conflicts), *pairs)} in no human.qrels")
    documents = count_of(fetched.passed_on or len(fetched.documents), "document")
    say(f"{collection.folder}: {count_of(len(fetched.queries), 'query')}, {documents}")
    for name, grades in fetched.qrels.items():
        say(f"{collection.qrels(name)}: {count_of(sum(map(len, grades.values())), 'judged pair')}")
    if not fetched.qrels:
        say("no qrels")


def _fetch_model(out: Path | None) -> None:
    from labeler.models.embedded import EMBEDDED, fetch_model

    if out is not None:
        raise Misuse("the model goes into the cache folder; LABELER_CACHE names another one")
    with progress("model file, MB") as advance:
        path = fetch_model(
            lambda done, total: advance(done // MEGABYTE, total // MEGABYTE), tell=note
        )
    note(f"{EMBEDDED.repository}, {EMBEDDED.licence}, SHA-256 {EMBEDDED.sha256}")
    say(str(path))


def trust(
    address: Annotated[
        str | None,
        argument("A server's address; without one, the trusted ones are listed."),
    ] = None,
    key: str = option(
        "", "The environment variable that holds the server's key.", metavar="VARIABLE"
    ),
    forget: bool = option(False, "Trust the address no longer."),
) -> None:
    """Name a server once for all, so that files may name it.

    A collection, a batch, a partition or a labeler.toml may come from a stranger. The servers that
    it names get neither texts nor a key, unless you name them too: by an option, by the
    environment, or by this trust. The large providers' own addresses are known.
    """
    from labeler.wire import gate

    if address is None:
        if key or forget:
            raise Misuse("name the address that is meant, too")
        for server, variable in sorted(gate.trusted().items()):
            say(f"{server}  {variable}".rstrip())
    elif forget:
        say(f"trusted no longer: {', '.join(gate.forget(address))}")
    else:
        trusted = gate.trust(address, key)
        sent = f"and the key in {key}" if key else "and no key; --key names the variable of one"
        say(f"{trusted}: files may name it, and it gets texts, {sent}")
