"""The address layout of commands, and the variables added to their environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisewatch.machine.command.python_launching import FIXED_LAYOUT, RANDOM_LAYOUT, try_layout
from tests.machine.command.wrapped import run, with_all_cores, wrap
from tests.plumbing.seccomp import IS_SUPPORTED, forbid_personality

_PERSONALITY, _STAT = ["cat", "/proc/self/personality"], ["cat", "/proc/self/stat"]
_FIXED = ["setarch", "-R"]
_is_random = Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "2"
_needs_personality = pytest.mark.skipif(not Path(_PERSONALITY[1]).exists(), reason="the personality is hidden")


def _stack_starts(core: str, layout: int, count: int = 3) -> set[str]:
    """Return where the stacks of `count` processes start (proc_pid_stat(5), field 28)."""
    texts = [run(wrap(core, _STAT, layout=layout)).stdout for _ in range(count)]
    return {text.rpartition(")")[2].split()[25] for text in texts}


@_needs_personality
@with_all_cores
def test_layout_of_the_plan_is_that_of_the_command(core: str) -> None:
    assert run(wrap(core, _PERSONALITY, layout=FIXED_LAYOUT)).stdout == "00040000\n"
    assert run(_FIXED + wrap(core, _PERSONALITY, layout=FIXED_LAYOUT)).stdout == "00040000\n"
    assert run(_FIXED + wrap(core, _PERSONALITY, layout=RANDOM_LAYOUT)).stdout == "00000000\n"


@_needs_personality
@with_all_cores
def test_layout_is_inherited_unless_the_plan_has_one(core: str) -> None:
    assert run(wrap(core, _PERSONALITY)).stdout == "00000000\n"
    assert run(_FIXED + wrap(core, _PERSONALITY)).stdout == "00040000\n"


@_needs_personality
@with_all_cores
def test_other_flags_of_the_personality_are_kept(core: str) -> None:
    look = ["setarch", "--addr-compat-layout", *wrap(core, _PERSONALITY, layout=FIXED_LAYOUT)]
    assert run(look).stdout == "00240000\n"


@with_all_cores
def test_all_processes_with_a_fixed_layout_have_one_stack(core: str) -> None:
    (only,) = _stack_starts(core, FIXED_LAYOUT)
    assert int(only)


@pytest.mark.skipif(not _is_random, reason="addresses are not randomized here")
@with_all_cores
def test_processes_with_a_random_layout_have_different_stacks(core: str) -> None:
    assert len(_stack_starts(core, RANDOM_LAYOUT)) == 3


@pytest.mark.skipif(not IS_SUPPORTED, reason="the number of the system call is unknown")
@with_all_cores
def test_a_kernel_that_forbids_the_layout_starts_nothing(core: str) -> None:
    result = run(wrap(core, ["echo", "ran"], layout=FIXED_LAYOUT), preexec_fn=forbid_personality)
    assert (result.returncode, result.stdout) == (125, "")
    assert "cannot set the layout of its addresses: operation not permitted" in result.stderr
    assert run(wrap(core, ["echo", "ran"], layout=RANDOM_LAYOUT), preexec_fn=forbid_personality).stdout == "ran\n"


@_needs_personality
def test_a_trial_changes_nothing() -> None:
    before = Path(_PERSONALITY[1]).read_text()
    try_layout(FIXED_LAYOUT)
    try_layout(RANDOM_LAYOUT)
    assert Path(_PERSONALITY[1]).read_text() == before


@with_all_cores
def test_variables_of_the_plan_replace_those_of_the_same_name(core: str) -> None:
    environment = {"PATH": os.environ["PATH"], "A": "1", "AB": "2"}
    result = run(wrap(core, ["env"], variables=["A=3", "C="]), environment)
    assert result.stdout.splitlines() == [f"PATH={environment['PATH']}", "AB=2", "A=3", "C="]
