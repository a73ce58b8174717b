"""Pictures of the monitor."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path

import pytest
from PIL import Image
from PIL.GifImagePlugin import GifImageFile
from PIL.PngImagePlugin import PngImageFile

from noisewatch.errors import UsageError
from noisewatch.surfaces.cli import main
from noisewatch.surfaces.cli.commands.screenshot import go_to
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.history import History
from tests.surfaces.running import Run, record
from tests.surfaces.tui.framing import SECOND_NS, frame, model_of
from tests.written.quiet_machine import process, quiet_files, stat_file


def _recording(tmp_path: Path, name: str = "hog") -> Path:
    """Record a machine with a hog on a target CPU."""
    moments = [
        quiet_files(3.0 * number)
        | process(900, name, 2, number * 1_500_000_000, allowed="0-3")
        | {"/proc/stat": stat_file({2: 150 * number}, 300 * number)}
        for number in range(3)
    ]
    return record(tmp_path / "machine.nw", *moments)


def _words(svg: Path) -> str:
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text())
    return " ".join(unescape(" ".join(texts)).replace("\xa0", " ").split())


def test_two_pictures_of_one_recording_are_the_same_bytes(run: Run, tmp_path: Path) -> None:
    recording, one, two = _recording(tmp_path), tmp_path / "one.svg", tmp_path / "two.svg"
    assert run("screenshot", one, "--replay", recording).status == 0
    assert run("screenshot", two, "--replay", recording).status == 0
    assert one.read_bytes() == two.read_bytes()


def test_a_picture_shows_the_last_moment(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    run("screenshot", picture, "--replay", _recording(tmp_path))
    assert "hog [900]" in _words(picture)
    assert "UNSTABLE" in _words(picture)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_only_the_shown_interval_is_drawn(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, times = MonitorApp.rows, list[int | None]()

    def log_rows(app: MonitorApp, width: int, height: int) -> list[Row]:
        times.append(app.model.newest.taken_at_ns if app.model.newest is not None else None)
        return rows(app, width, height)

    monkeypatch.setattr(MonitorApp, "rows", log_rows)
    run("screenshot", tmp_path / "picture.svg", "--replay", _recording(tmp_path))
    assert len(set(times) - {None}) == 1


def test_a_picture_downloads_nothing(run: Run, tmp_path: Path, unchanged_tree: Path) -> None:
    picture = tmp_path / "picture.svg"
    run("screenshot", picture, "--sysroot", unchanged_tree)
    assert "@font-face" not in picture.read_text()
    assert "url(http" not in picture.read_text()


@pytest.mark.parametrize("name", ["[bold red]x[/]&x;", "</text>\x1b]0;\x07"])
def test_a_hostile_name_is_a_text_in_the_picture(run: Run, tmp_path: Path, name: str) -> None:
    picture = tmp_path / "picture.svg"
    assert run("screenshot", picture, "--replay", _recording(tmp_path, name)).status == 0
    texts = "".join(ElementTree.parse(picture).getroot().itertext()).replace("\xa0", " ")
    assert f"{name} [900]".replace("\x1b", "·").replace("\x07", "·") in texts


@pytest.mark.parametrize(("keys", "words"), [("question_mark", "what makes"), ("s,s", "by cpu")])
def test_keys_are_pressed_first(run: Run, tmp_path: Path, keys: str, words: str) -> None:
    picture = tmp_path / "picture.svg"
    run("screenshot", picture, "--replay", _recording(tmp_path), "--keys", keys)
    assert words in _words(picture)


@pytest.mark.parametrize(
    ("at", "words"), [("0", "STOPPED at 3 of 6 s"), ("3.1", "STOPPED at 6 of 6 s"), ("6", "STOPPED at 6 of 6 s")]
)
def test_at_selects_the_interval_of_a_picture(run: Run, tmp_path: Path, at: str, words: str) -> None:
    picture, again = tmp_path / "picture.svg", tmp_path / "again.svg"
    for file in (picture, again):
        assert run("screenshot", file, "--replay", _recording(tmp_path), "--at", at).status == 0
    assert words in _words(picture)
    assert picture.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--keys", "s,foo"), "--keys foo: there is no such key; expected keys such as s, enter or question_mark,j"),
        (("--keys", "esc"), "--keys esc: there is no such key; did you mean escape?"),
        (("--keys", "wait:x"), "--keys wait:x: there is no such key"),
        (("--at", "400"), "--at 400: the recording ends after 6.0 s"),
    ],
)
def test_a_missing_key_or_moment_is_rejected(run: Run, tmp_path: Path, options: tuple[str, str], expected: str) -> None:
    result = run("screenshot", tmp_path / "picture.svg", "--replay", _recording(tmp_path), *options)
    assert (result.status, result.out) == (2, "")
    assert expected in result.err
    assert not (tmp_path / "picture.svg").exists()


def test_only_a_recording_has_other_moments(run: Run, tmp_path: Path, unchanged_tree: Path) -> None:
    result = run("screenshot", tmp_path / "picture.svg", "--sysroot", unchanged_tree, "--at", "0")
    assert (result.status, "needs a recording (--replay FILE)" in result.err) == (2, True)


@pytest.mark.parametrize("key", ["?", "[", "left_square_bracket", "shift+left", "ctrl+p", "f1", "é"])
def test_every_key_of_a_keyboard_may_be_pressed(run: Run, tmp_path: Path, unchanged_tree: Path, key: str) -> None:
    assert run("screenshot", tmp_path / "picture.svg", "--sysroot", unchanged_tree, "--keys", key).status == 0


def test_a_dropped_moment_is_rejected() -> None:
    model = model_of()
    model.history = History(capacity=3)
    for second in range(1, 8):
        model.add(frame(second=second))
    with pytest.raises(UsageError, match="a recording this long can be drawn only from 4 s on"):
        go_to(model, 2.0, SECOND_NS)
    go_to(model, 4.0, SECOND_NS)
    assert model.number == 4


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--from", "3", "--to", "2"), "--to 2 is before --from 3"),
        (
            ("--from", "1", "--at", "2"),
            "--at draws a single moment, --from and --to an animation; use one or the other",
        ),
        (("--from", "60"), "--from 60: the recording ends after 6.0 s"),
        (("--from", "4", "--to", "5"), "--from 4: the recording has no snapshot from there to 5 s"),
        (("--from", "-1"), "--from"),
        (("--theme", "sepia"), "sepia"),
    ],
)
def test_an_invalid_time_range_is_rejected(run: Run, tmp_path: Path, options: tuple[str, ...], expected: str) -> None:
    result = run("screenshot", tmp_path / "demo.svg", "--replay", _recording(tmp_path), *options)
    assert (result.status, result.out) == (2, "")
    assert expected in result.err
    assert not (tmp_path / "demo.svg").exists()


def test_a_gif_is_an_animation(run: Run, tmp_path: Path) -> None:
    result = run("screenshot", tmp_path / "demo.gif", "--replay", _recording(tmp_path))
    assert (result.status, "demo.gif: a GIF is an animation of --from to --to" in result.err) == (2, True)


@pytest.mark.parametrize("suffix", ["gif", "png"])
def test_an_animation_has_a_frame_for_each_interval(run: Run, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"demo.{suffix}"
    assert run("screenshot", picture, "--replay", _recording(tmp_path), "--from", "3", "--size", "60x12").status == 0
    with Image.open(picture) as frames:
        assert isinstance(frames, GifImageFile | PngImageFile)
        assert (frames.n_frames, frames.size) == (2, (744, 342))
        assert frames.info["duration"] == 3000
        first = frames.convert("RGB").tobytes()
        frames.seek(1)
        assert frames.convert("RGB").tobytes() != first
        assert frames.getpixel((0, 0)) is not None


def test_without_pillow_only_an_svg_is_animated(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    result = run("screenshot", tmp_path / "demo.gif", "--replay", _recording(tmp_path), "--from", "3")
    assert (result.status, "needs the package pillow (pip install noisewatch[png])" in result.err) == (2, True)
    assert not (tmp_path / "demo.gif").exists()
    assert run("screenshot", tmp_path / "demo.svg", "--replay", _recording(tmp_path), "--from", "3").status == 0


def test_a_picture_has_the_requested_title(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    run("screenshot", picture, "--replay", _recording(tmp_path), "--title", "a hog <on>\x1b CPU 2")
    assert _words(picture).startswith("a hog <on>· CPU 2")


def test_a_long_title_is_cut(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    run("screenshot", picture, "--replay", _recording(tmp_path), "--size", "60x12", "--title", "long " * 40)
    assert re.match(r"(long )+(long?|lo?)?… ", _words(picture))


def test_the_scale_changes_only_the_size(run: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    recording = _recording(tmp_path)
    run("screenshot", one, "--replay", recording)
    run("screenshot", two, "--replay", recording, "--scale", "1.5")
    assert two.read_text() == one.read_text().replace('width="1224" height="774"', 'width="1836" height="1161"', 1)


@pytest.mark.parametrize("scale", ["0", "-1", "11", "big", "nan"])
def test_an_impossible_scale_is_rejected(run: Run, tmp_path: Path, unchanged_tree: Path, scale: str) -> None:
    result = run("screenshot", tmp_path / "picture.svg", "--sysroot", unchanged_tree, f"--scale={scale}")
    assert (result.status, f"expected a factor from 0.1 to 10, such as 2, found '{scale}'" in result.err) == (2, True)


def _height(svg: Path) -> int:
    return round((float(ElementTree.parse(svg).getroot().attrib["height"]) - 54) / 24)


@pytest.mark.parametrize(
    ("panel", "words"),
    [
        ("overview", "hog [900]"),
        ("map", "noise"),
        ("irqs", "IRQ device"),
        ("clock", "GHz"),
        ("cpu", "CPU 2"),
        ("events", "busy"),
        ("preflight", "2 block"),
        ("culprits", "hog [900]"),
    ],
)
@pytest.mark.parametrize("size", ["80x12", "120x34"])
def test_a_panel_has_its_own_size(run: Run, tmp_path: Path, panel: str, words: str, size: str) -> None:
    picture = tmp_path / "picture.svg"
    result = run("screenshot", picture, "--replay", _recording(tmp_path), "--panel", panel, "--size", size)
    assert (result.status, _height(picture)) == (0, int(size.partition("x")[2]))
    assert words.lower() in _words(picture).lower()
    assert "1 overview" not in _words(picture)
    assert "q quit" not in _words(picture)


def test_the_timeline_is_a_panel(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    assert run("screenshot", picture, "--replay", _recording(tmp_path), "--panel", "timeline").status == 0
    assert _height(picture) < 8
    assert "target" in _words(picture)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--panel", "irq"), "--panel irq: there is no such panel; did you mean irqs?"),
        (("--panel", "xyz"), "there is no such panel; expected overview, map, irqs"),
        (("--panel", "map", "--keys", "3"), "--panel map: the keys of --keys have opened something else"),
        (("--panel", "map", "--keys", "question_mark"), "--panel map: the keys of --keys have opened something else"),
        (("--panel", "timeline", "--keys", "p"), "--panel timeline: the keys of --keys have opened something else"),
    ],
)
def test_a_panel_that_is_not_shown_is_rejected(
    run: Run, tmp_path: Path, options: tuple[str, ...], expected: str
) -> None:
    result = run("screenshot", tmp_path / "picture.svg", "--replay", _recording(tmp_path), *options)
    assert (result.status, expected in result.err) == (2, True), result.err
    assert not (tmp_path / "picture.svg").exists()


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_only_a_recording_has_a_time_range(run: Run, tmp_path: Path, unchanged_tree: Path, option: str) -> None:
    result = run("screenshot", tmp_path / "demo.svg", "--sysroot", unchanged_tree, option, "0")
    assert (result.status, f"{option}: needs a recording" in result.err) == (2, True)


def test_a_time_range_is_an_animation_of_its_frames(run: Run, tmp_path: Path) -> None:
    recording, one, two = _recording(tmp_path), tmp_path / "one.svg", tmp_path / "two.svg"
    for file in (one, two):
        assert run("screenshot", file, "--replay", recording, "--from", "0", "--to", "6").status == 0
    svg = one.read_text()
    assert one.read_bytes() == two.read_bytes()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    steps = {float(step) for step in re.findall(r"([\d.]+)%\{visibility", svg)}
    assert len(steps) == 3  # the first snapshot, and two intervals
    assert "no rates yet" in _words(one)
    assert "UNSTABLE" in _words(one)


def test_an_animation_starts_after_its_keys_were_pressed(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    run("screenshot", picture, "--replay", _recording(tmp_path), "--from", "3", "--keys", "question_mark")
    assert "what makes" in _words(picture)
    assert "no rates yet" not in _words(picture)


def test_twenty_seconds_are_at_most_half_a_megabyte(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    recording = Path(__file__).parents[3] / "machines" / "lab-disturbed.nw"
    run("screenshot", picture, "--replay", recording, "--from", "0", "--size", "100x30")
    assert 10_000 < picture.stat().st_size <= 500_000


def test_the_light_theme_has_a_white_background(run: Run, tmp_path: Path) -> None:
    dark, light = tmp_path / "dark.svg", tmp_path / "light.svg"
    recording = _recording(tmp_path)
    run("screenshot", dark, "--replay", recording)
    run("screenshot", light, "--replay", recording, "--theme", "light")
    assert _words(dark) == _words(light)
    assert 'fill="#ffffff"' in light.read_text()
    assert 'fill="#0d1117"' in dark.read_text()


def test_the_title_names_the_host(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    run("screenshot", picture, "--replay", _recording(tmp_path))
    assert _words(picture).startswith("noisewatch · host")


def test_one_run_writes_several_pictures(run: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    assert run("screenshot", one, two, "--replay", _recording(tmp_path)).status == 0
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("size", ["1x1", "200x60"])
def test_any_size_is_drawn(run: Run, tmp_path: Path, unchanged_tree: Path, size: str) -> None:
    picture = tmp_path / "picture.svg"
    assert run("screenshot", picture, "--sysroot", unchanged_tree, "--size", size).status == 0
    assert picture.stat().st_size > 0


def test_a_damaged_recording_is_reported_on_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recording = _recording(tmp_path)
    recording.write_bytes(recording.read_bytes()[:-60])
    assert main(["screenshot", str(tmp_path / "picture.svg"), "--replay", str(recording)]) == 0
    assert "damaged after" in capfd.readouterr().err
