"""Area `heat`: how far the processor is from its limits of temperature and power."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import MINIMUM, Answer, Limit, check, unknown
from noisewatch.judgement.grading import hardware_without
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.frequency.hwmon import FOLDER as SENSORS
from noisewatch.kernel.frequency.hwmon import Sensor
from noisewatch.kernel.frequency.powercap import FOLDER as POWER_LIMITS
from noisewatch.kernel.frequency.powercap import PowerLimit

_ROOM_PASSES = Limit(
    key="passes",
    name="room to the critical temperature that passes",
    value=20,
    unit="K",
    reason="what a load of minutes adds to a desktop's",
)
_ROOM_FAILS = Limit(
    key="fails",
    name="room to the critical temperature that fails",
    value=5,
    unit="K",
    reason="there the clock is lowered",
)


@check(
    id="processor-hot",
    area="heat",
    question="Is the processor far from its critical temperature?",
    severity=Severity.WARNING,
    reads=(f"{SENSORS}/hwmon*/temp*_{{input,crit,label}} at the start of the run",),
    limits=(_ROOM_PASSES, _ROOM_FAILS),
    why=(
        "A processor that is hot before the benchmark starts has no room for turbo, and soon lowers its clock. It is "
        "asked once, as asking interrupts a CPU."
    ),
    remedy="Wait until it has cooled down, and find out what heated it.",
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
    """How far it is from its critical temperature, in kelvin."""
    if sensor.celsius is None or sensor.critical_celsius is None:
        return None
    return sensor.critical_celsius - sensor.celsius


def _why_roomless(case: Case, sensor: Sensor) -> str:
    critical = sensor.path.removesuffix("input") + "crit"
    if sensor.celsius is None or critical in case.snapshot.reason_by_path:
        return case.why_unknown(sensor.path if sensor.celsius is None else critical)
    return f"{sensor.celsius:.0f} °C, but {sensor.chip} tells no critical temperature"


_POWER_FAILS = Limit(
    key="fails",
    name="long-term power limit, as a share of the rated power",
    value=0.8,
    unit="share",
    reason="the clock sinks after half a minute",
)


@check(
    id="power-limit-lowered",
    area="heat",
    question="Are the power limits of the packages at their rated value?",
    severity=Severity.INFORMATION,
    reads=(f"{POWER_LIMITS}/intel-rapl*/{{enabled,constraint_*}} at the start of the run",),
    limits=(_POWER_FAILS,),
    why=(
        "Firmware and daemons lower the long-term limit at run time. A benchmark is then fast for as long as the "
        "short-term limit lasts, and slower from there on."
    ),
    remedy="Raise the limit in the firmware's set-up, or stop the daemon that lowered it (thermald).",
    sources=("https://docs.kernel.org/power/powercap/powercap.html",),
    is_hidden_from_guests=True,
)
def power_limit_lowered(case: Case) -> Answer:
    limits = case.snapshot.hardware.power_limits
    if limits.has_none:
        return hardware_without(case, "power limit")
    if limits.zones is None:
        return unknown(case.why_unknown(POWER_LIMITS))
    evidence = {each.path: [each.limit_uw, each.rated_uw, each.is_enabled] for each in limits.zones}
    rated_uw: dict[int, int] = {}
    for zone in limits.zones:
        rated_uw[zone.package] = max(rated_uw.get(zone.package, 0), zone.rated_uw or 0)
    shares = {zone: share for zone in limits.zones if (share := _share(zone, rated_uw[zone.package])) is not None}
    worst = min(shares, key=lambda zone: shares[zone], default=None)
    if worst is not None and shares[worst] < case.bound(_POWER_FAILS):
        watts, rated = (worst.limit_uw or 0) / 1e6, rated_uw[worst.package] / 1e6
        said = f"package {worst.package} may take {watts:.0f} W in the long run, of {rated:.0f} W"
        least = case.bound(_POWER_FAILS)
        return Answer(
            Status.FAIL, said, measured=shares[worst], limit=least, unit="share", evidence=evidence, limit_role=MINIMUM
        )
    silent = [zone.path for zone in limits.zones if zone not in shares and zone.is_enabled is not False]
    if silent:
        return unknown(case.why_unknown(*silent, POWER_LIMITS))
    if limits.unread is not None:
        return unknown(case.why_unknown(limits.unread))
    return Answer(
        Status.PASS,
        "no power limit is lowered",
        measured=min(shares.values(), default=None),
        limit=case.bound(_POWER_FAILS),
        unit="share",
        evidence=evidence,
        limit_role=MINIMUM,
    )


def _share(zone: PowerLimit, rated_uw: int) -> float | None:
    """The limit as a share of the rated power; None where it is unknown, or does not hold."""
    return zone.limit_uw / rated_uw if zone.is_enabled and zone.limit_uw is not None and rated_uw else None
