"""A Slurm cluster on this host: munged, slurmctld, and two nodes with a slurmd each, with the shipped files.

`watched` judges the last CPU. `easy` is always stable, whatever else runs on this host, and has a higher weight: it
gets jobs only if `watched` takes none. No cgroups and no accounts; all files are in one folder.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.engines import POLL_INTERVAL_S, free_port, program, run_engine
from tests.fleet.hog import JUDGED, UNWATCHED
from tests.fleet.shipped import write_shipped
from tests.plumbing.waiting import wait_until

WATCHED, EASY = "watched", "easy"
_OPTIONS_BY_NODE = {WATCHED: JUDGED, EASY: UNWATCHED}
_WEIGHT_BY_NODE = {WATCHED: 1, EASY: 2}
_START_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster."""

    folder: Path

    def ask(self, command: str, *arguments: str) -> str:
        """Return the output of one of Slurm's commands. Raise AssertionError if it fails."""
        result = self._run(command, *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def is_up(self) -> bool:
        """Return whether both nodes have registered."""
        states = self._run("sinfo", "-h", "-N", "-o", "%T").stdout.split()
        return len(states) == len(_OPTIONS_BY_NODE) and {"idle", "drained"}.issuperset(states)

    def state(self, node: str) -> str:
        """Return the state of the node, such as `IDLE+DRAIN`."""
        return _field(r"^ *State=(\S*)", self.ask("scontrol", "show", "node", node))

    def reason(self, node: str) -> str:
        """Return why the node is drained, without the user that drained it."""
        return _field(r"^ *Reason=(.*) \[", self.ask("scontrol", "show", "node", node))

    def is_in_service(self, node: str) -> bool:
        """Return whether the node takes jobs."""
        return self.state(node) in ("IDLE", "MIXED", "ALLOCATED")

    def update(self, node: str, *changes: str) -> None:
        """Change the node with `scontrol update`, as an administrator would."""
        self.ask("scontrol", "update", f"NodeName={node}", *changes)

    def allow_updates(self, *, is_allowed: bool) -> None:
        """Let the updates of our scripts reach Slurm, or fail; their queries always succeed."""
        mark = self.folder / "deaf"
        if is_allowed:
            mark.unlink()
        else:
            mark.touch()

    def health_checks(self, node: str) -> int:
        """Return the number of finished health checks of a node."""
        return (self.folder / f"slurmd-{node}.log").read_text().count("health_check success")

    def job(self, number: str, field: str) -> str:
        """Return a field of a job, such as its JobState."""
        return _field(rf"\b{field}=(\S*)", self.ask("scontrol", "show", "job", number))

    def submit(self, script: str, *options: str) -> str:
        """Submit a job, and return its number."""
        return self.ask("sbatch", "--parsable", "--output=job-%j", *options, f"--wrap={script}").strip()

    def output_of(self, job: str) -> str:
        """Return the output of a job so far."""
        output = self.folder / f"job-{job}"
        return output.read_text() if output.exists() else ""

    def _run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        return subprocess.run(
            [program(command), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.folder,
            check=False,
        )


def _field(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else ""


@contextmanager
def running_cluster(folder: Path, checks_every_s: int) -> Iterator[Cluster]:
    """Run a cluster, and yield it when both nodes have registered."""
    daemons = {name: program(name) for name in ("munged", "slurmctld", "slurmd", "scontrol")}
    _write(folder, checks_every_s)
    with ExitStack() as engines:
        munged = [daemons["munged"], "--foreground", "--force", *_munge_files(folder)]
        engines.enter_context(run_engine(munged, folder / "munged.log"))
        wait_until((folder / "munge.socket").exists, _START_TIMEOUT_S)
        configuration = ["-D", "-f", str(folder / "slurm.conf")]
        engines.enter_context(run_engine([daemons["slurmctld"], *configuration], folder / "slurmctld.out"))
        for node in _OPTIONS_BY_NODE:
            engines.enter_context(run_engine([daemons["slurmd"], *configuration, "-N", node], folder / f"{node}.out"))
        cluster = Cluster(folder)
        wait_until(cluster.is_up, _START_TIMEOUT_S, POLL_INTERVAL_S)
        yield cluster


def _munge_files(folder: Path) -> list[str]:
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    names = {"key": "munge.key", "socket": "munge.socket", "pid": "munge.pid", "log": "munge.log", "seed": "munge.seed"}
    options = {kind: "--socket" if kind == "socket" else f"--{kind}-file" for kind in names}
    return [f"{options[kind]}={folder / name}" for kind, name in names.items()]


def _write(folder: Path, checks_every_s: int) -> None:
    """Write the shipped files, with changed paths, settings and interval of health checks."""
    scripts = write_shipped("slurm", folder / "noisewatch")
    with (scripts / "noisewatch-settings").open("a") as settings:
        settings.write(_settings(folder))
    _write_scontrol(folder / "bin")
    lines = (scripts / "slurm.conf.lines").read_text()
    lines = lines.replace("/etc/slurm/noisewatch", str(scripts)).replace("Interval=300", f"Interval={checks_every_s}")
    (folder / "slurm.conf").write_text(_configuration(folder) + lines)


def _settings(folder: Path) -> str:
    cases = "\n".join(f"    {node}) options='{options}' ;;" for node, options in _OPTIONS_BY_NODE.items())
    marks = f"lock={folder}/$node.lock kept={folder}/$node.kept"
    finds = f"PATH={folder}/bin:$PATH\nexport SLURM_CONF={folder}/slurm.conf"
    return f"{finds}\n{marks}\ncase $SLURMD_NODENAME in\n{cases}\nesac\n"


def _write_scontrol(place: Path) -> None:
    """Write the `scontrol` that the shipped scripts call: if the file `deaf` exists, it refuses all but `show`."""
    place.mkdir()
    mark = place.parent / "deaf"
    fails = f'[ "$1" = show ] || [ ! -e {mark} ] || exit 1'
    (place / "scontrol").write_text(f'#!/bin/sh\n{fails}\nexec {program("scontrol")} "$@"\n')
    (place / "scontrol").chmod(0o755)


def _configuration(folder: Path) -> str:
    host = socket.gethostname().partition(".")[0]
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} Weight={weight} Features=quiet"
        for node, weight in _WEIGHT_BY_NODE.items()
    )
    return f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket,cred_expire=8
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmdDebug=debug2
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=5
"""
