"""Area `idle`: how idle CPUs wait, and how long they take to wake up."""

from __future__ import annotations

from collections.abc import Collection

from noisewatch.cpus import name_cpus
from noisewatch.judgement.answer import Answer, Limit, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import write_all
from noisewatch.judgement.fixes.fix import Fix, boot_without, write_for_good
from noisewatch.judgement.grading import hardware_without
from noisewatch.judgement.rules import IO, LATENCY, PARALLEL
from noisewatch.judgement.terms import Area, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.idle import LATENCY_REQUEST, POLL, CpuIdle, IdleState
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.release import COMMAND_LINE
from noisewatch.units import describe_names

_CPUIDLE_DOC = "https://docs.kernel.org/admin-guide/pm/cpuidle.html"
_LATENCY = Limit(
    key="fails",
    name="wake-up latency",
    value=10,
    unit="µs",
    reason="waking up from C1E takes up to 10 µs, from deeper states usually 30 µs to several hundred",
)
_LONGEST_US = 1_000_000  # longer than any idle state takes to leave; the kernel's default limit is 2000 s

_MAX_NAMED = 3


@check(
    id="deep-idle-states",
    area=Area.IDLE,
    question="Do the target CPUs wake up quickly?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, PARALLEL: Severity.WARNING, IO: Severity.WARNING},
    reads=(
        f"{CPUS}/cpuN/cpuidle/stateK/{{name,latency,disable}}",
        f"{CPUS}/cpuN/power/pm_qos_resume_latency_us",
        f"{LATENCY_REQUEST} (as root)",
    ),
    limits=(_LATENCY,),
    why=(
        "A CPU in a deep idle state may take 100 µs or more to wake up, and its caches may be flushed. This matters to "
        "work that waits for input, timers or other threads, but not to a loop that never sleeps."
    ),
    remedy="Disable the deep idle states of the target CPUs during the benchmark.",
    sources=(_CPUIDLE_DOC, "https://docs.kernel.org/power/pm_qos_interface.html"),
    is_hidden_from_guests=True,
)
def deep_idle_states(case: Case) -> Answer:
    idle = case.snapshot.settings.idle
    graded = case.graded(
        evidence={
            "states_by_cpu": {
                str(cpu): [[state.name, state.latency_us, state.is_disabled] for state in own.states or ()]
                for cpu, own in idle.cpus.items()
            },
            "limit_us_by_cpu": {str(cpu): own.limit_us for cpu, own in idle.cpus.items()},
            "request_us": idle.request_us,
        }
    )
    deep = {cpu: states for cpu in sorted(case.target) if (states := _deep(case, idle.cpus.get(cpu)))}
    if deep:
        latency_us, name = max((state.latency_us or 0, str(state.name)) for states in deep.values() for state in states)
        text = f"{name_cpus(deep)} may enter {name}, which takes {latency_us} µs to leave"
        if idle.request_us is None:
            text += f"; cannot tell whether a latency request prevents it ({case.unread_reason(LATENCY_REQUEST)})"
        status = Status.WARN if idle.request_us is None else Status.FAIL
        return graded.by(_LATENCY, latency_us).answer(status, text, cpus=frozenset(deep), fix=_shallow(deep))
    unreadable = [cpu for cpu in sorted(case.target) if not _is_known(idle.cpus.get(cpu))]
    if unreadable or not case.target:
        folder = f"{CPUS}/cpu{min(unreadable, default=0)}"
        return case.unread(f"{folder}/cpuidle", f"{folder}/power/pm_qos_resume_latency_us")
    if not any(own.states for own in idle.cpus.values()):
        return hardware_without(case, "idle states to choose from")
    if _is_left_to_the_host(case):
        return unknown(f"{case.guest_words} cannot see how deeply its host lets the CPUs sleep")
    return graded.passes(f"awake within {case.bound(_LATENCY):g} µs")


def _limit_us(case: Case, own: CpuIdle) -> float:
    """Return the longest allowed wake-up time (µs), as far as known; infinite without a limit."""
    limits = [limit for limit in (own.limit_us, case.snapshot.settings.idle.request_us) if limit is not None]
    return min(limits, default=float("inf"))


def _deep(case: Case, own: CpuIdle | None) -> list[IdleState]:
    """Return the idle states that are enabled, allowed and take too long to leave."""
    if own is None:
        return []
    limit_us = _limit_us(case, own)
    return [
        state
        for state in own.states or ()
        if state.is_disabled is False
        and state.latency_us is not None
        and case.bound(_LATENCY) < state.latency_us <= limit_us
    ]


def _is_known(own: CpuIdle | None) -> bool:
    if own is None or own.states is None or own.limit_us is None:
        return False
    return all(state.is_disabled is not None and state.latency_us is not None for state in own.states)


def _is_left_to_the_host(case: Case) -> bool:
    """Return whether this is a guest that may halt idle CPUs, so that its idle tables lack the real wake-up time."""
    settings = case.snapshot.settings
    if case.snapshot.platform.virtual == NONE and settings.knobs.word(Knob.IDLE_DRIVER) != "haltpoll":
        return False
    return any(
        state.is_sleep and not state.is_disabled for own in settings.idle.cpus.values() for state in own.states or ()
    )


def _shallow(deep: dict[int, list[IdleState]]) -> Fix:
    """Return the fix that disables the idle states. Undo enables all of them, because all are enabled now."""
    states = [f"cpu{cpu}/cpuidle/state{state.index}" for cpu, own in sorted(deep.items()) for state in own]
    return write_for_good(write_all(1, {f"{CPUS}/{state}/disable": "0" for state in states}))


@check(
    id="idle-cpus-spin",
    area=Area.IDLE,
    question="Do idle CPUs sleep instead of spinning?",
    severity=Severity.INFORMATION,
    reads=(
        f"{COMMAND_LINE} (idle=)",
        f"{LATENCY_REQUEST} and /proc/PID/fd (as root)",
        f"{CPUS}/cpuN/cpuidle/state0/name",
    ),
    reads_counters=True,
    why=(
        "With idle=poll, or while a process requests a shorter latency than any idle state has, every idle CPU spins: "
        "it takes execution units from its sibling, and its power and heat reduce the turbo of all other CPUs."
    ),
    remedy=(
        "Boot without idle=poll, and stop the process that holds /dev/cpu_dma_latency open; to avoid deep idle "
        "states, disable them instead."
    ),
    sources=("https://docs.kernel.org/admin-guide/kernel-parameters.html", _CPUIDLE_DOC),
)
def idle_cpus_spin(case: Case) -> Answer:
    idle = case.snapshot.settings.idle
    graded = case.graded(
        evidence={"idle": idle.boot_option, "request_us": idle.request_us, "holders": sorted(idle.holders)}
    )
    is_felt = bool(case.siblings) and case.rules.profile != LATENCY
    severity = Severity.WARNING if is_felt else None
    if idle.boot_option == "poll":
        fix = Fix(lasting=(boot_without("idle=poll"),))
        return graded.fails("idle=poll: idle CPUs spin", fix=fix, severity=severity)
    bounds = {cpu: _sleep_bounds_us(idle.cpus.get(cpu)) for cpu in sorted(case.target)}
    if idle.request_us is not None and any(idle.request_us < least for least, _ in bounds.values()):
        holders = _name_processes(case, idle.holders)
        text = f"a latency request of {idle.request_us} µs makes idle CPUs spin ({LATENCY_REQUEST}{holders})"
        return graded.fails(text, measured=idle.request_us, unit="µs", severity=severity)
    if idle.boot_option is None or idle.request_us is None:
        return case.unread(COMMAND_LINE if idle.boot_option is None else LATENCY_REQUEST)
    doubtful = next((cpu for cpu, (_, enough) in bounds.items() if idle.request_us < enough), None)
    if doubtful is not None:
        return case.unread(f"{CPUS}/cpu{doubtful}/cpuidle")
    return graded.passes("idle CPUs sleep")


def _name_processes(case: Case, pids: Collection[int]) -> str:
    """Return `, held open by NAME (pid N)`, or an empty text if no process is known."""
    names = [
        f"{task.name} (pid {pid})" if (task := case.tasks_by_tid.get(pid)) else f"pid {pid}" for pid in sorted(pids)
    ]
    return f", held open by {describe_names(names, _MAX_NAMED)}" if names else ""


def _sleep_bounds_us(own: CpuIdle | None) -> tuple[int, int]:
    """Return two limits (µs) of a latency request: below the first the CPU only spins; from the second it may sleep.

    The limits differ if the first state's name or a latency is unknown. Both are 0 if the first state is a sleep state,
    or if there are no states.
    """
    if own is None or own.states is None:
        return 0, _LONGEST_US
    if not own.states or own.states[0].name not in (None, POLL):
        return 0, 0
    sleeps = [state.latency_us for state in own.states[1:]]
    known_sleeps = [latency_us for latency_us in sleeps if latency_us is not None]
    enough = max(min(known_sleeps, default=_LONGEST_US if sleeps else 0), 1)
    is_certain = own.states[0].name is not None and len(known_sleeps) == len(sleeps)
    return enough if is_certain else 0, enough
