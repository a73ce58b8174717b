"""Names of sources of noise with their kinds."""

from __future__ import annotations

import pytest

from noisewatch.kinds import Kind


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        (Kind.SOFTIRQ, "RCU", "softirq RCU"),
        (Kind.TICK, "Local timer interrupts", "tick Local timer interrupts"),
        (Kind.UNATTRIBUTED, "unattributed time", "unattributed time"),
        (Kind.QUOTA, "CPU quota of /a", "CPU quota of /a"),
        (Kind.OUTSIDE, "hypervisor (steal time)", "hypervisor (steal time)"),
    ],
)
def test_name_that_contains_its_kind_has_no_prefix(kind: Kind, name: str, words: str) -> None:
    assert kind.with_name(name) == words
