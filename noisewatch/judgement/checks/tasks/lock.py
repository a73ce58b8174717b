"""Area `load`: whether another benchmark has the machine."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.tasks.machine_lock import PATH


@check(
    id="machine-locked",
    area="load",
    question="Is no other benchmark running, or about to run, here?",
    severity=Severity.BLOCKING,
    reads=(PATH, "/proc/PID/stat of the process that it names"),
    why=(
        "Two benchmarks that ask at the same moment both find the machine quiet, and then disturb each other. "
        "`preflight --lock` signs for the script that calls it, and all that it starts, until that script ends."
    ),
    remedy="Wait for the other one (--wait), or end it; a lock whose process is gone counts for nothing.",
    sources=("https://man7.org/linux/man-pages/man2/flock.2.html",),
)
def machine_locked(case: Case) -> Answer:
    lock = case.snapshot.machine_lock
    if lock is None and not case.snapshot.is_live and PATH not in case.snapshot.reason_by_path:
        return not_applicable("on a machine that was copied or recorded nothing is to start")
    if lock is None:
        return unknown(case.why_unknown(PATH))
    if lock.owner is None:
        return Answer(Status.PASS, "nobody has locked the machine")
    who = f"{lock.owner.name} (pid {lock.owner.pid})"
    evidence = {"pid": lock.owner.pid, "name": lock.owner.name, "is_alive": lock.is_alive}
    if lock.is_alive is None:
        return unknown(f"{PATH} names {who}, and whether that still runs cannot be seen from here")
    if lock.is_ours:
        return Answer(Status.PASS, f"locked for this run, by {who}", evidence=evidence)
    if not lock.is_alive:
        return Answer(Status.PASS, f"a stale lock: {who} has ended", evidence=evidence)
    if lock.is_ours is None:
        return unknown(f"{who} has locked the machine, and whether it has started this run cannot be seen")
    return Answer(Status.FAIL, f"{who} has locked the machine", evidence=evidence)
