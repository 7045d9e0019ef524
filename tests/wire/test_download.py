"""Downloads resume, stay within bounds and are used only when their SHA-256 is right."""

import hashlib
from pathlib import Path

import pytest
from file_server import Files, serving

from labeler.errors import BadInput, ProviderError
from labeler.wire.download import Remote, download

BODY = bytes(range(256)) * 2000
SUM = hashlib.sha256(BODY).hexdigest()


def fetch(files: Files, to: Path, size: int = len(BODY), sha256: str = SUM) -> list[int]:
    seen: list[int] = []
    remote = Remote(files.address + "/a.bin", size, sha256)
    download(remote, to, lambda done, _total: seen.append(done), pause=lambda _seconds: None)
    return seen


def test_a_file_arrives_whole_and_its_progress_only_grows(tmp_path: Path) -> None:
    files = Files({"/a.bin": BODY})
    with serving(files):
        seen = fetch(files, tmp_path / "deep" / "a.bin")
    assert (tmp_path / "deep" / "a.bin").read_bytes() == BODY
    assert seen == sorted(seen)
    assert seen[-1] == len(BODY)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["a.bin"]


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    files = Files({"/a.bin": BODY}, cut_after=[100_000, 70_000])
    with serving(files):
        fetch(files, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert files.ranges == [None, "bytes=100000-", "bytes=170000-"]


def test_a_later_run_goes_on_where_an_earlier_one_was_killed(tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(BODY[:300_000])
    files = Files({"/a.bin": BODY})
    with serving(files):
        fetch(files, tmp_path / "a.bin")
    assert files.ranges == ["bytes=300000-"]
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_part_that_is_complete_needs_no_server(tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(BODY)
    download(Remote("http://127.0.0.1:9/a.bin", len(BODY), SUM), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("behavior", [{"resumes": False}, {"lies": True}])
def test_a_server_that_does_not_resume_sends_the_file_again(
    tmp_path: Path, behavior: dict[str, bool]
) -> None:
    (tmp_path / "a.bin.part").write_bytes(BODY[:300_000])
    files = Files({"/a.bin": BODY}, **behavior)
    with serving(files):
        fetch(files, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_wrong_file_is_refused_with_both_sums_and_leaves_nothing(tmp_path: Path) -> None:
    files = Files({"/a.bin": b"another file"})
    found = hashlib.sha256(b"another file").hexdigest()
    with serving(files), pytest.raises(BadInput, match=f"expected {SUM}, found {found}"):
        fetch(files, tmp_path / "a.bin")
    assert list(tmp_path.iterdir()) == []


def test_a_part_longer_than_the_file_at_the_address_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(b"x" * 100)
    files = Files({"/a.bin": b"short"})
    with serving(files):
        fetch(files, tmp_path / "a.bin", 200, hashlib.sha256(b"short").hexdigest())
    assert files.ranges == ["bytes=100-", None]
    assert (tmp_path / "a.bin").read_bytes() == b"short"


def test_an_endless_file_is_cut_off(tmp_path: Path) -> None:
    files = Files({"/a.bin": b"x" * 3_000_000})
    with serving(files), pytest.raises(BadInput, match="more than the expected 1,000 bytes"):
        fetch(files, tmp_path / "a.bin", size=1000)
    assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_an_address_that_refuses_is_given_up_at_once(tmp_path: Path, status: int) -> None:
    files = Files({}, status=status)
    with serving(files), pytest.raises(ProviderError, match=f"HTTP {status}"):
        fetch(files, tmp_path / "a.bin")
    assert len(files.ranges) == 1


def test_an_address_where_nobody_listens_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"^http://127\.0\.0\.1:9/a\.bin: "):
        download(Remote("http://127.0.0.1:9/a.bin", 5, SUM), tmp_path / "a.bin")


def test_a_redirect_is_followed(tmp_path: Path) -> None:
    files = Files({"/b.bin": BODY}, redirect={"/a.bin": "/b.bin"})
    with serving(files):
        fetch(files, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY
