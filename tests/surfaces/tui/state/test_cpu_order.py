"""Topological places of CPUs, and the resulting order."""

from __future__ import annotations

from pathlib import Path

from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import Frame, PlaceLine, decode_frame, encode_frame
from noisewatch.operations.sampling import sample_frames
from tests.surfaces.running import quiet_tree, record
from tests.surfaces.tui.framing import frame, model_of
from tests.written.quiet_machine import CPUS, quiet_files

# Two nodes, the odd CPUs on the second; CPUs 0 and 4 are a core, and so on.
_INTERLEAVED = tuple(
    PlaceLine(cpu, node=cpu % 2, package=cpu % 2, core=cpu % 4, cache=f"L3#{cpu % 2}", siblings=(cpu % 4, cpu % 4 + 4))
    for cpu in range(8)
)


def _frames(path: Path, *changes: dict[str, str]) -> list[Frame]:
    moments = [quiet_files(3.0 * at) | change for at, change in enumerate(changes)]
    return list(sample_frames(Recording(str(record(path / "machine.nw", *moments))), SnapshotOptions(), 1.0))


def test_cpus_are_sorted_by_node_cache_core_and_sibling() -> None:
    model = model_of(frame(8, places=_INTERLEAVED), frame(8, second=2))
    assert model.in_order(range(8)) == [0, 4, 2, 6, 1, 5, 3, 7]


def test_a_tenth_cache_comes_after_the_second() -> None:
    places = tuple(PlaceLine(cpu, node=0, cache=f"L3#{cpu // 2}", siblings=(cpu,)) for cpu in range(24))
    assert model_of(frame(24, places=places)).in_order(range(24)) == list(range(24))


def test_without_places_cpus_are_sorted_by_number() -> None:
    model = model_of(frame(4))
    assert (model.places, model.in_order({3, 1, 2})) == (None, [1, 2, 3])


def test_cpus_without_a_place_come_last() -> None:
    model = model_of(frame(4, places=(PlaceLine(0), PlaceLine(3, node=0))))
    assert model.in_order(range(4)) == [3, 0, 1, 2]


def test_a_cpu_that_goes_offline_keeps_its_place() -> None:
    model = model_of(frame(8, places=_INTERLEAVED), frame(8, second=2, places=_INTERLEAVED[:4] + _INTERLEAVED[5:]))
    assert model.in_order(range(8))[:2] == [0, 4]


def test_places_are_sent_at_first_and_after_changes(tmp_path: Path) -> None:
    offline = {f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}
    places_by_frame = [interval.places for interval in _frames(tmp_path, {}, {}, offline, offline)]
    assert [None if places is None else [line.cpu for line in places] for places in places_by_frame] == [
        [0, 1, 2, 3],
        None,
        [0, 1, 2],
        None,
    ]


def test_a_place_has_all_fields_from_sysfs(unchanged_tree: Path) -> None:
    (only,) = sample_frames(CopiedTree(str(unchanged_tree)), SnapshotOptions(), 1.0)
    expected = PlaceLine(3, node=0, package=0, core=3, cache="L3#0", siblings=(3,))
    assert decode_frame(encode_frame(only)).places == only.places
    assert (only.places or ())[3] == expected


def test_caches_are_numbered_in_the_order_of_their_first_cpus(tmp_path: Path) -> None:
    shared = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    (only,) = sample_frames(CopiedTree(str(quiet_tree(tmp_path, shared))), SnapshotOptions(), 1.0)
    assert [line.cache for line in only.places or ()] == ["L3#0", "L3#1", "L3#0", "L3#1"]


def test_a_cache_that_cannot_be_read_has_no_name(tmp_path: Path) -> None:
    (only,) = sample_frames(
        CopiedTree(str(quiet_tree(tmp_path, {f"{CPUS}/cpu1/cache/index3/level": "rubbish\n"}))), SnapshotOptions(), 1.0
    )
    assert [line.cache for line in only.places or ()] == ["L3#0", None, "L3#0", "L3#0"]


def test_a_machine_without_topology_has_no_places(tmp_path: Path) -> None:
    missing: dict[str, str | None] = dict.fromkeys(
        path for path in quiet_files() if path.startswith((f"{CPUS}/cpu", NODES))
    )
    (only,) = sample_frames(CopiedTree(str(quiet_tree(tmp_path, missing))), SnapshotOptions(), 1.0)
    assert only.places is None
