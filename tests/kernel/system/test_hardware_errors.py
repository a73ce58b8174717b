"""Counters of hardware errors, and their counts."""

from __future__ import annotations

from noisewatch.kernel.system.hardware_errors import (
    CONTROLLERS,
    DEVICES,
    PORT_SERVICES,
    PORT_TOTAL,
    ErrorCounters,
    read_error_counters,
    read_hardware_errors,
)
from tests.written import WrittenMachine, reading

_SERVICES = ("0000:00:1c.0:pcie001", "0000:00:1c.0:pcie002", "10000:e0:06.0:pcie002", "0000:02:00.0:pcie204")


def test_ports_are_those_with_a_service_for_errors() -> None:
    files = {f"{PORT_SERVICES}/{name}/uevent": "" for name in _SERVICES}
    assert read_error_counters(reading(files)).ports == ("0000:00:1c.0", "10000:e0:06.0")


def test_only_memory_controllers_are_listed() -> None:
    files = {f"{CONTROLLERS}/{name}/ce_count": "0\n" for name in ("mc0", "mc1", "power")}
    assert read_error_counters(reading(files)).controllers == ("mc0", "mc1")


def test_lists_of_counters_are_bounded() -> None:
    files = {f"{CONTROLLERS}/mc{number}/ce_count": "0\n" for number in range(33)}
    files |= {f"{PORT_SERVICES}/0000:{bus:02x}:1c.0:pcie002/uevent": "" for bus in range(65)}
    counters = read_error_counters(reading(files))
    assert (len(counters.controllers or ()), counters.has_all_controllers) == (32, False)
    assert (len(counters.ports or ()), counters.has_all_ports) == (64, False)


def test_kernel_without_drivers_has_no_counters() -> None:
    assert read_error_counters(reading({})) == ErrorCounters((), ())


def test_counters_missing_from_a_copy_are_unknown() -> None:
    reader = reading({}, is_copy=True)
    assert read_error_counters(reader) == ErrorCounters(None, None)
    assert set(reader.reason_by_path) == {CONTROLLERS, PORT_SERVICES}


def test_each_counter_is_read_separately() -> None:
    files = {f"{CONTROLLERS}/mc0/ce_count": "5\n", f"{CONTROLLERS}/mc0/ue_count": "-1\n"}
    counters = ErrorCounters(("mc0",), ("0000:00:1c.0",))
    errors = read_hardware_errors(reading(files), counters)
    assert (errors.corrected_by_controller, errors.uncorrected_by_controller) == ({"mc0": 5}, {"mc0": None})
    assert errors.messages_by_port == {"0000:00:1c.0": None}


def test_machine_without_counters_is_not_read() -> None:
    machine = WrittenMachine({f"{DEVICES}/0000:00:1c.0/{PORT_TOTAL}": "1\n"})
    read_hardware_errors(reading({}), ErrorCounters((), None))
    assert machine.reads == []
