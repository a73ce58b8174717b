"""The CPUs that an option names."""

from __future__ import annotations

import pytest

from noisewatch.cpus import CpuSet
from noisewatch.errors import UsageError
from noisewatch.kernel.cpus.target import OWN_AFFINITY
from noisewatch.operations.machines import parse_cpus
from tests.written import WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

_HYBRID = {"/sys/devices/cpu_core/cpus": "0-1,3\n", "/sys/devices/cpu_atom/cpus": "2\n"}
_NOT_ISOLATED = {f"{CPUS}/isolated": "\n"}


def _fastest(files: dict[str, str], allowed: CpuSet = frozenset({0, 1, 2, 3})) -> CpuSet:
    machine = WrittenMachine(quiet_files() | files, answers={**ANSWERS, OWN_AFFINITY: sorted(allowed)})
    return parse_cpus("--cpus", " fast", machine)


def test_fast_cpus_are_the_fastest_isolated_ones() -> None:
    assert _fastest(_HYBRID) == {3}


def test_fast_cpus_without_isolation_are_the_fastest_allowed_ones_except_cpu_0() -> None:
    assert _fastest(_HYBRID | _NOT_ISOLATED) == {1, 3}


def test_fast_cpus_of_one_kind_are_the_default_ones() -> None:
    assert _fastest({}) == {2, 3}


def test_no_allowed_fast_cpu_is_an_error() -> None:
    with pytest.raises(UsageError, match="none of the fastest CPUs is allowed"):
        _fastest(_HYBRID | _NOT_ISOLATED, frozenset({2}))


def test_unknown_kinds_of_core_are_an_error() -> None:
    missing = [f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)]
    machine = WrittenMachine(without(quiet_files(), *missing), answers=ANSWERS)
    with pytest.raises(UsageError, match="--cpus fast: the kinds of core are unknown here"):
        parse_cpus("--cpus", "fast", machine)
