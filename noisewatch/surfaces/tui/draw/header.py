"""The head of every screen: host and verdict, the target CPUs and the worst of them, what failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from noisewatch.cpus import format_cpu_list
from noisewatch.kinds import Role
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, style_of, worst_of
from noisewatch.surfaces.tui.draw.idle_probe_words import header_words
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style, cut, ends, length
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_duration, short_seconds, short_share

_VERDICTS: Mapping[str, Piece] = {
    "stable": ("STABLE", "good"),
    "unstable": ("UNSTABLE", "bad"),
    "unknown": ("UNKNOWN", "doubt"),
}
_MOST_NAMED = 3


def header_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Host and verdict; target CPUs and the worst of them; what failed."""
    frame = model.frame
    if frame is None:
        return [ends([("noisewatch", "title")], [(model.trouble or "looking …", "doubt")], width), [], []]
    left: Row = [("noisewatch", "title"), (f"  {frame.machine} {glyphs.bullet} {frame.online_count} CPUs", "plain")]
    if model.cursor is not None:
        left.append((f"  {_snapshot(model)}", "doubt"))
    if model.trouble or model.silence:
        left.append((f"  {model.trouble or model.silence}", "doubt"))
    elif model.cursor is None and model.pauses_on_spike:
        left.append(("  PAUSES ON SPIKE", "doubt"))
    if frame.origin is not None:
        left.append((f"  {frame.origin}", "faint"))
    if not model.is_stale:  # without the sampler there is no idle probe
        left += header_words(frame)
    return [ends(left, [_verdict(model)], width), _target_row(model, width, glyphs), _failed_row(model, width)]


def _snapshot(model: ScreenModel) -> str:
    """Which snapshot is shown; of a recording also how it goes on."""
    if not model.is_recorded or model.newest is None:
        return f"FROZEN {model.behind_s():.0f} s {'before the last frame' if model.is_stale else 'ago'}"
    moves = "PLAYING" if model.plays else "STOPPED"
    moves += f" {model.speed:g}x" if model.plays or model.speed != 1 else ""
    moves += ", pauses on spike," if model.pauses_on_spike else ""
    more = "" if model.newest.is_last else " read so far"
    return f"{moves} at {model.into_s():.0f} of {model.into_s() + model.behind_s():.0f} s{more}"


def _verdict(model: ScreenModel) -> Piece:
    verdict = model.frame.verdict if model.frame is not None else None
    if model.cursor is None and model.is_stale:
        return (" UNKNOWN ", "doubt")  # what was seen last is not what is
    if verdict is None:
        return (" no rates yet ", "faint")
    word, style = _VERDICTS[verdict]
    return (f" {word} ", style)


def _target_row(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """What finds no room goes: first why these CPUs, then our own cost."""
    frame = model.frame
    if frame is None:
        return []
    target: Row = [(f"target {format_cpu_list(frame.target) or 'none'}", "strong")]
    chosen: Row = [(f" ({frame.target_chosen_by})", "faint")]
    worst: Row = []
    when = "  worst until then " if model.cursor is None and model.is_stale else "  worst "
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    known = [line for line in targets if line.stolen_ns_per_s is not None]
    if frame.seconds > 0 and targets and worst_of(line.stolen_ns_per_s for line in targets) is None:
        unread = format_cpu_list(line.cpu for line in targets if line.stolen_ns_per_s is None)
        worst = [(when, "plain"), (f"? CPU {unread}", "unknown")]
    elif known:
        line = max(known, key=lambda line: line.stolen_ns_per_s or 0)
        mark = glyphs.estimate if line.is_estimate else ""
        lost = f"CPU {line.cpu} {mark}{short_duration(line.stolen_ns_per_s)}/s"
        worst = [(when, "plain"), (lost, style_of(line.stolen_ns_per_s))]
    for own in _own_costs(model):
        for left in (target + chosen + worst, target + worst):
            if length(left) + length(own) <= width:
                return ends(left, own, width)
    return cut(worst[1:] or target, width)


def _own_costs(model: ScreenModel) -> list[Row]:
    """What the monitor costs, from all that is known of it to nothing."""
    frame, cost = model.frame, model.own_cost
    if frame is None or frame.sampler_cpu_s is None:
        return [[]]
    house = format_cpu_list(frame.housekeeping)
    where = f" on CPU {house}" if house else ""
    used = f"  self {short_share(cost.cpu_share if cost is not None else None)}"
    rows: list[Row] = [[(used + where, "faint")], []]
    if cost is not None:
        written = f", {cost.written_per_s / 1e3:.1f} kB/s" if cost.written_per_s is not None else ""
        rows.insert(0, [(f"{used}, {cost.wakeups_per_s:.0f} wake-ups/s{written}{where}", "faint")])
    return rows


def _failed_row(model: ScreenModel, width: int) -> Row:
    """What fails, or else what is unknown; and as much as finds room of how it was all the time."""
    frame = model.frame
    if frame is None:
        return []
    row: Row = [(f"{frame.remark}  ", "doubt")] if frame.remark else []
    if frame.verdict is None:
        return cut(row, width)
    if model.baseline is not None:
        ago = (frame.taken_at_ns - model.baseline.taken_at_ns) / 1e9
        when = f"{ago:.0f} s ago" if ago >= 0 else f"{-ago:.0f} s later"
        row.append((f"change against {model.baseline.intervals} intervals, marked {when}  ", "strong"))
    if frame.failed:
        is_past = model.cursor is None and model.is_stale
        row += [("was failing: " if is_past else _fails(frame.judged_s), "plain"), _named(frame.failed, "grave")]
    elif frame.unknown:
        row += [("unknown: ", "plain"), _named(frame.unknown, "unknown")]
    for counted in _counts(model):
        if length(row) + length(counted) <= width:
            return ends(row, counted, width)
    return cut(row, width)


def _named(checks: Sequence[str], style: Style) -> Piece:
    return ", ".join(checks[:_MOST_NAMED]) + (" …" if len(checks) > _MOST_NAMED else ""), style


def _counts(model: ScreenModel) -> Iterator[Row]:
    """In how many intervals the noise of a target CPU was over the limit, or may have been: shorter and shorter."""
    if model.number >= 0:
        noisy, unread = model.history.noisy_until(model.number), model.history.unknown_until(model.number)
        doubt = f", {unread} unknown" if unread else ""
        yield [(f"  over 0.5% in {noisy} of {model.number + 1} intervals", "plain"), (doubt, "unknown")]
        yield [(f"  over 0.5% in {noisy} of {model.number + 1}", "plain"), (doubt, "unknown")]


def _fails(judged_s: float | None) -> str:
    return "failing: " if judged_s is None else f"failing ({short_seconds(judged_s)}): "
