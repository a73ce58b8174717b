"""A fault of noisewatch's own is an error, and never looks like a verdict."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The run of a command that goes wrong in a way that nobody has thought of.
_PROGRAM = """\
import sys
from noisewatch.surfaces.cli import tell_internal_error
sys.excepthook = tell_internal_error
raise ZeroDivisionError("division\\nby zero")
"""


@pytest.mark.parametrize(("form", "status"), [("text", 2), ("nagios", 3)])
def test_it_is_told_in_one_line_with_the_status_of_an_error(form: str, status: int) -> None:
    command = [sys.executable, "-c", _PROGRAM, "preflight", "--format", form]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    told = "internal error: ZeroDivisionError: division by zero (<string>:4)"
    assert (ran.returncode, ran.stderr) == (status, f"noisewatch: {told}; please report it\n")
    assert (told in ran.stdout) == (form == "nagios")  # which reads nothing else
