"""What keeps away who disturbed a series, with the commands for this machine."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.case import Case
from noisewatch.judgement.remedies import Remedy, common_remedy
from noisewatch.judgement.run.reasons import ReasonKind
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance

_ENDED = "It has ended."
_OF_EVENTS: Mapping[ReasonKind, str] = {
    ReasonKind.THROTTLED: "Cool the processor, or lower its clock to one that it holds.",
    ReasonKind.SWAPPED: "Free memory before the series, or switch swap off.",
    ReasonKind.OFFLINE: "Keep the target CPUs online for the whole series.",
    ReasonKind.CLOCK_LOWERED: "Set the clock to one that it holds under this load (governor, turbo, power limits).",
    ReasonKind.CLOCK_STEPPED: "Stop what sets the clock: a daemon that slews it (chrony) disturbs nothing.",
    ReasonKind.SUSPENDED: "Keep the machine awake: systemd-inhibit --what=sleep noisewatch run …",
    ReasonKind.PAUSED: "Ask whoever runs the virtual machine what pauses it: snapshots, backups, live migration.",
    ReasonKind.STOPPED: "Let the series run in the foreground, without Ctrl-Z.",
    ReasonKind.NODE_CHANGED: "Keep it on one memory node (--cpus, or numactl).",
    ReasonKind.CORES_CHANGED: "Keep it on one kind of core (--cpus).",
}


def remedy_of_run(culprit: RunCulprit, then: Tasks | None, case: Case) -> Remedy | None:
    """What helps; None where nothing is known to. `then` are the tasks at the end of a repetition that it disturbed.

    The case is of the end of the series. A process is moved only if it is the one that was seen then: its number may
    be another's by now.
    """
    if culprit.kind in _OF_EVENTS:
        return Remedy(_OF_EVENTS[culprit.kind])
    noise = Kind.QUOTA if culprit.kind == ReasonKind.QUOTA else culprit.noise
    if noise is None:
        return None
    if noise not in THREADS:
        cpus = sorted(culprit.cpus or case.target)
        return common_remedy([_on_cpu(culprit, noise, cpu) for cpu in cpus], case) if cpus else None
    living = [task for pid in culprit.pids for task in _still_there(pid, then, case.snapshot.tasks)]
    if not living:
        return _for_the_next_time(culprit, case)
    return common_remedy([_of_task(culprit, noise, task) for task in living], case)


def _still_there(pid: int, then: Tasks | None, now: Tasks | None) -> list[Task]:
    """The threads of the process, the first one first."""
    first = now.by_tid.get(pid) if now is not None else None
    seen = then.by_tid.get(pid) if then is not None else None
    if now is None or first is None or seen is None or first.started_ticks != seen.started_ticks:
        return []
    return [first, *(task for task in now.by_tid.values() if task.pid == pid and task.tid != pid)]


def _for_the_next_time(culprit: RunCulprit, case: Case) -> Remedy:
    if culprit.noise != Kind.THREAD or not case.housekeeping:
        return Remedy(_ENDED)
    return Remedy(f"{_ENDED} Next time start it elsewhere: taskset -c {format_cpu_list(case.housekeeping)} COMMAND")


def _on_cpu(culprit: RunCulprit, noise: Kind, cpu: int) -> Disturbance:
    return Disturbance(
        noise,
        culprit.name,
        cpu,
        culprit.ns,
        share=None,
        rate_per_s=None,
        irq=culprit.irq,
        is_inferred=culprit.is_estimate,
    )


def _of_task(culprit: RunCulprit, noise: Kind, task: Task) -> Disturbance:
    return Disturbance(
        noise, culprit.name, task.cpu, culprit.ns, share=None, rate_per_s=None, pid=task.pid, tid=task.tid
    )
