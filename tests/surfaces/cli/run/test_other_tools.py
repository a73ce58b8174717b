"""Tools that are often beside `noisewatch run` on a command line, and what benchstat makes of its remarks."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from noisewatch.patterns import regex
from tests.surfaces.reports.run.running import ran, words

_needs_numactl = pytest.mark.skipif(shutil.which("numactl") is None, reason="no numactl")
_needs_hyperfine = pytest.mark.skipif(shutil.which("hyperfine") is None, reason="no hyperfine")
_needs_meson = pytest.mark.skipif(not (shutil.which("meson") and shutil.which("ninja")), reason="no meson and ninja")
_SHOW = ("numactl", "--show")


def _policy(command: Sequence[str]) -> list[str]:
    """All but the CPUs, which are the target's inside."""
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return [line for line in shown.splitlines() if "physcpubind" not in line]


@_needs_numactl
@pytest.mark.parametrize("option", ["--membind=0", "--interleave=0", "--preferred=0", "--localalloc"])
def test_a_memory_policy_that_was_inherited_is_the_command_s(option: str) -> None:
    alone = _policy(["numactl", option, *_SHOW])
    assert alone != _policy(_SHOW)
    assert _policy(["numactl", option, *words("--", *_SHOW)]) == alone


@_needs_numactl
def test_memory_is_bound_as_numactl_would() -> None:
    assert _policy(words("--membind", "0", "--", *_SHOW)) == _policy(["numactl", "--membind=0", *_SHOW])


def test_the_environment_that_a_tool_gives_is_the_one_that_its_benchmark_has() -> None:
    given = {"PATH": os.environ["PATH"], "GOMAXPROCS": "2", "LANG": "C", "EMPTY": ""}
    said = ran("--", "env", "-0", env=given)
    assert said.stdout.split("\0") == [*(f"{name}={value}" for name, value in given.items()), ""]


@_needs_hyperfine
def test_hyperfine_measures_within_a_run(tmp_path: Path) -> None:
    said = ran("--", "hyperfine", "-N", "--runs", "5", "--export-json", tmp_path / "times.json", "sleep 0.01")
    assert (said.returncode, "Time (mean ± σ)" in said.stdout) == (0, True)
    times = json.loads((tmp_path / "times.json").read_text())["results"][0]["times"]
    assert len(times) == 5
    assert min(times) >= 0.01


@_needs_hyperfine
def test_what_hyperfine_fails_with_is_the_status() -> None:
    assert ran("--", "hyperfine", "-N", "false").returncode == 1


@_needs_meson
@pytest.mark.parametrize(("benchmark", "status"), [("echo 17 ns", 0), ("echo 17 ns; exit 3", 3)])
def test_meson_s_benchmark_prints_and_ends_within_a_run_as_alone(tmp_path: Path, benchmark: str, status: int) -> None:
    (tmp_path / "meson.build").write_text(
        f"project('p')\nbenchmark('b', find_program('sh'), args: ['-c', '{benchmark}'])\n"
    )
    _meson(tmp_path, "setup", "build").check_returncode()
    tested = _meson(tmp_path, "test", "-C", "build", "--benchmark", "--wrapper", shlex.join(words("--")))
    (log,) = tmp_path.glob("build/meson-logs/testlog-*.json")
    told = json.loads(log.read_text())
    assert (tested.returncode != 0, told["returncode"], told["stdout"]) == (status != 0, status, "17 ns\n")
    assert told["stderr"].startswith("noisewatch run: ")


def _meson(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["meson", *arguments], check=False, capture_output=True, text=True, timeout=60, cwd=folder)


_CONFIGURATION = regex(r"[a-z][^\sA-Z:]*:")  # `parseKeyValueLine` of benchfmt, https://pkg.go.dev/golang.org/x/perf
_RESULTS = ["goos: linux", "BenchmarkSum-2  1189  20515 ns/op", "PASS"]


@pytest.mark.parametrize("cpus", ["0", "all"])
def test_benchstat_takes_no_line_of_it_for_the_configuration_of_later_results(cpus: str) -> None:
    if cpus == "all":
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))  # which brings a remark
    said = ran("--cpus", cpus, "--", "printf", r"%s\n", *_RESULTS)
    assert said.stdout.splitlines() == _RESULTS
    assert said.stderr
    assert [line for line in said.stderr.splitlines() if _CONFIGURATION.match(line)] == []
