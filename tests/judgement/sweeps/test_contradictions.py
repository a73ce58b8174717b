"""Two files that contradict each other about one fact: the worse one decides, or the answer is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Severity
from noisewatch.kernel.frequency.power_supply import FOLDER as SUPPLIES
from noisewatch.kernel.system.hypervisor import PCI_TABLE
from noisewatch.kernel.system.platform import DMI
from tests.judgement.example import Example
from tests.judgement.sweeps.lessened import RANK
from tests.written import Files
from tests.written.quiet.memory import MEMINFO, SWAPS
from tests.written.quiet_machine import CPUS, quiet_files

_BLOCKING = frozenset(check.id for check in CATALOGUE if check.severity == Severity.BLOCKING)
_TOPOLOGY = f"{CPUS}/cpu2/topology"
_QUIET = quiet_files()


@dataclass(frozen=True)
class Pair:
    """Two ways in which the kernel reports one fact, each with files that report it worse than on the quiet machine.

    `both` are files of a machine that has both ways, and no fault. `ids` are the checks that depend on the fact: by
    default all blocking checks, fewer where the files report other facts too.
    """

    fact: str
    first: Files
    second: Files
    both: Files
    ids: frozenset[str] = _BLOCKING


PAIRS = [
    Pair(
        "CPU 2 has a sibling",
        {f"{_TOPOLOGY}/thread_siblings_list": "1-2\n"},
        {f"{_TOPOLOGY}/core_cpus_list": "1-2\n"},
        {f"{_TOPOLOGY}/{name}": "2\n" for name in ("thread_siblings_list", "core_cpus_list")},
    ),
    Pair(
        "cores have two threads",
        {f"{_TOPOLOGY}/thread_siblings_list": "1-2\n"},
        {f"{CPUS}/smt/active": "1\n"},
        {f"{CPUS}/smt/active": "0\n"},
    ),
    Pair(
        "CPU 1 and CPU 2 are siblings",
        {f"{_TOPOLOGY}/thread_siblings_list": "1-2\n"},
        {f"{CPUS}/cpu1/topology/thread_siblings_list": "1-2\n"},
        {},
    ),
    Pair(
        "the machine runs on battery",
        {f"{SUPPLIES}/AC/online": "0\n"},
        {f"{SUPPLIES}/BAT0/status": "Discharging\n"},
        {f"{SUPPLIES}/BAT0/type": "Battery\n", f"{SUPPLIES}/BAT0/status": "Full\n"},
    ),
    Pair(
        "swap is in use",
        {"/proc/meminfo": MEMINFO.replace("SwapFree:         999996", "SwapFree:          99996")},
        {"/proc/swaps": SWAPS.replace("\t\t0\t", "\t\t900000\t")},
        {},
    ),
    Pair(
        "swap of 0 kB is in use",
        {"/proc/meminfo": MEMINFO.replace("SwapTotal:        999996", "SwapTotal:             0")},
        {"/proc/swaps": SWAPS.replace("\t\t0\t", "\t\t900000\t")},
        {},
    ),
    Pair(
        "a partition of the target CPUs isolates nothing",
        {"/sys/fs/cgroup/bench/cpuset.cpus.partition": "isolated invalid (Cpu list not exclusive)\n"},
        {"/sys/fs/cgroup/cpuset.cpus.isolated": "\n"},
        {
            "/sys/fs/cgroup/bench/cpuset.cpus.partition": "isolated\n",
            "/sys/fs/cgroup/bench/cpuset.cpus": "2-3\n",
            "/sys/fs/cgroup/bench/cpuset.cpus.effective": "2-3\n",
            "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n",
        },
    ),
    Pair(
        "CPU 2 is offline",
        {f"{CPUS}/online": "0-1,3\n"},
        {f"{CPUS}/offline": "2\n"},
        {f"{CPUS}/offline": "\n"},
        frozenset({"target-cpu-unusable"}),
    ),
    Pair(
        "CPU 2 does not run",
        {f"{CPUS}/online": "0-1,3\n"},
        {"/proc/stat": "".join(row for row in _QUIET["/proc/stat"].splitlines(True) if not row.startswith("cpu2"))},
        {},
        frozenset({"target-cpu-unusable"}),
    ),
    Pair(
        "there is a hypervisor",
        {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"},
        {PCI_TABLE: "0010\t80eebeef\t12\t\tvboxvideo\n"},
        {},
    ),
    Pair(
        "the firmware is a hypervisor's",
        {f"{DMI}/sys_vendor": "innotek GmbH\n"},
        {f"{DMI}/product_name": "VirtualBox\n"},
        {f"{DMI}/sys_vendor": "Dell Inc.\n", f"{DMI}/product_name": "PowerEdge R640\n"},
    ),
]


@cache
def _statuses(pair: int, has_first: bool, has_second: bool) -> dict[str, str]:
    facts = PAIRS[pair]
    files = {**facts.both, **(facts.first if has_first else {}), **(facts.second if has_second else {})}
    findings = Example("any", "pass", files).judged().findings
    return {finding.check.id: str(finding.status) for finding in findings if finding.check.id in facts.ids}


@pytest.mark.parametrize("pair", range(len(PAIRS)), ids=[pair.fact for pair in PAIRS])
def test_of_two_files_that_contradict_each_other_the_worse_holds(pair: int) -> None:
    worst = _statuses(pair, True, True)
    better = [
        f"{check_id}: {status} with only the {which} file, {worst[check_id]} with both"
        for which, has_first in (("first", True), ("second", False))
        for check_id, status in _statuses(pair, has_first, not has_first).items()
        if RANK[status] < RANK[worst[check_id]] and status != "unknown"
    ]
    assert better == []


def test_the_pairs_concern_blocking_checks() -> None:
    """Most pairs change the status of a blocking check; the others must not."""
    changing = [pair for pair in range(len(PAIRS)) if _statuses(pair, True, True) != _statuses(pair, False, False)]
    assert len(changing) > len(PAIRS) // 2
