"""Standard output that cannot take the answer: a full disk, a closed pipe, a locale that is not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.surfaces.running import NOISEWATCH, quiet_tree, record
from tests.written.quiet_machine import CPUS, process, quiet_files, stat_file

_ASCII = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "COLUMNS": "100"}


@pytest.mark.parametrize(
    "command", [["show"], ["preflight", "--sample", "0", "--no-calibration"], ["explain"], []], ids=" ".join
)
def test_a_full_disk_is_reported_in_one_line_and_is_not_a_verdict(unchanged_tree: Path, command: list[str]) -> None:
    machine = [] if command == ["explain"] else ["--sysroot", str(unchanged_tree)]
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*NOISEWATCH, *command, *machine], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "no space left on device" in result.stderr.lower()


def test_a_closed_pipe_does_not_make_a_noisy_machine_stable(tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n"})
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        command = [*NOISEWATCH, "preflight", "--sample", "0", "--no-calibration", "--sysroot", str(root)]
        result = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode != 0


def test_all_of_explain_can_be_printed_without_unicode() -> None:
    result = subprocess.run(
        [*NOISEWATCH, "explain", "device-interrupts-on-target"], capture_output=True, env=_ASCII, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.isascii()


def test_the_picture_without_a_terminal_can_be_printed_without_unicode(tmp_path: Path) -> None:
    before = quiet_files() | process(900, "h\x1bg", 2, 0)
    after = quiet_files(3.0) | process(900, "h\x1bg", 2, 60_000) | {"/proc/stat": stat_file({2: 1}, 300)}
    recording = record(tmp_path / "machine.nw", before, after)
    result = subprocess.run([*NOISEWATCH, "--replay", str(recording)], capture_output=True, env=_ASCII, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"target 2-3" in result.stdout


def test_the_report_can_be_printed_without_unicode(unchanged_tree: Path) -> None:
    command = [*NOISEWATCH, "preflight", "--sample", "0", "--no-calibration", "--sysroot", str(unchanged_tree)]
    result = subprocess.run(command, capture_output=True, env=_ASCII, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["run", "--", "echo", "hello"], "hello\n"),
        (["run", "--runs", "2", "--calibration", "0.5", "--", "true"], "noisewatch run · "),
        (["preflight", "--sample", "0.5", "--no-calibration", "--exit-zero"], ""),
    ],
)
def test_closed_standard_error_changes_neither_the_answer_nor_the_status(words: list[str], start: str) -> None:
    """The interpreter prints remarks to standard output if standard error is closed."""
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *NOISEWATCH, *words]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 0
    assert result.stdout.startswith(start)
    assert words[1] != "--" or result.stdout == start


def test_a_command_has_the_closed_standard_error_that_noisewatch_has() -> None:
    """If standard error is closed, `ls` opens the folder with the free number 2."""
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *NOISEWATCH, "run", "--", "ls", "-l", "/proc/self/fd"]
    assert " 2 -> /proc/" in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_standard_output_stays_writable_after_a_failed_answer() -> None:
    """Nagios reads its line from standard output even after an error, so only an unwritable stream is abandoned."""
    program = (
        "from noisewatch.surfaces.output import open_output, print_answer\n"
        "from noisewatch.errors import UsageError\n"
        "try:\n"
        "    with open_output(None):\n"
        "        open('/nonexistent/file')\n"
        "except UsageError:\n"
        "    print_answer('UNKNOWN\\n')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "UNKNOWN\n", "")


_LOCALES = ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with two snapshots of the quiet machine."""
    return record(tmp_path_factory.mktemp("ascii") / "machine.nw", quiet_files(), quiet_files())


def _stdout(words: Sequence[str], *settings: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if name not in _LOCALES}
    environment |= dict(setting.split("=") for setting in settings)
    return subprocess.run(words, capture_output=True, env=environment, check=False).stdout


def _replay(recording: Path, command: str, *settings: str) -> bytes:
    return _stdout([*NOISEWATCH, *command.split(), "--replay", str(recording)], *settings)


@pytest.mark.parametrize(
    "command", ["", "preflight -v --no-calibration", "show", "trace", "calibrate --work latency", "plan 1"]
)
def test_all_commands_print_ascii_in_the_locale_c(recording: Path, command: str) -> None:
    text = _replay(recording, command, "LC_ALL=C").decode("ascii")
    assert text.strip() or command == "trace"


@pytest.mark.parametrize(
    ("settings", "is_ascii"),
    [
        ([], False),
        (["LC_ALL=C"], True),
        (["LC_ALL=POSIX"], True),
        (["LANG=C"], True),
        (["LANG=de_DE"], True),
        (["LANG=xx_XX.UTF-8"], False),
        (["LC_ALL=C.utf8", "LANG=C"], False),
        (["LC_ALL=C", "PYTHONUTF8=1"], False),
        (["LC_ALL=C", "PYTHONIOENCODING=utf-8"], False),
        (["LANG=C.UTF-8", "PYTHONIOENCODING=ascii"], True),
    ],
)
def test_the_locale_decides_between_utf8_and_ascii(settings: list[str], is_ascii: bool) -> None:
    program = "import sys; from noisewatch.surfaces.output import is_utf8; print(is_utf8(sys.stdout))"
    assert _stdout([sys.executable, "-c", program], *settings) == (b"False\n" if is_ascii else b"True\n")


def test_the_monitors_picture_follows_the_locale(recording: Path) -> None:
    assert not _replay(recording, "", "LC_ALL=C.utf8", "LANG=C").isascii()
    assert _replay(recording, "", "LANG=C.UTF-8", "PYTHONIOENCODING=ascii").isascii()


def test_json_and_files_do_not_depend_on_the_locale(recording: Path, tmp_path: Path) -> None:
    assert json.loads(_replay(recording, "preflight --no-calibration --format json", "LC_ALL=C"))["findings"]
    _replay(recording, f"preflight -v --no-calibration --output {tmp_path / 'report'}", "LC_ALL=C")
    assert not (tmp_path / "report").read_bytes().isascii()
