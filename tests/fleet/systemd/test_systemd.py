"""The service in a real systemd: what it writes, that it is skipped while the machine is locked, and what it sees."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from noisewatch.integrations import integrations
from tests import CHECKOUT
from tests.fleet.engines import program
from tests.fleet.shipped import shipped
from tests.fleet.systemd.booted import run_in_systemd
from tests.live.noise import CPU
from tests.surfaces.running import NOISEWATCH

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("aside")]

_SERVICE, _TIMER = "noisewatch-check.service", "noisewatch-check.timer"
_HERE = shlex.join(("/usr/bin/env", f"PYTHONPATH={CHECKOUT}", *NOISEWATCH))
_FOLDER = "/var/lib/prometheus/node-exporter"
_FILE = f"{_FOLDER}/noisewatch.prom"
_LOCKED = f"{_HERE} preflight --no-config --select machine-locked --sample 0 --no-calibration --lock --output /dev/null"
_START = f"""
mkdir -p /etc/noisewatch
echo 'cpus = "{CPU}"' >/etc/noisewatch/noisewatch.toml
systemctl start {_SERVICE}
"""
_ONCE = f"mkdir -p {_FOLDER}\n{_START}"


def _units(program: str = _HERE) -> dict[str, str]:
    """The shipped ones; this systemd has started nothing that others wait for."""
    return {**shipped("systemd", program), f"{_SERVICE}.d/test.conf": "[Unit]\nDefaultDependencies=no\n"}


def _noisewatch(folder: Path, first: str) -> str:
    """One that does these commands of a shell when the service starts it first, and from then on what it should."""
    place, mark = folder / "noisewatch", "$STATE_DIRECTORY/started"
    place.write_text(f'#!/bin/sh\n[ ! -e {mark} ] || exec {_HERE} "$@"\ntouch {mark}\n{first}\n')
    place.chmod(0o755)
    return str(place)


def test_the_units_are_what_systemd_accepts(tmp_path: Path) -> None:
    for name, text in shipped("systemd", "/bin/true").items():
        (tmp_path / name).write_text(text)
    command = [program("systemd-analyze"), "verify", str(tmp_path / _SERVICE), str(tmp_path / _TIMER)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_the_service_writes_the_verdict_and_keeps_a_history(tmp_path: Path) -> None:
    told = run_in_systemd(tmp_path, _units(), f"{_ONCE}cat {_FILE} /var/lib/noisewatch/history.jsonl\n")
    assert 'check="machine-locked",severity="blocking",status="pass"} 1.0' in told
    assert f'target="{CPU}"' in told
    assert "noisewatch_noise_floor_cv_ratio" in told
    assert '"kind":"calibration"' in told


def test_while_a_benchmark_has_the_machine_nothing_is_measured_and_the_file_says_so(tmp_path: Path) -> None:
    benchmark = f"sh -c '{_LOCKED}; touch /run/has-locked; exec sleep 600' &\n"
    waiting = "until [ -e /run/has-locked ]; do sleep 0.1; done\n"
    told = run_in_systemd(tmp_path, _units(), f"{benchmark}{waiting}{_ONCE}cat {_FILE}\n")
    assert 'check="machine-locked",severity="blocking",status="fail"} 1.0' in told
    assert "noisewatch_noise_floor" not in told


def test_a_benchmark_that_ends_after_that_look_makes_no_machine_stable_that_was_not_measured(tmp_path: Path) -> None:
    benchmark = f"sh -c '{_LOCKED}; touch /run/has-locked; exec sleep 600' &\necho $! >/run/benchmark\n"
    waiting = "until [ -e /run/has-locked ]; do sleep 0.1; done\n"
    units = _units(_noisewatch(tmp_path, f'{_HERE} "$@"\nended=$?\nkill $(cat /run/benchmark)\nexit $ended'))
    told = run_in_systemd(tmp_path, units, f"{benchmark}{waiting}{_ONCE}cat {_FILE}\n")
    assert 'check="machine-locked",severity="blocking",status="fail"} 1.0' in told
    assert 'noisewatch_verdict{verdict="stable"} 0.0' in told


@pytest.mark.parametrize("status", [1, 2, 127])
def test_a_look_at_the_lock_that_fails_leaves_the_file_as_it_was(tmp_path: Path, status: int) -> None:
    units = _units(_noisewatch(tmp_path, f"exit {status}"))
    told = run_in_systemd(tmp_path, units, f"mkdir -p {_FOLDER}\necho before >{_FILE}\n{_ONCE}cat {_FILE}\n")
    assert told.splitlines()[0] == "before"


def test_a_collector_may_read_another_folder_where_the_usual_one_is_not(tmp_path: Path) -> None:
    page = next(each.page for each in integrations() if each.name == "systemd")
    drop_in = re.search(r"```ini\n(.*?)```", page, re.DOTALL)
    assert drop_in is not None
    units = {**_units(), f"{_SERVICE}.d/override.conf": drop_in[1].replace("/srv", "/run")}
    folders = f"rm -rf {_FOLDER}\nmkdir /run/metrics\n"
    told = run_in_systemd(tmp_path, units, f"{folders}{_START}cat /run/metrics/noisewatch.prom\n")
    assert 'check="machine-locked",severity="blocking",status="pass"} 1.0' in told


def test_a_noisewatch_that_fails_writes_nothing(tmp_path: Path) -> None:
    told = run_in_systemd(tmp_path, _units("/bin/false"), f"{_ONCE}ls {_FOLDER}\necho done\n")
    assert "noisewatch.prom" not in told
    assert "done" in told


def test_what_the_service_is_protected_by_hides_nothing(tmp_path: Path) -> None:
    settings = "--sample 0 --no-calibration --format prometheus"
    units = _units()
    units[_SERVICE] = units[_SERVICE].replace("--history --format prometheus", settings)
    ignored = units[_SERVICE].split("--ignore ")[1].split()[0]
    outside = f"cd /etc/noisewatch\n{_HERE} preflight --exit-zero {settings} --output /run/outside --ignore {ignored}\n"
    statuses = "for each in %s /run/outside; do grep finding_status $each | sort >/run/${each##*/}.statuses; done\n"
    compared = "diff /run/outside.statuses /run/noisewatch.prom.statuses && echo the same\n"
    told = run_in_systemd(tmp_path, units, f"{_ONCE}{outside}{statuses % _FILE}{compared}")
    assert "the same" in told.splitlines(), told
