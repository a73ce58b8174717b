"""An ordinary shell, which has started noisewatch on the target CPUs; jobs for the night; and no lock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from noisewatch.kernel.memory.nodes import QUESTION as MEMORY_POLICY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.jobs import BOOTED, CLOCK_QUESTION
from noisewatch.kernel.tasks.jobs import QUESTION as TIMERS
from noisewatch.kernel.tasks.machine_lock import NAMESPACE as PID_NAMESPACE
from noisewatch.kernel.tasks.own_process import ENVIRONMENT, LIMITS, NAMESPACE, PARENT, PERSONALITY, STAT, STATUS

NOW_US = int(datetime(2026, 11, 21, 14, 12, tzinfo=UTC).timestamp()) * 1_000_000
MINUTE_US = 60_000_000
CLOCK = {CLOCK_QUESTION: [NOW_US, 3600]}
CRONTAB = "SHELL=/bin/sh\n# m h dom mon dow user command\n25 6 * * *\troot\ttest -x /x || run-parts /etc/cron.daily\n"
SHELL = 700
ROOTS_CAPABILITIES = "000001ffffffffff"
_LIMITS = (
    ("Max cpu time", "unlimited", "unlimited", "seconds"),
    ("Max data size", "unlimited", "unlimited", "bytes"),
    ("Max stack size", "8388608", "unlimited", "bytes"),
    ("Max processes", "96365", "96365", "processes"),
    ("Max address space", "unlimited", "unlimited", "bytes"),
    ("Max nice priority", "0", "0", ""),
    ("Max realtime timeout", "unlimited", "unlimited", "us"),
)
ANSWERS: dict[str, Any] = {
    **CLOCK,
    TIMERS: [["logrotate.timer", NOW_US + 528 * MINUTE_US], ["fstrim.timer", NOW_US + 900 * MINUTE_US]],
    PID_NAMESPACE: 4026531836,
    ENVIRONMENT: {"names": [], "bytes": 1321},
    PARENT: [SHELL, 0, 0],
    NAMESPACE: True,
    MEMORY_POLICY: "default",
}


def _jobs() -> dict[str, str]:
    """Return the files of systemd and of crontabs."""
    return {BOOTED: "", "/etc/crontab": CRONTAB, "/etc/cron.d/mdadm": "57 0 * * 0 root /usr/share/mdadm/checkarray\n"}


def own_limits(**soft: str) -> str:
    """Return /proc/self/limits, with other soft limits by the last two words of their names."""
    head = ("Limit", "Soft Limit", "Hard Limit", "Units")
    rows = [(name, soft.get("_".join(name.split()[1:]), usual), hard, unit) for name, usual, hard, unit in _LIMITS]
    return "".join(f"{name:<25} {low:<20} {hard:<20} {unit:<10}\n" for name, low, hard, unit in (head, *rows))


def own_stat(nice: int = 0, policy: int = 0) -> str:
    """Return /proc/PID/stat of a process with a name that is hard to parse."""
    fields = [SHELL, *([0] * 14), nice, *([0] * 21), policy, *([0] * 11)]
    return f"4711 (a) R (b) R {' '.join(map(str, fields))}\n"


def own_status(tracer: int = 0, capabilities: str = ROOTS_CAPABILITIES) -> str:
    """Return the relevant lines of /proc/self/status."""
    traced = f"Name:\tpython3\nTracerPid:\t{tracer}\nUid:\t0\t0\t0\t0\n"
    return f"{traced}CapEff:\t{capabilities}\nSeccomp:\t0\nMems_allowed_list:\t0\n"


def _own_process() -> dict[str, str]:
    """Return the files of noisewatch's own process, which are constant."""
    return {
        STAT: own_stat(),
        STATUS: own_status(),
        LIMITS: own_limits(),
        PERSONALITY: "00000000\n",
        Knob.ADDRESS_RANDOMISATION: "2\n",
        Knob.PERF_PARANOID: "2\n",
        Knob.LOCKDOWN: "[none] integrity confidentiality\n",
        "/sys/bus/event_source/devices/cpu/type": "4\n",
        "/sys/bus/event_source/devices/software/type": "1\n",
    }


def files(seconds: float) -> dict[str, str]:
    """Return the files of jobs and of noisewatch's own process, `seconds` after the first snapshot."""
    return _jobs() | _own_process()
