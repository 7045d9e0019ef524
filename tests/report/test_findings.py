"""What a reader of figures should know: a sentence that names parameters, never options."""

from labeler.report.finding import Finding, Setting, merged

SKIP = Setting("missing", "skip")
FOUND = Finding(f"a: 1 of 3 queries missing; counted as 0 ({SKIP} leaves them out)", "a", (SKIP,))


def test_a_finding_reads_in_the_words_of_the_library() -> None:
    assert str(FOUND) == 'a: 1 of 3 queries missing; counted as 0 (missing="skip" leaves them out)'


def test_who_knows_the_parameters_by_other_names_puts_those_in_their_place() -> None:
    words = FOUND.worded(lambda setting: setting.as_option(f"--{setting.parameter}"))
    assert words == "a: 1 of 3 queries missing; counted as 0 (--missing skip leaves them out)"


def test_who_has_no_such_settings_is_advised_none() -> None:
    advice = f" ({SKIP} leaves them out)"
    each = f"of 3 queries missing; counted as 0{advice}"
    plain = Finding(str(FOUND), "a", (SKIP,), each=each, count=1, advice=advice).without_advice()
    assert str(plain) == "a: 1 of 3 queries missing; counted as 0"
    assert (plain.each, plain.settings) == ("of 3 queries missing; counted as 0", ())


def test_a_setting_is_what_a_caller_writes() -> None:
    assert str(Setting("max_grade")) == "max_grade"
    assert str(Setting("clip", True)) == "clip=True"
    assert str(Setting("map_other", {1: 0, 2: 1})) == "map_other={1: 0, 2: 1}"


def test_a_setting_is_what_a_user_types() -> None:
    assert Setting("max_grade").as_option("--max-grade") == "--max-grade"
    assert Setting("clip", True).as_option("--clip") == "--clip"
    assert Setting("map_other", {1: 0, 2: 1}).as_option("--map-other") == "--map-other 1=0,2=1"


def test_findings_that_say_the_same_are_one() -> None:
    mapped = Finding("turned", settings=(Setting("map_other", {1: 0}),))
    assert len({mapped, Finding("turned", settings=(Setting("map_other", {1: 0}),))}) == 1


def test_findings_that_differ_in_run_and_count_alone_are_told_as_one() -> None:
    each = "pairs of documents tied in score"
    findings = [Finding(f"r{n}: {n} {each}", f"r{n}", each=each, count=n) for n in (7, 3, 5, 4)]
    assert [str(finding) for finding in merged(findings)] == [f"4 runs: 3 to 7 {each}"]
    assert [str(finding) for finding in merged(findings[:2])] == [f"r7 and r3: 3 to 7 {each}"]
    assert list(merged(findings[:1])) == findings[:1]


def test_other_findings_stay_as_they_are_and_where_they_stand() -> None:
    alike = [Finding("a: odd", "a", each="odd"), Finding("b: odd", "b", each="odd")]
    mixed = ["first", alike[0], Finding("between"), alike[1]]
    assert [str(finding) for finding in merged(mixed)] == ["first", "a and b: odd", "between"]
