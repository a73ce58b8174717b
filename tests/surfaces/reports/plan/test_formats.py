"""A plan in each format, checked with the tools that read it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests import MACHINES
from tests.judgement.fixes.fake_root import sh
from tests.surfaces.reports.consumers import assert_shellcheck_passes
from tests.surfaces.running import Run
from tests.written import write_tree
from tests.written.quiet.system import CONFIG_TEXT
from tests.written.topologies import cores, files_of

_SYSTEMD = shutil.which("systemd-analyze")
_WORK = "/sys/devices/virtual/workqueue"
_MASKS = ("/proc/irq/default_smp_affinity", f"{_WORK}/cpumask", f"{_WORK}/cpumask_requested")
_RECORDINGS = sorted(MACHINES.glob("*.nw"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Write the files of two sockets with four cores of two threads each."""
    files = files_of(cores(8, 2, sockets=2)) | dict.fromkeys(_MASKS, "ffff\n")
    return write_tree(tmp_path / "machine", files)


def test_proposal_is_followed_by_reasons_and_steps(run: Run, tree: Path) -> None:
    lines = run("plan", "2", "--sysroot", tree).out.splitlines()
    assert lines[:2] == [
        "proposed: CPUs 4-5 (2 cores of node 1, L3 of CPUs 4-7,12-15)",
        "run on 4-5, leave 12-13 idle; takes 4 of 16 CPUs from other work",
    ]
    headings = [line.partition("  ")[0] for line in lines if re.match("[A-Z]{3}", line)]
    assert [heading.partition(",")[0] for heading in headings] == [
        "WHY THESE CPUS",
        "NOW",
        "FOR GOOD",
        "RUN THE BENCHMARK",
    ]
    assert " isolcpus=domain,managed_irq,4-5,12-13 " in run("plan", "2", "--sysroot", tree).out
    assert "  run        taskset -c 4-5 numactl --membind=1 ./benchmark" in lines


def test_only_commands_are_wider_than_the_terminal(run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wide = [line for line in run("plan", "2", "--sysroot", tree).out.splitlines() if len(line) > 80]
    assert all(line.startswith("    ") or "./benchmark" in line for line in wide), wide


def test_given_cpus_are_not_called_a_proposal(run: Run, tree: Path) -> None:
    out = run("plan", "--cpus", "3-4", "--sysroot", tree).out
    assert out.startswith("CPUs 3-4 (2 cores of nodes 0-1, 2 last-level caches)")
    assert "  ! one node      nodes 0-1, NUMA distance up to 21" in out


@pytest.mark.parametrize("options", [("2",), ("--cpus", "0,8"), ("--cpus", "0-15"), ("7",)])
@pytest.mark.parametrize("undo", [(), ("--undo",)])
def test_scripts_pass_shellcheck(
    run: Run, tree: Path, tmp_path: Path, options: tuple[str, ...], undo: tuple[str, ...]
) -> None:
    path = tmp_path / "plan.sh"
    path.write_text(run("plan", *options, "--format", "script", *undo, "--sysroot", tree).out)
    assert_shellcheck_passes(path)


def _steps(script: str) -> list[str]:
    """Return the commands without the code that counts failures."""
    return [line[2 : line.rindex("; }")] for line in script.splitlines() if line.startswith("{ ")]


def test_script_and_undo_may_be_run_twice_and_undo_reverts_everything(run: Run, tree: Path, tmp_path: Path) -> None:
    plan = ("plan", "2", "--sysroot", tree, "--format", "script")
    do, undo = _steps(run(*plan).out), _steps(run(*plan, "--undo").out)
    assert len(do) == len(undo) > 2
    root = tmp_path / "root"
    once = sh(root, *do)
    assert once["sys/fs/cgroup/benchmark/cpuset.cpus.partition"] == "isolated\n"
    assert sh(root, *do) == once
    back = sh(root, *undo)
    assert {f"/{path}": text for path, text in back.items()} == dict.fromkeys(_MASKS[:2], "ffff\n")
    assert sh(root, *undo) == back


def test_undo_script_names_the_undo_steps(run: Run, tree: Path) -> None:
    plan = ("plan", "2", "--sysroot", tree, "--format", "script")
    do, undo = (
        [line for line in run(*plan, *option).out.splitlines() if line.startswith("echo ")]
        for option in ((), ("--undo",))
    )
    assert "echo 'target-not-isolated: isolate the CPUs'" in do
    assert "echo 'undo of target-not-isolated: restore the value that was read'" in undo
    assert all(line.startswith("echo 'undo of ") for line in undo)


def test_the_command_line_is_one_line_of_options(run: Run, tree: Path) -> None:
    out = run("plan", "1", "--sysroot", tree, "--format", "cmdline").out
    assert out.count("\n") == 1
    assert all("=" in word for word in out.split())
    assert "isolcpus=domain,managed_irq,4,12" in out.split()


def _old_tree(tmp_path: Path) -> Path:
    """Write a machine with Linux 5.15, without isolated partitions, and with kernel options to replace."""
    version = {"/proc/sys/kernel/osrelease": "5.15.0\n", "/proc/version": "Linux version 5.15.0 (a@b) #1 SMP\n"}
    config = {"/boot/config-5.15.0": CONFIG_TEXT.replace("CONFIG_NO_HZ_FULL=y", "# CONFIG_NO_HZ_FULL is not set")}
    files = files_of(cores(8, 2)) | version | config | {"/proc/cmdline": "root=UUID=1 isolcpus=7\n"}
    return write_tree(tmp_path / "old", files)


_NO_PARTITION = (
    "The CPUs cannot be isolated without a reboot, because this machine lacks Linux 6.1 or newer (it has cgroup v2 "
    "with the cpuset controller).\n"
)
_NO_TICKLESS = "target-not-tickless: this kernel cannot stop the tick"


def test_unit_and_script_without_a_partition_state_that_nothing_is_isolated(run: Run, tmp_path: Path) -> None:
    plan = ("plan", "2", "--sysroot", _old_tree(tmp_path), "--format")
    unit, script = run(*plan, "systemd").out, run(*plan, "script").out
    assert "ExecStartPre" not in unit
    assert f"\n# {_NO_PARTITION}# This unit runs on these CPUs, but keeps nothing else off them.\n" in unit
    assert f"\n# Not isolated by this script:\n#   {_NO_PARTITION}" in script
    assert f"\n# Left out:\n#   {_NO_TICKLESS}" in script


def test_unit_states_that_nothing_is_isolated_if_no_core_is_left(run: Run, tree: Path) -> None:
    unit = run("plan", "--cpus", "0-15", "--sysroot", tree, "--format", "systemd").out
    assert "\n# The CPUs cannot be isolated: no core is left for all other work.\n" in unit


def test_replaced_and_missing_options_of_the_command_line_are_on_standard_error(run: Run, tmp_path: Path) -> None:
    ran = run("plan", "2", "--sysroot", _old_tree(tmp_path), "--format", "cmdline")
    assert (ran.status, ran.out.count("\n")) == (0, 1)
    assert "noisewatch: The command line already has isolcpus=7: replace it.\n" in ran.err
    assert f"noisewatch: {_NO_PARTITION}" in ran.err
    assert f"noisewatch: left out: {_NO_TICKLESS}" in ran.err


def test_unreadable_command_line_may_already_have_the_options(run: Run, tree: Path) -> None:
    (tree / "proc/cmdline").unlink()
    ran = run("plan", "2", "--sysroot", tree, "--format", "cmdline")
    assert "noisewatch: Cannot tell whether the command line already has any of these options.\n" in ran.err


@pytest.mark.parametrize("form", ["text", "cmdline"])
def test_unknown_siblings_of_target_cpus_are_mentioned(run: Run, tree: Path, form: str) -> None:
    for cpu in range(4):
        shutil.rmtree(tree / f"sys/devices/system/cpu/cpu{cpu}/topology")
    ran = run("plan", "--cpus", "2-3", "--sysroot", tree, "--format", form)
    text = " ".join(f"{ran.out}{ran.err}".split())
    assert "Cannot tell which CPUs share a core with CPUs 2-3. Add those CPUs to these options." in text


def test_the_unit_takes_whole_cores_and_runs_on_one_thread_of_each(run: Run, tree: Path) -> None:
    unit = run("plan", "2", "--sysroot", tree, "--format", "systemd").out.splitlines()
    for line in ("CPUAffinity=4-5", "AllowedCPUs=4-5,12-13", "NUMAPolicy=bind", "NUMAMask=1", "Slice=-.slice"):
        assert line in unit


def _run_start_pre(run: Run, tree: Path, file: Path, kernel: str = "") -> subprocess.CompletedProcess[str]:
    """Run the unit's ExecStartPre with this file in place of the partition's."""
    unit = run("plan", "2", "--sysroot", tree, "--format", "systemd").out
    (line,) = (line for line in unit.splitlines() if line.startswith("ExecStartPre="))
    *shell, command = shlex.split(line.removeprefix("ExecStartPre=+"))
    command = command.replace("/sys/fs/cgroup/benchmark.service/cpuset.cpus.partition", str(file))
    return subprocess.run([*shell, kernel + command], capture_output=True, text=True, check=False)


def test_unit_does_not_start_the_benchmark_in_an_invalid_partition(run: Run, tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "cpuset.cpus.partition"
    assert (_run_start_pre(run, tree, file).returncode, file.read_text()) == (0, "isolated\n")
    kernel = "echo() { printf 'isolated invalid (Cpu list in cpuset.cpus not exclusive)\\n'; }; "
    result = _run_start_pre(run, tree, file, kernel)
    assert result.returncode == 1
    assert "isolated invalid (Cpu list in cpuset.cpus not exclusive)" in result.stderr
    assert _run_start_pre(run, tree, tmp_path / "none" / file.name).returncode != 0


@pytest.mark.skipif(_SYSTEMD is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("options", [("2",), ("--cpus", "1"), ("--cpus", "3-4,9")])
def test_systemd_accepts_the_unit(run: Run, tree: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    path = tmp_path / "benchmark.service"
    path.write_text(run("plan", *options, "--format", "systemd", "--sysroot", tree).out)
    path.chmod(0o644)  # systemd warns about files that others may write
    assert _SYSTEMD is not None
    ran = subprocess.run([_SYSTEMD, "verify", str(path)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def _valid_document(run: Run, *options: str | Path) -> dict[str, object]:
    schema = json.loads(run("explain", "--schema", "plan").out)
    Draft202012Validator.check_schema(schema)
    document: dict[str, object] = run("plan", *options, "--format", "json").json
    Draft202012Validator(schema).validate(document)
    assert document.keys() == schema["properties"].keys()
    return document


@pytest.mark.parametrize("options", [("2",), ("--cpus", "0,3-4")])
def test_json_matches_its_schema(run: Run, tree: Path, options: tuple[str, ...]) -> None:
    document = _valid_document(run, *options, "--sysroot", tree)
    assert document["schema_version"] == 1
    assert document["is_given"] == (options[0] == "--cpus")


@pytest.mark.parametrize("recording", _RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_machine_has_a_plan_or_too_few_cores(run: Run, recording: Path) -> None:
    ran = run("plan", "--replay", recording)
    if recording.stem == "lab-one-cpu":
        assert (ran.status, ran.err.startswith("noisewatch: 1 core: none can be proposed")) == (2, True)
        return
    assert ran.status == 0
    document = _valid_document(run, "--replay", recording)
    assert 0 not in document["taken"]  # type: ignore[operator]  # a list, as the schema says
