"""Areas `heat` and `power`: the processor's power limits, and whether the machine runs on battery."""

from __future__ import annotations

import math
from collections.abc import Mapping

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import MINIMUM, Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import ByHand
from noisewatch.judgement.grading import hardware_without
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.frequency.heat import FOLDER as SENSORS
from noisewatch.kernel.frequency.power_supply import FIRMWARE, NO_SUPPLY, SupplyVoltage
from noisewatch.kernel.frequency.power_supply import FOLDER as SUPPLIES
from noisewatch.kernel.frequency.powercap import FOLDER as POWER_LIMITS
from noisewatch.kernel.frequency.powercap import PowerLimit

BETTER_SUPPLY = Fix(
    lasting=(ByHand("use the power supply that is made for the board, with a short cable"),), needs_root=False
)
_POWER_FAILS = Limit(
    key="fails",
    name="long-term power limit, as a share of the rated power",
    is_least=True,
    value=0.8,
    unit="share",
    reason="the clock drops after about half a minute",
)
_POWER_EXCEEDS = Limit(
    key="exceeds",
    name="long-term power limit that is above the rated power, as a share of it",
    value=1.05,
    unit="share",
    reason="cooling is made for the rated power",
)


@check(
    id="power-limit-lowered",
    area="heat",
    question="Are the power limits of the packages at their rated value?",
    severity=Severity.INFORMATION,
    reads=(f"{POWER_LIMITS}/intel-rapl*/{{enabled,constraint_*}} at the start of the run",),
    limits=(_POWER_FAILS, _POWER_EXCEEDS),
    why=(
        "Firmware and daemons can lower the long-term limit at run time. A benchmark is then fast while the "
        "short-term limit lasts, and slower afterwards. A limit above the rated power, or none, lets the processor get "
        "hotter than its cooling may be made for: under a long load the clock then falls far below what a limit at the "
        "rated power holds."
    ),
    remedy=(
        "Lowered: raise the limit in the firmware setup, or stop the daemon that lowered it (such as thermald). Above: "
        "set it to the rated power, unless a load of some minutes shows that the clock stays."
    ),
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
    in_force = {package: _in_force(shares, package) for package in rated_uw}
    package = max(in_force, key=lambda package: in_force[package])
    if in_force[package] > case.bound(_POWER_EXCEEDS):
        return Answer(
            Status.WARN,
            _words_of_excess(package, in_force[package], rated_uw[package] / 1e6),
            measured=None if math.isinf(in_force[package]) else in_force[package],
            limit=case.bound(_POWER_EXCEEDS),
            unit="share",
            evidence=evidence,
        )
    return Answer(
        Status.PASS,
        "all power limits are at their rated value",
        measured=min(shares.values(), default=None),
        limit=case.bound(_POWER_FAILS),
        unit="share",
        evidence=evidence,
        limit_role=MINIMUM,
    )


def _share(zone: PowerLimit, rated_uw: int) -> float | None:
    """Return the limit as a share of the rated power, or None if it is unknown or not in force."""
    return zone.limit_uw / rated_uw if zone.is_enabled and zone.limit_uw is not None and rated_uw else None


def _in_force(shares: Mapping[PowerLimit, float], package: int) -> float:
    """Return the package's power limit as a share of its rated power: the lowest of its zones, infinite without any."""
    return min((share for zone, share in shares.items() if zone.package == package), default=math.inf)


def _words_of_excess(package: int, share: float, rated: float) -> str:
    if math.isinf(share):
        return f"no long-term power limit of package {package} is in force"
    return (
        f"package {package} may take {share * rated:.0f} W in the long run, more than the {rated:.0f} W of its rating"
    )


@check(
    id="on-battery",
    area="power",
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
    evidence = {"said_by": mains.said_by}
    if mains.is_on == NO_SUPPLY:
        return not_applicable("no power supply is exported, as is usual on servers and virtual machines")
    if mains.is_on is None:
        battery = mains.said_by
        return unknown(f"{battery} is a battery, but not in {SUPPLIES}" if battery else case.why_unknown(SUPPLIES))
    if mains.is_on:
        return Answer(Status.PASS, f"on mains power ({mains.said_by})", evidence=evidence)
    return Answer(Status.FAIL, f"on battery ({mains.said_by})", evidence=evidence)


def supply_voltages(case: Case) -> list[SupplyVoltage]:
    """Return the supply voltage reports of all snapshots: before and after the sample, and after the calibration."""
    snapshots = [case.snapshot, *(each for interval in case.intervals for each in (interval.before, interval.after))]
    return [snapshot.background.supply_voltage for snapshot in snapshots]


@check(
    id="under-voltage",
    area="power",
    question="Does the power supply hold its voltage?",
    severity=Severity.INFORMATION,
    ground=Ground.RISK,
    reads=(f"{SENSORS}/hwmon*/{{name,in0_lcrit_alarm}} (rpi_volt)", FIRMWARE),
    why=(
        "A Raspberry Pi whose supply or cable does not hold 5 V lowers its clock in the firmware, mostly to 600 MHz, "
        "and mostly under load; governor and scaling_cur_freq do not show it."
    ),
    remedy="Use the power supply that is made for the board, with a short cable, and feed USB devices from elsewhere.",
    sources=(
        "https://www.raspberrypi.com/documentation/computers/os.html#get_throttled",
        "https://github.com/torvalds/linux/blob/v6.12/drivers/hwmon/raspberrypi-hwmon.c",
    ),
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def under_voltage(case: Case) -> Answer:
    alarm, voltages = case.snapshot.settings.voltage_alarm, supply_voltages(case)
    evidence = {"said_by": alarm.path, "is_low": [each.is_low for each in voltages]}
    if any(voltage.is_low for voltage in voltages):
        said, weight = "the firmware lowers the clock: under-voltage", Severity.BLOCKING
        return Answer(Status.FAIL, said, evidence=evidence, fix=BETTER_SUPPLY, severity=weight)
    if any(voltage.was_low for voltage in voltages):
        said, weight = "the voltage was too low since boot", Severity.WARNING
        return Answer(Status.WARN, said, evidence=evidence, fix=BETTER_SUPPLY, severity=weight)
    if isinstance(case.snapshot.platform.tsc_flags, frozenset):
        return not_applicable("no x86 machine reports the voltage of its supply")
    if alarm.path is not None:
        is_known = all(voltage.is_low is not None for voltage in voltages)
        passed = Answer(Status.PASS, "no under-voltage", evidence=evidence)
        return passed if is_known else unknown(case.why_unknown(alarm.path))
    if alarm.unread is not None:
        return unknown(case.why_unknown(alarm.unread))
    return hardware_without(case, "alarm of its power supply")
