"""The museum: each foreign file is read right, or refused by a sentence; none is misread."""

from pathlib import Path

import pytest
from shapes_as_documented import SPECIMENS as VARIANTS
from shapes_of_answers import SPECIMENS as ANSWERS
from shapes_of_qrels import SPECIMENS as QRELS
from shapes_of_queries import SPECIMENS as QUERIES
from shapes_of_runs import SPECIMENS as RUNS
from shapes_of_strangers import SPECIMENS as STRANGERS
from specimen import ROLES, Specimen, reading

SPECIMENS = [*RUNS, *QRELS, *QUERIES, *VARIANTS, *ANSWERS, *STRANGERS]


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_a_foreign_file_is_read_right_or_refused(specimen: Specimen, tmp_path: Path) -> None:
    path = specimen.write(tmp_path)
    for role in ROLES:
        found, expected = reading(role, path), specimen.read.get(role, str(path))
        if isinstance(expected, str):
            assert isinstance(found, str), f"{role} are read: {found}"
            assert expected in found
            assert str(path) in found
            assert "\n" not in found
        else:
            assert found == expected, role


def test_no_two_specimens_have_one_name() -> None:
    names = [specimen.name for specimen in SPECIMENS]
    assert len(set(names)) == len(names)
