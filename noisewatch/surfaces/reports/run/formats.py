"""The formats of a series, as data. A format's module is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from noisewatch.operations.run.results import MarkedResults
    from noisewatch.operations.run.series import RunSeries

TEXT, LINES, GITHUB = "text", "jsonl", "github"


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


_RENDERERS: Mapping[str, tuple[str, str]] = {  # module and function
    TEXT: ("document", "render_text"),
    "json": ("receipt", "render"),
    LINES: ("receipt", "render"),
    "markdown": ("document", "render_markdown"),
    "junit": ("junit", "render"),
    GITHUB: ("github", "render"),
    "pyperf": ("pyperf", "render"),
}
RUN_FORMATS = tuple(_RENDERERS)


def render_series(form: str, series: RunSeries, options: SeriesOptions) -> str:
    """Return the whole report in the format `form`.

    Raise NothingUndisturbed if the format cannot express that no run was undisturbed.
    """
    module, function = _RENDERERS[form]
    render: Callable[[RunSeries, SeriesOptions], str] = getattr(
        import_module(f"noisewatch.surfaces.reports.run.{module}"), function
    )
    return render(series, options)
