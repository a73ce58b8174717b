"""A hundred intervals of a machine with any number of CPUs and all kinds of noise, for the goldens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

from msgspec.structs import replace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    MOST_CULPRITS,
    CauseLine,
    CpuLine,
    CulpritLine,
    FindingLine,
    Frame,
    IrqLine,
    IrqSetting,
)
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.state.own_cost import OwnCost
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.tui.framing import SECOND_NS, frame

INTERVALS = 100
_UNPLUGGED_AT, _UNKNOWN_FROM, _STORM = 70, 80, (*range(40, 52), *range(96, 101))
_TICK_NS = 2_000
_IRQ_SETTINGS = (
    *(
        IrqSetting(
            label=f"{203 + cpu}",
            kind=Kind.IRQ,
            name=f"ice-eth0-TxRx-{cpu}",
            device="Ethernet Controller E810-C (eth0)",
            allowed="0-3" if cpu == 3 else f"{cpu}",
            effective=f"{cpu}",
            movable=cpu != 1,
            is_managed=cpu == 1,
        )
        for cpu in range(4)
    ),
    IrqSetting("LOC", Kind.TICK, "Local timer interrupts", movable=False, is_managed=False),
)
_FINDINGS = (
    FindingLine(
        id="device-interrupts-on-target",
        status="fail",
        weight="blocking",
        gravity=Gravity.FAILED,
        said="eth0 interrupts a target CPU 31204 times a second",
        fix="echo 0-1 > …",
        cause=1,
    ),
    FindingLine(
        id="target-cpu-busy",
        status="fail",
        weight="blocking",
        gravity=Gravity.FAILED,
        said="a target CPU was busy for 14% of the time",
        fix="taskset -pc 0-1 2211",
        cause=1,
    ),
    FindingLine(
        id="hypervisor-steal",
        status="unknown",
        weight="blocking",
        gravity=Gravity.UNANSWERED,
        said="what the hypervisor took from CPU 3 is not known",
        cause=3,
    ),
    FindingLine(
        id="turbo-enabled",
        status="warn",
        weight="warning",
        gravity=Gravity.WARNED,
        said="turbo is on",
        fix="echo 1 > …/no_turbo",
        cause=2,
    ),
    FindingLine(
        id="throttled",
        status="unknown",
        weight="warning",
        gravity=Gravity.OPEN,
        said="no CPU tells whether it was throttled",
    ),
)
_TURBO_CAUSE = CauseLine((("now", "echo 1 > …/no_turbo"), ("undo", "echo 0 > …/no_turbo")), ("turbo-enabled",))
_CAUSES = (
    CauseLine(
        (("now", "echo 0-1 > …"), ("undo", "echo 2 > …"), ("for good", "irqaffinity=0-1")),
        ("device-interrupts-on-target", "target-cpu-busy"),
    ),
    _TURBO_CAUSE,
    CauseLine(said="a guest cannot answer 1 blocking question", is_open=True),
)


def frames_of(count: int) -> list[Frame]:
    """Return one interval for each second."""
    chance = Random(count)
    return [_frame(count, second, chance) for second in range(1, INTERVALS + 1)]


@cache
def crowded(count: int) -> ScreenModel:
    """Return the model after all intervals; it is shared, so a test draws a copy."""
    model = ScreenModel()
    for interval in frames_of(count):
        model.add(interval)
    model.own_cost = OwnCost(cpu_share=0.01, wakeups_per_s=14.0, written_per_s=3_200.0)
    model.log.add(
        Event((INTERVALS - 3) * SECOND_NS, EventKind.DEVICE, "usb 2-1: a device was added (Keyboard)", INTERVALS - 4)
    )
    return model


def _frame(count: int, second: int, chance: Random) -> Frame:
    is_storm = second in _STORM
    cpus = tuple(_cpu_line(cpu, count, second, chance) for cpu in range(count))
    return frame(
        cpus,
        _culprits(cpus, second),
        second,
        housekeeping=tuple(range(min(2, count - 1))),
        online_count=sum(line.role != Role.OFFLINE for line in cpus),
        turbo="off" if second < 60 else "on",
        verdict="unstable" if is_storm else "stable",
        findings=_FINDINGS if is_storm else (replace(_FINDINGS[3], cause=1), _FINDINGS[4]),
        causes=_CAUSES if is_storm else (_TURBO_CAUSE,),
        gravities=_gravities({line.id: line.gravity for line in (_FINDINGS if is_storm else _FINDINGS[3:])}),
        passed=84 if is_storm else 87,
        sampler_cpu_s=second * 0.004,
        irqs=_irqs(cpus, second),
        irq_settings=_irq_settings(count) if second == 1 else None,
    )


def _gravities(gravity_by_id: Mapping[str, Gravity]) -> str:
    return "".join(str(list(Gravity).index(gravity_by_id.get(check.id, Gravity.PASSED))) for check in CATALOGUE)


def _irq_settings(count: int) -> tuple[IrqSetting, ...]:
    return tuple(setting for setting in _IRQ_SETTINGS if int(setting.effective or 0) < count)


def _irqs(cpus: tuple[CpuLine, ...], second: int) -> tuple[IrqLine, ...]:
    """Return the queues of a card on the first three CPUs, one of which storms, and the tick of all CPUs."""
    online = tuple(line.cpu for line in cpus if line.role != Role.OFFLINE)
    storm, _ = _noisy(len(cpus))
    queues = tuple(
        IrqLine(f"{203 + cpu}", (cpu,), (31_204.0 if cpu == storm and second in _STORM else 12.0 * (3 - cpu),))
        for cpu in range(min(3, len(cpus)))
    )
    return (*queues, IrqLine("LOC", online, tuple(250.0 if cpu < 2 else 1.0 for cpu in online)))


def _role(cpu: int, count: int, second: int) -> Role:
    """Return the role of a CPU; of more than four CPUs, the second half are siblings of the first half."""
    if cpu == count - 1 and second >= _UNPLUGGED_AT and count > 2:
        return Role.OFFLINE
    half = count // 2 if count > 4 else count
    if cpu % half < min(2, count - 1):
        return Role.HOUSEKEEPING
    return Role.TARGET if cpu < half else Role.SIBLING


def _cpu_line(cpu: int, count: int, second: int, chance: Random) -> CpuLine:
    role = _role(cpu, count, second)
    governor = "powersave" if cpu >= count - 2 and 30 <= second < 45 else "performance"
    if role == Role.OFFLINE:
        return CpuLine(cpu, role)
    if cpu == (1 if count == 4 else 5) and second >= _UNKNOWN_FROM:
        return CpuLine(cpu, role, interrupts_per_s=1.0, softirqs_per_s=0.0, current_khz=3_000_000, governor=governor)
    lost_ns = _lost_ns(cpu, count, second, chance)
    return CpuLine(
        cpu,
        role,
        lost_ns,
        is_estimate=lost_ns < 1_000_000,
        interrupts_per_s=31_204.0 if lost_ns >= 1e8 else 1.0 + lost_ns / 40_000,
        softirqs_per_s=lost_ns / 90_000,
        busy_share=lost_ns / 1e9,
        current_khz=3_000_000 if governor == "performance" else 1_200_000,
        governor=governor,
    )


def _noisy(count: int) -> tuple[int, int]:
    """Return the CPU that the card storms at times, and the CPU of prometheus in every tenth second."""
    return min(2, count - 1), min(3, count - 1)


def _lost_ns(cpu: int, count: int, second: int, chance: Random) -> float:
    storm, tenth = _noisy(count)
    if cpu == storm and second in _STORM:
        return 140_000_000.0
    if cpu == tenth and second % 10 == 0:
        return 12_000_000.0
    if _role(cpu, count, second) == Role.HOUSEKEEPING:
        return float(chance.randrange(4_000_000, 60_000_000))
    return float(chance.choice((_TICK_NS, _TICK_NS, _TICK_NS, 17_000, 80_000, 700_000 if cpu % 7 == 3 else _TICK_NS)))


def _culprits(cpus: tuple[CpuLine, ...], second: int) -> tuple[CulpritLine, ...]:
    """Return the culprits of one second, sorted and cut as by the sampler."""
    measured = [line for line in cpus if line.stolen_ns_per_s is not None]
    lines = [_culprit(cpus, line.cpu, "tick", "Local timer interrupts", _TICK_NS, rate_per_s=1.0) for line in measured]
    lines += [
        _culprit(cpus, line.cpu, "ipi", "Function call interrupts", line.stolen_ns_per_s or 0, rate_per_s=9.0)
        for line in measured
        if _TICK_NS < (line.stolen_ns_per_s or 0) < 1_000_000
    ]
    lines += [
        _culprit(cpus, 0, "thread", "postgres", 21e6, pid=1234, tid=1234),
        _culprit(cpus, 1, "thread", "データベース-collector", 9e6, pid=4_194_303, tid=4_194_304),
    ]
    storm, tenth = _noisy(len(cpus))
    if second in _STORM:
        nic = f"{203 + storm} ice-eth0-TxRx-{storm} (Ethernet Controller E810-C (eth0))"
        lines += [
            _culprit(cpus, storm, "irq", nic, 90e6, rate_per_s=31_204.0, irq=203 + storm),
            _culprit(cpus, storm, "softirq", "NET_RX", 50e6, rate_per_s=31_204.0),
        ]
    if second % 10 == 0:
        lines += [
            _culprit(cpus, tenth, "thread", "prometheus", 11e6, pid=2211, tid=2215),
            _culprit(cpus, storm, "kernel-thread", "kworker/2:1H-kblockd", 800e3, pid=312, tid=312),
            _culprit(cpus, storm, "outside", "hypervisor (steal time)", 300e3),
            _culprit(cpus, tenth, "unexplained", "unattributed time", 600e3),
        ]
    online = [line for line in lines if line.role != Role.OFFLINE]
    online.sort(key=lambda line: (line.role == Role.HOUSEKEEPING, -line.stolen_ns_per_s))
    return tuple(online[:MOST_CULPRITS])


def _culprit(cpus: tuple[CpuLine, ...], cpu: int, kind: str, name: str, lost_ns: float, **rest: Any) -> CulpritLine:
    nothing = {"pid": None, "tid": None, "rate_per_s": None}
    is_estimate = kind in ("tick", "ipi", "softirq")
    return CulpritLine(
        cpu, cpus[cpu].role, Kind(kind), name, stolen_ns_per_s=lost_ns, is_estimate=is_estimate, **{**nothing, **rest}
    )
