"""Where irqbalance may move interrupts."""

from __future__ import annotations

from tests.judgement.judging import answered, finding, judged
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files

_ROOT = "/sys/fs/cgroup"


def test_irqbalance_knows_nothing_of_partitions() -> None:
    files = {f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": "\n", f"{_ROOT}/cpuset.cpus.isolated": "2-3\n"}
    assert answered("irqbalance-may-move-irqs", files | process(800, "irqbalance", 0, 5)).status == "fail"


def test_irqbalance_may_be_the_process_that_could_not_be_read() -> None:
    files = {"/proc/950/stat": "garbage"}
    machine = WrittenMachine(quiet_files() | files, quiet_files(3.0) | files, answers=ANSWERS)
    assert finding(judged(machine, frozenset({1})), "irqbalance-may-move-irqs").status == "unknown"


def test_irqbalance_spares_cpus_without_a_tick() -> None:
    files = {f"{CPUS}/isolated": "\n"} | process(800, "irqbalance", 0, 5)
    assert answered("irqbalance-may-move-irqs", files).status == "pass"
