"""The service in a real systemd: its file, its behaviour on a locked machine, and its protection."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from noisewatch.integrations import integrations
from tests import CHECKOUT
from tests.fleet.engines import program
from tests.fleet.shipped import shipped_files
from tests.fleet.systemd.booted import run_in_systemd
from tests.live.noise import CPU
from tests.surfaces.running import NOISEWATCH

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("hog_cpu_free")]

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
    """Return the shipped units without default dependencies, which this systemd does not start."""
    return {**shipped_files("systemd", program), f"{_SERVICE}.d/test.conf": "[Unit]\nDefaultDependencies=no\n"}


def _noisewatch(folder: Path, first: str) -> str:
    """Write a noisewatch whose first start by the service runs these shell commands, and return its path."""
    path, mark = folder / "noisewatch", "$STATE_DIRECTORY/started"
    path.write_text(f'#!/bin/sh\n[ ! -e {mark} ] || exec {_HERE} "$@"\ntouch {mark}\n{first}\n')
    path.chmod(0o755)
    return str(path)


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for name, text in shipped_files("systemd", "/bin/true").items():
        (tmp_path / name).write_text(text)
    command = [program("systemd-analyze"), "verify", str(tmp_path / _SERVICE), str(tmp_path / _TIMER)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


def test_the_service_writes_the_verdict_and_keeps_a_history(tmp_path: Path) -> None:
    output = run_in_systemd(tmp_path, _units(), f"{_ONCE}cat {_FILE} /var/lib/noisewatch/history.jsonl\n")
    assert 'check="machine-locked",severity="blocking",status="pass"} 1.0' in output
    assert f'target="{CPU}"' in output
    assert "noisewatch_noise_floor_cv_ratio" in output
    assert '"kind":"calibration"' in output


def test_a_locked_machine_is_not_measured_and_the_file_reports_the_lock(tmp_path: Path) -> None:
    benchmark = f"sh -c '{_LOCKED}; touch /run/has-locked; exec sleep 600' &\n"
    waiting = "until [ -e /run/has-locked ]; do sleep 0.1; done\n"
    output = run_in_systemd(tmp_path, _units(), f"{benchmark}{waiting}{_ONCE}cat {_FILE}\n")
    assert 'check="machine-locked",severity="blocking",status="fail"} 1.0' in output
    assert "noisewatch_noise_floor" not in output


def test_a_machine_whose_lock_ends_after_the_lock_check_is_not_stable(tmp_path: Path) -> None:
    benchmark = f"sh -c '{_LOCKED}; touch /run/has-locked; exec sleep 600' &\necho $! >/run/benchmark\n"
    waiting = "until [ -e /run/has-locked ]; do sleep 0.1; done\n"
    units = _units(_noisewatch(tmp_path, f'{_HERE} "$@"\nended=$?\nkill $(cat /run/benchmark)\nexit $ended'))
    output = run_in_systemd(tmp_path, units, f"{benchmark}{waiting}{_ONCE}cat {_FILE}\n")
    assert 'check="machine-locked",severity="blocking",status="fail"} 1.0' in output
    assert 'noisewatch_verdict{verdict="stable"} 0.0' in output


@pytest.mark.parametrize("status", [1, 2, 127])
def test_a_failing_lock_check_leaves_the_file_unchanged(tmp_path: Path, status: int) -> None:
    units = _units(_noisewatch(tmp_path, f"exit {status}"))
    output = run_in_systemd(tmp_path, units, f"mkdir -p {_FOLDER}\necho before >{_FILE}\n{_ONCE}cat {_FILE}\n")
    assert output.splitlines()[0] == "before"


def test_the_override_of_the_page_writes_to_another_folder(tmp_path: Path) -> None:
    page = next(integration.page for integration in integrations() if integration.name == "systemd")
    drop_in = re.search(r"```ini\n(.*?)```", page, re.DOTALL)
    assert drop_in is not None
    units = {**_units(), f"{_SERVICE}.d/override.conf": drop_in[1].replace("/srv", "/run")}
    folders = f"rm -rf {_FOLDER}\nmkdir /run/metrics\n"
    output = run_in_systemd(tmp_path, units, f"{folders}{_START}cat /run/metrics/noisewatch.prom\n")
    assert 'check="machine-locked",severity="blocking",status="pass"} 1.0' in output


def test_a_noisewatch_that_fails_writes_nothing(tmp_path: Path) -> None:
    output = run_in_systemd(tmp_path, _units("/bin/false"), f"{_ONCE}ls {_FOLDER}\necho done\n")
    assert "noisewatch.prom" not in output
    assert "done" in output


def test_the_protection_of_the_service_hides_nothing(tmp_path: Path) -> None:
    settings = "--sample 0 --no-calibration --format prometheus"
    units = _units()
    units[_SERVICE] = units[_SERVICE].replace("--history --format prometheus", settings)
    ignored = units[_SERVICE].split("--ignore ")[1].split()[0]
    outside = f"cd /etc/noisewatch\n{_HERE} preflight --exit-zero {settings} --output /run/outside --ignore {ignored}\n"
    statuses = "for file in %s /run/outside; do grep finding_status $file | sort >/run/${file##*/}.statuses; done\n"
    comparison = "diff /run/outside.statuses /run/noisewatch.prom.statuses && echo the same\n"
    output = run_in_systemd(tmp_path, units, f"{_ONCE}{outside}{statuses % _FILE}{comparison}")
    assert "the same" in output.splitlines(), output
