"""`noisewatch integrations [NAME [DIR]]`"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from noisewatch.errors import UsageError, system_reason
from noisewatch.integrations import integrations
from noisewatch.program import named_for_root, started_by
from noisewatch.surfaces.cli.parser import did_you_mean
from noisewatch.surfaces.drawing.tables import align
from noisewatch.surfaces.output import opened_output, print_answer
from noisewatch.text import printable

_SCRIPT, _EXECUTABLE = "#!", 0o111


def run(arguments: Namespace) -> int:
    """List the engines, explain one, or write its files into a folder."""
    if arguments.name is None:
        if arguments.explain or arguments.force:
            raise UsageError("of which engine? `noisewatch integrations` lists them")
        rows = [("NAME", "WHAT IT DOES"), *((integration.name, integration.summary) for integration in integrations())]
        print_answer(f"{align(rows)}\n")
        return 0
    by_name = {integration.name: integration for integration in integrations()}
    if arguments.name not in by_name:
        hint = did_you_mean(arguments.name, by_name, f"; there are {', '.join(by_name)}")
        raise UsageError(f"no integration is called {printable(arguments.name)!r}{hint}")
    chosen = by_name[arguments.name]
    if arguments.explain:
        print_answer(named_for_root(chosen.page))
        return 0
    folder = Path(arguments.folder or f"noisewatch-{chosen.name}")
    written = _write(folder, chosen.files_for(started_by()), arguments.force)
    print_answer(
        "".join(f"{path}\n" for path in written) + f"what next: noisewatch integrations {chosen.name} --explain\n"
    )
    return 0


def _write(folder: Path, text_by_path: Mapping[str, str], is_forced: bool) -> list[str]:
    """Write all files, or none if one would replace a file with other content. Raise UsageError."""
    places = {folder / path: text for path, text in text_by_path.items()}
    foreign = [] if is_forced else [place for place, text in places.items() if _is_other(place, text)]
    if foreign:
        raise UsageError(f"{foreign[0]}: is there with other content, so nothing was written; --force replaces it")
    for place, text in places.items():
        _write_one(place, text)
    return [str(place) for place in places]


def _is_other(place: Path, text: str) -> bool:
    try:
        return place.read_bytes() != text.encode()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{place}: {system_reason(error)}") from error


def _write_one(place: Path, text: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place.parent}: {system_reason(error)}") from error
    with opened_output(str(place)) as output:
        output.write(text.encode())
    if text.startswith(_SCRIPT):
        mode = place.stat().st_mode
        os.chmod(place, mode | (mode >> 2 & _EXECUTABLE))
