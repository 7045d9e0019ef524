"""BM25 in other languages than English: whose stemmer it has, and what it leaves out."""

from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.collection.search import Searched, bm25_run, searched_corpus
from labeler.corpus.documents import read_documents
from labeler.data import Document, Query
from labeler.errors import Misuse
from labeler.text.bm25 import Bm25Settings, bm25_name, index_settings
from labeler.text.terms import Analyzer, terms
from labeler.trec.files import last_tag

GERMAN = [
    "Die Häuser der Stadt sind alt, und auch die Bäume sind es.",
    "Eine Genehmigung für den Bau ist nicht immer von der Stadt.",
    "Wie kann ich das Passwort für den Zugang ändern?",
]
LANGUAGES = Path(__file__).parents[3] / "shared" / "data" / "languages"


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("german", "Häuser", "Haus"),
        ("german", "Genehmigungen", "Genehmigung"),
        ("french", "élèves", "élève"),
        ("russian", "книги", "книга"),
        ("spanish", "canciones", "canción"),
        ("finnish", "taloissa", "talo"),
    ],
)
def test_forms_of_a_word_are_one_term(language: str, one: str, other: str) -> None:
    analyzer = Analyzer(language)
    assert analyzer.terms(one) == analyzer.terms(other)
    assert terms(one) != terms(other)


def test_the_usual_analyzer_is_that_of_english() -> None:
    text = "Running the café’s dogs in 東京都"
    assert Bm25Settings().makes_terms.terms(text) == terms(text)
    assert bm25_name() == "bm25-lucene-k1=1.2-b=0.75"
    assert "analyzer" not in index_settings()


def test_words_stay_as_they_are_or_are_left_out() -> None:
    assert Analyzer("none").terms("Running dogs") == ["running", "dogs"]
    stopped = Bm25Settings("german", stop_words=True)
    assert stopped.makes_terms.terms("die alten Häuser") == ["alt", "haus"]
    assert bm25_name(stopped) == "bm25-lucene-k1=1.2-b=0.75-german-stop"
    assert index_settings(stopped) != index_settings(Bm25Settings("german"))


def test_an_unknown_analyzer_is_refused_with_those_there_are() -> None:
    with pytest.raises(Misuse, match=r"no analyzer 'klingon'; known: none, arabic, .*turkish"):
        Bm25Settings("klingon")


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (GERMAN, "german"),
        (["the dog is in a house", "what is this for"], "english"),
        ([*GERMAN, *["the dog is in a house"] * 3], "english"),
        (["B0 17", "usb"], "english"),
        (["मैं आपके लिए यहाँ हूँ और यह है"], "hindi"),
        (["これは日本語です"], "english"),
        ([], "english"),
    ],
)
def test_the_language_of_most_documents_decides(texts: list[str], language: str) -> None:
    assert Bm25Settings().for_texts(texts).analyzer == language
    assert Bm25Settings("none").for_texts(texts).analyzer == "none"


def test_k1_and_b_weigh_terms() -> None:
    documents = [Document("long", "cat " * 3 + "dog " * 30), Document("short", "cat bird")]
    queries = [Query("q", "cat")]

    def scores(settings: Bm25Settings) -> dict[str, float]:
        searched = Searched(lambda: iter(documents), 2, bm25=settings)
        return bm25_run(searched, queries, 10)["q"]

    assert list(scores(Bm25Settings())) != list(scores(Bm25Settings(b=0)))


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = Collection(tmp_path / "c")
    made.folder.mkdir()
    with locked(made):
        write_corpus(made.corpus, (Document(str(n), text) for n, text in enumerate(GERMAN)))
        write_queries(made.queries, [Query("q", "Genehmigungen")])
    return made


def test_the_commands_say_the_language_and_name_the_run_by_it(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(collection.folder)
    assert execute(["pool", folder]) == 0
    assert "BM25 stems words as German" in capsys.readouterr().err
    assert last_tag(collection.run("bm25")) == "bm25-lucene-k1=1.2-b=0.75-german"
    words = ["retrieve", folder, "--engine", "bm25", "--as", "plain", "--set", "bm25.k1=0.9"]
    assert execute([*words, "--analyzer", "none"]) == 65  # no document has this form
    assert execute([*words, "--analyzer", "german"]) == 0
    assert "stems words as" not in capsys.readouterr().err
    assert last_tag(collection.run("plain")) == "bm25-lucene-k1=0.9-b=0.75-german"


def test_an_index_that_is_kept_is_of_its_analyzer(collection: Collection) -> None:
    queries = [Query("q", "Genehmigungen")]
    for language, count in (("", 1), ("none", 0), ("german", 1), ("none", 0)):
        searched = searched_corpus(collection, kept_from=0, bm25=Bm25Settings(language))
        assert len(bm25_run(searched, queries, 5)["q"]) == count


@pytest.mark.skipif(not LANGUAGES.is_dir(), reason="the shared translations are not here")
@pytest.mark.parametrize(
    ("code", "language"),
    [
        pytest.param("de", "german", marks=pytest.mark.sweep),
        ("hi", "hindi"),
        pytest.param("ja", "english", marks=pytest.mark.sweep),
    ],
)
def test_the_language_of_translated_pages_is_told(code: str, language: str) -> None:
    documents = read_documents([str(LANGUAGES / code)]).documents.values()
    texts = [document.text for document in documents]
    assert Bm25Settings().for_texts(texts).analyzer == language


TOLD_APART = {
    "arabic": "المضخة ساخنة جدا ولا يجوز لمسها",
    "armenian": "Պոմպը չափազանց տաք է",
    "basque": "Ponpa beroegia da eta ez da ukitu behar.",
    "catalan": "La bomba és massa calenta, com els tubs, i es pot tocar amb les eines del taller.",
    "czech": "Čerpadlo je horké a nesmí se ho nikdo dotýkat, protože to může být nebezpečné.",
    "danish": "Pumpen er for varm, og den må ikke røres af andre, hvis filteret er fuldt.",
    "dutch": "De pomp is te heet en mag niet worden aangeraakt, want het is gevaarlijk.",
    "english": "The pump is too hot and must not be touched.",
    "estonian": "Pump on liiga kuum ja seda ei tohi puudutada.",
    "finnish": "Pumppu on liian kuuma, ja se voi olla vaarallinen.",
    "french": "La pompe est trop chaude et il ne faut pas la toucher.",
    "german": "Die Pumpe ist zu heiß und darf nicht berührt werden.",
    "greek": "Η αντλία είναι πολύ ζεστή",
    "hindi": "पंप बहुत गर्म है",
    "hungarian": "A szivattyú túl meleg, ezért nem szabad hozzányúlni, mert ez veszélyes.",
    "indonesian": "Pompa itu terlalu panas dan tidak boleh disentuh.",
    "irish": "Tá an caidéal ró-the agus ní féidir é a láimhseáil mar tá sé contúirteach.",
    "italian": "La pompa è troppo calda e non deve essere toccata.",
    "lithuanian": "Siurblys yra per karštas ir jo negalima liesti.",
    "norwegian": "Pumpen er for varm, og den må ikke røres av andre hvis filteret er fullt.",
    "polish": "Pompa jest zbyt gorąca i nie wolno jej dotykać.",
    "portuguese": "A bomba está quente demais e não deve ser tocada por uma pessoa.",
    "romanian": "Pompa este prea fierbinte și nu trebuie atinsă.",
    "russian": "Насос слишком горячий",
    "spanish": "La bomba está caliente y no se debe tocar por los demás.",
    "swedish": "Pumpen är för varm och får inte vidröras.",
    "tamil": "பம்பு மிகவும் சூடாக உள்ளது",
    "turkish": "Pompa çok sıcak ve buna dokunmayın, bu tehlikeli bir durum.",
}


@pytest.mark.parametrize("language", TOLD_APART)
def test_the_language_of_documents_is_told_and_has_its_stemmer(language: str) -> None:
    assert Bm25Settings().for_texts([TOLD_APART[language]] * 3).analyzer == language
