"""Mains power, or a battery."""

from __future__ import annotations

import pytest

from tests.judgement.judging import answered


@pytest.mark.parametrize(
    "supplies",
    [
        {"AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging", "usb/type": "USB", "usb/online": "1"},
        {"BAT0/type": "Battery", "BAT0/status": "Full", "BAT1/type": "Battery", "BAT1/status": "Discharging"},
    ],
)
def test_a_discharging_battery_fails(supplies: dict[str, str]) -> None:
    files = {f"/sys/class/power_supply/{path}": f"{text}\n" for path, text in supplies.items()}
    assert answered("on-battery", files).status == "fail"
