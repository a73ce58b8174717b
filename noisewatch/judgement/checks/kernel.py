"""Area `kernel`: what the kernel itself does in the background."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.declaration import INFORMATION, WARNING, Answer, check
from noisewatch.judgement.knob_answers import judged_knob
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.sources.knobs import Knob


@check(
    id="nmi-watchdog-runs",
    area="kernel",
    question="Is the watchdog for hard lock-ups off?",
    severity=INFORMATION,
    severity_in={LATENCY: WARNING, STRICT: WARNING},
    reads=(Knob.NMI_WATCHDOG,),
    why=(
        "It interrupts each CPU every ten seconds or so with an interrupt that nothing can mask, and occupies one of "
        "the few hardware counters that a profiler would use."
    ),
    remedy="Switch it off for the time of the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/lockup-watchdogs.html",),
)
def nmi_watchdog_runs(case: Case) -> Answer:
    return judged_knob(case, Knob.NMI_WATCHDOG, lambda value: value == 0, "the watchdog is on", quiet=0)


CHECKS = (nmi_watchdog_runs,)
