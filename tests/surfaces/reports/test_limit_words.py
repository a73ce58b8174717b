"""The number in a failure is labelled as a limit, a minimum or a period."""

from __future__ import annotations

import pytest

from noisewatch.judgement.finding_words import sentence
from tests.judgement.example import Example, all_examples

_ROLES = {
    "just-booted": "(minimum 300 s)",
    "kernel-log-troubled": "(looked back 600 s)",
    "memory-statistics-updated-often": "(minimum 10 s)",
    "processor-hot": "(minimum 5 K)",
    "no-housekeeping-cpu": "(minimum 1 CPU)",
    "cpu-quota": "(minimum 2 CPUs)",
    "target-cpu-busy": "(limit 5.0%)",
}


@pytest.mark.parametrize(("check_id", "words"), _ROLES.items())
def test_number_in_a_failure_is_labelled(check_id: str, words: str) -> None:
    example: Example = next(example for example in all_examples() if (example.id, example.status) == (check_id, "fail"))
    assert words in sentence(example.found())
