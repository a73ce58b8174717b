"""Options of a report of a series, for all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from noisewatch.operations.run.results import MarkedResults

PRINTED = (None, "-")  # paths of standard output


class SeriesOptions(Struct, frozen=True):
    """The options of a report.

    With `identifies`, the report includes the arguments of commands and culprits, the host's name, and whole paths.
    `results` are the runs of a results file that the command wrote, if one was read. With `is_gated`, the exit status
    depends on the verdict. `in_colour` and `in_unicode` describe the terminal.
    """

    width: int = 100
    identifies: bool = False
    results: MarkedResults | None = None
    is_gated: bool = False
    in_colour: bool = False
    in_unicode: bool = True
