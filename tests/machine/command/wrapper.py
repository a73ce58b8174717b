"""A program that only runs another: `python -m tests.machine.command.wrapper OPTIONS COMMAND …`, for the tests.

OPTIONS are JSON: the other fields of the plan, `own_cpus` to pin the wrapper to, `core`, `runs`, `has_read` to
read a snapshot of this host first, which leaves a thread, and the files
`report` (JSON, a line for each run) and `begun` (a line with the PID of each command when it starts).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn

import msgspec

from noisewatch.errors import CannotStart
from noisewatch.machine.command import load_launching
from noisewatch.machine.command.ending import EndedCommand, end_as
from noisewatch.machine.command.python_launching import INHERITED_LAYOUT
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan, CommandUser, inherited_state


def main() -> NoReturn:
    """Run the command `runs` times, and end like the last run."""
    options = json.loads(sys.argv[1])
    inherited, last = inherited_state(), None
    if "own_cpus" in options:
        os.sched_setaffinity(0, options["own_cpus"])
    if options.get("has_read"):
        # Imported here, as it takes longer than everything else in a wrapper.
        from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
        from noisewatch.machine.live import LiveMachine

        read_snapshot(LiveMachine(), SnapshotOptions(allowed_at_start=inherited.cpus))
    with Commands(inherited, load_launching(options["core"])) as commands:
        for _ in range(options.get("runs", 1)):
            try:
                command = commands.start(_plan(options))
            except CannotStart as error:
                print(error, file=sys.stderr)
                sys.exit(error.status)
            _write_line(options, "begun", command.pid)
            last = command.wait()
            assert last is not None
            more = {"began_ns": command.began_ns, "asked": commands.asked_to_end}
            _write_line(options, "report", _report(last) | more)
            if commands.asked_to_end is not None:
                break
    assert last is not None
    end_as(last)


def _plan(options: dict[str, Any]) -> CommandPlan:
    sets = {name: frozenset(options[name]) for name in ("cpus", "memory_nodes") if name in options}
    uid, gid, groups = options.get("user", (None, None, ()))
    return CommandPlan(
        argv=tuple(sys.argv[2:]),
        cgroup=options.get("cgroup"),
        is_quiet=options.get("is_quiet", False),
        layout=options.get("layout", INHERITED_LAYOUT),
        variables=tuple(map(str.encode, options.get("variables", ()))),
        user=CommandUser(uid, gid, tuple(groups)) if uid is not None else None,
        **sets,
    )


def _report(command: EndedCommand) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(command)
    return fields | {"left_pids": sorted(command.left_pids or ())}


def _write_line(options: dict[str, Any], name: str, value: object) -> None:
    if name in options:
        with open(options[name], "a") as file:
            file.write(json.dumps(value, default=sorted) + "\n")  # sets are no JSON


if __name__ == "__main__":
    main()
