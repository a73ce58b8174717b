"""The monitor's commands, with their keys, names and actions, and the help, which lists the commands.

The help also explains the words and signs on the screens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct
from textual.keys import Keys, key_to_character

from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.text_row import Row, cut, length
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.tui.draw.levels import level_legend
from noisewatch.surfaces.tui.events.kinds import SEVERAL, EventKind
from noisewatch.surfaces.tui.screens.table import ALL_ROWS, SCREEN_ENTRIES
from noisewatch.surfaces.tui.state.screen_model import Screen

LOOK, MOVE, ACT, LEAVE = "look", "move in time", "act", "copy, export, leave"  # groups of the help


class Command(Struct, frozen=True):
    """A command and its key, or several keys separated by commas; keys have Textual's names. F keys are as in htop.

    In `name`, `; ` separates effects that differ by screen; the later ones begin with the screen's name. `words` are
    further search words for the palette.
    """

    key: str
    name: str
    group: str
    words: str
    action: str
    comes_first: bool = False  # handled before the focused widget
    is_hidden: bool = False  # left out of help and palette
    is_in_overlay: bool = False  # also works in an overlay, or closes it

    @property
    def is_scrolling(self) -> bool:
        return self.action.startswith("scroll")

    @property
    def action_name(self) -> str:
        """The action without its arguments."""
        return self.action.partition("(")[0]


_STEP, _SPIKE, _EVENT = "time, seconds, history", "disturbance, noise, clock, irq", "change, log"
_SPEED, _NEXT = "recording, replay", "neighbour"

COMMANDS = (
    Command("ctrl+c", "quit", LEAVE, "", "leave_at_once", comes_first=True, is_hidden=True, is_in_overlay=True),
    Command("space", "freeze, play", MOVE, "stop, pause, hold, resume", "freeze"),
    Command("less_than_sign", "play slower", MOVE, _SPEED, "speed(-1)"),
    Command("greater_than_sign", "play faster", MOVE, _SPEED, "speed(1)"),
    Command("left", "step back", MOVE, _STEP, "do('step', -1)"),
    Command("right", "step forward", MOVE, _STEP, "do('step', 1)"),
    Command("shift+left", "10 back", MOVE, _STEP, "do('step', -10)"),
    Command("shift+right", "10 forward", MOVE, _STEP, "do('step', 10)"),
    Command("left_parenthesis", "oldest", MOVE, _STEP, "do('step', -1_000_000)"),
    Command("right_parenthesis", "newest", MOVE, _STEP, "do('step_to_newest')"),
    Command("left_square_bracket", "previous spike, drop, rise", MOVE, _SPIKE, "do('step_to_spike', -1)"),
    Command("right_square_bracket", "next spike, drop, rise", MOVE, _SPIKE, "do('step_to_spike', 1)"),
    Command("left_curly_bracket", "previous event", MOVE, _EVENT, "do('step_to_event', -1)"),
    Command("right_curly_bracket", "next event", MOVE, _EVENT, "do('step_to_event', 1)"),
    Command("H", "pause on spike", MOVE, "freeze, stop at the next disturbance", "do('toggle_pause_on_spike')"),
    Command("w", "zoom time", MOVE, "time axis, scale, minutes, hour", "do('next_zoom')"),
    Command("s,f6", "sort", LOOK, "order by cost, rate, change", "do('next_sort')"),
    Command("m", "mark baseline", MOVE, "compare, before, after, difference", "do('mark_baseline')"),
    Command("M", "clear baseline", MOVE, "forget baseline, compare no longer", "do('forget_baseline')"),
    Command("a", "all CPUs", LOOK, "housekeeping CPUs, too", "do('toggle_all_cpus')"),
    Command("g,f5", "group rows; clock: next graph", LOOK, "fold, unfold, by device", "do('toggle_folding')"),
    Command(
        "z",
        "irqs: show silent IRQs; map: one cache, or all",
        LOOK,
        "interrupts that never come; one cache, one node of the map",
        "do('toggle_hidden')",
    ),
    Command("v", "all checks", LOOK, "verbose, the answer of each check", "do('toggle_all_checks')"),
    Command("c", "calibrate", ACT, "noise floor, gaps, microbenchmark, measure", "ask('calibration')"),
    Command("t", "trace", ACT, "follow threads and interrupts with the kernel's tracer", "ask('trace')"),
    Command("p", "run preflight", ACT, "gate, check, verdict, with a calibration", "ask('preflight')"),
    Command(
        "r",
        "machine's history",
        ACT,
        "remembered calibrations, slower or faster than usual, what changed",
        "ask('history')",
    ),
    Command("T", "tune, restore", ACT, "quiet settings, sudo, governor, move interrupts, undo, reset", "ask('tune')"),
    Command("S", "idle probe", ACT, "measure idle CPUs", "idle_probe"),
    *(
        Command(str(screen.number), screen, LOOK, f"screen: {SCREEN_ENTRIES[screen].words}", f"do('go_to', '{screen}')")
        for screen in Screen
    ),
    Command("tab", "next CPU or screen", LOOK, _NEXT, "do('next', 1)", comes_first=True),
    Command("shift+tab", "previous CPU or screen", LOOK, _NEXT, "do('next', -1)", comes_first=True),
    Command("slash,f3,f4", "filter", LOOK, "find, search, name, kind", "filter"),
    Command("f,f9", "fix", ACT, "advice, help, what to do, undo", "advise"),
    Command("y", "copy fix", LEAVE, "command, clipboard", "copy"),
    Command(
        "F",
        "write fix script",
        LEAVE,
        "all fixes and their undo as shell scripts, file",
        "fix_script",
        is_in_overlay=True,
    ),
    Command("e", "export", LEAVE, "save, picture, svg, png, json, markdown", "export", is_in_overlay=True),
    Command("enter", "open CPU, start", LOOK, "open, enter, why, begin", "start", is_in_overlay=True),
    Command("escape", "back", LOOK, "close, cancel, return", "leave", is_in_overlay=True),
    Command("question_mark,h,f1", "help", LEAVE, "keys, words, legend", "help"),
    Command("colon,ctrl+p", "command palette", LEAVE, "", "command_palette"),
    Command("down,j", "scroll", LOOK, "", "scroll(1)", is_in_overlay=True),
    Command("up", "scroll", LOOK, "", "scroll(-1)", is_in_overlay=True),
    Command(
        "k",
        "a row up; map: next quantity",
        LOOK,
        "on the map: noise, interrupts, clock, heat",
        "scroll_or_choose",
        is_in_overlay=True,
    ),
    Command("pagedown", "scroll", LOOK, "", "scroll(10)", is_in_overlay=True),
    Command("pageup", "scroll", LOOK, "", "scroll(-10)", is_in_overlay=True),
    Command("home", "first, last row", LOOK, "", f"scroll({-ALL_ROWS})", is_in_overlay=True),
    Command("end", "first, last row", LOOK, "", f"scroll({ALL_ROWS})", is_in_overlay=True),
    # last in the palette: Enter runs its first row
    Command("q,f10", "quit, close", LEAVE, "exit, leave", "quit", comes_first=True, is_in_overlay=True),
)
SCROLLING = frozenset(key for command in COMMANDS if command.is_scrolling for key in command.key.split(","))
WHILE_TYPING = frozenset({"leave_at_once"})
IN_OVERLAY = frozenset(command.action_name for command in COMMANDS if command.is_in_overlay)
IN_HELP = tuple(command for command in COMMANDS if not command.is_hidden)
KEY_NAMES = tuple(key.value for key in Keys)  # of keys that are not characters


def is_key(name: str) -> bool:
    """Return whether this is a key's name: a character, a character's name, or another name that Textual uses."""
    return name in KEY_NAMES or (key_to_character(name) or "\0").isprintable()


_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "question_mark": "?",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "slash": "/",
    "colon": ":",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
}
_ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}


def name_of_key(key: str, in_unicode: bool = True) -> str:
    """Return a key's name as printed on a keyboard; `key` is Textual's name."""
    *held, last = key.split("+")
    return "-".join([*held, (_NAMES | _ARROWS if in_unicode else _NAMES).get(last, last)])


_TITLE = "noisewatch: what makes the CPUs of your benchmark noisy"
_FIRST = (  # what the first screen needs, in the order in which it is read: words or signs, and their explanations
    (
        "UNSTABLE",
        "verdict of the checks over 5 s or the last interval; then the noisiest target CPU, {cause} its "
        "costliest culprit, and keys",
    ),
    ("T s x", "target CPU, where your benchmark runs; sibling on its core; offline"),
    ("noise/s", "time that others take from a benchmark: 10 ms/s is 1%"),
    ("~", "estimated: a typical cost, or noise that may have moved between CPUs"),
    ("{bars}", "noise/s in an interval: {legend}"),
    ("{other}", "none, unknown, or not followed: not among the 64 costliest"),
    (
        "culprits",
        "who takes this time, the costliest first: {arrows} select one, enter shows its CPU, f explains it and its fix",
    ),
    ("target", "at the bottom: noise/s of the noisiest target CPU; [ ] go to spikes"),
)
_TEXT = """\
  irq/s     interrupts of all kinds   sirq/s  softirqs
  load      share of the time in which other tasks used the CPU
  measured  noise/s over 10 s, by the idle probe (S), which uses 2% of idle CPUs
  [7/9]     process 7, thread 9
  unexplained  busy time that no visible thread explains: mostly time of
            short-lived threads
  outside   hypervisor or firmware   self  what noisewatch itself costs
  filter    kworker cpu:2-5 kind:irq >100us !rcu: all words must match
  with many CPUs: columns, then cells (a group shows its worst CPU)
"""
_EVENTS_A_LINE = 6
_SCROLLS = "  {} scroll; any other key closes"
_KEY, _COLUMN, _LEGEND = 11, 40, 84  # widths in columns: of a key, a key with its effect, the explained words
_WORD, _WIDEST_TEXT = 12, 100  # columns of a word with its gaps, and of a word with its explanation


def help_rows(width: int, height: int, offset: int = 0, in_unicode: bool = True) -> list[Row]:
    """Return the help: the words of the first screen, then the keys, and the other words next to or below the keys.

    If it is too long, it is scrolled by `offset` rows.
    """
    legend: list[Row] = [_plain(line) for line in (*_TEXT.splitlines(), *_events())]
    has_room_for_legend = width >= 2 * _COLUMN + _LEGEND
    columns = max(min((width - (_LEGEND if has_room_for_legend else 0)) // _COLUMN, 4), 1)
    keys = _in_columns(_by_group(in_unicode), columns)
    if has_room_for_legend:
        count = max(len(keys), len(legend))
        padded = [_cell(row, columns * _COLUMN) for row in [*keys, *([[]] * (count - len(keys)))]]
        body = [[*left, *right] for left, right in zip(padded, [*legend, *([[]] * (count - len(legend)))], strict=True)]
    else:
        body = [*keys, *legend]
    body = [*_first_screen(width, in_unicode), *body]
    rows = [_plain(_TITLE), *body]
    if len(rows) > height:
        room = max(height - 2, 0)
        first = min(offset, len(body) - room)
        arrows = "↑ ↓" if in_unicode else "arrows"
        rows = [_plain(_TITLE), *body[first : first + room], _plain(_SCROLLS.format(arrows))]
    return [cut(row, width) for row in rows[:height]]


def _first_screen(width: int, in_unicode: bool) -> list[Row]:
    """Return the explanation of the first screen, wrapped to `width` columns."""
    glyphs = UNICODE if in_unicode else ASCII
    signs = {
        "cause": glyphs.cause,
        "bars": glyphs.ramp[2] + glyphs.ramp[5] + glyphs.ramp[8],
        "legend": level_legend(glyphs),
        "other": f"{glyphs.quiet} {glyphs.unknown} {glyphs.not_followed}",
        "arrows": "↑ ↓" if in_unicode else "up down",
    }
    rows: list[Row] = []
    for word, text in _FIRST:
        lines = wrap(text.format_map(signs), min(width, _WIDEST_TEXT), " " * _WORD, keep="hyphens")
        rows += [
            [(f"  {'' if index else word.format_map(signs):<{_WORD - 2}}", "strong"), (line[_WORD:], "plain")]
            for index, line in enumerate(lines)
        ]
    return rows


def help_offset(offset: int, width: int, height: int) -> int:
    """Return the offset of the help, limited to the rows that do not fit."""
    body = len(help_rows(width, ALL_ROWS)) - 1
    return max(min(offset, body - max(height - 2, 0)), 0)


def _events() -> list[str]:
    """Return the lines of the help that explain the event letters below the timeline."""
    letters = [f"{kind.mark} {kind}" for kind in EventKind] + [f"{SEVERAL} several"]
    lines = ["   ".join(letters[index : index + _EVENTS_A_LINE]) for index in range(0, len(letters), _EVENTS_A_LINE)]
    return [f"  {'events' if not index else '':<9} {line}" for index, line in enumerate(lines)]


def _by_group(in_unicode: bool) -> list[list[Row]]:
    """Return a heading and rows for each group; keys with the same effect share a row, and screens come first."""
    keys_of: dict[str, dict[str, list[str]]] = {name: {} for name in (LOOK, ACT, MOVE, LEAVE)}
    for command in sorted(IN_HELP, key=lambda command: not command.action.startswith("do('go_to")):
        keys_of[command.group].setdefault(command.name, []).extend(command.key.split(","))
    return [
        [
            [(f"  {name}", "heading")],
            *(row for doing, keys in keys_by_effect.items() for row in _key_rows(keys, doing, in_unicode)),
        ]
        for name, keys_by_effect in keys_of.items()
    ]


def _key_rows(keys: Sequence[str], doing: str, in_unicode: bool) -> list[Row]:
    """Return a row for each effect of the keys; effects may differ by screen."""
    names = " ".join(name_of_key(key, in_unicode) for key in keys)
    effects = doing.split("; ")
    return [
        [(f"  {name:<{_KEY}} ", "strong"), (effect, "plain")]
        for name, effect in zip_longest([names], effects, fillvalue="")
    ]


def _in_columns(groups: Sequence[Sequence[Row]], count: int) -> list[Row]:
    """Return the groups in columns; each whole group is put into the column that is shortest so far."""
    columns: list[list[Row]] = [[] for _ in range(count)]
    for group in groups:
        min(columns, key=len).extend(group)
    height = max(map(len, columns))
    return [
        [piece for column in columns for piece in _cell(column[index] if index < len(column) else [], _COLUMN)]
        for index in range(height)
    ]


def _cell(row: Row, width: int) -> Row:
    """Return the row in exactly `width` columns."""
    shown = cut(row, width)
    return [*shown, (" " * (width - length(shown)), "plain")]


def _plain(line: str) -> Row:
    return [(line, "plain")]
