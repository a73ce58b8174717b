"""CPUs kept free of other work, by boot options and by cgroup partitions."""

from __future__ import annotations

from collections.abc import Set

import pytest

from noisewatch.kernel.cpus.isolation import (
    Isolation,
    IsolcpusOption,
    parse_isolcpus,
    read_isolation,
)
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.build_options import parse_kernel_config
from tests.kernel.cgroup.test_load_balance import VERSION_1
from tests.written import Files, reading

CGROUP = "/sys/fs/cgroup"
MOUNTED = {"/proc/self/mounts": f"cgroup2 {CGROUP} cgroup2 rw 0 0\n"}


def _read(files: Files, *, is_copy: bool = False) -> Isolation:
    return read_isolation(reading(files, is_copy=is_copy), last_cpu=7, online=frozenset(range(8)), config=None)


@pytest.mark.parametrize(
    ("value", "flags", "cpus"),
    [
        ("2-3", {"domain"}, {2, 3}),
        ("domain,2-3", {"domain"}, {2, 3}),
        ("managed_irq,2", {"managed_irq"}, {2}),
        ("managed_irq,domain,0,4-5", {"managed_irq", "domain"}, {0, 4, 5}),
        ("nohz,domain,managed_irq,1", {"nohz", "domain", "managed_irq"}, {1}),
        ("1-N", {"domain"}, {1, 2, 3, 4, 5, 6, 7}),
    ],
)
def test_isolcpus_has_flags_before_the_list_and_domain_by_default(value: str, flags: set[str], cpus: set[int]) -> None:
    assert parse_isolcpus(value, last_cpu=7) == IsolcpusOption(frozenset(flags), frozenset(cpus))


def test_impossible_isolcpus_is_unknown_with_its_reason() -> None:
    reader = reading({"/proc/cmdline": "isolcpus=5-2\n"})
    assert read_isolation(reader, last_cpu=7, online=None, config=None).isolcpus is None
    assert reader.reason_by_path["/proc/cmdline"].startswith("isolcpus: ")


def test_each_isolcpus_of_the_command_line_is_kept() -> None:
    isolation = _read({"/proc/cmdline": "isolcpus=1 isolcpus=managed_irq,2\n"})
    assert isolation.isolcpus is not None
    assert [sorted(option.cpus) for option in isolation.isolcpus] == [[1], [2]]


def test_absent_isolcpus_is_empty_and_absent_command_line_is_unknown() -> None:
    assert _read({"/proc/cmdline": "quiet\n"}).isolcpus == ()
    assert _read({}).isolcpus is None


@pytest.mark.parametrize(("text", "cpus"), [("2-3,6-7\n", {2, 3, 6, 7}), ("\n", set()), (" \n", set())])
def test_sysfs_lists_cpus_isolated_at_boot_and_blank_is_none(text: str, cpus: Set[int]) -> None:
    assert _read({f"{CPUS}/isolated": text}).boot == cpus


@pytest.mark.parametrize("files", [{}, {f"{CPUS}/isolated": "rubbish\n"}], ids=["missing", "rubbish"])
def test_missing_or_malformed_list_of_isolated_cpus_is_unknown(files: Files) -> None:
    assert _read(files).boot is None


@pytest.mark.parametrize(
    ("text", "cpus"), [("2-3\n", {2, 3}), (" (null)\n", set()), ("\n", set()), ("\0", set()), ("2-3\n\0", {2, 3})]
)
def test_nohz_full_has_many_forms(text: str, cpus: Set[int]) -> None:
    assert _read({f"{CPUS}/nohz_full": text}).nohz_full == cpus


def test_kernel_without_nohz_full_has_no_such_cpus() -> None:
    assert _read({"/proc/cmdline": "quiet\n"}).nohz_full == frozenset()


def test_nohz_full_missing_from_a_copy_is_unknown() -> None:
    assert _read({"/proc/cmdline": "quiet\n"}, is_copy=True).nohz_full is None


def test_cpus_without_rcu_callbacks_are_those_of_both_options() -> None:
    files = {"/proc/cmdline": "rcu_nocbs=1 rcu_nocbs=4-N\n", f"{CPUS}/nohz_full": "2\n"}
    assert _read(files).rcu_nocbs == frozenset({1, 2, 4, 5, 6, 7})


def test_kernel_without_rcu_nocbs_offloads_no_cpu() -> None:
    reader = reading({"/proc/cmdline": "rcu_nocbs=1\n"})
    config = parse_kernel_config("# CONFIG_RCU_NOCB_CPU is not set\n")
    isolation = read_isolation(reader, last_cpu=7, online=None, config=config)
    assert (isolation.rcu_nocbs, isolation.requested) == (frozenset(), {"rcu_nocbs": frozenset({1})})


def test_lists_of_boot_options_are_kept_as_requested() -> None:
    isolation = _read({"/proc/cmdline": "nohz_full=4-N rcu_nocbs=x irqaffinity=0 irqaffinity=1\n"})
    assert isolation.requested == {
        "nohz_full": frozenset({4, 5, 6, 7}),
        "rcu_nocbs": None,
        "irqaffinity": frozenset({0, 1}),
    }
    assert _read({}).requested is None


def test_rcu_callbacks_may_be_kept_off_all_cpus() -> None:
    assert _read({"/proc/cmdline": "rcu_nocbs=all\n"}).rcu_nocbs == frozenset(range(8))


def test_impossible_rcu_nocbs_is_unknown() -> None:
    assert _read({"/proc/cmdline": "rcu_nocbs=x\n"}).rcu_nocbs is None


def test_cpus_isolated_at_boot_and_by_partitions_are_isolated() -> None:
    files = MOUNTED | {f"{CGROUP}/cpuset.cpus.isolated": "6\n", f"{CPUS}/isolated": "2\n"}
    assert _read(files).isolated == frozenset({2, 6})


def test_isolation_is_unknown_if_neither_source_is_known() -> None:
    assert _read({}).isolated is None


def test_cpus_that_cgroup_v1_does_not_balance_are_isolated() -> None:
    files = VERSION_1 | {f"{CPUS}/isolated": "7\n"}
    isolation = _read(files)
    assert (isolation.unbalanced, isolation.isolated) == (frozenset({2, 3, 4, 5, 6, 7}), frozenset({2, 3, 4, 5, 6, 7}))
    assert isolation.doubt is None


def test_isolation_by_an_unknown_cgroup_v1_is_doubtful() -> None:
    files = {path: text for path, text in VERSION_1.items() if not path.endswith("release_agent")}
    isolation = _read(files | {f"{CPUS}/isolated": "\n"})
    assert (isolation.isolated, isolation.doubt) == (frozenset(), "cannot tell whether cgroup v1 isolates CPUs")
