"""Programs of noisewatch's own processes, which load only the standard library."""

from __future__ import annotations

import subprocess

import pytest

from noisewatch.machine.bare_interpreter import bare_interpreter


@pytest.mark.parametrize(
    "module", ["spinning.calibration.host", "spinning.idle_probe.host", "spinning.load.host", "tracefs.watcher"]
)
def test_bare_interpreter_has_all_imports_of_its_program(module: str) -> None:
    *command, boot, root = bare_interpreter(f"noisewatch.machine.{module}")
    subprocess.run([*command, boot.removesuffix("main()"), root], check=True)
