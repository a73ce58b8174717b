"""Interrupts of devices and of the kernel itself, softirqs, calls, ticks and timers."""

from __future__ import annotations

import re

from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.cpus.isolation import runtime_path
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example, device_table
from tests.written.quiet.interrupts import QUEUE
from tests.written.quiet.system import CONFIG, CONFIG_TEXT
from tests.written.quiet_machine import CPUS, cpu_row, process, quiet_files, stat_file

_MOUNTS = quiet_files()["/proc/self/mounts"]
_HIDING = {"/proc/self/mounts": _MOUNTS + "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n"}
_POWERLESS = {"/proc/self/status": quiet_files()["/proc/self/status"].replace("000001ffffffffff", "0000000000000000")}
_NOT_ISOLATED = {f"{CPUS}/isolated": "\n"}
_TARGET_0 = {f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": "\n"}
_NO_KERNEL_THREADS = ("/proc/2", "/proc/30")
_NUMBERED_TIMERS = (
    " 16: 9 9 {0} {0} GIC 27 Edge gt\n 18: 9 9 {0} {0} GICv3 23 Level arm-pmu\n  0: 9 9 {0} 0 IO-APIC 2-edge timer"
)
_NO_ROW = {"/proc/irq/77/smp_affinity_list": "0-3\n", "/proc/irq/77/nvme9q1/x": ""}
_HIDDEN = {"/proc/irq/77/smp_affinity_list": "0-3\n", "/proc/irq/77/IPI/x": ""}
_LEAVING_2 = {"/proc/irq/24/effective_affinity_list": "2\n"}
_ROUTED_TO_2 = _LEAVING_2 | {"/proc/irq/24/smp_affinity_list": "0-2\n"}
_ENVIRONMENT, _DEFAULT = "/proc/800/environ", "/etc/default/irqbalance"
_NO_ENVIRONMENT = process(800, "irqbalance", 0, 5_000)
_IRQBALANCE = _NO_ENVIRONMENT | {_ENVIRONMENT: "LANG=C\0"}
_NO_DEVICE_ROWS = {"/proc/softirqs": "CPU0 CPU1 CPU2 CPU3\nTIMER: 1 2 3 4\n"}
_LATENCY, _STRICT = Rules("latency"), Rules("strict")
_NO_CALLS = {"/proc/interrupts": "CPU0 CPU1 CPU2 CPU3\nLOC: 1 2 3 4 Local timer interrupts\n"}
_ALONE = {f"{CPUS}/online": "0\n", "/proc/stat": cpu_row("cpu") + cpu_row("cpu0")}
_NO_PROMISE = {f"{CPUS}/nohz_full": "\n"}
_NO_HZ = {CONFIG: CONFIG_TEXT.replace("CONFIG_HZ=250\n", "")}


def _adapters(target_count: int) -> dict[str, str]:
    return device_table(f"AIO: 5 5 {target_count} 5", f"QAI: 5 5 {target_count} 5 [AIO] QDIO Adapter Interrupt")


_NO_COLUMN_3 = device_table(" 24: 500 0 0 PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0", columns=3)


def _interrupts(target_count: int) -> dict[str, str]:
    text = quiet_files(3.0)["/proc/interrupts"].splitlines()
    text[1] = f" 24:        800          0 {target_count}          0 PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0"
    return {"/proc/interrupts": "\n".join(text) + "\n"}


def _table(path: str, label: str, counts: str, seconds: float = 3.0) -> dict[str, str]:
    """Return the quiet machine's table after `seconds`, with other counts in one row."""
    lines = quiet_files(seconds)[path].splitlines()
    assert any(line.strip().startswith(f"{label}:") for line in lines)
    row = re.compile(rf"(\s*{label}:)((?:\s+\d+){{4}})")
    return {path: "".join(row.sub(rf"\g<1> {counts}", line) + "\n" for line in lines)}


def _softirqs(label: str, counts: str) -> dict[str, str]:
    return _table("/proc/softirqs", label, counts)


def _packets(cpu2: int) -> dict[str, str]:
    return _softirqs("NET_RX", f"800 0 {cpu2} 0")


def _wide(max_cv: float) -> Rules:
    return Rules(budget=Budget(max_cv=max_cv))


def _blocks(cpu2: int) -> dict[str, str]:
    return {"/proc/softirqs": f"CPU0 CPU1 CPU2 CPU3\nBLOCK: 0 0 {cpu2} 0\n"}


def _softirq_time(cpu: int, ticks: int) -> dict[str, str]:
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[1 + cpu] = cpu_row(f"cpu{cpu}", idle=100_300 - ticks).replace(" 20 0 5 ", f" 20 0 {5 + ticks} ")
    return {"/proc/stat": "".join(rows)}


def _calls(cpu0: int, cpu2: int) -> dict[str, str]:
    return _table("/proc/interrupts", "RES", f"{cpu0} 100 {cpu2} 3")


def _timers(cpu2: int, cpu3: int = 120) -> dict[str, str]:
    return _table("/proc/interrupts", "LOC", f"9600 9600 {cpu2} {cpu3}", 6.0)


def _sampled(cpu2: int) -> dict[str, str]:
    return _table("/proc/interrupts", "LOC", f"9300 9300 {cpu2} 120")


EXAMPLES = [
    Example("irqbalance-may-move-irqs", "unknown", _HIDING | _POWERLESS | _TARGET_0, "hidepid=invisible"),
    Example("irqbalance-may-move-irqs", "pass", _HIDING | _TARGET_0, "is not running"),
    Example("irqbalance-may-move-irqs", "unknown", _HIDING | _POWERLESS, "hidepid=invisible"),
    Example("irqbalance-may-move-irqs", "unknown", _TARGET_0, "no kernel thread", gone=_NO_KERNEL_THREADS),
    Example("irq-routed-to-target", "unknown", gone=("/proc/irq/24/smp_affinity_list",)),
    #
    Example("device-interrupts-on-target", "fail", _adapters(5), "QDIO Adapter", {2}, after=_adapters(60_005)),
    Example(
        "device-interrupts-on-target",
        "fail",
        device_table("AIO: 1 1 1 1"),
        "AIO",
        {3},
        after=device_table("AIO: 1 1 1 9999"),
    ),
    Example("device-interrupts-on-target", "unknown", _NO_COLUMN_3, "no column for CPU 3"),
    Example(
        *("device-interrupts-on-target", "pass", device_table(_NUMBERED_TIMERS.format(10))),
        after=device_table(_NUMBERED_TIMERS.format(999)),
    ),
    Example("irq-routed-to-target", "unknown", _NO_COLUMN_3, "no column for CPU 3"),
    Example("irq-routed-to-target", "unknown", device_table(columns=3), "no column for CPU 3"),
    *(
        Example(id_, "unknown", device_table(f" 24: {counts} PCI-MSIX 0-edge eth0-rx-0"), "expected 4 counts")
        for counts in ("-500 0 0 0", "500 0 0 -1", "9" * 40 + " 0 0 0", "", "500 0")
        for id_ in ("irq-routed-to-target", "device-interrupts-on-target", "ipis-on-target")
    ),
    Example("irq-routed-to-target", "unknown", device_table("THR: Threshold APIC interrupts"), "no counts for THR"),
    Example(
        "device-interrupts-on-target",
        "unknown",
        device_table("THR: Threshold APIC interrupts"),
        "no counts for THR",
    ),
    Example("irq-routed-to-target", "unknown", _NO_ROW, "no row for IRQ 77 (nvme9q1)"),
    Example("irq-routed-to-target", "pass", _HIDDEN),
    Example("irq-routed-to-target", "unknown", _adapters(60_000), "AIO interrupted CPU"),
    Example("irq-routed-to-target", "pass", device_table("AIO: 60 60 0 0")),
    Example(
        *(
            "irq-routed-to-target",
            "pass",
            device_table("HYP: 9 9 9 9 Hypervisor callback", " 48: 9 9 9 9 xen-percpu timer0"),
        )
    ),
    Example("ipis-on-target", "unknown", _NO_COLUMN_3, "no column for CPU 3"),
    Example("tick-not-stopped", "unknown", _NO_COLUMN_3, "no column for CPU 3"),
    Example(
        *("device-interrupts-on-target", "fail", {}, "eth0-rx-0 (Ethernet Controller X550", {2}),
        after=_interrupts(9_000),
    ),
    Example("device-interrupts-on-target", "fail", {}, "0.60% of its time", {2}, after=_interrupts(9_000)),
    Example("device-interrupts-on-target", "warn", {}, "0.33% of its time", {2}, after=_interrupts(5_000)),
    Example("device-interrupts-on-target", "warn", {}, "100/s on CPU 2", {2}, after=_interrupts(300)),
    Example("device-interrupts-on-target", "warn", {}, "CPU 2 is isolated", {2}, after=_interrupts(300)),
    Example(
        *("device-interrupts-on-target", "warn", {}, "CPU 2 may be isolated", {2}),
        after=_interrupts(300),
        gone=(f"{CPUS}/isolated",),
    ),
    Example("device-interrupts-on-target", "pass", {}, "1/s on CPU 2, 0.00% of", after=_interrupts(3)),
    Example("device-interrupts-on-target", "pass", _NOT_ISOLATED, "100/s on CPU 2", after=_interrupts(300)),
    Example("device-interrupts-on-target", "fail", _NOT_ISOLATED, "0.60%", {2}, after=_interrupts(9_000)),
    *(
        Example("device-interrupts-on-target", status, _NOT_ISOLATED, "on CPU 2", {2}, _interrupts(count), rules=rules)
        for status, count, rules in (
            *(("fail", 300, _LATENCY), ("warn", 3, _LATENCY), ("fail", 300, _STRICT)),
            *(("fail", 90_000, _wide(0.05)), ("warn", 30_000, _wide(0.05)), ("warn", 90_000, _wide(0.2))),
        )
    ),
    Example("device-interrupts-on-target", "pass", {}, "no device", after=_packets(900)),
    Example("device-interrupts-on-target", "fail", {}, "NET_RX: 30 000/s on CPU 2, 3.00%", {2}, after=_packets(90_000)),
    Example(
        *("device-interrupts-on-target", "unknown", {}, "/proc/softirqs"),
        after=_interrupts(300),
        gone=("/proc/softirqs",),
    ),
    Example(
        *("device-interrupts-on-target", "fail", {}, "1.20%", {2}),
        after=_interrupts(9_000),
        gone=("/proc/softirqs",),
    ),
    Example("device-interrupts-on-target", "unknown", gone=("/proc/interrupts",)),
    Example("irq-routed-to-target", "warn", _ROUTED_TO_2, "24 eth0-rx-0", {2}),
    Example("irq-routed-to-target", "pass", _LEAVING_2, "move away with their next interrupt: 24 eth0-rx-0"),
    Example("irq-routed-to-target", "warn", _LEAVING_2, "24 eth0-rx-0", {2}, after=_interrupts(1)),
    Example("irq-routed-to-target", "warn", {"/proc/irq/24/smp_affinity_list": "0-3\n"}, "are allowed on"),
    Example("irq-routed-to-target", "unknown", gone=("/proc/irq",)),
    Example(
        *("default-irq-affinity-includes-target", "fail", {"/proc/irq/default_smp_affinity": "f\n"}, "CPUs 2-3"),
        cpus={2, 3},
    ),
    Example("default-irq-affinity-includes-target", "unknown", gone=("/proc/irq/default_smp_affinity",)),
    Example(
        *("default-irq-affinity-includes-target", "unknown", {"/proc/irq/default_smp_affinity": "ff00\n"}),
        named="no CPU of the mask is online",
    ),
    Example("irqbalance-may-move-irqs", "pass", _IRQBALANCE, "spares"),
    Example("irqbalance-may-move-irqs", "fail", _IRQBALANCE, "irqbalance runs", target=frozenset({1})),
    Example("irqbalance-may-move-irqs", "unknown", {"/proc/950/stat": "garbage"}, target=frozenset({1})),
    *(
        Example("irqbalance-may-move-irqs", status, _IRQBALANCE | {_ENVIRONMENT: variables}, named, target=target)
        for status, variables, named, target in (
            ("fail", "IRQBALANCE_BANNED_CPUS=0\0", "IRQBALANCE_BANNED_CPUS=0 replaces", frozenset({2, 3})),
            ("fail", "A=\0IRQBALANCE_BANNED_CPULIST=0,3\0", "may use CPU 2 for", frozenset({2, 3})),
            ("fail", "IRQBALANCE_BANNED_CPUS=1\0IRQBALANCE_BANNED_CPULIST=2-3\0", "may use", frozenset({2, 3})),
            ("pass", "IRQBALANCE_BANNED_CPUS=c\0IRQBALANCE_BANNED_CPULIST=0\0", "spares", frozenset({2, 3})),
            ("pass", "IRQBALANCE_BANNED_CPULIST=1\0", "IRQBALANCE_BANNED_CPULIST=1", frozenset({1})),
            ("pass", "NO_IRQBALANCE_BANNED_CPUS=0\0", "spares", frozenset({2, 3})),
            ("unknown", "IRQBALANCE_BANNED_CPUS=\0", "some versions", frozenset({2, 3})),
            ("unknown", "IRQBALANCE_BANNED_CPULIST=-\0", "'-'", frozenset({2, 3})),
            ("unknown", "LANG=C", "ends with a NUL", frozenset({2, 3})),
        )
    ),
    Example("irqbalance-may-move-irqs", "unknown", _NO_ENVIRONMENT, "environment of irqbalance is unknown"),
    Example(
        "irqbalance-may-move-irqs",
        "warn",
        _NO_ENVIRONMENT,
        "environment of irqbalance is unknown",
        target=frozenset({1}),
    ),
    *(
        Example("irqbalance-may-move-irqs", status, _NO_ENVIRONMENT | {path: text})
        for status, path, text in (
            ("pass", _DEFAULT, "#IRQBALANCE_BANNED_CPUS=0\n"),
            ("fail", _DEFAULT, 'export IRQBALANCE_BANNED_CPUS="0"\n'),
            ("pass", "/etc/sysconfig/irqbalance", "IRQBALANCE_BANNED_CPUS=0000000c\n"),
            ("fail", "/etc/irqbalance.env", "IRQBALANCE_BANNED_CPULIST=0-1\n"),
            (
                *("fail", "/etc/systemd/system/irqbalance.service.d/all.conf"),
                "[Service]\nEnvironment=A=1 'IRQBALANCE_BANNED_CPUS=0'\n",
            ),
        )
    ),
    Example(
        *("irqbalance-may-move-irqs", "fail"),
        _NO_ENVIRONMENT
        | {_DEFAULT: "IRQBALANCE_BANNED_CPULIST=2-3\n", "/etc/irqbalance.env": "IRQBALANCE_BANNED_CPUS=0\n"},
        "BANNED_CPULIST=2-3",
    ),
    #
    Example("softirqs-on-target", "warn", {}, "NET_RX: up to 100/s", {2}, after=_softirqs("NET_RX", "800 0 300 0")),
    Example("softirqs-on-target", "warn", {}, "NET_RX", {3}, after=_softirqs("NET_RX", "800 0 0 31")),
    Example("softirqs-on-target", "pass", {}, "10/s", after=_softirqs("NET_RX", "800 0 0 30")),
    Example("softirqs-on-target", "pass", {}, "no softirqs", after=_softirqs("NET_RX", "800 9000 0 0")),
    Example("softirqs-on-target", "pass", {}, "no softirqs", after=_softirqs("TIMER", "9300 9300 900 900")),
    Example(
        *("softirqs-on-target", "pass", {}, "on CPU 2, explained by its device interrupts"),
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
        *("softirqs-on-target", "pass", _blocks(0), "on CPU 2, explained by its device interrupts"),
        after=_blocks(300) | _table("/proc/interrupts", "25", "0 130 300 0"),
    ),
    Example(
        *("softirqs-on-target", "fail", {}, "4.0% of CPU 3", {3}),
        after=_softirq_time(3, 12)
        | _softirqs("NET_RX", "800 0 0 900")
        | _table("/proc/interrupts", "25", "0 130 0 1200"),
    ),
    Example("softirqs-on-target", "fail", {}, "10.0% of CPU 3", {3}, after=_softirq_time(3, 30)),
    Example(
        *("softirqs-on-target", "fail", {}, "10.0% of CPU 3", {3}),
        after=_softirq_time(3, 30),
        gone=("/proc/softirqs",),
    ),
    Example("softirqs-on-target", "pass", {}, "no softirqs", after=_softirq_time(1, 30)),
    Example("softirqs-on-target", "pass", {}, "no softirqs", after=_softirq_time(3, 2)),
    Example(
        *("softirqs-on-target", "pass", {}, "explained by its device interrupts"),
        after=_softirq_time(3, 5)
        | _softirqs("NET_RX", "800 0 0 900")
        | _table("/proc/interrupts", "24", "800 0 0 900"),
    ),
    Example("softirqs-on-target", "unknown", gone=("/proc/softirqs",)),
    Example("softirqs-on-target", "unknown", gone=("/proc/stat",)),
    Example("softirqs-on-target", "unknown", _NO_DEVICE_ROWS, "no rows of device softirqs"),
    Example("ipis-on-target", "pass", {}, "10/s", after=_calls(100, 33)),
    Example("ipis-on-target", "pass", {}, "0/s at most", after=_calls(9000, 3)),
    Example("ipis-on-target", "warn", {}, "mostly Rescheduling", {2}, after=_calls(100, 93)),
    Example("ipis-on-target", "fail", {}, "200/s", {2}, after=_calls(100, 603)),
    Example("ipis-on-target", "fail", {}, "200/s", {2}, after=_calls(100, 603), rules=_LATENCY),
    Example("ipis-on-target", "unknown", _NO_CALLS, "no row counts IPIs"),
    Example("ipis-on-target", "unknown", gone=("/proc/interrupts",)),
    Example("ipis-on-target", "not-applicable", _ALONE, "no other CPU", target=frozenset({0})),
    Example("tick-not-stopped", "pass", {}, "0 timer interrupts"),
    Example("tick-not-stopped", "fail", {}, "250 timer interrupts", {2}, loaded=_timers(120 + 450)),
    Example(
        *("tick-not-stopped", "fail", {runtime_path(2): "50000000\n", runtime_path(3): "50000000\n"}),
        "250 timer interrupts per busy second; the deadline server, which has 50 ms of CPU 2 in each period",
        {2},
        loaded=_timers(120 + 450),
    ),
    Example("tick-not-stopped", "fail", {runtime_path(2): "0\n"}, "per busy second ", {2}, loaded=_timers(120 + 450)),
    Example("tick-not-stopped", "fail", {runtime_path(2): "x\n"}, "per busy second ", {2}, loaded=_timers(120 + 450)),
    Example("tick-not-stopped", "warn", {}, "30 timer interrupts", {2}, loaded=_timers(120 + 54)),
    Example("tick-not-stopped", "pass", {}, "15 timer interrupts", loaded=_timers(120 + 27)),
    Example("tick-not-stopped", "pass", _NO_PROMISE, "not nohz_full", loaded=_timers(120 + 450, 120 + 450)),
    Example("tick-not-stopped", "pass", {f"{CPUS}/nohz_full": "2\n"}, "(CPU 3: not nohz", loaded=_timers(120, 900)),
    Example("tick-not-stopped", "unknown", _NO_PROMISE, "no timer interrupted CPUs 2-3, although not nohz_full and"),
    Example("tick-not-stopped", "unknown", {f"{CPUS}/nohz_full": "rubbish\n"}, "nohz_full"),
    Example("tick-not-stopped", "unknown", {}, "CPU 3: hardly busy", loaded={"/proc/stat": stat_file({2: 180}, 600)}),
    Example("tick-not-stopped", "unknown", gone=("/proc/interrupts",)),
    Example("timers-on-target", "pass", {}, "0 timer interrupts/s"),
    Example("timers-on-target", "pass", {}, "250 timer", after=_sampled(120 + 750), loaded=_timers(870)),
    Example(
        *("timers-on-target", "unknown", _NO_PROMISE, "no timer interrupted CPUs 2-3, although not nohz_full and"),
        after={"/proc/stat": stat_file({2: 200, 3: 200}, 300)},
        loaded={"/proc/stat": stat_file({2: 400, 3: 400}, 600)},
    ),
    Example("timers-on-target", "warn", {}, "the tick comes 250", {2}, after=_sampled(120 + 1_060)),
    Example("timers-on-target", "fail", {}, "14158 timer interrupts/s", {2}, after=_sampled(120 + 42_474)),
    Example("timers-on-target", "fail", {}, "up to 1900", {2}, after=_sampled(120 + 5_700)),
    Example("timers-on-target", "warn", {}, "up to 1900", {2}, after=_sampled(120 + 5_700), rules=_wide(0.02)),
    Example("timers-on-target", "warn", {}, "up to 1900", {2}, after=_sampled(120 + 5_700), rules=_wide(0.2)),
    Example(
        *("timers-on-target", "pass", {f"{CPUS}/isolated": "\n"}, "1900 timer interrupts/s at most"),
        after=_sampled(120 + 5_700),
        rules=_wide(0.2),
    ),
    Example(
        "timers-on-target",
        "fail",
        {},
        "up to 1900",
        {2},
        after=_sampled(120 + 5_700),
        rules=Rules("latency", budget=Budget(max_cv=0.2)),
    ),
    Example("timers-on-target", "fail", {}, "up to 4500", {2}, loaded=_timers(120 + 13_500)),
    Example("timers-on-target", "fail", _NO_HZ, "a tick comes at most 1000 times/s", {2}, after=_sampled(120 + 6_030)),
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
