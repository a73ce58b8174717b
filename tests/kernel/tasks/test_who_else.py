"""Who else is on the machine, and where files go: what no file says as it stands."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import TEMPORARY_FILES, file_system_at, read_temporary_files
from noisewatch.kernel.system.pressure import LoadAverage, parse_load_average, read_load_average
from noisewatch.kernel.tasks.sessions import QUESTION, Sessions, count_sessions, read_sessions
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from tests.written import WrittenMachine, reading

_ALICE = "# This is private data. Do not parse.\nUID=1000\nUSER=alice\nACTIVE=1\nSTATE=active\nCLASS=user\n"
_MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /tmp tmpfs rw,nosuid,nodev 0 0
server:/scratch /tmp/my\\040scratch nfs4 rw 0 0
/dev/sdb1 /srv xfs rw 0 0
overlay /srv overlay rw 0 0
"""


def _answering(answer: Json) -> Reader:
    return Reader(WrittenMachine({}, answers={QUESTION: answer, TEMPORARY_FILES: answer}))


def test_the_load_is_told_with_who_is_runnable_now() -> None:
    assert parse_load_average("0.52 10.58 0.09 3/1182 28916\n") == LoadAverage(0.52, 10.58, 0.09, 3)


@pytest.mark.parametrize(
    "text", ["", "0.52 0.58 0.59", "0.52 0.58 0.59 3/1182", "a b c 1/2 3", "0.52 0.58 0.59 -1/2 3"]
)
def test_a_load_that_was_cut_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_load_average(text)


def test_a_load_that_lxcfs_tells_of_is_unknown() -> None:
    mounts = "lxcfs /proc/loadavg fuse.lxcfs rw 0 0\n"
    assert read_load_average(reading({"/proc/loadavg": "0 0 0 1/2 3\n", "/proc/self/mounts": mounts})) is None


def test_sessions_of_one_user_are_one_user() -> None:
    assert count_sessions([_ALICE, _ALICE.replace("active", "online")]) == {"sessions": 2, "users": 1}


def test_neither_the_greeter_nor_what_systemd_runs_for_a_user_is_a_session() -> None:
    others = [_ALICE.replace("CLASS=user", f"CLASS={name}") for name in ("greeter", "manager", "background")]
    assert count_sessions([*others, _ALICE.replace("STATE=active", "STATE=closing"), ""]) == {"sessions": 0, "users": 0}


@pytest.mark.parametrize(
    "answer", [None, "2", [], {}, {"sessions": -1, "users": True}, {"sessions": "a", "users": 1.5}]
)
def test_an_answer_that_is_no_number_of_sessions_is_unknown(answer: Json) -> None:
    assert read_sessions(_answering(answer)) == Sessions(None, None)


def test_this_host_tells_numbers_and_no_names() -> None:
    sessions = read_sessions(Reader(LiveMachine()))
    assert {type(number) for number in (sessions.sessions, sessions.users)} <= {int, type(None)}


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
def test_a_file_lies_on_the_nearest_mount_above_it(folder: str, kind: str) -> None:
    assert file_system_at(folder, _MOUNTS) == kind


@pytest.mark.parametrize("mounts", ["", "rubbish\n", "proc /proc proc rw 0 0\n"])
def test_without_a_mount_above_it_nobody_knows(mounts: str) -> None:
    assert file_system_at("/tmp", mounts) is None


@pytest.mark.parametrize("answer", [None, 5, "two words", "", "\x1b[2J"])
def test_a_file_system_that_is_no_word_is_unknown(answer: Json) -> None:
    assert read_temporary_files(_answering(answer)) is None


def test_this_host_names_a_file_system_and_no_folder() -> None:
    assert "/" not in (read_temporary_files(Reader(LiveMachine())) or "")
