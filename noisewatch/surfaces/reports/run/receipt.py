"""The receipt of a series as JSON: what was run on which machine, what each repetition met, and what it comes to.

Durations are ns. null could not be known; what is known not to be there is "none" or an empty list.
"""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from noisewatch import __version__
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import ALONE
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.model.run.freezing import Freezing
from noisewatch.model.run.mean_difference import MeanDifference
from noisewatch.model.run.selection import SelectedByCause
from noisewatch.operations.run.conclusion import CommandConclusion, conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.plan import command_plan
from noisewatch.operations.run.progress import RunBeginning
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.calibration.json import describe_floors
from noisewatch.surfaces.reports.machine.json import SCHEMA, describe_cgroup, describe_facts, describe_machine
from noisewatch.surfaces.reports.run.command_words import program_of
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.receipt_placement import describe_advice, describe_placement
from noisewatch.surfaces.reports.run.receipt_verdicts import describe_culprits, describe_results, describe_verdict
from noisewatch.text import printable

COMMANDS = ("a", "b")


def header_of(begun: RunBeginning | RunSeries, identifies: bool) -> dict[str, Any]:
    """What is known before the first repetition. Arguments of the commands, and folders, where it `identifies`."""
    machine, options = begun.machine, begun.options
    plan = command_plan(options, options.argv, machine)
    return {
        "schema": SCHEMA,
        "kind": "header",
        "noisewatch": __version__,
        "machine": describe_machine(machine),
        "facts": describe_facts(machine, identifies),
        "target": sorted(machine.target.cpus),
        "target_chosen_by": machine.target.chosen_by,
        "pinned_by": "affinity" if plan.cgroup is None else "affinity in an isolated partition",
        "memory_nodes": "any" if plan.memory_nodes is None else sorted(plan.memory_nodes),
        "cgroup": describe_cgroup(machine.cgroup) | ({"folder": machine.cgroup.folder} if identifies else {}),
        "attribution": {
            "counters": _counters(machine),
            "not_watched": [str(each) for each in not_watched(machine, calibrated_khz(begun.opening))],
            "trace": begun.level.tracer,
            "no_trace_reason": _or_none(begun.level.reason),
            "is_root": os.geteuid() == 0,
        },
        "own_cost": {"cpu_s": begun.own_cost.cpu_s, "cpus": sorted(begun.own_cost.cpus)},
        "commands": [_command(name, argv, identifies) for name, argv in zip(COMMANDS, options.commands, strict=False)],
        "options": _options(options),
        "seed": begun.seed,
        "opening": None if begun.opening is None else _calibration(begun.opening),
    }


def _or_none(reason: str | None) -> str:
    return "none" if reason is None else printable(reason)


def _command(name: str, argv: Sequence[str], identifies: bool) -> dict[str, Any]:
    arguments = {"argv": [printable(word) for word in argv]} if identifies else {}
    return {"command": name, "program": program_of(argv), **arguments}


def _counters(machine: Snapshot) -> str:
    """By which counters of the target CPUs the books are kept."""
    times = [(machine.run_time or {}).get(cpu) for cpu in machine.target.cpus]
    if not times or None in times:
        return "ticks"
    return "cpuacct" if any(time is not None and time.stays is None for time in times) else "schedstat"


def _options(options: RunOptions) -> dict[str, Any]:
    return {
        "runs": options.runs,
        "retry": options.most_retries,
        "against": options.against is not None,
        "aa": options.is_aa,
        "wait_s": options.wait_s,
        "membind": printable(options.membind),
        "spread": options.spreads,
        "as_user": options.is_as_user,
        "min_undisturbed": options.min_undisturbed,
        "show_output": options.shows_output,
        "ignore_failure": not options.stops_at_failure,
        "calibration_s": options.calibration_s,
        "tracer": options.tracer,
    }


def _calibration(calibrated: Calibrated) -> dict[str, Any]:
    """The figures that verdicts rest on: speed, and the noise floors of the work and of interruptions alone."""
    alone, samples = calibrated.floors_by_work.get(ALONE), calibrated.calibration.samples
    return {
        "seconds": calibrated.calibration.seconds,
        "core": samples.core,
        "scheduler": "fifo" if samples.is_realtime else "other",
        "cpus": [_figures(figures) for figures in calibrated.calibration.cpus],
        "noise_floor": describe_floors(calibrated.floors),
        "noise_floor_of_interruptions": None if alone is None else describe_floors(alone.floors),
    }


def _figures(figures: CpuFigures) -> dict[str, Any]:
    return {
        "cpu": figures.cpu,
        "trouble": figures.trouble or "none",
        "gaps_per_s": figures.gaps_per_s,
        "gap_max_ns": figures.gap_max_ns,
        "stolen_share": figures.stolen_share,
        "effective_khz": figures.effective_khz,
        "latency_work": None if figures.latency_work is None else asdict(figures.latency_work),
    }


def repetition_of(judged: JudgedRepetition) -> dict[str, Any]:
    """One repetition, with all that decided its verdict."""
    repetition, verdict = judged.repetition, judged.verdict
    use = repetition.use
    return {
        "kind": "repetition",
        "number": repetition.number,
        "command": COMMANDS[repetition.command],
        "began_ns": repetition.began_ns,
        "ended_ns": repetition.ended_ns,
        "began_utc": utc(repetition.began_wall_ns),
        "ended_utc": utc(repetition.began_wall_ns + repetition.length_ns),
        "wall_ns": repetition.length_ns,
        "user_ns": use.user_ns,
        "system_ns": use.system_ns,
        "ended": _ending(repetition.status),
        "is_cut_short": repetition.is_cut_short,
        **describe_verdict(verdict),
        "allowance": asdict(judged.allowance),
        "waited_ns": use.waited_ns,
        "stopped_ns": use.stopped_ns,
        "frozen_ns": _frozen_ns(repetition.freezing),
        "held_ns": None if isinstance(repetition.trace, str) else repetition.trace.states.held_ns,
        "blocked_ns": None if isinstance(repetition.trace, str) else repetition.trace.states.blocked_ns,
        "rusage": {
            "minor_faults": use.minor_faults,
            "major_faults": use.major_faults,
            "blocks_in": use.blocks_in,
            "blocks_out": use.blocks_out,
            "voluntary_switches": use.switches,
            "involuntary_switches": use.preemptions,
            "max_resident_bytes": use.most_resident_bytes,
        },
        "clock": asdict(repetition.shift),
        "books": asdict(repetition.books),
        "placement": describe_placement(judged.placement),
        "attributed_by": "counters" if isinstance(repetition.trace, str) else "trace",
        "no_trace_reason": _or_none(repetition.trace if isinstance(repetition.trace, str) else None),
        "own_cpu_ns": repetition.own_cpu_ns,
        "left_processes": None if repetition.left_pids is None else sorted(repetition.left_pids),
        "left_names": [None if name is None else printable(name) for name in repetition.name_by_left_pid.values()],
    }


def _frozen_ns(freezing: Freezing) -> int | None:
    return None if freezing.unknown is not None and not freezing.ns else freezing.ns


def utc(wall_ns: int) -> str:
    """`2026-11-23T19:20:00.123456Z`, of ns since 1970."""
    return datetime.fromtimestamp(wall_ns // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _ending(status: int) -> dict[str, Any]:
    return {"by": "exit", "status": status} if status >= 0 else {"by": "signal", **_signal(-status)}


def _signal(number: int) -> dict[str, Any]:
    known = number in signal.valid_signals()
    name = signal.Signals(number).name if known and number in set(signal.Signals) else f"signal {number}"
    return {"number": number, "name": name}


def footer_of(series: RunSeries, wanted: SeriesOptions) -> dict[str, Any]:
    """What the repetitions come to. A receipt without it was cut short: the series was killed, or the disk was full."""
    conclusion = conclude(series)
    change = conclusion.speed_change
    return {
        "kind": "footer",
        "ended": _end_of(series),
        "counts": _counts([each.selected for each in conclusion.commands]),
        "commands": [_conclusion(each) for each in conclusion.commands],
        **describe_culprits(conclusion.culprits),
        "difference": _difference(conclusion.difference),
        "difference_of_all_pairs": _difference(conclusion.of_all_pairs),
        "is_difference_refused": conclusion.is_refused if conclusion.pairs else None,
        "closing": None if series.closing is None else _calibration(series.closing),
        "speed_change": None if change is None else {**asdict(change), "is_too_much": change.is_too_much},
        "no_speed_change_reason": _or_none(conclusion.change_unknown),
        "own_cpu_s": series.own_cpu_s,
        "results": None if wanted.results is None else describe_results(wanted.results, wanted.identifies),
    }


def _end_of(series: RunSeries) -> dict[str, Any]:
    if series.ended_by is not None:
        return {"by": "signal", **_signal(series.ended_by)}
    return {"by": "done"} if series.failed is None else {"by": "failure", "repetition": series.failed}


def _conclusion(command: CommandConclusion) -> dict[str, Any]:
    selected = command.selected
    return {
        "command": COMMANDS[command.command],
        "all": None if selected.of_all is None else asdict(selected.of_all),
        "undisturbed": None if selected.of_undisturbed is None else asdict(selected.of_undisturbed),
        "counts": _counts([selected]),
        "is_refused": selected.is_refused,
        "variances": asdict(command.variances),
        "placement_advice": [describe_advice(each) for each in command.advice],
    }


def _counts(selected: Sequence[SelectedByCause]) -> dict[str, int]:
    """Each repetition counts once: one that failed or was cut short is no measurement, whatever it met."""
    return {
        "undisturbed": sum(each.undisturbed for each in selected),
        "disturbed": sum(each.disturbed for each in selected),
        "unknown": sum(each.unknown for each in selected),
        "failed": sum(len(each.failed_statuses) for each in selected),
        "cut_short": sum(each.cut_short for each in selected),
    }


def _difference(found: MeanDifference | None) -> dict[str, Any] | None:
    return None if found is None else {**asdict(found), "is_shown": found.is_shown}


def series_of(series: RunSeries, options: SeriesOptions) -> dict[str, Any]:
    """All of `run --format json`: the lines of the receipt in one document."""
    return {
        **header_of(series, options.identifies),
        "kind": "series",
        "repetitions": [repetition_of(each) for each in series.repetitions],
        "footer": footer_of(series, options),
    }


def encoded(document: dict[str, Any], indent: int | None = None) -> str:
    """As JSON, which has no infinity: what is not bounded is not known."""
    return json.dumps(_known(document), indent=indent, allow_nan=False) + "\n"


def _known(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    return [_known(each) for each in value] if isinstance(value, list | tuple) else value


def schema_of_run() -> str:
    """The schema's text (draft 2020-12), of each line and of the whole document. Keys are only ever added."""
    return files(__package__).joinpath("run.schema.json").read_text("utf-8")


def render(series: RunSeries, options: SeriesOptions) -> str:
    """All of `run --format json`."""
    return encoded(series_of(series, options), indent=1)
