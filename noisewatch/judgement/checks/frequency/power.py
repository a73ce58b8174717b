"""Area `power`: what heat and power take from the clock."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.frequency.power_supply import FOLDER, NO_SUPPLY


@check(
    id="on-battery",
    area="power",
    question="Does the machine run on mains power?",
    severity=Severity.BLOCKING,
    reads=(f"{FOLDER}/*/{{type,online,status,scope}}",),
    why="On battery, firmware and desktop lower the clock and the power limits, and change their mind as it empties.",
    remedy="Plug the machine in.",
    sources=("https://docs.kernel.org/power/power_supply_class.html",),
)
def on_battery(case: Case) -> Answer:
    mains = case.snapshot.settings.mains_power
    evidence = {"said_by": mains.said_by}
    if mains.is_on == NO_SUPPLY:
        return not_applicable("no power supply tells, as on servers and virtual machines")
    if mains.is_on is None:
        return unknown(case.why_unknown(FOLDER))
    if mains.is_on:
        return Answer(Status.PASS, f"on mains power ({mains.said_by})", evidence=evidence)
    return Answer(Status.FAIL, f"on battery ({mains.said_by})", evidence=evidence)
