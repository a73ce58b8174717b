"""CPU weights of this process's cgroups, in both versions."""

from __future__ import annotations

from noisewatch.kernel.cgroup.bandwidth import (
    UNCLAMPED,
    CpuWeight,
    CpuWeights,
    parse_uclamp,
    read_cgroup,
    read_cpu_weights,
)
from tests.written import Files, mounted, reading

ROOT = "/sys/fs/cgroup"
V2 = mounted(f"cgroup2 {ROOT} cgroup2 rw 0 0\n") | {f"{ROOT}/cgroup.controllers": "cpu\n"}
V1 = mounted(f"cgroup {ROOT}/cpu cgroup rw,cpu 0 0\n") | {"/proc/self/cgroup": "1:cpu:/a\n"}


def _read(files: Files, *, is_copy: bool = False) -> CpuWeights | None:
    reader = reading(files, is_copy=is_copy)
    return read_cpu_weights(reader, read_cgroup(reader))


def _levels(weights: CpuWeights | None) -> list[tuple[str, int | None, bool | None, float | None]]:
    assert weights is not None
    return [(level.folder, level.weight, level.is_idle, level.clamp_percent) for level in weights.levels]


def test_each_level_below_the_root_has_its_weight() -> None:
    files = V2 | {"/proc/self/cgroup": "0::/a/b\n", f"{ROOT}/a/b/cpu.weight": "50\n", f"{ROOT}/a/b/cpu.idle": "0\n"}
    files |= {f"{ROOT}/a/cpu.weight": "300\n", f"{ROOT}/a/cpu.uclamp.max": "12.50\n"}
    assert _levels(_read(files)) == [
        (f"{ROOT}/a/b", 50, False, UNCLAMPED),
        (f"{ROOT}/a", 300, False, 12.5),
    ]


def test_level_without_the_controller_has_the_default_weight() -> None:
    files = V2 | {"/proc/self/cgroup": "0::/a\n", f"{ROOT}/a/cgroup.procs": "1\n"}
    assert _levels(_read(files)) == [(f"{ROOT}/a", 100, False, UNCLAMPED)]


def test_weight_of_a_level_that_cannot_be_listed_is_unknown() -> None:
    assert _levels(_read(V2 | {"/proc/self/cgroup": "0::/a\n"})) == [(f"{ROOT}/a", None, None, None)]


def test_weight_missing_from_a_copy_is_unknown() -> None:
    files = V2 | {"/proc/self/cgroup": "0::/a\n", f"{ROOT}/a/cgroup.procs": "1\n"}
    weights = _read(files, is_copy=True)
    assert (f"{ROOT}/a", None, None, None) in _levels(weights)


def test_root_of_a_container_counts_as_a_level() -> None:
    files = V2 | {"/proc/self/cgroup": "0::/\n", f"{ROOT}/cgroup.events": "", f"{ROOT}/cpu.weight": "20\n"}
    weights = _read(files)
    assert _levels(weights) == [(ROOT, 20, False, UNCLAMPED)]
    assert weights is not None
    assert not weights.reaches_root


def test_true_root_has_no_weight() -> None:
    assert _read(V2 | {"/proc/self/cgroup": "0::/\n"}) == CpuWeights(2, (), reaches_root=True)


def test_weights_of_a_process_outside_the_mounted_part_are_unknown() -> None:
    assert _read(V2 | {"/proc/self/cgroup": "0::/../other\n"}) is None


def test_weights_in_a_namespace_below_the_mounted_part_are_unknown() -> None:
    assert _read(V2 | mounted(f"cgroup2 {ROOT} cgroup2 rw 0 0\n", "/..") | {"/proc/self/cgroup": "0::/\n"}) is None


def test_version_one_counts_in_shares() -> None:
    files = V1 | {
        f"{ROOT}/cpu/cpu.shares": "1024\n",
        f"{ROOT}/cpu/a/cpu.shares": "2\n",
        f"{ROOT}/cpu/a/cpu.idle": "1\n",
    }
    weights = _read(files | {f"{ROOT}/cpu/release_agent": ""})
    assert _levels(weights)[0] == (f"{ROOT}/cpu/a", 2, True, UNCLAMPED)
    assert weights is not None
    assert (weights.default, weights.file, weights.reaches_root) == (1024, "cpu.shares", True)


def test_missing_shares_are_unknown() -> None:
    weights = _read(V1 | {f"{ROOT}/cpu/cpu.shares": "1024\n", f"{ROOT}/cpu/a/tasks": ""})
    assert weights is not None
    assert weights.levels[0] == CpuWeight(f"{ROOT}/cpu/a", None, False, UNCLAMPED)
    assert not weights.levels[0].is_known


def test_weights_are_unknown_without_a_cgroup() -> None:
    assert _read({}) is None


def test_clamp_is_a_percentage_or_unclamped() -> None:
    assert (parse_uclamp("max\n"), parse_uclamp("45.00\n"), parse_uclamp("0\n")) == (UNCLAMPED, 45.0, 0.0)


def test_copy_without_weights_may_be_of_a_true_root() -> None:
    weights = _read(V2 | {"/proc/self/cgroup": "0::/\n"}, is_copy=True)
    assert weights == CpuWeights(2, (), reaches_root=True)
