"""The kernel's osnoise tracer without the load of its own that it puts on each CPU: it follows what runs there anyway.

It tells of each interruption when it is over, nested ones taken off. The load is an option of all its users together,
so that it is left alone while there are others. Where we switch it off, the instance is called so, and whoever removes
that puts the option back. https://docs.kernel.org/trace/osnoise-tracer.html
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from noisewatch.errors import CannotMeasure
from noisewatch.machine.tracefs.watcher import WORKLOAD_OFF, tracer_of, write_setting

TRACER = "osnoise"
_PURPOSE = "target"  # of an instance with which nothing is to be put back
_WITH, _WITHOUT = "OSNOISE_WORKLOAD", "NO_OSNOISE_WORKLOAD"
_FAMILY = frozenset({TRACER, "timerlat"})  # that share the option


def how_to_follow(tracefs: Path) -> tuple[str, Callable[[], None]]:
    """What the instance is for, and what is to be done before it gets the tracer. Raises CannotMeasure."""
    options = tracefs / "osnoise/options"
    try:
        if TRACER not in (tracefs / "available_tracers").read_text().split():
            raise CannotMeasure("this kernel has no osnoise tracer (CONFIG_OSNOISE_TRACER)")
        if _is_in_use(tracefs):
            raise CannotMeasure("somebody else uses the osnoise tracer")
        has_workload = _WITH in options.read_text().split()
    except FileNotFoundError as error:
        raise CannotMeasure("the osnoise tracer cannot do without a load of its own (Linux 6.2)") from error
    except OSError as error:
        raise CannotMeasure(f"the osnoise tracer: {(error.strerror or str(error)).lower()}") from error
    return (WORKLOAD_OFF, partial(write_setting, options, _WITHOUT)) if has_workload else (_PURPOSE, lambda: None)


def _is_in_use(tracefs: Path) -> bool:
    """By a tracer that runs, or by an instance that is just about to."""
    instances = list((tracefs / "instances").glob("*"))
    return any(tracer_of(each) in _FAMILY for each in (tracefs, *instances)) or any(
        each.name.startswith("noisewatch-") and each.name.endswith(f"-{WORKLOAD_OFF}") for each in instances
    )
