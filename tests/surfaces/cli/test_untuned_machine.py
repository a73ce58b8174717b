"""Machines that `pyperf system show` calls ready, although they are not.

pyperf does not check isolation, the frequency window and interrupts, ignores mains power in its verdict, and treats
an unreadable turbo state as turbo switched off.
"""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.judgement.rules import PROFILES
from tests.surfaces.running import SETTINGS, Run
from tests.written.quiet_machine import CPUS

_OPTIONS = ("--cpus", "2-3", "--format", "json")
_ALL_CPUS = range(4)


def _frequency(**texts: str) -> dict[str, str | None]:
    return {f"{CPUS}/cpu{cpu}/cpufreq/{name}": text + "\n" for cpu in _ALL_CPUS for name, text in texts.items()}


_UNTUNED: dict[str, str | None] = {
    **_frequency(scaling_driver="acpi-cpufreq", scaling_governor="powersave"),
    **_frequency(scaling_min_freq="1200000", scaling_max_freq="3000000"),
    f"{CPUS}/isolated": "\n",
    f"{CPUS}/nohz_full": "\n",
    "/proc/cmdline": "root=UUID=1234 quiet\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/25/smp_affinity_list": "0-3\n",
    "/proc/irq/25/effective_affinity_list": "2\n",
    "/proc/irq/default_smp_affinity": "f\n",
    "/sys/class/power_supply/AC/online": "0\n",
}
_BOOSTED: dict[str, str | None] = {
    **_frequency(scaling_driver="amd-pstate-epp", scaling_governor="performance"),
    f"{CPUS}/cpufreq/boost": "1\n",
}
_UNREADABLE: dict[str, str | None] = {**_BOOSTED, f"{CPUS}/cpufreq/boost": None}


def _judge(run: Run, machine: dict[str, str | None], *options: str) -> tuple[int, dict[str, Any]]:
    result = run(*SETTINGS, machine, *_OPTIONS, *options)
    return result.status, {
        finding["id"]: (finding["status"], finding["severity"]) for finding in result.json["findings"]
    }


def test_an_untuned_machine_on_battery_is_unstable_because_of_governor_and_battery(run: Run) -> None:
    status, findings = _judge(run, _UNTUNED)
    failed = {name for name, answer in findings.items() if answer == ("fail", "blocking")}
    assert (status, failed) == (1, {"governor-not-performance", "on-battery"})
    assert findings["target-not-isolated"] == ("fail", "warning")
    assert findings["frequency-window-open"] == ("warn", "warning")
    assert findings["irq-routed-to-target"] == ("warn", "warning")


def test_boost_with_an_active_driver_is_a_warning_and_a_failure_with_profile_strict(run: Run) -> None:
    status, findings = _judge(run, _BOOSTED)
    assert (status, findings["turbo-enabled"]) == (0, ("fail", "warning"))
    status, findings = _judge(run, _BOOSTED, "--profile", "strict")
    assert (status, findings["turbo-enabled"]) == (1, ("fail", "blocking"))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_turbo_state_that_cannot_be_read_is_never_a_pass(run: Run, profile: str) -> None:
    status, findings = _judge(run, _UNREADABLE, "--profile", profile)
    assert findings["turbo-enabled"][0] == "unknown"
    assert status == (3 if profile == "strict" else 0)
