"""Target CPUs that are proposed, or given by the user, and the inputs of the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import UsageError
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.interrupts.devices import delivery_cpus
from noisewatch.judgement.plan.cores import BOOT_CPU, Core, Preferences, choose, cores_of, for_housekeeping, online_of
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.target import Target
from noisewatch.kernel.interrupts.irqs import FOLDER
from noisewatch.kernel.snapshot.placement import PlacementReadings
from noisewatch.kinds import Kind
from noisewatch.units import describe_count

_PROPOSED, _GIVEN = "proposed by a plan", "as requested"


class Proposal(Struct, frozen=True):
    """The CPUs for the benchmark (`run`), which are the target of the case; `cores` are their cores."""

    case: Case
    readings: PlacementReadings
    run: CpuSet
    cores: tuple[Core, ...]
    is_given: bool

    @property
    def reserved(self) -> CpuSet:
        """The CPUs to run on and the other threads of their cores; CPU 0 only if the user requested it."""
        threads = frozenset().union(*(core.cpus for core in self.cores))
        return self.run | (threads - {BOOT_CPU})

    @property
    def idle(self) -> CpuSet:
        """The CPUs on which nothing is to run, not even the benchmark."""
        return self.reserved - self.run

    @property
    def housekeeping(self) -> CpuSet:
        return online_of(self.case) - self.reserved

    @property
    def reserved_case(self) -> Case:
        """The case with all reserved CPUs as its target, for which commands are made."""
        return _with_target(self.case, self.reserved, self.case.snapshot.target.chosen_by)

    @property
    def ranking(self) -> Mapping[int, int]:
        return ranking_of(self.readings)

    @property
    def near(self) -> CpuSet | None:
        return near_device(self.case, self.readings)

    @property
    def nodes(self) -> frozenset[int]:
        """The known nodes of the CPUs to run on."""
        return frozenset(core.node for core in self.cores if core.node is not None)

    @property
    def memory_nodes(self) -> frozenset[int]:
        """The nodes that memory should come from: the CPUs' own nodes, or the nearest if these have no memory."""
        with_memory = self.readings.nodes.with_memory
        own = self.nodes if with_memory is None else self.nodes & with_memory
        if own or not with_memory or not self.nodes:
            return own
        distances = self.readings.nodes.distances.get(min(self.nodes), {})
        nearest = sorted((distances[node], node) for node in with_memory if node in distances)
        return frozenset(node for _, node in nearest[:1])

    def unread_reason(self, *paths: str) -> str:
        """Return why a path of the plan's readings could not be read, as `Case.unread_reason` does."""
        snapshot = replace(self.case.snapshot, reason_by_path=self.readings.reason_by_path)
        return replace(self.case, snapshot=snapshot).unread_reason(*paths)


def proposal_of(case: Case, readings: PlacementReadings, cpus: CpuSet) -> Proposal:
    """Return these CPUs as a proposal, whether they are suitable or not."""
    return _proposal(case, readings, cpus, is_given=True)


def propose(case: Case, readings: PlacementReadings, count: int) -> Proposal:
    """Return a proposal of one thread of each of the `count` best cores. Raise UsageError if there are too few."""
    online = online_of(case)
    if not online:
        raise UsageError(f"no CPU is known to be online: {case.unread_reason(f'{CPUS}/online')}")
    isolated = case.snapshot.isolation.isolated or frozenset()
    cores = cores_of(case, online, ranking_of(readings))
    usable = _usable(case, readings)
    kept = for_housekeeping(cores, usable, isolated)
    free = [core for core in cores if core not in kept and (usable is None or core.cpus <= usable)]
    if count > len(free):
        raise UsageError(_too_few_cores_reason(count, len(free), cores, kept, usable))
    preferences = Preferences(
        near=near_device(case, readings),
        isolated=isolated,
        fixed_irqs_by_cpu=fixed_irqs_by_cpu(case),
        nodes=readings.nodes,
        busy=frozenset().union(*(core.cpus for core in kept)),
    )
    chosen = choose(free, count, preferences)
    return _proposal(case, readings, frozenset(core.first for core in chosen), is_given=False)


def _proposal(case: Case, readings: PlacementReadings, run: CpuSet, is_given: bool) -> Proposal:
    about = _with_target(case, run, _GIVEN if is_given else _PROPOSED)
    settings = replace(about.snapshot.settings, core_ranking=readings.core_ranking)
    about = replace(about, snapshot=replace(about.snapshot, settings=settings, pin_trial=readings.pin_trial))
    return Proposal(about, readings, run, tuple(cores_of(about, run, ranking_of(readings))), is_given)


def _with_target(case: Case, cpus: CpuSet, chosen_by: str) -> Case:
    return replace(case, snapshot=replace(case.snapshot, target=Target(cpus, chosen_by)))


def _usable(case: Case, readings: PlacementReadings) -> CpuSet | None:
    """Return the CPUs that this process, or one inside a partition, can be pinned to, or None if unknown.

    If pinning was not tried, they are the CPUs in its affinity and the isolated ones, which an affinity leaves out.
    """
    granted, own, isolation = readings.pin_trial.granted, case.snapshot.own_affinity, case.snapshot.isolation
    if granted is not None:
        return granted | (isolation.partition or frozenset())
    return None if own is None else own | (isolation.isolated or frozenset())


def _too_few_cores_reason(
    count: int, available: int, cores: list[Core], kept: list[Core], usable: CpuSet | None
) -> str:
    has = f"the machine has {describe_count(len(cores), 'core')} online"
    outside = sum(not core.cpus <= usable for core in cores) if usable is not None else 0
    refused = f", {outside} of them outside this process's cpuset" if outside else ""
    needed = ", ".join(str(core.first) for core in kept)
    kept_words = f", and the core of CPU {needed} is needed for all other work" if needed else ""
    can = f"at most {available} can be proposed" if available else "none can be proposed"
    return f"{describe_count(count, 'core')}: {can} ({has}{refused}{kept_words})"


def near_device(case: Case, readings: PlacementReadings) -> CpuSet | None:
    """Return the CPUs near the requested device, or None if these are unknown or no device was requested."""
    device = readings.device
    if device is None or device.node is None:
        return None
    of_node = frozenset(cpu for cpu, place in case.snapshot.topology.items() if place.node == device.node)
    return (device.cpus or of_node) & online_of(case) or None


def ranking_of(readings: PlacementReadings) -> Mapping[int, int]:
    """Return the core ranking of the kernel, else that of the firmware."""
    return readings.core_ranking or readings.highest_performance


READS = (f"{FOLDER}/N/effective_affinity_list", f"{FOLDER}/N/smp_affinity (its mode, since Linux 6.12)")
_MAX_NAMED = 4
_CANNOT_MOVE_UNKNOWN = "this kernel does not report which interrupts cannot be moved (Linux 6.12 and newer do)"


def fixed_irqs_by_cpu(case: Case) -> Mapping[int, int]:
    """Return the number of kernel-managed IRQs by CPU, as far as known."""
    return Counter(cpu for irq in case.irqs_by_number.values() if irq.is_managed for cpu in delivery_cpus(irq))


def judge_fixed_irqs(case: Case, cpus: CpuSet) -> Answer:
    """Return the answer on whether a kernel-managed IRQ is delivered to one of these CPUs."""
    if case.snapshot.irqs is None:
        return case.unread(FOLDER)
    coming = [irq for irq in case.irqs_by_number.values() if delivery_cpus(irq) & cpus and irq.kind == Kind.IRQ]
    fixed = [irq for irq in coming if irq.is_managed]
    graded = case.graded(evidence={"irqs": [irq.irq for irq in fixed]})
    if fixed:
        hit = frozenset().union(*map(delivery_cpus, fixed)) & cpus
        named = ", ".join(f"{irq.irq} {', '.join(irq.actions)}".strip() for irq in fixed[:_MAX_NAMED])
        more = ", …" if len(fixed) > _MAX_NAMED else ""
        count = describe_count(len(fixed), "interrupt")
        text = f"{count} on {name_cpus(hit)} that only the kernel can move: {named}{more}"
        return graded.warns(text, cpus=hit)
    if any(irq.is_managed is None for irq in coming):
        return graded.unknown(_CANNOT_MOVE_UNKNOWN)
    return graded.passes(f"no interrupt on {name_cpus(cpus)} that only the kernel can move")
