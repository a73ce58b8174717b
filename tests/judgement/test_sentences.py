"""The sentences of checks are well-formed on machines without CPUs, files or targets too."""

from __future__ import annotations

import re

import pytest

from noisewatch.cpus import CpuSet
from tests.judgement.example import VIRTUAL
from tests.judgement.judging import judged
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

# A subject in the middle of a sentence, a list without members, a word or a mark twice.
_AWKWARD = re.compile(
    r"(?<!but )(?<!; )(?<!^)this may be a|for no CPU|of no CPU|on no CPU|no CPUs? (?:is|are)\b|CPUs? (?:[,;:)]|$)"
    r"|=(?:\s|$)|\b(\w+) \1\b|  |,,|;;|: :|\(\)|\{\}|None|frozenset",
    re.MULTILINE,
)
_NO_CPUFREQ = tuple(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4))
_ALL = frozenset(range(4))


@pytest.mark.parametrize("target", [frozenset(), frozenset({2}), _ALL], ids=["no target", "one target", "all"])
@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, ()),
        ({}, _NO_CPUFREQ),
        (VIRTUAL, ()),
        ({}, ("/proc",)),
        ({}, ("/sys",)),
        ({}, (f"{CPUS}/online", "/proc/stat")),
    ],
    ids=["quiet", "maybe virtual", "virtual", "no proc", "no sys", "no CPU online"],
)
@pytest.mark.parametrize("is_copy", [False, True])
def test_sentences_of_checks_are_well_formed(
    changed: Files, missing: tuple[str, ...], target: CpuSet, is_copy: bool
) -> None:
    moments = [without(quiet_files(seconds) | dict(changed), *missing) for seconds in (0.0, 3.0)]
    verdict = judged(WrittenMachine(*moments, answers=ANSWERS, is_copy=is_copy), target, is_calibrated=False)
    texts = {
        finding.check.id: text
        for finding in verdict.findings
        for text in (finding.answer.said, finding.answer.reason or "")
        if _AWKWARD.search(text)
    }
    assert texts == {}
