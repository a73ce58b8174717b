"""A fleet as gauges by host, in Prometheus' text format.

Unknown values have no sample. Times are in seconds, shares are ratios from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from noisewatch.judgement.fleet import Fleet, Report, Standing
from noisewatch.judgement.terms import Outcome
from noisewatch.surfaces.reports.fleet.text import FleetRendering
from noisewatch.text import printable


def render(fleet: Fleet, _: FleetRendering) -> str:
    """Return the gauges of all hosts."""
    registry = CollectorRegistry()
    registry.register(_Gauges(fleet))
    return generate_latest(registry).decode()


class _Gauges(Collector):
    """A collector that builds the gauges on demand: gauges of the client library take a kilobyte for each sample."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def collect(self) -> Iterable[Metric]:
        yield self._counts()
        yield GaugeMetricFamily(
            "noisewatch_fleet_exit_status", "Exit status of the worst host.", self.fleet.exit_status
        )
        yield self._verdicts()
        yield self._standings()
        yield self._reported(
            "noisewatch_fleet_report_timestamp_seconds",
            "When the host's verdict was reached.",
            lambda report: report.at_s,
        )
        yield self._reported(
            "noisewatch_fleet_noise_floor_cv_ratio",
            "Relative standard deviation that samples of 100 ms will show of the machine alone.",
            lambda report: None if report.floor is None else report.floor.expected,
        )
        yield self._reported(
            "noisewatch_fleet_noise_floor_chance_ratio",
            "Chance that the samples of a benchmark stay within the budget that the host's verdict was asked for.",
            lambda report: report.chance,
        )
        yield self._outliers()

    def _counts(self) -> Metric:
        gauge = GaugeMetricFamily("noisewatch_fleet_hosts", "Hosts by verdict.", labels=["verdict"])
        for outcome, count in self.fleet.counts.items():
            gauge.add_metric([outcome], count)
        return gauge

    def _verdicts(self) -> Metric:
        gauge = GaugeMetricFamily("noisewatch_fleet_verdict", "1 for the host's verdict.", labels=["host", "verdict"])
        for host in self.fleet.hosts:
            for outcome in Outcome:
                gauge.add_metric([printable(host.name), outcome], float(host.outcome is outcome))
        return gauge

    def _standings(self) -> Metric:
        help_text = "1 for hosts without a usable report, by reason."
        gauge = GaugeMetricFamily("noisewatch_fleet_no_report", help_text, labels=["host", "standing"])
        for host in self.fleet.hosts:
            if host.standing is not Standing.REPORTED:
                gauge.add_metric([printable(host.name), host.standing], 1.0)
        return gauge

    def _reported(self, name: str, about: str, value_of: Callable[[Report], float | None]) -> Metric:
        """Return a gauge of a value in the hosts' reports; hosts without the value have no sample."""
        gauge = GaugeMetricFamily(name, about, labels=["host"])
        for host in self.fleet.hosts:
            value = None if host.report is None else value_of(host.report)
            if value is not None:
                gauge.add_metric([printable(host.name)], value)
        return gauge

    def _outliers(self) -> Metric:
        help_text = (
            "1 for figures that are out of line with those of machines of the same kind; with a CPU, the slowest."
        )
        gauge = GaugeMetricFamily("noisewatch_fleet_out_of_line", help_text, labels=["host", "figure", "cpu"])
        for host in self.fleet.hosts:
            for outlier in host.outliers:
                cpu = "" if outlier.cpu is None else str(outlier.cpu)
                gauge.add_metric([printable(host.name), outlier.figure, cpu], 1.0)
        return gauge
