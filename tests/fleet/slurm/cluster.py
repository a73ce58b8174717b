"""A cluster of two nodes on this host, munged, slurmctld and a slurmd for each, with the files that we ship.

`watched` judges the last CPU. `easy` asks nothing of the first one, so that others on this host do not matter there;
jobs go to it only where `watched` takes none. No cgroups, no accounts; one folder, and free ports of the loopback.
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

from tests.fleet.engines import ASKS_EVERY_S, free_port, program, started
from tests.fleet.hog import JUDGED, UNWATCHED
from tests.fleet.shipped import write_shipped
from tests.plumbing.waiting import wait_until

WATCHED, EASY = "watched", "easy"
_OPTIONS_BY_NODE = {WATCHED: JUDGED, EASY: UNWATCHED}
_WEIGHT_BY_NODE = {WATCHED: 1, EASY: 2}
_STARTS_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running one."""

    folder: Path

    def ask(self, command: str, *arguments: str) -> str:
        """What one of Slurm's commands prints; an AssertionError where it fails."""
        ran = self._run(command, *arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def is_up(self) -> bool:
        """Whether both nodes have registered."""
        states = self._run("sinfo", "-h", "-N", "-o", "%T").stdout.split()
        return len(states) == len(_OPTIONS_BY_NODE) and {"idle", "drained"}.issuperset(states)

    def state(self, node: str) -> str:
        """Return the state of the node, such as `IDLE+DRAIN`."""
        return _field(r"^ *State=(\S*)", self.ask("scontrol", "show", "node", node))

    def reason(self, node: str) -> str:
        """Why it is drained, without who says so."""
        return _field(r"^ *Reason=(.*) \[", self.ask("scontrol", "show", "node", node))

    def is_in_service(self, node: str) -> bool:
        """Whether it takes jobs."""
        return self.state(node) in ("IDLE", "MIXED", "ALLOCATED")

    def update(self, node: str, *changes: str) -> None:
        """Change the node with `scontrol update`, as an administrator would."""
        self.ask("scontrol", "update", f"NodeName={node}", *changes)

    def takes_orders(self, *, of_ours: bool) -> None:
        """Whether what our scripts tell Slurm reaches it; what they ask always does."""
        mark = self.folder / "deaf"
        if of_ours:
            mark.unlink()
        else:
            mark.touch()

    def health_checks(self, node: str) -> int:
        """How many have ended there."""
        return (self.folder / f"slurmd-{node}.log").read_text().count("health_check success")

    def job(self, number: str, field: str) -> str:
        """A field of a job, such as its JobState."""
        return _field(rf"\b{field}=(\S*)", self.ask("scontrol", "show", "job", number))

    def submit(self, script: str, *options: str) -> str:
        """The number of the job."""
        return self.ask("sbatch", "--parsable", "--output=job-%j", *options, f"--wrap={script}").strip()

    def printed_by(self, job: str) -> str:
        """What the job has printed so far."""
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
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else ""


@contextmanager
def running_cluster(folder: Path, checks_every_s: int) -> Iterator[Cluster]:
    """Starts it, and returns when both nodes have registered."""
    daemons = {name: program(name) for name in ("munged", "slurmctld", "slurmd", "scontrol")}
    _write(folder, checks_every_s)
    with ExitStack() as engines:
        munged = [daemons["munged"], "--foreground", "--force", *_munge_files(folder)]
        engines.enter_context(started(munged, folder / "munged.log"))
        wait_until((folder / "munge.socket").exists, _STARTS_WITHIN_S)
        configuration = ["-D", "-f", str(folder / "slurm.conf")]
        engines.enter_context(started([daemons["slurmctld"], *configuration], folder / "slurmctld.out"))
        for node in _OPTIONS_BY_NODE:
            engines.enter_context(started([daemons["slurmd"], *configuration, "-N", node], folder / f"{node}.out"))
        cluster = Cluster(folder)
        wait_until(cluster.is_up, _STARTS_WITHIN_S, ASKS_EVERY_S)
        yield cluster


def _munge_files(folder: Path) -> list[str]:
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    names = {"key": "munge.key", "socket": "munge.socket", "pid": "munge.pid", "log": "munge.log", "seed": "munge.seed"}
    options = {kind: "--socket" if kind == "socket" else f"--{kind}-file" for kind in names}
    return [f"{options[kind]}={folder / name}" for kind, name in names.items()]


def _write(folder: Path, checks_every_s: int) -> None:
    """What ships, as it is but for its place, its settings, and how long Slurm waits from one check to the next."""
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
