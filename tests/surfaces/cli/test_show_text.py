"""`show` for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.running import Run, quiet_tree, record
from tests.written.quiet_machine import CPUS, quiet_files

HOSTILE = "\x1b]0;x\x07[bold red]x"


def _table(out: str) -> list[dict[str, str]]:
    """The core table, each row by its headings; no cell of it holds a blank."""
    lines = out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("CPU "))
    headings = lines[first].split()
    rows = lines[first + 1 : lines.index("", first)]
    return [dict(zip(headings, row.split(), strict=True)) for row in rows]


def test_each_cpu_has_one_row(run: Run, unchanged_tree: Path) -> None:
    ran = run("show", "--sysroot", unchanged_tree)
    assert [row["CPU"] for row in _table(ran.out)] == ["0", "1", "2", "3"]
    assert [row["TARGET"] for row in _table(ran.out)] == ["no", "no", "yes", "yes"]
    assert [row["INTERRUPTS"] for row in _table(ran.out)] == ["9600", "9200", "123", "123"]
    assert ran.status == 0


def test_what_is_unknown_is_a_question_mark(run: Run, tmp_path: Path) -> None:
    gone = ("cpu1/cpufreq/scaling_governor", "cpu1/topology/core_id", "cpu1/topology/thread_siblings_list", "isolated")
    root = quiet_tree(tmp_path, {f"{CPUS}/{name}": None for name in gone} | {"/proc/interrupts": None})
    row = _table(run("show", "--sysroot", root, "--cpus", "1").out)[1]
    unknown = {heading for heading, cell in row.items() if cell == "?"}
    assert unknown == {"GOVERNOR", "CORE", "SIBLINGS", "INTERRUPTS", "ISOLATED"}


def test_an_offline_cpu_has_its_row_as_in_lscpu_a(run: Run, tmp_path: Path) -> None:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", f"{CPUS}/cpu1/online": "0\n"}
    rows = _table(run("show", "--sysroot", quiet_tree(tmp_path, offline), "--cpus", "2").out)
    assert [(row["CPU"], row["ONLINE"]) for row in rows] == [("0", "yes"), ("1", "no"), ("2", "yes"), ("3", "yes")]


def test_an_offline_target_has_its_row(run: Run, tmp_path: Path) -> None:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", f"{CPUS}/cpu1/online": "0\n"}
    rows = _table(run("show", "--sysroot", quiet_tree(tmp_path, offline), "--cpus", "1").out)
    assert [(row["CPU"], row["ONLINE"], row["TARGET"]) for row in rows if row["CPU"] == "1"] == [("1", "no", "yes")]


def test_an_irqs_row_names_where_it_goes_and_for_whom(run: Run, tmp_path: Path) -> None:
    words = run("show", "--replay", record(tmp_path / "machine.nw", quiet_files())).words
    assert "24 500 0 0-1 yes eth0-rx-0 Ethernet Controller X550 (eth0)" in words


def test_what_could_not_be_read_is_told_with_its_reason(run: Run, tmp_path: Path) -> None:
    ran = run("show", "--sysroot", quiet_tree(tmp_path, {"/proc/interrupts": None, "/proc/softirqs": "x\n"}))
    told = ran.out.partition("could not be read:\n")[2]
    assert "/proc/interrupts: no such file" in told
    assert "/proc/softirqs: " in told


def test_a_tree_with_nothing_but_a_folder_is_shown_as_unknown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    ran = run("show", "--sysroot", tmp_path)
    assert ran.status == 0
    assert "online ?, offline ?" in ran.words


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
def test_nothing_that_a_file_says_reaches_the_terminal_as_a_command(
    run: Run, tmp_path: Path, path: str, text: str
) -> None:
    ran = run("show", "--sysroot", quiet_tree(tmp_path, {path: text}))
    assert ran.status == 0
    assert [line for line in ran.out.splitlines() if not line.isprintable()] == []
    assert ran.err == ""


def test_an_action_that_looks_like_markup_is_shown_as_it_is(run: Run, tmp_path: Path) -> None:
    table = " CPU0 CPU1 CPU2 CPU3\n24: 1 0 0 0 PCI-MSI 0-edge [bold red]x[/]\n"
    assert "[bold red]x[/]" in run("show", "--sysroot", quiet_tree(tmp_path, {"/proc/interrupts": table})).out
