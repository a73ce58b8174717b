"""`preflight --lock` of this host with the lock in another file: `python -m tests.surfaces.cli.locking FILE OPTION…`.

Print the verdict and the answer of the lock's check, which alone is selected, so that no other check decides.
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

_COMMAND = ("preflight", "--no-config", "--no-calibration", "--sample", "0", "--select", "machine-locked", "--lock")


class LockedElsewhere(LiveMachine):
    """This host with another lock file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def read_bytes(self, path: str) -> bytes:
        return super().read_bytes(self._path if path == PATH else path)


def main() -> int:
    """Print the verdict and return its exit status."""
    path, *options = sys.argv[1:]
    arguments = parse_arguments([*_COMMAND, *options])
    machine = LockedElsewhere(path)
    lock = Lock(machine, path)
    verdict = preflight(machine, preflight_options(arguments), TerminalListener(), lock).verdict
    (finding,) = [finding for finding in verdict.findings if finding.check.id == "machine-locked"]
    print(f"{verdict.verdict}: {finding.answer.reason or finding.answer.said}", flush=True)
    return FORMATS["text"].exit_status(verdict, on_unknown=status_if_unknown(arguments, lock))


if __name__ == "__main__":
    raise SystemExit(main())
