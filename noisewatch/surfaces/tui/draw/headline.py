"""The second row of every screen: the verdict, the most important noise with its culprit, and helpful keys.

Some screens have their own sentence next to the verdict, or after the worst CPU. A headline is a list of parts; their
ranks decide which parts are left out if not all fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from noisewatch.cpus import format_cpu_list, name_cpus
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine, CulpritLine, Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import (
    Piece,
    Row,
    Style,
    cut,
    cut_at_word,
    first_that_fits,
    join_styles,
    justify,
    length,
    lines_of,
    text_width,
)
from noisewatch.surfaces.tui.draw.clock_facts import helpful_findings
from noisewatch.surfaces.tui.draw.clock_headline import describe_clock_history, has_fallen, is_low
from noisewatch.surfaces.tui.draw.levels import style_of
from noisewatch.surfaces.tui.draw.waiting import no_rates_reason, waiting_text
from noisewatch.surfaces.tui.state.folding import cpus_of, culprit_identity
from noisewatch.surfaces.tui.state.irq_history import FREQUENT_PER_S, uncounted_cpus
from noisewatch.surfaces.tui.state.irq_table import culprit_of
from noisewatch.surfaces.tui.state.leading import likely_irq
from noisewatch.surfaces.tui.state.map_view import Quantity
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, NOTABLE_NS
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Screen, ScreenModel
from noisewatch.units import (
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
_LIMIT_TEXT = short_share(GRAVE_NS / 1e9)
_PREFLIGHT = ("p", "preflight")
_CLOCK = (str(Screen.CLOCK.number), "clock")
_FIX, COPY, _MEASURE = ("f", "fix"), ("y", "copy fix"), ("c", "measure")
_HELPFUL_KEYS_BY_SCREEN = {
    Screen.MAP: (("enter", "CPU"), _PREFLIGHT),
    Screen.CLOCK: (COPY, _MEASURE),
    Screen.EVENTS: (("enter", "go there"), _PREFLIGHT),
    Screen.PREFLIGHT: (COPY, _PREFLIGHT),
}

# The ranks of parts: the core is always shown, lower ranks precede higher ones, and a part needs the rank in _NEEDS.
_CORE, _SHARE, _FIGURES, _OWN, _NAMES, _LIMIT, _OWN_DETAIL, _OWN_NAME, _OWN_EXTRA = range(9)
_NEEDS = {
    _FIGURES: _SHARE,
    _NAMES: _FIGURES,
    _LIMIT: _NAMES,
    _OWN_DETAIL: _OWN,
    _OWN_NAME: _OWN_DETAIL,
    _OWN_EXTRA: _OWN_NAME,
}
_RANK_AFTER = {_CORE: _OWN, _FIGURES: _OWN_DETAIL, _NAMES: _OWN_NAME, _LIMIT: _OWN_EXTRA}  # of a sentence after another
Parts = list[tuple[int, Piece]]


def headline_row(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """Return the headline; if it does not fit, details are dropped first, then the keys, then the sentence's end.

    The verdict is never cut.
    """
    frame = model.frame
    if frame is None:
        return cut([(f" {model.trouble or waiting_text(model)}", "doubt")], width)
    parts = _headline(model, frame, glyphs)
    return _fitting(parts, width, _keys(model, frame)) or _cut_after_verdict(parts, width)


def head_rows(model: ScreenModel, tabs: Row, status: Row, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the first rows of a screen: the headline between tabs and status.

    On a narrow screen, or without a current frame, a headline that does not fit takes all rows.
    """
    frame = model.frame
    if frame is not None and (width < NARROW or model.is_past):
        parts = _headline(model, frame, glyphs)
        if _fitting(parts, width) is None:
            return _narrow_head(model, frame, tabs, width, height, glyphs)
    row = headline_row(model, width, glyphs)
    return [tabs, row, status][:height] if height > 1 else [row]


def _fitting(parts: Parts, width: int, keys: Sequence[Row] = ()) -> Row | None:
    """Return the parts that fit, low ranks first, or None if the core does not fit.

    Parts with the same rank are shown together. The `keys` that fit take their columns, at the right,
    before all ranks except the core and the share.
    """
    widths: dict[int, int] = {}
    for rank, (text, _) in parts:
        widths[rank] = widths.get(rank, 0) + text_width(text)
    left = width - widths.pop(_CORE, 0)
    if left < 0:
        return None
    share = widths.pop(_SHARE, 0)
    omitted = {_SHARE} if share > left else set[int]()
    left -= 0 if omitted else share
    fitting = (keys[:count] for count in range(len(keys), 0, -1) if sum(map(length, keys[:count])) + 2 <= left)
    right = [piece for key in next(fitting, ()) for piece in key]
    left -= length(right) + 2 if right else 0
    for rank in sorted(widths):
        if widths[rank] <= left and _NEEDS.get(rank) not in omitted:
            left -= widths[rank]
        else:
            omitted.add(rank)
    row = join_styles(piece for rank, piece in parts if rank not in omitted)
    return justify(row, right, width) if right else row


def _core(parts: Parts) -> Row:
    return join_styles(piece for rank, piece in parts if rank == _CORE)


def _cut_after_verdict(parts: Parts, width: int) -> Row:
    (_, verdict), *rest = parts
    return cut([verdict, *cut_at_word(_core(rest), width - length([verdict]))], width)


def _with_rank(rank: int, *pieces: Piece) -> Parts:
    return [(rank, piece) for piece in pieces]


def _headline(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return the verdict, the states that qualify it, and the sentences."""
    row: Row = [verdict_of(model), (" ", "plain")]
    for state in states_of(model):
        row += [(state, "doubt"), ("  ", "plain")]
    if over := _over_text(model):
        row += [(over, "grave"), ("  ", "plain")]
    if (rest := _rest_text(model)) and model.screen not in _OWN_SENTENCES:
        row += [(rest, "doubt"), ("  ", "plain")]
    return [*_with_rank(_CORE, *row), *_sentences(model, frame, glyphs)]


def _sentences(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return the sentences after the verdict; on a noisy machine the screen's own sentence follows the culprit.

    CPUs whose noise is unknown are always named; the map's own sentence contains them.
    """
    own = _own_sentence(model, frame, glyphs)
    if not own:
        return _noise_sentence(model, frame, glyphs)
    unknown = _doubt(model) if model.screen != Screen.MAP else []
    doubt = _with_rank(_CORE, *unknown, ("  ", "plain")) if unknown else []
    has_culprit = model.lead is not None and (frame.verdict != "stable" or bool(over_now(model)))
    if not has_culprit and (frame.verdict != "unstable" or model.screen == Screen.PREFLIGHT):
        return [*doubt, *own]
    if model.screen == Screen.CLOCK and has_fallen(model, frame):
        noise = _noise_sentence(model, frame, glyphs, names_unknown=False)
        after = [(_OWN_DETAIL if rank else _OWN, piece) for rank, piece in noise]
        return [*doubt, *own, (_OWN, ("  ", "plain")), *after]
    return [*_noise_sentence(model, frame, glyphs), *_after(own)]


def _own_sentence(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return the screen's own sentence and, except on the clock screen, a sentence on a clock that is low."""
    if frame.seconds <= 0 or model.is_past:
        return []
    describe = _OWN_SENTENCES.get(model.screen)
    own = describe(model, frame, glyphs) if describe is not None else []
    if model.screen == Screen.CLOCK or not is_low(model, frame):
        return own
    clock = [(_CORE, ("clock ", "notable")), *_clock_sentence(model, frame, glyphs)]
    return [*own, *_after(clock)] if own else clock


def _after(parts: Parts) -> Parts:
    """Return the parts as a sentence that is left out if it does not fit after another."""
    return [(_OWN, ("  ", "plain")), *((_RANK_AFTER.get(rank, rank), piece) for rank, piece in parts)]


def _keys(model: ScreenModel, frame: Frame) -> list[Row]:
    """Return the keys to offer: none for a good verdict, and `f` only if the headline's culprit is selected."""
    if verdict_of(model)[1] == "good":
        return []
    if model.screen in _HELPFUL_KEYS_BY_SCREEN:
        idle = [*([] if has_command(model, frame) else [COPY]), *([_MEASURE] if model.is_recorded else [])]
        offered = [key for key in _HELPFUL_KEYS_BY_SCREEN[model.screen] if key not in idle]
    else:
        offered = [_FIX, _PREFLIGHT] if _selects_culprit(model, frame) else [_PREFLIGHT]
        offered = [_CLOCK] if frame.verdict == "stable" and not (over_now(model) or unknown_now(model)) else offered
    return [key_pieces(key, action) for key, action in offered]


def key_pieces(key: str, action: str) -> Row:
    return [(f" {key} ", "key"), (f"{action} ", "plain")]


def has_command(model: ScreenModel, frame: Frame) -> bool:
    """Return whether `y` can copy a command, on the screens of clocks and checks; elsewhere return false."""
    if model.screen == Screen.CLOCK:
        return any(finding.command is not None for finding in helpful_findings(frame.findings))
    selected = model.findings().selected if model.screen == Screen.PREFLIGHT else None
    return selected is not None and frame.command_against(selected) is not None


def _selects_culprit(model: ScreenModel, frame: Frame) -> bool:
    """Return whether the selected row is the headline's culprit, or the IRQ that likely raises the culprit."""
    selected, culprit = None, model.lead
    if model.screen == Screen.IRQS:
        row = model.irq_listing().selected
        selected = culprit_of(model, row) if row is not None else None
    elif model.screen in WITH_CULPRITS:
        selected = model.listing().selected
    if selected is None or culprit is None:
        return False
    culprits = [culprit, *([irq] if (irq := likely_irq(culprit, frame.culprits)) is not None else [])]
    is_here = culprit.cpu in cpus_of(selected) or selected.irq is not None
    return is_here and culprit_identity(selected) in map(culprit_identity, culprits)


def verdict_of(model: ScreenModel) -> Piece:
    verdict = model.frame.verdict if model.frame is not None else None
    if model.is_past:
        return (" UNKNOWN ", "doubt")  # the last frame is not the current state
    if verdict is None:
        return (" no verdict yet ", "faint")
    word, style = _VERDICTS[verdict]
    frame = model.frame
    if frame is not None and word == "STABLE" and _is_qualified(model, frame):
        judged_s = frame.judged_s
        return (f" {word} over {short_seconds(judged_s)} " if judged_s is not None else f" {word} ", "doubt")
    return (f" {word} ", style)


def _is_qualified(model: ScreenModel, frame: Frame) -> bool:
    return bool(over_now(model) or unknown_now(model) or is_low(model, frame) or _rest_text(model))


def qualifications_of(model: ScreenModel) -> list[str]:
    """Return why a stable verdict is qualified: noise over the limit, unknown noise, a low clock, other intervals."""
    frame = model.frame
    if frame is None or frame.verdict != "stable" or model.is_past:
        return []
    clock = describe_clock_history(model, frame) if is_low(model, frame) else []
    low = f"clock {''.join(text for _, (text, _) in clock)}" if clock else ""
    return [text for text in (_over_text(model), *(text for text, _ in _doubt(model)), low, _rest_text(model)) if text]


def _rest_text(model: ScreenModel) -> str:
    """Return in how many other intervals of a recording the verdict is unstable if it is stable in the shown one."""
    frame, numbers = model.frame, model.history.kept
    if frame is None or frame.verdict != "stable" or model.is_past or not model.is_recorded:
        return ""
    count = model.history.count_unstable(numbers)
    return f"unstable in {count} of {describe_count(len(numbers), 'interval')}" if count else ""


def _over_text(model: ScreenModel) -> str:
    over = over_now(model)
    return f"{name_cpus(over)} over {'its' if len(over) == 1 else 'their'} limit now" if over else ""


def over_now(model: ScreenModel) -> list[int]:
    """Return the target CPUs over their limit in the shown interval, if the verdict on more intervals is stable."""
    frame = model.frame
    if frame is None or frame.verdict != "stable" or model.is_past:
        return []
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    return [line.cpu for line in targets if (line.stolen_ns_per_s or 0) >= GRAVE_NS]


def unknown_now(model: ScreenModel) -> list[int]:
    """Return the online target CPUs whose noise in the shown interval is unknown."""
    lines = model.frame.cpus if model.frame is not None else ()
    return [line.cpu for line in lines if line.role == Role.TARGET and line.stolen_ns_per_s is None]


def _doubt(model: ScreenModel) -> Row:
    cpus = format_cpu_list(unknown_now(model))
    return [(f"noise unknown on CPU {cpus}", "unknown")] if cpus else []


def states_of(model: ScreenModel) -> list[str]:
    """Return texts on the shown snapshot (unless it is a running machine's newest snapshot) and on trouble."""
    states = [_snapshot(model)] if model.cursor is not None else []
    if model.trouble or model.silence:
        return [*states, str(model.trouble or model.silence)]
    if (late := model.late_reason(model.frame)) is not None:
        states.append(late)
    return [*states, "PAUSES ON SPIKE"] if model.cursor is None and model.pauses_on_spike else states


def _snapshot(model: ScreenModel) -> str:
    """Return a text on the shown snapshot; for a recording also whether it plays."""
    if not model.is_recorded or model.newest is None:
        at = model.wall_clock()
        age = f"{model.behind_s():.0f} s {'before the last frame' if model.is_stale else 'ago'}"
        return f"FROZEN {at} ({age})" if at is not None else f"FROZEN {age}"
    moves = "PLAYING" if model.plays else "STOPPED"
    moves += f" {model.speed:g}x" if model.plays or model.speed != 1 else ""
    moves += ", pauses on spike," if model.pauses_on_spike else ""
    more = "" if model.newest.is_last else " read so far"
    return f"{moves} at {model.into_s():.0f} of {model.into_s() + model.behind_s():.0f} s{more}"


def _noise_sentence(model: ScreenModel, frame: Frame, glyphs: Glyphs, *, names_unknown: bool = True) -> Parts:
    """Return the worst target CPU and its culprit; without notable noise, failed or unknown checks come first.

    Without `names_unknown`, CPUs whose noise is unknown are not named, and no CPU is named if one of them may be worst.
    """
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    until = "until then " if model.is_past else ""
    if frame.seconds <= 0:
        return _with_rank(_CORE, *(checks_row(model, frame) or [(no_rates_reason(model), "plain")]))
    if not targets:
        text = "no target CPU is online" if frame.target else "there is no target CPU"
        return [(_CORE, (f"{until}{text}", "doubt"))]
    unknown_cpus = format_cpu_list(unknown_now(model))
    doubt = _doubt(model) if names_unknown else []
    culprit = model.lead
    worst = max(targets, key=lambda line: line.stolen_ns_per_s or 0)
    named = worst if culprit is None else next(line for line in targets if line.cpu == culprit.cpu)
    noise_ns = named.stolen_ns_per_s or 0
    is_notable, is_grave = noise_ns >= NOTABLE_NS, noise_ns >= GRAVE_NS
    if unknown_cpus and not is_notable:
        return _with_rank(_CORE, (until, "plain"), *doubt)
    checks = [] if is_notable else checks_row(model, frame)
    before: Row = [*checks, ("  ", "plain"), (until, "plain")] if checks else [(until, "plain")]
    is_worst = named.stolen_ns_per_s == worst.stolen_ns_per_s and (is_grave or not unknown_cpus)
    noise = _noise(named, glyphs, is_worst=is_worst)
    noise += _culprit(frame, culprit, glyphs) if culprit is not None else []
    if is_grave and doubt:
        return [*_with_rank(_CORE, *before), *noise, (_CORE, (f"  CPU {unknown_cpus} unknown", "unknown"))]
    return [*_with_rank(_CORE, *before, *([*doubt, ("  ", "plain")] if doubt else [])), *noise]


def _noise(line: CpuLine, glyphs: Glyphs, *, is_worst: bool) -> Parts:
    noise_ns = line.stolen_ns_per_s or 0
    figure = f"{glyphs.estimate if line.is_estimate else ''}{short_noise(line.stolen_ns_per_s)}"
    cpu: Piece = (f"{'worst ' if is_worst else ''}CPU {line.cpu}: ", "strong")
    noise = _with_rank(_CORE, cpu, (figure, style_of(line.stolen_ns_per_s)))
    if noise_ns < NOTABLE_NS:
        return noise
    share: Piece = (f" ({short_share(noise_ns / 1e9)}", "plain")
    if noise_ns < GRAVE_NS:
        return [*noise, *_with_rank(_LIMIT, share, (")", "plain"))]
    return [*noise, (_SHARE, share), (_LIMIT, (f", limit {_LIMIT_TEXT}", "plain")), (_SHARE, (")", "plain"))]


def _culprit(frame: Frame, culprit: CulpritLine, glyphs: Glyphs) -> Parts:
    """Return the culprit with its rate; an IRQ with its device, a softirq with the IRQ that likely raises it."""
    bare, irq = bare_name(culprit), likely_irq(culprit, frame.culprits)
    parts: Parts = [
        *_with_rank(_CORE, (f"  {glyphs.cause} ", "faint"), (culprit.kind.with_name(bare), "strong")),
        (_NAMES, (culprit.name[len(bare) :], "strong")),
        (_CORE, (culprit.process_mark, "strong")),
    ]
    if irq is not None:
        number, gap, name = bare_name(irq).partition(" ")
        parts += [
            *_with_rank(_CORE, (", likely by ", "plain"), (f"IRQ {number}", "strong")),
            (_NAMES, (gap + name, "strong")),
        ]
    return [*parts, (_FIGURES, (f": {describe_rate(culprit.rate_per_s)}" if culprit.rate_per_s else "", "plain"))]


def bare_name(culprit: CulpritLine) -> str:
    """Return the culprit's name; an IRQ's name is without its device."""
    return culprit.name.partition(" (")[0] if culprit.irq is not None else culprit.name


def checks_row(model: ScreenModel, frame: Frame) -> Row:
    """Return the failed checks, or else the unknown checks; empty without a verdict or such checks."""
    if frame.verdict is None:
        return []
    if frame.failed:
        over = f" ({short_seconds(frame.judged_s)})" if frame.judged_s is not None else ""
        was = "was failing: " if model.is_past else f"failing{over}: "
        return [(was, "plain"), (_first_names(frame.failed), "grave")]
    return [("unknown: ", "plain"), (_first_names(frame.unknown), "unknown")] if frame.unknown else []


def _first_names(checks: Sequence[str]) -> str:
    return ", ".join(checks[:_MOST_NAMED]) + (" …" if len(checks) > _MOST_NAMED else "")


def _narrow_head(model: ScreenModel, frame: Frame, tabs: Row, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the verdict, the worst CPU and the culprit's name, in that order, below the tabs or the monitor's state.

    In a single row, the CPU's noise is dropped first, then the signs between words.
    """
    if model.is_past:
        return _trouble_rows(model, tabs, width, height)
    first, culprit = _with_rank(_CORE, verdict_of(model)), model.lead
    if culprit is not None:
        line = next(line for line in frame.cpus if line.cpu == culprit.cpu)
        figure = f": {glyphs.estimate if line.is_estimate else ''}{short_noise(line.stolen_ns_per_s)}"
        first += _with_rank(_CORE, (" ", "plain"), (f"CPU {line.cpu}", "strong"))
        first.append((_LIMIT, (figure, style_of(line.stolen_ns_per_s))))
        second: Parts = [
            (_CORE, (f"{glyphs.cause} ", "faint")),
            (_NAMES, (culprit.kind.with_name(""), "strong")),
            (_CORE, (bare_name(culprit), "strong")),
            (_FIGURES, (culprit.process_mark, "strong")),
        ]
    else:
        second, checks = _sentences(model, frame, glyphs), checks_row(model, frame)
        if checks and _fitting(second, width) is None:
            second = [*_with_rank(_FIGURES, *checks[:-1]), (_CORE, checks[-1])]
    if height == 1:
        both = _fitting([*first, (_CORE, (" ", "plain")), *second], width)
        (_, (verdict, style)), *cpu = first
        bare: Row = [(verdict.strip(), style), *_core(cpu), (" ", "plain"), *_core(second)[-1:]]
        return [both or cut(bare, width)]
    above = [_state_row(model, width) or tabs] if height > 2 else []
    rows = (_fitting(first, width) or _cut_after_verdict(first, width), _fitting(second, width))
    return [*above, rows[0], rows[1] if rows[1] is not None else cut_at_word(_core(second), width)]


def _trouble_rows(model: ScreenModel, tabs: Row, width: int, height: int) -> list[Row]:
    """Return rows on the trouble, which replace the last observed state."""
    verdict, wrong = verdict_of(model), str(model.trouble or model.silence)
    above = [tabs] if width >= NARROW and height > 2 else []
    if height == 1 or above:
        first, *more = lines_of(f"{'-' * length([verdict])} {wrong}", width, height - len(above))
        text = first[length([verdict]) :]
        row = cut([verdict, (text, "doubt")], width)
        return [*above, row, *(cut_at_word([(f" {line}", "doubt")], width) for line in more)]
    lines = lines_of(wrong, width, height - 1)
    return [cut([verdict], width), *(cut_at_word([(line, "doubt")], width) for line in lines)]


def _state_row(model: ScreenModel, width: int) -> Row | None:
    """Return a row with the texts of `states_of` or, without any, on CPUs over their limit; otherwise None."""
    if states := states_of(model):
        texts = [*states, *(state.partition(" at ")[2] for state in states if " at " in state)]
        return cut([(f" {first_that_fits(texts, width - 1)}", "doubt")], width)
    return cut([(" over its limit now", "grave")], width) if over_now(model) else None


def _irqs_sentence(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return the IRQ with the highest rate on a target CPU; empty if rates are unknown or no target is online."""
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
        return _with_rank(_CORE, *doubt) or [(_CORE, ("no device interrupts a target CPU", "calm"))]
    rate, cpu, label = max(candidates)
    setting = model.irq_settings.get(label)
    text: Row = [
        (describe_rate(rate), "grave" if rate >= FREQUENT_PER_S else "notable"),
        (f" interrupt target CPU {cpu}", "plain"),
        (f"  {glyphs.cause} ", "faint"),
        (f"IRQ {label}", "strong"),
    ]
    name: Parts = [(_OWN_DETAIL, (f" {setting.name}", "strong"))] if setting is not None else []
    gap: Parts = [(_CORE, ("  ", "plain"))] if doubt else []
    return [*_with_rank(_CORE, *text), *name, *gap, *_with_rank(_CORE, *doubt)]


def _clock_sentence(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return the last fall of the target CPUs' clocks, or else their range; empty if no current clock is known."""
    ranks = (_CORE, _FIGURES, _NAMES, _LIMIT)
    return [(ranks[importance], piece) for importance, piece in describe_clock_history(model, frame)]


def _preflight_sentence(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return how many checks block a benchmark, and how many causes they have; without such checks, what passed."""
    number_of = frame.number_of
    if frame.verdict is None:
        return []
    text: Row = []
    for gravity, singular, plural, style in _BLOCKING:
        if count := number_of.get(gravity):
            blocks = f"1 {singular} blocks" if count == 1 else f"{count} {plural} block"
            gap: Row = [(", ", "plain")] if text else []
            text += [*gap, (blocks, style)]
    if not text:
        return _passing(model, frame)
    blocking = {*frame.failed, *frame.unknown}
    causes = {finding.cause for finding in frame.findings if finding.id in blocking and finding.cause is not None}
    tail = f": {len(causes)} of {describe_count(len(frame.causes), 'cause')}" if causes else ""
    first = next((finding.id for finding in frame.findings if finding.id in blocking), None)
    named: Row = [(f"  {glyphs.cause} ", "faint"), (first, "strong")] if first is not None else []
    return [*_with_rank(_CORE, *text), (_OWN_DETAIL, (tail, "plain")), *_with_rank(_OWN_NAME, *named)]


_BLOCKING: tuple[tuple[Gravity, str, str, Style], ...] = (
    (Gravity.FAILED, "check", "checks", "grave"),
    (Gravity.UNANSWERED, "unknown", "unknown", "unknown"),
)


def _passing(model: ScreenModel, frame: Frame) -> Parts:
    """Return the number of passed checks, in a calm style if the verdict is stable, and the unknown checks."""
    number_of = frame.number_of
    is_calm = frame.verdict == "stable" and not model.is_past
    passed, warned = number_of.get(Gravity.PASSED, 0), number_of.get(Gravity.WARNED, 0)
    count = number_of.get(Gravity.OPEN, 0)
    names = [finding.id for finding in frame.findings if finding.gravity == Gravity.OPEN]
    return [
        *_with_rank(_CORE, (f"{passed} checks pass", "calm" if is_calm else "plain"), (f", {warned} warn", "plain")),
        (_CORE, (f", {count} unknown" if count else "", "unknown")),
        (_OWN_DETAIL, (f": {_first_names(names)}" if count and names else "", "unknown")),
    ]


def _map_sentence(model: ScreenModel, frame: Frame, glyphs: Glyphs) -> Parts:
    """Return how many intervals were over the limit, on which target CPUs, and when noise was worst."""
    history, numbers = model.history, model.history.kept
    if model.map.quantity != Quantity.NOISE or not numbers or not frame.target:
        return []
    count, unknown_count = history.count_noisy(numbers)
    targets = [line.cpu for line in frame.cpus if line.role == Role.TARGET]
    unknown_cpus = history.unknown_cpus(targets, numbers)
    read = len(numbers) - unknown_count
    if not read:
        whose = f": {name_cpus(unknown_cpus)}" if 0 < len(unknown_cpus) < len(targets) else ""
        count_text = f"{unknown_count} of {describe_count(unknown_count, 'interval')}"
        text = f"noise of the target CPUs unknown in {count_text}{whose}"
        return [(_CORE, (text, "unknown"))]
    # CPUs may be unknown in an interval that counts as known, because another target CPU was over the limit
    unknown = [str(unknown_count)] if unknown_count else []
    unknown += ["unknown", f"on {name_cpus(unknown_cpus)}"] if unknown_cpus else ["unknown"] if unknown_count else []
    doubt: Piece = (f", {' '.join(unknown)}" if unknown else "", "unknown")
    if not count:
        return _with_rank(
            _CORE, (f"no target CPU over {_LIMIT_TEXT} in {describe_count(read, 'interval')}", "calm"), doubt
        )
    lost = [noise or 0.0 for noise in history.worst(numbers)]
    noisy = [number for number, noise in zip(numbers, lost, strict=True) if noise >= GRAVE_NS]
    highest_ns, worst_at = max(zip(lost, numbers, strict=True))
    over = history.cpus_over_limit(targets, numbers)
    cpus = [cpu for cpu in over if any((noise or 0) >= GRAVE_NS for noise in history.noise(cpu, noisy))]
    where = f" on {name_cpus(cpus)}" if cpus else ""
    at_ns = round((model.clocks.end_time_s(worst_at) or 0.0) * 1e9)
    when = model.wall_clock(at_ns) or f"{(at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    return [
        *_with_rank(_CORE, (f"over {_LIMIT_TEXT} in {count} of {len(numbers)} intervals{where}", "grave"), doubt),
        *_with_rank(
            _OWN_DETAIL, (f"  {glyphs.cause} ", "faint"), (f"worst: {short_noise(highest_ns)} at {when}", "plain")
        ),
    ]


_OWN_SENTENCES: Mapping[Screen, Callable[[ScreenModel, Frame, Glyphs], Parts]] = {
    Screen.MAP: _map_sentence,
    Screen.IRQS: _irqs_sentence,
    Screen.CLOCK: _clock_sentence,
    Screen.PREFLIGHT: _preflight_sentence,
}
