"""Files in which a running noisewatch publishes its status, and the conditions under which readers trust them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisewatch.machine.status_files import LARGEST, StatusFile, StatusFiles, own_folder, trusted_folders

_NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Let no other user write what a test writes, which would not be trusted."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _framed(text: bytes) -> bytes:
    return b"%08x\n%b" % (zlib.crc32(text), text)


def _texts(folder: Path) -> list[str]:
    return StatusFiles([str(folder)]).texts()


def test_what_is_written_last_is_read_whole(tmp_path: Path) -> None:
    file, files = StatusFile(str(tmp_path / "noisewatch")), StatusFiles([str(tmp_path / "noisewatch")])
    assert files.texts() == []
    for text in ("a long text, with 7/10 — ü", "short", "a longer one again"):
        file.write(text)
        assert files.texts() == [text]
    file.remove()


def test_who_has_it_open_reads_its_end_once_although_it_was_removed(tmp_path: Path) -> None:
    file, files = StatusFile(str(tmp_path / "noisewatch")), StatusFiles([str(tmp_path / "noisewatch")])
    file.write("running")
    assert files.texts() == ["running"]
    file.write("ended")
    file.remove()
    file.remove()
    assert os.listdir(tmp_path / "noisewatch") == []
    assert files.texts() == ["ended"]
    assert files.texts() == []


def test_nobody_else_may_write_folder_and_file(tmp_path: Path) -> None:
    file = StatusFile(str(tmp_path / "noisewatch"))
    is_root = os.geteuid() == 0
    assert (tmp_path / "noisewatch").stat().st_mode & 0o777 == (0o755 if is_root else 0o700)
    assert (tmp_path / "noisewatch" / str(os.getpid())).stat().st_mode & 0o777 == (0o644 if is_root else 0o600)
    file.remove()


def test_a_forked_process_does_not_remove_it(tmp_path: Path) -> None:
    file = StatusFile(str(tmp_path / "noisewatch"))
    file.write("mine")
    pid = os.fork()
    if pid == 0:
        file.remove()
        os._exit(0)
    os.waitpid(pid, 0)
    assert _texts(tmp_path / "noisewatch") == ["mine"]
    file.remove()


def test_what_a_killed_process_left_goes_with_the_next_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal\nfrom noisewatch.machine.status_files import StatusFile\n"
        "StatusFile(sys.argv[1]).write('killed')\nprint(os.getpid(), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    folder = tmp_path / "noisewatch"
    ran = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False)
    living = "import sys\nfrom noisewatch.machine.status_files import StatusFile\nfile = StatusFile(sys.argv[1])\n"
    living += "file.write('living')\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", living, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert ran.stdout.strip() not in os.listdir(folder)
        file = StatusFile(str(folder))
        assert sorted(os.listdir(folder)) == sorted([str(other.pid), str(os.getpid())])
        file.remove()
        assert _texts(folder) == ["living"]


def test_what_nobody_can_place_is_not_told_of(tmp_path: Path) -> None:
    """The place of the folder is taken by a file, by a link, or by nothing that may be written."""
    (tmp_path / "file").write_text("")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for place in ("file", "link", "open", "missing/below", "/proc/1/none"):
        file = StatusFile(str(tmp_path / place))
        file.write("never")
        file.remove()
    assert os.listdir(tmp_path / "there") == os.listdir(tmp_path / "open") == []


@pytest.mark.parametrize(
    "content",
    [b"", b"rubbish", b"00000000\nother", _framed(b"cut")[:-1], _framed(b"x" * LARGEST)],
    ids=["empty", "rubbish", "other", "cut", "huge"],
)
def test_what_is_not_whole_is_not_told(tmp_path: Path, content: bytes) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / str(os.getpid())).write_bytes(content)
    assert _texts(tmp_path) == []


def test_while_it_is_written_the_last_whole_text_stands(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path, files = tmp_path / str(os.getpid()), StatusFiles([str(tmp_path)])
    path.write_bytes(_framed(b"whole"))
    assert files.texts() == ["whole"]
    path.write_bytes(b"12345678\nhalf")
    assert files.texts() == ["whole"]


def test_what_is_no_plain_file_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "target").write_bytes(_framed(b"told"))
    (tmp_path / str(os.getpid())).symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "1")
    (tmp_path / "4999999999").write_bytes(_framed(b"of no process"))
    (tmp_path / "name").write_bytes(_framed(b"no number"))
    assert _texts(tmp_path) == []


def test_a_folder_or_a_file_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    folder, path = tmp_path / "noisewatch", tmp_path / "noisewatch" / str(os.getpid())
    folder.mkdir(mode=0o755)
    path.write_bytes(_framed(b"told"))
    path.chmod(0o644)
    assert _texts(folder) == ["told"]
    path.chmod(0o666)
    assert _texts(folder) == []
    path.chmod(0o644)
    folder.chmod(0o777)
    assert _texts(folder) == []
    (tmp_path / "link").symlink_to(folder)
    folder.chmod(0o755)
    assert _texts(tmp_path / "link") == []


@needs_root
def test_a_file_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    folder, path = tmp_path / "noisewatch", tmp_path / "noisewatch" / str(os.getpid())
    folder.mkdir(mode=0o755)
    path.write_bytes(_framed(b"told"))
    os.chown(path, _NOBODY, _NOBODY)
    assert _texts(folder) == []
    with subprocess.Popen(["sleep", "60"], user=_NOBODY) as theirs:
        path.rename(folder / str(theirs.pid))
        assert _texts(folder) == []
        os.chown(folder / str(theirs.pid), 0, 0)
        assert _texts(folder) == ["told"]
        theirs.kill()


@needs_root
def test_who_called_sudo_is_trusted_with_what_it_says_of_its_own_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(_NOBODY))
    assert f"/run/user/{_NOBODY}/noisewatch" in trusted_folders()
    tmp_path.chmod(0o755)
    with subprocess.Popen(["sleep", "60"], user=_NOBODY) as theirs:
        for pid in (theirs.pid, os.getpid()):
            (tmp_path / str(pid)).write_bytes(_framed(str(pid).encode()))
            os.chown(tmp_path / str(pid), _NOBODY, _NOBODY)
        assert _texts(tmp_path) == [str(theirs.pid)]
        theirs.kill()


def test_a_user_has_a_folder_of_its_own_and_trusts_that_and_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("SUDO_UID", "1001")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/elsewhere")
    assert own_folder() == "/run/elsewhere/noisewatch"
    assert trusted_folders() == ("/run/noisewatch", "/run/elsewhere/noisewatch")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert own_folder() == "/run/user/1000/noisewatch"


_BEGINS = """
import os, sys
from noisewatch.machine.status_files import StatusFile
missing = 0
for _ in range(200):
    file = StatusFile(sys.argv[1])
    missing += not os.path.exists(f"{sys.argv[1]}/{os.getpid()}")
    file.remove()
print(missing)
"""


def test_those_that_begin_at_once_do_not_remove_one_anothers(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _BEGINS, str(tmp_path / "own")]
    begun = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [int(each.communicate()[0]) for each in begun] == [0, 0, 0]


def test_one_that_is_stopped_while_it_begins_keeps_no_other_from_running(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    StatusFile(str(folder)).remove()
    holder = os.open(folder, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        status = StatusFile(str(folder))
        status.write("nobody reads it")
        assert list(folder.iterdir()) == []
    finally:
        os.close(holder)
