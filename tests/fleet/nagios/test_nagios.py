"""The files for Nagios, in a real Nagios: a service is CRITICAL while a hog runs, names it, and recovers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.engines import POLL_INTERVAL_S, program, run_engine
from tests.fleet.hog import JUDGED, hog
from tests.fleet.shipped import write_shipped
from tests.plumbing.waiting import wait_until

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("hog_cpu_free")]

_OK, _WARNING, _CRITICAL, _UNKNOWN = "0", "1", "2", "3"
_SOFT, _HARD = "0", "1"
_TIMEOUT_S = 120.0  # takes half a minute on an idle host
# One second stands for a minute; the rest is the minimum with which Nagios starts.
_NAGIOS = """
log_file={0}/nagios.log
cfg_file={0}/files/noisewatch.cfg
cfg_file={0}/objects.cfg
object_cache_file={0}/objects.cache
status_file={0}/status.dat
lock_file={0}/nagios.pid
temp_file={0}/nagios.tmp
temp_path={0}
check_result_path={0}
query_socket={0}/nagios.qh
nagios_user=root
nagios_group=root
use_syslog=0
check_external_commands=0
execute_host_checks=0
enable_notifications=0
check_for_updates=0
status_update_interval=1
check_result_reaper_frequency=1
interval_length=1
"""
_OBJECTS = """
define timeperiod {{
    timeperiod_name always
    alias always
    monday 00:00-24:00
    tuesday 00:00-24:00
    wednesday 00:00-24:00
    thursday 00:00-24:00
    friday 00:00-24:00
    saturday 00:00-24:00
    sunday 00:00-24:00
}}
define contact {{
    contact_name nobody
    service_notifications_enabled 0
    host_notifications_enabled 0
    service_notification_period always
    host_notification_period always
    service_notification_commands check_noisewatch
    host_notification_commands check_noisewatch
}}
define host {{
    host_name here
    address 127.0.0.1
    max_check_attempts 1
    contacts nobody
}}
define service {{
    name generic-service
    register 0
    check_period always
    contacts nobody
}}
define service {{
    use noisewatch-service
    host_name here
    check_command check_noisewatch!{judged}
    check_interval 3
}}
define service {{
    use noisewatch-service
    host_name here
    service_description misspelt
    check_command check_noisewatch!--no-such-option
}}
"""


@pytest.fixture
def nagios(tmp_path: Path) -> Iterator[Path]:
    """Run Nagios, and yield the file with the state of its services."""
    server = program("nagios4")
    commands = write_shipped("nagios", tmp_path / "files") / "noisewatch.cfg"
    commands.write_text(commands.read_text().replace("/etc/noisewatch", str(commands.parent)))
    (tmp_path / "nagios.cfg").write_text(_NAGIOS.format(tmp_path))
    (tmp_path / "objects.cfg").write_text(_OBJECTS.format(judged=JUDGED))
    with run_engine([server, str(tmp_path / "nagios.cfg")], tmp_path / "nagios.out"):
        yield tmp_path / "status.dat"


def _service(status: Path, name: str) -> dict[str, str]:
    """Return the fields of a service, empty before its first check."""
    if not status.exists():
        return {}
    for block in re.findall(r"^servicestatus \{\n(.*?)^\t\}", status.read_text(), re.MULTILINE | re.DOTALL):
        fields = dict(line.strip().split("=", 1) for line in block.splitlines() if "=" in line)
        if fields["service_description"] == name and fields["has_been_checked"] == "1":
            return fields
    return {}


def test_a_service_is_critical_while_a_hog_runs_and_recovers(nagios: Path) -> None:
    def state() -> str | None:
        return _service(nagios, "noisewatch").get("current_state")

    with hog() as process:
        wait_until(lambda: state() == _CRITICAL, _TIMEOUT_S, POLL_INTERVAL_S)
        service = _service(nagios, "noisewatch")
        assert "NOISEWATCH CRITICAL: 1 block" in service["plugin_output"]
        assert f"(pid {process.pid})" in service["long_plugin_output"]
        assert "'tasks-on-target'=" in service["performance_data"]
        wait_until(lambda: _service(nagios, "noisewatch").get("state_type") == _HARD, _TIMEOUT_S, POLL_INTERVAL_S)
    wait_until(
        lambda: state() in (_OK, _WARNING), _TIMEOUT_S, POLL_INTERVAL_S
    )  # a warning if the scheduler may run other tasks there


def test_a_misspelt_option_is_unknown(nagios: Path) -> None:
    wait_until(lambda: _service(nagios, "misspelt").get("current_state") == _UNKNOWN, _TIMEOUT_S, POLL_INTERVAL_S)
    assert "--no-such-option" in _service(nagios, "misspelt")["plugin_output"]
