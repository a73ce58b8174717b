"""`show --format json` keeps its keys and assigns counts to the CPUs of the header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.running import Run, changed, record
from tests.written import without
from tests.written.quiet_machine import CPUS, quiet_files

_KEYS = {
    "": {"schema", "machine", "cpus", "topology", "frequency", "interrupts", "softirqs", "irqs", "cpu_time",
         "pressure", "cgroup", "unreadable"},
    "machine": {"is_live", "kernel", "cpu_model", "virtual", "container", "clock_source", "mains_power"},
    "cpus": {"online", "offline", "isolated", "isolated_by", "nohz_full", "rcu_nocbs", "target"},
    "cpus isolated_by": {"boot", "partition", "cgroup_v1"},
    "topology 0": {"cpu", "core", "package", "node", "siblings", "last_level_cache", "kind", "capacity"},
    "frequency": {"driver", "turbo", "cpus"},
    "frequency cpus 0": {"cpu", "governor", "current_khz", "min_khz", "max_khz", "hardware_min_khz",
                         "hardware_max_khz", "energy_preference"},
    "interrupts": {"cpus", "rows", "total_by_cpu"},
    "interrupts rows 0": {"label", "description", "count_by_cpu"},
    "interrupts rows 7": {"label", "total"},
    "softirqs": {"cpus", "rows"},
    "softirqs rows 0": {"label", "count_by_cpu"},
    "irqs": {"default_allowed", "irqs"},
    "irqs irqs 0": {"irq", "allowed", "effective", "movable", "actions", "device"},
    "cpu_time 0": {"cpu", "user_ns", "system_ns", "irq_ns", "softirq_ns", "steal_ns", "idle_ns"},
    "pressure": {"cpu", "memory", "io"},
    "pressure cpu": {"some_total_ns"},
    "cgroup": {"version", "cpu_quota_share", "throttled_periods"},
    "unreadable 0": {"path", "reason"},
}  # fmt: skip


def _at(answer: Any, place: str) -> Any:
    for step in place.split():
        answer = answer[int(step) if isinstance(answer, list) else step]
    return answer


def test_every_promised_key_exists(run: Run) -> None:
    result = run("show", "--format", "json", {})
    assert (result.status, next(iter(result.json)), result.json["schema"]) == (0, "schema", 1)
    missing = {place: keys - _at(result.json, place).keys() for place, keys in _KEYS.items()}
    assert {place: keys for place, keys in missing.items() if keys} == {}


def test_values_of_the_quiet_machine_are_those_of_its_files(run: Run) -> None:
    answer = run("show", "--format", "json", {}).json
    assert answer["machine"]["is_live"] is False
    assert answer["machine"]["kernel"] == "6.14.0"
    assert answer["machine"]["mains_power"] is True
    assert answer["cpus"]["isolated_by"] == {"boot": [2, 3], "partition": [], "cgroup_v1": []}
    assert answer["cpus"]["target"] == [2, 3]
    assert answer["topology"][1]["last_level_cache"] == [0, 1, 2, 3]
    assert answer["frequency"]["cpus"][2]["hardware_min_khz"] == 1_200_000
    assert answer["irqs"]["irqs"][0] == {
        "irq": 24, "allowed": [0, 1], "effective": [0], "movable": True, "actions": ["eth0-rx-0"], "device": None,
    }  # fmt: skip
    assert answer["cpu_time"][0]["user_ns"] == 10_000_000_000
    assert answer["pressure"]["memory"]["some_total_ns"] == 1_000_000
    assert answer["cgroup"] == {"version": 2, "cpu_quota_share": "none", "throttled_periods": 0}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"{CPUS}/isolated", "cpus isolated_by boot"),
        (f"{CPUS}/nohz_full", "cpus nohz_full"),
        ("/proc/cmdline", "cpus rcu_nocbs"),
        ("/proc/interrupts", "interrupts"),
        ("/proc/softirqs", "softirqs"),
        ("/proc/stat", "cpu_time"),
        ("/proc/sys/kernel/osrelease", "machine kernel"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "machine clock_source"),
        ("/sys/class/power_supply/AC/online", "machine mains_power"),
        (f"{CPUS}/cpufreq/boost", "frequency turbo"),
        (f"{CPUS}/cpu0/cpufreq/scaling_governor", "frequency cpus 0 governor"),
        (f"{CPUS}/cpu0/topology/core_id", "topology 0 core"),
        (f"{CPUS}/cpu0/topology/thread_siblings_list", "topology 0 siblings"),
        ("/proc/irq/default_smp_affinity", "irqs default_allowed"),
        ("/proc/irq/24/effective_affinity_list", "irqs irqs 0 effective"),
        ("/proc/pressure/io", "pressure io"),
        ("/proc/self/cgroup", "cgroup cpu_quota_share"),
    ],
)
def test_a_file_missing_in_a_copied_tree_is_null(run: Run, path: str, place: str) -> None:
    assert _at(run("show", "--format", "json", {path: None, "/proc/version": None}).json, place) is None


def test_blank_and_null_lists_are_empty_lists(run: Run) -> None:
    machine = {f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": " (null)\n", "/proc/cmdline": "ro\n"}
    cpus = run("show", "--format", "json", machine).json["cpus"]
    assert (cpus["isolated"], cpus["nohz_full"], cpus["rcu_nocbs"], cpus["offline"]) == ([], [], [], [])


def test_what_the_kernel_reports_as_absent_is_none(run: Run, tmp_path: Path) -> None:
    files = without(quiet_files(), "/sys/class/power_supply", *(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)))
    names = {"sys_vendor": "Dell Inc.\n", "product_name": "PowerEdge R640\n"}
    firmware = {f"/sys/class/dmi/id/{name}": text for name, text in names.items()}
    recording = record(tmp_path / "machine.nw", files | firmware | {"/sys/class/net": ""})
    answer = run("show", "--format", "json", "--replay", recording).json
    assert answer["frequency"]["driver"] == "none"
    assert answer["machine"]["container"] == "none"
    assert answer["machine"]["virtual"] == "none"
    assert answer["cgroup"]["cpu_quota_share"] == "none"
    assert answer["topology"][0]["capacity"] is None


def test_the_device_of_an_irq_that_is_not_of_pci_is_unknown(run: Run, tmp_path: Path) -> None:
    interrupts = quiet_files()["/proc/interrupts"] + " 26:  1  0  0  0  IO-APIC 9-fasteoi acpi\n"
    files = changed(quiet_files(), {"/proc/interrupts": interrupts, "/proc/irq/26/smp_affinity_list": "0-3\n"})
    recording = record(tmp_path / "machine.nw", files)
    devices = {
        irq["irq"]: irq["device"] for irq in run("show", "--format", "json", "--replay", recording).json["irqs"]["irqs"]
    }
    assert devices == {24: "Ethernet Controller X550 (eth0)", 25: "NVMe SSD Controller (nvme0n1)", 26: None}


def test_a_quota_is_a_share_of_one_cpu(run: Run) -> None:
    machine = {"/sys/fs/cgroup/cpu.max": "50000 100000\n", "/sys/fs/cgroup/cpu.stat": "nr_throttled 7\n"}
    cgroup = run("show", "--format", "json", machine).json["cgroup"]
    assert cgroup == {"version": 2, "cpu_quota_share": 0.5, "throttled_periods": 7}


def test_unreadable_files_are_listed_with_their_reasons(run: Run) -> None:
    machine = {"/proc/interrupts": None, "/proc/softirqs": "rubbish\n"}
    unreadable = run("show", "--format", "json", machine).json["unreadable"]
    reasons = {failure["path"]: failure["reason"] for failure in unreadable}
    assert reasons["/proc/interrupts"] == "no such file"
    assert "rubbish" in reasons["/proc/softirqs"]
    assert len(reasons) == len(unreadable)


_TABLE = """\
           CPU0       CPU2       CPU3
  9:          1          2          3 IO-APIC 9-fasteoi acpi
 24:        500          0         40 PCI-MSIX-0000:00:04.0   0-edge      eth0
 24:          7          0          1 PCI-MSIX-0000:00:09.0   0-edge      eth1
IPI0:2768808080         11         13 Rescheduling interrupts
THR:                               Threshold APIC interrupts
ERR:         77
MIS:         88
"""


def _interrupts(run: Run, table: str = _TABLE) -> Any:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", "/proc/interrupts": table}
    return run("show", "--format", "json", offline).json["interrupts"]


def test_a_row_has_its_label_and_counts_by_the_cpus_of_the_header(run: Run) -> None:
    interrupts = _interrupts(run)
    assert interrupts["cpus"] == [0, 2, 3]
    assert interrupts["rows"][0]["count_by_cpu"] == {"0": 1, "2": 2, "3": 3}
    assert interrupts["total_by_cpu"] == {"0": 2768808588, "2": 13, "3": 57}, "without counts of the whole machine"
    rows_of_24 = [row for row in interrupts["rows"] if row["label"] == "24"]
    assert [row["count_by_cpu"]["0"] for row in rows_of_24] == [500, 7]
    assert [row["description"].split()[-1] for row in rows_of_24] == ["eth0", "eth1"]
    assert [row for row in interrupts["rows"] if "count_by_cpu" not in row] == [
        {"label": "THR", "description": "Threshold APIC interrupts"},
        {"label": "ERR", "total": 77},
        {"label": "MIS", "total": 88},
    ]


def test_two_rows_of_one_text_stay_two_rows(run: Run) -> None:
    interrupts = _interrupts(run, "  CPU0 CPU2 CPU3\n 7: 1 2 3 chip\n 7: 1 2 3 chip\n")
    assert [row["label"] for row in interrupts["rows"]] == ["7", "7"]
    assert interrupts["total_by_cpu"] == {"0": 2, "2": 4, "3": 6}


def test_on_one_cpu_the_error_count_is_not_that_of_the_cpu(run: Run) -> None:
    interrupts = _interrupts(run, "           CPU0\nLOC:          5   Local timer interrupts\nERR:         99\n")
    assert interrupts["total_by_cpu"] == {"0": 5}
    assert interrupts["rows"][1] == {"label": "ERR", "total": 99}


def test_softirqs_keep_the_columns_of_cpus_that_are_offline(run: Run) -> None:
    table = "          CPU0  CPU1  CPU2  CPU3\n TIMER:   10     20    30    40\n"
    machine = {f"{CPUS}/online": "0,2-3\n", "/proc/softirqs": table}
    softirqs = run("show", "--format", "json", machine).json["softirqs"]
    assert softirqs["cpus"] == [0, 1, 2, 3]
    assert softirqs["rows"] == [{"label": "TIMER", "count_by_cpu": {"0": 10, "1": 20, "2": 30, "3": 40}}]


def _irqs_of(run: Run, *rows: str) -> str:
    """Return the output of `show irqs` for a machine with more IRQs than are listed."""
    others = [f" {number}: 1 0 0 {chip}\n" for number, chip in enumerate(["acme"] * 25, start=40)]
    table = "".join(["  CPU0 CPU2 CPU3\n", *others, *rows, "LOC: 1 1 1 Local timer interrupts\n"])
    return run("show", "irqs", {"/proc/interrupts": table}).out


def test_a_device_of_xens_old_table_has_its_own_row(run: Run) -> None:
    rows = [line.split() for line in _irqs_of(run, "114: 749775929 0 0 xen-dyn-event eth0\n").splitlines()]
    assert next(row for row in rows if row[:1] == ["114"])[1:4] == ["749", "775", "929"]


def test_irqs_of_unknown_devices_share_no_row(run: Run) -> None:
    text = _irqs_of(run, "114: 749775929 0 0 acme\n")
    assert "749 775 929" in text
    assert "…" not in text.split("other IRQs")[0]
