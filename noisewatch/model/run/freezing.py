"""How long a command's cgroups were frozen, or throttled by a quota, from looks, writes and kernel counts.

A look is one reading of the states of all groups.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.cgroup.freezing import FreezeLook, GroupFreeze

_HIDDEN = "{} was written to: it may have been frozen for a moment"
_ENTERED = "{}: it was already frozen, or over its quota, when the command was first observed in it"


class Freezing(Struct, frozen=True, kw_only=True):
    """How long (ns) a command's cgroups were stopped in one repetition, as far as known.

    `folder` is the group that was stopped for the longest time. If `is_estimate`, the time is from looks, which can
    miss stops between two looks. `unknown` is the reason why there may be more stops. For `blind_ns`, the command may
    have been in a group that was not watched yet; stops in that time are not counted.
    """

    ns: int = 0
    folder: str | None = None
    is_estimate: bool = False
    unknown: str | None = None
    blind_ns: int = 0


NOT_FROZEN = Freezing()


class _Group(Struct):
    last: GroupFreeze
    looked_at_ns: int
    ns: int = 0
    is_estimate: bool = False

    def add(self, now: GroupFreeze, at_ns: int) -> None:
        """Add the frozen time since the last look.

        The kernel's count is used if there is one. Otherwise the whole time counts if both looks show the group frozen,
        and half of it if one look does.
        """
        frozen_ns, before = now.frozen_ns, self.last.frozen_ns
        if frozen_ns is not None and before is not None:
            self.ns += frozen_ns - before if frozen_ns >= before else frozen_ns  # a new group with that name
        elif now.is_frozen or self.last.is_frozen:
            self.ns += (at_ns - self.looked_at_ns) * (now.is_frozen + self.last.is_frozen) // 2
            self.is_estimate = True
        self.last, self.looked_at_ns = now, at_ns

    def change(self, now: GroupFreeze, at_ns: int) -> None:
        """Add the exact frozen time until `at_ns`, when the state may have changed."""
        self.ns += (at_ns - self.looked_at_ns) * self.last.is_frozen
        self.last, self.looked_at_ns = now, at_ns


class FreezeTally:
    """The frozen time of one repetition so far, from looks that are added in order.

    The first look is right before the repetition, the last one right after it.
    """

    def __init__(self, first: FreezeLook) -> None:
        """Begin with the look at the command's future groups, right before the command is started."""
        self._groups = {freeze.folder: _Group(freeze, first.taken_at_ns) for freeze in first.groups}
        self._last = first
        self._unknown = first.reason
        self._hidden: str | None = None
        self._blind_ns = 0

    def change(self, now: GroupFreeze, at_ns: int, is_certain: bool) -> None:
        """Add the state of a group right after a write that may have frozen or thawed it.

        `is_certain`: the write certainly froze or thawed it.
        """
        group = self._groups.get(now.folder)
        if group is None or now.frozen_ns is not None:
            return
        if is_certain and not now.is_frozen and not group.last.is_frozen:
            self._hidden = now.folder
        group.change(now, at_ns)

    def move(self, at_ns: int) -> None:
        """Record that a process was moved into one of the command's groups.

        The process may have been in an unwatched group since the last look.
        """
        self._blind_ns = max(self._blind_ns, at_ns - self._last.taken_at_ns)

    def add(self, look: FreezeLook) -> None:
        """Add another look; the last one is right after the end of the command."""
        for now in look.groups:
            group = self._groups.get(now.folder)
            if group is None:
                group = self._enter(now, look.taken_at_ns)
            group.add(now, look.taken_at_ns)
        for folder in {freeze.folder for freeze in self._last.groups} - {freeze.folder for freeze in look.groups}:
            group = self._groups[folder]
            group.add(replace(group.last, is_frozen=False), look.taken_at_ns)
        self._last = look
        self._unknown = self._unknown or look.reason

    def _enter(self, now: GroupFreeze, at_ns: int) -> _Group:
        """Add a group that was not in the previous look."""
        if now.frozen_ns is None:
            self._blind_ns = max(self._blind_ns, at_ns - self._last.taken_at_ns)
        elif now.frozen_ns:
            self._unknown = self._unknown or _ENTERED.format(now.folder)
        group = self._groups[now.folder] = _Group(replace(now, is_frozen=False), self._last.taken_at_ns)
        return group

    def freezing(self, length_ns: int) -> Freezing:
        """Return the frozen time from all looks, at most the length (ns) of the repetition."""
        frozen = [group for group in self._groups.values() if group.ns > 0]
        if not frozen:
            hidden = _HIDDEN.format(self._hidden) if self._hidden is not None else None
            return Freezing(unknown=self._unknown or hidden, blind_ns=self._blind_ns)
        return Freezing(
            ns=min(sum(group.ns for group in frozen), length_ns),
            folder=max(frozen, key=lambda group: group.ns).last.folder,
            is_estimate=any(group.is_estimate for group in frozen),
            unknown=self._unknown,
            blind_ns=self._blind_ns,
        )
