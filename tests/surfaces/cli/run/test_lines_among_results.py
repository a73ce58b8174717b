"""The remarks of a single run, mixed with benchmark results when a tool writes both into one file."""

from __future__ import annotations

import os

import pytest

from noisewatch.patterns import regex
from tests.surfaces.reports.run.running import ran

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
