"""The kernel's trace beside a calibration, as far as there is one."""

from __future__ import annotations

from contextlib import ExitStack

from noisewatch.errors import CannotMeasure
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.kernel.trace.runs import NOT_TRACED, Trace, read_trace, untraced
from noisewatch.machine import Machine
from noisewatch.machine.spinning.calibration.run import Progress, Watch


class TraceBeside:
    """Watches a calibration, and fetches the trace each time."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._collector: TraceCollector | None = None
        self._reason = NOT_TRACED

    def begin(self, stack: ExitStack, collector: TraceCollector) -> None:
        """Where that is not possible the gaps have to do."""
        try:
            self._collector = stack.enter_context(collector)
        except CannotMeasure as error:
            self._reason = str(error)

    def __call__(self, progress: Progress) -> None:
        try:
            if self._collector is not None:
                self._collector.drain()
        except CannotMeasure as error:  # the gaps have to do, here as well
            self._collector, self._reason = None, str(error)
        self._watch(progress)

    def trace(self, machine: Machine) -> Trace | str:
        """What was traced now, or when the machine was recorded."""
        collector = self._collector
        return read_trace(machine, collector.result if collector is not None else lambda: untraced(self._reason))
