"""When cron starts a job next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from noisewatch.errors import Malformed
from noisewatch.judgement.checks.tasks.jobs import seconds_until
from noisewatch.kernel.tasks.jobs import WallClock

SATURDAY = WallClock(int(datetime(2026, 11, 21, 14, 12, 30, tzinfo=UTC).timestamp()) * 1_000_000, 3600)


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        ("* * * * *", 30),
        ("20 15 * * *", 7.5 * 60),
        ("12 15 * * *", 86_400 - 30),
        ("0 16 * * sat", 47.5 * 60),
        ("@hourly", 47.5 * 60),
        ("@midnight", (8 * 60 + 47.5) * 60),
        ("13~40 15 * * *", 30),
        ("0 0 1 * mon", (32 * 60 + 47.5) * 60),
    ],
)
def test_schedules_are_in_local_time(schedule: str, seconds: float) -> None:
    assert seconds_until(schedule, SATURDAY) == seconds


def test_a_job_at_boot_does_not_start_again() -> None:
    assert seconds_until("@reboot", SATURDAY) is None


@pytest.mark.parametrize("schedule", ["", "x", "@sometimes", "61 * * * *", "5-1 * * * *", "0 0 31 2 *", "9" * 5000])
def test_an_invalid_schedule_is_malformed(schedule: str) -> None:
    with pytest.raises(Malformed):
        seconds_until(schedule, SATURDAY)


def test_a_start_after_the_last_representable_year_is_malformed() -> None:
    with pytest.raises(Malformed):
        seconds_until("0 0 29 2 *", WallClock(int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1_000_000, 0))
