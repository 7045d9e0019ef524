"""Network file systems: known by where they are mounted."""

from pathlib import Path

from labeler.files.paths import network_file_system


def test_a_network_file_system_is_known_by_its_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n", encoding="utf-8"
    )
    assert network_file_system(tmp_path / "coll" / "replies.db", mounts) == "nfs4"
    assert network_file_system(Path("/etc/hosts"), mounts) is None
    assert network_file_system(tmp_path, tmp_path / "no such file") is None
