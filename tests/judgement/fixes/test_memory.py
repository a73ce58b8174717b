"""Fixes of the memory checks, and their undo."""

from __future__ import annotations

from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.written.quiet.memory import MEMINFO, SWAPS, vmstat

_CI = "/sys/fs/cgroup/ci"
_LIMITED = {
    "/proc/self/cgroup": "0::/ci\n",
    f"{_CI}/memory.max": "4096\n",
    f"{_CI}/memory.high": "2048\n",
    f"{_CI}/memory.current": "2040\n",
    f"{_CI}/memory.stat": "inactive_file 0\nactive_file 0\nslab_reclaimable 0\n",
    f"{_CI}/memory.events.local": "high 0\nmax 0\noom 0\n",
}
_V1 = "/sys/fs/cgroup/memory"
_LIMITED_V1 = {
    "/proc/self/mounts": f"cgroup {_V1} cgroup rw,memory 0 0\n",
    "/proc/self/cgroup": "4:memory:/ci\n",
    f"{_V1}/memory.limit_in_bytes": "9223372036854771712\n",
    f"{_V1}/ci/memory.limit_in_bytes": "4096\n",
    f"{_V1}/ci/memory.usage_in_bytes": "4090\n",
    f"{_V1}/ci/memory.failcnt": "0\n",
    f"{_V1}/ci/memory.stat": "total_inactive_file 0\ntotal_active_file 0\n",
}


def _fix(example: Example) -> Fix | None:
    finding = example.found()
    assert finding.status == example.status
    return finding.answer.fix


def _commands(example: Example) -> tuple[str | None, str | None, str | None]:
    fix = _fix(example)
    assert fix is not None
    return fix.now, fix.persist, fix.undo


def test_both_limits_of_a_cgroup_are_lifted_and_restored() -> None:
    now, _, undo = _commands(Example("memory-short", "fail", _LIMITED))
    assert now == f"echo max | sudo tee {_CI}/memory.max && echo max | sudo tee {_CI}/memory.high"
    assert undo == f"echo 2048 | sudo tee {_CI}/memory.high; echo 4096 | sudo tee {_CI}/memory.max"


def test_a_limit_of_cgroup_v1_is_lifted_with_minus_one() -> None:
    now, _, undo = _commands(Example("memory-short", "fail", _LIMITED_V1))
    assert now == f"echo -1 | sudo tee {_V1}/ci/memory.limit_in_bytes"
    assert undo == f"echo 4096 | sudo tee {_V1}/ci/memory.limit_in_bytes"


def test_a_limit_that_includes_swap_is_lifted_first_and_restored_last() -> None:
    limited = _LIMITED_V1 | {f"{_V1}/ci/memory.memsw.limit_in_bytes": "8192\n"}
    now, _, undo = _commands(Example("memory-short", "fail", limited))
    memory, with_swap = f"{_V1}/ci/memory.limit_in_bytes", f"{_V1}/ci/memory.memsw.limit_in_bytes"
    assert now == f"echo -1 | sudo tee {with_swap} && echo -1 | sudo tee {memory}"
    assert undo == f"echo 4096 | sudo tee {memory}; echo 8192 | sudo tee {with_swap}"


def test_nothing_is_proposed_if_the_machine_itself_is_short_of_memory() -> None:
    short = {"/proc/meminfo": MEMINFO.replace("12094228", "800000")}
    assert _fix(Example("memory-short", "fail", short)) is None


def test_disabled_proactive_compaction_is_not_changed() -> None:
    compacted = {"/proc/vmstat": vmstat(compact_stall=8)}
    assert _fix(Example("memory-compacted", "fail", {Knob.COMPACTION: "0\n"}, after=compacted)) is None


def test_dirty_pages_are_written_by_sync() -> None:
    dirty = {"/proc/meminfo": MEMINFO.replace("Dirty:               440", "Dirty: 99999")}
    assert _commands(Example("dirty-pages-pending", "warn", dirty)) == ("sync", None, None)


def test_the_undo_restores_swap_with_its_priorities() -> None:
    used = {"/proc/meminfo": MEMINFO.replace("SwapFree:         999996", "SwapFree:              0")}
    swaps = SWAPS + "/var/swap\\040file file 4096 0 5\n"
    now, _, undo = _commands(Example("swapping", "warn", used | {"/proc/swaps": swaps}))
    is_on = "sudo swapon --show=NAME --noheadings | grep -qxF -e"
    assert now == "sudo swapoff -a"
    assert undo == (
        f"{{ {is_on} '/var/swap file' || sudo swapon -p 5 '/var/swap file'; }} && "
        f"{{ {is_on} /dev/dm-1 || sudo swapon /dev/dm-1; }}"
    )
    now, _, undo = _commands(Example("swapping", "warn", used | {"/proc/swaps": "rubbish"}))
    assert (now, undo) == ("sudo swapoff -a", None)
