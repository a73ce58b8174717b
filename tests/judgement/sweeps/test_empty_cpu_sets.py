"""No command, option or advice has an empty CPU list, even if no CPU is a target, or none is left for other work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from noisewatch.judgement.cause_words import steps_against
from noisewatch.judgement.causes import causes_of
from noisewatch.judgement.verdict import Verdict
from tests.judgement.example import Example, first_failures

_NO_CPU: frozenset[int] = frozenset()
_ALL = frozenset({0, 1, 2, 3})
_OPTION = re.compile(
    r"\b(isolcpus|nohz_full|rcu_nocbs|irqaffinity|unbound_cpus|CPULIST|AllowedCPUs|CPUAffinity|membind)=(\S*)"
)
_ARGUMENT = re.compile(r"(taskset -\w+|--cpus)(?= |$)(\s*\S*)")


def _texts(verdict: Verdict) -> Iterator[str]:
    """Yield the texts of the verdict that may advise something."""
    for finding in verdict.findings:
        yield from (finding.answer.said, finding.answer.reason or "")
        fix = finding.answer.fix
        if fix is not None:
            yield from (fix.now or "", fix.persist or "", fix.kernel_arguments or "")
    for cause in causes_of(verdict):
        yield from (words for name, words in steps_against(cause) if name != "undo")  # `AllowedCPUs=` removes a setting


def _empty_lists(text: str) -> list[str]:
    options = [match[0] for match in _OPTION.finditer(text) if not re.search(r"\d[^a-z\d]*$", match[2])]
    return options + [match[0] for match in _ARGUMENT.finditer(text) if not re.search(r"^ [\d)N]", match[2])]


@pytest.mark.parametrize("target", [_NO_CPU, _ALL], ids=["no-target", "no-housekeeping"])
@pytest.mark.parametrize("example", first_failures(), ids=lambda example: example.id)
def test_no_advice_has_an_empty_list(example: Example, target: frozenset[int]) -> None:
    verdict = replace(example, target=target).judged()
    assert [empty_list for text in _texts(verdict) for empty_list in _empty_lists(text)] == []


@pytest.mark.parametrize("text", ["isolcpus=domain,managed_irq,", "taskset -c  ./a", "--cpus", "CPULIST= in"])
def test_an_empty_list_is_detected(text: str) -> None:
    assert _empty_lists(text)


@pytest.mark.parametrize("text", ["isolcpus=domain,managed_irq,1", "taskset -pc 0-1 900", "--cpus)", "CPULIST=2-3;"])
def test_a_list_with_cpus_is_not_an_empty_list(text: str) -> None:
    assert not _empty_lists(text)
