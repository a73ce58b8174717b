"""What the kernel does beside running tasks, as it is set now: all that is more than one value in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.consoles import Console, read_consoles
from noisewatch.kernel.system.livepatches import read_livepatches
from noisewatch.kernel.tasks.services import Services, read_services
from noisewatch.kernel.tasks.workqueues import Workqueues, read_workqueues
from noisewatch.kernel.trace.active import Tracing, read_tracing


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """None is unknown, in all of them."""

    tracing: Tracing
    workqueues: Workqueues
    services: Services
    consoles: tuple[Console, ...] | None
    livepatches: Mapping[str, bool | None] | str | None


def read_kernel_settings(reader: Reader) -> KernelSettings:
    """The settings now."""
    return KernelSettings(
        tracing=read_tracing(reader),
        workqueues=read_workqueues(reader),
        services=read_services(reader),
        consoles=read_consoles(reader),
        livepatches=read_livepatches(reader),
    )
