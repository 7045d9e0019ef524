"""The report of a collection: the same figures as the commands', at any stage, on one safe page."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reported import ATTACK, make

import labeler
from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.collection_report.contents import ReportOptions, choose_sets, contents_of
from labeler.collection_report.figures import fields_with_groups
from labeler.collection_report.page import fitting_page
from labeler.collection_report.report import CollectionReport, report_of
from labeler.data import Query
from labeler.errors import Misuse
from labeler.judging.status import status
from labeler.report.private import Private
from labeler.trec.files import ranking, read_run
from labeler.trec.write import write_qrels, write_run


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return make(tmp_path_factory.mktemp("made") / "shop", judged=("first", "second"))


@pytest.fixture(scope="module")
def report(collection: Collection) -> CollectionReport:
    return report_of(collection, ReportOptions(qrels="first"))


@pytest.fixture(scope="module")
def held(report: CollectionReport) -> CollectionReport:
    return report


@pytest.fixture(scope="module")
def page(report: CollectionReport) -> str:
    return report.page().html()


def test_scores_are_those_of_evaluate(collection: Collection, held: CollectionReport) -> None:
    by = ("origin", "kind")
    path = collection.qrels("first")
    expected = labeler.evaluate(path, [*collection.run_files().values()], by=by)
    assert held.scores is not None
    assert held.scores.as_json(per_query=True) == expected.as_json(per_query=True)


def test_agreement_is_that_of_agree(collection: Collection, held: CollectionReport) -> None:
    expected = labeler.agree(str(collection.folder), "human", "first").assessors
    assert held.agreement.reports[0].as_json() == expected[0].as_json()
    others = labeler.agree(str(collection.folder), "human", "second").assessors
    assert held.agreement.reports[1].as_json() == others[0].as_json()


def test_costs_are_those_of_status(collection: Collection, held: CollectionReport) -> None:
    assert [j.as_json() for j in held.judged] == [j.as_json() for j in status(collection)]


def test_the_page_shows_the_figures_as_the_commands_print_them(
    held: CollectionReport, page: str
) -> None:
    assert held.scores is not None
    for table in held.scores.tables(scenarios=True):
        for row in table.texts():
            assert all(f">{cell}<" in page for cell in row[1:] if cell), (table.name, row)


def test_three_sentences_stand_before_the_warnings(held: CollectionReport, page: str) -> None:
    assert any(finding.level == "warning" for finding in held.findings)
    assert page.rindex('class="lead"') < page.index('class="warning"')
    assert page.count('class="lead"') == 3


def test_ties_among_the_worst_and_the_best_queries_are_said(tmp_path: Path) -> None:
    collection = make(tmp_path / "coll", size=(6, 5), runs=("bm25",), judged=())
    run = {f"q{q}": {"d9" if q < 2 else "d1": 1.0} for q in range(6)}
    write_run(collection.run("bm25"), run, "bm25")
    write_qrels(collection.qrels("human"), {f"q{q}": {"d1": 1} for q in range(6)})
    text = report_of(collection).page().html()
    assert "2 tie at a mean of 0.000. 4 tie at a mean of 1.000." in text


def test_the_sentences_name_measure_interval_and_agreement(held: CollectionReport) -> None:
    first, second, third = held.sentences
    assert "3 systems were scored by nDCG@10" in first
    assert "by first's grades (gpt-x-2026-01-01): 87 grades of 8 queries." in first
    assert re.search(r"the score of \w+ is 0\.\d{3} to 0\.\d{3} at 95 %\.$", second)
    assert "kappa of" in third
    assert "same grade as people" in third


def test_each_query_lists_what_each_system_returned(
    collection: Collection, held: CollectionReport
) -> None:
    for name, path in collection.run_files().items():
        run = read_run(path)
        for query in held.queries:
            by_rank = {doc.ranks[name]: doc.id for doc in query.documents if name in doc.ranks}
            expected = ranking(run[query.query.id])[:10]
            assert [by_rank[rank] for rank in sorted(by_rank)] == expected


def test_what_nobody_judged_and_what_failed_is_marked_and_has_no_grade(
    held: CollectionReport, page: str
) -> None:
    documents = {(q.query.id, d.id): d for q in held.queries for d in q.documents}
    assert documents["q1", "d11"].grade is None
    assert documents["q0", "d0"].failure == "refused"
    assert documents["q0", "d0"].grade is None
    assert "<small>unjudged · " in page
    assert "<small>refused · " in page


def test_the_pairs_farthest_apart_come_first_and_are_of_many_queries(
    held: CollectionReport,
) -> None:
    apart = held.agreement.apart
    sizes = [far.distance for far in apart]
    assert sizes == sorted(sizes, reverse=True)
    first = [far.pair.query_id for far in apart if far.distance == sizes[0]]
    assert len(set(first[: len(set(first))])) == len(set(first))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]


def test_texts_of_others_add_no_element_and_nothing_is_loaded(page: str) -> None:
    assert ATTACK not in page
    parser = _Tags()
    parser.feed(page)
    assert not parser.tags & {"img", "iframe", "link", "object"}
    assert page.count("<script") == 1  # the one that filters and sorts queries
    assert all(address.startswith("#") for address in parser.addresses)


def test_no_path_of_the_machine_and_no_key_stands_on_the_page(
    collection: Collection, report: CollectionReport, page: str
) -> None:
    for text in (page, report.summary()):
        assert str(collection.folder.parent) not in text
        assert "hunter2" not in text
        assert "abcdef" not in text
    assert "pages" in page  # what was read is named


def test_one_collection_gives_the_same_bytes_wherever_it_lies(
    collection: Collection, report: CollectionReport, tmp_path: Path
) -> None:
    copied = shutil.copytree(collection.folder, tmp_path / "shop")
    again = report_of(copied, ReportOptions(qrels="first"))
    assert again.page().html() == report.page().html()
    assert again.summary() == report.summary()


@pytest.mark.parametrize("most", [150_000, 400_000])
def test_a_page_stays_below_its_size_and_says_what_it_leaves_out(
    held: CollectionReport, page: str, most: int
) -> None:
    fitted = fitting_page(held, most).html()
    assert len(fitted.encode()) < most
    assert ("So that this page stays below" in fitted) == (len(page.encode()) >= most)


@pytest.mark.parametrize(
    ("kinds", "fields"),
    [
        (["a", "b", "a", "b"], ["kind"]),
        (["a", "a", "a", "a"], []),
        (["a", ["b"], "c", "d"], []),
        ([{"a": 1}, "b", "c", "d"], []),
        ([1, 2, 2, 1], ["kind"]),
        ([None, "b", "b", "b"], ["kind"]),
        (list(range(70)), []),
    ],
)
def test_queries_are_grouped_by_fields_of_single_and_not_too_many_values(
    kinds: list[object], fields: list[str]
) -> None:
    asked = {f"q{n}": Query(f"q{n}", "a", {"kind": kind}) for n, kind in enumerate(kinds)}
    assert list(fields_with_groups(asked, asked)) == fields


def test_people_whose_grades_share_no_scale_with_the_assessor_are_not_compared(
    collection: Collection, tmp_path: Path
) -> None:
    folder = shutil.copytree(collection.folder, tmp_path / "shop")
    (folder / "qrels" / "human.qrels").write_text("q1 0 d3 99999\n")
    (folder / "runs" / "notes.md").write_text("no run")
    made = report_of(folder)
    texts = [finding.text for finding in made.findings]
    assert "1 file among the runs not read as runs, as notes.md" in texts
    assert made.page().html().count('class="lead"') == 3


Stage = tuple[str, str]
STAGES: dict[str, Stage] = {
    "documents": ("queries.jsonl pool.jsonl runs qrels judgements", "labeler generate shop/"),
    "queries": ("pool.jsonl runs qrels judgements", "labeler pool shop/"),
    "no judgements": ("qrels judgements", "labeler judge shop/"),
    "no runs": ("runs", "labeler pool shop/"),
    "no people": ("qrels/human.qrels qrels/second.qrels", "labeler annotate shop/"),
    "people alone": ("judgements qrels/first.qrels qrels/second.qrels", ""),
    "no texts": ("corpus.jsonl queries.jsonl pool.jsonl card.json", "labeler corpus ingest"),
    "nothing": ("corpus.jsonl queries.jsonl pool.jsonl card.json runs qrels judgements", "ingest"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_collection_at_any_stage_has_a_page_that_says_what_is_missing(
    collection: Collection, tmp_path: Path, stage: str
) -> None:
    left_out, command = STAGES[stage]
    folder = shutil.copytree(collection.folder, tmp_path / "shop")
    for name in left_out.split():
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    made = report_of(folder)
    page = made.page().html()
    assert command in page
    assert page.count('class="lead"') == 3
    assert made.summary().startswith("# shop: report")


def test_judgements_that_all_failed_are_said_and_score_nothing(tmp_path: Path) -> None:
    collection = make(tmp_path / "shop", judged=("first",), people=(), failing=True)
    made = report_of(collection)
    assert made.scores is None
    assert "first: no pair of these judgements has a grade" in made.page().html()


def test_people_beside_judgements_that_all_failed_are_not_said_to_be_alone(tmp_path: Path) -> None:
    collection = make(tmp_path / "my shop", size=(4, 8), failing=True)
    made = report_of(collection)
    asked = "The grades are people's; a model was asked, and no pair got a grade from it."
    assert made.sentences[2] == asked
    (collection.qrels("human")).unlink()
    alone = report_of(collection)
    assert [step.command for step in alone.missing] == ["labeler judge 'my shop/'"]
    assert alone.sentences[2].startswith("No pair has a grade, so that nothing")


def test_warnings_of_the_agreement_name_what_they_are_about_and_groups_come_last(
    collection: Collection,
) -> None:
    made = report_of(collection)
    texts = [finding.text for finding in made.findings if finding.level == "warning"]
    (order,) = (text for text in texts if "did not judge the same pairs" in text)
    assert order.startswith("order of the systems by human and first: the two did not")
    assert order.endswith("taken out of the rankings")
    assert ["too few to decide a gate" in text for text in texts[-2:]] == [True, True]


def test_one_system_and_one_query_have_a_page(tmp_path: Path) -> None:
    collection = make(tmp_path / "shop", size=(1, 8), runs=("bm25",))
    page = report_of(collection).page().html()
    assert "only 1 query: there is no interval" in page
    assert "Differences between systems" not in page


def test_people_score_the_systems_however_many_grades_others_have(
    collection: Collection, tmp_path: Path
) -> None:
    assert report_of(collection).sets.scoring == "human"
    folder = shutil.copytree(collection.folder, tmp_path / "shop")
    human = folder / "qrels" / "human.qrels"
    human.write_text("\n".join(human.read_text().splitlines()[::3]) + "\n")
    made = report_of(folder)
    assert (made.sets.scoring, made.sets.human) == ("human", "human")
    said = "Scored by people&#x27;s grades (human); also there: first and second."
    assert said in made.page().html()
    by_name = choose_sets(contents_of(Collection(folder)), ReportOptions(qrels="second"))
    assert by_name.scoring == "second"
    human.unlink()
    with pytest.raises(
        Misuse, match="several qrels, none of them human; choose one: first, second"
    ):
        report_of(folder)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (ReportOptions(qrels="third"), "no qrels 'third'; known: first, human"),
        (ReportOptions(humans=("eve",)), "no qrels 'eve'"),
        (ReportOptions(runs=("splade",)), "no run 'splade'; known: bm25, dense, hybrid"),
        (ReportOptions(baseline="splade"), "no run 'splade'; known"),
        (ReportOptions(measures=("nDGC@10",)), "did you mean 'nDCG@10'"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_that_are(
    collection: Collection, options: ReportOptions, problem: str
) -> None:
    with pytest.raises(Misuse, match=problem):
        report_of(collection, options)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/data/coll/runs/a.trec: 3 ties", "runs/a.trec: 3 ties"),
        ("read from /home/me/docs/a.md", "read from a.md"),
        ("C:\\Users\\me\\docs\\a.md", "a.md"),
        ("http://me:pw@localhost:8000/v1 gpt", "http://localhost:8000/v1 gpt"),
        ("key sk-abcdefghijklmnop1234", "key [hidden]"),
        ("/data/coll has no texts", "coll has no texts"),
        ("no texts: /data/coll", "no texts: coll"),
        ("q1/q2 and 0.3/0.4 of library/os.rst:12", "q1/q2 and 0.3/0.4 of library/os.rst:12"),
        ("https://example.org/a/b/c.html", "https://example.org/a/b/c.html"),
    ],
)
def test_what_belongs_to_the_machine_or_its_owner_is_hidden(text: str, shown: str) -> None:
    assert Private(Path("/data/coll"))(text) == shown


def test_a_folder_named_from_where_one_stands_is_shown_by_its_name() -> None:
    assert Private(Path("work/coll"))("work/coll has no texts") == "coll has no texts"
    assert Private(Path("coll"))("coll/runs of my-coll") == "runs of my-coll"


def test_the_command_writes_the_form_that_the_suffix_says(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(collection.folder)
    assert execute(["report", folder, "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    capsys.readouterr()
    assert execute(["report", folder]) == 0
    assert capsys.readouterr().out.startswith("# shop: report")


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        ("report", 2, "Missing argument 'COLL'"),
        ("report COLL -o figures.json", 2, "--output: a report is a page"),
        ("report COLL -o figures.csv", 2, "--output: a report is a page"),
        ("report nowhere", 74, "nowhere"),
        ("report COLL --run splade", 2, "--run: no run 'splade'"),
        ("report COLL -m nDGC@10", 2, "--measure: .*did you mean"),
        ("report COLL --baseline splade", 2, "--baseline: no run"),
    ],
)
def test_bad_input_is_one_line(
    collection: Collection,
    capsys: pytest.CaptureFixture[str],
    words: str,
    code: int,
    problem: str,
) -> None:
    arguments = [word.replace("COLL", str(collection.folder)) for word in words.split()]
    assert execute(arguments) == code
    error = capsys.readouterr().err.strip()
    assert re.search(problem, error)
    assert len(error.splitlines()) == 1
