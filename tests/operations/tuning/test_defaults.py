"""The kernel's defaults for a machine whose journal is lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.kernel.system.tuning import FileChange, is_tunable
from noisewatch.operations.tuning.defaults import preview_defaults, set_defaults
from noisewatch.operations.tuning.plan import PlannedChange, TuningPlan
from noisewatch.operations.tuning.tune import new_session, tune_host
from noisewatch.operations.tuning.tuner import Changed, Outcome
from noisewatch.surfaces.reports.tuning.text import text_of_defaults
from tests.judgement.judging import judged_by_settings
from tests.operations.tuning.host import WrittenHost
from tests.written.quiet_machine import quiet_files
from tests.written.topologies import machine_of

_CPUS = "/sys/devices/system/cpu"
_CPUFREQ, _IDLE = f"{_CPUS}/cpu2/cpufreq", f"{_CPUS}/cpu2/cpuidle"
_TUNED: Mapping[str, str] = {
    "/proc/cmdline": "quiet",
    "/proc/cpuinfo": "flags : fpu tsc",
    f"{_CPUS}/possible": "0-7",
    f"{_CPUS}/online": "0-3",
    f"{_CPUS}/isolated": "2-3",
    f"{_CPUS}/nohz_full": "(null)",
    "/sys/devices/system/node/online": "0-1",
    f"{_CPUFREQ}/scaling_governor": "performance",
    f"{_CPUFREQ}/scaling_available_governors": "performance schedutil",
    f"{_CPUFREQ}/energy_performance_preference": "performance",
    f"{_CPUFREQ}/energy_performance_available_preferences": "default performance balance_performance power",
    f"{_CPUFREQ}/scaling_min_freq": "3000000",
    f"{_CPUFREQ}/scaling_max_freq": "3000000",
    f"{_CPUFREQ}/cpuinfo_min_freq": "800000",
    f"{_CPUFREQ}/cpuinfo_max_freq": "4200000",
    f"{_IDLE}/state1/disable": "1",
    f"{_IDLE}/state1/default_status": "enabled",
    f"{_IDLE}/state2/disable": "1",
    f"{_IDLE}/state2/default_status": "disabled",
    "/proc/irq/default_smp_affinity": "03",
    "/proc/irq/24/smp_affinity_list": "0-1",
    "/proc/irq/24/affinity_hint": "00",
    "/proc/irq/25/smp_affinity_list": "0-1",
    "/proc/irq/25/affinity_hint": "08",
    "/sys/devices/virtual/workqueue/cpumask": "03",
    "/proc/sys/kernel/nmi_watchdog": "0",
    "/proc/sys/kernel/numa_balancing": "0",
    "/proc/sys/kernel/printk": "4 4 1 7",
    "/proc/sys/vm/stat_interval": "120",
    "/proc/sys/vm/swappiness": "60",
}
_DEFAULTS = {
    f"{_CPUFREQ}/scaling_governor": "schedutil",
    f"{_CPUFREQ}/energy_performance_preference": "balance_performance",
    f"{_CPUFREQ}/scaling_min_freq": "800000",
    f"{_CPUFREQ}/scaling_max_freq": "4200000",
    f"{_IDLE}/state1/disable": "0",
    "/proc/irq/default_smp_affinity": "ff",
    "/proc/irq/24/smp_affinity_list": "0-3",
    "/proc/irq/25/smp_affinity_list": "3",
    "/sys/devices/virtual/workqueue/cpumask": "f3",
    "/proc/sys/kernel/nmi_watchdog": "1",
    "/proc/sys/kernel/numa_balancing": "1",
    "/proc/sys/vm/stat_interval": "1",
}


def _host(tmp_path: Path, **files: str) -> WrittenHost:
    return WrittenHost(tmp_path / "root", {**_TUNED, **files})


def _values(outcomes: list[Changed]) -> dict[str, str | None]:
    return {outcome.change.path: outcome.now for outcome in outcomes if isinstance(outcome.change, FileChange)}


def test_only_settings_that_differ_from_a_known_default_are_listed_and_set(tmp_path: Path) -> None:
    host = _host(tmp_path)
    before = host.state()
    assert _values(preview_defaults(host)) == _DEFAULTS
    assert host.state() == before
    outcomes = set_defaults(host, tmp_path / "tune.jsonl")
    assert _values(outcomes) == _DEFAULTS
    assert {path: host.read(path) for path in _TUNED} == {**_TUNED, **_DEFAULTS}
    assert preview_defaults(host) == []
    assert all(is_tunable(outcome.change) for outcome in outcomes)


def test_a_default_that_depends_on_the_boot_options_or_the_hypervisor_is_not_guessed(tmp_path: Path) -> None:
    files = {"/proc/cmdline": "irqaffinity=0-1 delayacct", "/proc/cpuinfo": "flags : fpu hypervisor"}
    defaults = _values(preview_defaults(_host(tmp_path, **files, **{"/proc/sys/kernel/task_delayacct": "0"})))
    expected = {path: value for path, value in _DEFAULTS.items() if path not in _OPEN}
    assert defaults == {**expected, "/proc/sys/kernel/task_delayacct": "1"}


_OPEN = ("/proc/irq/default_smp_affinity", "/proc/irq/24/smp_affinity_list", "/proc/sys/kernel/nmi_watchdog")


def test_the_report_calls_the_defaults_a_guess_and_lists_what_was_refused(tmp_path: Path) -> None:
    host = _host(tmp_path)
    preview = text_of_defaults(preview_defaults(host), is_preview=True)
    assert "  /proc/sys/vm/stat_interval: 120 -> 1" in preview.splitlines()
    assert "12 settings would be set" in preview
    assert "these defaults are a guess" in preview
    host.refused["/proc/irq/24/smp_affinity_list"] = "Input/output error"
    outcomes = set_defaults(host, tmp_path / "tune.jsonl")
    assert [outcome.outcome for outcome in outcomes].count(Outcome.REFUSED) == 1
    report = text_of_defaults(outcomes, is_preview=False)
    assert "  /proc/irq/24/smp_affinity_list: refused (input/output error)" in report.splitlines()
    assert "11 settings set to the kernel's defaults" in report


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        ("performance powersave", "powersave"),  # intel_pstate: the driver scales the clock
        ("performance ondemand powersave", "ondemand"),  # powersave would keep the lowest clock
        ("performance userspace powersave", None),
    ],
)
def test_the_default_governor_scales_the_clock(tmp_path: Path, available: str, expected: str | None) -> None:
    host = _host(tmp_path, **{f"{_CPUFREQ}/scaling_available_governors": available})
    assert _values(preview_defaults(host)).get(f"{_CPUFREQ}/scaling_governor") == expected


def test_a_default_that_the_kernel_ignores_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = _host(tmp_path)
    monkeypatch.setattr(host, "write", lambda path, text: None)
    outcomes = set_defaults(host, tmp_path / "tune.jsonl")
    ignored = {outcome.change.path: outcome.reason for outcome in outcomes if isinstance(outcome.change, FileChange)}
    assert ignored["/proc/sys/vm/stat_interval"] == "the kernel kept 120"


def test_a_journal_outranks_a_guess(tmp_path: Path) -> None:
    journal = tmp_path / "tune.jsonl"
    host = _host(tmp_path)
    change = FileChange("/proc/sys/vm/swappiness", "10")
    plan = TuningPlan(judged_by_settings(machine_of(quiet_files())), (), (), (PlannedChange(change, "60"),))
    tune_host(plan, new_session(frozenset({2})), host, journal)
    before = host.state()
    with pytest.raises(UsageError, match="noisewatch restore restores them"):
        set_defaults(host, journal)
    assert host.state() == before
