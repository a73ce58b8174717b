"""A fix, its actions for now and its persistent actions, and how several fixes are merged without duplicate steps.

All commands are rendered from the actions. Persistent actions are files of noisewatch that systemd reads at boot,
commands, kernel options, and manual steps.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.fixes.actions import Action, Move, Run, Setting, Write
from noisewatch.judgement.fixes.shell import NUMBER, Product, echo, glob_of, products_of_paths, split_words
from noisewatch.patterns import regex


class Fix(Struct, frozen=True):
    """Actions for now (`actions`) and persistent ones (`lasting`), with their commands (None if there are none).

    Running a command a second time changes nothing. Actions run in order until one fails; undo continues on failure.
    """

    actions: tuple[Action, ...] = ()
    lasting: tuple[Lasting, ...] = ()
    needs_root: bool = True
    is_partial: bool = (
        False  # whether the fix takes full effect only at the next boot, or removes only some of the causes
    )

    @property
    def now(self) -> str | None:
        """The commands that take effect now and last until the next boot, or None."""
        return _join_commands([action.do for action in self.actions])

    @property
    def undo(self) -> str | None:
        """The commands that restore the current values, or None if not all can be restored."""
        return _join_commands([action.undo for action in reversed(self.actions)], "; ")

    @property
    def no_undo_reason(self) -> str | None:
        """The reason why `now` has no `undo`, or None if it has one, or if there is no command."""
        if self.now is None or self.undo is not None:
            return None
        are_reversible = all(action.undo is not None or not isinstance(action, Run) for action in self.actions)
        return "not all earlier values could be read" if are_reversible else "one of its commands cannot be reversed"

    @property
    def persist(self) -> str | None:
        """The persistent part of the fix, a command or prose, or None."""
        return _join_commands([action.do for action in self.lasting], " && " if self.persist_is_command else "; ")

    @property
    def persist_is_command(self) -> bool:
        """Whether `persist` is a shell command instead of prose."""
        return bool(self.lasting) and all(isinstance(action, AtBoot | Run) for action in self.lasting)

    @property
    def undo_persist(self) -> str | None:
        """The command that removes the persistent settings, or None. Current values stay until `undo`."""
        return _join_commands(
            [action.undo if isinstance(action, AtBoot | Run) else None for action in reversed(self.lasting)], "; "
        )

    @property
    def undo_files(self) -> str | None:
        """The part of `undo_persist` that removes noisewatch's own files: harmless if nothing was persisted."""
        return _join_commands([action.undo for action in reversed(self.lasting) if isinstance(action, AtBoot)], "; ")

    @property
    def needs_reboot(self) -> bool:
        """Whether the fix has no effect before a reboot."""
        return self.now is None and self.persist_needs_reboot

    @property
    def persist_needs_reboot(self) -> bool:
        """Whether the persistent part takes effect only at the next boot."""
        return any(
            isinstance(action, BootOptions) or (isinstance(action, ByHand) and action.needs_reboot)
            for action in self.lasting
        )

    @property
    def kernel_arguments(self) -> str | None:
        """The options to add to the kernel's command line, or None."""
        return " ".join(action.options for action in self.lasting if isinstance(action, BootOptions)) or None


def write_for_good(*writes: Write, about: str = "") -> Fix:
    """Return the fix that makes the writes now and at each boot; for `about` see AtBoot."""
    return Fix(writes, (at_boot(*writes, about=about),))


def merge_arguments(wanted: Iterable[str | None]) -> str:
    """Return all kernel arguments in one line, with the values of arguments of the same name joined."""
    parts_by_name: dict[str, dict[str, None]] = {}
    for argument in (word for line in wanted if line for word in line.split()):
        name, sign, value = argument.partition("=")
        parts = parts_by_name.setdefault(name, {})
        parts.update(dict.fromkeys(value.split(",") if sign else []))
    return " ".join(_argument(name, list(parts)) for name, parts in parts_by_name.items())


def _argument(name: str, parts: list[str]) -> str:
    """Return the argument with its flags before its CPU list."""
    flags = [part for part in parts if not part[:1].isdigit()]
    lists = [part for part in parts if part[:1].isdigit()]
    return "=".join([name, ",".join(flags + lists)] if parts else [name])


def _join_commands(commands: Sequence[str | None], separator: str = " && ") -> str | None:
    """Join the commands in one line; None if there is none or any is None."""
    if None in commands:
        return None
    return separator.join(command for command in commands if command) or None


_TMPFILES, _SYSCTL = "/etc/tmpfiles.d/noisewatch-", "/etc/sysctl.d/90-noisewatch-"  # prefixes of our own files
_SYSCTLS = "/proc/sys/"
_ROOTS = regex(r"/proc/sys/|/sys/devices/system/cpu/|/sys/class/|/sys/(devices/(system|virtual)/)?")
_PLAIN_NAME = regex(r"[\w.,-]+", re.ASCII)
_LONGEST = 110  # maximum characters of paths and file name together; longer names are shortened


class AtBoot(Struct, frozen=True):
    """Settings that systemd makes in order at each boot: with sysctl.d below /proc/sys, else with systemd-tmpfiles.

    Each set of paths has its own files, so settings for other CPUs or queues remain. Files are written as a whole:
    writing them again changes nothing. `about` distinguishes checks that write the same paths.
    """

    settings: tuple[Setting, ...]
    about: str = ""

    @property
    def do(self) -> str:
        return " && ".join(
            f"{_print_command(lines)} | sudo tee {file}" for file, lines in self._lines_by_file().items()
        )

    @property
    def undo(self) -> str:
        """The command that removes the files. It does not change current settings."""
        return f"sudo rm -f {' '.join(self._lines_by_file())}"

    def _lines_by_file(self) -> dict[str, list[str]]:
        sysctls = [setting for setting in self.settings if setting.path.startswith(_SYSCTLS)]
        others = [setting for setting in self.settings if not setting.path.startswith(_SYSCTLS)]
        files = {}
        if sysctls:
            names = [setting.path.removeprefix(_SYSCTLS).replace("/", ".") for setting in sysctls]
            lines = [f"{name} = {setting.value}" for name, setting in zip(names, sysctls, strict=True)]
            files[self._file(_SYSCTL, sysctls)] = lines
        if others:
            files[self._file(_TMPFILES, others)] = _tmpfiles_lines(others)
        return files

    def _file(self, prefix: str, settings: Sequence[Setting]) -> str:
        return (
            f"{prefix}{f'{self.about}.' if self.about else ''}{_file_name([setting.path for setting in settings])}.conf"
        )


def at_boot(*writes: Write, about: str = "") -> AtBoot:
    """Return the action that repeats the writes at each boot."""
    return AtBoot(tuple(setting for write in writes for setting in write.settings), about)


def _tmpfiles_lines(settings: Iterable[Setting]) -> list[str]:
    paths_by_value: dict[str, list[str]] = defaultdict(list)
    for setting in settings:
        paths_by_value[setting.value].append(setting.path)
    return [
        f"w {glob_of(product).replace('%', '%%')} - - - - {value.replace('%', '%%')}"
        for value, paths in paths_by_value.items()
        for product in products_of_paths(paths)
    ]


def _print_command(lines: Sequence[str]) -> str:
    return echo(lines[0]) if len(lines) == 1 else f"printf '%s\\n' {' '.join(map(shlex.quote, lines))}"


def _file_name(paths: Sequence[str]) -> str:
    """Return a file name for these paths: the abbreviated paths if they fit, else one with a checksum."""
    products = products_of_paths(paths)
    name = _abbreviate_paths(products[0]) if len(products) == 1 else ""
    checksum = f"{crc32(' '.join(sorted(paths)).encode()):08x}"
    length = sum(len(glob_of(product)) for product in products)
    candidates = (name, f"{paths[0].rsplit('/', 1)[1]}.{checksum}")
    fitting = (name for name in candidates if _PLAIN_NAME.fullmatch(name) and len(name) + length <= _LONGEST)
    return next(fitting, checksum)


def _abbreviate_paths(product: Product) -> str:
    """Return the product's paths in short form: `cpu2-3.cpufreq.scaling_governor`."""
    return _ROOTS.sub("", "/".join(map(_abbreviate, product)), count=1).replace("/", ".")


def _abbreviate(alternatives: Sequence[str]) -> str:
    before, values, after = split_words(alternatives)
    if len(values) > 1 and all(map(NUMBER.fullmatch, values)):
        return f"{before}{format_cpu_list(map(int, values))}{after}"
    return f"{before}{','.join(values)}{after}"


class BootOptions(Struct, frozen=True):
    """Options to add to the kernel's command line: `nohz_full=2-3`."""

    options: str

    @property
    def do(self) -> str:
        return f"add to the kernel command line and reboot: {self.options}"


class ByHand(Struct, frozen=True):
    """A manual step, described in words."""

    words: str
    needs_reboot: bool = False

    @property
    def do(self) -> str:
        return self.words


def boot_without(option: str) -> ByHand:
    """Return the manual step that removes an option from the kernel's command line."""
    return ByHand(f"remove {option} from the kernel command line and reboot", needs_reboot=True)


Lasting = AtBoot | Run | BootOptions | ByHand


Step = Hashable


def steps_of(fix: Fix) -> frozenset[Step]:
    """Return the steps of the fix's actions or, without actions, its persistent actions."""
    return frozenset(step for action in fix.actions for step in _steps_of_action(action)) or frozenset(fix.lasting)


def _steps_of_action(action: Action) -> Sequence[Step]:
    if isinstance(action, Write):
        return action.settings
    if isinstance(action, Move):
        return [(pin.tid, pin.cpus) for pin in action.pins]
    return action.commands if isinstance(action, Run) and not action.undone_by else [action]


def share_steps(left: Fix, right: Fix) -> bool:
    """Return whether the fixes have a common step. Common kernel options count only if one fix has no actions."""
    if steps_of(left) & steps_of(right):
        return True
    return (not left.actions or not right.actions) and bool(_options(left) & _options(right))


def _options(fix: Fix) -> frozenset[Step]:
    """Return the fix's kernel options, each as its name and the set of its values."""
    pairs = (word.partition("=") for word in (fix.kernel_arguments or "").split())
    return frozenset((name, frozenset(value.split(","))) for name, _, value in pairs)


def conflict(left: Fix, right: Fix) -> bool:
    """Return whether the fixes write different values to the same file."""
    right_values = _last_values(right)
    return any(right_values.get(path, value) != value for path, value in _last_values(left).items())


def _last_values(fix: Fix) -> dict[str, str]:
    return {
        setting.path: setting.value
        for action in fix.actions
        if isinstance(action, Write)
        for setting in action.settings
    }


@lru_cache(maxsize=64)  # a monitor merges the same fixes every second
def merge_fixes(*fixes: Fix) -> Fix | None:
    """Merge the fixes into one that does each step once, in order; None if there are no fixes.

    Settings that already have the requested value are left out unless there is no other step.
    """
    distinct = list(dict.fromkeys(fixes))
    whole = [fix for fix in distinct if not any(steps_of(fix) < steps_of(other) for other in distinct)]
    if not whole:
        return None
    done: set[Step] = set()
    remaining = (_without_done(action, done) for fix in whole for action in fix.actions)
    actions = tuple(action for action in remaining if action is not None)
    needed = tuple(action for action in map(_without_unchanged, actions) if action is not None)
    return Fix(
        needed or actions, tuple(_merge_lasting(fix.lasting for fix in whole)), any(fix.needs_root for fix in whole)
    )


def _without_done(action: Action, done: set[Step]) -> Action | None:
    """Return the action without the steps in `done`, or None if none remains. Add the remaining steps to `done`."""
    steps = [step for step in _steps_of_action(action) if step not in done]
    if isinstance(action, Write):
        remaining: Action = Write(tuple(setting for setting in action.settings if setting not in done))
    elif isinstance(action, Move):
        pins = tuple(pin for pin in action.pins if (pin.tid, pin.cpus) not in done)
        remaining = replace(action, pins=pins)
    else:
        remaining = action
    done.update(steps)
    return remaining if steps else None


def _without_unchanged(action: Action) -> Action | None:
    if not isinstance(action, Write):
        return action
    settings = tuple(setting for setting in action.settings if setting.before != setting.value)
    return Write(settings) if settings else None


def _merge_lasting(parts: Iterable[Sequence[Lasting]]) -> Iterator[Lasting]:
    """Yield each persistent action once, with all kernel options merged into one."""
    actions = list(dict.fromkeys(action for lasting in parts for action in lasting))
    options = [action.options for action in actions if isinstance(action, BootOptions)]
    for action in actions:
        if not isinstance(action, BootOptions):
            yield action
        elif action.options == options[0]:
            yield BootOptions(merge_arguments(options))
