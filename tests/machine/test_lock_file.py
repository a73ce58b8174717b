"""A lock file: the first process has it, and the second one finds it taken."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.machine.lock_file import claim, release


def _if_free(owner: str) -> Callable[[str], str | None]:
    return lambda text: owner if text == "" else None


def test_lock_is_the_first_ones_until_it_is_released(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    assert claim(path, _if_free("one\n"))
    assert not claim(path, _if_free("two\n"))
    release(path, "two\n")
    assert Path(path).read_text() == "one\n"
    release(path, "one\n")
    assert claim(path, _if_free("two\n"))


def test_unchanged_lock_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("one\n")
    written_ns = path.stat().st_mtime_ns
    assert claim(str(path), lambda text: text)
    assert path.stat().st_mtime_ns == written_ns


def test_one_of_many_simultaneous_processes_has_the_lock(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from noisewatch.machine.lock_file import claim\n"
        "print(claim(sys.argv[1], lambda text: sys.argv[2] if text == '' else None))\n"
    )
    path = str(tmp_path / "lock")
    processes = [
        subprocess.Popen([sys.executable, "-c", program, path, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    outputs = [process.communicate()[0].strip() for process in processes]
    assert sorted(outputs) == ["False", "False", "False", "True"]
    assert Path(path).read_text() == str(outputs.index("True"))


def test_lock_is_writable_by_all_users_so_that_a_stale_one_can_be_taken_over(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    claim(path, _if_free("one\n"))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666


def test_lock_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("pipe", "link", "missing/lock"):
        with pytest.raises(UsageError, match=name):
            claim(str(tmp_path / name), _if_free("one\n"))
    assert not (tmp_path / "elsewhere").exists()
