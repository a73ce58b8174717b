"""A frame whose checks have three causes, for the screens that show them."""

from __future__ import annotations

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Gravity
from noisewatch.operations.frame.frame import CauseLine, FindingLine, Frame
from tests.surfaces.tui.framing import frame


def finding_line(name: str, gravity: Gravity, cause: int | None, text: str = "") -> FindingLine:
    status = {Gravity.FAILED: "fail", Gravity.WARNED: "warn"}.get(gravity, "unknown")
    return FindingLine(
        id=name, status=status, weight="blocking", gravity=gravity, said=text or f"{name} is", cause=cause
    )


HOG_IN_TWO = (
    finding_line("tasks-on-target", Gravity.FAILED, 1, "hog (pid 7): 48% of CPU 3 (limit 0.5%)"),
    finding_line("target-cpu-busy", Gravity.FAILED, 1, "CPU 3 is 48% busy"),
    finding_line("turbo-enabled", Gravity.WARNED, 2, "turbo is on"),
    finding_line("swapping", Gravity.UNANSWERED, 3, "no such file"),
    finding_line("processor-hot", Gravity.OPEN, None),
)
_CAUSES = (
    CauseLine(
        (("now", "sudo taskset -pc 0-1 7"), ("undo", "sudo taskset -pc 0-3 7")), ("tasks-on-target", "target-cpu-busy")
    ),
    CauseLine((("now", "echo 0 | sudo tee /turbo"),), ("turbo-enabled",)),
    CauseLine(said="run noisewatch on the machine itself", is_open=True),
)


def by_cause(second: int = 1) -> Frame:
    order = "".join(str(list(Gravity).index(Gravity.PASSED)) for _ in CATALOGUE)
    return frame(findings=HOG_IN_TWO, causes=_CAUSES, gravities=order, verdict="unstable", second=second)
