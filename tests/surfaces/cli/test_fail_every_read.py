"""`show` and `preflight` print a report whichever read fails, and `show` lists the failed files."""

from __future__ import annotations

import pytest

from noisewatch.documents.document import to_json
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.surfaces.reports.machine.json import describe_snapshot
from noisewatch.surfaces.reports.machine.text import text_of_snapshot
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.json import describe_verdict
from noisewatch.surfaces.reports.verdict.text import render
from tests.judgement.judging import judged
from tests.judgement.sweeps.test_fail_every_read import FAULTS, FaultyMachine, denied
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_preflight_ends_with_its_verdict_and_show_has_text_and_json(fault: object) -> None:
    """All faults together fail every third read, which is enough for reports."""
    moments = (quiet_files(), quiet_files(3.0))
    sound = WrittenMachine(*moments, answers=ANSWERS)
    judged(sound)
    broken, sizes = [], []
    for number in range(1 + 3 * list[object](FAULTS).index(fault), len(sound.reads) + 1, 3 * len(FAULTS)):
        verdict = judged(FaultyMachine(*moments, fault=fault, fails_at=number))  # type: ignore[arg-type]  # from FAULTS
        text, as_json = render(verdict, RenderOptions(0, 0.0, width=80)), to_json(describe_verdict(verdict, None, 0))
        if verdict.verdict.upper() not in text.splitlines()[-1] or verdict.verdict not in as_json:
            broken.append(number)
        snapshot = verdict.case.snapshot
        sizes.append(min(len(text_of_snapshot(snapshot, 100)), len(to_json(describe_snapshot(snapshot)))))
    assert broken == []
    assert len(sizes) > 25
    assert min(sizes) > 300


def test_show_names_each_file_that_was_denied() -> None:
    sound = WrittenMachine(quiet_files(), answers=ANSWERS)
    read_snapshot(sound, SnapshotOptions())
    unnamed = []
    for number in range(1, len(sound.reads) + 1):
        machine = FaultyMachine(quiet_files(), fault=denied, fails_at=number)
        unreadable = {
            failure["path"] for failure in describe_snapshot(read_snapshot(machine, SnapshotOptions()))["unreadable"]
        }
        path = machine.failed_path or ""
        if path in quiet_files() and path not in unreadable:
            unnamed.append(path)
    assert unnamed == []
