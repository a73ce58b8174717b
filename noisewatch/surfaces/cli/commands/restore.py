"""The command `noisewatch restore`."""

from __future__ import annotations

from argparse import Namespace

from noisewatch.errors import UsageError
from noisewatch.operations.tuning.defaults import preview_defaults, set_defaults
from noisewatch.operations.tuning.tune import (
    Restoring,
    failed,
    has_journal,
    read_tuning,
    require_no_changes,
    restore_host,
)
from noisewatch.program import is_root
from noisewatch.surfaces.cli.tuning import print_report, require_root
from noisewatch.surfaces.reports.tuning.text import text_of_defaults, text_of_restoring


def run(arguments: Namespace) -> int:
    """Restore what tune has changed.

    Return 3 if a setting was not restored: the kernel refused it, another program has changed it, its CPU is offline,
    or the journal does not contain it.
    """
    if arguments.to_defaults:
        return _restore_defaults(arguments)
    if arguments.yes:
        raise UsageError("--yes is only for --to-defaults; restore alone asks no question")
    if has_journal():
        require_root("restore", ["restore"] + ["--dry-run"] * arguments.dry_run + ["--force"] * arguments.force)
    if arguments.dry_run:
        status = read_tuning(arguments.force)
        print_report(text_of_restoring(Restoring(status.changes, status.loss), is_preview=True), arguments.color)
        return 0
    restoring = restore_host(arguments.force)
    print_report(text_of_restoring(restoring), arguments.color)
    return 0 if restoring.is_complete else 3


def _restore_defaults(arguments: Namespace) -> int:
    if arguments.force:
        raise UsageError("--force needs the journal, and --to-defaults is for a lost journal; use one or the other")
    is_preview = arguments.dry_run or not arguments.yes
    if not is_preview:
        require_root("restore --to-defaults", ["restore", "--to-defaults", "--yes"])
    if is_root():
        require_no_changes()
    outcomes = preview_defaults() if is_preview else set_defaults()
    print_report(text_of_defaults(outcomes, is_preview), arguments.color)
    return 3 if failed(outcomes) else 0
