"""Memory limits of this process's cgroups, in both versions."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.memory.limits import UNLIMITED, MemoryLimit, MemoryLimits, parse_limit, read_memory_limits
from tests.written import Files, mounted, reading, without

ROOT = "/sys/fs/cgroup"
V1 = f"{ROOT}/memory"
_V2 = {
    **mounted(f"cgroup2 {ROOT} cgroup2 rw,nosuid 0 0\n"),
    "/proc/self/cgroup": "0::/a/b\n",
    f"{ROOT}/cgroup.controllers": "cpu memory\n",
}
_V1 = {
    **mounted(f"cgroup {V1} cgroup rw,memory 0 0\ncgroup {ROOT}/cpu cgroup rw,cpu 0 0\n"),
    f"{V1}/release_agent": "\n",
    "/proc/self/cgroup": "4:memory:/a\n3:cpu:/elsewhere\n",
    f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
}


def _level(path: str, most: str = "max", high: str = "max") -> dict[str, str]:
    folder = ROOT + path
    return {
        f"{folder}/cgroup.controllers": "memory\n",
        f"{folder}/cgroup.events": "populated 1\n",
        f"{folder}/memory.max": f"{most}\n",
        f"{folder}/memory.high": f"{high}\n",
        f"{folder}/memory.current": "700\n",
        f"{folder}/memory.stat": "anon 100\nfile 9\ninactive_file 20\nactive_file 3\nslab_reclaimable 4\n",
        f"{folder}/memory.events": "low 0\nhigh 100\nmax 100\noom 100\noom_kill 9\n",
        f"{folder}/memory.events.local": "low 0\nhigh 1\nmax 2\noom 4\noom_kill 9\n",
    }


def _read(files: Files, *, is_copy: bool = False) -> MemoryLimits:
    return read_memory_limits(reading(files, is_copy=is_copy))


def test_no_level_with_a_limit_is_no_limit() -> None:
    assert _read(_V2 | _level("/a") | _level("/a/b")) == MemoryLimits((), None)


def test_narrower_of_both_limits_is_listed_with_used_and_cached_memory() -> None:
    limits = _read(_V2 | _level("/a", "4096", "2048") | _level("/a/b"))
    texts = {"memory.max": "4096", "memory.high": "2048"}
    assert limits.limits == (
        MemoryLimit(folder=f"{ROOT}/a", limit_bytes=2048, used_bytes=700, cached_bytes=27, hits=7, text_by_file=texts),
    )
    assert limits.unread is None


def test_each_level_with_a_limit_is_listed() -> None:
    limits = _read(_V2 | _level("/a", "4096") | _level("/a/b", "max", "1024"))
    assert [(limit.folder, limit.limit_bytes) for limit in limits.limits] == [
        (f"{ROOT}/a/b", 1024),
        (f"{ROOT}/a", 4096),
    ]


def test_hits_of_all_levels_below_count_before_linux_5_2() -> None:
    files = without(_V2 | _level("/a", "4096") | _level("/a/b"), f"{ROOT}/a/memory.events.local")
    (limit,) = _read(files).limits
    assert limit.hits == 300


@pytest.mark.parametrize(
    ("name", "field"),
    [("memory.current", "used_bytes"), ("memory.stat", "cached_bytes"), ("memory.events.local", "hits")],
)
@pytest.mark.parametrize("text", ["rubbish\n", "", "anon 5\n"])
def test_malformed_value_of_a_limit_is_unknown(name: str, field: str, text: str) -> None:
    (limit,) = _read(_V2 | _level("/a", "4096") | _level("/a/b") | {f"{ROOT}/a/{name}": text}).limits
    assert getattr(limit, field) is None


def test_malformed_limit_is_unread() -> None:
    assert _read(_V2 | _level("/a", "rubbish") | _level("/a/b")).unread == f"{ROOT}/a/memory.max"


def test_known_one_of_two_limits_counts() -> None:
    limits = _read(_V2 | _level("/a", "4096", "rubbish") | _level("/a/b"))
    assert ([limit.limit_bytes for limit in limits.limits], limits.unread) == ([4096], f"{ROOT}/a/memory.high")


def test_level_without_the_controller_has_no_limit() -> None:
    files = {f"{ROOT}/a/b/cgroup.controllers": "cpu\n", f"{ROOT}/a/b/cgroup.events": "populated 1\n"}
    assert _read(_V2 | _level("/a") | files) == MemoryLimits((), None)


def test_limits_outside_a_container_are_unread() -> None:
    assert _read(_V2 | {"/proc/self/cgroup": "0::/\n"} | _level("")) == MemoryLimits((), ROOT)
    limited = _read(_V2 | {"/proc/self/cgroup": "0::/\n"} | _level("", "4096"))
    assert ([limit.limit_bytes for limit in limited.limits], limited.unread) == ([4096], None)


@pytest.mark.parametrize("path", ["/../a", "/a/b (deleted)"])
def test_path_outside_the_mount_is_unread(path: str) -> None:
    files = _V2 | {"/proc/self/cgroup": f"0::{path}\n"} | _level("/a") | _level("/a/b")
    assert _read(files) == MemoryLimits((), "/proc/self/cgroup")


def test_missing_level_in_a_copy_is_unread() -> None:
    assert _read(_V2, is_copy=True) == MemoryLimits((), f"{ROOT}/a/b")


def test_limits_are_unread_without_mounts_or_membership() -> None:
    assert _read({}) == MemoryLimits((), "/proc/self/cgroup")
    assert _read({"/proc/self/cgroup": "0::/\n"}) == MemoryLimits((), "/proc/self/mounts")
    assert _read(_V1 | {"/proc/self/mounts": f"cgroup {ROOT}/cpu cgroup rw,cpu 0 0\n"}) == MemoryLimits(
        (), "/proc/self/cgroup (memory)"
    )


def test_largest_number_is_no_limit_in_version_one() -> None:
    files = _V1 | {f"{V1}/a/memory.limit_in_bytes": "9223372036854771712\n"}
    assert _read(files) == MemoryLimits((), None)


def test_hits_are_the_failure_count_in_version_one() -> None:
    files = _V1 | {
        f"{V1}/a/memory.limit_in_bytes": "4096\n",
        f"{V1}/a/memory.usage_in_bytes": "700\n",
        f"{V1}/a/memory.failcnt": "12\n",
        f"{V1}/a/memory.stat": "cache 5\ntotal_inactive_file 20\ntotal_active_file 3\n",
    }
    limits = _read(files)
    assert limits.limits == (
        MemoryLimit(
            folder=f"{V1}/a",
            limit_bytes=4096,
            used_bytes=700,
            cached_bytes=23,
            hits=12,
            text_by_file={"memory.limit_in_bytes": "4096"},
        ),
    )
    assert limits.unread is None


def test_unreadable_limit_of_version_one_is_unread() -> None:
    assert _read(_V1 | {f"{V1}/a/cgroup.procs": "1\n"}).unread == f"{V1}/a/memory.limit_in_bytes"


@pytest.mark.parametrize("text", ["", "-1", "4 GB", "maximum"])
def test_limit_is_a_number_of_bytes_or_max(text: str) -> None:
    assert parse_limit("max\n") == UNLIMITED
    assert parse_limit("4096\n") == 4096
    with pytest.raises(Malformed):
        parse_limit(text)


def test_limits_outside_a_namespace_are_unread() -> None:
    inside = without(_V1 | {"/proc/self/cgroup": "4:memory:/\n"}, f"{V1}/release_agent")
    outer = _V1 | mounted(f"cgroup {V1} cgroup rw,memory 0 0\n", "/..")
    for files in (inside, outer, without(_V1, "/proc/self/mountinfo")):
        assert _read(files).unread is not None
