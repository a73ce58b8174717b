"""Tools that are often combined with `noisewatch run`, and how benchstat parses its remarks."""

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
    """Return the memory policy without the CPUs, which differ within a run."""
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return [line for line in text.splitlines() if "physcpubind" not in line]


@_needs_numactl
@pytest.mark.parametrize("option", ["--membind=0", "--interleave=0", "--preferred=0", "--localalloc"])
def test_the_command_inherits_the_memory_policy(option: str) -> None:
    alone = _policy(["numactl", option, *_SHOW])
    assert alone != _policy(_SHOW)
    assert _policy(["numactl", option, *words("--", *_SHOW)]) == alone


@_needs_numactl
def test_memory_is_bound_as_numactl_would() -> None:
    assert _policy(words("--membind", "0", "--", *_SHOW)) == _policy(["numactl", "--membind=0", *_SHOW])


def test_the_command_inherits_the_environment() -> None:
    environment = {"PATH": os.environ["PATH"], "GOMAXPROCS": "2", "LANG": "C", "EMPTY": ""}
    result = ran("--", "env", "-0", env=environment)
    assert result.stdout.split("\0") == [*(f"{name}={value}" for name, value in environment.items()), ""]


@_needs_hyperfine
def test_hyperfine_measures_within_a_run(tmp_path: Path) -> None:
    result = ran("--", "hyperfine", "-N", "--runs", "5", "--export-json", tmp_path / "times.json", "sleep 0.01")
    assert (result.returncode, "Time (mean ± σ)" in result.stdout) == (0, True)
    times = json.loads((tmp_path / "times.json").read_text())["results"][0]["times"]
    assert len(times) == 5
    assert min(times) >= 0.01


@_needs_hyperfine
def test_the_status_of_a_failing_hyperfine_is_kept() -> None:
    assert ran("--", "hyperfine", "-N", "false").returncode == 1


@_needs_meson
@pytest.mark.parametrize(("benchmark", "status"), [("echo 17 ns", 0), ("echo 17 ns; exit 3", 3)])
def test_a_meson_benchmark_keeps_its_output_and_status(tmp_path: Path, benchmark: str, status: int) -> None:
    (tmp_path / "meson.build").write_text(
        f"project('p')\nbenchmark('b', find_program('sh'), args: ['-c', '{benchmark}'])\n"
    )
    _meson(tmp_path, "setup", "build").check_returncode()
    result = _meson(tmp_path, "test", "-C", "build", "--benchmark", "--wrapper", shlex.join(words("--")))
    (log,) = tmp_path.glob("build/meson-logs/testlog-*.json")
    entry = json.loads(log.read_text())
    assert (result.returncode != 0, entry["returncode"], entry["stdout"]) == (status != 0, status, "17 ns\n")
    assert entry["stderr"].startswith("noisewatch run: ")


def _meson(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["meson", *arguments], check=False, capture_output=True, text=True, timeout=60, cwd=folder)


_CONFIGURATION = regex(r"[a-z][^\sA-Z:]*:")  # `parseKeyValueLine` of benchfmt, https://pkg.go.dev/golang.org/x/perf
_RESULTS = ["goos: linux", "BenchmarkSum-2  1189  20515 ns/op", "PASS"]


@pytest.mark.parametrize("cpus", ["0", "all"])
def test_benchstat_parses_no_remark_as_configuration(cpus: str) -> None:
    if cpus == "all":
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))  # all CPUs are worth a remark
    result = ran("--cpus", cpus, "--", "printf", r"%s\n", *_RESULTS)
    assert result.stdout.splitlines() == _RESULTS
    assert result.stderr
    assert [line for line in result.stderr.splitlines() if _CONFIGURATION.match(line)] == []
