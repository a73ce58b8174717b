"""Area `memory`: whether there is enough of it, and what the kernel does to find more."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.counted import grown, why_not_grown
from noisewatch.judgement.fixes.actions import SwitchSwapOff
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import ByHand
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.memory.counters import MEMINFO, VMSTAT, Swap
from noisewatch.kernel.memory.counters import PATH as SWAPS

_SWAPPED = Limit(
    key="fails",
    name="pages swapped in or out",
    value=0,
    unit="pages",
    reason="one page that has to be read costs a millisecond",
)
_USED = Limit(
    key="used",
    name="swap in use that passes",
    value=65_536,
    unit="kB",
    reason="what was moved there once and never asked for again",
)
_COUNTERS = ("pswpin", "pswpout")
_COMPRESSED_COUNTERS = ("zswpin", "zswpout")  # Linux 5.19; what zswap keeps in memory is in neither of the others


@check(
    id="swapping",
    area="memory",
    question="Is there no swapping?",
    severity=Severity.BLOCKING,
    reads=(f"{VMSTAT} over the sample and the calibration", MEMINFO, SWAPS),
    limits=(_SWAPPED, _USED),
    why=(
        "A page that was swapped out is read back when it is needed: some milliseconds at which the benchmark waits, "
        "or some microseconds where it was compressed in memory. Swap that is merely in use holds pages that may be "
        "needed again."
    ),
    remedy="Free memory, or switch swap off for the time of the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/sysctl/vm.html", "https://docs.kernel.org/filesystems/proc.html"),
)
def swapping(case: Case) -> Answer:
    sizes = case.snapshot.background.memory.kb_by_name
    growths = [grown(interval, name) for interval in case.intervals for name in _COUNTERS]
    moved = sum(count for count in growths if count is not None)
    by_zswap = [grown(interval, name) for interval in case.intervals for name in _COMPRESSED_COUNTERS]
    compressed = sum(count for count in by_zswap if count is not None)
    total, free = (sizes or {}).get("SwapTotal"), (sizes or {}).get("SwapFree")
    evidence = {
        "pages": moved if case.intervals and None not in growths else None,
        "compressed_pages": compressed if case.intervals and None not in by_zswap else None,
        "swap_kb": total,
        "swap_free_kb": free,
    }
    fix = _switch_off(case.snapshot.settings.swaps)
    if moved > case.bound(_SWAPPED):
        said = f"{moved} pages were swapped"
        return Answer(
            Status.FAIL, said, measured=moved, limit=case.bound(_SWAPPED), unit="pages", evidence=evidence, fix=fix
        )
    if None in growths:
        return unknown(why_not_grown(case))
    if total is None or free is None:
        return unknown(case.why_unknown(MEMINFO))
    if total and not case.intervals and case.no_sample_reason is not None:
        return Answer(Status.UNKNOWN, "unknown", reason=case.no_sample_reason, evidence=evidence)
    if compressed:
        said = f"{compressed} pages were compressed in memory, or brought back (zswap)"
        return Answer(Status.WARN, said, measured=compressed, limit=0, unit="pages", evidence=evidence, fix=fix)
    if total - free > case.bound(_USED):
        said = f"{(total - free) / 1024:.0f} MB of swap are in use"
        return Answer(
            Status.WARN, said, measured=total - free, limit=case.bound(_USED), unit="kB", evidence=evidence, fix=fix
        )
    said = "nothing was swapped" if case.intervals else "hardly any swap is in use"
    return Answer(Status.PASS, said if total else "there is no swap", evidence=evidence)


def _switch_off(swaps: tuple[Swap, ...] | None) -> Fix:
    """Switched on again is what was on, which /etc/fstab may not know; with its priority, where somebody chose one."""
    areas = [(swap.path, swap.priority) for swap in sorted(swaps or (), key=lambda swap: -swap.priority)]
    return Fix((SwitchSwapOff(tuple(areas)),), (ByHand("remove swap from /etc/fstab"),))
