"""Text is ASCII where the locale is not UTF-8, although Python itself writes UTF-8 in the locale C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.surfaces.running import NOISEWATCH, record
from tests.written.quiet_machine import quiet_files

_LOCALES = ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a machine that moved from one moment to the next."""
    return record(tmp_path_factory.mktemp("ascii") / "machine.nw", quiet_files(), quiet_files())


def _ended(words: Sequence[str], *settings: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if name not in _LOCALES}
    environment |= dict(setting.split("=") for setting in settings)
    return subprocess.run(words, capture_output=True, env=environment, check=False).stdout


def _printed(recording: Path, command: str, *settings: str) -> bytes:
    return _ended([*NOISEWATCH, *command.split(), "--replay", str(recording)], *settings)


@pytest.mark.parametrize("command", ["", "preflight -v", "show", "trace", "calibrate", "plan 1"])
def test_all_commands_print_ascii_in_the_locale_c(recording: Path, command: str) -> None:
    text = _printed(recording, command, "LC_ALL=C").decode("ascii")
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
def test_a_locale_that_is_not_named_takes_utf8(settings: list[str], is_ascii: bool) -> None:
    program = "import sys; from noisewatch.surfaces.output import is_utf8; print(is_utf8(sys.stdout))"
    assert _ended([sys.executable, "-c", program], *settings) == (b"False\n" if is_ascii else b"True\n")


def test_the_monitors_picture_is_as_the_locale_is(recording: Path) -> None:
    assert not _printed(recording, "", "LC_ALL=C.utf8", "LANG=C").isascii()
    assert _printed(recording, "", "LANG=C.UTF-8", "PYTHONIOENCODING=ascii").isascii()


def test_json_and_files_do_not_depend_on_the_locale(recording: Path, tmp_path: Path) -> None:
    assert json.loads(_printed(recording, "preflight --format json", "LC_ALL=C"))["findings"]
    _printed(recording, f"preflight -v --output {tmp_path / 'report'}", "LC_ALL=C")
    assert not (tmp_path / "report").read_bytes().isascii()
