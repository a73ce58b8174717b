"""A fault of noisewatch's own is an error, and never looks like a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisewatch.surfaces.cli import status_of


def _divide_by_nothing(words: Sequence[str]) -> int:
    raise ZeroDivisionError("division\nby zero")


@pytest.mark.parametrize(("form", "status"), [("text", 2), ("nagios", 3)])
def test_it_is_told_in_one_line_with_the_status_of_an_error(
    capsys: pytest.CaptureFixture[str], form: str, status: int
) -> None:
    assert status_of(_divide_by_nothing, ["preflight", "--format", form]) == status
    told = capsys.readouterr().err
    assert told.startswith("noisewatch: internal error: ZeroDivisionError: division by zero (test_internal_error.py:")
    assert told.count("\n") == 1
