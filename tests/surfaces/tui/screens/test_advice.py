"""Advice for the selected source: its description, its CPUs and its fix; and the copy of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.judgement.terms import Gravity
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.advise import Advice, advise
from noisewatch.operations.frame.frame import CulpritLine, FindingLine
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.culprits import culprits_rows
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.running import record
from tests.surfaces.tui.app.piloting import key_of, lines_of, until, with_monitor
from tests.surfaces.tui.framing import culprit, frame, model_of
from tests.written import WrittenMachine
from tests.written.quiet_machine import TARGET, process, quiet_files

_BY_HAND = "add to the kernel command line and reboot: nohz_full=2-3"
_HOG = culprit("hog", cpu=2, pid=900, tid=900)


def _advice(
    about: CulpritLine, changes: dict[str, str] | None = None, others: Sequence[CulpritLine] = (), **machine: Any
) -> Advice:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3") | (changes or {})
    host = WrittenMachine(files, **machine)
    host.is_live = True
    return advise(lambda: host, TARGET, about, others)


def _irq(number: int, name: str) -> CulpritLine:
    return culprit(name, cpu=2, kind="irq", pid=None, tid=None, irq=number)


def test_advice_on_an_interrupt_shows_queue_device_and_affinity() -> None:
    files = {"/proc/irq/25/smp_affinity_list": "0-3\n", "/proc/irq/25/effective_affinity_list": "2\n"}
    answers = {"devices by irq": {"25": "NVMe SSD Controller (nvme0n1)"}}
    lines = _advice(_irq(25, "25 nvme0q1"), files, answers=answers).lines
    assert lines[:2] == (
        "IRQ 25: queue 1 of the disk nvme0; device: NVMe SSD Controller (nvme0n1).",
        "Allowed on CPUs 0-3, delivered to CPU 2; it can be moved.",
    )


def test_an_interrupt_that_the_kernel_manages_cannot_be_moved() -> None:
    lines = _advice(_irq(25, "25 nvme0q1"), modes={"/proc/irq/25/smp_affinity": 0o444}).lines
    assert lines[:3] == (
        "IRQ 25: queue 1 of the disk nvme0.",
        "Allowed on CPUs 0-1, delivered to CPU 1; it cannot be moved.",
        "The kernel manages this interrupt: it stays off isolated CPUs if the machine boots with isolcpus=managed_irq.",
    )


def test_unreadable_properties_of_an_interrupt_are_unknown() -> None:
    files = {"/proc/irq/25/effective_affinity_list": "rubbish\n", "/proc/sys/kernel/osrelease": "6.1.0\n"}
    assert _advice(_irq(25, "25 nvme0q1"), files).lines[1] == (
        "Allowed on CPUs 0-1, delivered to unknown CPUs; unknown whether it can be moved."
    )
    assert _advice(_irq(99, "99 gone")).lines[0] == "IRQ 99: nothing else is known."


def test_a_kernel_thread_is_explained_first_and_a_handler_shows_its_irq() -> None:
    worker = culprit("kworker/2:1-kblockd", cpu=2, kind="kernel-thread", pid=77, tid=77)
    assert _advice(worker).lines[0] == (
        "kworker/2:1-kblockd does deferred kernel work on CPU 2 only; ran last: requests to disks (kblockd)."
    )
    handler = culprit("irq/25-nvme0q1", cpu=2, kind="kernel-thread", pid=78, tid=78)
    lines = _advice(handler).lines
    assert lines[0].startswith("irq/25-nvme0q1 handles IRQ 25 in a thread: queue 1 of")
    assert lines[2].startswith("Allowed on CPUs 0-1")


def test_advice_explains_why_the_time_of_a_thread_is_an_estimate() -> None:
    lines = [_advice(replace(_HOG, is_estimate=is_estimate)).lines[0] for is_estimate in (True, False)]
    assert lines[0].startswith("The thread's total run time is measured. Its share on this CPU is an estimate")
    assert lines[1].startswith("Move it to the housekeeping CPUs")


def test_softirqs_move_with_the_most_frequent_interrupt_of_their_cpu() -> None:
    softirq = culprit("BLOCK", cpu=2, kind="softirq", pid=None, tid=None, rate_per_s=900.0)
    rare, elsewhere = replace(_irq(24, "24 eth0"), rate_per_s=3.0), replace(_irq(26, "26 eth1"), cpu=3, rate_per_s=5e4)
    frequent = replace(_irq(25, "25 nvme0q1"), rate_per_s=900.0)
    files = {"/proc/irq/25/smp_affinity_list": "0-3\n", "/proc/irq/25/effective_affinity_list": "2\n"}
    fix = _advice(frequent, files).commands
    assert "/proc/irq/25/" in fix[0][1]
    advice = _advice(softirq, files, others=(softirq, rare, elsewhere, frequent))
    assert advice.commands == fix
    assert advice.lines[0].endswith("The most frequent interrupt on CPU 2 is 25 nvme0q1: its softirqs move with it.")
    assert _advice(softirq, files, others=(softirq, elsewhere)).commands == ()
    timer = replace(softirq, name="TIMER")
    assert _advice(timer, files, others=(timer, frequent)).commands == ()


def test_an_irq_on_housekeeping_cpus_needs_no_move() -> None:
    files = {"/proc/irq/25/smp_affinity_list": "0-3\n", "/proc/irq/25/effective_affinity_list": "1\n"}
    harmless = replace(_irq(25, "25 nvme0q1"), cpu=1)
    handler = culprit("irq/25-nvme0q1", cpu=1, kind="kernel-thread", pid=None, tid=None)
    for about in (harmless, handler):
        advice = _advice(about, files, others=(harmless,))
        assert advice.lines[-1] == "It disturbs no target CPU: it goes to CPU 1."
        assert advice.commands == ()
    assert _advice(harmless, files, others=(_irq(25, "25 nvme0q1"),)).commands  # it interrupted a target CPU
    assert _advice(harmless, files | {"/proc/irq/25/effective_affinity_list": "2\n"}).commands


def test_commands_for_another_machine_are_marked(tmp_path: Path) -> None:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3")
    recording = record(tmp_path / "machine.nw", files)
    lines = advise(lambda: Recording(str(recording)), TARGET, _HOG).lines
    assert lines[1] == "On the machine shown, not on this one:"
    assert lines[2].startswith("now: sudo taskset")
    assert not [line for line in _advice(_HOG).lines if line.startswith("On the machine")]


def test_an_ordinary_thread_is_not_explained() -> None:
    assert _advice(_HOG).lines[0].startswith("Move it to the housekeeping CPUs")


@pytest.mark.parametrize(
    ("commands", "command", "notice"),
    [
        ((("now", "one"),), "one", "copied, not run: one"),
        (
            (("now", "one"), ("undo", "two"), ("for good", "three")),
            "one",
            "copied (now; also shown: undo, for good), not run: one",
        ),
        ((("for good", "one"),), "one", "copied (for good), not run: one"),
        ((), None, "no command to copy: no fix is known"),
    ],
)
def test_the_first_command_is_copied(commands: tuple[tuple[str, str], ...], command: str | None, notice: str) -> None:
    model = model_of(frame(4, (_HOG,)))
    model.advice = Advice(_HOG, ("said",), commands)
    assert command_to_copy(model) == (command, notice)


def test_a_manual_step_is_shown_but_not_copied() -> None:
    tick = culprit("timer tick", cpu=2, kind="tick", pid=None, tid=None)
    model = model_of(frame(4, (tick,)))
    model.advice = _advice(tick, {"/sys/devices/system/cpu/nohz_full": "\n"})
    assert model.advice.lines[-1] == f"for good: {_BY_HAND}"
    assert command_to_copy(model) == (None, f"to be done by hand: {_BY_HAND}")


def test_nothing_is_copied_before_advice_was_requested() -> None:
    model = model_of(frame(4, (_HOG,)))
    assert command_to_copy(model) == (None, "no command to copy: press f for a fix")


def test_advice_stays_until_another_row_is_selected_or_it_is_closed() -> None:
    model = model_of(frame(4, (_HOG,)))
    model.go_to("culprits")
    model.ask_for_fix(_HOG)
    model.advice, model.awaits_fix = Advice(_HOG, ("said",), (("now", "one"),)), False
    model.add(frame(4, (replace(_HOG, name="louder", tid=1), _HOG), 2))
    assert command_to_copy(model)[0] == "one"
    assert " thread hog [900] on CPU 2   y copy · f, esc close" in [
        strip_of(row, 100).text.rstrip() for row in culprits_rows(model, 100, 30, UNICODE)
    ]
    model.select(1)  # the last row: nothing else is selected
    assert command_to_copy(model)[0] == "one"
    model.select(-1)
    assert model.shows_fix
    assert command_to_copy(model) == (None, "nothing to copy yet: the fix is being looked up")
    model.go_back()
    assert (model.screen, command_to_copy(model)) == ("culprits", (None, "no command to copy: press f for a fix"))


def test_long_advice_scrolls_to_its_end_and_no_further() -> None:
    model = model_of(frame(4, (_HOG,)))
    model.go_to("culprits")
    model.advice = Advice(_HOG, tuple(f"line {number}" for number in range(40)), (("now", "one"),))

    def draw() -> str:
        return "\n".join(strip_of(row, 100).text for row in culprits_rows(model, 100, 30, UNICODE))

    assert "hog [900] on CPU 2" in draw()
    assert "pgdn scrolls" in draw()
    assert "line 39" not in draw()
    for _ in range(100):
        model.scroll_fix(1)
        last = draw()
    assert "line 39" in last
    assert "pgdn scrolls" not in last
    model.scroll_fix(-1)
    assert "line 39" not in draw()


def test_on_a_small_screen_the_command_comes_first_with_its_purpose() -> None:
    model = model_of(frame(4, (_HOG,)))
    why = tuple(f"line {number}" for number in range(40))
    model.advice = Advice(_HOG, (*why, "now: move it", "undo: move it back"), (("now", "move it"),))
    lines = [strip_of(row, 80).text.strip() for row in culprits_rows(model, 80, 24, UNICODE)]
    assert lines.index("now: move it") + 1 == lines.index("line 0")


def test_the_fix_of_a_check_is_copied() -> None:
    findings = (
        FindingLine(id="one", status="fail", weight="blocking", gravity=Gravity.FAILED, said="said", fix="sudo fix"),
        FindingLine(id="two", status="fail", weight="blocking", gravity=Gravity.FAILED, said="said"),
        FindingLine(
            id="three",
            status="fail",
            weight="blocking",
            gravity=Gravity.FAILED,
            said="said",
            fix=_BY_HAND,
            is_command=False,
        ),
    )
    model = model_of(replace(frame(4), findings=findings))
    model.go_to("preflight")
    assert command_to_copy(model) == ("sudo fix", "copied, not run: sudo fix")
    model.select(1)
    assert command_to_copy(model) == (None, "no command to copy: no fix is known")
    model.select(1)
    assert command_to_copy(model) == (None, f"to be done by hand: {_BY_HAND}")


def test_y_copies_the_command_to_the_clipboard_and_gives_a_notice(tmp_path: Path) -> None:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3")
    recording = record(tmp_path / "machine.nw", files)
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, (_HOG,), target=(2, 3)))
        await pilot.press(key_of(Screen.CULPRITS), "y")
        texts.append(app.clipboard)
        await pilot.press("f")
        await until(pilot, lambda: "taskset" in "".join(lines_of(app)))
        await pilot.press("y")
        texts.extend([app.clipboard, lines_of(app)[-1]])

    with_monitor(steps, access=MachineAccess(lambda: Recording(str(recording))))
    assert texts[:2] == ["", "sudo taskset -pc 0-1 900"]
    assert "copied" in texts[2]
