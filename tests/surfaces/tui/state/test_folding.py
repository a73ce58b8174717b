"""Culprits that are the same on several CPUs as one line."""

from __future__ import annotations

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CulpritLine
from noisewatch.surfaces.tui.state.folding import cpus_of, folded
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of


def _tick(cpu: int, noise_ns: float) -> CulpritLine:
    return culprit("Local timer interrupts", cpu, noise_ns, kind=Kind.TICK, pid=None, tid=None)


def test_the_tick_of_several_cpus_is_one_line_with_the_figures_of_the_first() -> None:
    line, *others = folded([_tick(3, 9.0), _tick(2, 5.0), _tick(4, 1.0)])
    assert others == []
    assert (line.cpu, line.stolen_ns_per_s, cpus_of(line)) == (3, 9.0, (2, 3, 4))


def test_threads_of_two_processes_and_different_irqs_stay_apart() -> None:
    irqs = [culprit("eth0", 2, kind=Kind.IRQ, pid=None, tid=None, irq=irq) for irq in (24, 25)]
    assert len(folded([culprit("hog", 2, pid=1, tid=1), culprit("hog", 3, pid=2, tid=2), *irqs])) == 4


def test_the_threads_of_one_process_name_the_process_alone() -> None:
    (line,) = folded([culprit("worker", 2, pid=7, tid=8), culprit("worker", 3, pid=7, tid=9)])
    assert (line.process_mark, cpus_of(line)) == (" [7]", (2, 3))


def test_what_is_on_one_cpu_alone_is_as_it_was() -> None:
    alone = _tick(2, 1.0)
    assert folded([alone]) == [alone]
    assert cpus_of(alone) == (2,)


def test_the_selection_follows_a_group_whose_worst_cpu_changes() -> None:
    cpus = tuple(cpu_line(cpu, "target") for cpu in range(4))
    hog = culprit("hog", 0, 9e8)
    model = model_of(frame(cpus, (hog, _tick(2, 500.0), _tick(3, 5.0))))
    model.select(1)
    model.add(frame(cpus, (hog, _tick(2, 5.0), _tick(3, 500.0)), 2))
    listing = model.listing()
    assert (listing.is_gone, listing.selected.cpu if listing.selected else None) == (False, 3)


def test_groups_can_be_opened() -> None:
    model = model_of(frame(4, (_tick(2, 2.0), _tick(3, 1.0))))
    assert len(model.listed()) == 1
    model.toggle_folding()
    assert len(model.listed()) == 2
