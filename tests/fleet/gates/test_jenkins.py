"""The step for Jenkins, in the Groovy that Jenkins has, on nodes of one label, of which some are noisy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fleet.engines import program
from tests.fleet.hog import JUDGED, UNWATCHED, hog, unknown_machine
from tests.fleet.shipped import write_shipped

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("aside")]

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
    """The files that ship, and nodes that are as their names say."""
    with (write_shipped("jenkins", tmp_path) / "noisewatch-settings").open("a") as settings:
        settings.write(_CHOICE.format(noisy=JUDGED, unknown=unknown_machine(tmp_path), easy=UNWATCHED))
    return tmp_path


def _run(folder: Path, most: int, *nodes: str) -> subprocess.CompletedProcess[str]:
    step, gate = folder / "vars" / "onQuietNode.groovy", folder / "noisewatch-gate"
    command: list[str | Path] = [program("groovy"), _STEPS, step, gate, str(most), *nodes]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_benchmark_runs_on_the_first_node_that_is_quiet(folder: Path) -> None:
    with hog() as process:
        ended = _run(folder, 3, "noisy-1", "unknown", "quiet")
    assert f"(pid {process.pid})" in ended.stdout
    assert ended.stdout.count("the benchmark runs on ") == 1
    assert "the benchmark runs on quiet" in ended.stdout
    assert 'node quiet for (benchmark) && !"noisy-1" && !"unknown"' in ended.stdout
    assert ended.returncode == 0


def test_no_more_nodes_are_tried_than_wanted(folder: Path) -> None:
    with hog():
        ended = _run(folder, 1, "noisy-1", "quiet")
    assert ended.returncode == 1
    assert "the benchmark runs on" not in ended.stdout
    assert 'ERROR: noisewatch: no quiet node for (benchmark) && !"noisy-1"' in ended.stdout


def test_a_node_on_which_noisewatch_fails_fails_the_build(folder: Path) -> None:
    ended = _run(folder, 2, "broken", "quiet")
    assert "ERROR: noisewatch failed with status 2 on broken" in ended.stdout
    assert "the benchmark runs on" not in ended.stdout
