"""When and where a verdict was reached, as JSON tells it."""

from __future__ import annotations

import json
from dataclasses import replace

from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions
from tests import MACHINES
from tests.surfaces.reports.verdicts import AT_S, quiet_verdict, rendered
from tests.surfaces.running import Run


def test_a_live_verdict_has_its_time() -> None:
    case = quiet_verdict().case
    verdict = replace(quiet_verdict(), case=replace(case, snapshot=replace(case.snapshot, is_live=True)))
    assert json.loads(rendered("json", verdict))["at"] == AT_S
    assert json.loads(rendered("jsonl", verdict).splitlines()[0])["at"] == AT_S


def test_the_host_is_named_only_where_that_is_wanted() -> None:
    assert json.loads(rendered("json", quiet_verdict()))["host"] is None
    named = FORMATS["json"].render(quiet_verdict(), RenderOptions(0, AT_S, host="web1"))
    assert json.loads(named)["host"] == "web1"


def test_of_a_recording_neither_time_nor_host_is_known(run: Run) -> None:
    ran = run("preflight", "--replay", MACHINES / "host-calibration.nw", "--format", "json", "--identify")
    assert (ran.json["at"], ran.json["host"]) == (None, None)
