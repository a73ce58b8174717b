"""What the kernel is set to do in the background: tracing, work, services, consoles, patches."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.system.build_options import Console, parse_consoles
from noisewatch.kernel.system.release import NOT_SUPPORTED, read_livepatches
from noisewatch.kernel.system.vulnerabilities import read_vulnerabilities
from noisewatch.kernel.tasks.affinities import WORKQUEUES, ServiceGroup, read_services, read_workqueues
from noisewatch.kernel.tasks.own_process import parse_seccomp_mode
from noisewatch.kernel.trace.active import FOLDER, TraceInstance, Tracing, parse_events, read_tracing
from tests.written import WrittenMachine, reading

_CONSOLES = """\
ttyS0                -W- (EC  p a)    4:64
tty0                 -WU (E   p  )    4:1
netcon0              -W- (    p  )
pstore-1             -W- (E  Np a)
"""


def test_consoles_that_show_or_store_are_not_slow() -> None:
    assert [(each.name, each.is_enabled, each.is_slow) for each in parse_consoles(_CONSOLES)] == [
        ("ttyS0", True, True),
        ("tty0", True, False),
        ("netcon0", False, True),
        ("pstore-1", True, False),
    ]


def test_there_may_be_no_console() -> None:
    assert parse_consoles("") == ()
    assert parse_consoles("hvc0 -W- (EC p ) 229:0") == (Console("hvc0", True),)


@pytest.mark.parametrize("text", ["ttyS0\n", "ttyS0 -W- EC\n", "\n", "ttyS0 -W- (EC p a"])
def test_a_line_that_is_no_console_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match="ttyS0 -W-"):
        parse_consoles(text)


def test_events_are_a_line_each() -> None:
    assert parse_events("sched:sched_switch\nirq:softirq_entry\n") == ("sched:sched_switch", "irq:softirq_entry")
    assert parse_events("") == ()


def test_lines_that_are_blank_are_no_list_of_events() -> None:
    with pytest.raises(Malformed, match="an event"):
        parse_events("\n\n")


def test_a_line_of_two_words_is_no_event() -> None:
    with pytest.raises(Malformed, match="sched sched_switch"):
        parse_events("a:b\nsched sched_switch\n")


def test_each_instance_has_a_tracer_and_events() -> None:
    files = {
        f"{FOLDER}/current_tracer": "nop\n",
        f"{FOLDER}/set_event": "",
        f"{FOLDER}/instances/own/current_tracer": "osnoise\n",
        f"{FOLDER}/instances/own/set_event": "a:b\n",
    }
    assert read_tracing(reading(files)).instances == (
        TraceInstance(FOLDER, "nop", ()),
        TraceInstance(f"{FOLDER}/instances/own", "osnoise", ("a:b",)),
    )


def test_a_kernel_without_the_folder_cannot_trace_and_one_of_a_copy_is_unknown() -> None:
    assert read_tracing(reading({})) == Tracing(())
    copied = reading({}, is_copy=True)
    assert read_tracing(copied) == Tracing(None)
    assert copied.reason_by_path == {FOLDER: "no such file"}


def test_a_folder_without_its_file_system_says_so() -> None:
    reader = reading({f"{FOLDER}/other": ""})
    assert read_tracing(reader) == Tracing(None)
    assert reader.reason_by_path == {FOLDER: "tracefs is not mounted"}


def test_a_queue_runs_where_its_mask_and_that_of_all_overlap() -> None:
    files = {
        f"{WORKQUEUES}/cpumask": "3\n",
        f"{WORKQUEUES}/cpumask_requested": "f\n",
        f"{WORKQUEUES}/power/control": "auto\n",
        f"{WORKQUEUES}/raid/cpumask": "6\n",
        f"{WORKQUEUES}/writeback/cpumask": "c\n",
        f"{WORKQUEUES}/bound/per_cpu": "1\n",
        f"{WORKQUEUES}/odd/cpumask": "0-3\n",
    }
    queues = read_workqueues(reading(files))
    assert {name: queues.allowed_to(name) for name in queues.own_by_queue} == {
        "raid": frozenset({1}),
        "writeback": frozenset({0, 1}),
        "odd": None,
    }
    assert queues.requested == frozenset(range(4))


def test_without_the_mask_of_all_nothing_else_is_asked() -> None:
    machine = WrittenMachine({f"{WORKQUEUES}/raid/cpumask": "6\n"})
    queues = read_workqueues(reading({f"{WORKQUEUES}/raid/cpumask": "6\n"}))
    assert (queues.allowed, queues.own_by_queue, machine.reads) == (None, {}, [])


def test_a_slice_without_the_file_sets_no_limit() -> None:
    files = {
        "/proc/1/comm": "systemd\n",
        "/proc/1/status": "Cpus_allowed_list:\t0-3\n",
        "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/sys/fs/cgroup/system.slice/cpuset.cpus.effective": "0-1\n",
        "/sys/fs/cgroup/system.slice/cpuset.cpus": "\n",
        "/sys/fs/cgroup/user.slice/pids.max": "max\n",
    }
    folder = "/sys/fs/cgroup"
    assert read_services(reading(files)).groups == (
        ServiceGroup(
            name="system.slice",
            folder=f"{folder}/system.slice",
            has_limit=True,
            allowed=frozenset({0, 1}),
            wanted=frozenset(),
        ),
        ServiceGroup(name="user.slice", folder=f"{folder}/user.slice", has_limit=False, allowed=None, wanted=None),
    )
    missing_from_a_copy = read_services(reading(files, is_copy=True)).groups
    assert missing_from_a_copy is not None
    assert missing_from_a_copy[1].has_limit


def test_without_the_second_version_there_are_no_groups() -> None:
    assert read_services(reading({"/proc/self/mounts": "cgroup /c cgroup rw,cpu 0 0\n"})).groups == ()
    assert read_services(reading({})).groups is None


def test_patches_are_in_transition_or_not() -> None:
    folder = "/sys/kernel/livepatch"
    files = {f"{folder}/a/transition": "1\n", f"{folder}/b/transition": "0\n", f"{folder}/c/enabled": "1\n"}
    assert read_livepatches(reading(files)) == {"a": True, "b": False, "c": None}
    assert read_livepatches(reading({})) == NOT_SUPPORTED
    assert read_livepatches(reading({}, is_copy=True)) is None


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"mitigations": ("auto",)}, ()),
        ({"mitigations": ("auto", "off")}, ("mitigations=off",)),
        ({"nopti": ("",), "quiet": ("",)}, ("nopti",)),
        ({"mitigations": ("auto,nosmt",)}, ("mitigations=auto,nosmt",)),
    ],
)
def test_the_last_option_is_what_was_chosen(options: dict[str, tuple[str, ...]], chosen: tuple[str, ...]) -> None:
    assert read_vulnerabilities(reading({}), options).chosen == chosen


def test_before_linux_4_15_no_vulnerability_is_told_of() -> None:
    assert read_vulnerabilities(reading({}), None).state_by_name == {}
    assert read_vulnerabilities(reading({}, is_copy=True), None).state_by_name is None


def test_filters_are_the_second_mode() -> None:
    assert parse_seccomp_mode("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n") == 2
    with pytest.raises(Malformed, match="Seccomp: 0"):
        parse_seccomp_mode("Name:\tx\nSeccomp:\t7\n")
