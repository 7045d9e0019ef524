"""The page on millions of pairs: its tables are those that the script makes, and formulas hold."""

from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


@pytest.mark.usefixtures("_scripts")
def test_the_tables_of_the_page_are_those_of_the_script() -> None:
    import simulate_scale

    text = simulate_scale.PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- table: ") == len(simulate_scale.TABLES)
    assert simulate_scale.with_tables(text) == text


@pytest.mark.usefixtures("_scripts")
def test_the_cheapest_way_that_ends_in_time_is_chosen() -> None:
    import simulate_scale as scale

    account = scale.Server("an account", 256, rpm=5000, tpm=4e6, queue=40e6)
    assert scale.choice(100_000, account, 3600) == "one process"
    assert scale.choice(100_000, account, 7 * scale.DAY) == "batches"
    assert scale.choice(10**8, account, scale.DAY) == "not possible"
    quick = scale.Server("a quick server of one's own", 4096)
    assert scale.choice(10**8, quick, scale.DAY) == f"{scale.CORES} workers"
    assert scale.choice(10**6, quick, scale.DAY) == "one process"


@pytest.mark.usefixtures("_scripts")
@pytest.mark.parametrize(
    ("at_once", "told", "allowed"), [(8, None, None), (64, 6000, 6000), (64, None, 6000)]
)
def test_the_rate_limiter_takes_as_long_as_the_formula_says_in_simulated_time(
    at_once: int, told: int | None, allowed: int | None
) -> None:
    from simulated_calls import RateLimits, World, play

    from labeler.models.call_plan import CallTimes, duration_of

    world = World(seconds=0.2, rpm=allowed, limits=RateLimits(at_once, told))
    played = play(world, 800)
    said = duration_of(800, 0, RateLimits(at_once, allowed), CallTimes(0.2, 0.0)).seconds
    assert len(played.answered_at) == 800
    assert 0.85 < played.seconds / said < 1.15
    assert play(world, 800).answered_at == played.answered_at
