"""The identity of processes: program and arguments, systemd unit, container and pod."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.identity import (
    NO_SURROUNDINGS,
    ProcessIdentity,
    Surroundings,
    merge_identities,
    parse_identity,
    parse_surroundings,
    read_identities,
)
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.privacy import IDENTITY
from tests.plumbing.waiting import wait_until
from tests.written import WrittenMachine

ID = "3f4e8a0c9d1b" + 52 * "e"
UID = "1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901"
TARGET = frozenset({1})
_OF_POD = UID.replace("-", "_")
_SHORT = ID[:12]
_K8S = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{_OF_POD}.slice"


@pytest.mark.parametrize(
    ("path", "unit", "runtime", "container", "pod"),
    [
        ("/", None, None, None, None),
        ("/system.slice/nginx.service", "nginx.service", None, None, None),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope", None, None, None),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/gopls.service", "gopls.service", None, None, None),
        (r"/machine.slice/machine-qemu\x2d1\x2dvm.scope/emulator", r"machine-qemu\x2d1\x2dvm.scope", None, None, None),
        (f"/docker/{ID}", None, "docker", _SHORT, None),
        (f"/system.slice/docker-{ID}.scope", None, "docker", _SHORT, None),
        (f"/system.slice/docker-{ID}.scope/system.slice/sshd.service", "sshd.service", "docker", _SHORT, None),
        (f"/machine.slice/libpod-{ID}.scope/container", None, "podman", _SHORT, None),
        (f"/machine.slice/libpod-conmon-{ID}.scope", f"libpod-conmon-{ID}.scope", None, None, None),
        (f"/libpod_parent/{ID}", None, "podman", _SHORT, None),
        (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", None, "podman", _SHORT, None),
        (f"/system.slice/nerdctl-{ID}.scope", None, "containerd", _SHORT, None),
        (f"{_K8S}/cri-containerd-{ID}.scope", None, "containerd", _SHORT, UID),
        (f"{_K8S}/crio-{ID}.scope", None, "cri-o", _SHORT, UID),
        (f"/kubepods/burstable/pod{UID}/{ID}", None, None, _SHORT, UID),
        (f"/kubepods/pod{UID}/{ID}", None, None, _SHORT, UID),
        (f"/kubepods/besteffort/pod{32 * 'a'}/{ID}", None, None, _SHORT, 32 * "a"),
        (
            f"/system.slice/containerd.service/kubepods-burstable-pod{_OF_POD}.slice:cri-containerd:{ID}",
            *(None, "containerd", _SHORT, UID),
        ),
        (
            f"/docker/{64 * 'b'}/kubelet/kubepods/besteffort/pod{UID}/{ID}",  # kind: a cluster in a container
            *(None, None, _SHORT, UID),
        ),
        (f"/../{ID}", None, None, _SHORT, None),
    ],
)
def test_path_names_unit_container_and_pod(
    path: str, unit: str | None, runtime: str | None, container: str | None, pod: str | None
) -> None:
    expected = Surroundings(unit, runtime, container, pod)
    assert parse_surroundings(f"0::{path}\n") == expected
    assert parse_surroundings(f"12:cpu,cpuacct:{path}\n3:memory:{path}\n1:name=systemd:{path}\n0::/\n") == expected


def test_only_some_hierarchies_of_version_1_name_the_container() -> None:
    container = Surroundings(None, "docker", _SHORT, None)
    assert parse_surroundings(f"5:pids:/\n4:memory:/docker/{ID}\n1:name=systemd:/\n") == container
    assert parse_surroundings(f"5:pids:/x.service\n4:memory:/docker/{ID}\n1:name=systemd:/\n") == container


@pytest.mark.parametrize("line", ["1:name=systemd:/sshd.service", "0::/sshd.service"])
def test_hierarchy_of_systemd_is_preferred(line: str) -> None:
    for text in (f"4:memory:/docker/{ID}\n{line}\n", f"{line}\n4:memory:/docker/{ID}\n"):
        assert parse_surroundings(text) == Surroundings("sshd.service")


def test_surroundings_are_one_text() -> None:
    assert str(NO_SURROUNDINGS) == ""
    assert str(Surroundings("sshd.service", "docker", _SHORT, UID)) == f"sshd.service, docker {_SHORT}, pod {UID}"
    assert str(Surroundings(container=_SHORT)) == f"container {_SHORT}"


@pytest.mark.parametrize("text", ["", "\n", "junk", "0::", ":::::", "0::/\x1b[2J.service", "0::" + "/a" * 100_000])
def test_any_text_is_safe(text: str) -> None:
    assert str(parse_surroundings(text)).isprintable()


def _answer(command: list[str], name: str = "python3", **more: Any) -> dict[str, Any]:
    return {"name": name, "command": command, "cgroup": "0::/system.slice/bench.service\n", **more}


def _parsed(command: list[str], name: str = "python3", **more: Any) -> ProcessIdentity:
    identity = parse_identity(_answer(command, name, **more), 7)
    assert identity is not None
    return identity


def test_command_is_shown_like_in_htop() -> None:
    identity = _parsed(["/usr/bin/python3", "-c", "while 1: pass"])
    assert identity.details() == "/usr/bin/python3 -c while 1: pass · bench.service"
    assert identity.details(with_folder=False) == "python3 -c while 1: pass · bench.service"
    assert identity.details(with_arguments=False) == "bench.service"


def test_command_that_repeats_the_name_is_left_out() -> None:
    assert _parsed(["hog"], "hog").details() == "bench.service"
    assert _parsed([""], "hog").details() == "bench.service"


@pytest.mark.parametrize(
    "word", ["\x1b[2J\x07\n\r", "x" * 5_000_000, "\u202eevil", "a\nb", "b\udcff", "\x00", "\u200b" * 99]
)
def test_hostile_command_is_printable_and_short(word: str) -> None:
    identity = _parsed(["hog", word, "end"], word)
    assert identity.command.isprintable()
    assert identity.name.isprintable()
    assert len(identity.command) <= 200
    assert len(identity.name) < 1000


def test_long_command_is_cut_at_its_end() -> None:
    assert _parsed(["hog", 196 * "x"], "hog").command == f"hog {196 * 'x'}"
    assert _parsed(["hog", 197 * "x"], "hog").command == f"hog {195 * 'x'}…"


def test_name_that_the_kernel_has_cut_is_completed() -> None:
    assert _parsed(["/opt/a-very-long-program", "-x"], "a-very-long-pro").name == "a-very-long-program"
    assert _parsed(["/opt/other"], "a-very-long-pro").name == "a-very-long-pro"
    assert _parsed(["sshd: alice@pts/0"], "sshd").name == "sshd"


@pytest.mark.parametrize(
    "answer",
    [
        *(None, [], "x", 3, {}, {"name": "x"}),
        *(_answer([]) | change for change in ({"name": 3}, {"command": "x"}, {"cgroup": None})),
    ],
)
def test_malformed_answer_is_no_identity(answer: object) -> None:
    assert parse_identity(answer, 7) is None


def _task(pid: int, ran_ns: int, *, started: int = 7, name: str = "hog", cpu: int = 1, tid: int = 0) -> Task:
    return Task(tid or pid, pid, name, False, False, cpu, ran_ns, 0, 1, 0, started)


def _tasks(*tasks: Task) -> Tasks:
    pids = frozenset(task.pid for task in tasks)
    return Tasks({task.tid: task for task in tasks}, pids, pids)


def _reader(*started: tuple[int, int], own: int = 0) -> Reader:
    answers = {
        IDENTITY.format(pid, ticks): _answer(["/bin/hog", str(pid), str(ticks)], "hog") for pid, ticks in started
    }
    return Reader(WrittenMachine({}, answers=answers, own_pids=[own]))


def _read(
    reader: Reader, before: Tasks, after: Tasks, known: dict[int, ProcessIdentity] | None = None
) -> dict[int, str]:
    identities = read_identities(reader, after, replace(before, identities=known or {}), TARGET)
    return {pid: identity.command for pid, identity in identities.items()}


def test_only_processes_that_ran_are_read() -> None:
    before, after = _tasks(_task(5, 10), _task(6, 10)), _tasks(_task(5, 5_000_010), _task(6, 20))
    assert _read(_reader((5, 7), (6, 7)), before, after) == {5: "/bin/hog 5 7"}


@pytest.mark.parametrize(("ran_ns", "is_read"), [(99_999, False), (100_000, True)])
def test_process_that_hardly_ran_is_not_read(ran_ns: int, is_read: bool) -> None:
    before, after = _tasks(_task(5, 10**9)), _tasks(_task(5, 10**9 + ran_ns))
    assert list(_read(_reader((5, 7)), before, after)) == [5] * is_read


def test_time_of_all_threads_counts_also_without_the_main_thread() -> None:
    threads = [_task(5, 60_000, tid=tid) for tid in (5, 6)]
    assert list(_read(_reader((5, 7)), _tasks(), _tasks(*threads))) == [5]
    assert _read(_reader((5, 7)), _tasks(), _tasks(_task(5, 10**9, tid=6))) == {}


def test_kernel_threads_are_not_read() -> None:
    after = _tasks(replace(_task(5, 10**9), is_kernel=True))
    assert _read(_reader((5, 7)), _tasks(), after) == {}


def test_processes_of_noisewatch_and_its_commands_are_not_read() -> None:
    child = Task(6, 6, "bench", False, False, 1, 9_000_000, 0, 5, 0, 7)
    before, after = _tasks(_task(5, 10)), _tasks(_task(5, 9_000_010), child)
    assert _read(_reader((5, 7), (6, 7), own=5), before, after) == {}


def test_at_most_some_processes_are_read_at_once_those_on_target_cpus_first() -> None:
    many = [_task(pid, 9_000_000 + pid, cpu=0) for pid in range(100, 200)]
    tasks = _tasks(*many, _task(5, 200_000))
    read = _read(_reader((5, 7), *((pid, 7) for pid in range(100, 200))), _tasks(), tasks)
    assert list(read) == [5, *range(199, 184, -1)]


def test_known_process_is_not_read_again() -> None:
    known = {5: _parsed(["/bin/hog", "known"], "hog")}
    before, after = _tasks(_task(5, 10)), _tasks(_task(5, 9_000_010))
    assert _read(_reader((5, 7)), before, after, known) == {5: "/bin/hog known"}


@pytest.mark.parametrize("name", ["a-very-long-pro", "a-very-long-program", "a-very-long-program:1"])
def test_process_is_the_same_under_a_cut_or_longer_name(name: str) -> None:
    known = {5: _parsed(["/bin/a-very-long-program", "known"], "a-very-long-pro")}
    assert known[5].name == "a-very-long-program"
    tasks = _tasks(_task(5, 10, name=name))
    assert _read(_reader(), tasks, tasks, known) == {5: "/bin/a-very-long-program known"}


def test_process_that_was_not_read_is_the_same() -> None:
    known = {5: _parsed(["/bin/hog", "known"], "hog")}
    unread = Tasks({}, frozenset({5}), frozenset())
    assert _read(_reader(), _tasks(_task(5, 10)), unread, known) == {5: "/bin/hog known"}


def test_reused_pid_does_not_have_the_name_of_the_earlier_process() -> None:
    known = {5: _parsed(["/bin/hog", "known"], "hog")}
    before, after = _tasks(_task(5, 8_999_990)), _tasks(_task(5, 9_000_000, started=99))
    assert _read(_reader((5, 7)), before, after, known) == {}
    assert _read(_reader((5, 99)), before, after, known) == {5: "/bin/hog 5 99"}


def test_process_that_has_started_another_program_is_read_again() -> None:
    known = {5: _parsed(["/bin/sh", "-c", "exec hog"], "sh")}
    before, after = _tasks(_task(5, 10)), _tasks(_task(5, 9_000_010))
    assert _read(_reader((5, 7)), before, after, known) == {5: "/bin/hog 5 7"}


def test_ended_process_has_an_identity_in_its_last_interval_only() -> None:
    known = {5: _parsed(["/bin/hog", "known"], "hog")}
    running, ended = _tasks(_task(5, 10)), _tasks()
    assert merge_identities([replace(running, identities=known), ended]) == known
    assert _read(_reader(), running, ended, known) == {}


def test_interval_with_a_reused_pid_has_no_identity_for_it() -> None:
    known = {5: _parsed(["/bin/hog", "known"], "hog")}
    looks = [replace(_tasks(_task(5, 10)), identities=known), _tasks(_task(5, 10, started=99))]
    assert merge_identities(looks) == {}


def test_process_of_this_host_is_read() -> None:
    hog = subprocess.Popen([sys.executable, "-S", "-c", "while 1: pass", "\x1b[2J\udcff"])
    try:
        folder = Path(f"/proc/{hog.pid}")
        wait_until(lambda: b"while" in (folder / "cmdline").read_bytes())
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        name = (folder / "comm").read_text().strip()
        task = _task(hog.pid, 9_000_000, started=int(fields[19]), name=name)
        identities = read_identities(Reader(LiveMachine()), _tasks(task), _tasks(), TARGET)
        assert identities[hog.pid].command == f"{sys.executable} -S -c while 1: pass ·[2J\ufffd"
        other = _task(hog.pid, 9_000_000, started=int(fields[19]) + 1, name=name)
        assert not read_identities(Reader(LiveMachine()), _tasks(other), _tasks(), TARGET)
    finally:
        hog.kill()
        hog.wait()
    assert not read_identities(Reader(LiveMachine()), _tasks(task), _tasks(), TARGET)
