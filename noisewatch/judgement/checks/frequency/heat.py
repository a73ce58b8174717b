"""Areas `heat` and `power`: heat, cooling, power limits, a battery or a low voltage that slow the processor."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from noisewatch.cpus import name_cpus
from noisewatch.errors import quote
from noisewatch.judgement.answer import Answer, Limit, not_applicable, passing_and_failing, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import hardware_without
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.heat import COOLING, MOST_WATCHED, CoolingDevice, Sensor
from noisewatch.kernel.frequency.heat import HWMON as SENSORS
from noisewatch.kernel.frequency.power_supply import FIRMWARE, NO_SUPPLY, SupplyVoltage
from noisewatch.kernel.frequency.power_supply import FOLDER as SUPPLIES
from noisewatch.kernel.frequency.powercap import FOLDER as POWER_LIMITS
from noisewatch.kernel.frequency.powercap import PowerLimit
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.system.platform import NONE
from noisewatch.model.interval.interval import BY_HEAT, BY_POWER, Interval, Slowdown, slowdowns_of

_EVENTS = Limit(
    key="fails", name="throttling events", value=0, unit="events", reason="each event lowers the clock for a while"
)
_THERMAL_INTERRUPT = "TRM"


@check(
    id="throttled",
    area=Area.HEAT,
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
        "A processor that gets too hot, or reaches its power limit, lowers its clock whatever the settings. Intel "
        "processors count how often throttling began. If a processor is too hot all the time, this count does not "
        "grow, but its temperature is high. Reached power limits are counted only with the boot option "
        "int_pln_enable."
    ),
    remedy=(
        "If it is heat, let the machine cool down, and clean its fans. If it is a power limit, raise the long-term "
        "limit (PL1) in the firmware setup. In both cases it helps to pin a lower frequency that the processor can "
        "sustain."
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
    counts = [count for interval in case.intervals for count in _events(interval).items()]
    events = sum(count or 0 for _, count in counts)
    by_path = {path: sum(count or 0 for name, count in counts if name == path) for path in sorted(dict(counts))}
    graded = case.graded(evidence={"events": by_path}).by(_EVENTS, events)
    if events > case.bound(_EVENTS):
        slowdowns = [slowdown for interval in case.intervals for slowdown in slowdowns_of(interval) if slowdown.times]
        cpus = frozenset(cpu for slowdown in slowdowns for cpu in slowdown.cpus)
        return graded.fails(_describe_slowdowns(slowdowns), cpus=cpus, fix=_fix(case, slowdowns))
    unreadable = [path for path, count in counts if count is None]
    if unreadable:
        return case.unread(*unreadable)
    doubtful = [interval for interval in case.intervals if not _are_uncounted_cores_calm(interval)]
    if doubtful:
        return unknown("cannot exclude throttling of cores whose throttle counts were not read")
    counts_power = any(slowdown.by == BY_POWER for interval in case.intervals for slowdown in slowdowns_of(interval))
    return graded.passes(f"no throttling by heat{' or power' if counts_power else '; power limits are not counted'}")


def _events(interval: Interval) -> dict[str, int | None]:
    """Return the growth of each throttling counter by path; None means unknown."""
    return {slowdown.path: slowdown.times for slowdown in slowdowns_of(interval)}


def _describe_slowdowns(slowdowns: Collection[Slowdown]) -> str:
    """Return text on how often heat and each kind of power limit slowed which CPUs."""
    texts = []
    for by, whats in ((BY_HEAT, ("core", "package")), (BY_POWER, ("core",)), (BY_POWER, ("package",))):
        matching = [slowdown for slowdown in slowdowns if slowdown.by == by and slowdown.what in whats]
        if matching:
            cpus = frozenset(cpu for slowdown in matching for cpu in slowdown.cpus)
            texts.append(f"{name_cpus(cpus)} {_cause_text(by, whats[0], len(cpus))} {_times(matching)}")
    return "; ".join(texts)


def _fix(case: Case, slowdowns: Iterable[Slowdown]) -> Fix | None:
    """Return the fix for a power limit, or None for heat, which no command lowers."""
    if all(slowdown.by != BY_POWER for slowdown in slowdowns):
        return None
    zones = case.snapshot.hardware.power_limits.zones or ()
    watts = sorted({zone.limit_uw // 1_000_000 for zone in zones if zone.is_enabled and zone.limit_uw})
    now = f", now {' and '.join(map(str, watts))} W" if watts else ""
    words = f"raise the long-term power limit (PL1{now}) in the firmware setup, or set a lower fixed clock"
    return Fix(lasting=(ByHand(words),), needs_root=False)


def _cause_text(by: str, what: str, cpus: int) -> str:
    if by == BY_HEAT:
        return "throttled by heat"
    return f"slowed by the power limit of {'its' if cpus == 1 else 'their'} {what}"


def _times(slowdowns: Iterable[Slowdown]) -> str:
    times = sum(slowdown.times or 0 for slowdown in slowdowns)
    return f"{times} time{'s' if times > 1 else ''}"


def _are_uncounted_cores_calm(interval: Interval) -> bool:
    """Return whether the cores whose counters are not read had no thermal interrupt, and so were not throttled."""
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
    area=Area.HEAT,
    question="Does the kernel let the processor run without slowing it for cooling?",
    severity=Severity.BLOCKING,
    ground=Ground.RISK,
    reads=(f"{COOLING}/cooling_device*/{{type,cur_state}}",),
    reads_counters=True,
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
        return case.unread(COOLING)
    states = {device: _states(case, device) for device in cooling.devices}
    graded = case.graded(evidence={"states_by_device": {device.path: observed for device, observed in states.items()}})
    at_work = [
        device for device, observed in states.items() if any(state is not None and state > 0 for state in observed)
    ]
    slowing = [device for device in at_work if device.slows_the_processor]
    if slowing:
        kinds = ", ".join(sorted({str(device.kind) for device in slowing}))
        text = f"the kernel slows the processor down to cool it ({kinds})"
        return graded.fails(text, measured=len(slowing))
    unreadable = [device.path for device, observed in states.items() if device.kind is None or None in observed]
    if unreadable:
        return case.unread(*(f"{path}/{name}" for path in unreadable for name in ("type", "cur_state")))
    if at_work:
        path, kind = at_work[0].path, at_work[0].kind
        return unknown(f"{path} is active, but what it slows down is unknown (type {quote(str(kind))})")
    unwatched = sum(device.kind is not None for device in cooling.devices) - MOST_WATCHED
    if unwatched > 0 and case.intervals:
        return unknown(f"{unwatched} cooling devices were not read: there are too many")
    if cooling.devices:
        return graded.passes("no cooling device slows the processor down", measured=0)
    if case.snapshot.platform.virtual != NONE:
        return unknown(f"{case.guest_words} cannot see how its host handles heat")
    if not cooling.is_complete:
        return unknown(f"{COOLING}: lists no cooling device of the processor, but may be incomplete")
    return not_applicable("this kernel has no cooling device that slows the processor down")


def _states(case: Case, device: CoolingDevice) -> list[int | None]:
    """Return the cooling device's states: when settings were read, and in each snapshot that contains it."""
    watched = [snapshot.background.cooling_states for snapshot in case.snapshots]
    return [device.state, *(states[device.path] for states in watched if device.path in states)]


_MARGIN_PASSES, _MARGIN_FAILS = passing_and_failing(
    "margin to the critical temperature",
    "K",
    passes=(20, "a few minutes of load heat a desktop's processor by about this much"),
    fails=(5, "so close to the critical temperature, the processor lowers its clock"),
    is_least=True,
)


@check(
    id="processor-hot",
    area=Area.HEAT,
    question="Is the processor far from its critical temperature?",
    severity=Severity.WARNING,
    reads=(f"{SENSORS}/hwmon*/temp*_{{input,crit,label}} when noisewatch starts",),
    limits=(_MARGIN_PASSES, _MARGIN_FAILS),
    why=(
        "A processor that is hot before the benchmark starts has little room for turbo and soon lowers its clock. The "
        "sensor is read only once, because reading it interrupts a CPU."
    ),
    remedy="Wait until the processor has cooled down, and find what heated it.",
    sources=("https://docs.kernel.org/hwmon/sysfs-interface.html",),
    answered_by="throughput-drifts",
    is_hidden_from_guests=True,
)
def processor_hot(case: Case) -> Answer:
    unread, sensors = case.snapshot.hardware.sensors.unread, case.snapshot.hardware.sensors.read
    if sensors is None:
        return case.unread(SENSORS)
    celsius = {sensor.path: [sensor.celsius, sensor.critical_celsius] for sensor in sensors}
    graded = case.graded(evidence={"celsius_by_sensor": celsius, "chips": sorted({sensor.chip for sensor in sensors})})
    margins = {sensor: margin for sensor in sensors if (margin := _margin_k(sensor)) is not None}
    worst = min(margins, key=lambda sensor: margins[sensor], default=None)
    if worst is not None and margins[worst] < case.bound(_MARGIN_PASSES):
        status = Status.FAIL if margins[worst] <= case.bound(_MARGIN_FAILS) else Status.WARN
        text = f"{worst.celsius:.0f} °C, {margins[worst]:.0f} K below critical ({worst.label or worst.chip})"
        return graded.by(_MARGIN_FAILS, margins[worst]).answer(status, text)
    without_margin = [sensor for sensor in sensors if sensor not in margins]
    if worst is None or without_margin:
        return graded.unknown(_no_margin_reason(case, without_margin[0]))
    if unread is not None:
        return graded.unknown(case.unread_reason(unread))
    text = f"{worst.celsius:.0f} °C, {margins[worst]:.0f} K below critical"
    return graded.by(_MARGIN_FAILS, margins[worst]).passes(text)


def _margin_k(sensor: Sensor) -> float | None:
    """Return the distance (K) of the sensor from its critical temperature, or None if unknown."""
    if sensor.celsius is None or sensor.critical_celsius is None:
        return None
    return sensor.critical_celsius - sensor.celsius


def _no_margin_reason(case: Case, sensor: Sensor) -> str:
    critical = sensor.path.removesuffix("input") + "crit"
    if sensor.celsius is None or critical in case.snapshot.reason_by_path:
        return case.unread_reason(sensor.path if sensor.celsius is None else critical)
    return f"{sensor.celsius:.0f} °C, but {sensor.chip} exports no critical temperature"


BETTER_SUPPLY = Fix(
    lasting=(ByHand("use the power supply that is made for the board, with a short cable"),), needs_root=False
)
_POWER_FAILS = Limit(
    key="fails",
    name="long-term power limit, as a share of the rated power",
    is_least=True,
    value=0.8,
    unit="share",
    reason="under load the clock drops after about half a minute",
)
_POWER_EXCEEDS = Limit(
    key="exceeds",
    name="highest expected long-term power limit, as a share of the rated power",
    value=1.05,
    unit="share",
    reason="cooling is designed for the rated power",
)


@check(
    id="power-limit-lowered",
    area=Area.HEAT,
    question="Are the long-term power limits of the packages near their rated power?",
    severity=Severity.INFORMATION,
    reads=(f"{POWER_LIMITS}/intel-rapl*/{{enabled,constraint_*}} when noisewatch starts",),
    limits=(_POWER_FAILS, _POWER_EXCEEDS),
    why=(
        "Firmware and daemons can lower the long-term limit at run time. A benchmark is then fast while the "
        "short-term limit lasts, and slower afterwards. A limit above the rated power, or none, lets the processor "
        "get hotter than its cooling may be designed for. Under a long load, the clock then falls far lower than with "
        "a limit at the rated power."
    ),
    remedy=(
        "If the limit is too low, raise it in the firmware setup, or stop the daemon that lowered it (such as "
        "thermald). If it is too high, set it to the rated power, unless the clock stays constant under some minutes "
        "of load."
    ),
    sources=("https://docs.kernel.org/power/powercap/powercap.html",),
    is_hidden_from_guests=True,
)
def power_limit_lowered(case: Case) -> Answer:
    limits = case.snapshot.hardware.power_limits
    if limits.has_none:
        return hardware_without(case, "power limit")
    if limits.zones is None:
        return case.unread(POWER_LIMITS)
    graded = case.graded(evidence={zone.path: [zone.limit_uw, zone.rated_uw, zone.is_enabled] for zone in limits.zones})
    rated_uw: dict[int, int] = {}
    for zone in limits.zones:
        rated_uw[zone.package] = max(rated_uw.get(zone.package, 0), zone.rated_uw or 0)
    shares = {zone: share for zone in limits.zones if (share := _share(zone, rated_uw[zone.package])) is not None}
    worst = min(shares, key=lambda zone: shares[zone], default=None)
    if worst is not None and shares[worst] < case.bound(_POWER_FAILS):
        watts, rated = (worst.limit_uw or 0) / 1e6, rated_uw[worst.package] / 1e6
        text = f"package {worst.package} may take {watts:.0f} W of its rated {rated:.0f} W in the long run"
        return graded.by(_POWER_FAILS, shares[worst]).fails(text)
    unreadable = [zone.path for zone in limits.zones if zone not in shares and zone.is_enabled is not False]
    if unreadable:
        return case.unread(*unreadable, POWER_LIMITS)
    if limits.unread is not None:
        return case.unread(limits.unread)
    in_force = {package: _lowest_share(shares, package) for package in rated_uw}
    package = max(in_force, key=lambda package: in_force[package])
    if in_force[package] > case.bound(_POWER_EXCEEDS):
        text = _excess_text(package, in_force[package], rated_uw[package] / 1e6)
        share = None if math.isinf(in_force[package]) else in_force[package]
        return graded.by(_POWER_EXCEEDS, share).warns(text)
    least = min(shares.values(), default=None)
    return graded.by(_POWER_FAILS, least).passes("all long-term power limits are near the rated power")


def _share(zone: PowerLimit, rated_uw: int) -> float | None:
    """Return the limit as a share of the rated power, or None if it is unknown or not in force."""
    return zone.limit_uw / rated_uw if zone.is_enabled and zone.limit_uw is not None and rated_uw else None


def _lowest_share(shares: Mapping[PowerLimit, float], package: int) -> float:
    """Return the package's lowest power limit in force, as a share of its rated power; infinite without a limit."""
    return min((share for zone, share in shares.items() if zone.package == package), default=math.inf)


def _excess_text(package: int, share: float, rated: float) -> str:
    if math.isinf(share):
        return f"no long-term power limit of package {package} is in force"
    return f"package {package} may take {share * rated:.0f} W in the long run, more than its rated {rated:.0f} W"


@check(
    id="on-battery",
    area=Area.POWER,
    question="Does the machine run on mains power?",
    severity=Severity.BLOCKING,
    ground=Ground.RISK,
    reads=(f"{SUPPLIES}/*/{{type,online,status,scope}}", "/sys/bus/acpi/devices/*/status"),
    why=(
        "On battery, firmware and desktop lower the clock and the power limits, and change them again as the battery "
        "drains."
    ),
    remedy="Plug the machine in.",
    sources=("https://docs.kernel.org/power/power_supply_class.html",),
)
def on_battery(case: Case) -> Answer:
    mains = case.snapshot.settings.mains_power
    graded = case.graded(evidence={"said_by": mains.source})
    if mains.is_on == NO_SUPPLY:
        return not_applicable("no power supply is exported, as is usual on servers and virtual machines")
    if mains.is_on is None:
        battery = mains.source
        return unknown(f"{battery} is a battery, but not in {SUPPLIES}" if battery else case.unread_reason(SUPPLIES))
    if mains.is_on:
        return graded.passes(f"on mains power ({mains.source})")
    return graded.fails(f"on battery ({mains.source})")


def supply_voltages(case: Case) -> list[SupplyVoltage]:
    """Return the supply voltage reports of all snapshots: before and after the sample, and after the calibration."""
    return [snapshot.background.supply_voltage for snapshot in case.snapshots]


@check(
    id="under-voltage",
    area=Area.POWER,
    question="Does the power supply hold its voltage?",
    severity=Severity.INFORMATION,
    ground=Ground.RISK,
    reads=(f"{SENSORS}/hwmon*/{{name,in0_lcrit_alarm}} (rpi_volt)", FIRMWARE),
    reads_counters=True,
    why=(
        "A Raspberry Pi whose supply or cable does not hold 5 V lowers its clock in the firmware, mostly to 600 MHz, "
        "and mostly under load; governor and scaling_cur_freq do not show it."
    ),
    remedy="Use the power supply that is made for the board, with a short cable, and power USB devices separately.",
    sources=(
        "https://www.raspberrypi.com/documentation/computers/os.html#get_throttled",
        "https://github.com/torvalds/linux/blob/v6.12/drivers/hwmon/raspberrypi-hwmon.c",
    ),
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def under_voltage(case: Case) -> Answer:
    alarm, voltages = case.snapshot.settings.voltage_alarm, supply_voltages(case)
    graded = case.graded(evidence={"said_by": alarm.path, "is_low": [voltage.is_low for voltage in voltages]})
    if any(voltage.is_low for voltage in voltages):
        text = "the firmware lowers the clock: under-voltage"
        return graded.fails(text, fix=BETTER_SUPPLY, severity=Severity.BLOCKING)
    if any(voltage.was_low for voltage in voltages):
        return graded.warns(
            "the voltage was too low at some time since boot", fix=BETTER_SUPPLY, severity=Severity.WARNING
        )
    if isinstance(case.snapshot.platform.tsc_flags, frozenset):
        return not_applicable("x86 machines have no alarm for under-voltage")
    if alarm.path is not None:
        is_all_read = all(voltage.is_low is not None for voltage in voltages)
        return graded.passes("no under-voltage") if is_all_read else case.unread(alarm.path)
    if alarm.unread is not None:
        return case.unread(alarm.unread)
    return hardware_without(case, "alarm for under-voltage")
