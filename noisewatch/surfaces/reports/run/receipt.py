"""The receipt of a series as JSON: the commands, the machine, what disturbed each repetition, and the result.

Durations are in ns. null means unknown; "none" or an empty list means known to be absent.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import asdict

from noisewatch import __version__
from noisewatch.documents.document import SCHEMA, written
from noisewatch.errors import UsageError, system_reason
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import ALONE
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.placement import PlacementAdvice, weighty_threads, why_placement_unknown
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome, RunReason
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.model.run.freezing import Freezing
from noisewatch.model.run.mean_difference import MeanDifference
from noisewatch.model.run.placement import MemoryElsewhere, Placement, SpreadThreads, Stacking, ThreadPlacement
from noisewatch.model.run.series import SelectedByCause
from noisewatch.operations.run.conclusion import CommandConclusion, conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.options import RunOptions, command_plan
from noisewatch.operations.run.series import RunBeginning, RunListener, RunSeries
from noisewatch.surfaces.reports.calibration.json import describe_floors
from noisewatch.surfaces.reports.machine.json import describe_cgroup
from noisewatch.surfaces.reports.parts.json import describe_facts, describe_machine
from noisewatch.surfaces.reports.run.command_words import program_of
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.text import clean, printable

if TYPE_CHECKING:
    from noisewatch.judgement.run.benchmark_runs import MarkedRun
    from noisewatch.judgement.run.run_culprits import RunCulprit
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.operations.run.results import MarkedResults

COMMANDS = ("a", "b")
_MOST_CULPRITS, _MOST_PIDS = 20, 8
MOST_THREADS = 8
_DIGITS = 4  # of a share, which is an estimate
_NO_LOOK = "no look at its threads: it was too short"
_NO_RUN_TIME_OBSERVED = "the looks at its threads saw none of their run time"
_Key = TypeVar("_Key", bound=int | str | None)
_PRINTED = (None, "-")


def header_of(begun: RunBeginning | RunSeries, identifies: bool) -> dict[str, Any]:
    """Return the receipt's header: all that is known before the first repetition.

    It has the commands' arguments and the folders only if `identifies`.
    """
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
            "not_watched": [str(unwatched) for unwatched in not_watched(machine, calibrated_khz(begun.opening))],
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
    """Return the kind of counters on which the books of the target CPUs rest: ticks, cpuacct or schedstat."""
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
    """Return the figures that verdicts rest on: speed, and the noise floors of the work and of interruptions alone."""
    alone, samples = calibrated.floors_by_work.get(ALONE), calibrated.calibration.samples
    return {
        "seconds": calibrated.calibration.seconds,
        "core": samples.core,
        "scheduler": "fifo" if samples.is_realtime else "other",
        "cpus": [_figures(figures) for figures in calibrated.calibration.cpus],
        "noise_floor": describe_floors(calibrated, calibrated.floors),
        "noise_floor_of_interruptions": None if alone is None else describe_floors(calibrated, alone.floors),
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
    """Return one repetition, with all that decided its verdict."""
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
    """Format ns since 1970 as `2026-11-23T19:20:00.123456Z`."""
    return datetime.fromtimestamp(wall_ns // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _ending(status: int) -> dict[str, Any]:
    return {"by": "exit", "status": status} if status >= 0 else {"by": "signal", **_signal(-status)}


def _signal(number: int) -> dict[str, Any]:
    is_valid = number in signal.valid_signals()
    name = signal.Signals(number).name if is_valid and number in set(signal.Signals) else f"signal {number}"
    return {"number": number, "name": name}


def footer_of(series: RunSeries, options: SeriesOptions) -> dict[str, Any]:
    """Return the receipt's footer: the results of the series.

    A receipt without a footer is incomplete: the series was killed, or the disk was full.
    """
    conclusion = conclude(series)
    change = conclusion.speed_change
    return {
        "kind": "footer",
        "ended": _end_of(series),
        "counts": _counts([command.selected for command in conclusion.commands]),
        "commands": [_conclusion(command) for command in conclusion.commands],
        **describe_culprits(conclusion.culprits),
        "difference": _difference(conclusion.difference),
        "difference_of_all_pairs": _difference(conclusion.of_all_pairs),
        "is_difference_refused": conclusion.is_refused if conclusion.pairs else None,
        "closing": None if series.closing is None else _calibration(series.closing),
        "speed_change": None if change is None else {**asdict(change), "is_too_much": change.is_too_much},
        "no_speed_change_reason": _or_none(conclusion.change_unknown),
        "own_cpu_s": series.own_cpu_s,
        "results": None if options.results is None else describe_results(options.results, options.identifies),
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
        "placement_advice": [describe_advice(advice) for advice in command.advice],
    }


def _counts(selected: Sequence[SelectedByCause]) -> dict[str, int]:
    """Return the number of repetitions by outcome, with no repetition counted twice.

    A repetition that failed or was cut short is not a measurement, and counts as nothing else.
    """
    return {
        "undisturbed": sum(selection.undisturbed for selection in selected),
        "disturbed": sum(selection.disturbed for selection in selected),
        "unknown": sum(selection.unknown for selection in selected),
        "failed": sum(len(selection.failed_statuses) for selection in selected),
        "cut_short": sum(selection.cut_short for selection in selected),
    }


def _difference(difference: MeanDifference | None) -> dict[str, Any] | None:
    return None if difference is None else {**asdict(difference), "is_shown": difference.is_shown}


def series_of(series: RunSeries, options: SeriesOptions) -> dict[str, Any]:
    """Return the document of `run --format json`: the lines of the receipt in one."""
    return {
        **header_of(series, options.identifies),
        "kind": "series",
        "repetitions": [repetition_of(judged) for judged in series.repetitions],
        "footer": footer_of(series, options),
    }


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format json`."""
    return written(series_of(series, options), indent=1)


def describe_verdict(verdict: RepetitionVerdict) -> dict[str, Any]:
    """Return the verdict with all that decided it."""
    return {
        "verdict": verdict.outcome,
        "reasons": [_reason(reason) for reason in verdict.reasons],
        "own": [_reason(reason) for reason in verdict.own],
        "unknowns": [printable(unknown) for unknown in verdict.unknowns],
        "not_watched": [str(unwatched) for unwatched in verdict.unwatched],
    }


def _reason(reason: RunReason) -> dict[str, Any]:
    return {**asdict(reason), "name": printable(reason.name)}


def describe_culprits(culprits: Sequence[RunCulprit]) -> dict[str, Any]:
    """Return the culprits that cost most over the whole series, and the number of those left out."""
    shown = culprits[:_MOST_CULPRITS]
    return {"culprits": [_culprit(culprit) for culprit in shown], "culprits_left_out": len(culprits) - len(shown)}


def _culprit(culprit: RunCulprit) -> dict[str, Any]:
    return {
        "kind": culprit.kind,
        "noise": culprit.noise,
        "name": printable(culprit.name),
        "irq": culprit.irq,
        "pids": culprit.pids[:_MOST_PIDS],
        "cpus": sorted(culprit.cpus),
        "ns": culprit.ns,
        "is_estimate": culprit.is_estimate,
        "repetitions": len(culprit.numbers),
    }


def describe_results(results: MarkedResults, identifies: bool) -> dict[str, Any]:
    """Return the runs of the results file that have values, in the file's order.

    The file is given by its path if `identifies`, else by its name alone.
    """
    path = results.file.path
    outcomes = [marked_run.verdict.outcome for marked_run in results.marked]
    return {
        "file": printable(path) if identifies else clean(os.path.basename(path)),
        "counts": {outcome: outcomes.count(outcome) for outcome in RunOutcome},
        "runs": [_marked_run(marked_run) for marked_run in results.marked],
    }


def _marked_run(marked: MarkedRun) -> dict[str, Any]:
    """Return a run of the results file with its verdict; benchmark and run are counted from 0, as in the file.

    Times are on CLOCK_MONOTONIC, as in repetitions.
    """
    run = marked.run
    return {
        "benchmark": run.benchmark,
        "run": run.run,
        "name": printable(run.name),
        "began_ns": marked.began_ns,
        "ended_ns": marked.ended_ns,
        "wall_ns": run.length_ns,
        **describe_verdict(marked.verdict),
    }


def describe_placement(placement: Placement) -> dict[str, Any]:
    """Return where the threads of the command ran, as a part of a repetition's line; at most MOST_THREADS threads.

    Shares are of the observed run time. Without any look, all shares are null, with the `reason`.
    """
    if not placement.looks and not placement.is_traced:
        why = placement.reason or _NO_LOOK
        nulls = dict.fromkeys(("seen_share", "cpus", "cores", "nodes", "threads", "stacking"))
        memory_and_spread = {"memory_elsewhere": _memory(placement.memory), "spread": _spread(placement.spread)}
        return {"source": "looks", "looks": 0, **nulls, **memory_and_spread, "reason": printable(why)}
    weighty = weighty_threads(placement)
    reason = placement.reason or (why_placement_unknown(placement) if placement.seen_ns else _NO_RUN_TIME_OBSERVED)
    kinds = placement.ns_by_kind()
    has_kinds = len(placement.kinds | kinds.keys()) > 1
    return {
        "source": "trace" if placement.is_traced else "looks",
        "looks": placement.looks,
        "seen_share": _rounded(placement.seen_share),
        "cpus": _shares(placement.ns_by_cpu()),
        "cores": _shares(placement.ns_by_core()),
        "nodes": _shares(placement.ns_by_node()),
        **({"kinds": _shares(kinds)} if has_kinds else {}),
        "threads": [_thread(thread, has_kinds) for thread in weighty[:MOST_THREADS]],
        "threads_left_out": len(placement.threads) - len(weighty[:MOST_THREADS]),
        "stacking": "none" if placement.stacking is None else _stacking(placement.stacking),
        "spread": _spread(placement.spread),
        "memory_elsewhere": _memory(placement.memory),
        "reason": None if reason is None else printable(reason),
    }


def _thread(thread: ThreadPlacement, has_kinds: bool) -> dict[str, Any]:
    """Return the placement of one thread.

    `migrations` is the kernel's count, or null if the data are from a trace; `moves` are what looks or the trace
    observed.
    """
    return {
        "tid": thread.tid,
        "name": printable(thread.name),
        "ran_ns": thread.ran_ns,
        "waited_ns": thread.waited_ns,
        "cpus": _shares(thread.ns_by_cpu),
        "cores": _shares(thread.ns_by_core),
        "nodes": _shares(thread.ns_by_node),
        **({"kinds": _shares(thread.ns_by_kind)} if has_kinds else {}),
        "migrations": thread.migrations,
        "moves": thread.moves,
        "node_moves": thread.node_moves,
        "kind_moves": thread.kind_moves,
    }


def _shares(ns_by_place: Mapping[_Key, float]) -> list[tuple[_Key, float]] | None:
    """Return (place, share) pairs, largest share first; the place null is unknown. None if no run time was observed."""
    total = sum(ns_by_place.values())
    ordered = sorted(ns_by_place.items(), key=lambda item: (-item[1], str(item[0])))
    return [(place, round(ns / total, _DIGITS)) for place, ns in ordered if ns] if total else None


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)


def _stacking(stacking: Stacking) -> dict[str, Any]:
    return {
        "share": round(stacking.share, _DIGITS),
        "most_threads": stacking.most_ready,
        "cpus": sorted(stacking.stacked),
        "free_cpus": sorted(stacking.free),
    }


def _spread(spread: SpreadThreads | None) -> str | dict[str, Any]:
    if spread is None:
        return "none"
    left = [{"reason": printable(reason), "threads": count} for reason, count in spread.left_by_reason.items()]
    return {"pinned": spread.pinned, "left": left}


def _memory(memory: MemoryElsewhere) -> dict[str, Any]:
    """Return the memory on other nodes; null with the reason if it is unknown."""
    figures = {"share": _rounded(memory.share), "bytes": memory.size_bytes}
    if memory.reason is not None:
        return {**figures, "reason": printable(memory.reason)}
    return {**figures, "is_bound": True} if memory.is_bound else figures


def describe_advice(advice: PlacementAdvice) -> dict[str, Any]:
    """Return the fault in the placement, and the words to put before the command."""
    return {"fault": advice.fault, "before": list(advice.before)}


class _ReceiptFile:
    """A file that receives only whole lines, so that it is readable however the series or noisewatch ends.

    After the first line that cannot be written, no more lines are written.
    """

    def __init__(self, descriptor: int, name: str, is_printed: bool = False) -> None:
        self._descriptor, self._name, self._is_printed = descriptor, name, is_printed
        self._length = 0
        self.is_incomplete = False

    def write(self, line: str) -> str | None:
        """Write the line; return an error message if that fails, the first time only, otherwise None."""
        if self.is_incomplete:
            return None
        content = line.encode("utf-8", "replace")
        try:
            self._write_all(content)
        except OSError as error:
            self.is_incomplete = True
            self._cut()
            return f"{self._name}: {system_reason(error)}: the receipt ends there, the run goes on"
        self._length += len(content)
        return None

    def _write_all(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._descriptor, content) :]

    def _cut(self) -> None:
        """Remove a partly written line, if the file is a regular file that no other process writes to."""
        with suppress(OSError):
            if not self._is_printed and stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, self._length)


class ReceiptKeeper(RunListener):
    """A listener that forwards all events to another listener, and writes the receipt."""

    def __init__(self, shown: RunListener, receipt: _ReceiptFile, identifies: bool) -> None:
        self._shown, self._receipt, self._identifies = shown, receipt, identifies

    @property
    def is_incomplete(self) -> bool:
        return self._receipt.is_incomplete

    def on_begin(self, beginning: RunBeginning) -> None:
        self._shown.on_begin(beginning)
        self._write(written(header_of(beginning, self._identifies)))

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self._shown.on_repetition(judged)
        self._write(written(repetition_of(judged)))

    def on_end(self, series: RunSeries, options: SeriesOptions) -> None:
        """Write the last line."""
        self._write(written(footer_of(series, options)))

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        self._shown.on_sampling(doing, done_s, total_s)

    def on_calibrating(self, progress: Progress) -> None:
        self._shown.on_calibrating(progress)

    def on_waiting(self, reasons: str, left_s: float) -> None:
        self._shown.on_waiting(reasons, left_s)

    def on_remark(self, text: str) -> None:
        self._shown.on_remark(text)

    def on_done(self) -> None:
        self._shown.on_done()

    def _write(self, line: str) -> None:
        trouble = self._receipt.write(line)
        if trouble is not None:
            self._shown.on_remark(trouble)


@contextmanager
def kept_receipt(path: str | None, shown: RunListener, identifies: bool) -> Iterator[ReceiptKeeper]:
    """Open the receipt's file and yield its keeper. Raise UsageError if the file cannot be opened."""
    with _opened(path) as file:
        yield ReceiptKeeper(shown, file, identifies)


@contextmanager
def _opened(path: str | None) -> Iterator[_ReceiptFile]:
    """Yield the open file at `path`, or standard output, before a command runs.

    Raise UsageError if it cannot be opened, or standard output is closed.
    """
    if path in _PRINTED:
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        sys.stdout.flush()
        yield _ReceiptFile(sys.stdout.fileno(), "standard output", is_printed=True)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from error
    try:
        yield _ReceiptFile(descriptor, path)
    finally:
        os.close(descriptor)
