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

_OTHER_UID = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Let no other user write the files of a test: files that others can write are not trusted."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _frame(text: bytes) -> bytes:
    return b"%08x\n%b" % (zlib.crc32(text), text)


def _texts(folder: Path) -> list[str]:
    return StatusFiles([str(folder)]).texts()


def test_last_written_text_is_read_whole(tmp_path: Path) -> None:
    file, files = StatusFile(str(tmp_path / "noisewatch")), StatusFiles([str(tmp_path / "noisewatch")])
    assert files.texts() == []
    for text in ("a long text, with 7/10 — ü", "short", "a longer one again"):
        file.write(text)
        assert files.texts() == [text]
    file.remove()


def test_reader_with_the_file_open_reads_its_last_text_once_after_removal(tmp_path: Path) -> None:
    file, files = StatusFile(str(tmp_path / "noisewatch")), StatusFiles([str(tmp_path / "noisewatch")])
    file.write("running")
    assert files.texts() == ["running"]
    file.write("ended")
    file.remove()
    file.remove()
    assert os.listdir(tmp_path / "noisewatch") == []
    assert files.texts() == ["ended"]
    assert files.texts() == []


def test_folder_and_file_are_writable_only_by_their_owner(tmp_path: Path) -> None:
    file = StatusFile(str(tmp_path / "noisewatch"))
    is_root = os.geteuid() == 0
    assert (tmp_path / "noisewatch").stat().st_mode & 0o777 == (0o755 if is_root else 0o700)
    assert (tmp_path / "noisewatch" / str(os.getpid())).stat().st_mode & 0o777 == (0o644 if is_root else 0o600)
    file.remove()


def test_forked_process_does_not_remove_the_file(tmp_path: Path) -> None:
    file = StatusFile(str(tmp_path / "noisewatch"))
    file.write("mine")
    pid = os.fork()
    if pid == 0:
        file.remove()
        os._exit(0)
    os.waitpid(pid, 0)
    assert _texts(tmp_path / "noisewatch") == ["mine"]
    file.remove()


def test_file_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal\nfrom noisewatch.machine.status_files import StatusFile\n"
        "StatusFile(sys.argv[1]).write('killed')\nprint(os.getpid(), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    folder = tmp_path / "noisewatch"
    killed = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False)
    living = "import sys\nfrom noisewatch.machine.status_files import StatusFile\nfile = StatusFile(sys.argv[1])\n"
    living += "file.write('living')\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", living, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert killed.stdout.strip() not in os.listdir(folder)
        file = StatusFile(str(folder))
        assert sorted(os.listdir(folder)) == sorted([str(other.pid), str(os.getpid())])
        file.remove()
        assert _texts(folder) == ["living"]


def test_file_that_cannot_be_created_is_ignored(tmp_path: Path) -> None:
    """Instead of the folder there is a file, a link, or a place that is not writable."""
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
    [b"", b"rubbish", b"00000000\nother", _frame(b"cut")[:-1], _frame(b"x" * LARGEST)],
    ids=["empty", "rubbish", "other", "cut", "huge"],
)
def test_incomplete_text_is_ignored(tmp_path: Path, content: bytes) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / str(os.getpid())).write_bytes(content)
    assert _texts(tmp_path) == []


def test_last_complete_text_counts_while_the_next_one_is_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path, files = tmp_path / str(os.getpid()), StatusFiles([str(tmp_path)])
    path.write_bytes(_frame(b"whole"))
    assert files.texts() == ["whole"]
    path.write_bytes(b"12345678\nhalf")
    assert files.texts() == ["whole"]


def test_file_that_is_irregular_or_of_no_living_process_is_ignored(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "target").write_bytes(_frame(b"told"))
    (tmp_path / str(os.getpid())).symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "1")
    (tmp_path / "4999999999").write_bytes(_frame(b"of no process"))
    (tmp_path / "name").write_bytes(_frame(b"no number"))
    assert _texts(tmp_path) == []


def test_folder_or_file_writable_by_others_is_not_trusted(tmp_path: Path) -> None:
    folder, path = tmp_path / "noisewatch", tmp_path / "noisewatch" / str(os.getpid())
    folder.mkdir(mode=0o755)
    path.write_bytes(_frame(b"told"))
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
def test_file_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    folder, path = tmp_path / "noisewatch", tmp_path / "noisewatch" / str(os.getpid())
    folder.mkdir(mode=0o755)
    path.write_bytes(_frame(b"told"))
    os.chown(path, _OTHER_UID, _OTHER_UID)
    assert _texts(folder) == []
    with subprocess.Popen(["sleep", "60"], user=_OTHER_UID) as other:
        path.rename(folder / str(other.pid))
        assert _texts(folder) == []
        os.chown(folder / str(other.pid), 0, 0)
        assert _texts(folder) == ["told"]
        other.kill()


@needs_root
def test_user_who_called_sudo_is_trusted_with_files_of_its_own_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(_OTHER_UID))
    assert f"/run/user/{_OTHER_UID}/noisewatch" in trusted_folders()
    tmp_path.chmod(0o755)
    with subprocess.Popen(["sleep", "60"], user=_OTHER_UID) as other:
        for pid in (other.pid, os.getpid()):
            (tmp_path / str(pid)).write_bytes(_frame(str(pid).encode()))
            os.chown(tmp_path / str(pid), _OTHER_UID, _OTHER_UID)
        assert _texts(tmp_path) == [str(other.pid)]
        other.kill()


def test_user_trusts_its_own_folder_and_that_of_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("SUDO_UID", "1001")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/elsewhere")
    assert own_folder() == "/run/elsewhere/noisewatch"
    assert trusted_folders() == ("/run/noisewatch", "/run/elsewhere/noisewatch")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert own_folder() == "/run/user/1000/noisewatch"


_STARTER = """
import os, sys
from noisewatch.machine.status_files import StatusFile
missing = 0
for _ in range(200):
    file = StatusFile(sys.argv[1])
    missing += not os.path.exists(f"{sys.argv[1]}/{os.getpid()}")
    file.remove()
print(missing)
"""


def test_processes_that_start_at_once_do_not_remove_each_others_files(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _STARTER, str(tmp_path / "own")]
    processes = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [int(process.communicate()[0]) for process in processes] == [0, 0, 0]


def test_process_that_is_stopped_while_it_starts_does_not_block_others(tmp_path: Path) -> None:
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
