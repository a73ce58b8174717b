"""The role for Ansible, run by Ansible on three names of this host; a hog runs on the CPU of one of them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fleet.engines import program
from tests.fleet.hog import JUDGED, UNWATCHED, hog, unknown_machine
from tests.fleet.shipped import PROGRAM, write_shipped
from tests.surfaces.running import Run

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("hog_cpu_free")]

_UNREACHABLE = {"ansible_remote_tmp": "/dev/null/none"}  # a folder that cannot be created, as on a full or broken host


@dataclass(frozen=True, slots=True)
class Play:
    """The shipped playbook, whose benchmark creates a file for each host."""

    folder: Path

    def hosts(self, options_by_host: dict[str, str], **variables: str) -> None:
        """Write the inventory with these hosts, and variables of all hosts."""
        hosts = {name: {"noisewatch_options": options} for name, options in options_by_host.items()}
        base = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
        base |= {"noisewatch_program": PROGRAM, "benchmark": f"touch {self.folder}/ran/{{{{ inventory_hostname }}}}"}
        inventory = {"all": {"hosts": hosts, "vars": base | variables}}
        (self.folder / "ran").mkdir(exist_ok=True)
        (self.folder / "inventory.json").write_text(json.dumps(inventory))

    def change(self, host: str, variables: dict[str, str]) -> None:
        """Change variables of one host."""
        inventory = json.loads((self.folder / "inventory.json").read_text())
        inventory["all"]["hosts"][host] |= variables
        (self.folder / "inventory.json").write_text(json.dumps(inventory))

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run the playbook as an administrator would, in a clean environment."""
        clean = {"HOME": str(self.folder), "PATH": os.defpath, "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"}
        return subprocess.run(
            [program("ansible-playbook"), "-i", "inventory.json", "benchmark.yml", *options],
            capture_output=True, text=True, env=clean, cwd=self.folder, check=False,
        )  # fmt: skip

    @property
    def ran_on(self) -> set[str]:
        """The hosts that the benchmark ran on."""
        return {path.name for path in (self.folder / "ran").iterdir()}

    @property
    def verdicts(self) -> set[str]:
        """The names of the reports on the control node."""
        return {path.name for path in (self.folder / "verdicts").iterdir()}

    def verdict(self, host: str) -> str:
        """Return the verdict in the host's report that was copied to the control node."""
        verdict: str = json.loads((self.folder / "verdicts" / f"{host}.json").read_text())["verdict"]
        return verdict


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """The playbook without hosts."""
    return Play(write_shipped("ansible", tmp_path))


def test_the_benchmark_runs_on_all_hosts_but_the_noisy_one(play: Play, run: Run) -> None:
    play.hosts({"first": UNWATCHED, "noisy": JUDGED, "last": UNWATCHED})
    with hog() as process:
        result = play.run()
    assert result.returncode == 2
    assert f"(pid {process.pid})" in result.stdout
    assert "(tasks-on-target)" in result.stdout
    assert play.ran_on == {"first", "last"}
    assert {host: play.verdict(host) for host in ("first", "noisy", "last")} == {
        "first": "stable", "noisy": "unstable", "last": "stable",
    }  # fmt: skip
    fleet = run("fleet", play.folder / "verdicts")
    assert fleet.status == 1
    assert f"(pid {process.pid})" in fleet.words


def test_one_noisy_host_stops_all_where_all_are_needed(play: Play) -> None:
    play.hosts({"first": UNWATCHED, "noisy": JUDGED, "last": UNWATCHED})
    book = play.folder / "benchmark.yml"
    book.write_text(book.read_text().replace("any_errors_fatal: false", "any_errors_fatal: true"))
    with hog():
        result = play.run()
    assert result.returncode == 2
    assert play.ran_on == set()
    assert (play.verdict("first"), play.verdict("noisy")) == ("stable", "unstable")


@pytest.mark.parametrize(("on_unknown", "ran_on"), [("stop", {"first"}), ("go", {"first", "unknown"})])
def test_an_unknown_host_is_stopped_unless_allowed(play: Play, on_unknown: str, ran_on: set[str]) -> None:
    play.hosts({"first": UNWATCHED, "unknown": unknown_machine(play.folder)}, noisewatch_on_unknown=on_unknown)
    result = play.run()
    assert play.ran_on == ran_on
    assert play.verdict("unknown") == "unknown"
    assert ("no such file (target-cpu-unusable)" in result.stdout) == (on_unknown == "stop")


def test_a_host_on_which_noisewatch_fails_is_stopped_even_if_unknown_is_allowed(play: Play) -> None:
    play.hosts({"first": UNWATCHED, "misspelt": "--no-such-option"}, noisewatch_on_unknown="go")
    result = play.run()
    assert result.returncode == 2
    assert "there is no option --no-such-option" in result.stdout
    assert play.ran_on == {"first"}


@pytest.mark.parametrize("options", [[], ["--check"]])
@pytest.mark.parametrize("changed", [{"noisewatch_options": "--no-such-option"}, _UNREACHABLE])
def test_a_host_that_cannot_be_judged_keeps_no_verdict_of_an_earlier_run(
    play: Play, run: Run, changed: dict[str, str], options: list[str]
) -> None:
    play.hosts({"first": UNWATCHED, "last": UNWATCHED})
    assert play.run().returncode == 0
    play.change("last", changed)
    assert play.run(*options).returncode != 0
    assert (play.verdict("first"), play.verdicts) == ("stable", {"first.json"})
    assert run("fleet", play.folder / "verdicts", "--expect", "first,last").status == 3


@pytest.mark.parametrize(("options", "ran_on"), [([], {"first"}), (["--check"], set())])
def test_the_program_is_installed_before_it_is_needed(play: Play, options: list[str], ran_on: set[str]) -> None:
    (play.folder / "noisewatch.pex").write_text(f'#!/bin/sh\nexec {PROGRAM} "$@"\n')
    installed = play.folder / "opt" / "noisewatch"
    source = str(play.folder / "noisewatch.pex")
    play.hosts({"first": UNWATCHED}, noisewatch_install=source, noisewatch_program=str(installed))
    assert play.run(*options).returncode == 0
    assert os.access(installed, os.X_OK)
    assert play.ran_on == ran_on


def test_check_mode_judges_and_keeps_the_verdict_but_runs_nothing(play: Play) -> None:
    play.hosts({"noisy": JUDGED})
    with hog() as process:
        result = play.run("--check")
    assert f"(pid {process.pid})" in result.stdout
    assert (result.returncode, play.ran_on, play.verdict("noisy")) == (2, set(), "unstable")


def test_an_invalid_on_unknown_is_rejected(play: Play) -> None:
    play.hosts({"first": UNWATCHED}, noisewatch_on_unknown="ignore")
    result = play.run()
    assert result.returncode == 2
    assert "noisewatch_on_unknown must be one of: stop, go" in result.stdout
