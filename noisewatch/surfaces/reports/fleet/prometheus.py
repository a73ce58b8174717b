"""A fleet as gauges by host, in Prometheus' text format.

Unknown values have no sample. Times are in seconds, shares are ratios from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from noisewatch.judgement.fleet import Fleet, FleetHost, Report, Standing
from noisewatch.judgement.terms import Outcome
from noisewatch.surfaces.reports.fleet.text import FleetRendering
from noisewatch.text import printable

_Sample = tuple[Sequence[str], float]  # the values of the labels, and of the gauge


def render(fleet: Fleet, _: FleetRendering) -> str:
    """Return the gauges of all hosts."""
    registry = CollectorRegistry()
    registry.register(_Gauges(fleet))
    return generate_latest(registry).decode()


class _Gauges(Collector):
    """A collector that builds the gauges on demand: gauges of the client library take a kilobyte for each sample."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def collect(self) -> Iterator[Metric]:
        fleet = self.fleet
        counts = [((outcome,), float(count)) for outcome, count in fleet.counts.items()]
        yield _gauge("hosts", "Hosts by verdict.", ["verdict"], counts)
        yield _gauge("exit_status", "Exit status of the worst host.", [], [((), fleet.exit_status)])
        yield _gauge("ignored_files", "JSON files without a verdict in the folders.", [], [((), len(fleet.ignored))])
        yield self._by_host(
            "verdict",
            "1 for the host's verdict, 0 for the other verdicts.",
            ["verdict"],
            lambda host: [((outcome,), float(host.outcome is outcome)) for outcome in Outcome],
        )
        yield self._by_host(
            "no_report",
            "1 for hosts without a usable report, by reason.",
            ["standing"],
            lambda host: [((host.standing,), 1.0)] if host.standing is not Standing.REPORTED else [],
        )
        yield self._report_gauge(
            "report_timestamp_seconds", "When the host's verdict was reached.", lambda report: report.at_s
        )
        yield self._report_gauge(
            "noise_floor_cv_ratio",
            "Relative standard deviation that the machine alone adds to samples of 100 ms.",
            lambda report: None if report.floor is None else report.floor.expected,
        )
        yield self._report_gauge(
            "noise_floor_chance_ratio",
            "Chance that a benchmark's samples stay within the budget of the host's verdict.",
            lambda report: report.chance,
        )
        yield self._by_host(
            "out_of_line",
            "1 for figures that are out of line with machines of the same kind; a CPU label names the slowest CPU.",
            ["figure", "cpu"],
            lambda host: [((out.figure, "" if out.cpu is None else str(out.cpu)), 1.0) for out in host.outliers],
        )

    def _by_host(
        self, name: str, about: str, labels: Sequence[str], samples_of: Callable[[FleetHost], Sequence[_Sample]]
    ) -> Metric:
        samples = [
            ((printable(host.name), *values), value) for host in self.fleet.hosts for values, value in samples_of(host)
        ]
        return _gauge(name, about, ["host", *labels], samples)

    def _report_gauge(self, name: str, about: str, value_of: Callable[[Report], float | None]) -> Metric:
        """Return a gauge of a value in the hosts' reports; hosts without the value have no sample."""

        def samples(host: FleetHost) -> list[_Sample]:
            value = None if host.report is None else value_of(host.report)
            return [] if value is None else [((), value)]

        return self._by_host(name, about, [], samples)


def _gauge(name: str, about: str, labels: Sequence[str], samples: Iterable[_Sample]) -> Metric:
    gauge = GaugeMetricFamily(f"noisewatch_fleet_{name}", about, labels=labels)
    for values, value in samples:
        gauge.add_metric(values, value)
    return gauge
