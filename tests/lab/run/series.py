"""Series of repetitions in the lab: a hog in one of them, or none."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tests.lab.lab import Lab
from tests.live.hog_in_a_run import SEVENTH, HoggedSeries
from tests.plumbing.privileges import NOBODY, WITH_HIDDEN_PROCESSES, WITH_TRACEFS, WITHOUT_TRACEFS
from tests.plumbing.receipts import lines_of

CPU = 6  # isolated, and without a tick
PRIVILEGES: dict[str, Sequence[str]] = {
    "root with tracefs": WITH_TRACEFS,
    "root without": WITHOUT_TRACEFS,
    "nobody": NOBODY,
    "nobody who sees no other's processes": (*WITH_HIDDEN_PROCESSES, *NOBODY),
}
_WORK = "i=0; while [ $i -lt {} ]; do i=$((i+1)); done"
_LONG, _SHORT = _WORK.format(50_000), _WORK.format(1_000)  # a second, and some 35 ms
_HOG_S = 0.6
# Starts the hog in the seventh repetition, and prints its PID. All users may write to the folder, but on 9p not to a
# file that root has opened, so the output goes to /run.
_WITH_A_HOG = """
folder=$(mktemp -d); chmod 755 .; chmod 777 $folder; cd $folder; : > begun; chmod 666 begun; output=/run/output
{noisewatch} > $output 2>&1 & run=$!
until [ $(wc -c < begun) -ge {seventh} ]; do
    [ -d /proc/$run ] || {{ cat $output >&2; exit 1; }}
    sleep 0.05
done
taskset -c {cpu} sh -c "while :; do :; done" & hog=$!
sleep {hog_s}
kill $hog
wait $run || {{ cat $output >&2; exit 1; }}
echo $folder $hog
"""


def run_with_a_hog(lab: Lab, privilege: Sequence[str], *options: str) -> HoggedSeries:
    """Run ten repetitions of a second with a hog in the seventh; `privilege` is the command that starts noisewatch."""
    noisewatch = ["noisewatch", "run", "--cpus", str(CPU), "--runs", "10", "--calibration", "0"]
    noisewatch += ["--output", "receipt.jsonl", *options, "--", "sh", "-c", f"echo >> begun; {_LONG}"]
    script = _WITH_A_HOG.format(
        noisewatch=shlex.join([*privilege, *noisewatch]),
        seventh=SEVENTH,
        cpu=CPU,
        hog_s=_HOG_S,
    )
    folder, pid = lab.do(script).split()
    return HoggedSeries(int(pid), lines_of(lab.scratch / folder / "receipt.jsonl"))


def quiet_repetitions(lab: Lab, repetitions: int) -> list[dict[str, Any]]:
    """Return the receipt lines of short repetitions without a deliberate disturbance."""
    lab.do(
        f"noisewatch run --cpus {CPU} --runs {repetitions} --calibration 1 --output quiet.jsonl -- "
        f"sh -c {shlex.quote(_SHORT)}"
    )
    return lines_of(lab.scratch / "quiet.jsonl")


def verdict_with_reason(line: Mapping[str, Any]) -> str:
    """Return the verdict of a repetition with its first reason or unknown."""
    reasons = [reason["name"] for reason in line["reasons"]] or line["unknowns"]
    return f"{line['verdict']}: {reasons[0]}"
