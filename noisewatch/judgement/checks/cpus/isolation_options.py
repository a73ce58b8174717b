"""Area `isolation`: kernel options that have no effect, or contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.checks.cpus.scheduler import can_offload
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import ByHand, boot_without
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.build_options import PACKED
from noisewatch.kernel.system.release import COMMAND_LINE
from noisewatch.records import dataclass
from noisewatch.text import clean

_OPTIONS = ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity")

_BY_HAND = ByHand(
    "name the CPUs to isolate in isolcpus, nohz_full and rcu_nocbs, all others in irqaffinity, and reboot",
    needs_reboot=True,
)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of the isolation options, and its remedy."""

    words: str
    remedy: ByHand


@check(
    id="isolation-options-wrong",
    area="isolation",
    question="Do the kernel's options for isolation take effect, and agree with each other?",
    severity=Severity.WARNING,
    reads=(COMMAND_LINE, f"{CPUS}/{{isolated,nohz_full}}", "/proc/config.gz", "/proc/PID/stat of rcuo threads"),
    why=(
        "A kernel ignores options that it was built without, or whose lists it rejects, and says so in its log only. "
        "isolcpus, nohz_full and rcu_nocbs name the CPUs to isolate, irqaffinity names all other CPUs: with a list "
        "swapped, the isolated CPUs handle all interrupts."
    ),
    remedy="Correct the options or remove them; a kernel for nohz_full is built with CONFIG_NO_HZ_FULL.",
    sources=(
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        "https://docs.kernel.org/admin-guide/cpu-isolation.html",
    ),
)
def isolation_options_wrong(case: Case) -> Answer:
    isolation, options = case.snapshot.isolation, case.snapshot.platform.options
    if options is None:
        return unknown(case.why_unknown(COMMAND_LINE))
    used = [f"{name}={clean(value)}" for name in _OPTIONS for value in options.get(name, ())]
    if not used:
        return not_applicable("the kernel was booted without options for isolation")
    faults = [*_without_effect(case), *_contradictions(case)]
    evidence = {"options": used}
    if faults:
        remedies = tuple(dict.fromkeys(fault.remedy for fault in faults))
        words = "; ".join(fault.words for fault in faults)
        return Answer(Status.FAIL, words, evidence=evidence, fix=Fix(lasting=remedies))
    if isolation.boot is None and "isolcpus" in options:
        return unknown(case.why_unknown(f"{CPUS}/isolated"))
    if isolation.nohz_full is None and "nohz_full" in options:
        return unknown(case.why_unknown(f"{CPUS}/nohz_full"))
    if can_offload(case) is None and "rcu_nocbs" in options:
        return unknown(case.why_unknown(PACKED))
    return Answer(Status.PASS, f"in effect: {' '.join(used)}", evidence=evidence)


def _without_effect(case: Case) -> Iterator[_Fault]:
    """Yield options that the kernel ignores (housekeeping_setup in kernel/sched/isolation.c of Linux 6.8)."""
    isolation, requested = case.snapshot.isolation, case.snapshot.isolation.requested or {}
    config = case.snapshot.platform.config
    has_tickless = None if config is None else config.is_set("NO_HZ_FULL")
    without_tickless = " (this kernel is built without CONFIG_NO_HZ_FULL)" if has_tickless is False else ""
    domain = _cpus_to_isolate(case)
    if domain != frozenset() and isolation.boot is not None and not (domain or isolation.boot) & isolation.boot:
        with_tick = any("nohz" in option.flags for option in isolation.isolcpus or ())
        yield _ineffective(case, "isolcpus", without_tickless if with_tick else "")
    if requested.get("nohz_full", frozenset()) != frozenset() and isolation.nohz_full == frozenset():
        yield _ineffective(case, "nohz_full", without_tickless)
    if "rcu_nocbs" in requested and can_offload(case) is False:
        yield _ineffective(case, "rcu_nocbs", " (this kernel is built without CONFIG_RCU_NOCB_CPU)")


def _ineffective(case: Case, name: str, why: str) -> _Fault:
    values = (case.snapshot.platform.options or {}).get(name, ())
    given = " ".join(f"{name}={clean(value)}" for value in values)
    return _Fault(f"{given} has no effect{why}", boot_without(name))


def _cpus_to_isolate(case: Case) -> CpuSet | None:
    """Return the CPUs that isolcpus takes from the load balancer; None where its list is malformed."""
    options = case.snapshot.isolation.isolcpus
    if options is None:
        return None
    return frozenset().union(*(option.cpus for option in options if "domain" in option.flags))


def _contradictions(case: Case) -> Iterator[_Fault]:
    requested = case.snapshot.isolation.requested or {}
    isolated, tickless = _cpus_to_isolate(case) or frozenset(), requested.get("nohz_full") or frozenset()
    interrupted = (requested.get("irqaffinity") or frozenset()) & isolated
    is_apart = isolated and tickless and not isolated & tickless
    if interrupted == isolated and is_apart:
        yield _Fault(
            f"isolcpus is swapped: it names {name_cpus(isolated)}, to which irqaffinity sends interrupts, and not "
            f"{name_cpus(tickless)} of nohz_full",
            _BY_HAND,
        )
        return
    if interrupted:
        how = "swapped" if interrupted == requested["irqaffinity"] else "wrong"
        words = f"irqaffinity is {how}: it sends interrupts to {name_cpus(interrupted)} of isolcpus"
        yield _Fault(words, _BY_HAND)
    if is_apart:
        lists = f"isolcpus ({format_cpu_list(isolated)}) and nohz_full ({format_cpu_list(tickless)})"
        yield _Fault(f"{lists} have no CPU in common", _BY_HAND)
