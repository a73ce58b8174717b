"""The processes of culprits in the verdict of a repetition, and in the report of a series."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.run.reasons import describe_reason, summarize_reasons
from noisewatch.kernel.trace.runs import Thread, TracedSource, TracedTime, TraceWindow
from noisewatch.kinds import Kind
from noisewatch.machine.recording.privacy import IDENTITY
from noisewatch.model.run.repetition import Repetition
from tests.surfaces.reports.run.written_series import render, written_series
from tests.written.quiet_machine import crowd
from tests.written.repetitions import MS, judge, ran, repeat

_ANSWER = {
    "name": "process_api",
    "command": ["/opt/process_api", "--port", "1"],
    "cgroup": f"0::/system.slice/docker-{64 * 'a'}.scope\n",
}
_WORKER = 903  # a thread of process 900, with another name


def _repetition(started: int = 1000) -> Repetition:
    """Return a repetition that thread 903 of process 900 disturbs; the identity is of a process with this start."""
    moments = []
    for ms in (0, 200):
        files = crowd(900, "process_api", [0, 0, 0, 2], "0-3")
        folder = f"/proc/900/task/{_WORKER}"
        files[f"{folder}/stat"] = files[f"{folder}/stat"].replace("process_api", "tokio-rt-worker")
        files[f"{folder}/schedstat"] = files[f"{folder}/schedstat"].replace("0 ", f"{ms * MS} ", 1)
        moments.append(files)
    moments = [ran() | moments[0], ran({2: 900}, 1.0) | moments[1]]
    return repeat(*moments, own_ms=700, answers={IDENTITY.format(900, started): _ANSWER})


def test_thread_is_named_with_its_process() -> None:
    verdict = judge(_repetition())
    (reason,) = verdict.reasons
    assert describe_reason(reason).startswith("process_api (pid 900), thread tokio-rt-worker on CPU 2: ~200 ms")
    assert reason.identity is not None
    assert reason.identity.details() == "/opt/process_api --port 1 · docker aaaaaaaaaaaa"
    assert "process_api (pid 900)" in summarize_reasons(replace(verdict, reasons=(reason, reason)), 1000 * MS)


def test_reused_pid_has_no_details_of_the_earlier_process() -> None:
    (reason,) = judge(_repetition(started=999)).reasons
    assert (reason.program, reason.identity) == ("process_api", None)


def test_traced_thread_is_named_with_its_process() -> None:
    looks = _repetition()
    begin, end = looks.began_ns, looks.ended_ns
    source = TracedSource(Kind.THREAD, "tokio-rt-worker", thread=Thread(_WORKER, "tokio-rt-worker", 900, False))
    time = TracedTime(2, source, 200 * MS, 10, begin, begin + 200 * MS)
    own = {2: 700 * MS, 3: 0}
    trace = TraceWindow(begin, end, own, (time,), has_seen_end=True)
    (reason,) = judge(replace(looks, trace=trace)).reasons
    assert (reason.name, reason.program, reason.pid) == ("tokio-rt-worker", "process_api", 900)
    assert reason.identity is not None


def test_report_lists_processes_and_files_omit_arguments() -> None:
    series = written_series(judge(_repetition()))
    text, markdown = render("text", series, identifies=True), render("markdown", series)
    assert "process_api (pid 900)  docker aaaaaaaaaaaa  /opt/process_api --port 1" in text
    assert "docker aaaaaaaaaaaa" in markdown
    document = render("json", series)
    assert '"command": "/opt/process_api --port 1"' in render("json", series, identifies=True)
    assert '"container": "aaaaaaaaaaaa"' in document
    assert [form for form in (markdown, document) if "--port" in form] == []
