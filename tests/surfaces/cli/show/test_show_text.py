"""The text of `show`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.running import Run, record
from tests.written.quiet.system import CONFIG
from tests.written.quiet_machine import CPUS, quiet_files

HOSTILE = "\x1b]0;x\x07[bold red]x"


def _table(out: str) -> list[dict[str, str]]:
    """Return the rows of the core table by heading; its cells contain no blanks."""
    lines = out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("CPU "))
    headings = lines[first].split()
    rows = lines[first + 1 : lines.index("", first)]
    return [dict(zip(headings, row.split(), strict=True)) for row in rows]


def test_each_cpu_has_one_row(run: Run) -> None:
    result = run("show", "-v", {})
    assert [row["CPU"] for row in _table(result.out)] == ["0", "1", "2", "3"]
    assert [row["TARGET"] for row in _table(result.out)] == ["no", "no", "yes", "yes"]
    assert [row["INTERRUPTS"] for row in _table(result.out)] == ["9600", "9200", "123", "123"]
    assert result.status == 0


def test_unknown_values_are_question_marks(run: Run) -> None:
    names = ("cpu1/cpufreq/scaling_governor", "cpu1/topology/core_id", "cpu1/topology/thread_siblings_list", "isolated")
    machine = {f"{CPUS}/{name}": None for name in names} | {"/proc/interrupts": None}
    row = _table(run("show", "-v", machine, "--cpus", "1").out)[1]
    unknown = {heading for heading, cell in row.items() if cell == "?"}
    assert unknown == {"GOVERNOR", "CORE", "SIBLINGS", "INTERRUPTS", "ISOLATED"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("CONFIG_RCU_NOCB_CPU=y\n", "1-3"),
        ("# CONFIG_RCU_NOCB_CPU is not set\n", "none"),
        (None, "1-3 requested; support by the kernel is unknown"),
    ],
)
def test_rcu_nocbs_is_shown_as_in_force_where_the_kernel_has_it(run: Run, config: str | None, expected: str) -> None:
    changes = {CONFIG: config, f"{CPUS}/nohz_full": "\n", "/proc/cmdline": "rcu_nocbs=1-3\n"}
    out = run("show", changes).out
    assert next(line for line in out.splitlines() if line.startswith("rcu_nocbs")).split(maxsplit=1)[1] == expected


def test_an_offline_cpu_has_its_row_as_in_lscpu_a(run: Run) -> None:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", f"{CPUS}/cpu1/online": "0\n"}
    rows = _table(run("show", "-v", offline, "--cpus", "2").out)
    assert [(row["CPU"], row["ONLINE"]) for row in rows] == [("0", "yes"), ("1", "no"), ("2", "yes"), ("3", "yes")]


def test_an_offline_target_has_its_row(run: Run) -> None:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", f"{CPUS}/cpu1/online": "0\n"}
    rows = _table(run("show", "-v", offline, "--cpus", "1").out)
    assert [(row["CPU"], row["ONLINE"], row["TARGET"]) for row in rows if row["CPU"] == "1"] == [("1", "no", "yes")]


def test_an_irq_row_names_its_cpus_and_its_device(run: Run, tmp_path: Path) -> None:
    words = run("show", "--replay", record(tmp_path / "machine.nw", quiet_files())).words
    assert "24 500 0 0-1 yes eth0-rx-0 Ethernet Controller X550 (eth0)" in words


def test_unreadable_files_are_shown_with_their_reasons(run: Run) -> None:
    result = run("show", "-v", {"/proc/interrupts": None, "/proc/softirqs": "x\n"})
    failed, _, absent = result.out.partition("could not be read:\n")[2].partition("not exported here:\n")
    assert "/proc/softirqs: " in failed
    assert "/proc/interrupts" in absent.split()
    assert "/proc/interrupts" not in failed


def test_failures_are_grouped_by_reason(run: Run) -> None:
    result = run("show", {"/proc/interrupts": None, "/proc/softirqs": "x\n"})
    notes = " ".join(result.out.partition("could not be read (-v shows all):\n")[2].split())
    assert "not exported here (-v shows all): /proc/interrupts, " in notes
    assert "/proc/softirqs" in notes.partition("not exported")[0]


def test_an_empty_tree_is_shown_as_unknown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    result = run("show", "--sysroot", tmp_path)
    assert result.status == 0
    assert "online ?, offline ?" in result.words


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/proc/interrupts", f" CPU0 CPU1 CPU2 CPU3\n24: 1 0 0 0 PCI-MSI 0-edge {HOSTILE}\n"),
        (f"/proc/irq/25/{HOSTILE}/x", ""),
        ("/proc/sys/kernel/osrelease", f"6.1{HOSTILE}\n"),
        ("/proc/cpuinfo", f"processor : 0\nmodel name : {HOSTILE}\n"),
        ("/proc/sys/kernel/hostname", f"{HOSTILE}\n"),
        (f"{CPUS}/cpu0/cpufreq/scaling_governor", f"{HOSTILE}\n"),
        (f"{CPUS}/cpu0/cpufreq/scaling_driver", f"{HOSTILE}\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", f"{HOSTILE}\n"),
        ("/run/systemd/container", f"{HOSTILE}\n"),
        ("/proc/self/cgroup", f"0::/{HOSTILE}\n"),
        (f"/sys/class/power_supply/{HOSTILE}/type", "Mains\n"),
        ("/proc/softirqs", f" CPU0 CPU1\n{HOSTILE}: 1 2 3\n"),
        ("/proc/pressure/cpu", HOSTILE),
    ],
    ids=lambda value: value.replace(HOSTILE, "HOSTILE") if value.startswith("/") else "",
)
def test_escape_sequences_in_files_do_not_reach_the_terminal(run: Run, path: str, text: str) -> None:
    result = run("show", {path: text})
    assert result.status == 0
    assert [line for line in result.out.splitlines() if not line.isprintable()] == []
    assert result.err == ""


def test_an_action_that_looks_like_markup_is_shown_as_it_is(run: Run) -> None:
    table = " CPU0 CPU1 CPU2 CPU3\n24: 1 0 0 0 PCI-MSI 0-edge [bold red]x[/]\n"
    assert "[bold red]x[/]" in run("show", {"/proc/interrupts": table}).out


def _rows(out: str, heading: str) -> list[str]:
    """Return the rows of the table with this heading, with single blanks."""
    lines = out.splitlines()
    first = next(number for number, line in enumerate(lines) if " ".join(line.split()).startswith(heading))
    rows = lines[first + 1 :]
    return [" ".join(line.split()) for line in rows[: rows.index("") if "" in rows else None]]


def _large(count: int = 480) -> dict[str, str | None]:
    """Return files of two sockets with a cache each: odd CPUs on node 1, siblings half the CPU count apart."""
    files: dict[str, str | None] = {
        f"{CPUS}/online": f"0-{count - 1}\n",
        f"{CPUS}/present": f"0-{count - 1}\n",
        f"{CPUS}/offline": "\n",
        "/sys/devices/system/node/node0/cpulist": ",".join(map(str, range(0, count, 2))) + "\n",
        "/sys/devices/system/node/node1/cpulist": ",".join(map(str, range(1, count, 2))) + "\n",
        "/proc/interrupts": None,
    }
    for cpu in range(count):
        folder, half = f"{CPUS}/cpu{cpu}", count // 2
        shared = ",".join(map(str, range(cpu % 2, count, 2)))
        files |= {
            f"{folder}/topology/core_id": f"{cpu % half // 2}\n",
            f"{folder}/topology/physical_package_id": f"{cpu % 2}\n",
            f"{folder}/topology/thread_siblings_list": f"{cpu % half},{cpu % half + half}\n",
            f"{folder}/cache/index3/level": "3\n",
            f"{folder}/cache/index3/type": "Unified\n",
            f"{folder}/cache/index3/shared_cpu_list": f"{shared}\n",
            f"{folder}/cpufreq/scaling_driver": "acpi-cpufreq\n",
            f"{folder}/cpufreq/scaling_governor": "performance\n",
            f"{folder}/cpufreq/scaling_min_freq": "1200000\n",
            f"{folder}/cpufreq/scaling_max_freq": "2300000\n",
            f"{folder}/cpufreq/cpuinfo_min_freq": "1200000\n",
            f"{folder}/cpufreq/cpuinfo_max_freq": "2300000\n",
            f"{folder}/cpufreq/scaling_cur_freq": f"{2_200_000 + cpu}\n",
        }
    return files


def test_equal_cpus_share_a_row_and_caches_have_names(run: Run) -> None:
    result = run("show", _large(), "--cpus", "0-479")
    assert len(result.out.splitlines()) <= 60
    assert _rows(result.out, "CPUS COUNT ONLINE") == [
        "0-1,4-479 478 yes yes no no ? ?",
        "2-3 2 yes yes yes yes ? ?",
    ]
    large = next(row for row in _rows(result.out, "CPUS DRIVER") if row.startswith("4-479 "))
    assert large.startswith("4-479 acpi-cpufreq performance ")
    assert "1.2-2.3 GHz" in large
    assert _rows(result.out, "NODE PKG CACHE") == [
        "0 0 L3#0 0,2…478 240 120 0,240 2,242 … ?",
        "1 1 L3#1 1,3…479 240 120 1,241 3,243 … ?",
    ]


def test_verbose_topology_has_a_row_for_every_core(run: Run) -> None:
    result = run("show", "topology", "-v", _large(8))
    assert _rows(result.out, "NODE PKG CACHE") == [
        "0 0 L3#0 0,4 2 1 0,4 ?",
        "1 1 L3#1 1,5 2 1 1,5 ?",
        "0 0 L3#0 2,6 2 1 2,6 ?",
        "1 1 L3#1 3,7 2 1 3,7 ?",
    ]


def test_verbose_show_has_a_row_for_every_cpu(run: Run) -> None:
    rows = _table(run("show", "-v", _large(16)).out)
    assert [row["CACHE"] for row in rows] == ["L3#0", "L3#1"] * 8
    assert {(row["MIN"], row["MAX"]) for row in rows} == {("1.2", "2.3")}


@pytest.mark.parametrize(
    ("topic", "heads"),
    [("cpus", {"CPUS COUNT"}), ("topology", {"NODE PKG"}), ("clock", {"CPUS DRIVER"}), ("irqs", {"IRQ COUNT"})],
)
def test_a_topic_shows_its_tables_alone(run: Run, topic: str, heads: set[str]) -> None:
    all_heads = {"CPUS COUNT", "NODE PKG", "CPUS DRIVER", "IRQ COUNT"}
    for words, expected in (([topic], heads), (["all"], all_heads), ([], all_heads)):
        out = run("show", *words, {}).out
        assert {" ".join(line.split()[:2]) for line in out.splitlines()} & all_heads == expected


def test_json_is_complete_whatever_the_topic(run: Run) -> None:
    whole = run("show", "--format", "json", {})
    assert run("show", "irqs", "-v", "--format", "json", {}).out == whole.out


def _with_irqs(rows: list[tuple[int, int, str]]) -> dict[str, str | None]:
    """Return files with these IRQs: number, count on CPU 0 and driver."""
    table = " CPU0 CPU1 CPU2 CPU3\n" + "".join(
        f"{number}: {times} 0 0 0 PCI-MSI {number}-edge {driver}\n" for number, times, driver in rows
    )
    files: dict[str, str | None] = {"/proc/interrupts": table + "LOC: 1 1 1 1 Local timer interrupts\n"}
    for number, _, driver in rows:
        files |= {
            f"/proc/irq/{number}/smp_affinity_list": f"{number % 4}\n",
            f"/proc/irq/{number}/effective_affinity_list": f"{number % 4}\n",
            f"/proc/irq/{number}/{driver}/x": "",
        }
    return files


def test_many_irqs_of_a_device_share_a_row(run: Run) -> None:
    rows = [(100 + number, 1000, f"i40e-eth0-TxRx-{number}") for number in range(800)]
    machine = _with_irqs([*rows, (50, 7, "acpi")])
    device, other, *_ = _rows(run("show", "irqs", machine).out, "IRQ COUNT")
    assert device.startswith("100…899 (800) 800 000 0-3 0-3 ")
    assert device.endswith("i40e-eth0-TxRx-* ?")
    assert other.startswith("50 7 2 2 ")
    assert len(run("show", "-v", "irqs", machine).out.splitlines()) > 800


def test_silent_irqs_are_one_line_of_devices(run: Run) -> None:
    rows = [(100 + number, 0, f"nvme0q{number}") for number in range(5)]
    out = run("show", "irqs", _with_irqs([*rows, (50, 0, "acpi"), (51, 7, "eth0")])).out
    silent = next(line for line in out.splitlines() if "silent since boot" in line)
    assert "5 of nvme0q*, acpi" in silent
    assert _rows(out, "IRQ COUNT")[0].startswith("51 ")


def test_an_irq_whose_count_is_unknown_is_not_called_silent(run: Run) -> None:
    out = run("show", "irqs", {"/proc/interrupts": None}).out
    assert "silent" not in out
    assert {row.split()[1] for row in _rows(out, "IRQ COUNT")} == {"?"}
