"""Lines come back as they were, however they were put together, as long as they are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.surfaces.tui.state.history import KeptLines

_LINES = st.lists(st.sampled_from([b"", b"{}", b"short", b"longer " * 3_000, b"longest " * 10_000]), max_size=60)


@given(_LINES, st.integers(1, 40))
def test_each_of_the_last_lines_comes_back(lines: list[bytes], capacity: int) -> None:
    kept = KeptLines(capacity)
    for count, line in enumerate(lines, start=1):
        kept.add(line + b"\n")
        numbers = [*range(max(count - capacity, 0), count)]
        assert [kept.line(number) for number in (numbers[-1], *numbers)] == [line, *(lines[at] for at in numbers)]


def test_lines_that_are_no_longer_kept_take_no_room() -> None:
    kept = KeptLines(20)
    for _ in range(200):
        kept.add(b"line\n")
    assert len(kept._packs) <= 4
