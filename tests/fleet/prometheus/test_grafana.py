"""Each query of the dashboard, in a real Prometheus that knows a real machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fleet.engines import ASKS_EVERY_S
from tests.fleet.hog import JUDGED, hog
from tests.fleet.prometheus.monitoring import WITHIN_S, Monitoring, monitoring
from tests.fleet.shipped import shipped
from tests.live.noise import CPU
from tests.plumbing.waiting import wait_until

pytestmark = pytest.mark.fleet

_DASHBOARD = json.loads(shipped("grafana")["noisewatch.json"])
_QUERIES = {each["title"]: target["expr"] for each in _DASHBOARD["panels"] for target in each["targets"]}
_CHOICES = {
    each["name"]: each["query"]["query"] for each in _DASHBOARD["templating"]["list"] if each["type"] == "query"
}
_NOBODY = "Who is silent"  # while each machine tells its verdict
_FULL = f"--cpus {CPU} --sample 1 --calibration 1"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, aside: None) -> Iterator[Monitoring]:
    """Machine `a` is noisy, too much so to be calibrated; `b` is calibrated."""
    with monitoring(tmp_path_factory.mktemp("monitoring")) as made:
        with hog():
            made.judge("a", JUDGED)
        made.judge("b", _FULL)
        wait_until(lambda: bool(made.query("noisewatch_noise_floor_cv_ratio")), WITHIN_S, ASKS_EVERY_S)
        yield made


def _asked(query: str, instance: str = ".*") -> str:
    chosen = query.replace("$job", "node").replace("$instance", instance)
    assert "$" not in chosen
    return chosen


def _shown(judged: Monitoring, title: str, name: str) -> list[str]:
    """The values of a panel for one machine."""
    found = judged.query(_asked(_QUERIES[title], judged.instance_by_name[name]))
    return [each["value"][1] for each in found]


@contextmanager
def _telling(judged: Monitoring, name: str, text: str | None) -> Iterator[None]:
    """A machine whose file has that text instead, or is gone."""
    file = judged.textfile(name)
    before = file.read_text()
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    try:
        yield
    finally:
        file.write_text(before)


@pytest.mark.parametrize("title", [each for each in _QUERIES if each != _NOBODY])
def test_each_panel_shows_something(judged: Monitoring, title: str) -> None:
    assert judged.query(_asked(_QUERIES[title])) != []


@pytest.mark.parametrize("name", _CHOICES)
def test_each_machine_can_be_chosen(judged: Monitoring, name: str) -> None:
    told = re.fullmatch(r"label_values\((.*), (\w+)\)", _CHOICES[name])
    assert told is not None
    found = judged.query(f"group by ({told[2]}) ({_asked(told[1])})")
    machines = {"job": {"node"}, "instance": set(judged.instance_by_name.values())}
    assert {each["metric"][told[2]] for each in found} == machines[name]


@pytest.mark.parametrize(
    ("title", "value"),
    [("Stable", "0"), ("Unstable", "1"), ("Unknown", "0"), ("Silent", "0"), ("In use", "0"), ("Verdict", "2")],
)
def test_a_noisy_machine_counts_as_unstable(judged: Monitoring, title: str, value: str) -> None:
    assert _shown(judged, title, "a") == [value]


def test_a_machine_that_a_benchmark_has_locked_counts_as_in_use_alone(judged: Monitoring) -> None:
    locked = judged.textfile("a").read_text().replace("tasks-on-target", "machine-locked")
    with _telling(judged, "a", locked):
        wait_until(lambda: _shown(judged, "In use", "a") == ["1"], WITHIN_S, ASKS_EVERY_S)
        others = [_shown(judged, title, "a") for title in ("Stable", "Unstable", "Unknown", "Silent")]
        assert others == [["0"]] * len(others)
        assert _shown(judged, "Verdict", "a") == ["3"]
    wait_until(lambda: _shown(judged, "In use", "a") == ["0"], WITHIN_S, ASKS_EVERY_S)


def test_a_machine_that_is_gone_counts_as_silent_at_once(judged: Monitoring) -> None:
    assert _shown(judged, _NOBODY, "a") == []
    with _telling(judged, "a", None):
        wait_until(lambda: _shown(judged, "Unstable", "a") == ["0"], WITHIN_S, ASKS_EVERY_S)
        assert _shown(judged, "Silent", "a") == ["1"]
        assert len(_shown(judged, _NOBODY, "a")) == 1
        assert _shown(judged, "Verdict", "a") == []
    wait_until(lambda: _shown(judged, "Silent", "a") == ["0"], WITHIN_S, ASKS_EVERY_S)


def test_what_one_can_choose_from_is_there() -> None:
    variables = {each["name"] for each in _DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(_DASHBOARD["panels"])))
    assert used == variables
