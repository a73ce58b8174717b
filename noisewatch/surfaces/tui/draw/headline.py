"""The second row of every screen: the verdict, the most important noise with its culprit, and helpful keys.

Some screens have their own sentence next to the verdict, instead of the worst CPU. The longest wording comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from noisewatch.cpus import format_cpu_list, name_cpus
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import AFTER_AN_INTERRUPT, Kind, Role
from noisewatch.operations.frame.frame import CpuLine, CulpritLine, Frame
from noisewatch.surfaces.tui.draw.clock_facts import helpful
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, style_of
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style, cut, cut_at_word, first_that_fits, length, lines_of
from noisewatch.surfaces.tui.state.clock_history import ClockRange
from noisewatch.surfaces.tui.state.folding import cpus_of, folded, noise_of, what_is_same
from noisewatch.surfaces.tui.state.irq_history import FREQUENT_PER_S, uncounted_cpus
from noisewatch.surfaces.tui.state.irq_table import culprit_of
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, NOTABLE_NS
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Quantity, Screen, ScreenModel
from noisewatch.units import (
    describe_clock,
    describe_clocks,
    describe_count,
    describe_rate,
    short_noise,
    short_seconds,
    short_share,
)

_VERDICTS: Mapping[str, Piece] = {
    "stable": ("STABLE", "good"),
    "unstable": ("UNSTABLE", "bad"),
    "unknown": ("UNKNOWN", "doubt"),
}
_MOST_NAMED = 3
NARROW = 60  # columns
_LIMIT = short_share(GRAVE_NS / 1e9)
_PREFLIGHT = ("p", "preflight")
_FIX, COPY, _MEASURE = ("f", "fix"), ("y", "copy fix"), ("c", "measure")
_HELPFUL_KEYS_BY_SCREEN = {
    Screen.MAP: (("enter", "CPU"), _PREFLIGHT),
    Screen.CLOCK: (COPY, _MEASURE),
    Screen.EVENTS: (("enter", "go there"), _PREFLIGHT),
    Screen.PREFLIGHT: (COPY, _PREFLIGHT),
}

# Return a screen's own sentence instead of the worst CPU, or behind it: all wordings, the longest first; or none.
Headline = Callable[[ScreenModel, Frame, Glyphs], Sequence[Row]]


def headline_row(model: ScreenModel, width: int, glyphs: Glyphs, of_screen: Headline | None = None) -> Row:
    """Return the headline; if it does not fit, details go first, then the keys, then the sentence's end.

    The verdict is never cut.
    """
    frame = model.frame
    if frame is None:
        return cut([(f" {model.trouble or 'looking …'}", "doubt")], width)
    row, sentences = _beginning(model), sentences_of(model, frame, glyphs, of_screen)
    if (whole := _complete_row(model, frame, row, sentences, width)) is not None:
        return whole
    verdict, *rest = [*row, *sentences[-1]]
    return cut([verdict, *cut_at_word(rest, width - length([verdict]))], width)


def has_room(model: ScreenModel, frame: Frame, width: int, glyphs: Glyphs, of_screen: Headline | None = None) -> bool:
    """Return whether a wording of the headline fits completely."""
    return None is not _complete_row(
        model, frame, _beginning(model), sentences_of(model, frame, glyphs, of_screen), width
    )


def _beginning(model: ScreenModel) -> Row:
    """Return the verdict, and the states that qualify the rest of the headline."""
    row: Row = [verdict_of(model), (" ", "plain")]
    for state in states_of(model):
        row += [(state, "doubt"), ("  ", "plain")]
    if over := over_now(model):
        row += [(f"{name_cpus(over)} over {'its' if len(over) == 1 else 'their'} limit now", "grave"), ("  ", "plain")]
    return row


def sentences_of(model: ScreenModel, frame: Frame, glyphs: Glyphs, of_screen: Headline | None) -> list[Row]:
    """Return the wordings of the text behind the verdict, the longest first."""
    has_own = frame.seconds > 0 and not model.is_past
    own = list(of_screen(model, frame, glyphs)) if of_screen is not None and has_own else []
    return _with_screen_sentence(model, frame, _sentences(model, frame, glyphs), own)


def _complete_row(model: ScreenModel, frame: Frame, row: Row, sentences: Sequence[Row], width: int) -> Row | None:
    is_calm = row[0][1] == "good"  # nothing to fix
    offered = () if is_calm else _helpful_keys(model, frame)
    keys: Row = [piece for key, action in offered for piece in ((f" {key} ", "key"), (f"{action} ", "plain"))]
    for shown_keys in (keys, []) if keys else ([],):
        for sentence in sentences:
            left = width - length(row) - length(sentence) - length(shown_keys)
            if left >= (2 if shown_keys else 0):
                return [*row, *sentence, *([(" " * left, "plain"), *shown_keys] if shown_keys else [])]
    return None


def _with_screen_sentence(model: ScreenModel, frame: Frame, sentences: list[Row], own: list[Row]) -> list[Row]:
    """Add the screen's own sentence; on a noisy machine it comes second, after the culprit."""
    if not own:
        return sentences
    has_culprit = culprit_of_headline(frame) is not None and (frame.verdict != "stable" or bool(over_now(model)))
    if not has_culprit and (frame.verdict != "unstable" or model.screen == Screen.PREFLIGHT):
        return own
    return [
        *(
            [*sentence, ("  ", "plain"), *own_sentence]
            for sentence in sentences[:-1] or sentences
            for own_sentence in own
        ),
        *sentences,
    ]


def _helpful_keys(model: ScreenModel, frame: Frame) -> Sequence[tuple[str, str]]:
    """Return the keys to offer; `f` only if the selected row is the culprit of the headline."""
    if model.screen in _HELPFUL_KEYS_BY_SCREEN:
        idle = [*([] if has_command(model, frame) else [COPY]), *([_MEASURE] if model.is_recorded else [])]
        return [key for key in _HELPFUL_KEYS_BY_SCREEN[model.screen] if key not in idle]
    return (_FIX, _PREFLIGHT) if _selects_culprit(model, frame) else (_PREFLIGHT,)


def has_command(model: ScreenModel, frame: Frame) -> bool:
    """Return whether `y` has a command to copy on the screens of clocks and checks."""
    if model.screen == Screen.CLOCK:
        return any(finding.command is not None for finding in helpful(frame.findings))
    selected = model.findings().selected if model.screen == Screen.PREFLIGHT else None
    return selected is not None and frame.command_against(selected) is not None


def _selects_culprit(model: ScreenModel, frame: Frame) -> bool:
    """Return whether the selected row is the culprit of the headline, or the IRQ that likely raises it."""
    selected, culprit = _selected(model), culprit_of_headline(frame)
    if selected is None or culprit is None:
        return False
    culprits = [culprit, *([irq] if (irq := likely_irq(culprit, frame.culprits)) is not None else [])]
    is_here = culprit.cpu in cpus_of(selected) or selected.irq is not None
    return is_here and what_is_same(selected) in map(what_is_same, culprits)


def _selected(model: ScreenModel) -> CulpritLine | None:
    """Return the culprit that this picture shows as selected."""
    if model.screen == Screen.IRQS:
        row = model.irq_listing().selected
        return culprit_of(model, row) if row is not None else None
    return model.listing().selected if model.screen in WITH_CULPRITS else None


def verdict_of(model: ScreenModel) -> Piece:
    verdict = model.frame.verdict if model.frame is not None else None
    if model.is_past:
        return (" UNKNOWN ", "doubt")  # the last frame is not the current state
    if verdict is None:
        return (" no rates yet ", "faint")
    word, style = _VERDICTS[verdict]
    if over_now(model):
        judged_s = model.frame.judged_s if model.frame is not None else None
        return (f" {word} over {short_seconds(judged_s)} " if judged_s is not None else f" {word} ", "doubt")
    return (f" {word} ", style)


def over_now(model: ScreenModel) -> list[int]:
    """Return the target CPUs over their limit in the shown interval while the verdict over several is stable."""
    frame = model.frame
    if frame is None or frame.verdict != "stable" or model.is_past:
        return []
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    return [line.cpu for line in targets if (line.stolen_ns_per_s or 0) >= GRAVE_NS]


def states_of(model: ScreenModel) -> list[str]:
    """Return the shown snapshot if it is not the newest of a running machine, and what went wrong."""
    states = [_snapshot(model)] if model.cursor is not None else []
    if model.trouble or model.silence:
        return [*states, str(model.trouble or model.silence)]
    if (late := model.why_late(model.frame)) is not None:
        states.append(late)
    return [*states, "PAUSES ON SPIKE"] if model.cursor is None and model.pauses_on_spike else states


def _snapshot(model: ScreenModel) -> str:
    """Return a text for the shown snapshot; of a recording also its state of playing."""
    if not model.is_recorded or model.newest is None:
        at = model.wall_clock()
        age = f"{model.behind_s():.0f} s {'before the last frame' if model.is_stale else 'ago'}"
        return f"FROZEN {at} ({age})" if at is not None else f"FROZEN {age}"
    moves = "PLAYING" if model.plays else "STOPPED"
    moves += f" {model.speed:g}x" if model.plays or model.speed != 1 else ""
    moves += ", pauses on spike," if model.pauses_on_spike else ""
    more = "" if model.newest.is_last else " read so far"
    return f"{moves} at {model.into_s():.0f} of {model.into_s() + model.behind_s():.0f} s{more}"


def _sentences(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> list[Row]:
    """Return the worst target CPU and its culprit if the noise is notable, or else the failed or unknown checks.

    The longest wording comes first: with limit, device of an IRQ, share and rate; each further one has one less.
    """
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    until = "until then " if model.is_past else ""
    if frame.seconds <= 0:
        return [checks_row(model, frame)]
    if not targets:
        return [[(f"{until}no target CPU is online" if frame.target else f"{until}there is no target CPU", "doubt")]]
    unknown_cpus = format_cpu_list(line.cpu for line in targets if line.stolen_ns_per_s is None)
    doubt: Row = [(f"noise unknown on CPU {unknown_cpus}", "unknown")] if unknown_cpus else []
    worst = max(targets, key=lambda line: line.stolen_ns_per_s or 0)
    noise_ns = worst.stolen_ns_per_s or 0
    is_notable, is_grave = noise_ns >= NOTABLE_NS, noise_ns >= GRAVE_NS
    if doubt and not is_notable:
        return [[(until, "plain"), *doubt]]
    checks = [] if is_notable else checks_row(model, frame)
    before: Row = [*checks, ("  ", "plain"), (until, "plain")] if checks else [(until, "plain")]
    culprit = culprit_of_headline(frame)
    wordings = [
        [
            *_noise(worst, glyphs, detail, is_worst=is_grave or not unknown_cpus),
            *(_culprit(frame, culprit, glyphs, detail) if culprit is not None else []),
        ]
        for detail in (3, 2, 1, 0)
    ]
    if is_grave and doubt:
        return [[*before, *wording, (f"  CPU {unknown_cpus} unknown", "unknown")] for wording in wordings]
    first: Row = [*before, *doubt, ("  ", "plain")] if doubt else before
    return [[*first, *wording] for wording in wordings]


def _noise(line: CpuLine, glyphs: Glyphs, detail: int, *, is_worst: bool) -> Row:
    noise_ns = line.stolen_ns_per_s or 0
    mark = glyphs.estimate if line.is_estimate else ""
    figure = f"{mark}{short_noise(line.stolen_ns_per_s)}"
    row: Row = [(f"{'worst ' if is_worst else ''}CPU {line.cpu}: ", "strong"), (figure, style_of(line.stolen_ns_per_s))]
    if not detail or noise_ns < GRAVE_NS:
        return row
    return [*row, (f" ({short_share(noise_ns / 1e9)}{f', limit {_LIMIT}' if detail > 2 else ''})", "plain")]


def culprit_of_headline(frame: Frame) -> CulpritLine | None:
    """Return the costliest culprit on the worst target CPU, all its threads together; None without notable noise."""
    targets = [line for line in frame.cpus if line.role == Role.TARGET and (line.stolen_ns_per_s or 0) >= NOTABLE_NS]
    if not targets:
        return None
    worst = max(targets, key=lambda line: line.stolen_ns_per_s or 0).cpu
    return max(folded(line for line in frame.culprits if line.cpu == worst), key=noise_of, default=None)


def likely_irq(line: CulpritLine, culprits: Sequence[CulpritLine]) -> CulpritLine | None:
    """Return the most frequent IRQ on the CPU of a softirq that follows interrupts: it likely raises the softirq."""
    if line.kind != Kind.SOFTIRQ or line.name not in AFTER_AN_INTERRUPT:
        return None
    irqs = [culprit for culprit in culprits if culprit.cpu == line.cpu and culprit.kind == Kind.IRQ]
    return max(irqs, key=lambda culprit: culprit.rate_per_s or 0, default=None)


def _culprit(frame: Frame, culprit: CulpritLine, glyphs: Glyphs, detail: int) -> Row:
    irq = likely_irq(culprit, frame.culprits)
    rate = f": {describe_rate(culprit.rate_per_s)}" if detail and culprit.rate_per_s else ""
    by: Row = []
    if irq is not None:
        name = irq.name.partition(" (")[0]
        by = [(", likely by ", "plain"), (f"IRQ {name if detail > 1 else name.split()[0]}", "strong")]
    who = culprit.kind.with_name(culprit.name if detail > 1 else bare_name(culprit)) + culprit.process_mark
    return [(f"  {glyphs.cause} ", "faint"), (who, "strong"), *by, (rate, "plain")]


def bare_name(culprit: CulpritLine) -> str:
    """Return the culprit's name, of an IRQ without its device."""
    return culprit.name.partition(" (")[0] if culprit.irq is not None else culprit.name


def checks_row(model: ScreenModel, frame: Frame) -> Row:
    """Return the failed checks, or else the unknown ones; empty without a verdict or such checks."""
    if frame.verdict is None:
        return []
    if frame.failed:
        over = f" ({short_seconds(frame.judged_s)})" if frame.judged_s is not None else ""
        was = "was failing: " if model.is_past else f"failing{over}: "
        return [(was, "plain"), _first(frame.failed, "grave")]
    return [("unknown: ", "plain"), _first(frame.unknown, "unknown")] if frame.unknown else []


def _first(checks: Sequence[str], style: Style) -> Piece:
    return ", ".join(checks[:_MOST_NAMED]) + (" …" if len(checks) > _MOST_NAMED else ""), style


def narrow_head(
    model: ScreenModel,
    frame: Frame,
    tabs: Row,
    width: int,
    height: int,
    glyphs: Glyphs,
    of_screen: Headline | None = None,
) -> list[Row]:
    """Return the verdict, the worst CPU and the culprit's name, in that order, below the shown snapshot or tabs."""
    if model.is_past:
        return _trouble_rows(model, tabs, width, height)
    verdict, culprit = verdict_of(model), culprit_of_headline(frame)
    if culprit is None:
        checks = checks_row(model, frame)
        wordings = [*sentences_of(model, frame, glyphs, of_screen), *([checks, checks[-1:]] if checks else [])]
        first, second = [verdict], _first_fitting(wordings, width)
    else:
        first = [
            verdict,
            (" ", "plain"),
            *_first_fitting(_worst_cpu(frame, culprit, glyphs), width - length([verdict]) - 1),
        ]
        second = _first_fitting(_culprit_names(culprit, glyphs), width)
    if height == 1:
        return [_in_one_row(first, second, width)]
    above = [_state_row(model, width) or tabs] if height > 2 else []
    return [*above, cut(first, width), cut(second, width)]


def _in_one_row(first: Row, second: Row, width: int) -> Row:
    """Return both rows in one; a figure gives way to the following name, and then signs between words do."""
    gap: Row = [(" ", "plain")]
    (verdict, style), *rest = first[:3]
    bare: Row = [(verdict.strip(), style), *rest, *gap, *second[-1:]]
    whole = ([*first, *gap, *second], [*first[:3], *gap, *second])
    return next((row for row in whole if length(row) <= width), cut(bare, width))


def _trouble_rows(model: ScreenModel, tabs: Row, width: int, height: int) -> list[Row]:
    """Return the reason of the trouble, before the last observed state."""
    verdict, wrong = verdict_of(model), str(model.trouble or model.silence)
    above = [tabs] if width >= NARROW and height > 2 else []
    if height == 1 or above:
        first, *more = lines_of(f"{'-' * length([verdict])} {wrong}", width, height - len(above))
        text = first[length([verdict]) :]
        row = cut([verdict, (text, "doubt")], width)
        return [*above, row, *(cut_at_word([(f" {line}", "doubt")], width) for line in more)]
    lines = lines_of(wrong, width, height - 1)
    return [cut([verdict], width), *(cut_at_word([(line, "doubt")], width) for line in lines)]


def _worst_cpu(frame: Frame, culprit: CulpritLine, glyphs: Glyphs) -> list[Row]:
    """Return wordings of the worst CPU, which has the culprit, with and without its noise."""
    line = next(line for line in frame.cpus if line.cpu == culprit.cpu)
    mark = glyphs.estimate if line.is_estimate else ""
    cpu = f"CPU {line.cpu}"
    figure = f": {mark}{short_noise(line.stolen_ns_per_s)}"
    return [[(cpu, "strong"), (figure, style_of(line.stolen_ns_per_s))], [(cpu, "strong")]]


def _culprit_names(culprit: CulpritLine, glyphs: Glyphs) -> list[Row]:
    """Return wordings of the culprit: its name with its kind, then the bare name."""
    bare = bare_name(culprit)
    marked = bare + culprit.process_mark
    return [
        [(f"{glyphs.cause} ", "faint"), (name, "strong")] for name in (culprit.kind.with_name(marked), marked, bare)
    ]


def _state_row(model: ScreenModel, width: int) -> Row | None:
    """Return the shown snapshot if it is not the newest, or that a CPU is over its limit; None otherwise."""
    if states := states_of(model):
        texts = [*states, *(state.partition(" at ")[2] for state in states if " at " in state)]
        return cut([(f" {first_that_fits(texts, width - 1)}", "doubt")], width)
    return cut([(" over its limit now", "grave")], width) if over_now(model) else None


def _first_fitting(choices: Sequence[Row], width: int) -> Row:
    """Return the first wording that fits, or else the last one, cut."""
    return next((choice for choice in choices if length(choice) <= width), cut_at_word(choices[-1], width))


_RANGE_INTERVALS = 120
_STEADY = 0.01  # of the clock; a smaller spread is steady
_FRESH_S = 5.0


def irqs_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Sequence[Row]:
    """Return the device that interrupts a target CPU most; empty if rates are unknown or no target is online."""
    if frame.irqs is None or not any(line.role == Role.TARGET for line in frame.cpus):
        return []
    unknown_cpus = uncounted_cpus(frame) & set(frame.target)
    doubt: Row = [(f"interrupts unknown on {name_cpus(unknown_cpus)}", "unknown")] if unknown_cpus else []
    candidates = [
        (rate, cpu, line.label)
        for line in frame.irqs
        if line.label.isdecimal()
        for cpu, rate in line.rate_by_cpu.items()
        if cpu in frame.target and rate > 0
    ]
    if not candidates:
        return [doubt or [("no device interrupts a target CPU", "calm")]]
    rate, cpu, label = max(candidates)
    setting = model.irq_settings.get(label)
    style: Style = "grave" if rate >= FREQUENT_PER_S else "notable"
    text: Row = [
        (describe_rate(rate), style),
        (f" interrupt target CPU {cpu}", "plain"),
        (f"  {glyphs.cause} ", "faint"),
        (f"IRQ {label}", "strong"),
    ]
    named: Row = [(f" {setting.name}", "strong")] if setting is not None else []
    doubt_row: Row = [("  ", "plain"), *doubt] if doubt else []
    return [[*text, *named, *doubt_row], [*text, *doubt_row]]


def clock_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Sequence[Row]:
    """Return the range of the target CPUs' recent clocks; empty if none is known."""
    numbers = range(max(model.number + 1 - _RANGE_INTERVALS, model.history.first), model.number + 1)
    last_range_by_cpu = {cpu: model.clocks.range_of(cpu, numbers) for cpu in frame.target}
    read = {cpu for cpu in frame.target if None not in model.clocks.clocks(cpu, [model.number])}
    range_by_cpu = {
        cpu: clock_range
        for cpu, clock_range in last_range_by_cpu.items()
        if cpu in read and clock_range is not None and _is_fresh(clock_range)
    }
    ranges = range_by_cpu.values()
    if not ranges:
        return []
    low, high = (
        min(clock_range.lowest_khz for clock_range in ranges),
        max(clock_range.highest_khz for clock_range in ranges),
    )
    spread = (high - low) / high
    target: Row = [(f"target {format_cpu_list(frame.target)}: ", "plain")]
    if spread < _STEADY:
        text: Row = [*target, (f"{describe_clock(high)}, steady", "strong")]
    else:
        moved = f"{describe_clocks(low, high)}, spread {spread:.0%}"
        text = [*target, (moved, "notable")]
    unknown_cpus = format_cpu_list(cpu for cpu in frame.target if cpu not in range_by_cpu)
    return [[*text, (f"  unknown on CPU {unknown_cpus}", "unknown")] if unknown_cpus else text]


def _is_fresh(clock_range: ClockRange) -> bool:
    """Return whether the clock is recent: without a tick, a CPU's clock is not known to be steady."""
    return clock_range.age_s is not None and clock_range.age_s < _FRESH_S


def preflight_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Sequence[Row]:
    """Return the number of checks that block a benchmark, and the number of their causes."""
    number_of = frame.number_of
    if frame.verdict is None:
        return []
    parts: list[Row] = []
    if number_of.get(Gravity.FAILED):
        parts.append([(_blocking(number_of[Gravity.FAILED], "check", "checks"), "grave")])
    if number_of.get(Gravity.UNANSWERED):
        parts.append([(_blocking(number_of[Gravity.UNANSWERED], "unknown", "unknown"), "unknown")])
    blocking = {*frame.failed, *frame.unknown} if parts else set()
    causes = {finding.cause for finding in frame.findings if finding.id in blocking and finding.cause is not None}
    if not parts:
        return _passing(model, frame)
    text: Row = [piece for at, part in enumerate(parts) for piece in ([(", ", "plain"), *part] if at else part)]
    tail: Row = [(f": {len(causes)} of {describe_count(len(frame.causes), 'cause')}", "plain")] if causes else []
    first = next((finding.id for finding in frame.findings if finding.id in blocking), None)
    named: Row = [(f"  {glyphs.cause} ", "faint"), (first, "strong")] if first is not None else []
    return [[*text, *tail, *named], [*text, *tail], text]


def _passing(model: ScreenModel, frame: Frame) -> Sequence[Row]:
    """Return the number of passed checks, and the unknown ones; calm only if the verdict is stable."""
    number_of = frame.number_of
    is_calm = frame.verdict == "stable" and not model.is_past
    passed, warned = number_of.get(Gravity.PASSED, 0), number_of.get(Gravity.WARNED, 0)
    text: Row = [(f"{passed} checks pass", "calm" if is_calm else "plain"), (f", {warned} warn", "plain")]
    count = number_of.get(Gravity.OPEN, 0)
    if not count:
        return [text]
    names = [finding.id for finding in frame.findings if finding.gravity == Gravity.OPEN]
    named = f": {', '.join(names[:_MOST_NAMED])}{' …' * (count > _MOST_NAMED)}" if names else ""
    return [[*text, (f", {count} unknown{suffix}", "unknown")] for suffix in (named, "")]


def map_headline(model: ScreenModel, frame: Frame, glyphs: Glyphs, numbers: range) -> Sequence[Row]:
    """Return how many of the intervals were over the limit, on which target CPUs, and when it was worst."""
    if model.map.quantity != Quantity.NOISE or not numbers or not frame.target:
        return []
    count, unknown_count = model.history.count_noisy(numbers)
    targets = [line.cpu for line in frame.cpus if line.role == Role.TARGET]
    unknown_cpus = model.history.unknown_cpus(targets, numbers)
    read = len(numbers) - unknown_count
    if not read:
        whose = f": {name_cpus(unknown_cpus)}" if 0 < len(unknown_cpus) < len(targets) else ""
        unknown_in = describe_count(unknown_count, "interval")
        return [[(f"noise of the target CPUs unknown in all of {unknown_in}{whose}", "unknown")]]
    doubt = _doubt(unknown_count, unknown_cpus)
    if not count:
        return [[(f"no target CPU over {_LIMIT} in {describe_count(read, 'interval')}", "calm"), *doubt]]
    lost = [noise or 0.0 for noise in model.history.worst(numbers)]
    noisy = [number for number, noise in zip(numbers, lost, strict=True) if noise >= GRAVE_NS]
    most, worst_at = max(zip(lost, numbers, strict=True))
    over = model.history.cpus_over_limit(targets, numbers)
    cpus = [cpu for cpu in over if any((noise or 0) >= GRAVE_NS for noise in model.history.noise(cpu, noisy))]
    where = f" on {name_cpus(cpus)}" if cpus else ""
    text: Row = [(f"over {_LIMIT} in {count} of {len(numbers)} intervals{where}", "grave"), *doubt]
    at_ns = round((model.clocks.end_time_s(worst_at) or 0.0) * 1e9)
    when = model.wall_clock(at_ns) or f"{(at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    worst: Row = [(f"  {glyphs.cause} ", "faint"), (f"worst: {short_noise(most)} at {when}", "plain")]
    return [[*text, *worst], text]


def _doubt(unknown_count: int, cpus: Sequence[int]) -> Row:
    """Return in how many intervals noise is unknown, and on which CPUs.

    CPUs may be unknown even if no interval is: another CPU was over the limit there.
    """
    parts = [str(unknown_count)] if unknown_count else []
    parts += ["unknown", f"on {name_cpus(cpus)}"] if cpus else ["unknown"] if unknown_count else []
    return [(f", {' '.join(parts)}", "unknown")] if parts else []


def _blocking(count: int, one: str, several: str) -> str:
    return f"1 {one} blocks" if count == 1 else f"{count} {several} block"
