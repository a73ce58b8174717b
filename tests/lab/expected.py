"""What preflight has to say of the lab: the exact status of each check, and what emulation itself is the cause of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from noisewatch.judgement.catalogue import CATALOGUE

ISOLATED_CPUS = [2, 3, 6, 7]
LABS_OWN = {
    "mitigations-chosen-by-hand": "fail",  # they are off, as they take a third of the time in emulation
    "hypervisor-steal": "unknown",  # QEMU without KVM reports none
    **dict.fromkeys(  # what a virtual machine does not see
        (
            *("energy-bias-not-performance", "platform-profile-saves-power", "clock-boosted-after-io"),
            *("uncore-frequency-moves", "deep-idle-states", "memory-errors", "pcie-errors"),
        ),
        "unknown",
    ),
    "turbo-enabled": "unknown",  # acpi-cpufreq shows no boost where the processor has none
    "frequency-window-open": "warn",  # pinned, but whether turbo takes it higher is unknown
    "busy-cache-neighbour": "unknown",  # it is a virtual machine after all
    "busy-sibling": "warn",  # all threads of the two isolated cores are targets
    "tasks-on-target": "warn",  # kswapd and kcompactd of each node may run on its isolated CPUs
    "on-battery": "not-applicable",
    "under-voltage": "not-applicable",
    "partition-invalid": "not-applicable",
    "target-cpus-far-apart": "fail",  # a node has two of the isolated CPUs, the other one the others
    "temporary-files-far-away": "fail",  # they are the host's
    "tsc-not-invariant": "fail",  # QEMU's counter stops in deep sleep, which there is none of
    "virtual-machine": "warn",
    "started-off-target": "warn",  # from the CPUs that are not isolated
    "hardware-counters-unusable": "warn",
    **dict.fromkeys(("machine-checks", "throttled", "processor-hot", "power-limit-lowered"), "unknown"),
    **dict.fromkeys(("debug-kernel", "burstable-instance"), "unknown"),  # no /boot, no cloud
    "machine-changed": "not-applicable",  # no history is kept
    "not-the-machine-wanted": "not-applicable",  # none is asked for
    "clock-rate-wrong": "not-applicable",  # it is compared beside a calibration
    "memory-from-other-nodes": "not-applicable",  # the isolated CPUs lie in both nodes
    "boot-options-pending": "not-applicable",  # this host's /etc may tell of another kernel
    **dict.fromkeys(
        ("energy-preference-not-performance", "services-on-target", "custom-scheduler-loaded"),
        "not-applicable",
    ),
}
_WAVERS = {  # between pass and this
    "pressure-stall": "warn",  # whatever runs on so slow a machine waits at times
    "just-booted": "fail",  # for its first five minutes
    "kernel-log-troubled": "fail",  # emulation makes an interrupt last for long now and then
    "khugepaged-collapses-pages": "fail",  # of noisewatch itself
    "load-average-high": "warn",  # of the scenario before
    "other-cpus-busy": "warn",  # noisewatch starts more slowly than anywhere else
}

QUIET = {each.id: "ignored" if each.asks_calibration else "pass" for each in CATALOGUE} | LABS_OWN
ON_ONE_NODE = QUIET | {  # for targets that are chosen so
    "target-cpus-far-apart": "pass",
    "memory-from-other-nodes": "warn",  # nobody binds it
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
    (found,) = [each for each in report["findings"] if each["id"] == check_id]
    return dict(found)


def assert_statuses(report: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    """Assert that each check has the expected status; a failure shows the message of each check that differs."""
    differing = [
        (each["id"], each["status"], each["said"], each["reason"])
        for each in report["findings"]
        if each["status"] != expected[each["id"]]
        and {each["status"], expected[each["id"]]} != {"pass", _WAVERS.get(each["id"])}
    ]
    assert not differing, differing


def blamed_cpus(report: Mapping[str, Any], but: Iterable[str] = ()) -> set[int]:
    """The CPUs that culprits of failed checks are on."""
    failed = [each for each in report["findings"] if each["status"] == "fail" and each["id"] not in but]
    return {culprit["cpu"] for each in failed for culprit in each["culprits"]}
