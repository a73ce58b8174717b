"""What a command sees of itself: the same as without a wrapper."""

from __future__ import annotations

import ast
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.machine.command.wrapped import ROOT, each_core, run, wrapped

_LOOK = """
grep -E '^(Sig(Blk|Ign|Cgt)|Cpus_allowed_list|Mems_allowed_list|Groups|Umask|NoNewPrivs|Seccomp):' /proc/self/status
cat /proc/self/limits /proc/self/timerslack_ns /proc/self/oom_score_adj /proc/self/cgroup
readlink /proc/self/cwd
cut -d' ' -f5-8,18-19,40-41 < /proc/self/stat
tr '\\0' '\\n' < /proc/self/environ
"""  # group, session, terminal, its group; priority, nice; real-time priority and policy


def _reset() -> None:
    """Restore the default action of all signals, as the tests' own process may have inherited others."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)


def _ignore(*numbers: signal.Signals) -> Callable[[], None]:
    def ignore() -> None:
        _reset()
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    return ignore


def _block() -> None:
    _reset()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGINT, signal.SIGCHLD, signal.SIGRTMIN})


def _be_strange() -> None:
    _reset()
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
    os.umask(0o027)
    os.nice(3)


_STATES = [_reset, _ignore(signal.SIGINT, signal.SIGHUP), _ignore(signal.SIGCHLD, signal.SIGTSTP), _block, _be_strange]


def _seen(argv: list[str], before: Callable[[], None] | None, env: Mapping[str, str] | None = None) -> str:
    ran = run(argv, env, preexec_fn=before, start_new_session=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@each_core
@pytest.mark.parametrize("before", _STATES, ids=["plain", "nohup", "SIGCHLD", "blocked", "limits"])
def test_nothing_is_different(core: str, before: Callable[[], None]) -> None:
    look = ["sh", "-c", _LOOK]
    alone = _seen(look, before)
    assert "SigIgn" in alone
    assert "PATH=" in alone
    assert _seen(wrapped(core, look, own_cpus=[0]), before) == alone


@each_core
def test_what_python_adds_to_the_environment_is_left_out(core: str) -> None:
    bare = {"PATH": os.environ["PATH"], "B": "2", "A": "a=\u00e9"}  # in the locale C, where Python would add LC_CTYPE
    show = ["cat", "/proc/self/environ"]
    assert _seen(wrapped(core, show), None, bare) == _seen(show, None, bare)


@each_core
def test_signals_that_python_ignores_are_not_ignored(core: str) -> None:
    ran = run(wrapped(core, ["sh", "-c", "kill -PIPE $$; echo lived"]), preexec_fn=_reset)
    assert (ran.returncode, ran.stdout) == (-signal.SIGPIPE, "")


_LOOK_AT_DESCRIPTORS = """
import os, sys
paths = {number: f"/proc/self/fd/{number}" for number in range(20)}
links = {number: os.readlink(path) for number, path in paths.items() if os.path.lexists(path)}
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), repr(links).encode())
"""


def _descriptors(core: str | None, redirected: str, seen: Path, **options: object) -> dict[int, str]:
    look = [sys.executable, "-I", "-S", "-c", _LOOK_AT_DESCRIPTORS, str(seen)]
    argv = look if core is None else wrapped(core, look, **options)
    subprocess.run(["sh", "-c", f'exec "$@" {redirected}', "sh", *argv], check=True, cwd=ROOT, timeout=20)
    found = ast.literal_eval(seen.read_text())
    assert isinstance(found, dict)
    return found


@each_core
@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_descriptors_are_those_that_the_wrapper_was_given(core: str, closed: str, tmp_path: Path) -> None:
    redirected = f"{closed} 7</dev/zero"
    alone = _descriptors(None, redirected, tmp_path / "alone")
    assert alone[7] == "/dev/zero"
    assert _descriptors(core, redirected, tmp_path / "inside") == alone


@each_core
@pytest.mark.parametrize("closed", ["", "<&-", "<&- >&- 2>&-"])
def test_a_quiet_command_reads_and_writes_nothing(core: str, closed: str, tmp_path: Path) -> None:
    seen = _descriptors(core, f"{closed} 7</dev/zero", tmp_path / "inside", is_quiet=True)
    assert {number: seen.get(number) for number in (0, 1, 2, 7)} == dict.fromkeys(range(3), "/dev/null") | {
        7: "/dev/zero"
    }
    assert set(seen) <= {0, 1, 2, 7} | set(_descriptors(None, "7</dev/zero", tmp_path / "alone"))


@each_core
def test_it_runs_on_the_cpus_of_the_plan_from_its_first_instruction(core: str) -> None:
    look = ["grep", "Cpus_allowed_list", "/proc/self/status"]
    last = max(os.sched_getaffinity(0))
    ran = run(wrapped(core, look, cpus=[last], own_cpus=[min(os.sched_getaffinity(0))]))
    assert ran.stdout.split() == ["Cpus_allowed_list:", str(last)]


@each_core
def test_its_memory_comes_from_the_nodes_of_the_plan(core: str) -> None:
    ran = run(wrapped(core, ["grep", "-m1", "-o", "bind:0", "/proc/self/numa_maps"], memory_nodes=[0]))
    if not Path("/proc/self/numa_maps").exists():
        pytest.skip("no NUMA in this kernel")
    assert ran.stdout == "bind:0\n"


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A group of cgroup v2 that is empty."""
    roots = [Path(line.split()[1]) for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line]
    folder = next((root / f"noisewatch-test-{os.getpid()}" for root in roots), None)
    if folder is None:
        pytest.skip("no cgroup v2 here")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield folder
    folder.rmdir()


@each_core
@pytest.mark.parametrize("is_pinned", [False, True])
def test_it_is_moved_to_its_cgroup(core: str, is_pinned: bool, cgroup: Path) -> None:
    """Which says where it may run, if the plan does not."""
    ours, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    options: dict[str, object] = {"cgroup": str(cgroup), "own_cpus": [ours]}
    if is_pinned:
        options["cpus"] = [last]
    look = "import os; print(open('/proc/self/cgroup').read(), sorted(os.sched_getaffinity(0)))"
    ran = run(wrapped(core, [sys.executable, "-I", "-S", "-c", look], **options))
    *groups, affinity = ran.stdout.split("\n", ran.stdout.count("\n") - 1)
    assert any(line.startswith("0::/") and line.endswith(cgroup.name) for line in groups)
    assert affinity.strip() == str([last if is_pinned else ours])


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is for root")
@each_core
def test_it_runs_as_another_user(core: str) -> None:
    look = ["grep", "-E", "^(Uid|Gid|Groups):", "/proc/self/status"]
    ran = run(wrapped(core, look, user=[65534, 65533, [5, 70000]], cpus=[0]))
    numbers = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines()}
    assert numbers == {"Uid:": ["65534"] * 4, "Gid:": ["65533"] * 4, "Groups:": ["5", "70000"]}


@each_core
def test_another_user_is_for_root(core: str) -> None:
    argv = wrapped(core, ["true"], user=[1, 2, []])
    if os.geteuid() == 0:
        argv = ["setpriv", "--bounding-set=-setuid,-setgid", *argv]  # as root, but may not
    ran = run(argv)
    assert ran.returncode == 125
    assert "cannot run it as user 1, group 2: operation not permitted" in ran.stderr


def test_what_noisewatch_handles_itself_stays_ignored_where_it_was() -> None:
    look = ["grep", "SigIgn", "/proc/self/status"]
    before = _ignore(signal.SIGTERM, signal.SIGINT)
    ran = run([sys.executable, "-m", "noisewatch", "run", "--", *look], preexec_fn=before)
    assert ran.stdout == _seen(look, before)
