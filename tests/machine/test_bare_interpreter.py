"""Processes of noisewatch's own load nothing but the standard library."""

from __future__ import annotations

import subprocess

import pytest

from noisewatch.machine.bare_interpreter import bare_interpreter


@pytest.mark.parametrize(
    "module", ["spinning.calibration.host", "spinning.idle_probe.host", "spinning.load.host", "tracefs.watcher"]
)
def test_a_bare_interpreter_has_all_that_its_program_imports(module: str) -> None:
    *command, boot, root = bare_interpreter(f"noisewatch.machine.{module}")
    subprocess.run([*command, boot.removesuffix("main()"), root], check=True)
