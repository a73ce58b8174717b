"""Work that the scheduler leaves on the target CPUs."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.written.quiet.cpus import SYSTEM, USER, WORKQUEUES
from tests.written.quiet.system import CONFIG, CONFIG_TEXT
from tests.written.quiet_machine import CPUS, process

_NO_LIST = {"/proc/cmdline": "quiet\n", f"{CPUS}/nohz_full": "\n"}
_KERNEL = 0x0020_0000
_OFFLOADED = {"/proc/cmdline": "rcu_nocbs=2-3\n", f"{CPUS}/isolated": "\n"}
_STATUS = "/proc/1/status"
_OPEN = {_STATUS: "Name:\tsystemd\nCpus_allowed_list:\t0-3\n"}
_INTEL = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_driver": "intel_pstate\n" for cpu in range(4)}
_WINDOW = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_min_freq": "1200000\n" for cpu in range(4)}
_POWERSAVE = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in range(4)}
_HARDWARE = {f"{CPUS}/cpu{cpu}/cpufreq/energy_performance_preference": "performance\n" for cpu in range(4)}


def _without(option: str) -> dict[str, str]:
    return {CONFIG: CONFIG_TEXT.replace(f"CONFIG_{option}=y", f"# CONFIG_{option} is not set")}


def _rcu_thread(allowed: str) -> dict[str, str]:
    return process(50, "rcuop/2", 0, 0, allowed=allowed, flags=_KERNEL)


EXAMPLES = [
    Example("target-not-tickless", "fail", {f"{CPUS}/nohz_full": "3\n"}, "CPU 2", {2}),
    Example(
        "target-not-tickless", "fail", {f"{CPUS}/nohz_full": " (null)\n"}, "CPUs 2-3", {2, 3}, rules=Rules("latency")
    ),
    Example("target-not-tickless", "fail", {}, "CPUs 2-3", {2, 3}, gone=(f"{CPUS}/nohz_full", CONFIG)),
    Example("target-not-tickless", "pass", {f"{CPUS}/nohz_full": "1-3\n"}, "can stop"),
    Example("target-not-tickless", "unknown", {f"{CPUS}/nohz_full": "rubbish\n"}, "rubbish"),
    Example("target-not-tickless", "unknown", gone=(f"{CPUS}/nohz_full",), is_copy=True),
    Example("target-not-tickless", "not-applicable", _without("NO_HZ_FULL") | _NO_LIST, "CONFIG_NO_HZ_FULL"),
    #
    Example("rcu-callbacks-on-target", "fail", _NO_LIST, "CPUs 2-3", {2, 3}),
    Example(
        "rcu-callbacks-on-target", "fail", {"/proc/cmdline": "rcu_nocbs=3\n", f"{CPUS}/nohz_full": "\n"}, "CPU 2", {2}
    ),
    Example("rcu-callbacks-on-target", "fail", _without("RCU_NOCB_CPU"), "CONFIG_RCU_NOCB_CPU", {2, 3}),
    Example(
        *("rcu-callbacks-on-target", "pass"),
        _NO_LIST
        | {
            CONFIG: CONFIG_TEXT.replace(
                "# CONFIG_RCU_NOCB_CPU_DEFAULT_ALL is not set", "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL=y"
            )
        },
        "isolated",
    ),
    Example("rcu-callbacks-on-target", "warn", _OFFLOADED | _rcu_thread("0,3"), "CPU 3", {3}),
    Example("rcu-callbacks-on-target", "pass", _OFFLOADED | _rcu_thread("0-1"), "on other CPUs"),
    Example("rcu-callbacks-on-target", "unknown", _OFFLOADED, "affinity of some rcuo"),
    Example("rcu-callbacks-on-target", "unknown", gone=("/proc/cmdline",)),
    Example("rcu-callbacks-on-target", "unknown", {f"{CPUS}/nohz_full": "rubbish\n"}, "nohz_full"),
    Example(
        "rcu-callbacks-on-target", "unknown", _OFFLOADED | _rcu_thread("0-1"), "some rcuo", gone=("/proc/50/status",)
    ),
    #
    Example("workqueues-on-target", "fail", {f"{WORKQUEUES}/cpumask": "f\n"}, "CPUs 2-3", {2, 3}),
    Example("workqueues-on-target", "fail", {f"{WORKQUEUES}/cpumask": "5\n"}, "CPU 2", {2}, rules=Rules("strict")),
    Example("workqueues-on-target", "pass", {f"{WORKQUEUES}/writeback/cpumask": "c\n"}, "other CPUs"),
    Example("workqueues-on-target", "unknown", {f"{WORKQUEUES}/cpumask": "0-3\n"}, "0-3"),
    Example("workqueues-on-target", "unknown", {f"{WORKQUEUES}/cpumask": "ff00\n"}, "no CPU of the mask is online"),
    Example("workqueues-on-target", "unknown", gone=(WORKQUEUES,)),
    #
    Example("services-on-target", "fail", _OPEN, "system.slice, user.slice may use CPUs 2-3", {2, 3}),
    Example(
        *("services-on-target", "fail"),
        _OPEN | {f"{SYSTEM}/cpuset.cpus.effective": "0,3\n", f"{USER}/cpuset.cpus.effective": "0-1\n"},
        "system.slice may use CPU 3",
        {3},
    ),
    Example("services-on-target", "fail", _OPEN, "what systemd starts", {2, 3}, gone=(SYSTEM, USER)),
    Example("services-on-target", "pass", {f"{SYSTEM}/cpuset.cpus.effective": "0-3\n"}, "other CPUs"),
    Example("services-on-target", "unknown", {f"{SYSTEM}/cpuset.cpus.effective": "rubbish\n"}, "rubbish"),
    Example("services-on-target", "unknown", {_STATUS: "Name:\tsystemd\n"}, "/proc/1/status"),
    Example("services-on-target", "unknown", gone=("/proc/self/mounts",)),
    Example("services-on-target", "unknown", gone=("/proc/1/comm",)),
    Example("services-on-target", "not-applicable", {"/proc/1/comm": "runit\n"}, "runit", gone=(SYSTEM, USER)),
    Example("services-on-target", "fail", _OPEN | {"/proc/1/comm": "systxmd\n"}, "system.slice, user.slice", {2, 3}),
    Example("services-on-target", "not-applicable", {"/.dockerenv": ""} | _OPEN, "container"),
    #
    Example(
        *("custom-scheduler-loaded", "fail"),
        {Knob.SCHED_EXT_STATE: "enabled\n", Knob.SCHED_EXT_OPS: "lavd_1.0\n"},
        "lavd_1.0",
    ),
    Example("custom-scheduler-loaded", "fail", {Knob.SCHED_EXT_STATE: "disabling\n"}, "unnamed"),
    Example("custom-scheduler-loaded", "unknown", {Knob.SCHED_EXT_STATE: "odd\n"}, "'odd'"),
    Example("custom-scheduler-loaded", "not-applicable", gone=(Knob.SCHED_EXT_STATE,)),
    Example("custom-scheduler-loaded", "unknown", gone=(Knob.SCHED_EXT_STATE,), is_copy=True),
    #
    Example("clock-waits-for-tick", "fail", _INTEL | _POWERSAVE | _WINDOW, "CPUs 2-3", {2, 3}, gone=tuple(_HARDWARE)),
    Example(
        *("clock-waits-for-tick", "fail"),
        _INTEL | _WINDOW | {f"{CPUS}/cpu3/cpufreq/scaling_governor": "powersave\n"},
        "CPU 3",
        {3},
        gone=tuple(_HARDWARE),
    ),
    Example(
        *("clock-waits-for-tick", "pass"),
        _INTEL | _WINDOW | {f"{CPUS}/cpu0/cpufreq/scaling_governor": "powersave\n"},
        "does not depend",
    ),
    Example("clock-waits-for-tick", "pass", _INTEL | _POWERSAVE | _WINDOW | _HARDWARE, "does not depend"),
    Example("clock-waits-for-tick", "pass", _INTEL | _POWERSAVE, "does not depend"),
    Example("clock-waits-for-tick", "not-applicable", _INTEL | _POWERSAVE | _WINDOW | {f"{CPUS}/nohz_full": "\n"}),
    Example("clock-waits-for-tick", "unknown", _INTEL | _POWERSAVE | _WINDOW, gone=tuple(_HARDWARE), is_copy=True),
    Example("clock-waits-for-tick", "unknown", gone=(f"{CPUS}/cpu3/cpufreq/scaling_governor",)),
    Example("clock-waits-for-tick", "unknown", gone=(f"{CPUS}/nohz_full",), is_copy=True),
]
