"""The kernel's log, as /dev/kmsg gives it."""

from __future__ import annotations

import pytest

from noisewatch.errors import Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.log import QUESTION, Trouble, parse_records, parse_start, read_kernel_log
from noisewatch.machine import Json
from tests.written import WrittenMachine

_LOG = """\
6,0,0,-;Linux version 6.14.0 (somebody@builder) #1 SMP
6,339,5140900,-;NET: Registered PF_INET6 protocol family
 SUBSYSTEM=pci
 DEVICE=+pci:0000:00:02.0
4,812,91277123456,-,caller=C2;watchdog: BUG: soft lockup - CPU#2 stuck for 26s! [kworker/2:1:77]
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mce: CPU2: Core temperature above threshold, cpu clock throttled (total events = 1)", "throttling"),
        ("mce: [Hardware Error]: Machine check events logged", "machine check"),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "memory error"),
        ("watchdog: Watchdog detected hard LOCKUP on cpu 3", "lock-up"),
        ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "lock-up"),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", "lock-up"),
        ("INFO: task jbd2/sda1-8:321 blocked for more than 120 seconds.", "hung task"),
        ("clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because", "unstable clock"),
        ("tsc: Marking TSC unstable due to clocksource watchdog", "unstable clock"),
        ("Out of memory: Killed process 4711 (mysqld) total-vm:1kB", "out of memory"),
        ("Memory cgroup out of memory: Killed process 4711 (mysqld)", "out of memory"),
        ("nvme nvme0: I/O 12 (Read) QID 3 timeout, aborting", "disk"),
        ("I/O error, dev sda, sector 2048 op 0x0:(READ)", "disk"),
        ("ata1.00: failed command: READ FPDMA QUEUED", "disk"),
        ("hrtimer: interrupt took 123456 ns", "long interrupt"),
        ("sched: RT throttling activated", "real-time throttling"),
    ],
)
def test_a_complaint_is_counted_by_its_kind(text: str, kind: str) -> None:
    assert parse_records(f"{_LOG.splitlines()[0]}\n4,1,77,-;{text}\n")[kind] == Trouble(1, 77)


@pytest.mark.parametrize(
    "text",
    [
        "EDAC MC: Ver: 3.0.0",
        "EDAC MC0: Giving out device to module skx_edac",
        "nvme nvme0: 8/0/0 default/read/poll queues",
        "clocksource: Switched to clocksource tsc",
        "thermal_sys: Registered thermal governor 'step_wise'",
        "Marking some driver",
    ],
)
def test_what_is_said_at_every_boot_is_no_complaint(text: str) -> None:
    assert parse_records(f"6,1,77,-;{text}\n") == {}


def test_the_last_of_several_tells_the_time() -> None:
    assert parse_records(_LOG + "4,813,91300000000,-;watchdog: BUG: soft lockup - CPU#2 stuck for 49s!\n") == {
        "lock-up": Trouble(2, 91_300_000_000)
    }


def test_a_process_cannot_speak_for_the_kernel() -> None:
    assert parse_records("12,1,77,-;watchdog: BUG: soft lockup - CPU#2 stuck for 26s!\n") == {}


def test_a_line_that_belongs_to_a_record_is_none_itself() -> None:
    assert parse_records("6,1,77,-;hello\n TEXT=soft lockup - CPU\n") == {}


@pytest.mark.parametrize(
    ("text", "since_us"),
    [
        (_LOG, 0),
        (_LOG.partition("\n")[2], 5_140_900),
        ("12,7,99,-;what a process wrote\n", 99),
        ("", None),
        ("debian login: \n", None),
        (" SUBSYSTEM=pci\n", None),
    ],
)
def test_the_first_record_tells_since_when_nothing_is_lost(text: str, since_us: int | None) -> None:
    assert parse_start(text) == since_us


def _read(answer: Json) -> object:
    return read_kernel_log(Reader(WrittenMachine({}, answers={QUESTION: answer})))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"troubles": []},
        {"troubles": {"disk": 3}},
        {"troubles": {"disk": [1, -1]}},
        {"troubles": {"disk": [1, 2.5]}},
        {"troubles": {"rubbish": [1, 2]}, "is_complete": True},
        {"troubles": {}, "is_complete": True, "since_us": "rubbish"},
        {"troubles": {}, "is_complete": True, "since_us": -1},
    ],
)
def test_a_damaged_answer_is_no_log(answer: Json) -> None:
    assert _read(answer) is None


def test_a_log_that_cannot_be_asked_is_unknown_with_its_reason() -> None:
    reader = Reader(WrittenMachine({}))
    assert read_kernel_log(reader) is None
    assert reader.reason_by_path == {QUESTION: Unreadable(QUESTION, "not written down").reason}
