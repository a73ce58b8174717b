"""Devices by interrupt where libudev is not installed, as in small images of containers."""

from __future__ import annotations

import subprocess
import sys

_WITHOUT = """
import ctypes.util
ctypes.util.find_library = lambda name: None
from noisewatch.kernel.interrupts.irqs import read_devices
from noisewatch.kernel.reader import Reader
from noisewatch.machine.live import LiveMachine
print(read_devices(Reader(LiveMachine())))
"""


def test_their_names_are_not_known_and_nothing_fails() -> None:
    asked = subprocess.run([sys.executable, "-c", _WITHOUT], check=False, capture_output=True, text=True, timeout=60)
    assert (asked.stdout, asked.stderr) == ("None\n", "")
