"""The kernel's osnoise tracer without the load of its own that it puts on each CPU: it follows what runs there anyway.

It tells of each interruption when it is over, nested ones taken off. The load is an option of all its users together,
so that it is left alone while there are others, and put back afterwards. https://docs.kernel.org/trace/osnoise-tracer.html
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from noisewatch.errors import CannotMeasure
from noisewatch.machine.tracefs import write_setting

TRACER = "osnoise"  # and what an instance is for: where one is left behind, so is the option
_WITH, _WITHOUT = "OSNOISE_WORKLOAD", "NO_OSNOISE_WORKLOAD"
_FAMILY = frozenset({TRACER, "timerlat"})  # that share the option


class WithoutWorkload:
    """A context manager, around that of the instance which has the tracer. Raises CannotMeasure."""

    def __init__(self, tracefs: Path) -> None:
        self._tracefs = tracefs
        self._had_workload = False

    def __enter__(self) -> Self:
        options = self._tracefs / "osnoise/options"
        try:
            if TRACER not in (self._tracefs / "available_tracers").read_text().split():
                raise CannotMeasure("this kernel has no osnoise tracer (CONFIG_OSNOISE_TRACER)")
            if self._is_in_use():
                raise CannotMeasure("somebody else uses the osnoise tracer")
            self._had_workload = _WITH in options.read_text().split()
            if self._had_workload:
                write_setting(options, _WITHOUT)
        except FileNotFoundError as error:
            raise CannotMeasure("the osnoise tracer cannot do without a load of its own (Linux 6.2)") from error
        except OSError as error:
            raise CannotMeasure(f"the osnoise tracer: {(error.strerror or str(error)).lower()}") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._had_workload:
            restore_workload(self._tracefs)

    def _is_in_use(self) -> bool:
        files = [self._tracefs / "current_tracer", *(self._tracefs / "instances").glob("*/current_tracer")]
        return any(_tracer_of(file) in _FAMILY for file in files)


def restore_workload(tracefs: Path) -> None:
    """The option as it is by default."""
    with suppress(OSError):
        write_setting(tracefs / "osnoise/options", _WITH)


def _tracer_of(file: Path) -> str:
    """Empty of an instance that has just gone."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
