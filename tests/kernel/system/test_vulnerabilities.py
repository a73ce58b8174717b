"""Vulnerabilities, and how the boot options mitigate them."""

from __future__ import annotations

import pytest

from noisewatch.kernel.system.platform import read_vulnerabilities
from tests.written import reading


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"mitigations": ("auto",)}, ()),
        ({"mitigations": ("auto", "off")}, ("mitigations=off",)),
        ({"nopti": ("",), "quiet": ("",)}, ("nopti",)),
        ({"mitigations": ("auto,nosmt",)}, ("mitigations=auto,nosmt",)),
    ],
)
def test_the_last_option_is_what_was_chosen(options: dict[str, tuple[str, ...]], chosen: tuple[str, ...]) -> None:
    assert read_vulnerabilities(reading({}), options).chosen == chosen


def test_before_linux_4_15_no_vulnerability_is_told_of() -> None:
    assert read_vulnerabilities(reading({}), None).state_by_name == {}
    assert read_vulnerabilities(reading({}, is_copy=True), None).state_by_name is None
