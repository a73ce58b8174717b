"""Frames that the sampler encodes and the screen decodes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.judgement.causes import causes_of
from noisewatch.judgement.fixes.actions import run_command, write
from noisewatch.judgement.fixes.fix import BootOptions, Fix
from noisewatch.judgement.terms import Counts, Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    NO_FIELDS,
    CauseLine,
    ClockLimits,
    Conditions,
    CoolingLine,
    CpuLine,
    CulpritLine,
    FindingLine,
    Frame,
    PlaceLine,
    Temperature,
    Throttled,
    decode_frame,
    encode_frame,
    stable_fields,
)
from noisewatch.operations.frame.making import frame_of
from tests.judgement.judging import judged
from tests.surfaces.reports.verdicts import failed_verdict
from tests.surfaces.tui.framing import cpu_line, culprit, frame
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, process, quiet_files

_CPUS = st.integers(0, 8191)
_FIGURES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_KHZ = st.none() | st.integers()
_TEXTS = st.text(max_size=20)
_CPU_LISTS = st.lists(_CPUS, max_size=4).map(tuple)
_CPU_LINES = st.builds(
    CpuLine,
    _CPUS,
    st.sampled_from(Role),
    _FIGURES,
    st.booleans(),
    _FIGURES,
    _FIGURES,
    _FIGURES,
    st.none() | st.integers(),
    _TEXTS,
)
_CULPRITS = st.builds(
    CulpritLine,
    cpu=_CPUS,
    role=st.sampled_from(Role),
    kind=st.sampled_from(Kind),
    name=_TEXTS,
    pid=st.none() | st.integers(),
    tid=st.none() | st.integers(),
    irq=st.none() | st.integers(),
    rate_per_s=_FIGURES,
    stolen_ns_per_s=st.floats(0, 1e12),
    is_estimate=st.booleans(),
)
_FRAMES = st.builds(
    Frame,
    taken_at_ns=st.integers(0, 1 << 63),
    seconds=st.floats(0, 1e6),
    machine=_TEXTS,
    target=_CPU_LISTS,
    target_chosen_by=_TEXTS,
    housekeeping=_CPU_LISTS,
    online_count=st.integers(0, 8192),
    turbo=st.none() | _TEXTS,
    verdict=st.none() | _TEXTS,
    findings=st.lists(
        st.builds(FindingLine, *[_TEXTS] * 3, st.sampled_from(Gravity), _TEXTS, st.none() | _TEXTS), max_size=4
    ).map(tuple),
    passed=st.none() | st.integers(0, 200),
    judged_s=st.none() | st.floats(0, 1e6),
    cpus=st.lists(_CPU_LINES, max_size=4).map(tuple),
    culprits=st.lists(_CULPRITS, max_size=4).map(tuple),
    sampler_cpu_s=_FIGURES,
    is_last=st.booleans(),
    counts=st.none() | st.builds(Counts, *[st.integers(0, 200)] * 8),
    remark=st.none() | _TEXTS,
    wall_ns=st.none() | st.integers(),
    ahead_s=st.none() | st.integers(),
    places=st.none()
    | st.lists(st.builds(PlaceLine, _CPUS, _KHZ, _KHZ, _KHZ, _TEXTS, _CPU_LISTS), max_size=4).map(tuple),
    conditions=st.builds(
        Conditions,
        mains_power=st.none() | st.booleans() | _TEXTS,
        clock_limits=st.lists(st.builds(ClockLimits, _TEXTS, _KHZ, _KHZ), max_size=2).map(tuple),
        throttled=st.lists(st.builds(Throttled, _TEXTS, _TEXTS, _KHZ), max_size=2).map(tuple),
        cooling=st.lists(st.builds(CoolingLine, _TEXTS, _KHZ, _KHZ), max_size=2).map(tuple),
        temperatures=st.lists(st.builds(Temperature, _TEXTS, _FIGURES, _FIGURES), max_size=2).map(tuple),
    ),
)


_CAUSES = st.sampled_from(((), (CauseLine((("now", "a"),), ("b",)),), (CauseLine(said="c", is_open=True),)))
_GRAVITIES = st.sampled_from(("", "010", "011"))


@settings(max_examples=50)
@given(_FRAMES)
def test_a_decoded_frame_equals_the_encoded_one(whole: Frame) -> None:
    assert decode_frame(encode_frame(whole)) == whole


@settings(max_examples=30)
@given(st.lists(_FRAMES, max_size=4), st.lists(_CAUSES, min_size=4, max_size=4), st.lists(_GRAVITIES, min_size=4))
def test_decoded_frames_equal_the_encoded_ones_if_lines_omit_unchanged_fields(
    frames: list[Frame], causes: list[tuple[CauseLine, ...]], gravities: list[str]
) -> None:
    sent = received = NO_FIELDS
    for plain, frame_causes, places in zip(frames, causes, gravities, strict=False):
        whole = replace(plain, causes=frame_causes, gravities=places)
        decoded = decode_frame(encode_frame(whole, sent), received)
        assert decoded == whole
        sent, received = stable_fields(whole), stable_fields(decoded)


def test_an_infinite_figure_is_decoded_as_unknown() -> None:
    line = replace(cpu_line(2), interrupts_per_s=math.inf)
    assert decode_frame(encode_frame(frame((line,)))).cpus == (replace(line, interrupts_per_s=None),)


def test_a_name_that_is_not_unicode_is_decoded_with_a_question_mark() -> None:
    """The name of a process may have any bytes."""
    sent = frame(culprits=(culprit("ho\udcffg"),), remark="c\nd")
    decoded = decode_frame(encode_frame(sent))
    assert decoded == replace(sent, culprits=(culprit("ho?g"),))
    assert encode_frame(sent).count(b"\n") == 1


def test_causes_and_gravities_are_encoded_only_after_a_change() -> None:
    cause = CauseLine((("now", "systemctl stop hog"),), ("tasks-on-target",))
    first = frame(causes=(cause,), gravities="012")
    lines = [
        encode_frame(first, NO_FIELDS),
        encode_frame(first, stable_fields(first)),
        encode_frame(replace(first, gravities="010"), stable_fields(first)),
    ]
    assert [(b"stop hog" in line, b'"gravities"' in line) for line in lines] == [
        (True, True),
        (False, False),
        (False, True),
    ]


def test_names_of_figures_are_not_repeated_for_each_cpu() -> None:
    one, two = (len(encode_frame(frame(tuple(cpu_line(cpu) for cpu in range(count))))) for count in (1, 2))
    assert two - one < 100


@settings(max_examples=50)
@given(_FRAMES)
def test_a_frame_is_one_line(whole: Frame) -> None:
    encoded = encode_frame(whole)
    assert encoded.index(b"\n") == len(encoded) - 1


def test_unknown_figures_stay_unknown() -> None:
    line = CpuLine(7, Role.TARGET)
    assert decode_frame(encode_frame(frame((line,)))).cpus == (line,)


def test_the_frame_of_a_large_machine_fits_the_line_limit_of_the_screen() -> None:
    lines = tuple(cpu_line(cpu) for cpu in range(4096))
    culprits = tuple(culprit(f"worker-{number}" * 10) for number in range(64))
    assert len(encode_frame(frame(lines, culprits))) < 1 << 24


_OPTION = BootOptions("nosmt")


@pytest.mark.parametrize(
    ("fix", "shown", "is_command"),
    [
        (Fix((write("/x", 1, None),), (_OPTION,)), "echo 1 | sudo tee /x", True),
        (Fix(lasting=(run_command("systemctl stop a"),)), "sudo systemctl stop a", True),
        (Fix(lasting=(_OPTION,)), "add to the kernel command line and reboot: nosmt", False),
        (None, None, False),
    ],
)
def test_a_fix_that_no_shell_can_run_is_not_a_command(fix: Fix | None, shown: str | None, is_command: bool) -> None:
    verdict = failed_verdict()
    findings = tuple(
        replace(finding, answer=replace(finding.answer, fix=fix)) if finding.check.id == "tasks-on-target" else finding
        for finding in verdict.findings
    )
    rest: dict[str, Any] = {"sampler_cpu_s": None, "origin": None, "is_last": False, "remark": None}
    verdict = replace(verdict, findings=findings)
    lines = frame_of(verdict.case.snapshot, verdict.case.interval, verdict, **rest).findings
    (line,) = [line for line in lines if line.id == "tasks-on-target"]
    assert (line.fix, line.is_command) == (shown, is_command)


def test_the_first_unknown_checks_are_those_that_decide() -> None:
    guest = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
    machine = WrittenMachine(quiet_files() | guest, quiet_files(3.0) | guest, answers=ANSWERS)
    verdict = judged(machine, is_calibrated=False)
    rest: dict[str, Any] = {"sampler_cpu_s": None, "origin": None, "is_last": False, "remark": None}
    shown = frame_of(verdict.case.snapshot, verdict.case.interval, verdict, **rest)
    assert shown.unknown[:2] == ("hypervisor-steal", "busy-cache-neighbour")


def test_findings_have_the_numbers_of_their_causes_and_each_check_has_a_gravity() -> None:
    verdict = failed_verdict()
    causes = causes_of(verdict)
    shown = decode_frame(
        encode_frame(frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None))
    )
    ids = [{line.id for line in shown.findings if line.cause == number} for number in range(1, len(causes) + 1)]
    assert ids == [{result.check.id for result in cause.findings} for cause in causes]
    assert [line.command for line in shown.causes] == [cause.fix.now if cause.fix else None for cause in causes]
    assert [line.undo for line in shown.causes] == [cause.fix.undo if cause.fix else None for cause in causes]
    gravities = [list(Gravity)[int(place)] for place in shown.gravities]
    assert gravities == [result.gravity(verdict.is_strict) for result in verdict.findings]


def test_threads_in_a_command_have_their_names() -> None:
    before = quiet_files() | process(900, "a-hog-of-15-chr", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(900, "a-hog-of-15-chr", 2, 2_000_000_000, allowed="0-3")
    verdict = judged(WrittenMachine(before, after, answers=ANSWERS))
    shown = decode_frame(
        encode_frame(frame_of(verdict.case.snapshot, verdict.case.interval, verdict, sampler_cpu_s=None))
    )
    (pinning,) = [line for line in shown.causes if line.command == "sudo taskset -pc 0-1 900"]
    assert pinning.names == ((900, "a-hog-of-15-chr"),)


def test_an_unjudged_check_keeps_its_place_among_the_gravities() -> None:
    verdict = failed_verdict()
    partial = replace(verdict, findings=verdict.findings[::2])
    shown = frame_of(verdict.case.snapshot, verdict.case.interval, partial, sampler_cpu_s=None).gravities
    assert len(shown) == len(verdict.findings)
    assert set(shown[1::2]) == {str(list(Gravity).index(Gravity.LEFT_OUT))}


def test_a_command_of_several_lines_is_complete() -> None:
    line = CauseLine((("try", "--cpus 2"), ("now", "a &&"), ("", "b"), ("undo", "c"), ("for good", "d")))
    assert (line.command, line.by_hand) == ("a &&\nb", "--cpus 2")
    assert CauseLine((("try", "stop it"),)).command is None
