"""Governor, turbo and the window of frequencies."""

from __future__ import annotations

from tests.judgement.judging import answered
from tests.written.quiet_machine import CPUS


def test_turbo_of_a_target_cpus_own_policy_is_judged_and_put_back_there_alone() -> None:
    files = {f"{CPUS}/cpu{cpu}/cpufreq/boost": f"{int(cpu == 3)}\n" for cpu in range(4)}
    answer = answered("turbo-enabled", files)
    assert answer.fix is not None
    assert (answer.status, answer.fix.undo) == ("fail", f"echo 1 | sudo tee {CPUS}/cpu3/cpufreq/boost")
    assert answered("turbo-enabled", dict.fromkeys(files, "0\n")).status == "pass"


def test_a_window_pinned_below_a_turbo_that_is_on_is_not_pinned() -> None:
    assert answered("frequency-window-open", {f"{CPUS}/cpufreq/boost": "1\n"}).status == "warn"


def test_the_driver_of_a_cpu_decides_what_its_powersave_means() -> None:
    files = {
        f"{CPUS}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
        f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
    }
    assert answered("governor-not-performance", files).status == "fail"


def test_a_userspace_governor_fails_unless_it_has_nothing_to_choose() -> None:
    governor = {f"{CPUS}/cpu2/cpufreq/scaling_governor": "userspace\n"}
    assert answered("governor-not-performance", governor).status == "pass"
    wide = {f"{CPUS}/cpu2/cpufreq/scaling_min_freq": "1200000\n"}
    assert answered("governor-not-performance", governor | wide).status == "fail"


def test_a_window_of_which_one_end_is_unknown_is_unknown() -> None:
    assert answered("frequency-window-open", {f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "rubbish\n"}).status == "unknown"


def test_a_window_pinned_above_the_base_frequency_warns() -> None:
    base = {f"{CPUS}/cpu{cpu}/cpufreq/base_frequency": "2000000\n" for cpu in range(4)}
    assert answered("frequency-window-open", base).status == "warn"


def test_a_damaged_turbo_switch_is_unknown_whatever_an_older_one_contains() -> None:
    assert answered("turbo-enabled", {f"{CPUS}/intel_pstate/no_turbo": "7\n"}).status == "unknown"
    assert answered("turbo-enabled", {f"{CPUS}/cpu2/cpufreq/boost": "7\n"}).status == "unknown"
