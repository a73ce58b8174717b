"""Less evidence of the kinds of core never makes a better answer where no calibration measures the cores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest

from noisewatch.judgement.checks.cpus.target import target_cores_differ
from noisewatch.judgement.plan.plan import Criterion
from noisewatch.judgement.terms import Status
from tests.judgement.plan.planned import answer, planned
from tests.written import without
from tests.written.quiet_machine import CPUS
from tests.written.topologies import cores, files_of, machine_of

_RANK = {Status.PASS: 0, Status.WARN: 1, Status.UNKNOWN: 2, Status.FAIL: 2}
_EVIDENCE = (
    "/sys/devices/cpu_[a-z]+/cpus",
    "/proc/cpuinfo",
    *(
        f"{CPUS}/cpu[0-9]+/{name}"
        for name in (
            "cpu_capacity",
            "regs/identification/midr_el1",
            "acpi_cppc/highest_perf",
            "cpufreq/base_frequency",
            "cpufreq/cpuinfo_max_freq",
            "cache/index[0-9]/size",
        )
    ),
)


def _per_cpu(name: str, *values: object) -> dict[str, str]:
    return {f"{CPUS}/cpu{cpu}/{name}": f"{value}\n" for cpu, value in enumerate(values)}


def _parts(*parts: str) -> dict[str, str]:
    """Return /proc/cpuinfo of an ARM processor."""
    lines = "processor\t: {}\nFeatures\t: fp\nCPU implementer\t: 0x41\nCPU part\t: {}\n\n"
    return {"/proc/cpuinfo": "".join(lines.format(cpu, part) for cpu, part in enumerate(parts))}


_CLOCKS = _per_cpu("cpufreq/cpuinfo_max_freq", 4_800_000, 4_800_000, 3_500_000, 3_500_000)
_SCALE = _per_cpu("acpi_cppc/highest_perf", 61, 61, 35, 35)
_SIZES = _per_cpu("cache/index3/size", "28160K", "28160K", "14080K", "14080K")
_HYBRID = {"/sys/devices/cpu_core/cpus": "0-1\n", "/sys/devices/cpu_atom/cpus": "2-3\n"}
_HWP = _per_cpu("cpufreq/scaling_driver", *["intel_pstate"] * 4) | _per_cpu(
    "cpufreq/energy_performance_preference", *["performance"] * 4
)
_MACHINES: Mapping[str, Mapping[str, str]] = {
    "alike": {},
    "equal clocks of two designs": _parts("0xd07", "0xd07", "0x003", "0x003"),
    "big.LITTLE": _parts("0xd0b", "0xd0b", "0xd05", "0xd05") | _per_cpu("cpu_capacity", 1024, 1024, 446, 446),
    "three designs": _parts("0xd05", "0xd0b", "0xd0b", "0xd44") | _per_cpu("cpu_capacity", 250, 600, 600, 1024),
    "hybrid": _HYBRID | _CLOCKS | _SCALE | _SIZES,
    "hybrid without lists": _CLOCKS | _SCALE | _SIZES,
    "hybrid of equal clocks": _SIZES,
    "two base frequencies": _HWP | _per_cpu("cpufreq/base_frequency", 2_700_000, 2_700_000, 2_100_000, 2_100_000),
    "a list that contradicts the clocks": {"/sys/devices/cpu_core/cpus": "0-3\n"} | _CLOCKS,
}
_TARGETS = ("3", "1-2", "2-3")


def _with_fault(files: Mapping[str, str], paths: Iterable[str], fault: str) -> dict[str, str]:
    """Return the files without these paths, or with the paths empty or cut in half."""
    if fault == "absent":
        return without(files, *paths)
    return {**files, **{path: "" if fault == "empty" else files[path][: len(files[path]) // 2] for path in paths}}


def _path_groups(files: Mapping[str, str]) -> Iterable[tuple[str, ...]]:
    """Return each evidence file of CPUs 0 and 3 alone, and all files that match one pattern together."""
    for pattern in _EVIDENCE:
        paths = tuple(path for path in files if re.fullmatch(pattern, path))
        yield from ((path,) for path in paths if not re.search("/cpu[12]/", path))
        if len(paths) > 1:
            yield paths


def _answers(files: Mapping[str, str]) -> dict[str, Status]:
    """Return the statuses of the check and of the plan's criterion, by target CPUs."""
    machine = machine_of(files, is_copy=True)
    statuses = {}
    for cpus in _TARGETS:
        plan = planned(machine, cpus=cpus)
        statuses[f"check of {cpus}"] = target_cores_differ.answer(plan.proposal.case).status
        statuses[f"plan of {cpus}"] = answer(plan, Criterion.KIND).status
    return statuses


@pytest.mark.parametrize("fault", ["absent", "empty", "truncated"])
@pytest.mark.parametrize("name", _MACHINES)
def test_less_evidence_of_the_kinds_never_makes_a_better_answer(name: str, fault: str) -> None:
    files = files_of(cores(4)) | dict(_MACHINES[name])
    complete = _answers(files)
    better = [
        f"{question}: {complete[question]} became {status} where {', '.join(paths)} is {fault}"
        for paths in _path_groups(files)
        for question, status in _answers(_with_fault(files, paths, fault)).items()
        if _RANK[status] < _RANK[complete[question]]
    ]
    assert better == []


def test_a_machine_of_equal_cores_passes_with_all_evidence() -> None:
    assert set(_answers(files_of(cores(4))).values()) == {Status.PASS}
