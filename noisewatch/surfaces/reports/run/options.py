"""What a report of a series has to fit, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from noisewatch.operations.run.results import MarkedResults

PRINTED = (None, "-")  # paths of standard output


class SeriesOptions(Struct, frozen=True):
    """What a report has to fit, and whether it may contain the commands' arguments and folders of this host.

    `results` are the runs of a results file that the command wrote, if one was read. `is_gated` means that the exit
    status depends on the verdict. `in_colour` and `in_unicode` say what the terminal can show.
    """

    width: int = 100
    identifies: bool = False
    results: MarkedResults | None = None
    is_gated: bool = False
    in_colour: bool = False
    in_unicode: bool = True
