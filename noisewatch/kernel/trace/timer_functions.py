"""What a high-resolution timer runs when it expires: the kernel's tick, or what others have armed it for.

    hrtimer_expire_entry: hrtimer=00000000f4b3 function=perf_swevent_hrtimer now=8123456789

kernel/time/tick-sched.c, kernel/events/core.c, kernel/time/hrtimer.c; https://docs.kernel.org/timers/highres.html
"""

from __future__ import annotations

_TICK_FUNCTIONS = frozenset({"tick_nohz_handler", "tick_sched_timer", "tick_nohz_highres_handler"})  # and until 6.8
_MEANINGS = {
    "perf_swevent_hrtimer": "a profiler's",
    "hrtimer_wakeup": "threads that sleep",
    "posix_timer_fn": "a program's timer",
    "it_real_fn": "a program's timer",
    "timerfd_tmrproc": "a program's timer",
    "apic_timer_fn": "a virtual machine's",
    "kvm_bg_timer_expire": "a virtual machine's",
    "watchdog_timer_fn": "the watchdog for lock-ups",
    "sched_cfs_period_timer": "a CPU quota's",
    "sched_cfs_slack_timer": "a CPU quota's",
    "osnoise_timer_callback": "a tracer's",
}


def is_tick_function(function: str) -> bool:
    """Whether it is what a high-resolution timer runs to be the tick."""
    return function in _TICK_FUNCTIONS


def name_of_timer(function: str) -> str:
    """`perf_swevent_hrtimer (a profiler's)`."""
    meaning = _MEANINGS.get(function)
    return f"{function} ({meaning})" if meaning is not None else function


def chosen_function(functions: tuple[str, ...]) -> str | None:
    """Of those that one interrupt ran the one to name it after: what came beside the tick, where anything did."""
    beside = [function for function in functions if not is_tick_function(function)]
    return next(iter(beside or functions), None)
