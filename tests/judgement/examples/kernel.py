"""Area `kernel`."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.sources.knobs import Knob
from tests.judgement.example import Example

EXAMPLES = [
    Example("nmi-watchdog-runs", "fail", {Knob.NMI_WATCHDOG: "1\n"}, "is on"),
    Example("nmi-watchdog-runs", "fail", {Knob.NMI_WATCHDOG: "1\n"}, "is on", rules=Rules("strict")),
    Example("nmi-watchdog-runs", "unknown", {Knob.NMI_WATCHDOG: "rubbish\n"}, "'rubbish'"),
    Example("nmi-watchdog-runs", "not-applicable", gone=(Knob.NMI_WATCHDOG,)),
]
