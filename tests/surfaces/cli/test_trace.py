"""`noisewatch trace`, of what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.machine import Json
from tests.surfaces.running import Run, record
from tests.written.quiet_machine import crowd, process, quiet_files, stat_file
from tests.written.trace import written_trace


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return _recorded(tmp_path, written_trace())


def _recorded(tmp_path: Path, trace: Json = None) -> Path:
    before = quiet_files() | process(901, "hog", 2, 0, allowed="0-3") | process(450, "mapper", 0, 0, allowed="0-3")
    after = quiet_files(3.0) | process(901, "hog", 2, 1_400_000_000, allowed="0-3") | process(450, "mapper", 0, 0)
    after["/proc/stat"] = stat_file({2: 150}, 300)
    return record(tmp_path / "traced.nw", before, after, trace=trace)


def test_culprits_come_by_what_they_took_and_the_work_itself_is_none(run: Run, recording: Path) -> None:
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    assert lines[0] == "noisewatch trace · CPU 2 · 2.0 s · by the kernel's trace"
    assert lines[2] == "CPU 2: bench (pid 890, thread 900) had 95.0%, noise 0.62%"
    told = lines.index("  the longest interruptions without bench (pid 890, thread 900)")
    table = lines[4:told]
    rows = [line.split() for line in table]
    assert [row[0] for row in rows] == ["kernel-thread", "tick", "ipi", "irq", "softirq", "ipi"]
    assert "kworker/2:1 (pid 30)" in lines[4]
    assert "flush_tlb_func, called by mapper (pid 450, thread 456)" in lines[6]
    assert "25 nvme0q1 (NVMe SSD Controller (nvme0n1))" in lines[7]


def test_what_helps_is_told_with_the_commands_of_this_machine(run: Run, recording: Path) -> None:
    told = run("trace", "--cpus", "2", "--replay", recording).out.partition("fixes")[2]
    assert "echo 0-1,3 | sudo tee /proc/irq/25/smp_affinity_list" in told
    assert "nohz_full=" not in told  # as it is set
    assert "sudo taskset -apc 0-1,3 450" in told
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    disk = next(each for each in answer["cpus"][0]["culprits"] if each["kind"] == "irq")
    assert disk["fix"]["undo"] == "echo 0-1 | sudo tee /proc/irq/25/smp_affinity_list"


def test_threads_of_one_process_have_one_advice(run: Run, tmp_path: Path) -> None:
    traced = written_trace()
    for number, tid in enumerate((500, 501, 502)):
        traced["threads"][str(tid)] = {"name": f"KVM {number}", "pid": 500, "is_kernel": False}
        traced["cpus"][0]["sources"].append(["thread", f"KVM {number}", tid, None])
        traced["cpus"][0]["spells"].append([10, (90 + number) * 1_000_000, 9_000_000, [8_388_608, 10]])
    before, after = (crowd(500, "KVM", [2, 2, 2], "0-3", ran_ns=number * 300_000_000) for number in range(2))
    recording = record(tmp_path / "qemu.nw", quiet_files() | before, quiet_files(3.0) | after, trace=traced)
    told = run("trace", "--cpus", "2", "--replay", recording).out.partition("fixes")[2]
    assert "thread KVM 2 (pid 500, thread 502) and 2 more of its process: Move it" in " ".join(told.split())
    assert [line.strip() for line in told.splitlines() if "taskset" in line and "now" in line] == [
        "now: sudo taskset -apc 0-1,3 500"
    ]
    assert "AllowedCPUs=0-1,3" in told
    assert told.count("KVM") == 1


def test_durations_line_up_at_their_units(run: Run, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    column = lines[3].index("  share")
    assert {line[column - 2 : column] for line in lines[4:10]} == {"ms", "µs"}


def test_json_has_the_lengths_of_each(run: Run, recording: Path) -> None:
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    (cpu,) = answer["cpus"]
    assert (answer["by"], answer["reason"], cpu["works"]["pid"]) == ("trace", None, 890)
    tick = next(each for each in cpu["culprits"] if each["kind"] == "tick")
    assert (tick["count"], tick["p50_ns"], tick["p99_ns"], tick["max_ns"]) == (500, 8_192, 16_384, 20_000)
    assert tick["counts"] == [400, 100]
    assert tick["rate_per_s"] == 250
    assert sum(each["stolen_ns"] for each in cpu["culprits"]) == cpu["stolen_ns"]


def test_the_longest_stretches_without_the_work_come_with_what_was_in_them(run: Run, recording: Path) -> None:
    lines = run("trace", "--cpus", "2", "--replay", recording).out.splitlines()
    told = lines.index("  the longest interruptions without bench (pid 890, thread 900)")
    rows = [" ".join(line.split()) for line in lines[told + 2 : lines.index("fixes") - 1]]
    assert rows == ["0.000900 s 3 ms kworker/2:1 3 ms", "0.000400 s 8 µs timer tick 8 µs"]
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    first = answer["cpus"][0]["longest_stretches"][0]
    assert (first["at_ns"], first["length_ns"]) == (900_000, 3_000_000)
    part = {"kind": "kernel-thread", "name": "kworker/2:1", "tid": 30, "irq": None, "ns": 3_000_000}
    assert first["parts"] == [part]


def test_without_a_trace_the_counters_have_to_do_and_the_reason_is_told(run: Run, tmp_path: Path) -> None:
    recording = _recorded(tmp_path)
    said = run("trace", "--cpus", "2", "--replay", recording).out
    assert "by counters only, ~ marks inferred figures" in said
    assert "No trace: not in the recording." in said
    assert "hog (pid 901)" in said
    answer = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json
    assert (answer["by"], answer["reason"]) == ("counters", "not in the recording")
    assert answer["cpus"][0]["culprits"][0]["name"] == "hog"


def test_without_a_trace_too_the_thread_that_has_the_cpu_is_what_works_there(run: Run, tmp_path: Path) -> None:
    before = quiet_files() | process(901, "bench", 2, 0, allowed="0-3") | process(902, "hog", 2, 0, allowed="0-3")
    after = quiet_files(3.0) | process(901, "bench", 2, 2_000_000_000, allowed="0-3")
    after |= process(902, "hog", 2, 500_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 250}, 300)}
    recording = record(tmp_path / "counted.nw", before, after)
    said = run("trace", "--cpus", "2", "--replay", recording).out
    assert "CPU 2: bench (pid 901) had ~66.67%; also there:" in said
    assert "taskset -pc 0-1,3 902" in said
    assert "taskset -pc 0-1,3 901" not in said
    (cpu,) = run("trace", "--cpus", "2", "--replay", recording, "--format", "json").json["cpus"]
    assert (cpu["works"]["pid"], cpu["culprits"][0]["pid"]) == (901, 902)
    assert cpu["stolen_ns"] < 1_000_000_000


def test_of_a_cpu_that_was_not_traced_only_the_counters_tell(run: Run, recording: Path) -> None:
    said = run("trace", "--cpus", "3", "--replay", recording).out
    assert "No trace: CPU 3 was not traced." in said
    assert "bench" not in said
    assert "No trace: CPU 3 was not traced." in run("trace", "--cpus", "2-3", "--replay", recording).out


def test_lost_events_are_told(run: Run, tmp_path: Path) -> None:
    said = written_trace()
    for lost, told in ((77, "trace lost 77 events"), (None, "lost events unknown")):
        said["cpus"][0]["lost_events"] = lost
        assert told in run("trace", "--cpus", "2", "--replay", _recorded(tmp_path, said)).out


def test_a_copied_tree_cannot_be_followed(run: Run) -> None:
    ran = run("trace", {})
    assert (ran.status, ran.err) == (2, "noisewatch: a copied tree is a single snapshot: there is nothing to trace\n")
