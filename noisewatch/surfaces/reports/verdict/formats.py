"""The formats of a verdict, as data. A format's module is imported only if it is requested."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.judgement.terms import Outcome

if TYPE_CHECKING:
    from noisewatch.judgement.verdict import Verdict

_OPTION = "--format"
_WARNED = "stable with warnings"
_RAN_OUT = 4


class RenderOptions(Struct, frozen=True):
    """The options of a report. `own_cpu_share` is noisewatch's own share of one CPU."""

    exit_status: int
    at_s: float  # Unix time
    own_cpu_share: float | None = None
    width: int = 100
    in_colour: bool = False
    in_unicode: bool = True
    is_verbose: bool = False
    is_quiet: bool = False  # the last line only (text)
    host: str | None = None  # the host's name, only if requested
    identifies: bool = False  # whether JSON has the arguments of culprits' programs


class Format(Struct, frozen=True):
    """A format of verdicts. Its `module` has the function `renderer`, and `describe_trouble` if `prints_trouble`.

    `status_by_outcome` and `trouble_status` are set if the consumer has its own convention of exit statuses.
    """

    module: str
    renderer: str = "render"
    status_by_outcome: Mapping[str, int] | None = None
    trouble_status: int | None = None
    prints_trouble: bool = False
    fills_step_summary: bool = False

    def exit_status(self, verdict: Verdict, has_run_out: bool = False, on_unknown: int | None = None) -> int:
        """Return the exit status for the verdict; `has_run_out` means that waiting for stability timed out.

        `on_unknown` replaces the status of an unknown verdict, unless the consumer has its own convention.
        """
        if self.status_by_outcome is None:
            if verdict.verdict == Outcome.UNKNOWN and on_unknown is not None:
                return on_unknown
            return _RAN_OUT if has_run_out else verdict.exit_status
        is_warned = verdict.exit_status == 0 and verdict.warnings
        return self.status_by_outcome[_WARNED if is_warned else verdict.verdict]

    def render(self, verdict: Verdict, options: RenderOptions) -> str:
        """Return the whole report."""
        return self._load(self.renderer)(verdict, options)

    def describe_trouble(self, message: str) -> str:
        """Return the text to print instead of a report if there is no verdict."""
        return self._load("describe_trouble")(message)

    def _load(self, name: str) -> Callable[..., str]:
        loaded: Callable[..., str] = getattr(import_module(f"noisewatch.surfaces.reports.verdict.{self.module}"), name)
        return loaded


FORMATS: Mapping[str, Format] = {
    "text": Format("text"),
    "json": Format("json"),
    "jsonl": Format("json", renderer="render_lines"),
    "markdown": Format("markdown"),
    "junit": Format("junit"),
    "github": Format("github", fills_step_summary=True),
    "nagios": Format(
        "nagios",
        status_by_outcome={"stable": 0, _WARNED: 1, "unstable": 2, "unknown": 3},
        trouble_status=3,
        prints_trouble=True,
    ),
    "problem-detector": Format(
        "problem_detector",
        status_by_outcome={"stable": 0, _WARNED: 0, "unstable": 1, "unknown": 3},
        prints_trouble=True,
    ),
    "prometheus": Format("prometheus"),
}


def figure_of(value: object) -> float | None:
    """Return a check's measured value if it is a finite number, else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if math.isfinite(value) else None


def format_named_in(argv: Sequence[str]) -> Format | None:
    """Return the format that a command line names, even if the rest of it is invalid."""
    named_format = None
    for word, following in zip(argv, [*argv[1:], ""], strict=False):
        option, is_joined, value = word.partition("=")
        if len(option) > len("--") and _OPTION.startswith(option):
            named_format = FORMATS.get(value if is_joined else following)
    return named_format
