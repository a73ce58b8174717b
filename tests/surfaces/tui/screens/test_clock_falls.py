"""The headline of the clock screen: falls of the target CPUs' clocks, and only causes that the data shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    ClockFigures,
    ClockGroup,
    ClockLimits,
    ClockPackage,
    Conditions,
    CoolingLine,
    CpuLine,
    Frame,
    IrqLine,
    IrqSetting,
    Temperature,
    Throttled,
)
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import window_reports
from noisewatch.surfaces.tui.draw.headline import headline_row, verdict_of
from noisewatch.surfaces.tui.draw.timeline import time_of
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, culprit, frame, model_of, text_of

_TICK = (IrqSetting("LOC", Kind.TICK, "Local timer interrupts"),)
_HIGH, _LOW = 3_000_000, 1_200_000
_WINDOW = Conditions(clock_limits=(ClockLimits("0-5", 800_000, _HIGH),))


def _frame(second: int, khz_by_cpu: Mapping[int, int | None], governor: str = "performance", **rest: Any) -> Frame:
    """Return a frame with target CPUs 2 to 5 at 3 GHz, except for `khz_by_cpu`; all CPUs have a tick."""
    lines = tuple(
        cpu_line(
            cpu,
            Role.TARGET if cpu > 1 else Role.HOUSEKEEPING,
            current_khz=khz_by_cpu.get(cpu, _HIGH),
            governor=governor if cpu in khz_by_cpu else "performance",
        )
        for cpu in range(6)
    )
    ticks = IrqLine("LOC", tuple(range(6)), (1.0,) * 6)
    settings = _TICK if second == 1 else None
    return frame(lines, second=second, origin="replay of x.nw", irqs=(ticks,), irq_settings=settings, **rest)


def _fallen(seconds: int = 10, fell: int = 6, cpus: tuple[int, ...] = (4, 5), **rest: Any) -> ScreenModel:
    """Return the model of a machine on which CPUs fall to 1.2 GHz in second `fell`; `rest` holds from then on."""
    low = dict.fromkeys(cpus, _LOW)
    return model_of(
        *(_frame(second, low, **rest) if second >= fell else _frame(second, {}) for second in range(1, seconds + 1))
    )


def _headline(model: ScreenModel, width: int = 160) -> str:
    model.go_to(Screen.CLOCK)
    return text_of(rows_of_screen(model, width, 34, UNICODE)[1])


def test_the_headline_names_the_fall_its_cpus_its_time_and_its_cause() -> None:
    assert "fell from 3.00 to 1.20 GHz on 4-5 at 5 s: governor powersave" in _headline(_fallen(governor="powersave"))


def test_a_narrow_headline_keeps_the_cause_rather_than_a_list_of_all_target_cpus() -> None:
    fallen, all_fallen = (_fallen(cpus=cpus, governor="powersave") for cpus in ((4, 5), (2, 3, 4, 5)))
    assert "fell to 1.20 GHz on 4-5: governor powersave" in _headline(fallen, 65)
    assert "fell to 1.20 GHz: governor powersave" in _headline(all_fallen, 60)
    assert "fell from 3.00 to 1.20 GHz on 2-5 at 5 s: governor powersave" in _headline(all_fallen)


def test_the_fall_precedes_the_noise_in_the_headline_and_keeps_its_cause_on_a_narrow_screen() -> None:
    hog = culprit("hog", cpu=3, lost_ns=200_000_000.0)
    last = _frame(6, dict.fromkeys((4, 5), _LOW), "powersave", culprits=(hog,), verdict="unstable", is_last=True)
    lines = tuple(replace(line, stolen_ns_per_s=200_000_000.0) if line.cpu == 3 else line for line in last.cpus)
    model = model_of(*(_frame(second, {}) for second in range(1, 6)), replace(last, cpus=lines))
    headline = _headline(model)
    assert headline.index("fell from") < headline.index("worst CPU 3")
    model.go_to_number(5)
    assert "fell to 1.20 GHz on 4-5: governor powersave" in _headline(model, 80)


@pytest.mark.parametrize(
    ("cause", "rest"),
    [
        ("limit lowered to 1.2 GHz", {"conditions": Conditions(clock_limits=(ClockLimits("0-5", 800_000, _LOW),))}),
        ("throttled by heat", {"conditions": Conditions(throttled=(Throttled("package", "2-5", 3),))}),
        ("power limit reached", {"conditions": Conditions(throttled=(Throttled("package", "2-5", 1, "power"),))}),
        ("heat at 99% of critical", {"conditions": Conditions(temperatures=(Temperature("Tctl", 99.0, 100.0),))}),
        ("cooling device clamp active", {"conditions": Conditions(cooling=(CoolingLine("clamp", 1, 50),))}),
        ("mains power lost", {"conditions": Conditions(mains_power=False)}),
        ("turbo off", {"turbo": "off"}),
    ],
)  # fmt: skip
def test_a_change_of_the_same_moment_is_named_as_the_cause(cause: str, rest: dict[str, Any]) -> None:
    calm = Conditions(mains_power=True, clock_limits=_WINDOW.clock_limits, cooling=())
    low = dict.fromkeys((4, 5), _LOW)
    frames = [_frame(second, {}, conditions=calm, turbo="on") for second in range(1, 6)]
    model = model_of(*frames, *(_frame(second, low, **{"turbo": "on", **rest}) for second in (6, 7)))
    headline = _headline(model)
    assert f"at 5 s: {cause}" in headline
    assert "not visible" not in headline


def test_a_changed_preference_or_power_limit_is_named_as_the_cause() -> None:
    def figures(preference: str, watts: float) -> ClockFigures:
        group = ClockGroup("2-5", "intel_pstate", "powersave", 800_000, _HIGH, 800_000, _HIGH, None, preference)
        return ClockFigures((group,), (), (ClockPackage(0, "2-5", long_limit_w=watts),))

    low = dict.fromkeys((4, 5), _LOW)
    frames = [_frame(second, {}, clock=figures("performance", 125.0)) for second in (1, 2)]
    assert "EPP power" in _headline(model_of(*frames, _frame(3, low, clock=figures("power", 125.0))))
    lowered = _headline(model_of(*frames, _frame(3, low, clock=figures("performance", 65.0))))
    assert "power limit lowered to 65 W" in lowered


def test_without_a_visible_change_no_cause_is_named() -> None:
    assert "on 4-5 at 5 s: cause not visible" in _headline(_fallen())
    schedutil = model_of(
        *(_frame(second, dict.fromkeys((4, 5), _LOW if second > 5 else _HIGH), "schedutil") for second in range(1, 9))
    )
    assert "cause not visible (governor schedutil)" in _headline(schedutil)
    lost = Conditions(throttled=(Throttled("package", "2-5", None),))
    assert "cause not visible (throttling unknown)" in _headline(_fallen(conditions=lost))


def _with_governor(lines: tuple[CpuLine, ...], governor: str) -> tuple[CpuLine, ...]:
    return tuple(replace(line, governor=governor) for line in lines)


def test_a_change_that_cannot_lower_the_clock_or_is_elsewhere_or_at_another_time_is_no_cause() -> None:
    low = dict.fromkeys((4, 5), _LOW)
    before = [_frame(second, {}, conditions=_WINDOW) for second in range(1, 6)]
    elsewhere = Conditions(throttled=(Throttled("package", "0-1", 3),))
    later = [_frame(6, low), _frame(7, low), _frame(8, low, "powersave")]
    assert "cause not visible" in _headline(model_of(*before, _frame(6, low, conditions=elsewhere)))
    assert "cause not visible" in _headline(model_of(*before, *later))
    low_lines = _frame(6, low).cpus
    saving = [replace(frame, cpus=_with_governor(frame.cpus, "powersave")) for frame in before]
    model = model_of(*saving, replace(_frame(6, low), cpus=_with_governor(low_lines, "performance")))
    assert _headline(model).partition("cause not visible")[1:] == ("cause not visible", "")


def test_a_limit_that_the_clock_never_reached_is_no_cause() -> None:
    slow = dict.fromkeys((4, 5), 2_000_000)
    lowered = Conditions(clock_limits=(ClockLimits("0-5", 800_000, 2_800_000),))
    before = [_frame(second, slow, conditions=_WINDOW) for second in range(1, 6)]
    model = model_of(*before, _frame(6, dict.fromkeys((4, 5), _LOW), conditions=lowered))
    assert "cause not visible" in _headline(model)


def test_cpus_with_different_causes_are_told_apart() -> None:
    low = dict.fromkeys((3, 4, 5), _LOW)
    heat = Conditions(throttled=(Throttled("core", "3", 2),))
    model = model_of(*(_frame(second, {}) for second in range(1, 6)), _frame(6, low, conditions=heat))
    headline = _headline(model)
    assert "throttled by heat on CPU 3, cause not visible on 4-5" in headline


def test_a_clock_that_returned_has_the_time_of_its_return_in_a_recording_from_its_fall_on() -> None:
    low = dict.fromkeys((4, 5), _LOW)
    frames = [_frame(second, low if 6 <= second < 9 else {}, "powersave") for second in range(1, 12)]
    model = model_of(*frames)
    assert "dipped from 3.00 to 1.20 GHz on 4-5, 5 to 8 s: governor powersave" in _headline(model)
    assert "dipped to 1.20 GHz on 4-5, 5 to 8 s: gov" in _headline(model, 60)
    model.go_to_number(6)
    assert "fell from 3.00 to 1.20 GHz on 4-5, 5 to 8 s: governor powersave" in _headline(model)
    model.go_to_number(4)
    assert "3 GHz, steady" in _headline(model)
    live = model_of(*(replace(taken, origin=None) for taken in frames))
    live.go_to_number(6)
    assert "fell from 3.00 to 1.20 GHz on 4-5 5 s ago: governor powersave" in _headline(live)


def test_without_spikes_the_clock_drops_are_counted() -> None:
    model = _fallen()
    model.step_to_spike(-1)
    assert model.notice == "no earlier spike; clock drops on screen 4: 1"


@pytest.mark.parametrize("screen", sorted(set(Screen) - {Screen.CLOCK}))
def test_a_low_clock_qualifies_the_verdict_on_each_screen_until_it_returns(screen: Screen) -> None:
    low = dict.fromkeys((4, 5), _LOW)
    frames = [_frame(second, low if 6 <= second < 9 else {}, "powersave") for second in range(1, 12)]
    model = model_of(*(replace(taken, verdict="stable", judged_s=5.0) for taken in frames))
    model.cpu = 4
    model.go_to(screen)
    headlines = {}
    for number in (4, 6, 10):
        model.go_to_number(number)
        headlines[number] = text_of(rows_of_screen(model, 200, 34, UNICODE)[1])
    assert " STABLE over 5 s " in headlines[6]
    assert "clock fell from 3.00 to 1.20 GHz on 4-5, 5 to 8 s: governor powersave" in headlines[6]
    assert all(" STABLE  " in headlines[number] and "GHz" not in headlines[number] for number in (4, 10))


@pytest.mark.parametrize("screen", sorted(set(Screen) - {Screen.CLOCK}))
def test_details_of_a_low_clock_are_not_shown_without_their_sentence(screen: Screen) -> None:
    model = _fallen(verdict="stable")
    model.cpu = 4
    model.go_to(screen)
    headlines = [text_of(headline_row(model, width, UNICODE)) for width in range(60, 200)]
    assert "clock fell from 3.00 to 1.20 GHz on 4-5 at 5 s: cause not visible" in headlines[-1]
    for headline in headlines:
        assert headline.count("from 3.00") <= headline.count("clock fell")
        assert headline.count("at 5 s") <= headline.count("on 4-5 at 5 s")


def _with_unknown_noise(interval: Frame, cpu: int) -> Frame:
    lines = (replace(line, stolen_ns_per_s=None) if line.cpu == cpu else line for line in interval.cpus)
    return replace(interval, cpus=tuple(lines))


@pytest.mark.parametrize("lowered", [(), (4, 5)], ids=["full clock", "low clock"])
@pytest.mark.parametrize("screen", Screen)
def test_unknown_noise_qualifies_the_verdict_and_is_named_on_each_screen(screen: Screen, lowered: tuple[int]) -> None:
    low = dict.fromkeys(lowered, _LOW)
    frames = [_frame(second, low if second > 5 else {}, verdict="stable") for second in range(1, 10)]
    model = model_of(*frames, _with_unknown_noise(_frame(10, low, verdict="stable"), 3))
    model.cpu = 4
    model.go_to(screen)
    assert verdict_of(model) == (" STABLE over 5 s ", "doubt")
    for width in (80, 120, 200):
        assert text_of(headline_row(model, width, UNICODE)).count("unknown on CPU 3") == 1
    assert ("fell from 3.00 to 1.20 GHz on 4-5" in text_of(headline_row(model, 200, UNICODE))) == bool(lowered)


def test_an_exported_verdict_is_qualified_with_its_reasons_as_on_the_screen() -> None:
    frames = [_frame(second, {4: _LOW} if second > 5 else {}, verdict="stable") for second in range(1, 10)]
    last = _with_unknown_noise(_frame(10, {4: _LOW}, verdict="stable"), 3)
    lines = tuple(replace(line, stolen_ns_per_s=9e6) if line.cpu == 2 else line for line in last.cpus)
    model = model_of(*frames, replace(last, cpus=lines))
    assert window_reports(model, 60)["md"].splitlines()[:7:2] == [
        "## noisewatch: STABLE over 5 s",
        "CPU 2 over its limit now",
        "noise unknown on CPU 3",
        "clock fell from 3.00 to 1.20 GHz on CPU 4 at 5 s: cause not visible",
    ]
    model.go_to_number(3)
    assert window_reports(model, 60)["md"].splitlines()[0] == "## noisewatch: STABLE"


def test_unknown_noise_precedes_a_fall_and_the_noise_of_another_cpu() -> None:
    hog = culprit("hog", cpu=2, lost_ns=200_000_000.0)
    last = _with_unknown_noise(_frame(6, {4: _LOW}, culprits=(hog,), verdict="unstable"), 3)
    lines = tuple(replace(line, stolen_ns_per_s=200_000_000.0) if line.cpu == 2 else line for line in last.cpus)
    headline = _headline(model_of(*(_frame(second, {}) for second in range(1, 6)), replace(last, cpus=lines)), 200)
    assert headline.startswith(" UNSTABLE  noise unknown on CPU 3  fell from 3.00 to 1.20 GHz on CPU 4 at 5 s: ")
    assert "worst CPU 2: 200 ms/s" in headline
    assert headline.count("CPU 3") == 1


def test_a_fall_of_a_fast_cpu_counts_although_another_is_slower() -> None:
    frames = [_frame(second, {2: _LOW, 5: 1_500_000 if second > 5 else _HIGH}) for second in range(1, 9)]
    model = model_of(*frames)
    assert model.clocks.drops() == [5]
    assert "fell from 3.00 to 1.50 GHz on CPU 5" in _headline(model)


def test_an_older_fall_from_which_the_clock_has_not_returned_precedes_a_later_one() -> None:
    def clocks(second: int) -> dict[int, int]:
        return {**({2: _LOW} if second >= 4 else {}), **({5: _LOW} if second == 20 else {})}

    model = model_of(*(_frame(second, clocks(second)) for second in range(1, 30)))
    assert model.clocks.drops() == [3, 19]
    assert "fell from 3.00 to 1.20 GHz on CPU 2 at 3 s" in _headline(model)


def test_a_lasting_fall_is_kept_although_another_cpu_dips_hundreds_of_times() -> None:
    dips = {second: {5: _LOW} if second % 4 == 1 else {} for second in range(1, 700)}
    model = model_of(*(_frame(second, {4: _LOW, **dip} if second > 5 else {}) for second, dip in dips.items()))
    assert len(model.clocks.drops()) > 150
    assert verdict_of(model) == (" STABLE over 5 s ", "doubt")
    assert "fell from 3.00 to 1.20 GHz on CPU 4 at 5 s" in _headline(model)


def _model_of_clocks(clocks: Iterable[int]) -> ScreenModel:
    """Return the model of a machine on which CPU 4 has these clocks."""
    return model_of(*(_frame(second, {4: khz}, verdict="stable") for second, khz in enumerate(clocks, 1)))


def test_a_slow_fall_qualifies_the_verdict_until_the_clock_returns() -> None:
    slow = [max(round(_HIGH * 0.9955**second), _LOW) for second in range(250)]
    model = _model_of_clocks([*[_HIGH] * 20, *slow, *[_HIGH] * 20])
    model.go_to_number(269)
    assert verdict_of(model) == (" STABLE over 5 s ", "doubt")
    assert "fell from 3.00 to 1.20 GHz on CPU 4 by 41 s, back at 270 s: cause not visible" in _headline(model)
    model.go_to_number(289)
    assert verdict_of(model) == (" STABLE ", "good")
    assert model.clocks.drops() == [41]


def test_small_steps_qualify_the_verdict_once_their_sum_is_a_fall() -> None:
    steps = [khz for khz in (3_000_000, 2_890_000, 2_780_000, 2_690_000, 2_600_000) for _ in range(30)]
    model = _model_of_clocks(steps)
    assert "fell from 3.00 to 2.60 GHz on CPU 4 by 69 s" in _headline(model)
    model.go_to_number(59)
    assert verdict_of(model) == (" STABLE ", "good")


def test_the_cause_of_a_slow_fall_is_a_change_since_the_clock_was_last_held() -> None:
    heat = Conditions(throttled=(Throttled("package", "2-5", 3),))
    slow = [round(_HIGH * 0.9955**second) for second in range(40)]
    frames = [_frame(second, {}) for second in range(1, 21)]
    frames += [_frame(second, {4: khz}, conditions=heat) for second, khz in enumerate(slow, 21)]
    assert "on CPU 4 by 41 s: throttled by heat" in _headline(model_of(*frames))


@pytest.mark.parametrize(
    "clocks",
    [
        [_HIGH - (second * 7919) % 100_000 for second in range(300)],
        [3_140_000 if second % 60 == 30 else _HIGH - (second * 7919) % 10_000 for second in range(300)],
        [2_900_000 if second // 20 % 2 else _HIGH for second in range(300)],
    ],
    ids=["noise of 3%", "single high clocks", "two levels"],
)
def test_readings_that_rise_and_fall_by_less_than_a_fall_do_not_qualify_the_verdict(clocks: list[int]) -> None:
    model = _model_of_clocks(clocks)
    verdicts = []
    for number in range(len(clocks)):
        model.go_to_number(number)
        verdicts.append(verdict_of(model)[1])
    assert set(verdicts) == {"good"}
    assert model.clocks.drops() == []


def test_a_clock_that_is_only_high_for_moments_has_no_slow_fall_as_on_an_idle_cpu() -> None:
    rising_and_falling = [(800_000, 1_900_000, 3_000_000, 1_200_000)[second % 4] for second in range(100)]
    model = _model_of_clocks([*rising_and_falling, *[khz - 300_000 for khz in rising_and_falling]])
    falls = [model.clocks.falls.last(range(number), (4,)) for number in range(4, 200)]
    assert all(fall is not None and fall.since == fall.number - 1 for fall in falls)


def test_the_time_of_a_fall_after_unknown_clocks_is_not_exact() -> None:
    unknown: dict[int, int | None] = dict.fromkeys(range(6), None)
    frames = [
        _frame(second, unknown if 3 <= second < 9 else {5: _LOW} if second == 9 else {}) for second in range(1, 10)
    ]
    assert "on CPU 5 by 8 s: cause not visible" in _headline(model_of(*frames))


def test_a_change_while_clocks_were_unknown_is_a_cause() -> None:
    unknown: dict[int, int | None] = dict.fromkeys(range(6), None)
    frames = [_frame(1, {}), _frame(2, {}), *(_frame(second, unknown, "powersave") for second in range(3, 9))]
    assert "governor powersave" in _headline(model_of(*frames, _frame(9, {5: _LOW}, "powersave")))


def test_lowest_and_highest_of_the_fallen_clocks_are_named() -> None:
    model = model_of(*(_frame(second, {}) for second in (1, 2, 3)), _frame(4, {4: _LOW, 5: 2_000_000}))
    assert "fell from 3.00 to 1.20-2.00 GHz on 4-5" in _headline(model)


def test_the_axis_and_the_headline_have_the_same_time() -> None:
    model = _fallen()
    assert f"at {time_of(model, 5)}:" in _headline(model)


def test_a_stable_moment_of_a_recording_has_the_number_of_its_unstable_intervals() -> None:
    verdicts = ["stable"] * 4 + ["unstable"] * 3 + ["stable"] * 4
    frames = [replace(_frame(second, {}), verdict=verdict, judged_s=5.0) for second, verdict in enumerate(verdicts, 1)]
    model = model_of(*frames)
    for number in (0, 10):
        model.go_to_number(number)
        assert verdict_of(model) == (" STABLE over 5 s ", "doubt")
        assert "unstable in 3 of 11 intervals" in text_of(rows_of_screen(model, 100, 24, UNICODE)[1])
    model.go_to_number(5)
    assert "unstable in" not in text_of(rows_of_screen(model, 80, 24, UNICODE)[1])
    live = model_of(*(replace(taken, origin=None) for taken in frames))
    assert verdict_of(live) == (" STABLE ", "good")
