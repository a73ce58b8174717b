"""The command `noisewatch integrations [NAME [DIR]]`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from noisewatch.errors import UsageError, system_reason
from noisewatch.integrations import integrations
from noisewatch.program import name_for_root, start_command
from noisewatch.surfaces.cli.parser import did_you_mean
from noisewatch.surfaces.drawing.tables import align
from noisewatch.surfaces.output import open_output, print_answer
from noisewatch.text import printable

_SCRIPT, _EXECUTABLE = "#!", 0o111


def run(arguments: Namespace) -> int:
    """List the integrations, explain one, or write its files into a folder."""
    if arguments.name is None:
        if arguments.explain or arguments.force:
            raise UsageError(
                "--explain and --force need the name of an integration; `noisewatch integrations` lists them"
            )
        rows = [("NAME", "WHAT IT DOES"), *((integration.name, integration.summary) for integration in integrations())]
        print_answer(f"{align(rows)}\n")
        return 0
    by_name = {integration.name: integration for integration in integrations()}
    if arguments.name not in by_name:
        hint = did_you_mean(arguments.name, by_name, f"; valid names: {', '.join(by_name)}")
        raise UsageError(f"there is no integration {printable(arguments.name)!r}{hint}")
    chosen = by_name[arguments.name]
    if arguments.explain:
        print_answer(name_for_root(chosen.page))
        return 0
    folder = Path(arguments.folder or f"noisewatch-{chosen.name}")
    written = _write(folder, chosen.files_for(start_command()), arguments.force)
    print_answer("".join(f"{path}\n" for path in written) + f"next: noisewatch integrations {chosen.name} --explain\n")
    return 0


def _write(folder: Path, text_by_path: Mapping[str, str], is_forced: bool) -> list[str]:
    """Write all files and return their paths. If an existing file differs, write none and raise UsageError."""
    text_by_target = {folder / path: text for path, text in text_by_path.items()}
    changed = [] if is_forced else [target for target, text in text_by_target.items() if _differs(target, text)]
    if changed:
        raise UsageError(
            f"{changed[0]}: already exists with different content; nothing was written (--force replaces it)"
        )
    for target, text in text_by_target.items():
        _write_file(target, text)
    return [str(target) for target in text_by_target]


def _differs(target: Path, text: str) -> bool:
    """Return whether the file exists and its content differs from `text`. Raise UsageError if it cannot be read."""
    try:
        return target.read_bytes() != text.encode()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{target}: {system_reason(error)}") from error


def _write_file(target: Path, text: str) -> None:
    """Write the file, and make scripts executable for everyone who may read them.

    Raise UsageError if the folder cannot be created, or the file cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target.parent}: {system_reason(error)}") from error
    with open_output(str(target), is_quiet=True) as output:
        output.write(text.encode())
    if text.startswith(_SCRIPT):
        mode = target.stat().st_mode
        os.chmod(target, mode | (mode >> 2 & _EXECUTABLE))
