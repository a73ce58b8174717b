"""Area `memory`: whether there is enough of it, and what the kernel does to find more."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.declaration import BLOCKING, FAIL, PASS, WARN, Answer, Fix, Limit, check, unknown
from noisewatch.model.interval import Interval
from noisewatch.sources.memory import MEMINFO, VMSTAT

_SWAPPED = Limit("fails", "pages swapped in or out", 0, "pages", "one page that has to be read costs a millisecond")
_USED = Limit("used", "swap in use that passes", 65_536, "kB", "what was moved there once and never asked for again")
_COUNTERS = ("pswpin", "pswpout")


@check(
    id="swapping",
    area="memory",
    question="Is nothing swapped, in or out?",
    severity=BLOCKING,
    reads=(f"{VMSTAT} over the sample and the calibration", MEMINFO),
    limits=(_SWAPPED, _USED),
    why=(
        "A page that was swapped out is read back when it is needed: some milliseconds at which the benchmark waits. "
        "Swap that is merely in use holds pages that may be needed again."
    ),
    remedy="Free memory, or switch swap off for the time of the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/sysctl/vm.html", "https://docs.kernel.org/filesystems/proc.html"),
)
def swapping(case: Case) -> Answer:
    sizes = case.snapshot.background.memory.kb_by_name
    grown = [_grown(interval, name) for interval in case.intervals for name in _COUNTERS]
    moved = sum(count or 0 for count in grown)
    total, free = (sizes or {}).get("SwapTotal"), (sizes or {}).get("SwapFree")
    evidence = {"pages": None if None in grown else moved, "swap_kb": total, "swap_free_kb": free}
    fix = Fix("sudo swapoff -a", "remove swap from /etc/fstab", "sudo swapon -a")
    if moved > case.bound(_SWAPPED):
        said = f"{moved} pages were swapped"
        return Answer(FAIL, said, moved, case.bound(_SWAPPED), "pages", evidence=evidence, fix=fix)
    if None in grown:
        return unknown(case.why_unknown(VMSTAT))
    if total is None or free is None:
        return unknown(case.why_unknown(MEMINFO))
    if total - free > case.bound(_USED):
        said = f"{(total - free) / 1024:.0f} MB of swap are in use"
        return Answer(WARN, said, total - free, case.bound(_USED), "kB", evidence=evidence, fix=fix)
    return Answer(PASS, "nothing was swapped" if total else "there is no swap", evidence=evidence)


def _grown(interval: Interval, name: str) -> int | None:
    """By how much a counter of vmstat grew; None is unknown."""
    before, after = interval.before.background.memory, interval.after.background.memory
    if before.count_by_name is None or after.count_by_name is None:
        return None
    first, last = before.count_by_name.get(name), after.count_by_name.get(name)
    return None if first is None or last is None or last < first else last - first


CHECKS = (swapping,)
