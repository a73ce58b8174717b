"""The reports of `tune --measure` as text: what will be measured, and which settings are worth it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.noise.tuning_effect import Gain, TuningEffect, Worth
from noisewatch.kinds import Work
from noisewatch.operations.tuning.measure import CandidateResult, TuningMeasurement
from noisewatch.operations.tuning.schedule import PERIODS, Schedule
from noisewatch.operations.tuning.tune import failed
from noisewatch.operations.tuning.tuner import Outcome
from noisewatch.surfaces.reports.parts.sections import Section, Table, text_of_sections
from noisewatch.surfaces.reports.tuning.text import loss_lines, text_of_failures
from noisewatch.units import describe_count, share_text, short_seconds

_HEAD = ("check", "settings", "noise off -> on", "±", "speed", "±", "pairs", "worth it here?")


def text_of_schedule(schedule: Schedule) -> str:
    """Return what will be measured, how, and how long it takes."""
    if not schedule.measured:
        return ""
    names = ", ".join(candidate.name for candidate in schedule.measured)
    lines = [
        f"To be measured in about {_minutes(schedule.expected_s)}: {names}",
        f"({describe_count(schedule.blocks, 'block')} of off, on, on, off or on, off, off, on; each of the "
        f"{schedule.blocks * PERIODS} periods takes {short_seconds(schedule.period_s)})",
    ]
    if schedule.rest:
        names = ", ".join(candidate.name for candidate in schedule.rest)
        lines.append(f"No time for: {names} (increase --minutes)")
    return "\n".join([*lines, ""])


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"


def text_of_measurement(measurement: TuningMeasurement, cpus: CpuSet, work: Work, width: int) -> str:
    """Return a table with the effect of each candidate, the meaning of the figures, and the changes that failed."""
    rows = [_row(result) for result in measurement.results]
    sections = [Section(table=Table(_HEAD, rows)), Section(sentences=[*_explanations(measurement, cpus, work)])]
    text = text_of_sections(sections, width)
    troubles = [changed for result in measurement.results for changed in result.troubles]
    return f"{text}\n{text_of_failures(troubles)}{_end_of(measurement)}"


def _row(result: CandidateResult) -> Sequence[str]:
    effect, name = result.effect, result.candidate.name
    if effect is None:
        return (name, str(result.candidate.settings), *[""] * 5, _reason_text(result))
    settings = result.candidate.settings
    return (
        name,
        str(settings) if result.made == settings else f"{result.made} of {settings}",
        f"{share_text(effect.noise_off)} -> {share_text(effect.noise_on)}",
        share_text(effect.noise.half),
        "?" if effect.speed is None else _signed(effect.speed.share),
        "?" if effect.speed is None else share_text(effect.speed.half),
        str(effect.pairs),
        _verdict(effect),
    )


def _reason_text(result: CandidateResult) -> str:
    """Return `refused: Invalid argument`, `changed by another program` or `not measured: interrupted`."""
    if result.outcome is None:
        return f"not measured: {result.reason}"
    reasons = [changed.reason for changed in result.troubles if changed.outcome == result.outcome and changed.reason]
    return f"{result.outcome}: {reasons[0]}" if reasons and result.outcome == Outcome.REFUSED else str(result.outcome)


def _verdict(effect: TuningEffect) -> str:
    """Return `worth it: less noise`, `worse: slower` or `no difference shown (noise less than 0.2%)`."""
    if effect.worth == Worth.NOT_SHOWN:
        limits = [("noise", effect.noise), *([("speed", effect.speed)] if effect.speed is not None else [])]
        return f"{effect.worth} ({', '.join(f'{name} less than {share_text(gain.most)}' for name, gain in limits)})"
    return f"{effect.worth}: {', '.join(_changes(effect))}"


def _changes(effect: TuningEffect) -> Iterator[str]:
    gains: list[tuple[Gain | None, str, str]] = [
        (effect.noise, "less noise", "more noise"),
        (effect.speed, "faster", "slower"),
    ]
    for gain, better, worse in gains:
        if gain is not None and (gain.is_better or gain.is_worse):
            yield better if gain.is_better else worse


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else '+'}{share_text(abs(share))}"


def _explanations(measurement: TuningMeasurement, cpus: CpuSet, work: Work) -> Iterator[str]:
    measured = [result for result in measurement.results if result.effect is not None]
    if not measured:
        return
    yield (
        f"noise: share of the time that was taken from a busy loop on {name_cpus(cpus)}; speed: change of {work} "
        "work per second from off to on"
    )
    yield "±: half the width of the difference's interval; in 95 of 100 measurements all intervals contain the truth"


def _end_of(measurement: TuningMeasurement) -> str:
    restoring = measurement.restoring
    if restoring.is_complete:
        return "All settings are restored.\n"
    count = describe_count(len(failed(restoring.outcomes)), "setting")
    why = "changed by another program, refused by the kernel, or their CPU is offline"
    left = f"{count} not restored: {why}; see sudo noisewatch tune --status"
    return "\n".join([left, *loss_lines(restoring.loss), ""])
