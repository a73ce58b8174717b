"""`noisewatch preflight`"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from dataclasses import dataclass, replace

from noisewatch.judgement.case import Case, calibrated_with
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.machine import Machine
from noisewatch.machine.recording import Recording
from noisewatch.model.interval import Interval, interval_between
from noisewatch.sources.snapshot import Snapshot, Wish, read_snapshot
from noisewatch.sources.tasks import TaskReader
from noisewatch.surfaces.aside import move_aside
from noisewatch.surfaces.calibrating import calibrate_cpus
from noisewatch.surfaces.cli.calibration import budget_of, calibration_wish, recorded
from noisewatch.surfaces.cli.live import LivePicture
from noisewatch.surfaces.cli.machines import open_machine, report_damage, wish_of
from noisewatch.surfaces.cli.terminal import Progress, takes_colour, width
from noisewatch.surfaces.cli.values import SHORTEST_SAMPLE_S
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.verdict_json import describe_verdict
from noisewatch.surfaces.reports.verdict_text import text_of_verdict

_PROGRESS_EVERY_S = 0.5
_STANDS_STILL = "a copied tree stands still: nothing can be sampled (--sample 0 judges its settings alone)"
_TOO_SHORT = f"the recording is shorter than {SHORTEST_SAMPLE_S:g} s"


@dataclass(frozen=True, slots=True)
class _Sampled:
    case: Case
    own_cpu_share: float | None = None


def run(arguments: Namespace) -> int:
    """Samples, calibrates, judges, reports; the exit status is the verdict's."""
    machine = open_machine(arguments)
    with opened_output(arguments.output) as output, recorded(machine, arguments.record) as source:
        wish = replace(wish_of(arguments, source), asks_jobs=True)
        sampled = _calibrated(source, _sample(source, wish, arguments.sample), wish, arguments)
        verdict = judge(sampled.case, strict=arguments.strict)
        exit_status = 0 if arguments.exit_zero else verdict.exit_status
        output.write(_report(verdict, sampled, exit_status, arguments).encode("utf-8", "replace"))
    report_damage(machine)
    return exit_status


def _report(verdict: Verdict, sampled: _Sampled, exit_status: int, arguments: Namespace) -> str:
    if arguments.format == "json":
        return json.dumps(describe_verdict(verdict, sampled.own_cpu_share, exit_status), indent=1) + "\n"
    return text_of_verdict(verdict, exit_status, width(), takes_colour(arguments.output))


def _calibrated(machine: Machine, sampled: _Sampled, wish: Wish, arguments: Namespace) -> _Sampled:
    """With the microbenchmark, which runs when the sample has been taken: it would be the noise in it."""
    if arguments.calibration == 0:
        return sampled
    case = sampled.case
    picture = LivePicture()
    try:
        calibration = calibration_wish(arguments, arguments.calibration)
        samples = calibrate_cpus(machine, case.snapshot, case.target & case.online, calibration, picture)
    finally:
        picture.clear()
    if isinstance(samples, str):
        return replace(sampled, case=replace(case, no_calibration_reason=samples))
    calibrated = calibrated_with(samples, budget_of(arguments), case.target)
    return replace(
        sampled, case=replace(case, calibrated=calibrated, under_load=_under_load(machine, wish, case.snapshot))
    )


def _under_load(machine: Machine, wish: Wish, before: Snapshot) -> Interval | None:
    """The time of the calibration, as far as the machine can tell of it."""
    if isinstance(machine, Recording):
        if not machine.advance():
            return None
    elif not machine.is_live:
        return None
    after = read_snapshot(machine, wish, None, before)
    return interval_between(before, after) if after.taken_at_ns > before.taken_at_ns else None


def _sample(machine: Machine, wish: Wish, seconds: float) -> _Sampled:
    if seconds == 0 and isinstance(machine, Recording):
        while machine.advance(past_asides=False):
            pass
    if seconds == 0:
        snapshot = read_snapshot(machine, wish, TaskReader(asks_all_affinities=True))
        _move_aside(snapshot)
        return _Sampled(Case(snapshot))
    if isinstance(machine, Recording):
        return _Sampled(_replayed(machine, wish))
    if not machine.is_live:
        return _Sampled(Case(read_snapshot(machine, wish, TaskReader()), no_sample_reason=_STANDS_STILL))
    return _sample_live(machine, wish, seconds)


def _sample_live(machine: Machine, wish: Wish, seconds: float) -> _Sampled:
    """What is slow to read comes first, and from the right CPUs, so that it does not show in the sample."""
    task_reader = TaskReader(asks_all_affinities=True)
    first = read_snapshot(machine, wish, task_reader)
    _move_aside(first)
    before = read_snapshot(machine, wish, task_reader, first)
    used_before_s = time.process_time()
    _wait(seconds)
    used_s = time.process_time() - used_before_s
    after = read_snapshot(machine, wish, task_reader, before)
    return _Sampled(Case(after, interval_between(before, after)), used_s / seconds)


def _move_aside(snapshot: Snapshot) -> None:
    remark = move_aside(snapshot)
    if remark is not None:
        print(f"noisewatch: {remark}", file=sys.stderr)


def _wait(seconds: float) -> None:
    progress = Progress("sampling")
    started = time.monotonic()
    while (done := time.monotonic() - started) < seconds:
        progress.show(done, seconds)
        time.sleep(min(_PROGRESS_EVERY_S, seconds - done))
    progress.clear()


def _replayed(machine: Recording, wish: Wish) -> Case:
    """The recording up to its calibration is the sample."""
    task_reader = TaskReader()
    before = read_snapshot(machine, wish, task_reader)
    moved = False
    while machine.advance(past_asides=False):
        moved = True
    after = read_snapshot(machine, wish, task_reader)
    if not moved or (after.taken_at_ns - before.taken_at_ns) / 1e9 < SHORTEST_SAMPLE_S:
        return Case(before, no_sample_reason=_TOO_SHORT)
    return Case(after, interval_between(before, after))
