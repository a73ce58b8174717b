"""Jobs that systemd and cron will start."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.jobs import (
    BOOTED,
    CLOCK_QUESTION,
    QUESTION,
    CronJob,
    Crontabs,
    Timer,
    WallClock,
    ask_clock,
    ask_timers,
    parse_crontab,
    parse_timers,
    read_crontabs,
    read_jobs,
    read_timers,
)
from tests.written import WrittenMachine, reading
from tests.written.quiet.tasks import CLOCK, NOW_US
from tests.written.quiet_machine import ANSWERS, quiet_files

TIMERS = (
    '[{"next":1589485390891904,"left":1589485390891904,"last":1589481783203015,"passed":1589481783203015,'
    '"unit":"dnf-makecache.timer","activates":"dnf-makecache.service"},'
    '{"next":null,"left":null,"last":0,"passed":0,"unit":"a.timer","activates":"a.service"},'
    '{"next":0,"unit":"b.timer"},{"next":18446744073709551615,"unit":"c@x\\\\x2d.timer"}]'
)


def _systemctl(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "systemctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_timers_that_never_elapse_are_left_out() -> None:
    assert parse_timers(TIMERS) == [("dnf-makecache.timer", 1589485390891904)]


def test_systemctl_is_called_in_english_and_for_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    condition = '[ "$*" = "list-timers --all --output=json --no-pager" ]'
    _systemctl(tmp_path, condition + ' && echo "[{\\"next\\":7,\\"unit\\":\\"$LC_ALL.timer\\"}]"', monkeypatch)
    assert ask_timers() == [("C.timer", 7)]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "status 1"),
        ("echo NEXT LEFT", "JSON"),
        ("echo secret >&2; exit 3", "status 3"),
        ("exec sleep 9", "2 s"),
    ],
)
def test_failed_systemctl_has_a_reason(
    script: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _systemctl(tmp_path, script, monkeypatch)
    with pytest.raises(Unreadable, match=reason):
        ask_timers()


def test_systemctl_is_not_called_and_has_no_timers_where_systemd_does_not_run() -> None:
    reader = Reader(WrittenMachine({}, answers={QUESTION: [["a.timer", 5]]}))
    assert (read_timers(reader), reader.asked) == ((), set())


def test_copy_may_have_an_answer() -> None:
    assert read_timers(Reader(WrittenMachine({}, is_copy=True, answers={QUESTION: [["a.timer", 5]]}))) == (
        Timer("a.timer", 5),
    )


@pytest.mark.parametrize("answer", [5, "x", [5], [["a.timer"]], [["a b", 5]], [["a.timer", "5"]], [["a.timer", True]]])
def test_timers_of_a_damaged_recording_are_unknown(answer: object) -> None:
    reader = Reader(WrittenMachine({BOOTED: ""}, answers={QUESTION: answer}))
    assert read_timers(reader) is None
    assert QUESTION in reader.reason_by_path


def test_crontabs_are_read_from_file_and_folder_without_backups_of_editors() -> None:
    files = {
        "/etc/crontab": "1 2 * * * root /bin/a\n",
        "/etc/cron.d/b": "@daily root /bin/b\n",
        **{f"/etc/cron.d/{name}": "rubbish\n" for name in (".placeholder", "b~", "b.rpmsave", "#b#", "b.dpkg-old")},
    }
    assert read_crontabs(reading(files)) == Crontabs(
        (CronJob("a", "/etc/crontab", "1 2 * * *"), CronJob("b", "/etc/cron.d/b", "@daily")), ()
    )


def test_malformed_crontab_is_named_and_the_others_are_read() -> None:
    reader = reading({"/etc/crontab": "rubbish\n", "/etc/cron.d/b": "@daily root /bin/b\n"})
    crontabs = read_crontabs(reader)
    assert (crontabs.unread, [job.name for job in crontabs.jobs]) == (("/etc/crontab",), ["b"])
    assert "/etc/crontab" in reader.reason_by_path


def test_missing_crontab_is_empty_on_a_live_machine_and_unknown_in_a_copy() -> None:
    assert read_crontabs(reading({})) == Crontabs((), ())
    assert read_crontabs(reading({"/proc/stat": ""}, is_copy=True)).unread == ("/etc/cron.d", "/etc/crontab")


def test_malformed_crontab_is_not_quoted() -> None:
    with pytest.raises(Malformed) as raised:
        parse_crontab("1 2 * * * root /bin/a\nPASSWORD is secret\n")
    assert "secret" not in str(raised.value)
    assert raised.value.line == 2


def test_clock_answers_the_time_and_the_offset_of_local_time() -> None:
    now_us, ahead_s = ask_clock()
    assert abs(now_us - time.time() * 1e6) < 5e6
    assert ahead_s == time.localtime().tm_gmtoff
    assert read_jobs(Reader(WrittenMachine({}, answers=CLOCK))).clock == WallClock(NOW_US, 3600)


@pytest.mark.parametrize("answer", [None, 5, [], [5], ["5", 0], [-5, 0], [5, 90_000], [1 << 70, 0]])
def test_malformed_clock_is_unknown(answer: object) -> None:
    assert read_jobs(Reader(WrittenMachine({}, answers={CLOCK_QUESTION: answer}))).clock is None


def test_jobs_are_read_once_and_only_on_request() -> None:
    machine = WrittenMachine(quiet_files(), quiet_files(30.0), answers=ANSWERS, seconds_between=30.0)
    assert read_snapshot(machine, SnapshotOptions()).jobs is None
    assert "/etc/crontab" not in machine.reads
    first = read_snapshot(machine, SnapshotOptions(asks_jobs=True))
    machine.advance()
    second = read_snapshot(machine, SnapshotOptions(asks_jobs=True), None, first)
    assert second.jobs is first.jobs
    assert first.jobs is not None
    assert machine.reads.count("/etc/crontab") == 1
