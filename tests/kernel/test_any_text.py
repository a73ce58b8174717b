"""Any text: each parser returns a value or raises Malformed, and never another exception.

`EXAMPLE_BY_PARSER` has a text that each parser accepts, `REFUSED_BY_PARSER` truncated and malformed texts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewatch.cpus import parse_cpu_list, parse_cpu_mask, parse_nonempty_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.bandwidth import parse_cpu_max, parse_throttling, parse_uclamp
from noisewatch.kernel.cgroup.mounts import parse_cgroup_mounts, parse_membership, parse_mount_roots
from noisewatch.kernel.cgroup.partitions import parse_partition_kind
from noisewatch.kernel.cpus.cpu_time import parse_cpu_time, parse_run_time
from noisewatch.kernel.cpus.isolation import parse_isolcpus
from noisewatch.kernel.cpus.online import parse_processors
from noisewatch.kernel.frequency.idle import parse_resume_latency
from noisewatch.kernel.frequency.limits import parse_frequencies
from noisewatch.kernel.frequency.power_supply import parse_throttled
from noisewatch.kernel.interrupts.irqs import parse_actions
from noisewatch.kernel.interrupts.table import parse_header, parse_interrupts, parse_softirqs
from noisewatch.kernel.memory.counters import parse_meminfo, parse_swaps, parse_vmstat
from noisewatch.kernel.memory.limits import parse_limit
from noisewatch.kernel.memory.nodes import parse_distances, parse_numastat, parse_total_kb
from noisewatch.kernel.numbers import parse_flag, parse_integer, parse_word
from noisewatch.kernel.system.boot_configuration import parse_grub
from noisewatch.kernel.system.build_options import parse_consoles, parse_kernel_config
from noisewatch.kernel.system.disks import parse_arrays, parse_diskstats
from noisewatch.kernel.system.log import parse_records, parse_start
from noisewatch.kernel.system.pressure import parse_load_average, parse_stall
from noisewatch.kernel.system.release import (
    parse_build,
    parse_command_line,
    parse_uptime,
    parse_version,
    release_number,
)
from noisewatch.kernel.system.tuned import parse_tuned
from noisewatch.kernel.tasks.files import parse_allowed, parse_migrations, parse_schedstat, parse_stat
from noisewatch.kernel.tasks.jobs import parse_crontab, parse_timers
from noisewatch.kernel.tasks.machine_lock import parse_lock
from noisewatch.kernel.tasks.own_process import (
    parse_limits,
    parse_own_status,
    parse_personality,
    parse_scheduling,
    parse_seccomp_mode,
)
from noisewatch.kernel.tasks.run_status import parse_run_status
from noisewatch.kernel.tasks.task import parse_children
from noisewatch.kernel.trace.active import parse_events
from noisewatch.kernel.trace.events import parse_trace_format
from tests.kernel.trace.ring_buffer import format_text
from tests.written.quiet.tasks import CRONTAB, own_limits, own_stat, own_status
from tests.written.quiet_machine import quiet_files, stat_line

Parser = Callable[[str], object]


def _parse_interrupts(text: str) -> object:
    return parse_interrupts(text.encode("utf-8", "replace"))


_FILES = quiet_files()
_STALL = _FILES["/proc/pressure/cpu"]
_TUNED = (
    '{"boot_id": "a", "sessions": [{"owner": "4711 81 4026531836 noisewatch", "began_s": 1.5, "cpus": "2-3", '
    '"is_until_exit": true, "settings": null}]}'
)
EXAMPLE_BY_PARSER: dict[Parser, str] = {
    parse_actions: "PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0, eth1",
    parse_allowed: "Name:\tx\nCpus_allowed_list:\t0-1,4\n",
    parse_arrays: _FILES["/proc/mdstat"],
    parse_build: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)\n",
    parse_cgroup_mounts: _FILES["/proc/self/mounts"],
    parse_children: "12 13 ",
    parse_command_line: _FILES["/proc/cmdline"],
    parse_consoles: _FILES["/proc/consoles"],
    parse_cpu_list: "0-3,8,1-7:2/4\n",
    parse_cpu_mask: "ff,ffffffff\n",
    parse_cpu_max: "50000 100000\n",
    parse_crontab: CRONTAB,
    parse_cpu_time: _FILES["/proc/stat"],
    parse_events: "sched:sched_switch\nirq:softirq_entry\n",
    parse_diskstats: _FILES["/proc/diskstats"],
    parse_distances: "10 21\n",
    parse_flag: "1\n",
    parse_frequencies: "2100000 1400000 \n",
    parse_grub: 'GRUB_CMDLINE_LINUX="quiet $GRUB_CMDLINE_LINUX"\n',
    parse_header: "CPU0 CPU1",
    parse_integer: "-17\n",
    _parse_interrupts: _FILES["/proc/interrupts"],
    parse_isolcpus: "managed_irq,domain,2-7",
    parse_kernel_config: _FILES["/boot/config-6.14.0"],
    parse_limit: "4294967296\n",
    parse_lock: "4711 81234567 4026531836 nightly.sh\n",
    parse_tuned: _TUNED,
    parse_load_average: _FILES["/proc/loadavg"],
    parse_limits: own_limits(),
    parse_membership: "1:cpu,cpuacct:/a\n0::/b\n",
    parse_meminfo: _FILES["/proc/meminfo"],
    parse_migrations: "bash (4711, #threads: 1)\nse.nr_migrations                :      36\nnr_switches : 40\n",
    parse_mount_roots: "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n",
    parse_nonempty_cpu_list: "0-3\n",
    parse_numastat: "numa_hit 90\nlocal_node 80\nother_node 13\n",
    parse_own_status: own_status(),
    parse_partition_kind: "isolated invalid (No CPU)\n",
    parse_personality: "00040000\n",
    parse_processors: _FILES["/proc/cpuinfo"],
    parse_resume_latency: "133\n",
    parse_records: "4,812,91277,-;watchdog: BUG: soft lockup - CPU#2 stuck for 26s!\n",
    parse_start: "4,812,91277,-;watchdog: BUG: soft lockup - CPU#2 stuck for 26s!\n",
    parse_run_time: "cpu1 0 0 0 0 0 0 281793214 16002335 366\n",
    parse_scheduling: own_stat(),
    parse_schedstat: "177645329 16002335 366\n",
    parse_seccomp_mode: _FILES["/proc/self/status"],
    parse_softirqs: _FILES["/proc/softirqs"],
    parse_stall: _STALL,
    parse_stat: stat_line(4711, "a (b) c", 1),
    parse_swaps: _FILES["/proc/swaps"],
    parse_throttled: "50005\n",
    parse_throttling: "nr_periods 1\nnr_throttled 12\n",
    parse_timers: '[{"next":1589485390891904,"left":1,"unit":"dnf-makecache.timer"},{"next":null,"unit":"a.timer"}]',
    parse_total_kb: "Node 4 MemTotal:       32827292 kB\n",
    parse_trace_format: format_text("sched/sched_switch"),
    parse_uclamp: "45.00\n",
    parse_uptime: "34521.77 66120.03\n",
    parse_version: _FILES["/proc/version"],
    parse_vmstat: _FILES["/proc/vmstat"],
    parse_word: "tsc\n",
    release_number: "6.1.0-18-amd64",
}
_SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
REFUSED_BY_PARSER: dict[Parser, tuple[str, ...]] = {
    parse_allowed: ("", "Name:\tx\n", "Cpus_allowed_list:\tx\n"),
    parse_arrays: ("", "rubbish\n", "md0 : active raid1 sda[0]\n"),
    parse_build: ("SMP\n",),
    parse_children: ("a", "1 -2"),
    parse_consoles: ("ttyS0\n", "ttyS0 -W- EC\n", "\n", "ttyS0 -W- (EC p a"),
    parse_cpu_list: ("0-8191," * 9000 + "1", "1," * 40_000 + "1", "0" * 70_000, "all", "0-N", "N"),
    parse_cpu_mask: ("", "\n", "g", "0x3", "3,", ",3", "123456789", "-1", "3 3", "1," * 2048 + "1"),
    parse_cpu_max: ("", "max", "max 0", "50000 0", "50000", "-1 100000", "a b", "1 2 3"),
    parse_cpu_time: (
        *("cpu 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7\n", "cpu 1 2 3 4 5 6 7 8\ncpu0\n", "cpu 1 2 3 4 5 6 7 8\ncp"),
        *("cpu0 1 2 3\n", "cpu0 1 2 3 -4\n", "cpu0 1 2 3 x\n", "cpu 1 2 3 4\nintr 5\n", "", "intr 5\n"),
        "cpu 1 2 3 4\ncpu0 1 2 3 4 cpu1\ncpu2 1 2 3\n",
        "cpu 1 2 3 4\ncpu0 1 2 3\ncpu1 1 2 3 4\ncpu2 1 2 3 4 5\n",
    ),
    parse_diskstats: (
        *("vda 1 2\n", " 8 0 sda 1 2 3 4 5 6 7 8 9 10\n", _FILES["/proc/diskstats"][:30], "8 0 sda" + " x" * 11),
    ),
    parse_events: ("\n\n", "a:b\nsched sched_switch\n"),
    parse_flag: ("", "2", "yes", "-1", "01"),
    parse_frequencies: ("", "\n", "2100000 x", "-1", "2.1"),
    parse_integer: ("", "\n", "5 6", "x", "1_000", "0x5", "1.5", "--5", "-", "+5", "٣", "²"),
    _parse_interrupts: (
        *("", "\n", "rubbish", "CPU0 CP", "CPU", "CPU0 CPUx\nLOC: 1 2\n", "LOC: 1 2\n", "CPU0 CPU1\nLOC: 1\n"),
        *("CPU0 CPU1\nLO", "CPU0 CPU1\n: 1 2\n", "CPU0 CPU1\nLOC: 1 -2 timer\n", "CPU0 CPU1\nERR:\n"),
        *("CPU0 CPU1\nERR: x\n", "CPU0 CPU1\nERR: 1 2\n", "CPU0 CPU1\n24: -1 -2 chip 0-edge eth0\n"),
        "CPU0 CPU1\n24: 100000000000000000000000 1 chip 0-edge eth0\n",
        *("CPU0 CPU1\n24: chip 0-edge eth0\n", "CPU0 CPU1\n24: x 1 chip 0-edge eth0\n"),
        *("CPU0 CPU1\n24: \u0663 \u0664 chip 0-edge eth0\n", "CPU0 CPU1\nLOC: x 1 Local timer interrupts\n"),
        *("CPU0 CPU1\nAIO: x\n", "CPU0 CPU1\nIPI0: Rescheduling interrupts\n"),
        *("CPU0 CPU1\nXYZ: -1 2 Something new\n", "CPU0 CPU1\nLOC: 1 2 timer\nRES:"),
        "           CPU0       CPU1\n",
    ),
    partial(parse_isolcpus, last_cpu=7): ("2-", "unknown,2", "2,domain", "5-2"),
    parse_kernel_config: ("", "rubbish\n", "CONFIG_HZ=fast\n", "CONFIG_UNASKED=y\n"),
    parse_limits: ("", "Limit Soft Hard\n", own_limits()[:120], own_limits(cpu_time="-1")),
    parse_load_average: ("", "0.52 0.58 0.59", "0.52 0.58 0.59 3/1182", "a b c 1/2 3", "0.52 0.58 0.59 -1/2 3"),
    parse_lock: (
        *("4711", "4711 nightly.sh", "x 1 2 y\n", "1 2 nightly.sh\n", "1 2 3 four\nfive\n", "1 2 3 " + "x" * 200),
    ),
    parse_membership: ("", "\n", "0:/", "x::/", "0::relative", "rubbish"),
    parse_mount_roots: (
        *("", "30 23 0:26 / /sys/fs/cgroup rw shared:9 cgroup2 cgroup2 rw\n", "/ - cgroup2 cgroup2 rw\n"),
    ),
    parse_nonempty_cpu_list: ("", "\n", " (null)\n", "\0"),
    parse_numastat: ("", "rubbish", "local_node 3\n", "local_node 3\nother_node x\n"),
    parse_own_status: tuple(own_status().replace(missing, "Other") for missing in ("TracerPid", "CapEff")),
    parse_partition_kind: ("", "isolate", "isolated valid", "member invalid (x)"),
    parse_personality: ("", "xyz", "0x40000", "1 2"),
    parse_resume_latency: ("", "-1\n", "none\n", "1 2\n", "N/A\n"),
    parse_run_status: ("[" * 100_000,),
    parse_tuned: ("", "[]", "{", '{"sessions": [{}]}', _TUNED.replace('"2-3"', '"x"'), _TUNED.replace("4711 8", "")),
    parse_run_time: ("", "version 15\n", "cpu0 0 0 0 0 0 0 5 5\n", "cpu0 0 0 0 0 0 0 5 5 5 5\n", "cpu0"),
    parse_schedstat: ("", "1 2", "1 2 3 4", "a b c", "1 2 -3"),
    parse_scheduling: ("", "4711 (a) R 1\n", own_stat()[:60], own_stat(nice=-20).replace(" -20 ", " x ")),
    parse_softirqs: (
        *("", "\n", "CPU0\n", "CPU0 CPU1\nHI: 1\n", "CPU0\nHI: 1 2\n", "CPU0\nHI: x\n", "CPU0\nHI 1\n", "HI: 1\n"),
    ),
    parse_stall: ("", "some", "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", _STALL[:-3] + "x\n"),
    parse_stat: ("", "9", "9 (x", "9 x) S", "x (x) S " + "1 " * 50, "9 (x) S " + "1 " * 35),
    parse_swaps: ("", "rubbish\n", _SWAPS + "/dev/dm-1 partition 9\n", _SWAPS + "a b c d e\n"),
    parse_throttling: ("", "nr_periods 5\n", "nr_throttled\n", "nr_throttled x\n", "rubbish"),
    parse_timers: (
        *("", "NEXT LEFT LAST", "{}", "5", "[5]", '[{"next":1}]', '[{"next":"1","unit":"a.timer"}]', "[" * 100_000),
        *('[{"next":1,"unit":"a.timer; reboot"}]', '[{"next":true,"unit":"a.timer"}]', '[{"next":1.5,"unit":"a"}]'),
    ),
    parse_trace_format: ("", "rubbish", "ID: 5\n", "ID: x\n" + format_text("irq/softirq_entry").partition("\n")[2][8:]),
    parse_uclamp: ("", "maximum", "-1", "1e9", "1.234", "4 5", "nan", "٣"),
    parse_uptime: ("", "34521.77", "34521.77 ", "1e9 2.0", "-1.0 2.0", "soon 2.0"),
    parse_word: ("", "\n", "\0\n", "a\nb\n", "a\0\0", "a\0\n\0"),
}
TABLES: dict[Parser, str] = {
    parse_softirqs: "CPU0 CPU1\nTIMER: 1 2\nNET_RX: 3 4",
    _parse_interrupts: "CPU0 CPU1\nLOC: 1 2 Local timer interrupts",
    parse_cpu_time: "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10",
    parse_run_time: "version 15\ncpu0 0 0 0 0 0 0 500 0 7",
    parse_meminfo: "MemTotal: 16316412 kB\nMemFree: 1 kB",
    parse_vmstat: "nr_free_pages 100\npgfault 7",
    parse_stall: "some avg10=0.00 avg60=0.00 avg300=0.00 total=5",
    parse_swaps: "Filename Type Size Used Priority\n/dev/dm-1 partition 999996 0 -2",
    parse_diskstats: "8 0 sda 1 2 3 4 5 6 7 8 9 10 11",
    parse_arrays: "Personalities : [raid1]\nunused devices: <none>",
    parse_throttling: "nr_periods 5\nnr_throttled 1",
    parse_limits: "Limit  Soft Limit  Hard Limit  Units\nMax cpu time  unlimited  unlimited  seconds",
    parse_events: "sched:sched_switch",
}
with_all_parsers = pytest.mark.parametrize("parse", EXAMPLE_BY_PARSER, ids=lambda parse: parse.__name__)


def _value_or_malformed(parse: Parser, text: str) -> object:
    try:
        return parse(text)
    except Malformed as error:
        return error


@with_all_parsers
def test_example_is_parsed(parse: Parser) -> None:
    assert not isinstance(_value_or_malformed(parse, EXAMPLE_BY_PARSER[parse]), Malformed)


@pytest.mark.parametrize(("text", "value"), [("5\n", 5), ("-1\n", -1), (" 0 ", 0), ("18446744073709551615", 2**64 - 1)])
def test_file_of_one_number_is_that_number(text: str, value: int) -> None:
    assert parse_integer(text) == value


@pytest.mark.parametrize(("text", "word"), [("tsc\n", "tsc"), ("tsc hpet \n", "tsc hpet"), ("a\0", "a")])
def test_word_is_the_line_of_its_file(text: str, word: str) -> None:
    assert parse_word(text) == word


@pytest.mark.parametrize(
    ("parse", "text"),
    [(parse, text) for parse, texts in REFUSED_BY_PARSER.items() for text in texts],
    ids=lambda value: ascii(value)[:40] if isinstance(value, str) else getattr(value, "__name__", "parse_isolcpus"),
)
def test_truncated_or_malformed_text_is_rejected(parse: Parser, text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)


@pytest.mark.parametrize("end", ["\n", "\n\n", "\n\n\n", "\n  \n"])
@pytest.mark.parametrize("parse", TABLES, ids=lambda parse: parse.__name__)
def test_trailing_blank_lines_of_a_table_are_ignored(parse: Parser, end: str) -> None:
    table, alone = (parse(TABLES[parse] + last) for last in (end, "\n"))
    assert alone is not None
    # A table of interrupts also keeps its text.
    assert getattr(table, "rows", table) == getattr(alone, "rows", alone)


@with_all_parsers
@settings(max_examples=25)
@given(text=st.text())
def test_any_text_is_a_value_or_malformed(parse: Parser, text: str) -> None:
    _value_or_malformed(parse, text)


@with_all_parsers
@settings(max_examples=25)
@given(data=st.data())
def test_damaged_example_is_a_value_or_malformed(parse: Parser, data: st.DataObject) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(example))] * 2)))
    _value_or_malformed(parse, example[:start] + data.draw(st.text(max_size=4)) + example[stop:])


@with_all_parsers
def test_example_truncated_anywhere_is_a_value_or_malformed(parse: Parser) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    for size in range(len(example)):
        _value_or_malformed(parse, example[:size])


@with_all_parsers
def test_overlong_number_is_a_value_or_malformed(parse: Parser) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    places = [at for at, character in enumerate(example) if character.isdecimal()][-40:]
    for number in ("9" * 400, "9" * 5000):
        for text in (number, *(example[:at] + number + example[at + 1 :] for at in places)):
            _value_or_malformed(parse, text)


@with_all_parsers
def test_odd_characters_are_a_value_or_malformed(parse: Parser) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    for odd in ("²", "①", "٣", "\0", "\x85", "\u2028", "\ud800", "-", "--", ".", ":", ")"):
        for text in (odd, odd + example, example + odd, example.replace("1", odd)):
            _value_or_malformed(parse, text)


@with_all_parsers
def test_malformed_text_is_quoted_in_one_short_line(parse: Parser) -> None:
    outcome = _value_or_malformed(parse, "rubbish\x1b[2J\n" * 100)
    assert "\n" not in str(outcome)
    assert "\x1b" not in str(outcome)
