"""Print how often preflight is right about the benchmark to come: `python -m tests.truth.gate` (half an hour).

For each condition and statement, one preflight of one CPU for the statement's kind of work (without `--profile`), and
then 25 samples of 100 ms of the statement, in five processes pinned to that CPU. A benchmark is within a budget if the
CV of its samples is, and if their mean is not above the statement's quiet time by more than the budget. The quiet time
is the median of the quicker half of all samples of several runs before and between the conditions.

What preflight measured is recorded, and the recording is judged at each budget that `choose_budgets` selects: at most
two on either side of what was measured. `--keep FOLDER` keeps the recordings and the samples, `--read FOLDER` judges
them again without measuring. Needs a C compiler, and root for the quota.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from noisewatch.judgement.terms import Gravity, Outcome, Severity, Status
from tests.truth.conditions import GATE_CONDITIONS
from tests.truth.gate_report import (
    BUDGETS,
    Effect,
    JudgedCase,
    case_lines,
    choose_budgets,
    measure_effect,
    quiet_line,
    quiet_time,
    summary_lines,
)
from tests.truth.workloads import WORKLOADS, Workload, compiled_program

_SAMPLE_MS = 100
_PROCESSES = 5
_LIVE_BUDGET = BUDGETS[len(BUDGETS) // 2]
_CONDITIONS_PER_QUIET_RUN = 5
_CASES, _QUIET_RUNS = "cases.jsonl", "quiet.jsonl"
_DEFAULT_STATEMENTS = ("sha256", "zlib", "json", "short walk in C", "walk in C")
_TIMEOUT_S = 300
_DECISIVE = (Gravity.FAILED, Gravity.UNANSWERED)
_FLOOR = "noise-floor-above-budget"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A statement on one CPU, with the time of one loop of it."""

    workload: Workload
    program: Path
    cpu: int
    once_s: float

    def samples_s(self) -> list[float]:
        return self.workload.samples_s(self.program, self.cpu, _SAMPLE_MS, self.once_s, _PROCESSES)


@dataclass(frozen=True, slots=True)
class QuietRun:
    """Samples of a statement without a deliberate condition."""

    round: int
    statement: str
    samples_s: list[float]


@dataclass(frozen=True, slots=True)
class KeptCase:
    """A condition and a statement. The recording is the name of a file in the same folder."""

    round: int
    condition: str
    statement: str
    work: str
    cpu: int
    recording: str
    live_outcome: str
    live_blocking: list[str]  # ids, at _LIVE_BUDGET
    samples_s: list[float]


class Question(NamedTuple):
    """A case that is to be judged at a budget."""

    case: KeptCase
    effect: Effect
    budget: float


def main() -> None:
    """Collect cases, unless they are read, then judge and print them."""
    parser = _parser()
    arguments = parser.parse_args()
    options = [] if arguments.confidence is None else ["--confidence", arguments.confidence]
    if arguments.read:
        if not Path(arguments.read, _CASES).exists():
            parser.error(f"{arguments.read} contains no cases ({_CASES})")
        _print_judgements(Path(arguments.read), options)
        return
    if os.nice(0) > 0:
        parser.error("the benchmarks have to run at normal priority: start without nice")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / _CASES).exists():
            parser.error(f"{folder} already contains cases: name another folder, or --read it")
        _collect(arguments, folder, options)
        _print_judgements(folder, options, with_live=True)


def _parser() -> argparse.ArgumentParser:
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(
        prog="python -m tests.truth.gate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="default: the last one")
    parser.add_argument("--conditions", nargs="*", default=list(GATE_CONDITIONS), choices=list(GATE_CONDITIONS))
    parser.add_argument("--statements", nargs="*", default=list(_DEFAULT_STATEMENTS), choices=names)
    parser.add_argument("--rounds", type=int, default=1, help="how many times to measure all cases (default: 1)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the recordings and samples in this folder")
    parser.add_argument("--read", metavar="FOLDER", help="judge the cases of this folder again, measuring nothing")
    parser.add_argument("--confidence", metavar="SHARE", help="passed to preflight")
    return parser


def _collect(arguments: argparse.Namespace, folder: Path, options: Sequence[str]) -> None:
    """Measure all cases, with a line for each when it is finished."""
    workloads = [workload for workload in WORKLOADS if workload.name in arguments.statements]
    with compiled_program() as program:
        benchmarks = [Benchmark(workload, program, arguments.cpu, workload.once_s(program)) for workload in workloads]
        for number in range(arguments.rounds):
            for benchmark in benchmarks:
                for place, condition in enumerate(arguments.conditions):
                    if place % _CONDITIONS_PER_QUIET_RUN == 0:
                        run = QuietRun(number, benchmark.workload.name, benchmark.samples_s())
                        _append(folder / _QUIET_RUNS, asdict(run))
                    try:
                        case = _measure_case(number, condition, benchmark, folder, options)
                    except OSError as error:
                        print(f"{condition}: not tried: {error}", flush=True)
                        continue
                    _append(folder / _CASES, asdict(case))
                    print(f"measured: {case.statement}, {case.condition}", flush=True)


def _measure_case(number: int, condition: str, benchmark: Benchmark, folder: Path, options: Sequence[str]) -> KeptCase:
    """Run preflight, then the benchmark. Raise OSError if the condition cannot be created."""
    workload, cpu = benchmark.workload, benchmark.cpu
    other = min(os.sched_getaffinity(0) - {cpu}, default=cpu)
    recording = f"{number} {workload.name} {condition}.nw".replace(" ", "_")
    with GATE_CONDITIONS[condition](cpu, other):
        live = _preflight(cpu, workload.work, _LIVE_BUDGET, ["--record", str(folder / recording), *options])
        samples_s = benchmark.samples_s()
    return KeptCase(
        number,
        condition,
        workload.name,
        workload.work,
        cpu,
        recording,
        live["verdict"],
        [name for name, _ in _blocking(live)],
        samples_s,
    )


def _append(path: Path, record: Mapping[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        yield from map(json.loads, lines)


def _preflight(cpu: int, work: str, budget: float, options: Sequence[str]) -> dict[str, Any]:
    """Return the verdict as a user gets it, in JSON. Raise RuntimeError if there is none."""
    command = [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(cpu), "--work", work]
    command += ["--max-cv", f"{budget:.0%}", "--format", "json", "--no-config", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    try:
        verdict: dict[str, Any] = json.loads(result.stdout)
    except ValueError:
        raise RuntimeError(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr}") from None
    return verdict


def _blocking(verdict: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the ids of the checks that decided the verdict, with their sentences.

    A decisive cause may also list warnings that have the same fix.
    """
    decisive = [cause["findings"] for cause in verdict["causes"] if cause["gravity"] in _DECISIVE]
    findings = {finding["id"]: finding for finding in verdict["findings"]}
    names = (name for names in decisive for name in names)
    return [(name, _sentence(findings[name])) for name in names if _is_blocking(findings[name])]


def _is_blocking(finding: Mapping[str, Any]) -> bool:
    is_open = finding["status"] == Status.UNKNOWN and finding["answered_by"] is None
    return finding["severity"] == Severity.BLOCKING and (is_open or finding["status"] == Status.FAIL)


def _sentence(finding: Mapping[str, Any]) -> str:
    """Return what a check reports; the reason if it is unknown."""
    return str(finding["reason"] or finding["said"])


def _print_judgements(folder: Path, options: Sequence[str], with_live: bool = False) -> None:
    """Judge the cases of a folder and print them; `with_live` also compares with the live verdicts."""
    quiet_runs: dict[tuple[int, str], list[list[float]]] = {}
    for run in (QuietRun(**record) for record in _records(folder / _QUIET_RUNS)):
        quiet_runs.setdefault((run.round, run.statement), []).append(run.samples_s)
    quiet_s = {key: quiet_time([time for run in runs for time in run]) for key, runs in quiet_runs.items()}
    for (_, statement), runs in quiet_runs.items():
        print(quiet_line(statement, runs))
    cases = [KeptCase(**record) for record in _records(folder / _CASES)]
    effects = [measure_effect(case.samples_s, quiet_s[case.round, case.statement]) for case in cases]
    case_effects = list(zip(cases, effects, strict=True))
    questions = [Question(*pair, budget) for pair in case_effects for budget in choose_budgets(pair[1].size)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        judged_cases = []
        for judged_case in pool.map(partial(_judge, folder, options), questions):
            judged_cases.append(judged_case)
            print("\n".join(case_lines(judged_case)), flush=True)
        print("\n" + "\n".join(summary_lines(judged_cases)), flush=True)
        if with_live:
            replayed = pool.map(
                partial(_judge, folder, options), [Question(*pair, _LIVE_BUDGET) for pair in case_effects]
            )
            print("\n" + "\n".join(_replay_lines(cases, list(replayed))))


def _judge(folder: Path, options: Sequence[str], question: Question) -> JudgedCase:
    """Judge a recording at a budget."""
    case = question.case
    recording = ["--replay", str(folder / case.recording)]
    verdict = _preflight(case.cpu, case.work, question.budget, [*recording, *options])
    return JudgedCase(
        case.condition,
        case.statement,
        question.budget,
        question.effect,
        Outcome(verdict["verdict"]),
        verdict.get("noise_floor_chance"),
        tuple(_blocking(verdict)),
        next((_sentence(finding) for finding in verdict["findings"] if finding["id"] == _FLOOR), "no noise floor"),
    )


def _replay_lines(cases: Sequence[KeptCase], replayed: Sequence[JudgedCase]) -> Iterator[str]:
    """Name the cases that the recording and the live preflight judge differently at the same budget."""
    differing = []
    for case, replay in zip(cases, replayed, strict=True):
        blocking = [name for name, _ in replay.blocking]
        if (replay.outcome, sorted(blocking)) != (case.live_outcome, sorted(case.live_blocking)):
            live = f"{case.live_outcome} ({', '.join(case.live_blocking)})"
            differing.append(
                f"  {case.condition}, {case.statement}: live {live}, replayed {replay.outcome} ({', '.join(blocking)})"
            )
    yield f"replayed differently from live at {_LIVE_BUDGET:.0%}: {len(differing)} of {len(cases)}"
    yield from differing


if __name__ == "__main__":
    main()
