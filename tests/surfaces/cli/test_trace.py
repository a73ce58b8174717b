"""`noisewatch trace` of recordings."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from noisewatch.machine import Json
from tests.live.noise import CPU
from tests.surfaces.running import NOISEWATCH, Run, record
from tests.written.quiet_machine import crowd, process, quiet_files, stat_file
from tests.written.trace import trace_with_regular_hog, written_trace


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return _record(tmp_path, written_trace())


def _record(tmp_path: Path, trace: Json = None) -> Path:
    before = quiet_files() | process(901, "hog", 2, 0, allowed="0-3") | process(450, "mapper", 0, 0, allowed="0-3")
    after = quiet_files(3.0) | process(901, "hog", 2, 1_400_000_000, allowed="0-3") | process(450, "mapper", 0, 0)
    after["/proc/stat"] = stat_file({2: 150}, 300)
    return record(tmp_path / "traced.nw", before, after, trace=trace)


def test_culprits_are_sorted_by_stolen_time_without_the_benchmark_itself(run: Run, recording: Path) -> None:
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    assert lines[0] == "noisewatch trace · CPU 2 · 2.0 s · by the kernel's trace"
    assert lines[2] == "CPU 2: bench (pid 890, thread 900) ran 95.0% of the time, noise 0.62%"
    end = lines.index("  the longest interruptions of bench (pid 890, thread 900)")
    table = lines[4:end]
    rows = [line.split() for line in table]
    assert [row[0] for row in rows] == ["kernel-thread", "tick", "ipi", "irq", "softirq", "ipi"]
    assert "kworker/2:1 (pid 30)" in lines[4]
    assert "flush_tlb_func, called by mapper (pid 450, thread 456)" in lines[6]
    assert "25 nvme0q1 (NVMe SSD Controller (nvme0n1))" in lines[7]


def test_fixes_have_the_commands_of_this_machine(run: Run, recording: Path) -> None:
    fixes = run("trace", "--cpus", "2", "--replay", recording).out.partition("fixes")[2]
    assert "echo 0-1,3 | sudo tee /proc/irq/25/smp_affinity_list" in fixes
    assert "nohz_full=" not in fixes  # it is set already
    assert "sudo taskset -apc 0-1,3 450" in fixes
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    disk = next(culprit for culprit in answer["cpus"][0]["culprits"] if culprit["kind"] == "irq")
    assert disk["fix"]["undo"] == "echo 0-1 | sudo tee /proc/irq/25/smp_affinity_list"


def test_threads_of_one_process_have_one_advice(run: Run, tmp_path: Path) -> None:
    traced = written_trace()
    for number, tid in enumerate((500, 501, 502)):
        traced["threads"][str(tid)] = {"name": f"KVM {number}", "pid": 500, "is_kernel": False}
        traced["cpus"][0]["sources"].append(["thread", f"KVM {number}", tid, None])
        traced["cpus"][0]["spells"].append([10, (90 + number) * 1_000_000, 9_000_000, [8_388_608, 10]])
    before, after = (crowd(500, "KVM", [2, 2, 2], "0-3", ran_ns=number * 300_000_000) for number in range(2))
    recording = record(tmp_path / "qemu.nw", quiet_files() | before, quiet_files(3.0) | after, trace=traced)
    fixes = run("trace", "--cpus", "2", "--replay", recording).out.partition("fixes")[2]
    assert "KVM (pid 500), thread KVM 2 (502) and 2 more of its process: Move it" in " ".join(fixes.split())
    assert [line.strip() for line in fixes.splitlines() if "taskset" in line and "now" in line] == [
        "now: sudo taskset -apc 0-1,3 500"
    ]
    assert "AllowedCPUs=0-1,3" in fixes
    assert fixes.count("thread KVM") == 1


def test_durations_line_up_at_their_units(run: Run, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    column = lines[3].index("  share")
    assert {line[column - 2 : column] for line in lines[4:10]} == {"ms", "µs"}


def test_json_has_counts_and_percentiles_of_each_culprit(run: Run, recording: Path) -> None:
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    (cpu,) = answer["cpus"]
    assert (answer["by"], answer["reason"], cpu["works"]["pid"]) == ("trace", None, 890)
    tick = next(culprit for culprit in cpu["culprits"] if culprit["kind"] == "tick")
    assert (tick["count"], tick["p50_ns"], tick["p99_ns"], tick["max_ns"]) == (500, 8_192, 16_384, 20_000)
    assert tick["counts"] == [400, 100]
    assert tick["rate_per_s"] == 250
    assert sum(culprit["stolen_ns"] for culprit in cpu["culprits"]) == cpu["stolen_ns"]


def test_the_longest_interruptions_list_their_parts(run: Run, recording: Path) -> None:
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    heading = lines.index("  the longest interruptions of bench (pid 890, thread 900)")
    rows = [" ".join(line.split()) for line in lines[heading + 2 : lines.index("fixes") - 1]]
    assert rows == ["0.000900 s 3 ms kworker/2:1 3 ms", "0.000400 s 8 µs timer tick 8 µs"]
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    first = answer["cpus"][0]["longest_stretches"][0]
    assert (first["at_ns"], first["length_ns"]) == (900_000, 3_000_000)
    part = {"kind": "kernel-thread", "name": "kworker/2:1", "tid": 30, "irq": None, "ns": 3_000_000}
    assert first["parts"] == [part]


def test_regular_culprit_is_described_by_its_rate_and_length(run: Run, tmp_path: Path) -> None:
    recording = _record(tmp_path, trace_with_regular_hog())
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    assert [line for line in lines if "times a second" in line] == [
        "  hog (pid 901) disturbs 10 times a second, 5 ms each"
    ]
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    rhythms = {culprit["name"]: culprit.get("rhythm") for culprit in answer["cpus"][0]["culprits"]}
    assert rhythms["hog"] == {
        "period_ns": 100_000_000,
        "count": 20,
        "usual_ns": 5_000_000,
        "shortest_ns": 5_000_000,
        "longest_ns": 5_000_000,
    }
    assert rhythms["kworker/2:1"] is None


def test_without_a_trace_counters_are_used_and_the_reason_is_shown(run: Run, tmp_path: Path) -> None:
    recording = _record(tmp_path)
    text = run("trace", "--cpus", "2", "--replay", recording).out
    assert "by counters only, ~ marks inferred figures" in text
    assert "No trace: not in the recording." in text
    assert "hog (pid 901)" in text
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    assert (answer["by"], answer["reason"]) == ("counters", "not in the recording")
    assert answer["cpus"][0]["culprits"][0]["name"] == "hog"


def test_without_a_trace_a_thread_has_the_rate_of_its_time_slices(run: Run, tmp_path: Path) -> None:
    before = quiet_files() | process(901, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(901, "hog", 2, 150_000_000, allowed="0-3")
    after |= {"/proc/901/schedstat": "150000000 1000 40\n", "/proc/stat": stat_file({2: 15}, 300)}
    text = run("trace", "--cpus", "2", "--replay", record(tmp_path / "counted.nw", before, after)).out
    row = next(line for line in text.splitlines() if "hog (pid 901)" in line)
    assert row.split()[-4:] == ["10.0", "150", "ms", "~5.00%"]


def test_without_a_trace_the_busiest_thread_counts_as_the_benchmark(run: Run, tmp_path: Path) -> None:
    before = quiet_files() | process(901, "bench", 2, 0, allowed="0-3") | process(902, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(901, "bench", 2, 2_000_000_000, allowed="0-3")
    after |= process(902, "hog", 2, 500_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 250}, 300)}
    recording = record(tmp_path / "counted.nw", before, after)
    text = run("trace", "--cpus", "2", "--replay", recording).out
    assert "CPU 2: bench (pid 901) ran ~66.67% of the time; others:" in text
    assert "taskset -pc 0-1,3 902" in text
    assert "taskset -pc 0-1,3 901" not in text
    (cpu,) = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json["cpus"]
    assert (cpu["works"]["pid"], cpu["culprits"][0]["pid"]) == (901, 902)
    assert cpu["stolen_ns"] < 1_000_000_000


def test_an_untraced_cpu_is_reported_by_counters_only(run: Run, recording: Path) -> None:
    text = run("trace", "--cpus", "3", "--replay", recording).out
    assert "No trace: CPU 3 was not traced." in text
    assert "bench" not in text
    assert "No trace: CPU 3 was not traced." in run("trace", "--cpus", "2-3", "--replay", recording).out


def test_lost_events_are_reported(run: Run, tmp_path: Path) -> None:
    traced = written_trace()
    for lost, message in ((77, "trace lost 77 events"), (None, "unknown whether events were lost")):
        traced["cpus"][0]["lost_events"] = lost
        assert message in run("trace", "--cpus", "2", "--replay", _record(tmp_path, traced)).out


def test_a_copied_tree_cannot_be_traced(run: Run) -> None:
    result = run("trace", {})
    message = "noisewatch: a copied tree of /proc and /sys is a single snapshot, so there is nothing to trace\n"
    assert (result.status, result.err) == (2, message)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_trace_is_reported(number: signal.Signals) -> None:
    ours, theirs = pty.openpty()  # only a terminal shows when the trace begins
    command = [*NOISEWATCH, "trace", "--cpus", str(CPU), "--duration", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        errors = b""
        while b"tracing" not in errors:
            errors += os.read(ours, 1024)
        process.send_signal(number)
        output, _ = process.communicate(timeout=30)
    errors = os.read(ours, 65536)
    os.close(ours)
    assert process.returncode == 128 + number
    assert output.startswith(f"noisewatch trace · CPU {CPU} · ")
    assert f"noisewatch: interrupted by {number.name}, so the report is partial" in errors.decode()
