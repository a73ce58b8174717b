"""`noisewatch restore`"""

from __future__ import annotations

from argparse import Namespace

from noisewatch.operations.tuning.tune import failed, has_journal, read_tuning, restore_host
from noisewatch.operations.tuning.tuner import Changed
from noisewatch.surfaces.cli.tuning import require_root
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.tuning.text import text_of_restoring


def run(arguments: Namespace) -> int:
    """Restore what tune has changed. Return 3 if a setting was left, because it was refused or changed since."""
    if has_journal():
        require_root("restore", ["restore"] + ["--dry-run"] * arguments.dry_run + ["--force"] * arguments.force)
    if arguments.dry_run:
        print_answer(text_of_restoring(read_tuning(arguments.force).changes, is_preview=True))
        return 0
    outcomes = restore_host(_ignore, arguments.force)
    print_answer(text_of_restoring(outcomes))
    return 3 if failed(outcomes) else 0


def _ignore(changed: Changed) -> None:
    """Ignore one outcome: the report has all of them."""
