"""CPU masks of receive queues."""

from __future__ import annotations

from noisewatch.kernel.interrupts.packet_steering import FOLDER, read_packet_steering
from tests.written import reading

_QUEUE = f"{FOLDER}/eth0/queues/rx-0/rps_cpus"


def test_only_receive_queues_are_read() -> None:
    files = {
        _QUEUE: "00000000,0000000c\n",
        f"{FOLDER}/eth0/queues/tx-0/xps_cpus": "f\n",
        f"{FOLDER}/bonding_masters": "",
    }
    assert read_packet_steering(reading(files)).cpus_by_path == {_QUEUE: frozenset({2, 3})}


def test_malformed_mask_is_unknown_with_its_reason() -> None:
    reader = reading({_QUEUE: "rubbish\n"})
    assert read_packet_steering(reader).cpus_by_path == {_QUEUE: None}
    assert "expected a CPU mask" in reader.reason_by_path[_QUEUE]


def test_number_of_files_is_bounded() -> None:
    files = {f"{FOLDER}/eth0/queues/rx-{number}/rps_cpus": "0\n" for number in range(600)}
    steering = read_packet_steering(reading(files))
    assert (len(steering.cpus_by_path or {}), steering.is_complete) == (512, False)


def test_machine_without_a_network_has_no_queues() -> None:
    steering = read_packet_steering(reading({f"{FOLDER}/lo/address": "00:00:00:00:00:00\n"}))
    assert (steering.cpus_by_path, steering.is_possible, steering.is_complete) == ({}, True, True)
