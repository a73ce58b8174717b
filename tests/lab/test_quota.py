"""A CPU quota that throttles, set by cgroups of version 2 and of version 1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.expected import finding
from tests.lab.lab import Lab

_OPTIONS = "--cpus 2 --sample 2 --no-calibration"
_ROOT = "/sys/fs/cgroup"
_ROOT_V1 = "/run/cpu-controller"
# A hierarchy that is unmounted while one of its groups is being freed keeps its controller.
_RELEASE_CONTROLLER = rf"""
until grep -qP "^cpu\t0\t" /proc/cgroups; do
    mount -t cgroup -o cpu cpu {_ROOT_V1}; sleep 0.2; umount {_ROOT_V1}
done
"""


@pytest.fixture
def version_2(plain: Lab) -> Iterator[str]:
    plain.do(f"echo +cpu > {_ROOT}/cgroup.subtree_control; mkdir {_ROOT}/small")
    plain.do(f"echo 150000 100000 > {_ROOT}/small/cpu.max")
    yield f"{_ROOT}/small"
    plain.do(f"rmdir {_ROOT}/small; echo -cpu > {_ROOT}/cgroup.subtree_control")


@pytest.fixture
def version_1(plain: Lab) -> Iterator[str]:
    plain.do(f"mkdir {_ROOT_V1}; mount -t cgroup -o cpu cpu {_ROOT_V1}; mkdir {_ROOT_V1}/small")
    plain.do(f"echo 150000 > {_ROOT_V1}/small/cpu.cfs_quota_us")
    yield f"{_ROOT_V1}/small"
    plain.do(f"rmdir {_ROOT_V1}/small; umount {_ROOT_V1}")
    plain.do(_RELEASE_CONTROLLER)


@pytest.mark.parametrize(("version", "limit"), [("version_2", "cpu.max"), ("version_1", "cpu.cfs_quota_us")])
def test_a_quota_that_throttles_fails_until_it_is_lifted(
    plain: Lab, request: pytest.FixtureRequest, version: str, limit: str
) -> None:
    group = request.getfixturevalue(version)
    before = plain.read(f"{group}/{limit}")
    loop = f'sh -c "echo 0 > {group}/cgroup.procs; while :; do :; done"'
    loops = [plain.start(loop), plain.start(loop)]
    try:
        report = plain.preflight(_OPTIONS, group)
    finally:
        for pid in loops:
            plain.stop(pid)
    quota = finding(report, "cpu-quota")
    assert (quota["status"], quota["evidence"]["quota_share"], report["exit_status"]) == ("fail", 1.5, 1)
    assert "throttled in" in quota["said"]
    assert quota["measured"] > 5
    assert quota["evidence"]["limited_by"] == group
    plain.do(quota["fix"]["now"])
    assert finding(plain.preflight("--sample 0 --no-calibration", group), "cpu-quota")["status"] == "pass"
    plain.do(quota["fix"]["undo"])
    assert plain.read(f"{group}/{limit}") == before


def test_a_quota_below_the_target_cpus_fails_though_nothing_was_throttled(plain: Lab, version_2: str) -> None:
    report = plain.preflight("--cpus 2-3 --sample 0 --no-calibration", version_2)
    quota = finding(report, "cpu-quota")
    assert (quota["status"], quota["measured"], quota["limit"]) == ("fail", 1.5, 2)
