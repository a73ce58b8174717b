"""A journal of `noisewatch tune` is parsed as far as it is whole, and can name only settings that tune changes."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.system.tuning import (
    Change,
    EventChange,
    FileChange,
    GroupChange,
    Intent,
    PropertyChange,
    Restored,
    Result,
    Session,
    ThreadChange,
    UnitChange,
    encode_line,
    is_tunable,
    parse_journal,
    writable_value,
)

_SESSION = Session("boot", "machine", 0.0, "1 1 1 init", "2-3")
_CHANGE = FileChange("/proc/sys/vm/swappiness", "1")
_LINES = (
    encode_line(_SESSION),
    encode_line(Intent(1, _CHANGE, "60")),
    encode_line(Result(1, "1")),
    encode_line(Intent(2, FileChange("/proc/sys/vm/stat_interval", "60"), "1")),
)


def test_a_change_without_a_result_may_have_been_made() -> None:
    journal = parse_journal(b"".join(_LINES))
    assert [(entry.intent.seq, entry.result) for entry in journal.entries] == [(1, Result(1, "1")), (2, None)]
    assert (journal.last_seq, journal.damaged) == (2, ())
    assert journal.of_boot("boot") == journal.entries
    assert journal.of_boot("another") == ()


def test_restored_changes_are_left_out_and_their_numbers_not_reused() -> None:
    journal = parse_journal(b"".join([*_LINES, encode_line(Restored(2))]))
    assert [entry.intent.seq for entry in journal.entries] == [1]
    assert journal.last_seq == 2


@pytest.mark.parametrize("length", range(1, len(_LINES[-1])))
def test_an_incomplete_last_line_announces_a_change_that_was_not_made(length: int) -> None:
    journal = parse_journal(b"".join([*_LINES[:-1], _LINES[-1][:length]]))
    assert [entry.intent.seq for entry in journal.entries] == [1]
    assert journal.damaged == ()


def test_damaged_lines_are_listed() -> None:
    lines = [_LINES[0], b"{}\n", _LINES[1], b'{"kind":"change"\n', b"\xff\n", b"\n", b"[" * 100_000 + b"\n"]
    journal = parse_journal(b"".join(lines))
    assert journal.damaged == (2, 4, 5, 7)
    assert [entry.intent.seq for entry in journal.entries] == [1]


def test_a_change_before_any_session_and_a_second_one_of_a_number_are_damage() -> None:
    again = encode_line(Intent(1, FileChange("/proc/sys/vm/swappiness", "5"), "7"))
    journal = parse_journal(b"".join([_LINES[1], _LINES[0], _LINES[1], again]))
    assert journal.damaged == (1, 4)
    assert [entry.intent.before for entry in journal.entries] == ["60"]


@pytest.mark.parametrize("content", [b"hello\n", b"root:x:0:0\n\n", b"{}", b"\0" * 40])
def test_another_file_is_no_journal(content: bytes) -> None:
    with pytest.raises(Malformed, match="a journal of noisewatch tune"):
        parse_journal(content)


def test_an_empty_journal_has_no_changes() -> None:
    assert parse_journal(b"").entries == ()


_REFUSED: tuple[Change, ...] = (
    FileChange("/etc/passwd", "root"),
    FileChange("/proc/sys/kernel/core_pattern", "|/tmp/x"),
    FileChange("/proc/sys/kernel/modprobe", "/tmp/x"),
    FileChange("/proc/sys/vm/../kernel/modprobe", "/tmp/x"),
    FileChange("/proc/sys/vm/dirty_/../../kernel/core_pattern", "|/tmp/x"),
    FileChange("/sys/kernel/mm/transparent_hugepage/../../../power/state", "mem"),
    FileChange("/sys/fs/cgroup/../../kernel/uevent_helper", "/tmp/x"),
    FileChange("/sys/fs/cgroup/../cpuset.cpus", "0"),
    FileChange("/sys/devices/system/cpu/cpu1/online", "0"),
    FileChange("/proc/sysrq-trigger", "b"),
    FileChange("/sys/kernel/uevent_helper", "/tmp/x"),
    FileChange("/sys/power/state", "mem"),
    FileChange("/proc/sys/vm/swappiness\n", "1"),
    GroupChange("/sys/fs/cgroup/../../tmp/x"),
    GroupChange("/tmp/x"),
    EventChange("/etc/set_event", "x"),
    EventChange("/sys/kernel/tracing/instances/../../set_event", "x"),
    UnitChange("--force"),
    UnitChange("x;reboot"),
    PropertyChange("user.slice", "ExecStart", "/tmp/x"),
    PropertyChange("-H evil", "AllowedCPUs", "0"),
    ThreadChange(0, 1, "x", "0"),
    ThreadChange(-1, 1, "x", "0"),
)


@pytest.mark.parametrize("change", _REFUSED, ids=str)
def test_a_journal_cannot_make_root_change_anything_else(change: Change) -> None:
    assert not is_tunable(change)
    assert parse_journal(_LINES[0] + encode_line(Intent(1, change, "x"))).damaged == (2,)


@pytest.mark.parametrize(
    ("content", "value"),
    [("always [madvise] never", "madvise"), ("[s2idle] deep", "s2idle"), ("60", "60"), ("0-3", "0-3"), ("", "")],
)
def test_the_chosen_word_restores_a_choice(content: str, value: str) -> None:
    assert writable_value(content) == value
