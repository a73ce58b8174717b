"""The receipt of a series as JSON: commands, machine, disturbances of each repetition, and the result."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from noisewatch import __version__
from noisewatch.documents import placement as placing
from noisewatch.documents import repetition as repetition_parts
from noisewatch.documents import run as parts
from noisewatch.documents.counters import CountersPart, DecompositionPart, FactorRatioPart, FactorSharePart
from noisewatch.documents.document import SCHEMA, DocumentPart, fill_part, to_json
from noisewatch.documents.energy import EnergyDomainPart, EnergyPart, EnergyStatisticsPart
from noisewatch.errors import UsageError, system_reason
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import ALONE
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.placement import THREADS_NOT_OBSERVED, unknown_placement_reason, weighty_threads
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome, RunReason
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine.command.counting import CommandCounts, Event
from noisewatch.model.run.decomposition import Decomposition, Outlier
from noisewatch.model.run.energy import RunEnergy
from noisewatch.model.run.placement import MemoryElsewhere, Placement, SpreadThreads, Stacking, ThreadPlacement
from noisewatch.model.run.series import SelectedByCause
from noisewatch.model.run.traffic import GroupTraffic
from noisewatch.operations.run.conclusion import CommandConclusion, conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.load import SeriesLoad
from noisewatch.operations.run.options import RunOptions, command_plan
from noisewatch.operations.run.series import RunBeginning, RunListener, RunSeries
from noisewatch.operations.run.side_commands import SideCommandResult
from noisewatch.surfaces.reports.calibration.json import describe_floors
from noisewatch.surfaces.reports.machine.json import describe_cgroup
from noisewatch.surfaces.reports.parts.json import describe_facts, describe_machine, describe_process
from noisewatch.surfaces.reports.run.options import PRINTED, SeriesOptions
from noisewatch.surfaces.reports.run.sentences import COMMANDS, program_of
from noisewatch.surfaces.reports.run.words import words_of
from noisewatch.text import clean, printable

if TYPE_CHECKING:
    from noisewatch.judgement.run.run_culprits import RunCulprit
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.operations.run.results import MarkedResults

_MOST_CULPRITS, _MOST_PIDS = 20, 8
MOST_THREADS = 8
_DIGITS = 4  # decimals of a share; shares are estimates
_NO_RUN_TIME_OBSERVED = "no run time of the command's threads was observed"
_Key = TypeVar("_Key", bound=int | str | None)


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format json`: all lines of the receipt in one document."""
    document = replace(
        header_of(series, options.identifies),
        kind="series",
        warm_ups=[repetition_of(judged, options.identifies) for judged in series.warm_ups],
        repetitions=[repetition_of(judged, options.identifies) for judged in series.repetitions],
        footer=footer_of(series, options),
    )
    return to_json(document, indent=1)


def header_of(begun: RunBeginning | RunSeries, identifies: bool) -> parts.RunDocument:
    """Return the receipt's header, which is complete before the first repetition.

    It has the commands' arguments, the control group's folder and the host's name only if `identifies`.
    """
    machine, options = begun.machine, begun.options
    plan = command_plan(options, options.argv, machine)
    folder = machine.cgroup.folder if identifies else UNSET
    return parts.RunDocument(
        schema=SCHEMA,
        kind="header",
        noisewatch=__version__,
        machine=describe_machine(machine),
        facts=describe_facts(machine, identifies),
        target=sorted(machine.target.cpus),
        target_chosen_by=machine.target.chosen_by,
        pinned_by="affinity" if plan.cgroup is None else "affinity in an isolated partition",
        memory_nodes="any" if plan.memory_nodes is None else sorted(plan.memory_nodes),
        cgroup=parts.RunCgroupPart(**describe_cgroup(machine.cgroup), folder=folder),
        attribution=parts.AttributionPart(
            counters=_counters(machine),
            not_watched=[str(unwatched) for unwatched in not_watched(machine, calibrated_khz(begun.opening))],
            trace=begun.level.tracer,
            no_trace_reason=_or_none(begun.level.reason),
            is_root=os.geteuid() == 0,
        ),
        own_cost=parts.OwnCostPart(cpu_s=begun.own_cost.cpu_s, cpus=sorted(begun.own_cost.cpus)),
        commands=[
            parts.CommandPart(
                command=COMMANDS[number],
                program=program_of(argv),
                argv=[printable(word) for word in argv] if identifies else UNSET,
            )
            for number, argv in enumerate(options.commands)
        ],
        options=_options(options, identifies),
        seed=begun.seed,
        opening=None if begun.opening is None else _calibration(begun.opening),
        load=None
        if begun.load is None
        else parts.LoadPart(processes=begun.load.processes, cpus=sorted(begun.load.cpus)),
    )


def _or_none(reason: str | None) -> str:
    return "none" if reason is None else printable(reason)


def _counters(machine: Snapshot) -> Literal["ticks", "cpuacct", "schedstat"]:
    """Return the counters on which the target CPUs' books are based: ticks, cpuacct or schedstat."""
    times = [(machine.run_time or {}).get(cpu) for cpu in machine.target.cpus]
    if not times or None in times:
        return "ticks"
    return "cpuacct" if any(time is not None and time.stays is None for time in times) else "schedstat"


def _options(options: RunOptions, identifies: bool) -> parts.RunOptionsPart:
    prepare, conclude = (_side_words(argv, identifies) for argv in (options.prepare, options.conclude))
    return fill_part(
        parts.RunOptionsPart,
        options,
        retry=options.most_retries,
        warmup=options.warm_ups,
        prepare=prepare,
        conclude=conclude,
        against=options.against is not None,
        aa=options.is_aa,
        membind=printable(options.membind),
        spread=options.spreads,
        as_user=options.is_as_user,
        show_output=options.shows_output,
        counters="auto" if options.counts_events else "none",
        energy=options.measures_energy,
        ignore_failure=not options.stops_at_failure,
        layout="varied" if options.varies_layout else "fixed" if options.has_fixed_layout else "any",
    )


def _side_words(argv: tuple[str, ...] | None, identifies: bool) -> list[str] | None:
    if argv is None:
        return None
    return [printable(word) for word in argv] if identifies else [program_of(argv)]


def _calibration(calibrated: Calibrated) -> parts.RunCalibrationPart:
    alone, samples = calibrated.floors_by_work.get(ALONE), calibrated.calibration.samples
    return parts.RunCalibrationPart(
        seconds=calibrated.calibration.seconds,
        core=samples.core,
        scheduler="fifo" if samples.is_realtime else "other",
        cpus=[
            fill_part(parts.RunCpuPart, figures, trouble=figures.trouble or "none")
            for figures in calibrated.calibration.cpus
        ],
        noise_floor=describe_floors(calibrated, calibrated.floors),
        noise_floor_of_interruptions=None if alone is None else describe_floors(calibrated, alone.floors),
    )


def repetition_of(judged: JudgedRepetition, identifies: bool = False) -> repetition_parts.RepetitionPart:
    """Return the receipt's line for a repetition, with all that decided its verdict.

    Keys that are not set here have the values of the repetition's attributes with the same names.
    """
    repetition, use = judged.repetition, judged.repetition.use
    trace, freezing = repetition.trace, repetition.freezing
    left = repetition.name_by_left_pid
    return fill_part(
        repetition_parts.RepetitionPart,
        repetition,
        kind="warm-up" if repetition.is_warm_up else "repetition",
        command=COMMANDS[repetition.command],
        began_utc=utc(repetition.began_wall_ns),
        ended_utc=utc(repetition.began_wall_ns + repetition.length_ns),
        wall_ns=repetition.length_ns,
        user_ns=use.user_ns,
        system_ns=use.system_ns,
        ended=_by_signal(-repetition.status)
        if repetition.status < 0
        else repetition_parts.ByExitPart(status=repetition.status),
        **_verdict(judged.verdict, identifies),
        allowance=judged.allowance,
        waited_ns=use.waited_ns,
        stopped_ns=use.stopped_ns,
        frozen_ns=None if freezing.unknown is not None and not freezing.ns else freezing.ns,
        held_ns=None if isinstance(trace, str) else trace.states.held_ns,
        blocked_ns=None if isinstance(trace, str) else trace.states.blocked_ns,
        rusage=fill_part(
            repetition_parts.UsagePart,
            use,
            voluntary_switches=use.switches,
            involuntary_switches=use.preemptions,
            max_resident_bytes=use.most_resident_bytes,
        ),
        clock=repetition.shift,
        counters=_counters_of(repetition.counts),
        no_counters_reason=_or_none(repetition.counts.unknown),
        energy=_energy(repetition.energy),
        placement=placement_of(judged.placement),
        attributed_by="counters" if isinstance(trace, str) else "trace",
        no_trace_reason=_or_none(trace if isinstance(trace, str) else None),
        left_processes=None if left is None else list(left),
        left_names=[None if name is None else printable(name) for name in (left or {}).values()],
    )


def _counters_of(counts: CommandCounts) -> CountersPart | None:
    if not counts.counts:
        return None
    return CountersPart(
        **{event.value: counts.value(event) for event in Event},
        counted_share=round(min(count.counted_share for count in counts.counts.values()), _DIGITS),
        is_user_only=counts.is_user_only,
    )


def _energy(energy: RunEnergy) -> EnergyPart | UnsetType:
    if not energy.is_requested:
        return UNSET
    domains = [
        EnergyDomainPart(domain=domain, joules=None, reason=printable(value))
        if isinstance(value, str)
        else EnergyDomainPart(domain=domain, joules=value, reason="none")
        for domain, value in energy.by_domain.items()
    ]
    return fill_part(EnergyPart, energy, domains=domains, reason=_or_none(energy.reason))


def _decomposition(decomposition: Decomposition | None) -> DecompositionPart | None:
    if decomposition is None:
        return None
    return fill_part(
        DecompositionPart,
        decomposition,
        parts=[FactorSharePart(factor=factor, share=share) for factor, share in decomposition.parts.items()],
        no_counters_reason=_or_none(decomposition.unknown),
    )


def utc(wall_ns: int) -> str:
    """Format ns since 1970 as `2026-11-23T19:20:00.123456Z`."""
    return datetime.fromtimestamp(wall_ns // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _end_of_command(status: int) -> repetition_parts.ByExitPart | repetition_parts.BySignalPart:
    return _by_signal(-status) if status < 0 else repetition_parts.ByExitPart(status=status)


def _by_signal(number: int) -> repetition_parts.BySignalPart:
    is_valid = number in signal.valid_signals()
    name = signal.Signals(number).name if is_valid and number in set(signal.Signals) else f"signal {number}"
    return repetition_parts.BySignalPart(number=number, name=name)


def _verdict(verdict: RepetitionVerdict, identifies: bool) -> dict[str, Any]:
    """Return the keys of a verdict, with all that decided it."""
    return {
        "verdict": verdict.outcome,
        "reasons": [_reason(reason, identifies) for reason in verdict.reasons],
        "own": [_reason(reason, identifies) for reason in verdict.own],
        "unknowns": [printable(unknown) for unknown in verdict.unknowns],
        "not_watched": [str(unwatched) for unwatched in verdict.unwatched],
    }


def _reason(reason: RunReason, identifies: bool) -> repetition_parts.ReasonPart:
    process = describe_process(reason.identity, identifies)
    cpus = sorted(reason.cpus) or UNSET
    return fill_part(repetition_parts.ReasonPart, reason, name=printable(reason.name), cpus=cpus, process=process)


def footer_of(series: RunSeries, options: SeriesOptions) -> parts.FooterPart:
    """Return the receipt's footer: the results of the series.

    A receipt without a footer is incomplete: the series was killed, or the disk was full.
    """
    conclusion = conclude(series)
    culprits = conclusion.culprits[:_MOST_CULPRITS]
    return fill_part(
        parts.FooterPart,
        conclusion,
        kind="footer",
        words=words_of(series, conclusion),
        ended=_end_of(series),
        counts=_counts([command.selected for command in conclusion.commands]),
        commands=[_conclusion(command) for command in conclusion.commands],
        culprits=[_culprit(culprit, options.identifies) for culprit in culprits],
        culprits_left_out=len(conclusion.culprits) - len(culprits),
        difference_of_all_pairs=conclusion.of_all_pairs,
        difference_parts=_decomposition(conclusion.decomposition),
        energy_difference=conclusion.energy_difference if series.options.measures_energy else UNSET,
        is_difference_refused=conclusion.is_refused if conclusion.pairs else None,
        closing=None if series.closing is None else _calibration(series.closing),
        no_speed_change_reason=_or_none(conclusion.change_unknown),
        traffic=[_traffic(group) for group in series.traffic] or None,
        own_cpu_s=series.own_cpu_s,
        load=None if series.load is None else _load(series.load),
        side_commands=[_side_command(side) for side in series.side_commands],
        results=None if options.results is None else _results(options.results, options.identifies),
    )


def _end_of(series: RunSeries) -> parts.DonePart | parts.ByFailurePart | repetition_parts.BySignalPart:
    if series.ended_by is not None:
        return _by_signal(series.ended_by)
    if series.failed is None:
        return parts.DonePart()
    side = series.failed_side_command
    return parts.ByFailurePart(repetition=series.failed, side_command=UNSET if side is None else side.option)


def _traffic(traffic: GroupTraffic) -> parts.TrafficPart:
    return fill_part(parts.TrafficPart, traffic, unknown=_or_none(traffic.unknown))


def _load(load: SeriesLoad) -> parts.LoadPart:
    return fill_part(parts.LoadPart, load, cpus=sorted(load.cpus), trouble=_or_none(load.trouble))


def _side_command(side: SideCommandResult) -> parts.SideCommandPart:
    left = side.name_by_left_pid
    return fill_part(
        parts.SideCommandPart,
        side,
        repetition=side.number,
        trouble=_or_none(side.trouble),
        left_processes=list(left),
        left_names=[None if name is None else printable(name) for name in left.values()],
    )


def _conclusion(command: CommandConclusion) -> parts.ConclusionPart:
    selected = command.selected
    return fill_part(
        parts.ConclusionPart,
        command,
        command=COMMANDS[command.command],
        all=selected.of_all,
        undisturbed=selected.of_undisturbed,
        counts=_counts([selected]),
        is_refused=selected.is_refused,
        decomposition=_decomposition(command.decomposition),
        energy=UNSET
        if command.energy is None
        else fill_part(EnergyStatisticsPart, command.energy, reason=_or_none(command.energy.unknown)),
        placement_advice=[fill_part(parts.PlacementAdvicePart, advice) for advice in command.advice],
        outliers=[_outlier(outlier) for outlier in command.outliers],
    )


def _outlier(outlier: Outlier) -> parts.OutlierPart:
    return fill_part(
        parts.OutlierPart,
        outlier,
        repetition=outlier.number,
        factors=[FactorRatioPart(factor=factor, ratio=ratio) for factor, ratio in outlier.factors.items()],
        no_counters_reason=_or_none(outlier.unknown),
    )


def _counts(selected: Sequence[SelectedByCause]) -> parts.RunCountsPart:
    """Return the number of repetitions by outcome, with no repetition counted twice.

    A repetition that failed or was cut short is not a measurement, and is not counted elsewhere.
    """
    return parts.RunCountsPart(
        undisturbed=sum(selection.undisturbed for selection in selected),
        disturbed=sum(selection.disturbed for selection in selected),
        unknown=sum(selection.unknown for selection in selected),
        failed=sum(len(selection.failed_statuses) for selection in selected),
        cut_short=sum(selection.cut_short for selection in selected),
    )


def _culprit(culprit: RunCulprit, identifies: bool) -> parts.RunCulpritPart:
    return fill_part(
        parts.RunCulpritPart,
        culprit,
        name=printable(culprit.name),
        pids=culprit.pids[:_MOST_PIDS],
        cpus=sorted(culprit.cpus),
        repetitions=len(culprit.numbers),
        process=describe_process(culprit.identity_by_pid.get(culprit.pids[0]) if culprit.pids else None, identifies),
    )


def _results(results: MarkedResults, identifies: bool) -> parts.ResultsPart:
    """Return the runs of the results file that have values, in the file's order."""
    path = results.file.path
    outcomes = [marked.verdict.outcome for marked in results.marked]
    return parts.ResultsPart(
        file=printable(path) if identifies else clean(os.path.basename(path)),
        counts=parts.RunCountsPart(**{outcome: outcomes.count(outcome) for outcome in RunOutcome}),
        runs=[
            fill_part(
                parts.MarkedRunPart,
                marked.run,
                name=printable(marked.run.name),
                began_ns=marked.began_ns,
                ended_ns=marked.ended_ns,
                wall_ns=marked.run.length_ns,
                **_verdict(marked.verdict, identifies),
            )
            for marked in results.marked
        ],
    )


def placement_of(placement: Placement) -> placing.PlacementPart:
    """Return the CPUs on which the command's threads ran, with details of at most MOST_THREADS threads.

    If the threads were never observed, all shares are null, with the `reason`.
    """
    spread, memory = _spread(placement.spread), _memory(placement.memory)
    if not placement.looks and not placement.is_traced:
        return placing.PlacementPart(
            source="looks",
            looks=0,
            seen_share=None,
            cpus=None,
            cores=None,
            nodes=None,
            threads=None,
            stacking=None,
            memory_elsewhere=memory,
            spread=spread,
            reason=printable(placement.reason or THREADS_NOT_OBSERVED),
        )
    weighty = weighty_threads(placement)[:MOST_THREADS]
    reason = placement.reason or (unknown_placement_reason(placement) if placement.seen_ns else _NO_RUN_TIME_OBSERVED)
    kinds = placement.ns_by_kind()
    has_kinds = len(placement.kinds | kinds.keys()) > 1
    return placing.PlacementPart(
        source="trace" if placement.is_traced else "looks",
        looks=placement.looks,
        seen_share=_round_share(placement.seen_share),
        cpus=_shares(placement.ns_by_cpu()),
        cores=_shares(placement.ns_by_core()),
        nodes=_shares(placement.ns_by_node()),
        kinds=_shares(kinds) if has_kinds else UNSET,
        threads=[_thread(thread, has_kinds) for thread in weighty],
        threads_left_out=len(placement.threads) - len(weighty),
        stacking="none" if placement.stacking is None else _stacking(placement.stacking),
        spread=spread,
        memory_elsewhere=memory,
        reason=None if reason is None else printable(reason),
    )


def _thread(thread: ThreadPlacement, has_kinds: bool) -> placing.ThreadPart:
    return fill_part(
        placing.ThreadPart,
        thread,
        name=printable(thread.name),
        cpus=_shares(thread.ns_by_cpu),
        cores=_shares(thread.ns_by_core),
        nodes=_shares(thread.ns_by_node),
        kinds=_shares(thread.ns_by_kind) if has_kinds else UNSET,
    )


def _shares(ns_by_place: Mapping[_Key, float]) -> placing.Residency | None:
    """Return pairs of place (null: unknown) and share, the largest share first; None if no run time was observed."""
    total = sum(ns_by_place.values())
    ordered = sorted(ns_by_place.items(), key=lambda item: (-item[1], str(item[0])))
    return [(place, round(ns / total, _DIGITS)) for place, ns in ordered if ns] if total else None


def _round_share(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)


def _stacking(stacking: Stacking) -> placing.StackingPart:
    return placing.StackingPart(
        share=round(stacking.share, _DIGITS),
        most_threads=stacking.most_ready,
        cpus=sorted(stacking.stacked),
        free_cpus=sorted(stacking.free),
    )


def _spread(spread: SpreadThreads | None) -> placing.SpreadThreadsPart | Literal["none"]:
    if spread is None:
        return "none"
    left = [placing.LeftThreadsPart(reason=printable(reason), threads=n) for reason, n in spread.left_by_reason.items()]
    return placing.SpreadThreadsPart(pinned=spread.pinned, left=left)


def _memory(memory: MemoryElsewhere) -> placing.MemoryElsewherePart:
    """Return the memory on other nodes; null with the reason if it is unknown."""
    return placing.MemoryElsewherePart(
        share=_round_share(memory.share),
        bytes=memory.size_bytes,
        reason=UNSET if memory.reason is None else printable(memory.reason),
        is_bound=True if memory.is_bound and memory.reason is None else UNSET,
    )


class ReceiptKeeper(RunListener):
    """A listener that forwards all events to another listener, and writes the receipt to an open file.

    The file receives only whole lines, so it is readable however the series or noisewatch ends. After the first line
    that cannot be written, no more lines are written, and the receipt `is_incomplete`.
    """

    def __init__(self, shown: RunListener, identifies: bool, descriptor: int, name: str, is_printed: bool) -> None:
        self._shown, self._identifies = shown, identifies
        self._descriptor, self._name, self._is_printed = descriptor, name, is_printed
        self._length = 0
        self.is_incomplete = False

    def on_begin(self, beginning: RunBeginning) -> None:
        self._shown.on_begin(beginning)
        self._write(header_of(beginning, self._identifies))

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self._shown.on_repetition(judged)
        self._write(repetition_of(judged, self._identifies))

    def on_end(self, series: RunSeries, options: SeriesOptions) -> None:
        """Write the receipt's last line, its footer."""
        self._write(footer_of(series, options))

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

    def _write(self, document: DocumentPart) -> None:
        """Write the line; show a remark at the first failure only."""
        if self.is_incomplete:
            return
        left = line = to_json(document).encode("utf-8", "replace")
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self.is_incomplete = True
            self._cut()
            self._shown.on_remark(f"{self._name}: the receipt ends here, but the run continues: {system_reason(error)}")
        else:
            self._length += len(line)

    def _cut(self) -> None:
        """Remove a partly written line from a regular file; standard output may have other writers."""
        with suppress(OSError):
            if not self._is_printed and stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, self._length)


@contextmanager
def open_receipt(path: str | None, shown: RunListener, identifies: bool) -> Iterator[ReceiptKeeper]:
    """Open the file at `path`, or standard output, before a command runs; yield the listener that writes the receipt.

    Raise UsageError if the file cannot be opened, or standard output is closed.
    """
    if path in PRINTED:
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        sys.stdout.flush()
        yield ReceiptKeeper(shown, identifies, sys.stdout.fileno(), "standard output", is_printed=True)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from error
    try:
        yield ReceiptKeeper(shown, identifies, descriptor, path, is_printed=False)
    finally:
        os.close(descriptor)
