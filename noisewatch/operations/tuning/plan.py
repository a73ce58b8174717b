"""Plans a `tune`: the changes that fix what the checks found in this machine's settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import format_cpu_list
from noisewatch.errors import UsageError, quote
from noisewatch.judgement.checks.cpus.isolation import target_not_isolated
from noisewatch.judgement.fixes.actions import Action, MakePartition, Move, Write
from noisewatch.judgement.fixes.changes import changes_of
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.tuning import Change, FileChange, ThreadChange
from noisewatch.machine import Machine
from noisewatch.operations.pinning import affinity_restored
from noisewatch.operations.preflight import PreflightOptions, preflight
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.tuning.states import are_equal, change_key

_PREFERENCE = "/energy_performance_preference"


class PlannedChange(Struct, frozen=True):
    """A change and the state `before` it; None if that state is read only when the change is made."""

    change: Change
    before: str | None


class Step(Struct, frozen=True):
    """A finding and the actions that fix it, in order; changes that depend on each other share an action."""

    finding: Finding
    actions: tuple[tuple[PlannedChange, ...], ...]

    @property
    def changes(self) -> list[PlannedChange]:
        return [planned for action in self.actions for planned in action]


class TuningPlan(Struct, frozen=True):
    """The steps of tune in order, and the findings that are left to people, wholly or partly."""

    verdict: Verdict
    steps: tuple[Step, ...]
    left: tuple[Finding, ...]
    requested: tuple[PlannedChange, ...] = ()  # changes that the user requested; no check asks for them

    @property
    def actions(self) -> Iterator[Sequence[Change]]:
        """The changes of each action, in order."""
        for step in self.steps:
            for action in step.actions:
                yield [planned.change for planned in action]
        for planned in self.requested:
            yield [planned.change]

    @property
    def has_changes(self) -> bool:
        return bool(self.steps or self.requested)


def read_plan(
    machine: Machine, options: PreflightOptions, listener: ProgressListener, requests: Sequence[str] = ()
) -> TuningPlan:
    """Judge the machine's settings, without any measurement, and return the plan.

    The allowed CPUs of this process stay the same, because a command may inherit them. For `requests` see
    `plan_tuning`. Raise NoisewatchError if the machine cannot be judged, or a request is unknown.
    """
    settings_only = replace(options, sample_s=0.0, calibration=CalibrationOptions(0.0), wait_s=0.0)
    with affinity_restored():
        verdict = preflight(machine, settings_only, listener).verdict
    return plan_tuning(verdict, target_not_isolated.id in options.rules.selected, requests)


_SETTABLE = {"aslr=off": FileChange(Knob.ADDRESS_RANDOMISATION, "0")}  # no fix: changed on request


def name_of_request(change: Change) -> str:
    """Return the request that asks for the change, such as `aslr=off`."""
    return next(name for name, settable in _SETTABLE.items() if settable == change)


def plan_tuning(verdict: Verdict, makes_partition: bool, requests: Sequence[str] = ()) -> TuningPlan:
    """Return the changes for the failures and warnings of the verdict. No file or thread is changed twice.

    A partition is made only on request: it takes its CPUs away from all other processes. `requests` are further
    changes, such as `aslr=off`. Raise UsageError for an unknown one.
    """
    planned: set[object] = set()
    steps, left = [], []
    for finding in [*verdict.failures, *verdict.warnings]:
        fix = finding.answer.fix
        if fix is None:
            continue
        actions = []
        is_whole = bool(fix.actions)
        for action in fix.actions:
            changes = changes_of(action)
            if changes is None or (isinstance(action, MakePartition) and not makes_partition):
                is_whole = False
                continue
            new = tuple(_new_changes(action, changes, planned))
            if new:
                actions.append(new)
        if actions:
            steps.append(Step(finding, tuple(actions)))
        if not is_whole:
            left.append(finding)
    requested = tuple(_requested_changes(verdict, requests))
    return TuningPlan(verdict, tuple(sorted(steps, key=_is_late)), tuple(left), requested)


def _requested_changes(verdict: Verdict, requests: Sequence[str]) -> Iterator[PlannedChange]:
    """Yield the requested changes of settings that do not have the value yet. Raise UsageError for an unknown one."""
    for request in dict.fromkeys(requests):
        change = _SETTABLE.get(request)
        if change is None:
            raise UsageError(
                f"--set accepts {', '.join(_SETTABLE)}, not {quote(request)}; all other changes are fixes of checks"
            )
        value = verdict.case.snapshot.settings.knobs.integer(change.path)
        before = None if value is None else str(value)
        if before != change.value:
            yield PlannedChange(change, before)


def _new_changes(action: Action, changes: Sequence[Change], planned: set[object]) -> Iterable[PlannedChange]:
    """Yield the changes that are not planned yet and would change something, and add them to `planned`."""
    before_by_key = _states_before(action)
    for change in changes:
        key = change_key(change)
        before = before_by_key.get(key)
        if key in planned or (isinstance(change, FileChange) and before and are_equal(before, change.value)):
            continue
        planned.add(key)
        yield PlannedChange(change, before)


def _states_before(action: Action) -> dict[object, str]:
    """Return, by change, the state that the check observed."""
    if isinstance(action, Write):
        return {
            change_key(FileChange(setting.path, setting.value)): setting.before
            for setting in action.settings
            if setting.before is not None
        }
    if isinstance(action, Move):
        return {
            change_key(ThreadChange(pin.tid, 0, "", "")): format_cpu_list(pin.before)
            for pin in action.pins
            if pin.before is not None
        }
    return {}


def _is_late(step: Step) -> bool:
    """Return whether the step follows those that set the energy preference, which the governor performance locks."""
    return not any(
        isinstance(planned.change, FileChange) and planned.change.path.endswith(_PREFERENCE) for planned in step.changes
    )
