"""Sentences on the conditions of a series: its load, the memory bandwidth, and its memory layouts with their effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewatch.cpus import name_cpus
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.model.run.layout import FEWEST_LAYOUTS, MOST_ENVIRONMENT_BYTES, VARIABLE, LayoutEffect
from noisewatch.text import printable
from noisewatch.units import describe_busy_processes, describe_count, describe_share, share_text

if TYPE_CHECKING:
    from noisewatch.operations.run.conclusion import RunConclusion
    from noisewatch.operations.run.load import SeriesLoad
    from noisewatch.operations.run.series import RunSeries

_MOST_GROUPS = 3
_SEE = "(noisewatch explain layout)"
_WITHIN = "random addresses, which differ in each run, count as within"
SAME_LAYOUT = (
    "A comparison of a command with itself does not show the effect of the memory layout: both sides run the same "
    "file, so relinking, another path or a larger environment may cause a larger difference."
)
FIXED_LAYOUT_WORDS = f"all runs share one memory layout, which may cause a small difference from another build {_SEE}"


def load_words(load: SeriesLoad) -> str:
    """Return `under a load of 2 busy processes on CPUs 0,3, each with 99% of its CPU`."""
    with_cpu = "with" if load.processes == 1 else "each with"
    share = "" if load.busy_share is None else f", {with_cpu} {describe_share(load.busy_share, 0)} of its CPU"
    return f"under a load of {describe_busy_processes(load.processes)} on {name_cpus(load.cpus)}{share}"


def memory_sentences(series: RunSeries, conclusion: RunConclusion) -> list[str]:
    """Return a sentence if the memory bandwidth changed during the series, and the traffic of resctrl's groups."""
    change = conclusion.bandwidth_change
    if change is None or not change.is_too_much:
        return []
    more, began = ("more", "began") if change.share > 0 else ("less", "stopped")
    low, high = sorted(map(abs, change.interval))
    change_text = (
        "the memory bandwidth changed during the series: after it, copies of large blocks took "
        f"{share_text(abs(change.share))} {more} time on CPU {change.cpu} ({share_text(low)} to {share_text(high)}): "
        f"another program or virtual machine {began} using memory bandwidth"
    )
    groups = [
        f"{printable(group.group)} {group.bytes_per_s / 1e9:.1f} GB/s"
        for group in series.traffic[:_MOST_GROUPS]
        if group.bytes_per_s is not None
    ]
    return [change_text, *([f"memory traffic by group of resctrl: {', '.join(groups)}"] if groups else [])]


def layout_effect_words(effect: LayoutEffect) -> str:
    """Return `varies 1.6% between layouts and 0.3% within one (25 layouts; …)`, or that no effect is shown.

    Random addresses differ in each run, so a layout only consists of the sizes of the environment and of argv[0].
    """
    layouts = describe_count(effect.layouts, "layout")
    if effect.between is None or effect.within is None or effect.smallest_shown is None:
        return f"{layouts} with two counted runs: too few to show an effect of the layout (at least {FEWEST_LAYOUTS})"
    between, within = share_text(effect.between), share_text(effect.within)
    if effect.is_shown:
        return f"varies {between} between layouts and {within} within one ({layouts}; {_WITHIN})"
    return (
        f"no effect of the layout shown: varies {within} within one ({layouts}; {_WITHIN}); a variation between "
        f"layouts below {share_text(effect.smallest_shown)} may be missed"
    )


def layout_sentences(series: RunSeries) -> list[str]:
    """Return what --vary or --fixed changes for the commands; an empty list if neither is given."""
    options = series.options
    if options.has_fixed_layout:
        return [FIXED_LAYOUT_WORDS]
    if not options.varies_layout:
        return []
    adds = f"each layout adds a variable {VARIABLE} (0 to {MOST_ENVIRONMENT_BYTES:,} bytes) to the environment"
    longer = " and makes argv[0] longer" if any("/" in argv[0] for argv in options.commands) else ""
    pairs = "; its runs count as one pair" if len(options.commands) > 1 else ""
    return [f"{adds}{longer}{pairs}; {_randomization_words(series)} {_SEE}"]


def _randomization_words(series: RunSeries) -> str:
    level = series.machine.settings.knobs.integer(Knob.ADDRESS_RANDOMISATION)
    if level is None:
        return "it is unknown whether addresses are random (kernel.randomize_va_space could not be read)"
    return "addresses are random" if level else "addresses are not random (kernel.randomize_va_space is 0)"
