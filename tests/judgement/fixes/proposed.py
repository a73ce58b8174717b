"""Fixes that a check proposes for the quiet machine with a few files changed."""

from __future__ import annotations

from noisewatch.cpus import CpuSet
from noisewatch.judgement.fixes.fix import Fix
from tests.judgement.example import Example, all_examples
from tests.judgement.judging import finding_on
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, TARGET, quiet_files


def fix_of(check_id: str, changed: dict[str, str], cpus: CpuSet = TARGET, modes: dict[str, int] | None = None) -> Fix:
    """Return the check's fix for these target CPUs; it must have one."""
    machine = WrittenMachine(quiet_files() | changed, quiet_files(3.0) | changed, answers=ANSWERS, modes=modes)
    fix = finding_on(machine, check_id, cpus).answer.fix
    assert fix is not None
    return fix


def fix_of_example(example: Example) -> Fix:
    """Return the fix for the example's machine; there must be one."""
    fix = example.found().answer.fix
    assert fix is not None
    return fix


def example_named(check_id: str, status: str, named: str) -> Example:
    """Return the check's only example with this answer."""
    (example,) = [
        example
        for example in all_examples()
        if (example.id, example.status, example.named) == (check_id, status, named)
    ]
    return example
