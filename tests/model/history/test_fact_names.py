"""Each fact of a machine is known by name, with the files that it is read from."""

from __future__ import annotations

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.model.history.fact_names import PATHS, paths_of
from noisewatch.model.history.facts import FactClass, facts_of
from tests.written.quiet_machine import quiet_machine


def test_the_names_are_those_of_the_facts() -> None:
    facts = facts_of(read_snapshot(quiet_machine(), SnapshotOptions(asks_inventory=True)))
    told = {of_class: set(named) for of_class, named in facts.items()}
    told[FactClass.KERNEL] = {name for name in told[FactClass.KERNEL] if not name.startswith("vulnerability ")}
    assert told == {of_class: set(named) for of_class, named in PATHS.items()}
    assert all(paths_of(of_class, name) for of_class, named in facts.items() for name in named)


def test_each_kernel_has_its_own_vulnerabilities() -> None:
    assert paths_of(FactClass.KERNEL, "vulnerability mds") == ("/sys/devices/system/cpu/vulnerabilities/mds",)
    assert paths_of(FactClass.HARDWARE, "vulnerability mds") is None
    assert paths_of(FactClass.HARDWARE, "memry") is None
