"""Actions as commands: one readable line for any set of CPUs, harmless if it runs twice, with an exact undo."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noisewatch.cpus import format_taskset_list
from noisewatch.judgement.fixes.actions import (
    MoveProcesses,
    Run,
    Setting,
    Write,
    move,
    pids_of,
    run_command,
    write,
    write_cpus,
)
from noisewatch.judgement.fixes.fix import (
    AtBoot,
    BootOptions,
    ByHand,
    Fix,
    at_boot,
    boot_without,
    merge_arguments,
    write_for_good,
)
from noisewatch.judgement.fixes.shell import glob_of, list_of_numbers, products, products_of_paths, run
from tests.judgement.fixes.fake_root import sh, tree_of
from tests.written import write_tree
from tests.written.quiet_machine import CPUS

_LONGEST = 200
_MOST_CPUS = 512
_GOVERNOR, _PREFERENCE = "cpufreq/scaling_governor", "cpufreq/energy_performance_preference"


def _cpus(first: int, step: int, count: int) -> frozenset[int]:
    return frozenset(range(first, min(first + step * count, _MOST_CPUS), step))


_ONE_RANGE = st.builds(_cpus, st.integers(0, 500), st.sampled_from([1, 2]), st.integers(1, _MOST_CPUS))
_CONSECUTIVE = st.builds(_cpus, st.integers(0, 500), st.just(1), st.integers(1, _MOST_CPUS))
_RANGES = st.lists(_ONE_RANGE, min_size=1, max_size=3).map(lambda ranges: frozenset().union(*ranges))
_FEW_CPUS = st.frozensets(st.integers(0, 600), min_size=1, max_size=12)


def _expand(pattern: str) -> list[str]:
    """Expand braces as systemd-tmpfiles does (glob with GLOB_BRACE)."""
    match = re.search(r"(?<!\[)\{([^{}]*)\}", pattern)
    if match is None:
        return [pattern]
    return [
        expansion
        for word in match[1].split(",")
        for expansion in _expand(pattern[: match.start()] + word + pattern[match.end() :])
    ]


def _numbers_in_shell(numbers: Iterable[int]) -> list[str]:
    shell = ["sh", "-c", f"echo {list_of_numbers(numbers)}"]
    return subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split()


@given(st.frozensets(st.integers(0, _MOST_CPUS), max_size=60))
@example(frozenset({0, 1, 2, 4, 6, 8, 9}))
def test_a_list_of_numbers_contains_each_number_once(numbers: frozenset[int]) -> None:
    assert sorted(map(int, _numbers_in_shell(numbers))) == sorted(numbers)


@pytest.mark.parametrize(
    ("numbers", "listed"),
    [
        ([7], "7"),
        ([2, 3], "2 3"),
        (range(20), "$(seq 0 19)"),
        ([*range(48), *range(96, 144)], "$(seq 0 47; seq 96 143)"),
        (range(0, 96, 2), "$(seq 0 2 94)"),
        ([1, *range(100, 120), 200, 300], "$(echo 1; seq 100 119; echo 200 300)"),
    ],
)
def test_a_long_list_of_numbers_is_generated_by_seq(numbers: Iterable[int], listed: str) -> None:
    assert list_of_numbers(numbers) == listed


class _Word(str):
    """A word that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        _Word.comparisons += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class _Number(int):
    """A number that counts how often it is subtracted from."""

    subtractions = 0

    def __sub__(self, other: int) -> int:
        _Number.subtractions += 1
        return int.__sub__(self, other)


_MANY = 2_000


def test_a_rendering_of_many_commands_compares_each_with_its_neighbour_only() -> None:
    _Word.comparisons = 0
    commands = [("kill", _Word(number)) for number in range(1, _MANY + 1)]
    assert run(commands, as_root=True) == f'for n in $(seq 1 {_MANY}); do sudo kill "$n"; done'
    assert _Word.comparisons <= 10 * _MANY


def test_a_list_of_many_numbers_goes_through_them_once() -> None:
    _Number.subtractions = 0
    list_of_numbers([_Number(number * number) for number in range(_MANY)])
    assert _Number.subtractions <= 3 * _MANY


@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), max_size=12))
def test_a_loop_runs_the_given_commands(commands: list[tuple[str, str, str]]) -> None:
    process = subprocess.run(
        ["sh", "-c", run([("echo", *words) for words in commands], as_root=False) or "true"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.splitlines() == [" ".join(words) for words in dict.fromkeys(commands)]


@given(st.frozensets(st.tuples(*[st.sampled_from("abc")] * 3)))
def test_boxes_contain_each_row_once_and_nothing_else(rows: frozenset[tuple[str, str, str]]) -> None:
    unpacked = [
        (a, b, c) for first, second, third in products(sorted(rows)) for a in first for b in second for c in third
    ]
    assert sorted(unpacked) == sorted(rows)


@given(st.frozensets(st.integers(0, _MOST_CPUS - 1), min_size=1) | _RANGES)
def test_a_glob_matches_the_given_cpus_only(cpus: frozenset[int]) -> None:
    names = [*(f"cpu{cpu}" for cpu in range(_MOST_CPUS)), "cpuidle", "cpufreq"]
    patterns = [
        pattern for box in products_of_paths(f"cpu{cpu}/x" for cpu in sorted(cpus)) for pattern in _expand(glob_of(box))
    ]
    matched = [name for name in names for pattern in patterns if fnmatchcase(f"{name}/x", pattern)]
    assert sorted(matched) == sorted(f"cpu{cpu}" for cpu in cpus)


@given(_RANGES)
def test_a_write_to_ranges_of_cpus_is_a_line_of_200_characters_at_most(cpus: frozenset[int]) -> None:
    values, before = dict.fromkeys(cpus, "performance"), dict.fromkeys(cpus, "balance_power")
    action = write_cpus(values, _PREFERENCE, before)
    assert max(len(action.do), len(action.undo or "")) <= _LONGEST


@given(_RANGES, st.integers(1, 3))
def test_a_write_to_several_files_of_each_cpu_is_one_such_line(cpus: frozenset[int], states: int) -> None:
    paths = [f"{CPUS}/cpu{cpu}/cpuidle/state{state}/disable" for cpu in sorted(cpus) for state in range(1, 1 + states)]
    action = Write(tuple(Setting(path, "1", "0") for path in paths))
    assert max(len(action.do), len(action.undo or "")) <= _LONGEST


@given(_CONSECUTIVE, st.sampled_from([_GOVERNOR, _PREFERENCE, "cpuidle/state3/disable"]))
def test_a_persistent_setting_is_one_such_line(cpus: frozenset[int], name: str) -> None:
    fix = write_for_good(write_cpus(dict.fromkeys(cpus, "performance"), name, {}))
    assert max(len(fix.persist or ""), len(fix.undo_persist or "")) <= _LONGEST


@given(_CONSECUTIVE)
def test_two_persistent_limits_of_all_cpus_are_one_such_line(cpus: frozenset[int]) -> None:
    limits = [write_cpus(dict.fromkeys(cpus, 2_000_000), f"cpufreq/scaling_{name}_freq", {}) for name in ("min", "max")]
    assert len(write_for_good(*limits).persist or "") <= _LONGEST


@pytest.mark.parametrize("count", [96, 480, 512])
@pytest.mark.parametrize("name", [_GOVERNOR, "power/energy_perf_bias"])
def test_settings_of_halves_of_large_machines_are_one_such_line(count: int, name: str) -> None:
    """The CPUs are both hardware threads of the second half of the cores, or alternate between sockets."""
    quarter = count // 4
    threads = [*range(quarter, 2 * quarter), *range(3 * quarter, count)]
    for cpus in (threads, range(0, count, 2), range(1, count, 2), range(2, count)):
        fix = write_for_good(write_cpus(dict.fromkeys(cpus, "performance"), name, {}))
        assert max(len(fix.now or ""), len(fix.persist or "")) <= _LONGEST


@given(
    st.dictionaries(
        st.integers(0, 600), st.sampled_from(["powersave", "schedutil", "7 4 1 7"]), min_size=1, max_size=12
    )
)
@settings(max_examples=25)
def test_a_fix_is_idempotent_and_its_undo_restores_each_cpu(before: dict[int, str]) -> None:
    fix = write_for_good(write_cpus(dict.fromkeys(before, "performance"), _GOVERNOR, before))
    files = {f"{CPUS}/cpu{cpu}/{_GOVERNOR}": f"{value}\n" for cpu, value in before.items()}
    files[f"{CPUS}/cpu700/{_GOVERNOR}"] = "never meant\n"
    with TemporaryDirectory() as folder:
        root = write_tree(Path(folder) / "machine", files)
        original = tree_of(root)
        once, twice = (sh(root, fix.now, fix.persist) for _ in range(2))
        assert once == twice
        changed = [path for path in original if once[path] == "performance\n"]
        assert len(changed) == len(before)
        assert [sh(root, fix.undo, fix.undo_persist) for _ in range(2)] == [original, original]


_NAMES = st.text(st.sampled_from("ab0-.$`\"'\\*?[]{}%;& é"), min_size=1, max_size=6).filter(
    lambda name: name.strip(".")
)


@given(st.dictionaries(st.tuples(_NAMES, _NAMES), st.sampled_from(["0", "-1", "-n", "a\\b", "$(x)"]), max_size=6))
@settings(max_examples=25)
def test_files_may_have_any_names_and_values(value_by_names: dict[tuple[str, str], str]) -> None:
    values = {f"/sys/{folder}/{name}": value for (folder, name), value in value_by_names.items()}
    action = Write(tuple(Setting(path, value, "old") for path, value in values.items()))
    with TemporaryDirectory() as folder:
        root = Path(folder) / "machine"
        assert sh(root, action.do) == {path[1:]: f"{value}\n" for path, value in values.items()}
        assert sh(root, action.undo) == {path[1:]: "old\n" for path in values}


@given(st.dictionaries(st.integers(1, 4000), _FEW_CPUS, min_size=1, max_size=12))
@settings(max_examples=25)
def test_undo_restores_the_affinity_of_each_thread(before: dict[int, frozenset[int]]) -> None:
    action = move(before, frozenset({0, 1}))
    original = {f"/threads/{tid}": f"{format_taskset_list(cpus)}\n" for tid, cpus in before.items()}
    with TemporaryDirectory() as folder:
        root = write_tree(Path(folder) / "machine", original)
        assert set(sh(root, action.do, action.do).values()) == {"0-1\n"}
        assert sh(root, action.undo, action.undo) == {path[1:]: text for path, text in original.items()}


def test_a_process_is_moved_with_all_threads_and_undo_restores_each_of_them() -> None:
    allowed = frozenset(range(4))
    same = move({450: allowed, 456: allowed}, frozenset({0, 1}), 450)
    assert (same.do, same.undo) == ("sudo taskset -apc 0-1 450", "sudo taskset -apc 0-3 450")
    differing = move({450: allowed, 456: frozenset({2}), 457: allowed}, frozenset({0, 1}), 450)
    assert differing.undo == 'for n in 450 457; do sudo taskset -pc 0-3 "$n"; done; sudo taskset -pc 2 456'
    assert move({450: allowed, 456: None}, frozenset({0}), 450).undo is None


def test_several_processes_are_moved_with_all_threads_and_undo_restores_each_of_them() -> None:
    both = MoveProcesses(
        (
            move({7: frozenset({2}), 8: frozenset({2})}, frozenset({0}), process=7),
            move({9: frozenset({2}), 10: frozenset({3})}, frozenset({0}), process=9),
        )
    )
    assert both.do == 'for n in 7 9; do sudo taskset -apc 0 "$n"; done'
    assert both.undo == "sudo taskset -apc 2 7; sudo taskset -pc 2 9; sudo taskset -pc 3 10"
    assert pids_of(both) == {7, 8, 9, 10}


def test_the_processes_of_a_command_are_those_that_it_is_about() -> None:
    about = Run(commands=(("chrt", "-o", "-p", "0", "450"), ("renice", "-n", "5", "-p", "451")))
    assert pids_of(about) >= {450, 451}
    assert pids_of(Run(commands=(("sysctl", "-w", "vm.swappiness=60"), ("head", "-n", "450")))) == frozenset()


@given(st.lists(_FEW_CPUS | _RANGES, min_size=2, max_size=6, unique=True))
def test_each_set_of_cpus_has_a_file_of_its_own_with_a_short_name(sets: list[frozenset[int]]) -> None:
    lasting = [at_boot(write_cpus(dict.fromkeys(cpus, "performance"), _GOVERNOR, {})) for cpus in sets]
    names = [shlex.split(action.undo)[-1].rsplit("/", 1)[1] for action in lasting]
    assert len(set(names)) == len(sets)
    assert max(map(len, names)) < 80


@pytest.mark.parametrize(
    ("paths", "line"),
    [
        (
            [f"{CPUS}/cpu{cpu}/{_GOVERNOR}" for cpu in (2, 3)],
            f"echo 'w {CPUS}/cpu[23]/{_GOVERNOR} - - - - 0' "
            "| sudo tee /etc/tmpfiles.d/noisewatch-cpu2-3.cpufreq.scaling_governor.conf",
        ),
        (
            [f"/sys/class/net/eth0/queues/rx-{queue}/rps_cpus" for queue in range(12)],
            "echo 'w /sys/class/net/eth0/queues/rx-{[0-9],1[01]}/rps_cpus - - - - 0' "
            "| sudo tee /etc/tmpfiles.d/noisewatch-net.eth0.queues.rx-0-11.rps_cpus.conf",
        ),
        (
            [f"{CPUS}/intel_uncore_frequency/package_{package}_die_00/min_freq_khz" for package in ("00", "01")],
            f"echo 'w {CPUS}/intel_uncore_frequency/package_{{00,01}}_die_00/min_freq_khz - - - - 0' "
            "| sudo tee /etc/tmpfiles.d/noisewatch-min_freq_khz.29769d07.conf",
        ),
        (
            ["/proc/sys/kernel/task_delayacct", "/proc/sys/kernel/sched_schedstats"],
            "printf '%s\\n' 'kernel.task_delayacct = 0' 'kernel.sched_schedstats = 0' "
            "| sudo tee /etc/sysctl.d/90-noisewatch-kernel.task_delayacct,sched_schedstats.conf",
        ),
    ],
)
def test_a_persistent_setting_is_a_file_for_its_paths_alone(paths: list[str], line: str) -> None:
    lasting = AtBoot(tuple(Setting(path, "0") for path in paths))
    assert (lasting.do, lasting.undo) == (line, f"sudo rm -f {line.rsplit(' ', 1)[1]}")


def test_a_fix_is_done_in_order_and_undone_in_the_reverse() -> None:
    fix = Fix((write("/a", 1, 0), run_command("systemctl stop x", "systemctl start x"), write("/b", 3, "2")))
    assert fix.now == "echo 1 | sudo tee /a && sudo systemctl stop x && echo 3 | sudo tee /b"
    assert fix.undo == "echo 2 | sudo tee /b; sudo systemctl start x; echo 0 | sudo tee /a"


def test_a_fix_with_an_unknown_value_has_no_undo() -> None:
    assert Fix((write("/a", 1, 0), write("/b", 1, None))).undo is None
    assert Fix((write("/a", 1, 0), run_command("kill 1"))).undo is None
    assert Fix((write_cpus({1: 0, 2: 0}, "online", {1: 1}),)).undo is None


def test_commands_that_differ_in_a_word_are_a_loop() -> None:
    units = [("systemctl", "stop", name) for name in ("a", "b c")]
    assert Run(tuple(units)).do == "for n in a 'b c'; do sudo systemctl stop \"$n\"; done"
    assert Run((("sync",),), as_root=False).do == "sync"


def test_only_shell_commands_are_persistent_commands() -> None:
    files, unit = at_boot(write("/sys/a", 1, 0)), run_command("systemctl disable x", "systemctl enable x")
    fix = Fix(lasting=(files, unit))
    assert (fix.persist_is_command, fix.persist_needs_reboot, fix.now, fix.undo) == (True, False, None, None)
    assert fix.undo_persist == "sudo systemctl enable x; sudo rm -f /etc/tmpfiles.d/noisewatch-a.conf"
    assert fix.undo_files == "sudo rm -f /etc/tmpfiles.d/noisewatch-a.conf"
    for by_hand in (ByHand("stop it"), BootOptions("nosmt"), boot_without("idle=poll")):
        fix = Fix(lasting=(by_hand,))
        assert (fix.persist_is_command, fix.undo_persist, fix.undo_files) == (False, None, None)
    assert Fix().persist_is_command is False


def test_added_and_removed_kernel_options_need_a_reboot() -> None:
    added, removed = Fix(lasting=(BootOptions("nosmt"),)), Fix(lasting=(boot_without("idle=poll"),))
    assert (added.needs_reboot, added.kernel_arguments) == (True, "nosmt")
    assert (removed.needs_reboot, removed.kernel_arguments) == (True, None)
    assert not Fix((write("/a", 1, 0),), (BootOptions("nosmt"),)).needs_reboot


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], ""),
        ([None, "nosmt"], "nosmt"),
        (["nosmt", "nosmt irqaffinity=0"], "nosmt irqaffinity=0"),
        (["isolcpus=domain,2-3", "isolcpus=managed_irq,domain,2-3"], "isolcpus=domain,managed_irq,2-3"),
        (["rcu_nocbs=2,4", "nohz_full=2,4"], "rcu_nocbs=2,4 nohz_full=2,4"),
    ],
)
def test_each_kernel_argument_is_listed_once(options: list[str | None], line: str) -> None:
    assert merge_arguments(options) == line
