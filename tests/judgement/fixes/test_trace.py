"""Fixes of the tracing check, and their undo."""

from __future__ import annotations

import shlex

from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.judgement.fixes.proposed import fix_of
from tests.written.quiet.system import TRACING


def test_only_costly_events_are_switched_off_and_restored() -> None:
    own = f"{TRACING}/instances/rasdaemon"
    changed = {f"{own}/set_event": "ras:mc_event\nirq:softirq_entry\nirq:softirq_exit\n"}
    fix = fix_of("kernel-traced", changed | {f"{TRACING}/current_tracer": "function\n"})
    assert fix.now == (
        f"echo nop | sudo tee {TRACING}/current_tracer && "
        + _root_shell(f"printf '%s\\n' '!irq:softirq_entry' '!irq:softirq_exit' >>{own}/set_event")
    )
    assert fix.undo == (
        _root_shell(f"printf '%s\\n' irq:softirq_entry irq:softirq_exit >>{own}/set_event")
        + f"; echo function | sudo tee {TRACING}/current_tracer"
    )


def test_function_profiler_and_stack_tracer_are_switched_off_and_restored() -> None:
    profile = f"{TRACING}/function_profile_enabled"
    fix = fix_of("kernel-traced", {profile: "1\n", Knob.STACK_TRACER: "1\n"})
    assert fix.now == f"echo 0 | sudo tee {profile}; echo 0 | sudo tee {Knob.STACK_TRACER}"
    assert fix.undo == f"echo 1 | sudo tee {profile}; echo 1 | sudo tee {Knob.STACK_TRACER}"


def test_the_folder_of_an_instance_is_quoted() -> None:
    own = f"{TRACING}/instances/a b;reboot"
    fix = fix_of("kernel-traced", {f"{own}/current_tracer": "nop\n", f"{own}/set_event": "a:b\n"})
    words = shlex.split(fix.now or "")
    assert words[:3] == ["sudo", "sh", "-c"]
    assert f"'{own}/set_event'" in words[3]


def test_the_trace_of_another_noisewatch_is_kept_while_other_events_are_stopped() -> None:
    own = f"{TRACING}/instances/noisewatch-4026531836-812-912-target"
    files = {f"{own}/current_tracer": "nop\n", f"{own}/set_event": "sched:sched_switch\n"}
    example = Example("kernel-traced", "fail", files | {f"{TRACING}/set_event": "a:b\n"})
    answer = example.found().answer
    assert answer.said == (
        f"{TRACING}: a:b; another noisewatch (pid 812 in a PID namespace of its own) traces: end it, or wait"
    )
    assert answer.fix is not None
    assert answer.fix.now == _root_shell(f"printf '%s\\n' '!a:b' >>{TRACING}/set_event")
    assert Example("kernel-traced", "fail", files).found().answer.fix is None


def _root_shell(command: str) -> str:
    """Return the command for a root shell, because tracefs does not let `tee -a` seek to the end."""
    return f"sudo sh -c {shlex.quote(command)}"
