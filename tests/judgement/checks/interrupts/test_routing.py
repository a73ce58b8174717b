"""Where irqbalance may move interrupts."""

from __future__ import annotations

from tests.judgement.judging import answered, finding_on
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files

_ROOT = "/sys/fs/cgroup"
_IRQBALANCE = process(800, "irqbalance", 0, 5) | {"/proc/800/environ": "LANG=C\0"}


def test_irqbalance_does_not_spare_partitions() -> None:
    files = {f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": "\n", f"{_ROOT}/cpuset.cpus.isolated": "2-3\n"}
    assert answered("irqbalance-may-move-irqs", files | _IRQBALANCE).status == "fail"


def test_irqbalance_is_unknown_where_a_process_cannot_be_read() -> None:
    files = {"/proc/950/stat": "garbage"}
    machine = WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers=ANSWERS)
    assert finding_on(machine, "irqbalance-may-move-irqs", frozenset({1})).status == "unknown"


def test_irqbalance_spares_cpus_without_a_tick() -> None:
    files = {f"{CPUS}/isolated": "\n"} | _IRQBALANCE
    assert answered("irqbalance-may-move-irqs", files).status == "pass"


def test_a_list_of_banned_cpus_names_those_of_the_automatic_ban_as_well() -> None:
    files = process(800, "irqbalance", 0, 5) | {"/proc/800/environ": "IRQBALANCE_BANNED_CPUS=0\0"}
    machine = WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers=ANSWERS)
    fix = finding_on(machine, "irqbalance-may-move-irqs", frozenset({1})).answer.fix
    assert fix is not None
    assert "IRQBALANCE_BANNED_CPULIST=1-3 (and no IRQBALANCE_BANNED_CPUS, which has precedence)" in (fix.persist or "")
