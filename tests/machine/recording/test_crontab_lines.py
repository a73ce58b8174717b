"""A crontab that is shared tells when something starts and what, and not for whom or with which secrets."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.machine.recording.privacy import NOT_UNDERSTOOD, OTHER_ZONE, UNNAMED, Scrubber, without_commands

REAL = """\
SHELL=/bin/sh
MAILTO="alice@example.org"
# minute hour day month weekday user command
17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
5-55/10 * * * * root command -v debian-sa1 > /dev/null && debian-sa1 1 1
-*/15 * * * * root test -x /usr/lib/cron/run-crons && /usr/lib/cron/run-crons
@daily alice TOKEN=secret /home/alice/bin/backup --to //nas/alice
0 3 * jan-mar mon,thu alice /home/alice/bin/report.sh --password=secret
"""


def test_schedules_and_programs_are_left() -> None:
    assert without_commands(REAL).splitlines() == [
        "17 * * * * user cron.hourly",
        "25 6 * * * user cron.daily",
        f"5-55/10 * * * * user {UNNAMED}",
        f"*/15 * * * * user {UNNAMED}",
        f"@daily user {UNNAMED}",
        "0 3 * jan-mar mon,thu user report.sh",
    ]


def test_what_is_left_stays_as_it_is() -> None:
    assert without_commands(without_commands(REAL)) == without_commands(REAL)


@given(text=st.text(alphabet="0123456789*/-,@ =?\n\tabcCRON_TZ#~$(\0\u2028"))
def test_any_text_stays_as_it_is_once_it_was_reduced(text: str) -> None:
    assert without_commands(without_commands(text)) == without_commands(text)


@pytest.mark.parametrize(
    "line",
    [
        "export PASSWORD secret and six more words",
        "@secret alice command",
        "1 2 3 4 5",
        "1 2 3 4 secret alice command",
        "1 2 3 4 5 alice " + "x" * 5000,
        "*",
        "\x1b[2J",
    ],
)
def test_what_is_no_job_is_not_quoted(line: str) -> None:
    assert without_commands(line) == f"{NOT_UNDERSTOOD}\n"


@pytest.mark.parametrize("command", ["$(secret)", "'secret' x", "A=secret x", "secret\x1b", "/secret/", "{", "sh -c x"])
def test_a_command_that_is_no_plain_path_has_no_name(command: str) -> None:
    assert without_commands(f"* * * * * root {command}\n") == f"* * * * * user {UNNAMED}\n"


def test_another_time_zone_is_told_and_not_which() -> None:
    assert without_commands('CRON_TZ="Asia/Tokyo"\n') == f"{OTHER_ZONE}\n"


def test_a_recording_holds_no_more_than_that() -> None:
    shared = Scrubber("report.sh")("/etc/cron.d/alice", REAL)
    assert "0 3 * jan-mar mon,thu user host" in shared
    assert not {"alice", "secret", "nas", "example"} & set(shared.replace("/", " ").split())
    assert Scrubber("nobody")("/etc/crontab", "MAILTO=alice\n") == ""


def test_of_this_process_only_tracer_and_capabilities_are_recorded() -> None:
    status = "Name:\tx\nTracerPid:\t0\nUid:\t4242\t4242\nCapEff:\t0000000000000000\n"
    assert Scrubber("")("/proc/self/status", status) == "TracerPid:\t0\nCapEff:\t0000000000000000\n"


def test_a_hostile_line_takes_no_longer_than_others() -> None:
    started = time.perf_counter()
    for line in ("* " * 100_000, "1," * 100_000, "* * * * * root " + "run-parts -a " * 100_000, "=" * 100_000):
        without_commands(line)
    assert time.perf_counter() - started < 1.0
