"""Device events in the monitor's log; tests/live/test_noise.py tests those of the real kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pytest
from textual.pilot import Pilot

from noisewatch.kernel.device_events import DeviceListener
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.events.kinds import kind_of_device
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.app.piloting import key_of, lines_of, until, with_monitor
from tests.surfaces.tui.framing import frame, model_of, screen_of


@dataclass
class _Device:
    action: str
    subsystem: str
    sys_name: str
    properties: dict[str, str] = field(default_factory=dict)


class _Monitor:
    """A fake udev monitor: a readable pipe, and devices to poll."""

    def __init__(self, *devices: _Device) -> None:
        self._devices = list(devices)
        self._readable, self._writable = os.pipe()
        os.write(self._writable, b"x")

    def fileno(self) -> int:
        return self._readable

    def poll(self, timeout: int) -> _Device | None:
        if self._devices:
            return self._devices.pop(0)
        os.set_blocking(self._readable, False)
        if os.fstat(self._readable).st_size == 0:
            with open(self._readable, "rb", closefd=False, buffering=0) as pipe:
                pipe.read(1)
        return None


def test_a_device_change_is_an_event_without_escape_sequences() -> None:
    monitor = _Monitor(
        _Device("remove", "cpu", "cpu7"), _Device("add", "usb", "\x1b]0;x\x07"), _Device("bind", "pci", "1")
    )
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        app.listen_to(DeviceListener(monitor))
        await pilot.press(key_of(Screen.EVENTS))
        await until(pilot, lambda: "CPU 7 was removed" in "".join(lines_of(app)))
        lines.extend(lines_of(app))

    with_monitor(steps)
    assert all(line.isprintable() for line in lines)
    assert any("PCI device 1 got its driver" in line for line in lines)


def test_without_device_events_the_reason_is_shown() -> None:
    model = model_of(frame())
    model.log.silence = "libudev is not there"
    assert "no device events: libudev is not there" in "".join(screen_of(model, "events"))


def _event_texts(*devices: _Device) -> list[str]:
    return [event.text for event in DeviceListener(_Monitor(*devices)).read()]


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (_Device("offline", "cpu", "cpu7"), "CPU 7 went offline"),
        (_Device("change", "power_supply", "AC", {"POWER_SUPPLY_ONLINE": "0"}), "power supply AC is now without power"),
        (
            _Device("change", "power_supply", "BAT0", {"POWER_SUPPLY_STATUS": "Discharging"}),
            "power supply BAT0 is now discharging",
        ),
        (_Device("change", "thermal", "thermal_zone0"), "heat sensor thermal_zone0 changed"),
        (_Device("add", "thermal", "cooling_device3"), "cooling device cooling_device3 was added"),
        (_Device("add", "usb", "1-2", {"ID_MODEL": "Mouse"}), "USB device 1-2 (Mouse) was added"),
        (_Device("remove", "net", "eth0"), "network interface eth0 was removed"),
    ],
)
def test_a_device_event_is_a_sentence(device: _Device, text: str) -> None:
    assert _event_texts(device) == [text]


def test_a_repeated_state_of_a_device_is_logged_once() -> None:
    def battery(status: str) -> _Device:
        return _Device("change", "power_supply", "BAT0", {"POWER_SUPPLY_STATUS": status, "POWER_SUPPLY_CAPACITY": "80"})

    texts = _event_texts(battery("Discharging"), battery("Discharging"), battery("Charging"), battery("Discharging"))
    assert [text.split()[-1] for text in texts] == ["discharging", "charging", "discharging"]
    reconnected = _event_texts(*[_Device(action, "usb", "1-2") for action in ("add", "remove", "add")])
    assert len(reconnected) == 3


def test_the_kind_of_an_event_follows_from_the_subsystem() -> None:
    assert [kind_of_device(subsystem) for subsystem in ("cpu", "power_supply", "thermal", "usb")] == [
        "hot-plug",
        "power",
        "heat",
        "device",
    ]
