"""Run the command line, and write machines and recordings for it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisewatch.kernel.calibration import QUESTION
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import QUESTION as TRACE
from noisewatch.machine import Json
from noisewatch.machine.recording.format import SAMPLE
from noisewatch.machine.recording.recorder import Recorder
from tests.written import Files, WrittenMachine, write_tree
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, quiet_files

SETTINGS = ("preflight", "--sample", "0", "--no-calibration")  # the settings alone, without any measurement
NOISEWATCH = (sys.executable, "-m", "noisewatch")


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished run."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The parsed standard output, which must be JSON without Infinity and NaN."""
        return parse_json(self.out)

    @property
    def words(self) -> str:
        """Standard output with all line breaks and columns as single blanks."""
        return " ".join(self.out.split())


Run = Callable[..., Ran]
_STABLE = written_calibration(seconds=3.0)


def parse_json(text: str) -> Any:
    """Parse JSON as RFC 8259 has it. Raise ValueError for NaN and infinities, which Python accepts."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not valid JSON")


def loaded_by(*arguments: str | Path) -> set[str]:
    """Return the names of all modules that a command line loads."""
    program = (
        "import sys\n"
        "from noisewatch.surfaces.cli import main\n"
        f"main({[str(argument) for argument in arguments]!r})\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    env = {key: value for key, value in os.environ.items() if key != "GITHUB_STEP_SUMMARY"}
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, env=env, text=True, check=True)
    return set(result.stderr.split())


def on_a_terminal(*arguments: str | Path, **environment: str) -> bytes:
    """Return what a command line writes to a terminal of its own with colours."""
    ours, theirs = pty.openpty()
    base = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    command = [*NOISEWATCH, *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=base | environment):
        os.close(theirs)
        output = b""
        while chunk := _read(ours):
            output += chunk
    os.close(ours)
    return output


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # EIO: the other side has been closed
        return b""


def quiet_tree(root: Path, changes: Mapping[str, str | None] | None = None, name: str = "copied") -> Path:
    """Copy the quiet machine below `root`, with some files changed and without those that are None.

    Unchanged files are links to a template next to `root`: writing a hundred files would take longer than a test.
    """
    template = root.parent / "template-of-quiet-tree"
    if not template.exists():
        write_tree(template, quiet_files())
    tree = root / name
    shutil.copytree(template, tree, copy_function=os.link)
    changes = changes or {}
    for path in changes:
        (tree / path.lstrip("/")).unlink(missing_ok=True)
    return write_tree(tree, {path: text for path, text in changes.items() if text is not None})


def changed(files: Files, changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the files with some texts changed, and without those that are None."""
    merged = {**files, **changes}
    return {path: text for path, text in merged.items() if text is not None}


def record(
    path: Path,
    *moments: Files,
    calibration: Json = _STABLE,
    trace: Json = None,
    calibrated_after: int | None = None,
    sampled_after: Collection[int] = (),
    asides: Mapping[str, Json] | None = None,
) -> Path:
    """Record a machine at these moments, as `noisewatch record` does, and return the path.

    The calibration and the trace follow the first `calibrated_after` moments, or all by default. A sample starts before
    each moment in `sampled_after`, as in `preflight`. `asides` are further questions with their answers.
    """
    answers = {**(asides or {}), QUESTION: calibration, TRACE: trace}
    measured = {question: answer for question, answer in answers.items() if answer is not None}
    machine = WrittenMachine(*moments, answers={**ANSWERS, **measured, SAMPLE: True})
    task_reader = TaskReader(asks_all_affinities=True)
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, interval_s=3.0)
        snapshot: Snapshot | None = None
        for number in range(len(moments)):
            if number:
                machine.advance()
            if number in sampled_after:
                recorder.ask(SAMPLE, lambda: True)
            snapshot = read_snapshot(recorder, SnapshotOptions(), task_reader, snapshot)
            if number + 1 == (calibrated_after or len(moments)):
                for question in measured:
                    recorder.ask(question, dict)
        recorder.close()
    return path
