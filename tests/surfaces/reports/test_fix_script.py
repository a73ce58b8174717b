"""The fix and undo scripts run the fixes of the findings, may be run twice, and restore the previous values."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from noisewatch.surfaces.reports.verdict.fix_script import script, script_steps
from tests.judgement.example import all_examples
from tests.surfaces.reports.consumers import assert_shellcheck_passes
from tests.surfaces.running import Run, quiet_tree
from tests.written.quiet_machine import CPUS

_GOVERNOR = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
_FAULTS = {
    _GOVERNOR.format(2): "schedutil\n",
    _GOVERNOR.format(3): "ondemand\n",
    f"{CPUS}/cpufreq/boost": "1\n",
    f"{CPUS}/isolated": "\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
}
_OPTIONS = ("--cpus", "2-3", "--sample", "0", "--no-calibration")


@pytest.fixture
def untuned(tmp_path: Path) -> Path:
    return quiet_tree(tmp_path, _FAULTS)


def _scripts(run: Run, tree: Path, *options: str) -> tuple[str, str]:
    preflight = ("preflight", "--sysroot", str(tree), *_OPTIONS, *options)
    both = [run(*preflight, option) for option in ("--fix-script", "--undo-script")]
    assert [ran.status for ran in both] == [1, 1]
    return both[0].out, both[1].out


def _steps(text: str) -> list[str]:
    """Return the ids of the checks in the order of their commands."""
    return [line.removeprefix("echo '").partition(":")[0] for line in text.splitlines() if line.startswith("echo '")]


def _sh(tree: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the tree in place of the machine, and a `sudo` that only runs its command."""
    programs = tree.parent / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (programs / "sudo").chmod(0o755)
    moved = re.sub(r'( "?)(?=/(sys|proc|etc)/)', rf"\1{tree}", text)
    path = f"{programs}:{os.environ['PATH']}"
    return subprocess.run(["sh"], input=moved, capture_output=True, text=True, check=False, env={"PATH": path})


def _texts(tree: Path) -> dict[str, str]:
    return {path: (tree / path.lstrip("/")).read_text() for path in _FAULTS if path != f"{CPUS}/isolated"}


def test_fix_and_undo_may_be_run_twice_and_restore_the_previous_values(run: Run, untuned: Path) -> None:
    fix, undo = _scripts(run, untuned, "--ignore", "target-not-isolated")  # no folder here behaves like a cgroup
    before = _texts(untuned)
    for _ in range(2):
        ran = _sh(untuned, fix)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert [text.strip() for text in _texts(untuned).values()] == ["performance", "performance", "0", "0-1"]
    assert "governor-not-performance: governor ondemand/schedutil on CPUs 2-3" in ran.stdout
    for _ in range(2):
        assert _sh(untuned, undo).returncode == 0
        assert _texts(untuned) == before


def test_undo_runs_in_reverse_order(run: Run, untuned: Path) -> None:
    fix, undo = map(_steps, _scripts(run, untuned))
    assert len(fix) > 1
    assert undo[: len(fix)] == [f"undo of {check_id}" for check_id in reversed(fix)]


def test_undo_script_does_not_repeat_messages_of_the_fix_script(run: Run, untuned: Path) -> None:
    fix, undo = _scripts(run, untuned)
    echoes = [[line for line in text.splitlines() if line.startswith("echo ")] for text in (fix, undo)]
    assert all(line.startswith("echo 'undo of ") for line in echoes[1])
    assert any(line.endswith(": restore the value that was read'") for line in echoes[1])
    assert any(line.endswith(": remove the files that make it permanent'") for line in echoes[1])
    assert not {line.partition(": ")[2] for line in echoes[0]} & {line.partition(": ")[2] for line in echoes[1]}


def test_undo_script_removes_persistent_files(run: Run, untuned: Path) -> None:
    fix, undo = _scripts(run, untuned, "--ignore", "target-not-isolated")
    commands = [line.partition(": ")[2] for line in fix.splitlines() if "| sudo tee /etc/" in line]
    folders = [untuned / "etc/tmpfiles.d", untuned / "etc/sysctl.d"]
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "own.conf").write_text("d /run/mine\n")
    for _ in range(2):
        assert _sh(untuned, "\n".join(commands)).returncode == 0
        written = {path.name: path.read_text().splitlines() for path in folders[0].iterdir()}
        assert [len(lines) for _, lines in sorted(written.items())] == [1, 1, 1]
    for _ in range(2):
        assert _sh(untuned, undo).returncode == 0
        assert [path.name for folder in folders for path in folder.iterdir()] == ["own.conf"]


def test_undo_script_lists_added_kernel_options(run: Run, untuned: Path) -> None:
    _, undo = _scripts(run, untuned)
    heading = "# If this was appended to the kernel command line, remove it and reboot:"
    assert undo.splitlines()[undo.splitlines().index(heading) + 1].endswith(
        "isolcpus=domain,managed_irq,2-3 irqaffinity=0-1"
    )


def test_failed_commands_are_counted_and_do_not_stop_the_rest(run: Run, untuned: Path) -> None:
    fix, _ = _scripts(run, untuned)
    (untuned / _GOVERNOR.format(3).lstrip("/")).unlink()
    (untuned / _GOVERNOR.format(3).lstrip("/")).mkdir()
    ran = _sh(untuned, fix)
    assert ran.returncode == 1
    assert "1 of the commands failed" in ran.stderr
    assert (untuned / f"{CPUS.lstrip('/')}/cpufreq/boost").read_text() == "0\n"


def test_kernel_options_are_in_one_line(run: Run, untuned: Path) -> None:
    fix, _ = _scripts(run, untuned)
    lines = fix.splitlines()
    line = lines[lines.index("# A reboot is needed for the other fixes: append this to the kernel command line.") + 1]
    assert line == "#   isolcpus=domain,managed_irq,2-3 irqaffinity=0-1"


def _script_for_two_threads() -> str:
    """Return a script with typical commands for the threads 12 and 13 and the processes 14 and 15."""
    steps = script_steps(
        [
            ("pin", "for n in 12 13; do sudo taskset -pc 0-1 $n; done"),
            ("calm", "sudo chrt --other -p 0 12 && sudo renice -n 0 -p 13"),
            ("stop", "sudo kill -STOP 14 15 16"),
        ]
    )
    return script("Pins", "two threads", steps, {}, {12: "hog", 13: "it's a hog", 14: "build", 15: "build"})


def test_reused_pid_is_left_alone(tmp_path: Path) -> None:
    for pid, name in {12: "hog", 13: "another", 15: "build", 16: "new"}.items():  # 14 has ended
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/comm").write_text(f"{name}\n")
    programs = tmp_path.parent / "bin"
    programs.mkdir(exist_ok=True)
    for program in ("taskset", "chrt", "renice", "kill"):
        (programs / program).write_text(f'#!/bin/sh\necho "{program} $*" >>{tmp_path}/ran\n')
        (programs / program).chmod(0o755)
    # kill is built into the shell
    ran = _sh(tmp_path, _script_for_two_threads().replace("counted kill", f"counted {programs}/kill"))
    assert (tmp_path / "ran").read_text().splitlines() == [
        "taskset -pc 0-1 12",
        "chrt --other -p 0 12",
        "kill -STOP 15",
    ]
    assert "left alone: 13 was it's a hog, and is now another" in ran.stderr
    assert "left alone: 14 was build, and is now gone" in ran.stderr
    assert "left alone: 16, whose name was unknown" in ran.stderr
    assert ran.returncode == 0


def test_script_stops_at_once_without_root_and_sudo(tmp_path: Path) -> None:
    path = tmp_path / "fix.sh"
    path.write_text(_script_for_two_threads().replace("$(id -u)", "1000").replace("command -v sudo", "false"))
    ran = subprocess.run(["sh", str(path)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"{path}: this needs root, or sudo\n")


def test_script_for_processes_passes_shellcheck(tmp_path: Path) -> None:
    path = tmp_path / "fix.sh"
    path.write_text(_script_for_two_threads())
    assert_shellcheck_passes(path)


def test_fix_and_undo_scripts_pass_shellcheck(run: Run, untuned: Path, tmp_path: Path) -> None:
    for number, text in enumerate(_scripts(run, untuned)):
        path = tmp_path / f"{number}.sh"
        path.write_text(text)
        assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0
        assert_shellcheck_passes(path)


def test_scripts_can_be_written_in_addition_to_the_report(run: Run, untuned: Path, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("fix.sh", "undo.sh")]
    options = ["--fix-script", files[0], "--undo-script", files[1]]
    ran = run("preflight", "--sysroot", str(untuned), *_OPTIONS, *options)
    assert ran.out.splitlines()[-1].startswith("UNSTABLE: ")
    assert tuple(Path(file).read_text() for file in files) == _scripts(run, untuned)
    assert stat.S_IMODE(os.stat(files[0]).st_mode) & 0o111 == 0


def test_verdict_is_on_standard_error_if_a_script_is_printed(run: Run, untuned: Path) -> None:
    ran = run("preflight", "--sysroot", str(untuned), *_OPTIONS, "--fix-script")
    assert ran.out.startswith("#!/bin/sh\n")
    assert ran.err.startswith("noisewatch: UNSTABLE: ")


def test_script_for_a_quiet_machine_does_nothing(run: Run, tmp_path: Path) -> None:
    ran = run("preflight", "--sysroot", str(quiet_tree(tmp_path)), *_OPTIONS, "--fix-script")
    assert ran.out.splitlines()[-1] == "# There is nothing to do."
    assert subprocess.run(["sh"], input=ran.out, text=True, check=False).returncode == 0


def test_checks_without_a_known_command_are_named(run: Run, tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"})
    fix, _ = _scripts(run, root, "--select", "virtual-machine", "--profile", "micro", "--strict")
    assert fix.splitlines()[-4:-1] == ["# There is nothing to run now.", "", "# No command is known for:"]
    assert fix.splitlines()[-1].startswith("#   virtual-machine: ")


def test_scripts_list_kernel_options_if_only_a_reboot_helps(run: Run, tmp_path: Path) -> None:
    root = quiet_tree(tmp_path, {"/sys/devices/system/cpu/nohz_full": "\n", "/proc/cmdline": "quiet\n"})
    options = ("--select", "target-not-tickless", "--severity", "target-not-tickless=blocking")
    fix, undo = _scripts(run, root, *options)
    assert fix.splitlines()[-4:] == [
        "# There is nothing to run now.",
        "",
        "# A reboot is needed for the fix: append this to the kernel command line.",
        "#   nohz_full=2-3",
    ]
    assert "nothing to do" not in undo
    assert undo.splitlines()[-1] == "#   nohz_full=2-3"


@pytest.mark.parametrize(
    "options",
    [["--fix-script", "--undo-script"], ["--fix-script", "--output", "x"], ["--fix-script", "x", "--output", "x"]],
)
def test_two_outputs_to_one_place_are_refused(run: Run, untuned: Path, options: list[str]) -> None:
    ran = run("preflight", "--sysroot", str(untuned), *_OPTIONS, *options)
    assert (ran.status, ran.out) == (2, "")
    assert "--output" in ran.err


def test_a_name_from_the_machine_cannot_end_a_comment(run: Run, tmp_path: Path) -> None:
    tree = quiet_tree(tmp_path, _FAULTS | {"/proc/cpuinfo": "model name : a\x1b[31m`touch x`\n\nprocessor : 0\n"})
    text = run("preflight", "--sysroot", str(tree), *_OPTIONS, "--fix-script").out
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if "touch x" in line and not line.startswith("#")] == []


def test_every_command_that_needs_root_calls_the_scripts_own_function() -> None:
    fixes = [fix for example in all_examples() if (fix := example.found().answer.fix) is not None]
    steps = script_steps(("heading", command) for fix in fixes for command in (fix.now, fix.undo))
    commands = [line for line in steps if line.startswith("{ ")]
    assert sum(" root " in command for command in commands) > 100
    words = [word for command in commands for word in shlex.split(command, posix=False)]
    assert "sudo" not in words
