"""Area `heat`: how hot the processor is, and whether it, or the kernel, slows the clock down to cool it."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.cpus import name_cpus
from noisewatch.errors import quoted
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import MINIMUM, Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import ByHand
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.frequency.heat import (
    COOLING,
    CPUS,
    MOST_WATCHED,
    CoolingDevice,
    Sensor,
)
from noisewatch.kernel.frequency.heat import FOLDER as SENSORS
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.system.platform import NONE
from noisewatch.model.interval.interval import BY_HEAT, BY_POWER, Interval, Slowdown, slowed_between

_EVENTS = Limit(
    key="fails",
    name="throttling events",
    value=0,
    unit="events",
    reason="each one lowers the clock for a while",
)
_THERMAL_INTERRUPT = "TRM"


@check(
    id="throttled",
    area="heat",
    question="Did the processor run without throttling by heat or power limits?",
    severity=Severity.BLOCKING,
    ground=Ground.RISK,
    reads=(
        f"{CPUS}/cpuN/thermal_throttle/{{core,package}}_{{throttle,power_limit}}_count over the sample and the "
        "calibration",
        f"{INTERRUPTS} ({_THERMAL_INTERRUPT}), for cores beyond the first 64",
    ),
    limits=(_EVENTS,),
    why=(
        "A processor that gets too hot lowers its clock until it has cooled, whatever the settings; one that "
        "reaches its power limit does the same. Intel processors count how often throttling began; one that was too "
        "hot all the time counts nothing new, but its temperature shows it. How often a power limit was reached is "
        "counted with the boot option int_pln_enable alone."
    ),
    remedy=(
        "Heat: let the machine cool down, and clean its fans. A power limit: raise the long-term limit (PL1) in the "
        "firmware setup. In both cases a lower fixed frequency that it can sustain helps."
    ),
    sources=("https://github.com/torvalds/linux/blob/master/drivers/thermal/intel/therm_throt.c",),
    asks_rates=True,
    sees_load=True,
    answered_by="throughput-drifts",
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def throttled(case: Case) -> Answer:
    if not case.target:
        return unknown(NO_TARGET)
    counted = [count for interval in case.intervals for count in _events(interval).items()]
    events = sum(count or 0 for _, count in counted)
    evidence = {
        "events": {path: sum(count or 0 for name, count in counted if name == path) for path in sorted(dict(counted))}
    }
    if events > case.bound(_EVENTS):
        return Answer(
            Status.FAIL,
            _slowed_words(case.intervals),
            measured=events,
            limit=case.bound(_EVENTS),
            unit=_EVENTS.unit,
            cpus=frozenset(cpu for interval in case.intervals for slowed in _slowed(interval) for cpu in slowed.cpus),
            evidence=evidence,
            fix=_fix(case),
        )
    silent = [path for path, count in counted if count is None]
    if silent:
        return unknown(case.why_unknown(*silent))
    doubtful = [interval for interval in case.intervals if not _are_uncounted_calm(interval)]
    if doubtful:
        return unknown("thermal interrupts on cores whose throttle counts were not read")
    counts_power = any(slowed.by == BY_POWER for interval in case.intervals for slowed in slowed_between(interval))
    said = "no throttling by heat or power" if counts_power else "no throttling by heat; power limits are not counted"
    return Answer(Status.PASS, said, measured=events, limit=case.bound(_EVENTS), unit=_EVENTS.unit, evidence=evidence)


def _events(interval: Interval) -> dict[str, int | None]:
    """Return the growth of each throttling counter by path; None is unknown."""
    return {slowed.path: slowed.times for slowed in slowed_between(interval)}


def _slowed(interval: Interval) -> list[Slowdown]:
    return [slowed for slowed in slowed_between(interval) if slowed.times]


def _slowed_words(intervals: Iterable[Interval]) -> str:
    """Return text on the target CPUs that heat and each power limit slowed, and how often."""
    slowed = [each for interval in intervals for each in _slowed(interval)]
    told = []
    for by, whats in ((BY_HEAT, ("core", "package")), (BY_POWER, ("core",)), (BY_POWER, ("package",))):
        found = [each for each in slowed if each.by == by and each.what in whats]
        if found:
            cpus = frozenset(cpu for each in found for cpu in each.cpus)
            told.append(f"{name_cpus(cpus)} {_by_words(by, whats[0], len(cpus))} {_times(found)}")
    return "; ".join(told)


def _fix(case: Case) -> Fix | None:
    """Return the fix for a power limit, or None for heat, which no command lowers."""
    if all(slowed.by != BY_POWER for interval in case.intervals for slowed in _slowed(interval)):
        return None
    zones = case.snapshot.hardware.power_limits.zones or ()
    watts = sorted({zone.limit_uw // 1_000_000 for zone in zones if zone.is_enabled and zone.limit_uw})
    now = f", now {' and '.join(map(str, watts))} W" if watts else ""
    words = f"raise the long-term power limit (PL1{now}) in the firmware setup, or set a lower fixed clock"
    return Fix(lasting=(ByHand(words),), needs_root=False)


def _by_words(by: str, what: str, cpus: int) -> str:
    if by == BY_HEAT:
        return "throttled by heat"
    return f"slowed by the power limit of {'its' if cpus == 1 else 'their'} {what}"


def _times(slowed: Iterable[Slowdown]) -> str:
    times = sum(each.times or 0 for each in slowed)
    return f"{times} time{'s' if times > 1 else ''}"


def _are_uncounted_calm(interval: Interval) -> bool:
    """Return whether cores whose counters are too many to read had no thermal interrupt, and so no counter advanced."""
    uncounted = interval.after.background.throttling.uncounted
    if not uncounted:
        return True
    table, rows = interval.after.interrupts, interval.interrupts.rows
    if table is None or rows is None or all(row.label != _THERMAL_INTERRUPT for row in table.rows):
        return False
    if not uncounted <= interval.interrupts.cpus:
        return False
    return not any(row.count_by_cpu.get(cpu) for row in rows if row.label == _THERMAL_INTERRUPT for cpu in uncounted)


@check(
    id="cooling-active",
    area="heat",
    question="Does the kernel let the processor run without slowing it to cool it?",
    severity=Severity.BLOCKING,
    ground=Ground.RISK,
    reads=(f"{COOLING}/cooling_device*/{{type,cur_state}}",),
    why=(
        "At a temperature trip point the kernel lowers the clock or forces CPUs idle until they have cooled. On AMD "
        "and ARM nothing else shows this."
    ),
    remedy="Let the machine cool down, or pin a frequency that it can sustain.",
    sources=("https://docs.kernel.org/driver-api/thermal/sysfs-api.html",),
    answered_by="throughput-drifts",
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def cooling_active(case: Case) -> Answer:
    cooling = case.snapshot.settings.cooling
    if cooling.devices is None:
        return unknown(case.why_unknown(COOLING))
    states = {device: _states(case, device) for device in cooling.devices}
    evidence = {"states_by_device": {device.path: seen for device, seen in states.items()}}
    at_work = [device for device, seen in states.items() if any(state is not None and state > 0 for state in seen)]
    slowing = [device for device in at_work if device.slows_the_processor]
    if slowing:
        kinds = ", ".join(sorted({str(device.kind) for device in slowing}))
        return Answer(
            Status.FAIL,
            f"the kernel slows the processor down to cool it ({kinds})",
            measured=len(slowing),
            evidence=evidence,
        )
    silent = [device.path for device, seen in states.items() if device.kind is None or None in seen]
    if silent:
        return unknown(case.why_unknown(*(f"{path}/{name}" for path in silent for name in ("type", "cur_state"))))
    if at_work:
        path, kind = at_work[0].path, at_work[0].kind
        return unknown(f"{path} is active, but what it slows down is unknown (type {quoted(str(kind))})")
    unwatched = sum(device.kind is not None for device in cooling.devices) - MOST_WATCHED
    if unwatched > 0 and case.intervals:
        return unknown(f"{unwatched} cooling devices were not read: there are too many")
    if cooling.devices:
        return Answer(Status.PASS, "no cooling device slows the processor down", measured=0, evidence=evidence)
    if case.snapshot.platform.virtual != NONE:
        return unknown(f"{case.guest_words} cannot see how its host handles heat")
    if not cooling.is_complete:
        return unknown(f"{COOLING}: no cooling device of the processor was copied")
    return not_applicable("this kernel has no cooling device that slows the processor down")


def _states(case: Case, device: CoolingDevice) -> list[int | None]:
    """Return the cooling device's states: when settings were read, and in each snapshot that includes it."""
    snapshots = [case.snapshot, *(each for interval in case.intervals for each in (interval.before, interval.after))]
    watched = [each.background.cooling_states for each in snapshots]
    return [device.state, *(states[device.path] for states in watched if device.path in states)]


_ROOM_PASSES = Limit(
    key="passes",
    name="margin to the critical temperature that passes",
    is_least=True,
    value=20,
    unit="K",
    reason="what a few minutes of load add on a desktop",
)
_ROOM_FAILS = Limit(
    key="fails",
    name="margin to the critical temperature that fails",
    is_least=True,
    value=5,
    unit="K",
    reason="near this the processor lowers its clock",
)


@check(
    id="processor-hot",
    area="heat",
    question="Is the processor far from its critical temperature?",
    severity=Severity.WARNING,
    reads=(f"{SENSORS}/hwmon*/temp*_{{input,crit,label}} at the start of the run",),
    limits=(_ROOM_PASSES, _ROOM_FAILS),
    why=(
        "A processor that is hot before the benchmark starts has little room for turbo and soon lowers its clock. The "
        "sensor is read only once, because reading it interrupts a CPU."
    ),
    remedy="Wait until it has cooled down, and find what heated it.",
    sources=("https://docs.kernel.org/hwmon/sysfs-interface.html",),
    answered_by="throughput-drifts",
    is_hidden_from_guests=True,
)
def processor_hot(case: Case) -> Answer:
    known = case.snapshot.hardware.sensors
    sensors = known.read
    if sensors is None:
        return unknown(case.why_unknown(SENSORS))
    evidence = {
        "celsius_by_sensor": {each.path: [each.celsius, each.critical_celsius] for each in sensors},
        "chips": sorted({each.chip for each in sensors}),
    }
    rooms = {each: room for each in sensors if (room := _room(each)) is not None}
    worst = min(rooms, key=lambda each: rooms[each], default=None)
    if worst is not None and rooms[worst] < case.bound(_ROOM_PASSES):
        room, most = rooms[worst], case.bound(_ROOM_FAILS)
        said = f"{worst.celsius:.0f} °C, {room:.0f} K below critical ({worst.label or worst.chip})"
        return Answer(
            Status.FAIL if room <= most else Status.WARN,
            said,
            measured=room,
            limit=most,
            unit="K",
            evidence=evidence,
            limit_role=MINIMUM,
        )
    silent = [each for each in sensors if each not in rooms]
    if worst is None or silent:
        return Answer(Status.UNKNOWN, "unknown", reason=_why_roomless(case, silent[0]), evidence=evidence)
    if known.unread is not None:
        return Answer(Status.UNKNOWN, "unknown", reason=case.why_unknown(known.unread), evidence=evidence)
    said = f"{worst.celsius:.0f} °C, {rooms[worst]:.0f} K below critical"
    return Answer(
        Status.PASS,
        said,
        measured=rooms[worst],
        limit=case.bound(_ROOM_FAILS),
        unit="K",
        evidence=evidence,
        limit_role=MINIMUM,
    )


def _room(sensor: Sensor) -> float | None:
    """Return the distance (K) of the sensor from its critical temperature, or None if unknown."""
    if sensor.celsius is None or sensor.critical_celsius is None:
        return None
    return sensor.critical_celsius - sensor.celsius


def _why_roomless(case: Case, sensor: Sensor) -> str:
    critical = sensor.path.removesuffix("input") + "crit"
    if sensor.celsius is None or critical in case.snapshot.reason_by_path:
        return case.why_unknown(sensor.path if sensor.celsius is None else critical)
    return f"{sensor.celsius:.0f} °C, but {sensor.chip} exports no critical temperature"
