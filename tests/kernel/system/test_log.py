"""The kernel's log, as read from /dev/kmsg."""

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
    ("text", "kind", "culprits"),
    [
        (
            "mce: CPU2: Core temperature above threshold, cpu clock throttled (total events = 1)",
            *("throttling", ()),
        ),
        (
            "CPU7: Core temperature is above threshold, cpu clock is throttled (total events = 219)",
            *("throttling", ("CPU7",)),
        ),
        (
            "mce: CPU0: Package power limit notification (total events = 12)",
            *("power limit", ("CPU0: Package",)),
        ),
        ("CPU3: Core power limit notification (total events = 4)", "power limit", ("CPU3: Core",)),
        ("thermal thermal_zone0: critical temperature reached", "critical temperature", ("thermal_zone0",)),
        (
            "thermal thermal_zone0: acpitz: critical temperature reached, shutting down",
            *("critical temperature", ("acpitz",)),
        ),
        ("ACPI: thermal: Critical temperature reached (0 C), shutting down", "critical temperature", ("thermal",)),
        ("intel_powerclamp: Start idle injection to reduce power", "injected idle time", ()),
        ("Under-voltage detected! (0x00050005)", "under-voltage", ()),
        ("hwmon hwmon1: Undervoltage detected!", "under-voltage", ()),
        ("mce: [Hardware Error]: Machine check events logged", "machine check", ()),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "memory error", ("MC0",)),
        (
            "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            *("PCI Express error", ("0000:00:1c.0",)),
        ),
        (
            "nvme 0000:01:00.0: AER: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
            *("PCI Express error", ("0000:01:00.0",)),
        ),
        ("watchdog: Watchdog detected hard LOCKUP on cpu 3", "lock-up", ()),
        ("BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 32s!", "lock-up", ()),
        ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "lock-up", ()),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", "lock-up", ()),
        ("INFO: task jbd2/sda1-8:321 blocked for more than 120 seconds.", "hung task", ("jbd2/sda1-8",)),
        (
            "x86/split lock detection: #AC: game_thread/9001 took a split_lock trap at address: 0x7f0000001000",
            *("split lock", ("game_thread/9001",)),
        ),
        (
            "x86/split lock detection: #AC: CPU 0/KVM/88279 (guest) took a split_lock trap at address: 0xfffff801",
            *("split lock", ("CPU 0/KVM/88279",)),
        ),
        (
            "x86/split lock detection: #DB: sl_test/5137 took a bus_lock trap at address: 0x4011f5",
            *("split lock", ("sl_test/5137",)),
        ),
        (
            "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too "
            "large:",
            *("unstable clock", ("the skew is too large",)),
        ),
        ("tsc: Marking TSC unstable due to clocksource watchdog", "unstable clock", ("clocksource watchdog",)),
        ("sched_clock: Marking unstable (1, 2)<-(3, -4)", "unstable clock", ()),
        ("clocksource: Switched to clocksource hpet", "slow clock source", ("hpet",)),
        ("Out of memory: Killed process 4711 (mysqld) total-vm:1kB", "out of memory", ("mysqld",)),
        ("Memory cgroup out of memory: Killed process 4711 (mysqld)", "out of memory", ("mysqld",)),
        ("nvme nvme0: I/O 12 (Read) QID 3 timeout, aborting", "disk", ("nvme0",)),
        ("nvme nvme0: I/O tag 24 (8018) opcode 0x2 (I/O Cmd) QID 3 timeout, completion polled", "disk", ("nvme0",)),
        ("I/O error, dev sda, sector 2048 op 0x0:(READ)", "disk", ("sda",)),
        ("ata1.00: failed command: READ FPDMA QUEUED", "disk", ("ata1.00",)),
        ("hrtimer: interrupt took 123456 ns", "long interrupt", ()),
        (
            "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.234 msecs",
            *("long NMI", ("perf_event_nmi_handler",)),
        ),
        (
            "INFO: NMI handler (ghes_notify_nmi+0x0/0x2a0 [ghes]) took too long to run: 3.000 msecs",
            *("long NMI", ("ghes_notify_nmi",)),
        ),
        ("Uhhuh. NMI received for unknown reason 3d on CPU 1.", "NMI without a reason", ()),
        (
            "perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
            *("long samples of perf", ()),
        ),
        ('irq 16: nobody cared (try booting with the "irqpoll" option)', "interrupt without a handler", ("irq 16",)),
        (
            "workqueue: drm_fb_helper_damage_work hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND",
            *("work hogs a CPU", ("drm_fb_helper_damage_work",)),
        ),
        (
            "workqueue: i915_hpd_poll_init_work [i915] hogged CPU for >10000us 4 times, consider switching to "
            "WQ_UNBOUND",
            *("work hogs a CPU", ("i915_hpd_poll_init_work",)),
        ),
        (
            'sched_ext: BPF scheduler "lavd" disabled (runnable task stall)',
            *("scheduler failed", ("lavd",)),
        ),
        ('sched_ext: BPF scheduler "simple" errored, disabling', "scheduler failed", ("simple",)),
        (
            "NOHZ tick-stop error: local softirq work is pending, handler #08!!!",
            *("tick not stopped", ("handler #08",)),
        ),
        (
            "NOHZ tick-stop error: Non-RCU local softirq work is pending, handler #08!!!",
            *("tick not stopped", ("handler #08",)),
        ),
        ("NOHZ: local_softirq_pending 08", "tick not stopped", ()),
        ("Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL", "boot option ignored", ()),
        ("Housekeeping: nohz_full= must match isolcpus=", "boot option ignored", ()),
        ("isolcpus: Skipped unknown flag bogus", "boot option ignored", ()),
        ("sched: RT throttling activated", "real-time throttling", ()),
    ],
)
def test_message_is_counted_by_kind_with_its_culprits(text: str, kind: str, culprits: tuple[str, ...]) -> None:
    troubles = parse_records(f"{_LOG.splitlines()[0]}\n4,1,77,-;{text}\n")
    assert troubles == {kind: Trouble(1, 77, culprits)}


@pytest.mark.parametrize(
    "text",
    [
        "EDAC MC: Ver: 3.0.0",
        "EDAC MC0: Giving out device to module skx_edac",
        "nvme nvme0: 8/0/0 default/read/poll queues",
        "clocksource: Switched to clocksource tsc",
        "thermal_sys: Registered thermal governor 'step_wise'",
        "Marking some driver",
        "sched_clock: Marking stable (1, 2)->(3, -4)",
        "x86/split lock detection: #AC: crashing the kernel on kernel split_locks, warning on user-space ones",
        "mce: CPU0: Core temperature/speed normal",
        "hwmon hwmon1: Voltage normalised",
        'sched_ext: BPF scheduler "lavd" enabled',
        'sched_ext: BPF scheduler "lavd" disabled (unregistered from user space)',
        'sched_ext: BPF scheduler "lavd" disabled (disabled by sysrq-S)',
        "workqueue: round-robin CPU selection forced, expect performance impact",
        "perf: AMD core performance counters",
    ],
)
def test_usual_boot_message_is_no_trouble(text: str) -> None:
    assert parse_records(f"6,1,77,-;{text}\n") == {}


def test_time_is_that_of_the_last_message() -> None:
    assert parse_records(_LOG + "4,813,91300000000,-;watchdog: BUG: soft lockup - CPU#2 stuck for 49s!\n") == {
        "lock-up": Trouble(2, 91_300_000_000, ("kworker/2:1",))
    }


def test_slow_clock_source_at_boot_is_no_trouble_once_another_was_chosen() -> None:
    early = "6,1,77,-;clocksource: Switched to clocksource hpet\n"
    later = "6,2,99,-;clocksource: Switched to clocksource tsc\n"
    assert parse_records(early + later) == {}
    assert parse_records(early + later.replace("6,2", "14,2")).keys() == {"slow clock source"}


def test_latest_culprits_are_named() -> None:
    line = "4,{0},{0},-;x86/split lock detection: #AC: game/{1} took a split_lock trap at address: 0x1\n"
    text = "".join(line.format(at, pid) for at, pid in enumerate([7, 1, 2, 3, 1, 1]))
    assert parse_records(text) == {"split lock": Trouble(6, 5, ("game/2", "game/3", "game/1"))}


def test_message_of_a_process_is_ignored() -> None:
    assert parse_records("12,1,77,-;watchdog: BUG: soft lockup - CPU#2 stuck for 26s!\n") == {}


def test_continuation_line_is_no_message() -> None:
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
def test_first_record_marks_the_start_of_the_log(text: str, since_us: int | None) -> None:
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
        {"troubles": {"disk": [True, 2]}},
        {"troubles": {"disk": [1, 2, 3]}},
        {"troubles": {"disk": [1, 2, "sda", "sdb", "sdc", "sdd"]}},
        {"troubles": {"rubbish": [1, 2]}, "is_complete": True},
        {"troubles": {}, "is_complete": True, "since_us": "rubbish"},
        {"troubles": {}, "is_complete": True, "since_us": -1},
    ],
)
def test_damaged_answer_is_unknown(answer: Json) -> None:
    assert _read(answer) is None


def test_unanswered_log_is_unknown_with_its_reason() -> None:
    reader = Reader(WrittenMachine({}))
    assert read_kernel_log(reader) is None
    assert reader.reason_by_path == {QUESTION: Unreadable(QUESTION, "not written down").reason}
