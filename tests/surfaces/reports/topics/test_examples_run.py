"""The examples of the pages and of the README are run, on this host, in shorter and smaller variants of themselves.

Programs that are not installed are skipped, and so are tools that start noisewatch themselves, such as `go test`: they
need projects of their own. Exit status 2 is an error of noisewatch, and so are those from 125 on for `run`.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from noisewatch.surfaces.reports.topics import TOPICS
from noisewatch.surfaces.reports.topics.report import read_page
from tests import CHECKOUT
from tests.surfaces.running import quiet_tree

pytestmark = pytest.mark.slow

_MAX_S = 300
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INSTALLS = re.compile(r"pipx? install|make benchmark|python3 -m venv")
_STARTS = re.compile(r"noisewatch |(?:for|numactl|sudo|taskset) .*noisewatch\b")
_CPU = max(os.sched_getaffinity(0))
_SMALLER = (
    (r"--cpus \S+", f"--cpus {_CPU}"),
    (r"--against \d+-\d+", f"--against {min(os.sched_getaffinity(0))}"),
    (r"--duration \d+", "--duration 1"),
    (r"--wait \d+", "--wait 1"),
    (r"--runs \d+", "--runs 3"),
    (r"--retry \d+", "--retry 1"),
    (r"--at \d+ ", "--at 1 "),
    (r"--from \d+ --to \d+", "--from 0 --to 2"),
    (r"\bplan \d", "plan 1"),
    (r"taskset -c \d", f"taskset -c {_CPU}"),
    (r"/etc/slurm", "slurm"),
    (r'"\$\(command -v noisewatch\)"', "noisewatch"),
    (r"^sudo ", ""),  # without root, a message is printed instead of a trace
    (r" …", ""),
    (r" \|\| exit 1$", ""),  # it would hide the status
    (r"\btune (--yes )?(?=--cpus|--until-exit|--measure)", "tune --dry-run "),  # a test does not tune its host
    (r"--(tune|reserve) --as-user ", ""),
    (r"\brestore$", "restore --dry-run"),
    (r"--history\b", "--history=history.jsonl"),  # root's own history is the machine's
    (r"\bnoisewatch history", "noisewatch history --file history.jsonl"),
)


def _lines(text: str) -> Iterator[str]:
    """Yield the commands of all blocks of code that run noisewatch."""
    for language, block in _BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"^\s*- (run: )?", "", line) if language == "yaml" else line
            if _STARTS.match(command) and not _INSTALLS.search(command):
                yield command.strip()


_TEXTS = [*map(read_page, TOPICS), (CHECKOUT / "README.md").read_text()]
_EXAMPLES = tuple(dict.fromkeys(re.sub(r"\s+#.*", "", line) for text in _TEXTS for line in _lines(text)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the examples read: a benchmark, recordings, verdicts, names of hosts."""
    folder = tmp_path_factory.mktemp("examples")
    for program in ("benchmark", "bench", "old", "new"):
        (folder / program).write_text("#!/bin/sh\ni=0; while [ $i -lt 3000 ]; do i=$((i+1)); done\n")
        (folder / program).chmod(0o755)
    quiet_tree(folder, name="copied-tree")
    (folder / "hosts.txt").write_text("web1\n")
    for name in ("verdicts", "today", "yesterday"):
        (folder / name).mkdir()
    assert _run(folder, "noisewatch record noise.nw --duration 3") == 0
    shutil.copy(folder / "noise.nw", folder / "run.nw")
    assert _run(folder, f"noisewatch preflight --cpus {_CPU} --identify --format json --output now.json") in (0, 1, 3)
    for name in ("before.json", "after.json", "golden.json", "verdicts/web1.json", "today/a.json", "yesterday/a.json"):
        shutil.copy(folder / "now.json", folder / name)
    for name in ("fast-host.nw", "slow-host.nw"):
        assert _run(folder, f"noisewatch preflight --cpus {_CPU} --sample 1 --record {name}") in (0, 1, 3)
    assert _run(folder, "noisewatch show --format machine --output machine.toml") == 0
    assert _run(folder, f"noisewatch preflight --cpus {_CPU} --sample 1 --history=history.jsonl") in (0, 1, 3)
    return folder


def _environment(folder: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "seed": "1"}


def _run(folder: Path, line: str) -> int:
    """Run a line of shell, and return its exit status. An output with a traceback fails."""
    result = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        timeout=_MAX_S,
        check=False,
    )
    assert "Traceback" not in result.stdout + result.stderr, result.stderr
    assert result.returncode not in (2, 125, 126, 127), result.stderr
    return result.returncode


def _watch(folder: Path, line: str) -> int:
    """Run the monitor in a terminal, quit it by its key as soon as it has drawn, and return its exit status."""
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execvpe(
            "sh", ["sh", "-c", f"stty cols 120 rows 34; exec {line}"], _environment(folder) | {"TERM": "xterm-256color"}
        )
    end_s = time.monotonic() + _MAX_S
    drawn = b""
    quit_at_s = None
    while time.monotonic() < end_s:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                drawn += os.read(terminal, 65536)
            except OSError:  # EIO: it has exited
                break
        if quit_at_s is None and b"CPU" in drawn:
            quit_at_s = time.monotonic() + 2.0
        if quit_at_s is not None and time.monotonic() > quit_at_s:
            os.write(terminal, b"q")
            quit_at_s += 1.0
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(terminal)
    assert b"Traceback" not in drawn
    return status


def _device() -> str:
    """Return the name of a network card or disk that has a device, and "" without one."""
    names = [*psutil.net_if_addrs(), *os.listdir("/sys/block")]
    classes = ("/sys/class/net", "/sys/block")
    return next((name for name in names for folder in classes if Path(folder, name, "device").exists()), "")


@pytest.mark.parametrize("example", _EXAMPLES)
def test_example_of_a_page_runs(folder: Path, example: str) -> None:
    line = example
    for pattern, smaller in _SMALLER:
        line = re.sub(pattern, smaller, line)
    line = line.replace("eth0", _device())
    line = re.sub(r"\./bench-\$seed", "./bench", line)
    shell = re.sub(r"'[^']*'", "''", line)
    programs = [part.split()[0] for part in re.split(r" (?:&&|\|\|?) |; | -- ", shell)]
    path = _environment(folder)["PATH"]
    missing = {
        program for program in programs if not re.match(r"exit|\.", program) and not shutil.which(program, path=path)
    }
    if missing or ("--near" in line and not _device()):
        pytest.skip(f"not on this host: {', '.join(missing) or 'a device'}")
    if re.match(r"noisewatch( --|$)", line):
        assert _watch(folder, line) == 0
    else:
        _run(folder, line)


def test_the_pages_have_examples() -> None:
    assert len(_EXAMPLES) >= 50
