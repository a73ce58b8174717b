"""The longest stretches of a trace that others had."""

from __future__ import annotations

from noisewatch.kernel.trace.runs import CpuPieces, parse_trace
from noisewatch.model.calibration.gap_causes import longest_interruptions
from tests.written.trace import written_trace

_BENCH, _TICK, _DISK, _BLOCK, _WORKER = 1, 2, 3, 4, 5


def _pieces(*pieces: tuple[int, int, int]) -> CpuPieces:
    said = written_trace()
    said["cpus"][0]["pieces"] = [word for piece in pieces for word in piece]
    return parse_trace(said).cpus[0]


def _found(pieces: CpuPieces, most: int = 9) -> list[tuple[int, int, list[tuple[str, int]]]]:
    stretches = longest_interruptions(pieces, 900, None, most)
    return [(each.start_ns, each.length_ns, [(part.name, part.ns) for part in each.parts]) for each in stretches]


def test_what_comes_one_after_the_other_is_one_stretch_and_each_source_is_in_it_once() -> None:
    pieces = _pieces((0, 10, _BENCH), (10, 12, _TICK), (12, 20, _WORKER), (20, 21, _TICK), (21, 90, _BENCH))
    assert _found(pieces) == [(10, 11, [("kworker/2:1", 8), ("timer tick", 3)])]


def test_idleness_ends_a_stretch_as_the_work_does() -> None:
    pieces = _pieces((0, 10, _TICK), (50, 53, _DISK), (53, 55, _BLOCK), (55, 60, _BENCH), (60, 64, _TICK))
    assert [each[:2] for each in _found(pieces)] == [(0, 10), (50, 5), (60, 4)]


def test_only_the_longest_are_kept() -> None:
    pieces = _pieces(*((100 * number, 100 * number + number, _TICK) for number in range(1, 50)))
    assert [each[1] for each in _found(pieces, 3)] == [49, 48, 47]
