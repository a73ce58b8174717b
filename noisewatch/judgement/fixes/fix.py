"""A fix: actions for now, and what makes them last. All commands about it are renderings of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noisewatch.judgement.fixes.actions import Action, Run, Write
from noisewatch.judgement.fixes.lasting import AtBoot, BootOptions, ByHand, Lasting, at_boot
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class Fix:
    """Each command may be run twice, and changes nothing the second time; one that does not exist is None.

    Actions are done in order, each if the one before succeeded; all are undone, whatever fails.
    """

    actions: tuple[Action, ...] = ()
    lasting: tuple[Lasting, ...] = ()
    needs_root: bool = True
    is_partial: bool = False  # what is done now leaves something to the next boot, or is for one of several causes

    @property
    def now(self) -> str | None:
        """What helps until the next boot."""
        return _all_of([each.do for each in self.actions])

    @property
    def undo(self) -> str | None:
        """Brings back the values that were read; None where one of them is unknown."""
        return _all_of([each.undo for each in reversed(self.actions)], "; ")

    @property
    def persist(self) -> str | None:
        """What makes it last: a command, or words for people."""
        return _all_of([each.do for each in self.lasting], " && " if self.persist_is_command else "; ")

    @property
    def persist_is_command(self) -> bool:
        """Whether a shell can run `persist`; else it is left to people."""
        return bool(self.lasting) and all(isinstance(each, AtBoot | Run) for each in self.lasting)

    @property
    def undo_persist(self) -> str | None:
        """What takes `persist` back, where that is a command; what it does now stays until `undo`."""
        return _all_of([each.undo if isinstance(each, AtBoot | Run) else None for each in reversed(self.lasting)], "; ")

    @property
    def undo_files(self) -> str | None:
        """The part of that which does no harm where nothing was made to last: our own files go."""
        return _all_of([each.undo for each in reversed(self.lasting) if isinstance(each, AtBoot)], "; ")

    @property
    def needs_reboot(self) -> bool:
        """Whether nothing helps before the machine has booted again."""
        return self.now is None and self.persist_needs_reboot

    @property
    def persist_needs_reboot(self) -> bool:
        """Whether what makes it last does so from the next boot on."""
        return any(
            isinstance(each, BootOptions) or (isinstance(each, ByHand) and each.needs_reboot) for each in self.lasting
        )

    @property
    def kernel_arguments(self) -> str | None:
        """What to add to the kernel's command line, where that is what makes it last."""
        return " ".join(each.options for each in self.lasting if isinstance(each, BootOptions)) or None


def set_for_good(*writes: Write, about: str = "") -> Fix:
    """Writes now and at each boot. `about` as in AtBoot."""
    return Fix(writes, (at_boot(*writes, about=about),))


def merged_arguments(wanted: Iterable[str | None]) -> str:
    """All in one line; one that several ask for stands there once, with the parts of all its values."""
    parts_by_name: dict[str, dict[str, None]] = {}
    for argument in (word for line in wanted if line for word in line.split()):
        name, sign, value = argument.partition("=")
        parts = parts_by_name.setdefault(name, {})
        parts.update(dict.fromkeys(value.split(",") if sign else []))
    return " ".join(_argument(name, list(parts)) for name, parts in parts_by_name.items())


def _argument(name: str, parts: list[str]) -> str:
    """Flags stand before the list of CPUs."""
    flags = [part for part in parts if not part[:1].isdigit()]
    lists = [part for part in parts if part[:1].isdigit()]
    return "=".join([name, ",".join(flags + lists)] if parts else [name])


def _all_of(commands: Sequence[str | None], separator: str = " && ") -> str | None:
    """In a line; None where there is none, or where one is unknown."""
    if None in commands:
        return None
    return separator.join(command for command in commands if command) or None
