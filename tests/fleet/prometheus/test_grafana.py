"""The queries of the dashboard, in a real Prometheus with real verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fleet.engines import POLL_INTERVAL_S
from tests.fleet.hog import JUDGED, hog
from tests.fleet.prometheus.monitoring import TIMEOUT_S, Monitoring, monitoring
from tests.fleet.shipped import shipped_files
from tests.live.noise import CPU
from tests.plumbing.waiting import wait_until

pytestmark = pytest.mark.fleet

_DASHBOARD = json.loads(shipped_files("grafana")["noisewatch.json"])
_QUERIES = {panel["title"]: target["expr"] for panel in _DASHBOARD["panels"] for target in panel["targets"]}
_CHOICES = {
    variable["name"]: variable["query"]["query"]
    for variable in _DASHBOARD["templating"]["list"]
    if variable["type"] == "query"
}
_SILENT_PANEL = "Silent machines"  # empty while each machine has a verdict
_CALIBRATED = f"--cpus {CPU} --sample 1 --calibration 1"


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory, hog_cpu_free: None) -> Iterator[Monitoring]:
    """Two machines: `a` is too noisy to be calibrated; `b` is calibrated."""
    with monitoring(tmp_path_factory.mktemp("monitoring")) as monitored:
        with hog():
            monitored.judge("a", JUDGED)
        monitored.judge("b", _CALIBRATED)
        wait_until(lambda: bool(monitored.query("noisewatch_noise_floor_cv_ratio")), TIMEOUT_S, POLL_INTERVAL_S)
        yield monitored


def _expression(query: str, instance: str = ".*") -> str:
    expression = query.replace("$job", "node").replace("$instance", instance)
    assert "$" not in expression
    return expression


def _panel_values(machines: Monitoring, title: str, name: str) -> list[str]:
    """Return the values of a panel for one machine."""
    rows = machines.query(_expression(_QUERIES[title], machines.instance_by_name[name]))
    return [row["value"][1] for row in rows]


@contextmanager
def _replace_textfile(machines: Monitoring, name: str, text: str | None) -> Iterator[None]:
    """Replace the text file of a machine, or remove it, and restore it at the end."""
    file = machines.textfile(name)
    before = file.read_text()
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    try:
        yield
    finally:
        file.write_text(before)


@pytest.mark.parametrize("title", [title for title in _QUERIES if title != _SILENT_PANEL])
def test_each_panel_has_a_value(machines: Monitoring, title: str) -> None:
    assert machines.query(_expression(_QUERIES[title])) != []


@pytest.mark.parametrize("name", _CHOICES)
def test_each_machine_can_be_selected(machines: Monitoring, name: str) -> None:
    match = re.fullmatch(r"label_values\((.*), (\w+)\)", _CHOICES[name])
    assert match is not None
    rows = machines.query(f"group by ({match[2]}) ({_expression(match[1])})")
    expected = {"job": {"node"}, "instance": set(machines.instance_by_name.values())}
    assert {row["metric"][match[2]] for row in rows} == expected[name]


@pytest.mark.parametrize(
    ("title", "value"),
    [("Stable", "0"), ("Unstable", "1"), ("Unknown", "0"), ("Silent", "0"), ("In use", "0"), ("Verdict", "2")],
)
def test_a_noisy_machine_counts_as_unstable(machines: Monitoring, title: str, value: str) -> None:
    assert _panel_values(machines, title, "a") == [value]


def test_a_locked_machine_counts_only_as_in_use(machines: Monitoring) -> None:
    locked = machines.textfile("a").read_text().replace("tasks-on-target", "machine-locked")
    with _replace_textfile(machines, "a", locked):
        wait_until(lambda: _panel_values(machines, "In use", "a") == ["1"], TIMEOUT_S, POLL_INTERVAL_S)
        others = [_panel_values(machines, title, "a") for title in ("Stable", "Unstable", "Unknown", "Silent")]
        assert others == [["0"]] * len(others)
        assert _panel_values(machines, "Verdict", "a") == ["3"]
    wait_until(lambda: _panel_values(machines, "In use", "a") == ["0"], TIMEOUT_S, POLL_INTERVAL_S)


def test_a_machine_without_a_file_counts_as_silent_at_once(machines: Monitoring) -> None:
    assert _panel_values(machines, _SILENT_PANEL, "a") == []
    with _replace_textfile(machines, "a", None):
        wait_until(lambda: _panel_values(machines, "Unstable", "a") == ["0"], TIMEOUT_S, POLL_INTERVAL_S)
        assert _panel_values(machines, "Silent", "a") == ["1"]
        assert len(_panel_values(machines, _SILENT_PANEL, "a")) == 1
        assert _panel_values(machines, "Verdict", "a") == []
    wait_until(lambda: _panel_values(machines, "Silent", "a") == ["0"], TIMEOUT_S, POLL_INTERVAL_S)


def test_the_panels_use_exactly_the_variables_of_the_dashboard() -> None:
    variables = {variable["name"] for variable in _DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(_DASHBOARD["panels"])))
    assert used == variables
