"""Kill `noisewatch tune` and `restore` at their changes, restore, and print what differs from before, as JSON.

Runs as root in the lab's machine: `python -m tests.lab.tune_kills OPTION...`, with the options of tune. One process
does all of it, because Python starts 20 times more slowly there than on the host.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from noisewatch.kernel.system.tuning import ThreadChange
from noisewatch.machine.tuning import Settings
from noisewatch.operations.tuning.plan import PlannedChange, TuningPlan
from noisewatch.operations.tuning.tune import failed, has_journal, new_session, restore_host, tune_host
from noisewatch.operations.tuning.tuner import Outcome
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.tuning import plan_of
from tests.lab.machine_state import differences, read_affinities, read_settings

_STEP = 5  # of rounds that would otherwise take too long
_RANDOM_KILLS = 8
_MOVED_THREAD = "kswapd0"


class DyingSettings(Settings):
    """This host's settings; the process kills itself at its `dies_at`-th change, before or after it is made."""

    def __init__(self, dies_at: int, is_before: bool) -> None:
        super().__init__()
        self._left = dies_at
        self._is_before = is_before

    def _change(self, method: Callable[..., None], *arguments: Any) -> None:
        self._left -= 1
        if self._left == 0 and self._is_before:
            os.kill(os.getpid(), signal.SIGKILL)
        method(*arguments)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, path: str, text: str) -> None:
        self._change(super().write, path, text)

    def make_group(self, path: str) -> None:
        self._change(super().make_group, path)

    def remove_group(self, path: str) -> None:
        self._change(super().remove_group, path)

    def set_affinity(self, tid: int, cpus: frozenset[int]) -> None:
        self._change(super().set_affinity, tid, cpus)


@dataclass
class Round:
    """Kills of one kind. `restored` counts changes; `differences` contains what a restore did not bring back."""

    name: str
    kills: int = 0
    restored: int = 0
    seconds: float = 0.0
    differences: list[object] = field(default_factory=list)


class Killer:
    """A plan whose tuning is killed again and again."""

    def __init__(self, plan: TuningPlan) -> None:
        self._plan = plan
        self._settings, self._affinities = read_settings(), read_affinities()

    def _tune(self, settings: Settings) -> None:
        tune_host(self._plan, new_session(self._plan.verdict.case.target), settings)

    def _tune_and_restore(self) -> None:
        self._tune(Settings())
        restore_host()

    def kill_at_changes(self, name: str, step: int, is_before: bool = False, is_restoring: bool = False) -> Round:
        """Kill the process at its first change, then `step` changes later, until it ends without a kill."""
        result = Round(name)
        began_s = time.monotonic()
        while True:
            if is_restoring:
                self._tune(Settings())
            dying = DyingSettings(result.kills * step + 1, is_before)
            work = partial(restore_host, settings=dying) if is_restoring else partial(self._tune, dying)
            status = os.waitpid(_fork(work), 0)[1]
            self._restore(result)
            if not os.WIFSIGNALED(status):
                return self._complete(result, began_s)
            result.kills += 1

    def kill_at_random(self) -> Round:
        """Kill a process that tunes and restores at random moments."""
        result, moments = Round("at random moments"), random.Random(1)
        began_s = time.monotonic()
        self._tune_and_restore()
        longest_s = time.monotonic() - began_s
        for _ in range(_RANDOM_KILLS):
            child = _fork(self._tune_and_restore)
            time.sleep(moments.uniform(0, longest_s))
            os.kill(child, signal.SIGKILL)
            result.kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
            self._restore(result)
        return self._complete(result, began_s)

    def _restore(self, result: Round) -> None:
        outcomes = restore_host().outcomes
        result.restored += sum(changed.outcome == Outcome.DONE for changed in outcomes)
        left = [(str(changed.change), changed.outcome, changed.reason) for changed in failed(outcomes)]
        settings = differences(self._settings, read_settings())
        if left or settings or has_journal():
            result.differences.append((result.kills, left, settings))

    def _complete(self, result: Round, began_s: float) -> Round:
        """Compare the affinities once after all kills: reading them takes longer than a kill, and wrong ones remain."""
        affinities = differences(self._affinities, read_affinities(), of_both=True)
        if affinities:
            result.differences.append(affinities)
        result.seconds = round(time.monotonic() - began_s, 1)
        return result


def _fork(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def _moved_thread() -> ThreadChange:
    """Return a change of a kernel thread's affinity: without a sample, no check requests one."""
    paths = [Path(path) for path in glob("/proc/[0-9]*/comm")]
    (tid,) = [int(path.parent.name) for path in paths if path.read_text().strip() == _MOVED_THREAD]
    return ThreadChange(tid, 0, "", "0-1")


def main() -> None:
    """Print the result of each round."""
    plan, _ = plan_of(parse_arguments(["tune", *sys.argv[1:]]))
    killer = Killer(replace(plan, requested=(PlannedChange(_moved_thread(), None),)))
    results = [
        killer.kill_at_changes("after each change", 1),
        killer.kill_at_changes("before a change", _STEP, is_before=True),
        killer.kill_at_changes("while restoring", _STEP, is_restoring=True),
        killer.kill_at_random(),
    ]
    print(json.dumps({result.name: asdict(result) for result in results}))


if __name__ == "__main__":
    main()
