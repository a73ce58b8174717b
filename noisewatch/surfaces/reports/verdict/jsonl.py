"""The verdict as JSON lines: a head with everything but the findings, then one line for each finding."""

from __future__ import annotations

import json

from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.json import describe_verdict


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """All of `preflight --format jsonl`; the keys are those of `--format json`."""
    head = describe_verdict(verdict, occasion.own_cpu_share, occasion.exit_status)
    findings = head.pop("findings")
    return "".join(json.dumps(each) + "\n" for each in (head, *findings))
