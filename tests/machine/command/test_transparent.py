"""Properties of a command that it can read itself: the same as without a wrapper."""

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

from tests.machine.command.wrapped import ROOT, run, with_all_cores, wrap

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


def _set_limits() -> None:
    _reset()
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
    os.umask(0o027)
    os.nice(3)


_STATES = [_reset, _ignore(signal.SIGINT, signal.SIGHUP), _ignore(signal.SIGCHLD, signal.SIGTSTP), _block, _set_limits]


def _output(argv: list[str], before: Callable[[], None] | None, env: Mapping[str, str] | None = None) -> str:
    result = run(argv, env, preexec_fn=before, start_new_session=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@with_all_cores
@pytest.mark.parametrize("before", _STATES, ids=["plain", "nohup", "SIGCHLD", "blocked", "limits"])
def test_all_properties_are_the_same_as_without_a_wrapper(core: str, before: Callable[[], None]) -> None:
    look = ["sh", "-c", _LOOK]
    alone = _output(look, before)
    assert "SigIgn" in alone
    assert "PATH=" in alone
    assert _output(wrap(core, look, own_cpus=[0]), before) == alone


@with_all_cores
def test_variables_that_python_adds_to_the_environment_are_left_out(core: str) -> None:
    bare = {"PATH": os.environ["PATH"], "B": "2", "A": "a=\u00e9"}  # in the locale C, where Python would add LC_CTYPE
    show = ["cat", "/proc/self/environ"]
    assert _output(wrap(core, show), None, bare) == _output(show, None, bare)


@with_all_cores
def test_signals_that_python_ignores_are_not_ignored(core: str) -> None:
    result = run(wrap(core, ["sh", "-c", "kill -PIPE $$; echo lived"]), preexec_fn=_reset)
    assert (result.returncode, result.stdout) == (-signal.SIGPIPE, "")


_LOOK_AT_DESCRIPTORS = """
import os, sys
paths = {number: f"/proc/self/fd/{number}" for number in range(20)}
links = {number: os.readlink(path) for number, path in paths.items() if os.path.lexists(path)}
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), repr(links).encode())
"""


def _descriptors(core: str | None, redirected: str, report: Path, **options: object) -> dict[int, str]:
    look = [sys.executable, "-I", "-S", "-c", _LOOK_AT_DESCRIPTORS, str(report)]
    argv = look if core is None else wrap(core, look, **options)
    subprocess.run(["sh", "-c", f'exec "$@" {redirected}', "sh", *argv], check=True, cwd=ROOT, timeout=20)
    links = ast.literal_eval(report.read_text())
    assert isinstance(links, dict)
    return links


@with_all_cores
@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_descriptors_are_those_of_the_wrapper(core: str, closed: str, tmp_path: Path) -> None:
    redirected = f"{closed} 7</dev/zero"
    alone = _descriptors(None, redirected, tmp_path / "alone")
    assert alone[7] == "/dev/zero"
    assert _descriptors(core, redirected, tmp_path / "inside") == alone


@with_all_cores
@pytest.mark.parametrize("closed", ["", "<&-", "<&- >&- 2>&-"])
def test_quiet_command_has_no_input_and_no_output(core: str, closed: str, tmp_path: Path) -> None:
    links = _descriptors(core, f"{closed} 7</dev/zero", tmp_path / "inside", is_quiet=True)
    assert {number: links.get(number) for number in (0, 1, 2, 7)} == dict.fromkeys(range(3), "/dev/null") | {
        7: "/dev/zero"
    }
    assert set(links) <= {0, 1, 2, 7} | set(_descriptors(None, "7</dev/zero", tmp_path / "alone"))


@with_all_cores
def test_command_runs_on_the_cpus_of_the_plan_from_its_first_instruction(core: str) -> None:
    look = ["grep", "Cpus_allowed_list", "/proc/self/status"]
    last = max(os.sched_getaffinity(0))
    result = run(wrap(core, look, cpus=[last], own_cpus=[min(os.sched_getaffinity(0))]))
    assert result.stdout.split() == ["Cpus_allowed_list:", str(last)]


@with_all_cores
def test_memory_of_the_command_is_bound_to_the_nodes_of_the_plan(core: str) -> None:
    result = run(wrap(core, ["grep", "-m1", "-o", "bind:0", "/proc/self/numa_maps"], memory_nodes=[0]))
    if not Path("/proc/self/numa_maps").exists():
        pytest.skip("no NUMA in this kernel")
    assert result.stdout == "bind:0\n"


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """An empty group of cgroup v2."""
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


@with_all_cores
@pytest.mark.parametrize("is_pinned", [False, True])
def test_command_is_moved_to_its_cgroup(core: str, is_pinned: bool, cgroup: Path) -> None:
    """The cgroup determines the CPUs if the plan does not."""
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    options: dict[str, object] = {"cgroup": str(cgroup), "own_cpus": [first]}
    if is_pinned:
        options["cpus"] = [last]
    look = "import os; print(open('/proc/self/cgroup').read(), sorted(os.sched_getaffinity(0)))"
    result = run(wrap(core, [sys.executable, "-I", "-S", "-c", look], **options))
    *groups, affinity = result.stdout.split("\n", result.stdout.count("\n") - 1)
    assert any(line.startswith("0::/") and line.endswith(cgroup.name) for line in groups)
    assert affinity.strip() == str([last if is_pinned else first])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a command as another user")
@with_all_cores
def test_command_runs_as_another_user(core: str) -> None:
    look = ["grep", "-E", "^(Uid|Gid|Groups):", "/proc/self/status"]
    result = run(wrap(core, look, user=[65534, 65533, [5, 70000]], cpus=[0]))
    numbers = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert numbers == {"Uid:": ["65534"] * 4, "Gid:": ["65533"] * 4, "Groups:": ["5", "70000"]}


@with_all_cores
def test_only_root_may_run_a_command_as_another_user(core: str) -> None:
    argv = wrap(core, ["true"], user=[1, 2, []])
    if os.geteuid() == 0:
        argv = ["setpriv", "--bounding-set=-setuid,-setgid", *argv]  # as root without this permission
    result = run(argv)
    assert result.returncode == 125
    assert "cannot run it as user 1, group 2: operation not permitted" in result.stderr


def test_signals_that_noisewatch_handles_stay_ignored_for_the_command() -> None:
    look = ["grep", "SigIgn", "/proc/self/status"]
    before = _ignore(signal.SIGTERM, signal.SIGINT)
    result = run([sys.executable, "-m", "noisewatch", "run", "--", *look], preexec_fn=before)
    assert result.stdout == _output(look, before)
