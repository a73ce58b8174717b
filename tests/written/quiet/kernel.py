"""A kernel that keeps quiet."""

from __future__ import annotations

from noisewatch.kernel.snapshot.knobs import Knob

TRACING = "/sys/kernel/tracing"
CONFIG = "/boot/config-6.14.0"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
CONFIG_TEXT = """\
CONFIG_HZ=250
CONFIG_NO_HZ_FULL=y
CONFIG_RCU_NOCB_CPU=y
# CONFIG_RCU_NOCB_CPU_DEFAULT_ALL is not set
# CONFIG_RT_GROUP_SCHED is not set
CONFIG_DEBUG_KERNEL=y
# CONFIG_DEBUG_PAGEALLOC is not set
CONFIG_DEBUG_KMEMLEAK=y
CONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y
# CONFIG_KASAN is not set
# CONFIG_PROVE_LOCKING is not set
CONFIG_RUNTIME_TESTING_MENU=y
"""


def files(seconds: float) -> dict[str, str]:
    """Its settings."""
    return {
        Knob.NMI_WATCHDOG: "0\n",
        Knob.WATCHDOG: "1\n",
        Knob.WATCHDOG_CPUS: "0-1\n",
        Knob.WATCHDOG_THRESHOLD: "10\n",
        Knob.TIMER_MIGRATION: "0\n",
        Knob.STAT_INTERVAL: "120\n",
        Knob.MACHINE_CHECK_INTERVAL: "86400\n",
        Knob.REALTIME_RUNTIME: "-1\n",
        Knob.REALTIME_PERIOD: "1000000\n",
        Knob.AUTOGROUP: "1\n",
        Knob.SCHEDULER_STATISTICS: "0\n",
        Knob.DELAY_ACCOUNTING: "0\n",
        Knob.BPF_STATISTICS: "0\n",
        Knob.PERF_SAMPLE_RATE: "100000\n",
        Knob.PRINTK: "4\t4\t1\t7\n",
        Knob.CURSOR_BLINK: "0\n",
        CONFIG: CONFIG_TEXT,
        "/proc/consoles": "ttyS0                -W- (EC  p a)    4:64\ntty0                 -WU (EC  p  )    4:1\n",
        "/sys/kernel/livepatch/a_patch/transition": "0\n",
        Knob.STACK_TRACER: "0\n",
        f"{TRACING}/function_profile_enabled": "0\n",
        f"{TRACING}/current_tracer": "nop\n",
        f"{TRACING}/set_event": "",
        f"{TRACING}/instances/rasdaemon/current_tracer": "nop\n",
        f"{TRACING}/instances/rasdaemon/set_event": "ras:mc_event\nras:aer_event\n",
        f"{VULNERABILITIES}/meltdown": "Mitigation: PTI\n",
        f"{VULNERABILITIES}/l1tf": "Not affected\n",
    }
