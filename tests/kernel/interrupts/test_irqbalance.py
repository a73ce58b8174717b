"""CPUs that irqbalance is banned from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.errors import Malformed
from noisewatch.kernel.interrupts.irqbalance import LIST, MASK, parse_banned, parse_environment, read_irqbalance
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.privacy import irqbalance_settings
from tests.judgement.sweeps.lessened import DENIED, TRUNCATED, LessenedMachine
from tests.written import BARE, reading
from tests.written.quiet_machine import process

_ISOLATED = frozenset({2, 3})


@pytest.mark.parametrize(
    ("variables", "banned"),
    [
        ({}, {2, 3}),
        ({MASK: "0"}, set()),
        ({MASK: "ff000000,00000001"}, {0, *range(56, 64)}),
        ({LIST: "0,2-3"}, {0, 2, 3}),
        ({MASK: "1", LIST: "2-3"}, {0}),
    ],
)
def test_variable_replaces_the_automatic_ban(variables: dict[str, str], banned: set[int]) -> None:
    assert parse_banned(variables, _ISOLATED) == banned


@pytest.mark.parametrize("variables", [{MASK: ""}, {LIST: ""}, {MASK: "", LIST: "2"}, {MASK: "xyz"}, {LIST: "-"}])
def test_ambiguous_or_malformed_variable_is_unknown(variables: dict[str, str]) -> None:
    with pytest.raises(Malformed):
        parse_banned(variables, _ISOLATED)


@given(st.text())
def test_any_environment_is_parsed_or_rejected(text: str) -> None:
    try:
        assert parse_environment(text).keys() <= {MASK, LIST}
    except Malformed:
        assert not text.endswith("\0")


@given(st.text())
def test_any_configuration_is_parsed(text: str) -> None:
    assert {name for name, _ in irqbalance_settings(text)} <= {MASK, LIST}


def test_only_the_environment_of_irqbalance_is_read() -> None:
    files = process(800, "irqbalance", 0, 5) | process(801, "bash", 0, 5)
    reader = reading(files | {"/proc/800/environ": f"{MASK}=0\0", "/proc/801/environ": f"{MASK}=1\0"})
    tasks = TaskReader().read(reader, frozenset())
    assert read_irqbalance(reader, tasks).started_with == {800: {MASK: "0"}}
    assert "/proc/801/environ" not in reader.asked


@pytest.mark.parametrize("how", [DENIED, TRUNCATED])
def test_partially_read_configuration_is_unknown(how: str) -> None:
    files = process(800, "irqbalance", 0, 5) | {"/etc/default/irqbalance": f"{MASK}=c\n"}
    other = "/etc/sysconfig/irqbalance"
    machine = LessenedMachine(dict(BARE) | files | {other: f"{MASK}=c\n"}).take(other, how)
    reader = Reader(machine)
    assert read_irqbalance(reader, TaskReader().read(reader, frozenset())).configured is None
