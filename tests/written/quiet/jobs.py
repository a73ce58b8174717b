"""A clock that stands at twelve minutes past three in the afternoon, an hour ahead of UTC, and jobs for the night."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from noisewatch.kernel.tasks.jobs import CLOCK_QUESTION
from noisewatch.kernel.tasks.systemd_timers import BOOTED, QUESTION

NOW_US = int(datetime(2026, 11, 21, 14, 12, tzinfo=UTC).timestamp()) * 1_000_000
MINUTE_US = 60_000_000
CLOCK = {CLOCK_QUESTION: [NOW_US, 3600]}
ANSWERS: dict[str, Any] = {
    **CLOCK,
    QUESTION: [["logrotate.timer", NOW_US + 528 * MINUTE_US], ["fstrim.timer", NOW_US + 900 * MINUTE_US]],
}
CRONTAB = "SHELL=/bin/sh\n# m h dom mon dow user command\n25 6 * * *\troot\ttest -x /x || run-parts /etc/cron.daily\n"


def files(seconds: float) -> dict[str, str]:
    """systemd runs, and what a cron would do is written down."""
    return {BOOTED: "", "/etc/crontab": CRONTAB, "/etc/cron.d/mdadm": "57 0 * * 0 root /usr/share/mdadm/checkarray\n"}
