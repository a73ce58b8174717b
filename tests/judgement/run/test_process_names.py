"""The processes of culprits in the verdict of a repetition, and in the report of a series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
_LONG, _CUT = "averylongprogramname", "averylongprogra"  # the kernel keeps 15 bytes
_LONG_ANSWER = {"name": _CUT, "command": [f"/opt/{_LONG}"], "cgroup": "0::/\n"}


def _repetition(
    started: int = 1000,
    name: str = "tokio-rt-worker",
    process: str = "process_api",
    answer: Mapping[str, Any] = _ANSWER,
) -> Repetition:
    """Return a repetition that thread 903 of process 900 disturbs; the identity is for a process that started then."""
    moments = []
    for ms in (0, 200):
        files = crowd(900, process, [0, 0, 0, 2], "0-3")
        folder = f"/proc/900/task/{_WORKER}"
        files[f"{folder}/stat"] = files[f"{folder}/stat"].replace(process, name)
        files[f"{folder}/schedstat"] = files[f"{folder}/schedstat"].replace("0 ", f"{ms * MS} ", 1)
        moments.append(files)
    moments = [ran() | moments[0], ran({2: 900}, 1.0) | moments[1]]
    return repeat(*moments, own_ms=700, answers={IDENTITY.format(900, started): answer})


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


def _traced(looks: Repetition, tid: int, name: str) -> Repetition:
    """Return the repetition with a trace in which this thread of process 900 disturbs it."""
    begin, end = looks.began_ns, looks.ended_ns
    source = TracedSource(Kind.THREAD, name, thread=Thread(tid, name, 900, False))
    time = TracedTime(2, source, 200 * MS, 10, begin, begin + 200 * MS)
    own = {2: 700 * MS, 3: 0}
    return replace(looks, trace=TraceWindow(begin, end, own, (time,), end_doubt_ns=0))


def test_traced_thread_is_named_with_its_process() -> None:
    (reason,) = judge(_traced(_repetition(), _WORKER, "tokio-rt-worker")).reasons
    assert (reason.name, reason.program, reason.pid) == ("tokio-rt-worker", "process_api", 900)
    assert reason.identity is not None


def test_thread_with_the_cut_name_of_its_process_has_the_whole_name() -> None:
    looks = _repetition(name=_CUT, process=_CUT, answer=_LONG_ANSWER)
    for repetition in (looks, _traced(looks, _WORKER, _CUT), _traced(looks, 900, _CUT)):
        (reason,) = judge(repetition).reasons
        assert (reason.name, reason.program) == (_LONG, None)


def test_thread_left_running_is_not_named_twice() -> None:
    looks = _repetition(name="process_api")
    window = replace(looks.windows[-1], runs=tuple(replace(run, is_own=True) for run in looks.windows[-1].runs))
    (reason,) = judge(replace(looks, windows=(window,), earlier_pids=frozenset({900}))).reasons
    assert describe_reason(reason).startswith("process_api (left running by an earlier repetition) (pid 900) on CPU 2")


def test_report_lists_processes_and_files_omit_arguments() -> None:
    series = written_series(judge(_repetition()))
    text, markdown = render("text", series, identifies=True), render("markdown", series)
    assert "process_api (pid 900)  docker aaaaaaaaaaaa  /opt/process_api --port 1" in text
    assert "docker aaaaaaaaaaaa" in markdown
    document = render("json", series)
    assert '"command": "/opt/process_api --port 1"' in render("json", series, identifies=True)
    assert '"container": "aaaaaaaaaaaa"' in document
    assert [form for form in (markdown, document) if "--port" in form] == []
