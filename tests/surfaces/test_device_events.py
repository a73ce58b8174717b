"""What is said of devices, in the monitor's log; by the kernel itself: tests/test_live.py."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from textual.pilot import Pilot

from noisewatch.sources.device_events import DeviceListener
from noisewatch.surfaces.tui.app import MonitorApp
from tests.surfaces.framing import frame, model_of, screen_of
from tests.surfaces.piloting import shown, until, with_monitor


@dataclass
class _Device:
    action: str
    subsystem: str
    sys_name: str
    properties: dict[str, str] = field(default_factory=dict)


class _Monitor:
    """A pipe that becomes readable, and devices to poll."""

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


def test_what_is_said_of_a_device_is_an_event_and_no_escape_sequence_is() -> None:
    monitor = _Monitor(
        _Device("remove", "cpu", "cpu7"), _Device("add", "usb", "\x1b]0;x\x07"), _Device("bind", "pci", "1")
    )
    found: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame())
        app.listen_to(DeviceListener("kernel", monitor))
        await pilot.press("5")
        await until(pilot, lambda: "CPU 7 was removed" in "".join(shown(app)))
        found.extend(shown(app))

    with_monitor(steps)
    assert all(line.isprintable() for line in found)
    assert any("PCI device 1 got its driver" in line for line in found)


def test_where_nothing_is_heard_of_devices_the_reason_is_told() -> None:
    model = model_of(frame())
    model.log.silence = "libudev is not there"
    assert "nothing is heard of devices: libudev is not there" in "".join(screen_of(model, "events"))
