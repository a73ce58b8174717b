"""A fix: actions for now, and what makes them last. All commands are renderings of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noisewatch.judgement.fixes.actions import Action, Run, Write
from noisewatch.judgement.fixes.lasting import AtBoot, BootOptions, ByHand, Lasting, at_boot
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class Fix:
    """Actions and their persistent counterparts. Each command may be run twice: the second run changes nothing.

    A command that does not exist is None. Actions are done in order, each if the one before succeeded; all are undone,
    whatever fails.
    """

    actions: tuple[Action, ...] = ()
    lasting: tuple[Lasting, ...] = ()
    needs_root: bool = True
    is_partial: bool = False  # completed at the next boot, or for one of several causes

    @property
    def now(self) -> str | None:
        """The commands that help until the next boot, or None."""
        return _all_of([each.do for each in self.actions])

    @property
    def undo(self) -> str | None:
        """The commands that restore the values read, or None if a value is unknown."""
        return _all_of([each.undo for each in reversed(self.actions)], "; ")

    @property
    def persist(self) -> str | None:
        """What makes the fix last: a command, or prose for people."""
        return _all_of([each.do for each in self.lasting], " && " if self.persist_is_command else "; ")

    @property
    def persist_is_command(self) -> bool:
        """Whether a shell can run `persist`; otherwise it is prose for people."""
        return bool(self.lasting) and all(isinstance(each, AtBoot | Run) for each in self.lasting)

    @property
    def undo_persist(self) -> str | None:
        """The command that removes the persistent settings, or None. The current values stay until `undo`."""
        return _all_of([each.undo if isinstance(each, AtBoot | Run) else None for each in reversed(self.lasting)], "; ")

    @property
    def undo_files(self) -> str | None:
        """The part of `undo_persist` that is harmless if nothing was persisted: it removes noisewatch's own files."""
        return _all_of([each.undo for each in reversed(self.lasting) if isinstance(each, AtBoot)], "; ")

    @property
    def needs_reboot(self) -> bool:
        """Whether the fix has no effect before a reboot."""
        return self.now is None and self.persist_needs_reboot

    @property
    def persist_needs_reboot(self) -> bool:
        """Whether the persistent part takes effect at the next boot only."""
        return any(
            isinstance(each, BootOptions) or (isinstance(each, ByHand) and each.needs_reboot) for each in self.lasting
        )

    @property
    def kernel_arguments(self) -> str | None:
        """The options to add to the kernel's command line, or None."""
        return " ".join(each.options for each in self.lasting if isinstance(each, BootOptions)) or None


def set_for_good(*writes: Write, about: str = "") -> Fix:
    """Return the fix that makes the writes now and at each boot. `about` as in AtBoot."""
    return Fix(writes, (at_boot(*writes, about=about),))


def merged_arguments(wanted: Iterable[str | None]) -> str:
    """Return all kernel arguments in one line; values of the same argument are joined."""
    parts_by_name: dict[str, dict[str, None]] = {}
    for argument in (word for line in wanted if line for word in line.split()):
        name, sign, value = argument.partition("=")
        parts = parts_by_name.setdefault(name, {})
        parts.update(dict.fromkeys(value.split(",") if sign else []))
    return " ".join(_argument(name, list(parts)) for name, parts in parts_by_name.items())


def _argument(name: str, parts: list[str]) -> str:
    """Return the argument with flags before the list of CPUs."""
    flags = [part for part in parts if not part[:1].isdigit()]
    lists = [part for part in parts if part[:1].isdigit()]
    return "=".join([name, ",".join(flags + lists)] if parts else [name])


def _all_of(commands: Sequence[str | None], separator: str = " && ") -> str | None:
    """Return the commands in one line, or None if there is none or one is unknown."""
    if None in commands:
        return None
    return separator.join(command for command in commands if command) or None
