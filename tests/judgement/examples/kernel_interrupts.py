"""Area `interrupts`: softirqs, calls between CPUs, the tick and steered packets."""

from __future__ import annotations

import re

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.written.quiet.kernel import CONFIG, CONFIG_TEXT
from tests.written.quiet.packets import QUEUE
from tests.written.quiet_machine import CPUS, cpu_row, quiet_files, stat_file

_TICKS_AT = {3.0: 300, 6.0: 600}


def _table(path: str, label: str, counts: str, seconds: float = 3.0) -> dict[str, str]:
    """The quiet machine's table with other counts in a row, at that moment."""
    lines = quiet_files(seconds)[path].splitlines()
    assert any(line.strip().startswith(f"{label}:") for line in lines)
    row = re.compile(rf"(\s*{label}:)((?:\s+\d+){{4}})")
    return {path: "".join(row.sub(rf"\g<1> {counts}", line) + "\n" for line in lines)}


def _softirqs(label: str, counts: str) -> dict[str, str]:
    return _table("/proc/softirqs", label, counts)


def _blocks(cpu2: int) -> dict[str, str]:
    return {"/proc/softirqs": f"CPU0 CPU1 CPU2 CPU3\nBLOCK: 0 0 {cpu2} 0\n"}


def _calls(cpu0: int, cpu2: int) -> dict[str, str]:
    return _table("/proc/interrupts", "RES", f"{cpu0} 100 {cpu2} 3")


def _timers(cpu2: int, cpu3: int = 120) -> dict[str, str]:
    return _table("/proc/interrupts", "LOC", f"9600 9600 {cpu2} {cpu3}", 6.0)


def _sampled(cpu2: int) -> dict[str, str]:
    return _table("/proc/interrupts", "LOC", f"9300 9300 {cpu2} 120")


def _softirq_time(cpu: int, ticks: int) -> dict[str, str]:
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[1 + cpu] = cpu_row(f"cpu{cpu}", idle=100_300 - ticks).replace(" 20 0 5 ", f" 20 0 {5 + ticks} ")
    return {"/proc/stat": "".join(rows)}


_NO_DEVICE_ROWS = {"/proc/softirqs": "CPU0 CPU1 CPU2 CPU3\nTIMER: 1 2 3 4\n"}
_NO_CALLS = {"/proc/interrupts": "CPU0 CPU1 CPU2 CPU3\nLOC: 1 2 3 4 Local timer interrupts\n"}
_NO_PROMISE = {f"{CPUS}/nohz_full": "\n"}
_NO_HZ = {CONFIG: CONFIG_TEXT.replace("CONFIG_HZ=250\n", "")}
_LATENCY, _STRICT = Rules("latency"), Rules("strict")

_ALONE = {f"{CPUS}/online": "0\n", "/proc/stat": cpu_row("cpu") + cpu_row("cpu0")}
EXAMPLES = [
    Example("softirqs-on-target", "warn", {}, "NET_RX: up to 100/s", {2}, after=_softirqs("NET_RX", "800 0 300 0")),
    Example("softirqs-on-target", "warn", {}, "NET_RX", {3}, after=_softirqs("NET_RX", "800 0 0 31")),
    Example("softirqs-on-target", "pass", {}, "10.0/s", after=_softirqs("NET_RX", "800 0 0 30")),
    Example("softirqs-on-target", "pass", {}, "none", after=_softirqs("NET_RX", "800 9000 0 0")),
    Example("softirqs-on-target", "pass", {}, "none", after=_softirqs("TIMER", "9300 9300 900 900")),
    Example(
        *("softirqs-on-target", "pass", {}, "on CPU 2, with its interrupts"),
        after=_softirqs("NET_RX", "800 0 300 0") | _table("/proc/interrupts", "24", "800 0 60 0"),
    ),
    Example(
        *("softirqs-on-target", "warn", {}, "NET_RX", {2}),
        after=_softirqs("NET_RX", "800 0 300 0") | _table("/proc/interrupts", "24", "800 0 3 0"),
    ),
    Example(
        *("softirqs-on-target", "warn", {}, "NET_RX: up to 100/s", {2}),
        after=_softirqs("NET_RX", "800 0 300 0") | _table("/proc/interrupts", "25", "0 130 300 0"),
    ),
    Example(
        *("softirqs-on-target", "pass", _blocks(0), "on CPU 2, with its interrupts"),
        after=_blocks(300) | _table("/proc/interrupts", "25", "0 130 300 0"),
    ),
    Example(
        *("softirqs-on-target", "fail", {}, "4.0% of CPU 3", {3}),
        after=_softirq_time(3, 12)
        | _softirqs("NET_RX", "800 0 0 900")
        | _table("/proc/interrupts", "25", "0 130 0 1200"),
    ),
    Example("softirqs-on-target", "fail", {}, "10.0% of CPU 3", {3}, after=_softirq_time(3, 30)),
    Example("softirqs-on-target", "pass", {}, "none", after=_softirq_time(1, 30)),
    Example("softirqs-on-target", "pass", {}, "none", after=_softirq_time(3, 2)),
    Example(
        *("softirqs-on-target", "pass", {}, "with its interrupts"),
        after=_softirq_time(3, 5)
        | _softirqs("NET_RX", "800 0 0 900")
        | _table("/proc/interrupts", "24", "800 0 0 900"),
    ),
    Example("softirqs-on-target", "unknown", gone=("/proc/softirqs",)),
    Example("softirqs-on-target", "unknown", gone=("/proc/stat",)),
    Example("softirqs-on-target", "unknown", _NO_DEVICE_ROWS, "no row for devices"),
    Example("ipis-on-target", "pass", {}, "10.0/s", after=_calls(100, 33)),
    Example("ipis-on-target", "pass", {}, "0.0/s", after=_calls(9000, 3)),
    Example("ipis-on-target", "warn", {}, "mostly Rescheduling", {2}, after=_calls(100, 93)),
    Example("ipis-on-target", "fail", {}, "200/s", {2}, after=_calls(100, 603)),
    Example("ipis-on-target", "fail", {}, "200/s", {2}, after=_calls(100, 603), rules=_LATENCY),
    Example("ipis-on-target", "unknown", _NO_CALLS, "no row counts calls"),
    Example("ipis-on-target", "unknown", gone=("/proc/interrupts",)),
    Example("ipis-on-target", "not-applicable", _ALONE, "no other CPU", target=frozenset({0})),
    Example("tick-not-stopped", "pass", {}, "0 timer interrupts"),
    Example("tick-not-stopped", "fail", {}, "250 timer interrupts", {2}, loaded=_timers(120 + 450)),
    Example("tick-not-stopped", "warn", {}, "30 timer interrupts", {2}, loaded=_timers(120 + 54)),
    Example("tick-not-stopped", "pass", {}, "15 timer interrupts", loaded=_timers(120 + 27)),
    Example("tick-not-stopped", "pass", _NO_PROMISE, "promises nothing", loaded=_timers(120 + 450, 120 + 450)),
    Example("tick-not-stopped", "pass", {f"{CPUS}/nohz_full": "2\n"}, "(CPU 3: nohz", loaded=_timers(120, 900)),
    Example("tick-not-stopped", "unknown", {f"{CPUS}/nohz_full": "rubbish\n"}, "nohz_full"),
    Example("tick-not-stopped", "unknown", {}, "CPU 3: hardly", loaded={"/proc/stat": stat_file({2: 180}, 600)}),
    Example("tick-not-stopped", "unknown", gone=("/proc/interrupts",)),
    Example("timers-on-target", "pass", {}, "0 timer interrupts/s"),
    Example("timers-on-target", "pass", {}, "250 timer", after=_sampled(120 + 750), loaded=_timers(870)),
    Example("timers-on-target", "warn", {}, "the tick comes 250", {2}, after=_sampled(120 + 1_060)),
    Example("timers-on-target", "fail", {}, "14158 timer interrupts/s", {2}, after=_sampled(120 + 42_474)),
    Example("timers-on-target", "fail", {}, "up to 4500", {2}, loaded=_timers(120 + 13_500)),
    Example("timers-on-target", "fail", _NO_HZ, "no tick comes more than 1000", {2}, after=_sampled(120 + 6_030)),
    Example("timers-on-target", "pass", _NO_HZ, "200 timer", after=_sampled(120 + 600), loaded=_timers(720)),
    Example("timers-on-target", "unknown", _NO_HZ, "may be the tick", after=_sampled(120 + 900), loaded=_timers(1020)),
    Example("timers-on-target", "unknown", {"/proc/interrupts": "CPU0 CPU1 CPU2 CPU3\nRES: 1 2 3 4\n"}, "no row"),
    Example("timers-on-target", "unknown", {"/proc/interrupts": "CPU0 CPU1 CPU2\nLOC: 1 2 3\n"}, "column for CPU 3"),
    Example("timers-on-target", "unknown", gone=("/proc/interrupts",)),
    Example("packets-steered-to-target", "fail", {f"{QUEUE}/rps_cpus": "0000000f\n"}, "eth0/rx-0", {2, 3}),
    Example("packets-steered-to-target", "fail", {f"{QUEUE}/rps_cpus": "4\n"}, "CPU 2", {2}, rules=_STRICT),
    Example("packets-steered-to-target", "pass", {f"{QUEUE}/rps_cpus": "3\n"}, "none of 1"),
    Example("packets-steered-to-target", "warn", {Knob.RPS_DEFAULT: "8\n"}, "new interfaces", {3}),
    Example("packets-steered-to-target", "pass", {Knob.RPS_DEFAULT: "3\n"}),
    Example("packets-steered-to-target", "unknown", {f"{QUEUE}/rps_cpus": "rubbish\n"}),
    Example("packets-steered-to-target", "unknown", {"/sys/class/net/eth1/queues/rx-0/rps_cpus/x": ""}, "directory"),
    Example(
        *("packets-steered-to-target", "fail", {f"{QUEUE}/rps_cpus": "4\n"}, "eth0/rx-0", {2}),
        after={"/sys/class/net/eth1/queues/rx-0/rps_cpus": "rubbish\n"},
    ),
    Example("packets-steered-to-target", "unknown", gone=("/sys/class/net",)),
    Example("packets-steered-to-target", "unknown", {"/.dockerenv": ""}, "container"),
    Example(
        *("packets-steered-to-target", "not-applicable", {f"{QUEUE}/rps_flow_cnt": "0\n"}),
        gone=(f"{QUEUE}/rps_cpus",),
    ),
    Example(
        *("packets-steered-to-target", "unknown", {f"{QUEUE}/rps_flow_cnt": "0\n"}),
        gone=(f"{QUEUE}/rps_cpus",),
        is_copy=True,
    ),
]
