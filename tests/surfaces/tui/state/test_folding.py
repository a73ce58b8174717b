"""Equal culprits on several CPUs are folded into one line."""

from __future__ import annotations

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CulpritLine
from noisewatch.surfaces.tui.state.filters import SORT_ORDERS
from noisewatch.surfaces.tui.state.folding import cpus_of, fold_culprits
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, screen


def _tick(cpu: int, noise_ns: float) -> CulpritLine:
    return culprit("Local timer interrupts", cpu, noise_ns, kind=Kind.TICK, pid=None, tid=None)


def test_the_tick_of_several_cpus_is_one_line_with_the_figures_of_the_worst() -> None:
    line, *others = fold_culprits([_tick(3, 9.0), _tick(2, 5.0), _tick(4, 1.0)])
    assert others == []
    assert (line.cpu, line.stolen_ns_per_s, cpus_of(line)) == (3, 9.0, (2, 3, 4))


def test_in_any_order_a_group_has_the_figures_of_its_worst_cpu() -> None:
    model = model_of(frame(4, (_tick(3, 9e8), _tick(2, 5.0), culprit("hog", 3, 4e8))))
    for sort in SORT_ORDERS:
        model.sort = sort
        line = next(group for group in model.listed() if cpus_of(group) == (2, 3))
        assert (line.cpu, line.stolen_ns_per_s) == (3, 9e8)


def test_the_noise_of_a_process_is_the_sum_of_its_threads_on_one_cpu() -> None:
    threads = tuple(culprit("worker", 3, 6e6, pid=7, tid=tid) for tid in range(8, 48))
    lone = culprit("other", 3, 1e8, pid=99, tid=99)
    lines = (cpu_line(2), cpu_line(3, "target", 3.4e8))
    model = model_of(*(frame(lines, (lone, *threads), second) for second in (1, 2)))
    assert [(line.name, round(line.stolen_ns_per_s)) for line in model.listed()] == [
        ("worker", 240_000_000),
        ("other", 10**8),
    ]
    assert model.culprit_noise.noise(model.listed()[0], range(2)) == [2.4e8, 2.4e8]
    rows = screen(model, 120, 40)
    assert "worst CPU 3: 340 ms/s" in rows[1]
    assert "thread worker [7]" in rows[1]
    assert any("costs     240 ms/s of CPU 3 (24%)" in row for row in rows)
    model.mark_baseline()
    assert model.baseline is not None
    assert model.baseline.change_of_culprit(model.listed()[0]) == 0


def test_threads_of_two_processes_and_different_irqs_are_not_folded() -> None:
    irqs = [culprit("eth0", 2, kind=Kind.IRQ, pid=None, tid=None, irq=irq) for irq in (24, 25)]
    assert len(fold_culprits([culprit("hog", 2, pid=1, tid=1), culprit("hog", 3, pid=2, tid=2), *irqs])) == 4


def test_folded_threads_of_one_process_show_only_its_pid() -> None:
    (line,) = fold_culprits([culprit("worker", 2, pid=7, tid=8), culprit("worker", 3, pid=7, tid=9)])
    assert (line.process_mark, cpus_of(line)) == (" [7]", (2, 3))


def test_a_culprit_on_one_cpu_is_unchanged() -> None:
    tick = _tick(2, 1.0)
    assert fold_culprits([tick]) == [tick]
    assert cpus_of(tick) == (2,)


def test_the_selection_follows_a_group_whose_worst_cpu_changes() -> None:
    cpus = tuple(cpu_line(cpu, "target") for cpu in range(4))
    hog = culprit("hog", 0, 9e8)
    model = model_of(frame(cpus, (hog, _tick(2, 500.0), _tick(3, 5.0))))
    model.select(1)
    model.add(frame(cpus, (hog, _tick(2, 5.0), _tick(3, 500.0)), 2))
    listing = model.listing()
    assert (listing.is_gone, listing.selected.cpu if listing.selected else None) == (False, 3)


def test_folded_groups_can_be_opened() -> None:
    model = model_of(frame(4, (_tick(2, 2.0), _tick(3, 1.0))))
    assert len(model.listed()) == 1
    model.toggle_folding()
    assert len(model.listed()) == 2
