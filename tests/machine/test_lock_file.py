"""Who comes first has the file, and who comes second sees that."""

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


def _if_free(wanted: str) -> Callable[[str], str | None]:
    return lambda text: wanted if text == "" else None


def test_the_first_has_it_until_it_is_given_back(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    assert claim(path, _if_free("one\n"))
    assert not claim(path, _if_free("two\n"))
    release(path, "two\n")
    assert Path(path).read_text() == "one\n"
    release(path, "one\n")
    assert claim(path, _if_free("two\n"))


def test_what_is_to_stay_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("one\n")
    written_ns = path.stat().st_mtime_ns
    assert claim(str(path), lambda text: text)
    assert path.stat().st_mtime_ns == written_ns


def test_of_many_at_once_one_has_it(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from noisewatch.machine.lock_file import claim\n"
        "print(claim(sys.argv[1], lambda text: sys.argv[2] if text == '' else None))\n"
    )
    path = str(tmp_path / "lock")
    several = [
        subprocess.Popen([sys.executable, "-c", program, path, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    said = [process.communicate()[0].strip() for process in several]
    assert sorted(said) == ["False", "False", "False", "True"]
    assert Path(path).read_text() == str(said.index("True"))


def test_everybody_may_write_it_as_everybody_may_have_to_take_over_a_stale_one(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    claim(path, _if_free("one\n"))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666


def test_what_is_no_file_is_no_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("pipe", "link", "missing/lock"):
        with pytest.raises(UsageError, match=name):
            claim(str(tmp_path / name), _if_free("one\n"))
    assert not (tmp_path / "elsewhere").exists()
