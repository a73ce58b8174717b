"""A recording of a made-up workstation whose clock drops, for tests and for the README's picture of the clock.

    python -m tests.written.clock_drop tests/machines/written-clock-drop.nw

writes it, the same bytes each time. The machine has turbo, four cores in one package, and no hypervisor. CPUs 2 and 3
are isolated, and idle all the time:

    second 12-32    a compiler uses CPUs 0 and 1, and the package gets hotter
    second 20-34    the package is at its critical temperature: all clocks drop, and the kernel counts throttling
    second 46-52    the governor of CPUs 2 and 3 is powersave, which lowers their clock
"""

from __future__ import annotations

import sys
from pathlib import Path

from noisewatch.kernel.snapshot.placement import read_for_replays
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.recorder import Recorder
from tests.written import SECOND_NS, WrittenMachine
from tests.written.clocked import SECONDS as LOOK_S
from tests.written.clocked import intel_files
from tests.written.quiet.frequency import CHIP, STATES, ZONE
from tests.written.quiet_machine import ANSWERS, CPUS, process, stat_file

INTERVALS = 60
COMPILED, HOT, POWERSAVE = range(12, 33), range(20, 35), range(46, 53)
_TURBO_MHZ, _HOT_MHZ, _SLOW_MHZ = 4_400, 2_600, 1_200
_COOL_C, _CRITICAL_C = 44, 100
_IDLE_W, _COMPILING_W, _HOT_W = 31, 118, 74
_TICK_HZ = 250
_OPTIONS = "isolcpus=managed_irq,domain,2-3 nohz=off"  # so that the tick reads the clocks of idle CPUs
_CARD = "/sys/class/net/eth0/device"


def files_at(second: int) -> dict[str, str]:
    """Return all files of this second."""
    compiled_s = sum(earlier in COMPILED for earlier in range(second))
    files = intel_files(second / LOOK_S)
    del files[f"{CPUS}/cpufreq/boost"]  # intel_pstate has another switch
    celsius = _celsius(second)
    files |= {
        "/proc/sys/kernel/hostname": "workstation\n",
        "/proc/cmdline": f"root=UUID=1234 {_OPTIONS}\n",
        "/etc/default/grub": f'GRUB_CMDLINE_LINUX_DEFAULT="{_OPTIONS}"\n',
        "/proc/interrupts": files["/proc/interrupts"].replace(f"{120:11}" * 2, f"{120 + _TICK_HZ * second:11}" * 2),
        "/proc/stat": stat_file({0: 100 * compiled_s + second // 2, 1: 100 * compiled_s}, 100 * second),
        f"{CPUS}/intel_pstate/no_turbo": "0\n",
        f"{CPUS}/nohz_full": "\n",
        f"{ZONE}/energy_uj": f"{sum(_watts(earlier) for earlier in range(second))}000000\n",
        f"{ZONE}/constraint_0_power_limit_uw": "125000000\n",
        f"{ZONE}/constraint_1_power_limit_uw": "180000000\n",
        f"{CHIP}/temp1_input": f"{celsius}000\n",
        f"{CHIP}/temp2_input": f"{celsius - 1}000\n",
        f"{CHIP}/temp4_input": f"{celsius - 6}000\n",
        f"{_CARD}/numa_node": "0\n",
        f"{_CARD}/local_cpulist": "0-3\n",
    }
    for cpu in range(4):
        files |= _files_of_cpu(second, cpu, idle_s=second if cpu >= 2 else second - compiled_s)
        for name in ("bios_limit", "scaling_available_frequencies"):  # acpi-cpufreq's
            del files[f"{CPUS}/cpu{cpu}/cpufreq/{name}"]
    for cpu in (0, 1) if second in COMPILED else ():
        files |= process(4100 + cpu, "cc1plus", cpu, compiled_s * SECOND_NS, allowed="0-1")
    return files


def _files_of_cpu(second: int, cpu: int, idle_s: int) -> dict[str, str]:
    folder, is_slow = f"{CPUS}/cpu{cpu}", cpu >= 2 and second in POWERSAVE
    hot_s = sum(earlier in HOT for earlier in range(second + 1))
    slept = {"C1": 0.2, "C6": 0.8}
    return {
        f"{folder}/cpufreq/scaling_driver": "intel_pstate\n",
        f"{folder}/cpufreq/scaling_governor": "powersave\n" if is_slow else "performance\n",
        f"{folder}/cpufreq/scaling_cur_freq": f"{_megahertz(second, cpu)}000\n",
        f"{folder}/cpufreq/scaling_min_freq": f"{_SLOW_MHZ}000\n",
        f"{folder}/cpufreq/scaling_max_freq": f"{_TURBO_MHZ}000\n",
        f"{folder}/cpufreq/cpuinfo_max_freq": f"{_TURBO_MHZ}000\n",
        f"{folder}/cpufreq/base_frequency": "3000000\n",
        f"{folder}/thermal_throttle/core_power_limit_count": "0\n",
        f"{folder}/thermal_throttle/core_throttle_total_time_ms": "0\n",
        f"{folder}/thermal_throttle/package_throttle_count": f"{34 + 3 * hot_s}\n",
        f"{folder}/thermal_throttle/package_throttle_total_time_ms": f"{620 + 870 * hot_s}\n",
        **{
            f"{folder}/cpuidle/state{index}/time": f"{round(slept.get(name, 0.0) * idle_s * 1e6)}\n"
            for index, (name, _, _) in enumerate(STATES)
        },
    }


def _megahertz(second: int, cpu: int) -> int:
    """Return the CPU's clock, which varies a little as the kernel averages it over some milliseconds."""
    if cpu >= 2 and second in POWERSAVE:
        return _SLOW_MHZ
    highest = _HOT_MHZ if second in HOT else _TURBO_MHZ
    return highest - (second * 37 + cpu * 11) % 25


def _celsius(second: int) -> int:
    """Return the package's temperature: it rises to the limit while the compiler runs, and falls after that."""
    if second < COMPILED.start:
        return _COOL_C
    if second < COMPILED.stop:
        risen = (second - COMPILED.start) / (HOT.start - COMPILED.start)
        return min(round(_COOL_C + risen * (_CRITICAL_C - _COOL_C)), _CRITICAL_C)
    return max(_CRITICAL_C - 7 * (second - COMPILED.stop), _COOL_C)


def _watts(second: int) -> int:
    if second not in COMPILED:
        return _IDLE_W
    return _HOT_W if second in HOT else _COMPILING_W


def record_clock_drop(path: Path) -> Path:
    """Write the recording, as `noisewatch record` does."""
    machine = WrittenMachine(*map(files_at, range(INTERVALS + 1)), answers=ANSWERS, seconds_between=1.0)
    task_reader = TaskReader(asks_all_affinities=True)
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, interval_s=1.0, read_more=read_for_replays)
        snapshot: Snapshot | None = None
        for second in range(INTERVALS + 1):
            if second:
                machine.advance()
            snapshot = read_snapshot(
                recorder, SnapshotOptions(asks_clock=True, asks_inventory=True), task_reader, snapshot
            )
        recorder.close()
    return path


if __name__ == "__main__":
    record_clock_drop(Path(sys.argv[1]))
