"""Every parser, given any text at all: a value or Malformed, and never another exception."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewatch.cpus import parse_cpu_list, parse_cpu_mask, parse_nonempty_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.bandwidth import parse_cpu_max, parse_throttling, parse_uclamp
from noisewatch.kernel.cgroup.mounts import parse_cgroup_mounts, parse_membership
from noisewatch.kernel.cpus.cpu_time import parse_cpu_time, parse_run_time
from noisewatch.kernel.cpus.isolation import parse_isolcpus
from noisewatch.kernel.cpus.online import parse_processors
from noisewatch.kernel.frequency.idle import parse_resume_latency
from noisewatch.kernel.frequency.limits import parse_frequencies
from noisewatch.kernel.interrupts.irqs import parse_actions
from noisewatch.kernel.interrupts.table import parse_header, parse_interrupts, parse_softirqs
from noisewatch.kernel.memory.counters import parse_meminfo, parse_swaps, parse_vmstat
from noisewatch.kernel.memory.limits import parse_limit
from noisewatch.kernel.numbers import parse_flag, parse_integer, parse_word
from noisewatch.kernel.system.boot_configuration import parse_grub
from noisewatch.kernel.system.build_options import parse_consoles, parse_kernel_config
from noisewatch.kernel.system.disks import parse_arrays, parse_diskstats
from noisewatch.kernel.system.log import parse_records, parse_start
from noisewatch.kernel.system.pressure import parse_load_average, parse_stall
from noisewatch.kernel.system.release import parse_command_line, parse_uptime, parse_version, release_number
from noisewatch.kernel.tasks.files import parse_allowed, parse_migrations, parse_schedstat, parse_stat
from noisewatch.kernel.tasks.jobs import parse_crontab, parse_timers
from noisewatch.kernel.tasks.own_process import (
    parse_limits,
    parse_own_status,
    parse_personality,
    parse_scheduling,
    parse_seccomp_mode,
)
from noisewatch.kernel.trace.active import parse_events
from tests.written.quiet.tasks import CRONTAB, own_limits, own_stat, own_status
from tests.written.quiet_machine import quiet_files, stat_line

Parser = Callable[[str], object]

_FILES = quiet_files()
_STALL = _FILES["/proc/pressure/cpu"]
EXAMPLE_BY_PARSER: dict[Parser, str] = {
    parse_actions: "PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0, eth1",
    parse_allowed: "Name:\tx\nCpus_allowed_list:\t0-1,4\n",
    parse_arrays: _FILES["/proc/mdstat"],
    parse_cgroup_mounts: _FILES["/proc/self/mounts"],
    parse_command_line: _FILES["/proc/cmdline"],
    parse_consoles: _FILES["/proc/consoles"],
    parse_cpu_list: "0-3,8,1-7:2/4\n",
    parse_cpu_mask: "ff,ffffffff\n",
    parse_cpu_max: "50000 100000\n",
    parse_crontab: CRONTAB,
    parse_cpu_time: _FILES["/proc/stat"],
    parse_events: "sched:sched_switch\nirq:softirq_entry\n",
    parse_diskstats: _FILES["/proc/diskstats"],
    parse_flag: "1\n",
    parse_frequencies: "2100000 1400000 \n",
    parse_grub: 'GRUB_CMDLINE_LINUX="quiet $GRUB_CMDLINE_LINUX"\n',
    parse_header: "CPU0 CPU1",
    parse_integer: "-17\n",
    parse_interrupts: _FILES["/proc/interrupts"],
    parse_isolcpus: "managed_irq,domain,2-7",
    parse_kernel_config: _FILES["/boot/config-6.14.0"],
    parse_limit: "4294967296\n",
    parse_load_average: _FILES["/proc/loadavg"],
    parse_limits: own_limits(),
    parse_membership: "1:cpu,cpuacct:/a\n0::/b\n",
    parse_meminfo: _FILES["/proc/meminfo"],
    parse_migrations: "bash (4711, #threads: 1)\nse.nr_migrations                :      36\nnr_switches : 40\n",
    parse_nonempty_cpu_list: "0-3\n",
    parse_own_status: own_status(),
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
    parse_throttling: "nr_periods 1\nnr_throttled 12\n",
    parse_timers: '[{"next":1589485390891904,"left":1,"unit":"dnf-makecache.timer"},{"next":null,"unit":"a.timer"}]',
    parse_uclamp: "45.00\n",
    parse_uptime: "34521.77 66120.03\n",
    parse_version: _FILES["/proc/version"],
    parse_vmstat: _FILES["/proc/vmstat"],
    parse_word: "tsc\n",
    release_number: "6.1.0-18-amd64",
}
each_parser = pytest.mark.parametrize("parse", EXAMPLE_BY_PARSER, ids=lambda parse: parse.__name__)


def _value_or_malformed(parse: Parser, text: str) -> object:
    try:
        return parse(text)
    except Malformed as error:
        return error


@each_parser
def test_an_example_of_its_format_is_understood(parse: Parser) -> None:
    assert not isinstance(_value_or_malformed(parse, EXAMPLE_BY_PARSER[parse]), Malformed)


@each_parser
@settings(max_examples=25)
@given(text=st.text())
def test_any_text_is_a_value_or_malformed(parse: Parser, text: str) -> None:
    _value_or_malformed(parse, text)


@each_parser
@settings(max_examples=25)
@given(data=st.data())
def test_a_damaged_example_is_a_value_or_malformed(parse: Parser, data: st.DataObject) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(example))] * 2)))
    _value_or_malformed(parse, example[:start] + data.draw(st.text(max_size=4)) + example[stop:])


@each_parser
def test_an_example_cut_anywhere_is_a_value_or_malformed(parse: Parser) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    outcomes = [_value_or_malformed(parse, example[:size]) for size in range(len(example))]
    assert len(outcomes) == len(example)


@each_parser
@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_too_long_to_be_true_is_a_value_or_malformed(parse: Parser, digits: int) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    places = [at for at, character in enumerate(example) if character.isdecimal()]
    texts = [example[:at] + "9" * digits + example[at + 1 :] for at in places[-40:]]
    outcomes = [_value_or_malformed(parse, text) for text in ["9" * digits, *texts]]
    assert len(outcomes) == len(texts) + 1


@each_parser
@pytest.mark.parametrize("text", ["²", "①", "٣", "\0", "\x85", "\u2028", "\ud800", "-", "--", ".", ":", ")"], ids=ascii)
def test_odd_characters_are_a_value_or_malformed(parse: Parser, text: str) -> None:
    example = EXAMPLE_BY_PARSER[parse]
    outcomes = [
        _value_or_malformed(parse, each) for each in (text, text + example, example + text, example.replace("1", text))
    ]
    assert len(outcomes) == 4


@each_parser
def test_a_malformed_text_is_quoted_in_one_short_line(parse: Parser) -> None:
    outcome = _value_or_malformed(parse, "rubbish\x1b[2J\n" * 100)
    assert "\n" not in str(outcome)
    assert "\x1b" not in str(outcome)
