"""Area `kernel`: settings that an interrupted `noisewatch tune` has left changed."""

from __future__ import annotations

from noisewatch.judgement.answer import Answer, not_applicable, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import run_command
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.tuned import BOOT_ID, PATH, TunedSession
from noisewatch.text import clean
from noisewatch.units import describe_count, describe_minute


@check(
    id="tuning-left-behind",
    area=Area.KERNEL,
    question="Has no interrupted `noisewatch tune` left changes behind?",
    severity=Severity.WARNING,
    reads=(PATH, BOOT_ID, "/proc/PID/stat of the process that made the changes"),
    why=(
        "If `noisewatch tune` and the process that restores its changes are both killed, the machine remains partly "
        "tuned. Later measurements then differ from earlier ones, and other work runs with settings not chosen for it."
    ),
    remedy="`noisewatch restore` restores the earlier values; `noisewatch tune --status` lists them.",
    sources=("https://man7.org/linux/man-pages/man2/pidfd_open.2.html",),
)
def tuning_left_behind(case: Case) -> Answer:
    tuned = case.snapshot.settings.tuned
    if tuned is None and not case.snapshot.is_live and not {PATH, BOOT_ID} & case.snapshot.reason_by_path.keys():
        return not_applicable("nothing is restored on a copied or recorded machine")
    if tuned is None:
        return case.unread(PATH, BOOT_ID)
    graded = case.graded(evidence={"owners": [clean(session.owner) for session in tuned.sessions]})
    left = [session for session in tuned.sessions if session.is_left_behind]
    if left:
        return graded.fails("; ".join(map(_describe, left)), fix=Fix((run_command("noisewatch restore"),)))
    if any(session.is_left_behind is None for session in tuned.sessions):
        return unknown(f"{PATH} names a process that cannot be seen from here")
    if not tuned.sessions and case.snapshot.platform.container != NONE:
        return unknown(f"{case.container_words} does not see whether its host is tuned")
    return graded.passes(tuned.summary)


def _describe(session: TunedSession) -> str:
    """Return `noisewatch (pid 4711) ended before it restored 12 settings (tuned at 2026-11-14 09:30)`."""
    settings = "its settings" if session.settings is None else describe_count(session.settings, "setting")
    owner = session.process
    return (
        f"{clean(owner.name)} (pid {owner.pid}) ended before it restored {settings} "
        f"(tuned at {describe_minute(session.began_s)})"
    )
