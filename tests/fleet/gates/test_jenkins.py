"""The step for Jenkins, run by its Groovy version on nodes of one label, some of them noisy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fleet.engines import program
from tests.fleet.hog import JUDGED, UNWATCHED, hog, unknown_machine
from tests.fleet.shipped import write_shipped

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("hog_cpu_free")]

_STEPS = Path(__file__).parent / "pipeline.groovy"
_CHOICE = """
case $NODE_NAME in
    noisy*) options="{noisy}" ;;
    unknown) options="{unknown}" ;;
    broken) options=--no-such-option ;;
    *) options="{easy}" ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shipped files, with settings that give nodes the verdict in their name."""
    with (write_shipped("jenkins", tmp_path) / "noisewatch-settings").open("a") as settings:
        settings.write(_CHOICE.format(noisy=JUDGED, unknown=unknown_machine(tmp_path), easy=UNWATCHED))
    return tmp_path


def _run(folder: Path, max_nodes: int, *nodes: str) -> subprocess.CompletedProcess[str]:
    step, gate = folder / "vars" / "onQuietNode.groovy", folder / "noisewatch-gate"
    command: list[str | Path] = [program("groovy"), _STEPS, step, gate, str(max_nodes), *nodes]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_benchmark_runs_on_the_first_node_that_is_quiet(folder: Path) -> None:
    with hog() as process:
        result = _run(folder, 3, "noisy-1", "unknown", "quiet")
    assert f"(pid {process.pid})" in result.stdout
    assert result.stdout.count("the benchmark runs on ") == 1
    assert "the benchmark runs on quiet" in result.stdout
    assert 'node quiet for (benchmark) && !"noisy-1" && !"unknown"' in result.stdout
    assert result.returncode == 0


def test_no_more_nodes_are_tried_than_allowed(folder: Path) -> None:
    with hog():
        result = _run(folder, 1, "noisy-1", "quiet")
    assert result.returncode == 1
    assert "the benchmark runs on" not in result.stdout
    assert 'ERROR: noisewatch: no quiet node for (benchmark) && !"noisy-1"' in result.stdout


def test_a_node_on_which_noisewatch_fails_fails_the_build(folder: Path) -> None:
    result = _run(folder, 2, "broken", "quiet")
    assert "ERROR: noisewatch failed with status 2 on broken" in result.stdout
    assert "the benchmark runs on" not in result.stdout
