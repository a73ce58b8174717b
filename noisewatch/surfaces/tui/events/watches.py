"""What the log watches for in every frame: busy tasks, steal, throttling, cooling and heat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from noisewatch.operations.frame.frame import OFFLINE, TARGET, CulpritLine, Frame
from noisewatch.surfaces.tui.draw.glyphs import share
from noisewatch.surfaces.tui.events.episodes import Episode, Episodes, Subject, Watch
from noisewatch.surfaces.tui.events.kinds import BUSY, HEAT, STEAL

# Where an episode begins and where it ends lie apart, so that what swings between them is told once.
_HOT, _COOL = 0.2, 0.1  # of a CPU
_HOT_RESTS_S = 5
_STOLEN, _LEFT_ALONE = 0.02, 0.01  # of a CPU: two ticks of 10 ms in a second, and less than one
_STEAL_RESTS_S = 10
_THROTTLING_RESTS_S = 10
_NEAR, _FAR = 5, 10  # °C below the critical temperature


def all_episodes() -> tuple[Episodes, ...]:
    """Of each thing that is watched, and nothing of it seen yet."""
    return tuple(Episodes(watch) for watch in (_BUSY, _STEAL, _THROTTLING, _COOLING, _CRITICAL))


def _on_targets(*kinds: str, name_of: Callable[[CulpritLine], str]) -> Callable[[Frame], Mapping[Subject, float]]:
    """What the sources of these kinds take of each target CPU, as a share."""

    def readings(frame: Frame) -> Mapping[Subject, float]:
        shares: dict[Subject, float] = defaultdict(float)
        for line in frame.culprits:
            if line.kind in kinds and line.role == TARGET:
                shares[name_of(line), line.cpu] += line.stolen_ns_per_s / 1e9
        return shares

    return readings


def _absent_source(frame: Frame, subject: Subject) -> float | None:
    """Nothing where the frame tells all of the CPU, or where the CPU has gone, or is no target any more."""
    line = next((line for line in frame.cpus if line.cpu == subject[1]), None)
    if line is None or line.role == OFFLINE:
        return 0.0
    return 0.0 if line.role != TARGET or frame.tells_all_of(line.cpu) else None


def _process(line: CulpritLine) -> str:
    if line.kind == "unexplained":
        return "a thread that was not seen"
    return line.name + line.process_mark


def _takes(name: str, cpus: str, episode: Episode) -> str:
    return f"{name} takes {share(episode.highest)} of {cpus}"


_BUSY = Watch(
    BUSY, _HOT, _COOL, _HOT_RESTS_S,
    readings=_on_targets("thread", "kernel-thread", "unexplained", name_of=_process),
    absent=_absent_source,
    begun=_takes,
    ended=lambda name, cpus, episode: f"{name} takes under {share(_COOL)} of {cpus} again, after"
    f" {episode.lasted_s:.0f} s ({_most(episode)})",
)  # fmt: skip
_STEAL = Watch(
    STEAL, _STOLEN, _LEFT_ALONE, _STEAL_RESTS_S,
    readings=_on_targets("outside", name_of=lambda line: "the hypervisor"),
    absent=_absent_source,
    begun=lambda name, cpus, episode: f"{_takes(name, cpus, episode)} (steal time)",
    ended=lambda name, cpus, episode: f"{name} leaves {cpus} alone again, after {episode.lasted_s:.0f} s"
    f" ({_most(episode)})",
)  # fmt: skip


def _most(episode: Episode) -> str:
    return f"{share(episode.highest)} at most"


def _throttled(frame: Frame) -> Mapping[Subject, float | None]:
    return {(f"the {each.what} of {_cpus(each.cpus)}", None): each.times for each in frame.conditions.throttled}


def _cpus(listed: str) -> str:
    return f"{'CPU' if listed.isdigit() else 'CPUs'} {listed}"


def _times(episode: Episode) -> str:
    return f"{episode.total:.0f} time{'' if episode.total == 1 else 's'}"


_THROTTLING = Watch(
    HEAT, 1, 1, _THROTTLING_RESTS_S,
    readings=_throttled,
    absent=lambda frame, subject: 0.0 if frame.seconds > 0 else None,
    begun=lambda name, cpus, episode: f"heat throttles {name}: {_times(episode)} in this interval",
    ended=lambda name, cpus, episode: f"heat has not throttled {name} anew for {_THROTTLING_RESTS_S} s:"
    f" {_times(episode)} within {episode.lasted_s:.0f} s",
)  # fmt: skip
_COOLING = Watch(
    HEAT, 1, 1, 0,
    readings=lambda frame: {(each.kind, None): each.highest_state for each in frame.conditions.cooling or ()},
    absent=lambda frame, subject: None if frame.conditions.cooling is None else 0.0,
    begun=lambda name, cpus, episode: f"the processor is slowed down to cool it: {name} at state {episode.highest:.0f}",
    ended=lambda name, cpus, episode: f"the processor is not slowed down any more: {name} was at state"
    f" {episode.highest:.0f}, for {episode.lasted_s:.0f} s",
)  # fmt: skip


def _degrees_too_many(frame: Frame) -> Mapping[Subject, float | None]:
    return {
        (f"{each.name} (critical at {each.critical_celsius:g} °C)", None): None
        if each.celsius is None
        else each.celsius - each.critical_celsius
        for each in frame.conditions.temperatures
        if each.critical_celsius is not None
    }


def _degrees_left(name: str, cpus: str, episode: Episode) -> str:
    left = -episode.highest
    return f"{name}: {f'{left:.0f} °C are left' if left > 0 else 'it is reached'}"


_CRITICAL = Watch(
    HEAT, -_NEAR, -_FAR, 0,
    readings=_degrees_too_many,
    absent=lambda frame, subject: None,
    begun=_degrees_left,
    ended=lambda name, cpus, episode: f"{name}: more than {_FAR} °C are left again, after {episode.lasted_s:.0f} s",
)  # fmt: skip
