"""Mounts and the file systems of folders, such as that of temporary files."""

from __future__ import annotations

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import (
    OWN_MOUNTS,
    file_system_at,
    find_served_type,
    read_temporary_files,
)
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from tests.kernel.tasks.test_sessions import reader_with_answer
from tests.written import WrittenMachine

_MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /tmp tmpfs rw,nosuid,nodev 0 0
server:/scratch /tmp/my\\040scratch nfs4 rw 0 0
/dev/sdb1 /srv xfs rw 0 0
overlay /srv overlay rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/tmp", "tmpfs"),
        ("/tmp/x", "tmpfs"),
        ("/tmpx", "ext4"),
        ("/tmp/my scratch/x", "nfs4"),
        ("/srv", "overlay"),
        ("/", "ext4"),
    ],
)
def test_file_system_is_that_of_the_nearest_mount_above(folder: str, kind: str) -> None:
    assert file_system_at(folder, _MOUNTS) == kind


@pytest.mark.parametrize("mounts", ["", "rubbish\n", "proc /proc proc rw 0 0\n"])
def test_file_system_is_unknown_without_a_mount_above(mounts: str) -> None:
    assert file_system_at("/tmp", mounts) is None


@pytest.mark.parametrize("answer", [None, 5, "two words", "", "\x1b[2J"])
def test_file_system_that_is_no_word_is_unknown(answer: Json) -> None:
    assert read_temporary_files(reader_with_answer(answer)) is None


def test_this_host_reports_a_file_system_and_no_folder() -> None:
    assert "/" not in (read_temporary_files(Reader(LiveMachine())) or "")


def test_files_on_a_server_or_an_overlay_are_served() -> None:
    reader = Reader(WrittenMachine({OWN_MOUNTS: _MOUNTS}))
    assert find_served_type(reader, ["/home", "/tmp/my scratch/a", "/srv/b"]) == "nfs4"
    assert find_served_type(reader, ["/srv"]) == "overlay"
    assert find_served_type(reader, ["/", "/tmp"]) is None
    assert find_served_type(Reader(WrittenMachine({})), ["/srv"]) is None
