"""Standard output that does not take the answer: a full disk, a reader that went away, a poor encoding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.running import NOISEWATCH, quiet_tree, record
from tests.written.quiet_machine import CPUS, process, quiet_files, stat_file

_ASCII = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "COLUMNS": "100"}


@pytest.mark.parametrize(
    "command", [["show"], ["preflight", "--sample", "0", "--no-calibration"], ["explain"], []], ids=" ".join
)
def test_a_full_disk_is_told_in_one_line_and_is_no_verdict(unchanged_tree: Path, command: list[str]) -> None:
    machine = [] if command == ["explain"] else ["--sysroot", str(unchanged_tree)]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [*NOISEWATCH, *command, *machine], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "no space left on device" in ran.stderr.lower()


def test_a_reader_that_went_away_does_not_make_a_noisy_machine_stable(tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n"})
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        command = [*NOISEWATCH, "preflight", "--sample", "0", "--no-calibration", "--sysroot", str(root)]
        ran = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.stderr == ""
    assert ran.returncode != 0


def test_all_of_explain_can_be_printed_without_unicode() -> None:
    ran = subprocess.run(
        [*NOISEWATCH, "explain", "device-interrupts-on-target"], capture_output=True, env=_ASCII, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()


def test_the_picture_without_a_terminal_can_be_printed_without_unicode(tmp_path: Path) -> None:
    before = quiet_files() | process(900, "h\x1bg", 2, 0)
    after = quiet_files(3.0) | process(900, "h\x1bg", 2, 60_000) | {"/proc/stat": stat_file({2: 1}, 300)}
    recording = record(tmp_path / "machine.nw", before, after)
    ran = subprocess.run([*NOISEWATCH, "--replay", str(recording)], capture_output=True, env=_ASCII, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"target 2-3" in ran.stdout


def test_the_report_can_be_printed_without_unicode(unchanged_tree: Path) -> None:
    command = [*NOISEWATCH, "preflight", "--sample", "0", "--no-calibration", "--sysroot", str(unchanged_tree)]
    ran = subprocess.run(command, capture_output=True, env=_ASCII, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_what_fails_while_an_answer_is_made_leaves_standard_output_to_be_written() -> None:
    """Nagios reads its line from standard output even after an error; only an unwritable stream is given up."""
    program = (
        "from noisewatch.surfaces.output import opened_output, print_answer\n"
        "from noisewatch.errors import UsageError\n"
        "try:\n"
        "    with opened_output(None):\n"
        "        open('/nonexistent/file')\n"
        "except UsageError:\n"
        "    print_answer('UNKNOWN\\n')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "UNKNOWN\n", "")
