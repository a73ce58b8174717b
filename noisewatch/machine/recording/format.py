r"""The frames of a recording: each contains the changes from one snapshot to the next.

A recording is gzip over JSON lines. The first line is the header:

    {"noisewatch_recording": 1, "made_by": "0.1.0", "own_pids": [4711], "interval_s": 1.0}

A line may contain an answer that was requested between two snapshots, such as a calibration; it is valid for all
snapshots:

    {"aside": {"ask calibration": {"core": "native", …}}}

or mark that a sample begins with the next frame, if there are more frames than the sample's two:

    {"aside": {"ask sample": true}}

and every other line is a frame:

    {"now_ns": 81234567, "key": true,
     "read": {"text /proc/stat": "cpu  …", "names /proc": ["1", "2"], "mode /proc/irq/24/smp_affinity": 292},
     "rows": {"text /proc/interrupts": {"3": " 26:  0  14  IO-APIC …\n"}},
     "failed": {"text /proc/schedstat": ["no such file", true]}}

A question is its kind and its path. `read` contains whole answers, `rows` the changed lines of a text (by their number
from 0), `failed` the reason and whether the kernel reported that the file is absent. Anything missing from a frame is
unchanged; a key frame contains everything, so a reader may begin there.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.machine import Json

FORMAT_VERSION = 1
ASIDE = "aside"
SAMPLE = "sample"


class Failure(Struct, frozen=True):
    """A question without an answer, with the reason."""

    reason: str
    is_absent: bool


_NEVER = Failure("never asked", is_absent=False)  # None would be a valid answer

Answer = Failure | Json
Answers = dict[str, Answer]  # by question


class RecordedSnapshot(Struct):
    """The answers of one snapshot."""

    now_ns: int
    asked: Answers = {}


def encode(frame: RecordedSnapshot, previous: Answers, is_key: bool) -> dict[str, Any]:
    """Return the frame as a JSON line, relative to the `previous` answers."""
    line: dict[str, Any] = {"now_ns": frame.now_ns, "key": is_key, "read": {}, "rows": {}, "failed": {}}
    for question, answer in frame.asked.items():
        before = _NEVER if is_key else previous.get(question, _NEVER)
        if before == answer:
            continue
        if isinstance(answer, Failure):
            line["failed"][question] = [answer.reason, answer.is_absent]
        elif (rows := _changed_rows(before, answer)) is not None:
            line["rows"][question] = rows
        else:
            line["read"][question] = answer
    return line


def decode(line: Json, previous: Answers) -> tuple[int, Answers]:
    """Return a frame's time and all answers valid at that time. Raise Malformed if the line is not a frame."""
    try:
        after = {} if line["key"] else dict(previous)
        after.update({question: _check_type(question, answer) for question, answer in line["read"].items()})
        for question, rows in line["rows"].items():
            after[question] = _check_type(question, _with_rows(_text_of(previous[question]), rows))
        for question, (reason, is_absent) in line["failed"].items():
            after[question] = Failure(str(reason), bool(is_absent))
        return int(line["now_ns"]), after
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise Malformed("a frame of a recording", str(error)) from error


def begins_sample(line: Json) -> bool:
    """Return whether the line marks the start of a sample with the next frame."""
    return isinstance(line, dict) and line.get(ASIDE) == {f"ask {SAMPLE}": True}


def decode_aside(line: Json) -> Answers:
    """Return the answers of a line between two frames. Raise Malformed if it contains anything else."""
    answers = line[ASIDE]
    if not isinstance(answers, dict) or not all(question.startswith("ask ") for question in answers):
        raise Malformed("answers between two frames", str(answers))
    return dict(answers)


def _check_type(question: str, answer: Json) -> Json:
    """Return the answer if its type fits the kind of question. Raise ValueError otherwise."""
    kind = question.partition(" ")[0]
    fits = {
        "text": isinstance(answer, str) and _is_of_bytes(answer),
        "names": isinstance(answer, list) and all(isinstance(name, str) for name in answer),
        "mode": isinstance(answer, int),
        "ask": True,
    }
    if not fits.get(kind, False):
        raise ValueError(f"{question}: {answer!r}")
    return answer


def _changed_rows(before: Answer, after: Answer) -> dict[str, str] | None:
    """Return the changed lines by number; None if the texts are too short, or differ in their number of lines."""
    if not isinstance(before, str) or not isinstance(after, str):
        return None
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) != len(new) or len(new) < 2:
        return None
    return {str(number): line for number, line in enumerate(new) if line != old[number]}


def _is_of_bytes(text: str) -> bool:
    """Return whether the text can be a file's content. Raise UnicodeEncodeError, a ValueError, if it cannot."""
    return text.encode("utf-8", "surrogateescape") is not None


def _text_of(answer: Answer) -> str:
    if not isinstance(answer, str):
        raise ValueError(f"rows of {answer!r}")
    return answer


def _with_rows(text: str, rows: dict[str, str]) -> str:
    lines = text.splitlines(keepends=True)
    for number, line in rows.items():
        lines[int(number)] = line
    return "".join(lines)
