"""Machines that once passed, or failed, for the wrong reason."""

from __future__ import annotations

import errno

import pytest

from noisewatch.errors import Absent
from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.live import unreadable
from tests.judgement.judging import answered, finding, judged
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files, stat_file

_ROOT = "/sys/fs/cgroup"
_HYBRID_MOUNTS = (
    "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
)


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/self/mounts": "proc /proc proc rw 0 0\n", "/proc/self/cgroup": "0::/system.slice/ci.service\n"},
        {"/proc/self/mounts": _HYBRID_MOUNTS, "/proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n"},
        {
            f"{_ROOT}/cgroup.events": "populated 1\n",
            f"{_ROOT}/cpu.max": "max 100000\n",
            f"{_ROOT}/cpu.stat": "nr_throttled 0\n",
        },
        {"/proc/self/cgroup": "0::/../ci.slice/job\n"},
        {"/proc/self/cgroup": "0::/gone (deleted)\n"},
        {"/proc/self/cgroup": "0::/user.slice\n", f"{_ROOT}/user.slice/cgroup.procs": "1\n"},
    ],
    ids=["nothing mounted", "no cpu controller mounted", "container", "outside", "deleted", "incomplete copy"],
)
def test_a_quota_that_cannot_be_seen_is_unknown(files: dict[str, str]) -> None:
    answer = answered("cpu-quota", files)
    assert (answer.status, bool(answer.reason)) == ("unknown", True)


def test_a_known_quota_fails_although_another_level_is_unreadable() -> None:
    folder = f"{_ROOT}/a/b"
    leaf = {
        f"{folder}/{name}": text for name, text in (("cpu.max", "50000 100000\n"), ("cpu.stat", "nr_throttled 0\n"))
    }
    answer = answered("cpu-quota", {"/proc/self/cgroup": "0::/a/b\n"} | leaf)
    assert (answer.status, answer.measured) == ("fail", 0.5)


def test_the_mount_that_shows_our_cgroup_is_the_one_that_counts() -> None:
    mounts = "cgroup2 /run/other cgroup2 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
    quota = {f"{_ROOT}/ci/cpu.max": "10000 100000\n", f"{_ROOT}/ci/cpu.stat": "nr_throttled 0\n"}
    files = {"/proc/self/mounts": mounts, "/proc/self/cgroup": "0::/ci\n", "/run/other/cgroup.controllers": "cpu\n"}
    assert answered("cpu-quota", files | quota).status == "fail"


@pytest.mark.parametrize("check_id", ["target-cpu-busy", "tasks-on-target"])
def test_a_stat_that_lxcfs_serves_tells_nothing(check_id: str) -> None:
    mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nlxcfs /proc/stat fuse.lxcfs rw 0 0\n"
    assert answered(check_id, {"/proc/self/mounts": mounts}).status == "unknown"


def test_nobody_is_known_to_stay_away_where_only_a_container_can_be_seen() -> None:
    moments = [
        {path: text for path, text in quiet_files(seconds).items() if not path.startswith(("/proc/2/", "/proc/30/"))}
        for seconds in (0.0, 3.0)
    ]
    found = finding(judged(WrittenMachine(*moments, answers=ANSWERS)), "tasks-on-target")
    assert (found.status, "no kernel thread can be seen" in found.answer.said) == ("warn", True)
    inside = [{**moment, "/.dockerenv": ""} for moment in moments]
    found = finding(judged(WrittenMachine(*inside, answers=ANSWERS)), "tasks-on-target")
    assert (found.status, "only this container's processes" in found.answer.said) == ("warn", True)


def test_nobody_is_known_to_stay_away_where_a_process_cannot_be_read() -> None:
    assert answered("tasks-on-target", {"/proc/950/stat": "garbage"}).status == "warn"


def test_a_schedstat_that_stands_still_explains_nothing() -> None:
    still = "version 17\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 5 0 0\n" for cpu in range(4))
    answer = answered("tasks-on-target", {"/proc/schedstat": still}, {"/proc/stat": stat_file({2: 14}, 300)})
    assert [culprit.kind for culprit in answer.culprits] == ["unexplained"]


def _ran(cpu: int, ran_ns: int, stays: int) -> dict[str, str]:
    """What tasks ran on that CPU, and none on the others."""
    rows = [
        f"cpu{each} 0 0 0 0 0 0 {ran_ns if each == cpu else 7} 0 {stays if each == cpu else 7}" for each in range(4)
    ]
    return {"/proc/schedstat": "\n".join(["version 15", *rows, ""])}


@pytest.mark.parametrize(
    ("check_id", "cpu", "files"),
    [
        ("target-cpu-busy", 2, {}),
        ("tasks-on-target", 2, {}),
        ("busy-sibling", 1, {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}),
        ("busy-cache-neighbour", 1, {}),
    ],
)
def test_what_runs_between_two_ticks_is_no_idleness(check_id: str, cpu: int, files: dict[str, str]) -> None:
    answer = answered(check_id, files | _ran(cpu, 0, 0), _ran(cpu, 1_200_000_000, 800))
    assert answer.status in ("fail", "warn")
    assert answer.measured == pytest.approx(0.4, abs=0.03)  # and what else the neighbours do


@pytest.mark.parametrize("missing_ticks", [24, 90])
@pytest.mark.parametrize("check_id", ["target-cpu-busy", "tasks-on-target"])
def test_what_is_missing_beside_idleness_ran_between_two_ticks(check_id: str, missing_ticks: int) -> None:
    """Without /proc/schedstat: the kernel has counted the idleness exactly, and at no tick did anybody run."""
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[3] = stat_file({}, 300 - missing_ticks).splitlines(keepends=True)[3]
    answer = answered(check_id, {}, {"/proc/stat": "".join(rows)})
    assert answer.status == "fail"
    assert answer.measured == pytest.approx(missing_ticks / 300, abs=0.01)


def test_a_cpu_that_was_away_for_half_of_the_sample_is_unknown() -> None:
    rows = stat_file({}, 300).splitlines(keepends=True)
    rows[3] = stat_file({}, 160).splitlines(keepends=True)[3]
    assert answered("target-cpu-busy", {}, {"/proc/stat": "".join(rows)}).status == "unknown"


def test_processor_flags_that_were_cut_off_do_not_prove_bare_metal() -> None:
    answer = answered("hypervisor-steal", {"/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme de"})
    assert answer.status == "unknown"


def test_interrupts_of_all_devices_that_a_hypervisor_delivers_as_one_are_counted() -> None:
    row = "HYP: 0 0 {} 0 Hypervisor callback interrupts\n"
    before = quiet_files()["/proc/interrupts"] + row.format(0)
    after = quiet_files(3.0)["/proc/interrupts"] + row.format(90_000)
    answer = answered("device-interrupts-on-target", {"/proc/interrupts": before}, {"/proc/interrupts": after})
    assert (answer.status, answer.culprits[0].name) == ("fail", "Hypervisor callback interrupts")


@pytest.mark.parametrize(
    "row",
    [
        " 26: 0 0 {} 0 xen-percpu -virq timer2\n",
        " 26: 0 0 {} 0 XICS 2 Edge IPI\n",
        " 26: 0 0 {} 0 GIC-0 29 Edge twd\n",
        " 26: 0 0 {} 0 MIPS 7 timer\n",
        " 26: 0 0 {} 0 GICv3 25 Level vgic\n",
    ],
)
def test_a_cpus_own_interrupts_are_no_devices_though_they_have_a_number(row: str) -> None:
    before = quiet_files()["/proc/interrupts"] + row.format(10)
    after = quiet_files(3.0)["/proc/interrupts"] + row.format(900)
    for check_id in ("device-interrupts-on-target", "irq-routed-to-target"):
        files = {"/proc/irq/26/smp_affinity_list": "0-3\n", "/proc/interrupts": before}
        assert answered(check_id, files, {"/proc/interrupts": after}).status == "pass"


def test_a_count_that_passes_32_bits_has_grown_and_not_started_anew() -> None:
    row = " 26: {} 0 {} 0 IO-APIC 9-edge nic\n"
    before = quiet_files()["/proc/interrupts"] + row.format(2**32 - 10, 5_000_000)
    after = quiet_files(3.0)["/proc/interrupts"] + row.format(20, 5_000_003)
    files = {"/proc/irq/26/smp_affinity_list": "0-1\n", "/proc/interrupts": before}
    assert answered("device-interrupts-on-target", files, {"/proc/interrupts": after}).measured == 1.0


def test_a_column_that_appeared_in_the_sample_counts_nothing() -> None:
    lines = quiet_files()["/proc/interrupts"].splitlines()
    before = "CPU0 CPU1 CPU3\n" + "".join(
        " ".join(word for at, word in enumerate(line.split()) if at != 3) + "\n" for line in lines[1:]
    )
    after = quiet_files(3.0)
    answer = answered("device-interrupts-on-target", {"/proc/interrupts": before}, after)
    assert (answer.status, "CPU 2" in (answer.reason or "")) == ("unknown", True)


def test_memory_pressure_without_its_blocking_half_is_unknown() -> None:
    some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
    assert answered("pressure-stall", {"/proc/pressure/memory": some}).status == "unknown"


def test_irqbalance_knows_nothing_of_partitions() -> None:
    files = {f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": "\n", f"{_ROOT}/cpuset.cpus.isolated": "2-3\n"}
    assert answered("irqbalance-may-move-irqs", files | process(800, "irqbalance", 0, 5)).status == "fail"


@pytest.mark.parametrize(
    "supplies",
    [
        {"AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging", "usb/type": "USB", "usb/online": "1"},
        {"BAT0/type": "Battery", "BAT0/status": "Full", "BAT1/type": "Battery", "BAT1/status": "Discharging"},
    ],
)
def test_a_battery_that_empties_is_no_mains_power(supplies: dict[str, str]) -> None:
    files = {f"/sys/class/power_supply/{path}": f"{text}\n" for path, text in supplies.items()}
    assert answered("on-battery", files).status == "fail"


def test_turbo_of_a_target_cpus_own_policy_is_judged_and_put_back_there_alone() -> None:
    files = {f"{CPUS}/cpu{cpu}/cpufreq/boost": f"{int(cpu == 3)}\n" for cpu in range(4)}
    answer = answered("turbo-enabled", files)
    assert answer.fix is not None
    assert (answer.status, answer.fix.undo) == ("fail", f"echo 1 | sudo tee {CPUS}/cpu3/cpufreq/boost")
    assert answered("turbo-enabled", dict.fromkeys(files, "0\n")).status == "pass"


def test_a_window_pinned_below_a_turbo_that_is_on_is_not_pinned() -> None:
    assert answered("frequency-window-open", {f"{CPUS}/cpufreq/boost": "1\n"}).status == "warn"


def test_each_cpus_own_driver_tells_what_its_powersave_is() -> None:
    files = {
        f"{CPUS}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
        f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
    }
    assert answered("governor-not-performance", files).status == "fail"


def test_a_sibling_that_only_the_other_side_tells_of_is_one() -> None:
    answer = answered("busy-sibling", {f"{CPUS}/cpu1/topology/thread_siblings_list": "1-2\n"})
    assert (answer.status, set(answer.cpus)) == ("warn", {1})


def test_a_list_of_siblings_that_lacks_the_cpu_itself_is_not_believed() -> None:
    assert answered("busy-sibling", {f"{CPUS}/cpu2/topology/thread_siblings_list": "7\n"}).status == "unknown"


def test_a_task_that_ran_elsewhere_is_not_blamed_where_it_was_seen_last() -> None:
    after = process(900, "wanderer", 2, 1_000_000_000, allowed="0-3") | {"/proc/stat": stat_file({0: 100}, 300)}
    before = process(900, "wanderer", 2, 0, allowed="0-3")
    for check_id in ("tasks-on-target", "target-cpu-busy"):
        machine = WrittenMachine(quiet_files() | before, quiet_files(3.0) | after, answers=ANSWERS)
        found = finding(judged(machine, frozenset({2, 3})), check_id)
        assert (found.answer.measured or 0) < 0.02


def test_init_is_never_moved() -> None:
    after = process(1, "systemd", 2, 1_500_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 150}, 300)}
    answer = answered("tasks-on-target", {}, after)
    assert (answer.status, answer.fix) == ("fail", None)


def test_no_fix_isolates_every_cpu() -> None:
    machine = WrittenMachine(
        quiet_files(), quiet_files(3.0), answers=ANSWERS | {"pin to CPUs": {"granted": [0, 1, 2, 3]}}
    )
    fix = finding(judged(machine, frozenset({0, 1, 2, 3})), "target-not-isolated").answer.fix
    assert fix is not None
    assert "isolcpus" not in (fix.persist or "")
    assert fix.now is None


@pytest.mark.parametrize(
    ("number", "is_absent"), [(errno.ENOENT, True), (errno.ESRCH, True), (errno.EACCES, False), (errno.EPERM, False)]
)
def test_only_what_the_kernel_says_is_not_there_is_known_not_to_be(number: int, is_absent: bool) -> None:
    assert isinstance(unreadable("/proc/x", OSError(number, "why")), Absent) is is_absent


def test_nobody_knows_of_a_machine_that_stands_still_whether_it_swaps() -> None:
    snapshot = read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())
    found = finding(judge(Case(snapshot, no_sample_reason="stands still")), "swapping")
    assert (found.status, found.answer.reason) == ("unknown", "stands still")
    assert finding(judge(Case(snapshot)), "swapping").answer.said == "hardly any swap is in use"
