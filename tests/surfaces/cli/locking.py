"""`preflight --lock` of this host with the lock in another file: `python -m tests.surfaces.cli.locking FILE OPTION…`.

Prints the verdict and what the check says. Nothing else is asked, so that nothing else decides.
"""

from __future__ import annotations

import sys

from noisewatch.kernel.tasks.machine_lock import PATH
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.lock import Lock
from noisewatch.operations.preflight import preflight
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.commands.preflight import preflight_options, status_if_unknown
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.reports.verdict.formats import FORMATS

_ASKED = ("preflight", "--no-config", "--no-calibration", "--sample", "0", "--select", "machine-locked", "--lock")


class LockedElsewhere(LiveMachine):
    """This host, whose lock is another file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def read_bytes(self, path: str) -> bytes:
        return super().read_bytes(self._path if path == PATH else path)


def main() -> int:
    """The exit status is the verdict's."""
    path, *options = sys.argv[1:]
    arguments = parse_arguments([*_ASKED, *options])
    machine = LockedElsewhere(path)
    lock = Lock(machine, path)
    verdict = preflight(machine, preflight_options(arguments), TerminalListener(), lock).verdict
    (found,) = [each for each in verdict.findings if each.check.id == "machine-locked"]
    print(f"{verdict.verdict}: {found.answer.reason or found.answer.said}", flush=True)
    return FORMATS["text"].exit_status(verdict, on_unknown=status_if_unknown(arguments, lock))


if __name__ == "__main__":
    raise SystemExit(main())
