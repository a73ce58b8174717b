"""The parts that several JSON documents have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from noisewatch.documents.calibration import GapPart, ShareOfGapPart, SourcePart
from noisewatch.documents.document import fill_part
from noisewatch.documents.machine import CulpritPart, FactsPart, FixPart, MachinePart, ProcessPart, RhythmPart
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine.recording.privacy import Scrubber
from noisewatch.model.calibration.gap_causes import GapCause, Part
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.trace.culprits import MeasuredCulprit

if TYPE_CHECKING:
    from noisewatch.kernel.tasks.identity import ProcessIdentity
    from noisewatch.model.rhythm import Rhythm


def describe_machine(snapshot: Snapshot) -> MachinePart:
    """Return the value of `machine`, a key of several documents."""
    return fill_part(
        MachinePart,
        snapshot.platform,
        is_live=snapshot.is_live,
        clock_source=snapshot.settings.clock_source.current,
        mains_power=snapshot.settings.mains_power.is_on,
    )


def describe_facts(snapshot: Snapshot, identifies: bool = False) -> FactsPart:
    """Return the value of the key `facts`: facts by class and name, to compare machines.

    As in a recording, the host's name is left out unless `identifies`. Of the kernel's command line, a snapshot keeps
    only the options that matter to noise.
    """
    scrub = Scrubber("" if identifies else snapshot.platform.host or "")
    return FactsPart(
        **{
            of_class: {name: None if value is None else scrub.without_host(value) for name, value in facts.items()}
            for of_class, facts in facts_of(snapshot).items()
        }
    )


def describe_culprit(culprit: Disturbance, identifies: bool = False) -> CulpritPart:
    """Return a source of noise, for JSON."""
    process = describe_process(culprit.identity, identifies)
    rhythm = _describe_rhythm(culprit.rhythm)
    return fill_part(CulpritPart, culprit, inferred=culprit.is_inferred, process=process, rhythm=rhythm)


def describe_process(identity: ProcessIdentity | None, identifies: bool) -> ProcessPart | UnsetType:
    """Return a culprit's process, for JSON; the command only if `identifies`."""
    if identity is None:
        return UNSET
    command = identity.command if identifies and identity.command else UNSET
    return fill_part(ProcessPart, identity.surroundings, name=identity.name, command=command)


def _describe_rhythm(rhythm: Rhythm | None) -> RhythmPart | UnsetType:
    return UNSET if rhythm is None else fill_part(RhythmPart, rhythm)


def describe_source(culprit: MeasuredCulprit) -> SourcePart:
    """Return a measured source of noise with its interruptions by length, for JSON."""
    lengths = sorted(culprit.count_by_length.items())
    return fill_part(
        SourcePart,
        culprit.disturbance,
        inferred=culprit.disturbance.is_inferred,
        process=describe_process(culprit.disturbance.identity, identifies=False),
        rhythm=_describe_rhythm(culprit.disturbance.rhythm),
        count=culprit.count,
        p50_ns=culprit.quantile_ns(0.5),
        p99_ns=culprit.quantile_ns(0.99),
        max_ns=culprit.max_ns,
        lengths_ns=[length for length, _ in lengths],
        counts=[count for _, count in lengths],
    )


def describe_gap(cause: GapCause) -> GapPart:
    """Return a gap of a calibration with its causes, for JSON."""
    return fill_part(
        GapPart,
        cause,
        at_ns=cause.start_ns,
        traced_ns=cause.kernel_ns,
        parts=[describe_share_of_gap(part) for part in cause.parts],
    )


def describe_share_of_gap(part: Part) -> ShareOfGapPart:
    """Return one cause of a gap, for JSON; several threads together have no `tid`."""
    source = part.source
    tid = source.thread.tid if source.thread is not None and part.crowd is None else None
    return fill_part(ShareOfGapPart, part, kind=source.kind, tid=tid, irq=source.irq)


def describe_fix(fix: Fix | None) -> FixPart | None:
    """Return the fix's commands, for JSON; None if there is no fix."""
    return None if fix is None else fill_part(FixPart, fix)
