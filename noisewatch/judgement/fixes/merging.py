"""Merge several fixes into one that does nothing twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from noisewatch.judgement.fixes.actions import Action, Move, Run, Write
from noisewatch.judgement.fixes.fix import Fix, merged_arguments
from noisewatch.judgement.fixes.lasting import BootOptions, Lasting

Step = Hashable


def steps_of(fix: Fix) -> frozenset[Step]:
    """Return the pieces of the fix's actions; of a fix without actions, its persistent parts."""
    return frozenset(step for action in fix.actions for step in _pieces(action)) or frozenset(fix.lasting)


def _pieces(action: Action) -> Sequence[Step]:
    if isinstance(action, Write):
        return action.settings
    if isinstance(action, Move):
        return [(pin.tid, pin.cpus) for pin in action.pins]
    return action.commands if isinstance(action, Run) and not action.undone_by else [action]


def share_steps(one: Fix, other: Fix) -> bool:
    """Return whether both fixes share a piece. Shared kernel options count only if one fix has no actions."""
    if steps_of(one) & steps_of(other):
        return True
    return (not one.actions or not other.actions) and bool(_options(one) & _options(other))


def _options(fix: Fix) -> frozenset[Step]:
    """Return the fix's kernel options, independent of the order within an option."""
    pairs = (word.partition("=") for word in (fix.kernel_arguments or "").split())
    return frozenset((name, frozenset(value.split(","))) for name, _, value in pairs)


def conflict(one: Fix, other: Fix) -> bool:
    """Return whether the fixes write different values to one file."""
    mine, theirs = _last_values(one), _last_values(other)
    return any(theirs.get(path, value) != value for path, value in mine.items())


def _last_values(fix: Fix) -> dict[str, str]:
    return {each.path: each.value for action in fix.actions if isinstance(action, Write) for each in action.settings}


@lru_cache(maxsize=64)  # a monitor asks for the same ones every second
def merged(*fixes: Fix) -> Fix | None:
    """Return one fix that does all of them, or None without any: each step once, in order.

    Settings that already have the requested value are left out.
    """
    each_once = list(dict.fromkeys(fixes))
    whole = [each for each in each_once if not any(steps_of(each) < steps_of(other) for other in each_once)]
    if not whole:
        return None
    done: set[Step] = set()
    actions = tuple(rest for fix in whole for action in fix.actions if (rest := _rest(action, done)) is not None)
    needed = tuple(each for each in map(_needed, actions) if each is not None)
    return Fix(needed or actions, tuple(_lasting(fix.lasting for fix in whole)), any(fix.needs_root for fix in whole))


def _rest(action: Action, done: set[Step]) -> Action | None:
    """Return the action without its pieces in `done`, or None if nothing remains; its pieces are added to `done`."""
    pieces = [each for each in _pieces(action) if each not in done]
    if isinstance(action, Write):
        rest: Action = Write(tuple(each for each in action.settings if each not in done))
    elif isinstance(action, Move):
        kept = tuple(pin for pin in action.pins if (pin.tid, pin.cpus) not in done)
        rest = replace(action, pins=kept)
    else:
        rest = action
    done.update(pieces)
    return rest if pieces else None


def _needed(action: Action) -> Action | None:
    if not isinstance(action, Write):
        return action
    settings = tuple(each for each in action.settings if each.before != each.value)
    return Write(settings) if settings else None


def _lasting(given: Iterable[Sequence[Lasting]]) -> Iterator[Lasting]:
    """Yield each persistent part once, and all kernel options as one line."""
    found = list(dict.fromkeys(each for lasting in given for each in lasting))
    options = [each.options for each in found if isinstance(each, BootOptions)]
    for each in found:
        if not isinstance(each, BootOptions):
            yield each
        elif each.options == options[0]:
            yield BootOptions(merged_arguments(options))
