"""When a job of cron will be started next. The only user of cronsim, which does as Debian's cron does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from noisewatch.errors import Malformed
from noisewatch.kernel.tasks.jobs import WallClock

_FIELDS_BY_NICKNAME = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_AT_BOOT = "@reboot"
_RANDOM = re.compile(r"(\d)~(\d)")  # cronie: any one of the range, so that it may be each of it


def seconds_until(schedule: str, clock: WallClock) -> float | None:
    """Seconds until the job's next start; None where it will not start again. Raises Malformed.

    Local time is taken to stay as far ahead of UTC as it is: in the night of a change it is wrong by an hour.
    """
    from cronsim import CronSim, CronSimError  # 9 ms to import, and only for who has a cron

    if schedule == _AT_BOOT:
        return None
    now = datetime.fromtimestamp(clock.now_us / 1e6, UTC) + timedelta(seconds=clock.ahead_s)
    fields = _RANDOM.sub(r"\1-\2", _FIELDS_BY_NICKNAME.get(schedule, schedule))
    try:
        return (next(CronSim(fields, now)) - now).total_seconds()
    except StopIteration:
        return None  # not in fifty years
    except (CronSimError, ValueError, OverflowError) as error:
        raise Malformed("a schedule such as `17 * * * *`", schedule) from error
