"""The expected status of each check in the lab, including checks that fail because of emulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from noisewatch.judgement.catalogue import CATALOGUE

ISOLATED_CPUS = [2, 3, 6, 7]
LAB_STATUSES = {
    "mitigations-chosen-by-hand": "fail",  # they are off, because they take a third of the time in emulation
    "hypervisor-steal": "unknown",  # QEMU without KVM reports none
    **dict.fromkeys(  # not visible in a virtual machine
        (
            *("energy-bias-not-performance", "platform-profile-saves-power", "clock-boosted-after-io"),
            *("uncore-frequency-moves", "deep-idle-states", "memory-errors", "pcie-errors"),
        ),
        "unknown",
    ),
    "turbo-enabled": "unknown",  # acpi-cpufreq shows no boost where the processor has none
    "frequency-window-open": "warn",  # the frequency is pinned, but turbo, whose state is unknown, may exceed it
    "busy-cache-neighbour": "unknown",  # the host's other virtual machines are not visible
    "busy-sibling": "warn",  # all threads of the two isolated cores are targets
    "tasks-on-target": "warn",  # kswapd and kcompactd of each node may run on its isolated CPUs
    "on-battery": "not-applicable",
    "under-voltage": "not-applicable",
    "partition-invalid": "not-applicable",
    "target-cpus-far-apart": "fail",  # two of the isolated CPUs are in each node
    "temporary-files-far-away": "fail",  # they are files of the host
    "tsc-not-invariant": "fail",  # QEMU reports that the counter stops in deep sleep, which does not exist here
    "virtual-machine": "warn",
    "started-off-target": "warn",  # from the CPUs that are not isolated
    "hardware-counters-unusable": "warn",
    **dict.fromkeys(("machine-checks", "throttled", "processor-hot", "power-limit-lowered"), "unknown"),
    **dict.fromkeys(("debug-kernel", "burstable-instance"), "unknown"),  # no /boot, no cloud
    "machine-changed": "not-applicable",  # no history is kept
    "not-the-machine-wanted": "not-applicable",  # no machine is requested
    "clock-rate-wrong": "not-applicable",  # it is measured only with a calibration
    "memory-from-other-nodes": "not-applicable",  # the isolated CPUs lie in both nodes
    "boot-options-pending": "not-applicable",  # this host's /etc may be for another kernel
    **dict.fromkeys(
        ("energy-preference-not-performance", "services-on-target", "custom-scheduler-loaded"),
        "not-applicable",
    ),
}
_ALTERNATIVES = {  # checks that may pass or have this status
    "pressure-stall": "warn",  # on such a slow machine any task waits at times
    "just-booted": "fail",  # for its first five minutes
    "kernel-log-troubled": "fail",  # emulation occasionally makes an interrupt last long
    "khugepaged-collapses-pages": "fail",  # caused by noisewatch itself
    "load-average-high": "warn",  # caused by the previous scenario
    "other-cpus-busy": "warn",  # noisewatch starts more slowly than anywhere else
}

QUIET = {check.id: "ignored" if check.asks_calibration else "pass" for check in CATALOGUE} | LAB_STATUSES
ON_ONE_NODE = QUIET | {  # for target CPUs on one node
    "target-cpus-far-apart": "pass",
    "memory-from-other-nodes": "warn",  # memory is not bound
}
UNTUNED = QUIET | {
    "governor-not-performance": "fail",
    "irq-routed-to-target": "warn",
    "default-irq-affinity-includes-target": "fail",
    "numa-balancing-runs": "warn",
    "memory-statistics-updated-often": "fail",
    "real-time-work-throttled": "fail",
}


def finding(report: Mapping[str, Any], check_id: str) -> dict[str, Any]:
    (match,) = [row for row in report["findings"] if row["id"] == check_id]
    return dict(match)


def assert_statuses(report: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    """Assert that each check has the expected status; a failure shows the message of each check that differs."""
    differing = [
        (row["id"], row["status"], row["said"], row["reason"])
        for row in report["findings"]
        if row["status"] != expected[row["id"]]
        and {row["status"], expected[row["id"]]} != {"pass", _ALTERNATIVES.get(row["id"])}
    ]
    assert not differing, differing


def blamed_cpus(report: Mapping[str, Any], but: Iterable[str] = ()) -> set[int]:
    """Return the CPUs of the culprits of failed checks."""
    failed = [row for row in report["findings"] if row["status"] == "fail" and row["id"] not in but]
    return {culprit["cpu"] for row in failed for culprit in row["culprits"]}
