"""A separate systemd, as PID 1 of its own namespaces, with layers above /etc and /var/lib, and a /run of its own."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tests.fleet.engines import program

_NAMESPACES = ("--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--mount-proc")
_TIMEOUT_S = 120.0
_LAYERED = ("/etc", "/var/lib")
# Starts only what the script needs: no device manager, no journal.
_BOOT = """
set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/lock /run/systemd/system /run/layers
for folder in {layered}; do
    mkdir -p /run/layers$folder/upper /run/layers$folder/work
    mount -t overlay -o lowerdir=$folder,upperdir=/run/layers$folder/upper,workdir=/run/layers$folder/work none $folder
done
cp -r {units}/. /run/systemd/system/
cd /lib/systemd/system
for unit in *journald*.socket *journald*.service *udev*.s* systemd-tmpfiles-setup*.service; do
    ln -sf /dev/null /run/systemd/system/$unit
done
exec env container=test {systemd} --system --unit=script.target --log-target=console
"""
_TARGET = """
[Unit]
DefaultDependencies=no
Wants=script.service
"""
_SCRIPT = """
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh -e {script}
ExecStopPost=/bin/systemctl --force --force poweroff
StandardOutput=append:{out}
StandardError=append:{out}
"""


def run_in_systemd(folder: Path, unit_by_name: dict[str, str], script: str) -> str:
    """Boot with these units, run a shell script, power off, and return the output of the script."""
    units, out = folder / "units", folder / "out"
    for name, text in {**unit_by_name, "script.target": _TARGET}.items():
        (units / name).parent.mkdir(parents=True, exist_ok=True)
        (units / name).write_text(text)
    (folder / "script").write_text(script)
    (units / "script.service").write_text(_SCRIPT.format(script=folder / "script", out=out))
    systemd = program("systemctl").replace("bin/systemctl", "lib/systemd/systemd")
    boot = _BOOT.format(layered=shlex.join(_LAYERED), units=shlex.quote(str(units)), systemd=systemd)
    (folder / "boot").write_text(boot)
    command = [program("unshare"), *_NAMESPACES, "/bin/sh", str(folder / "boot")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            process.wait(_TIMEOUT_S)
        finally:
            process.kill()  # this ends the systemd too
            process.wait()
    return out.read_text() if out.exists() else ""
