"""Remedies for each kind of culprit, on a machine with CPUs 2 and 3 as target."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.fixes.actions import move
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.programs import names_in_fix
from noisewatch.judgement.remedies import remedy_of
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.frame.frame import KINDS
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files

_KINDS = (*KINDS, "sibling", "quota")


def _case(changes: Files | None = None, modes: dict[str, int] | None = None) -> Case:
    files = quiet_files() | process(900, "hog", 2, 5, allowed="0-3") | process(450, "mapper", 0, 5, allowed="0-3")
    files |= dict(changes or {})
    machine = WrittenMachine(files, answers=ANSWERS, modes=modes)
    return Case(read_snapshot(machine, SnapshotOptions(), TaskReader(asks_all_affinities=True)))


def _untuned() -> Case:
    """Return a case whose CPUs 2 and 3 are isolated, but neither tickless nor free of RCU callbacks."""
    return _case({"/proc/cmdline": "isolcpus=domain,2-3\n", f"{CPUS}/nohz_full": "(null)\n"})


def _culprit(
    kind: str, name: str = "x", *, tid: int | None = None, pid: int | None = None, irq: int | None = None
) -> Disturbance:
    return Disturbance(
        kind=Kind(kind), name=name, cpu=2, stolen_ns=1_000, share=0.1, rate_per_s=1.0, pid=pid or tid, tid=tid, irq=irq
    )


def _commands(culprit: Disturbance, case: Case | None = None) -> tuple[str | None, str | None, str | None]:
    fix = remedy_of(culprit, case or _case()).fix
    return (None, None, None) if fix is None else (fix.now, fix.persist, fix.undo)


def test_an_interrupt_is_moved_to_the_housekeeping_cpus_and_back() -> None:
    now, persist, undo = _commands(_culprit("irq", irq=24))
    assert now == "echo 0-1 | sudo tee /proc/irq/24/smp_affinity_list"
    assert persist == "add to the kernel command line and reboot: irqaffinity=0-1"
    assert undo == "echo 0-1 | sudo tee /proc/irq/24/smp_affinity_list"


def test_where_irqbalance_would_move_an_interrupt_back_it_has_to_spare_the_target() -> None:
    free = {"/proc/cmdline": "quiet\n", f"{CPUS}/isolated": "\n", f"{CPUS}/nohz_full": "\n"}
    partition = {"/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n"}
    running = process(800, "irqbalance", 0, 5) | {"/proc/800/environ": "LANG=C\0"}
    assert _commands(_culprit("irq", irq=24), _case(free | partition | running))[1] == (
        "add to the kernel command line and reboot: irqaffinity=0-1; "
        "IRQBALANCE_BANNED_CPULIST=2-3 in /etc/default/irqbalance or /etc/sysconfig/irqbalance"
    )
    spared = _commands(_culprit("irq", irq=24), _case(running))[1]
    assert spared == "add to the kernel command line and reboot: irqaffinity=0-1"
    assert _commands(_culprit("irq", irq=24), _case(free | partition))[1] == spared


def test_an_interrupt_that_the_kernel_manages_needs_a_boot_option() -> None:
    case = _case(modes={"/proc/irq/24/smp_affinity": 0o444})
    now, persist, _ = _commands(_culprit("irq", irq=24), case)
    assert now is None
    assert persist == "add to the kernel command line and reboot: irqaffinity=0-1 isolcpus=managed_irq,domain,2-3"


@pytest.mark.parametrize("kind", ["thread", "ipi"])
def test_another_noisewatch_and_its_command_are_not_moved(kind: str) -> None:
    files = process(800, "noisewatch", 0, 5, allowed="0-3") | process(801, "bench", 2, 5, allowed="2", parent=800)
    files |= process(810, "python3", 0, 5) | process(811, "noisewatch-spin", 2, 5, allowed="2", parent=810)
    for pid, noisewatch in ((801, 800), (811, 811)):
        remedy = remedy_of(_culprit(kind, tid=pid), _case(files))
        assert remedy.said == f"It belongs to another noisewatch (pid {noisewatch}): end it, or wait."
        assert remedy.fix is None


def test_other_processes_of_the_noisewatch_that_started_this_one_are_moved() -> None:
    files = process(800, "noisewatch", 0, 5) | process(801, "nightly.sh", 0, 5, parent=800)
    files |= process(802, "noisewatch", 0, 5, parent=801) | process(803, "server", 2, 5, allowed="0-3", parent=801)
    machine = WrittenMachine(quiet_files() | files, answers=ANSWERS, own_pids=(802,))
    case = Case(read_snapshot(machine, SnapshotOptions(), TaskReader(asks_all_affinities=True)))
    assert _commands(_culprit("thread", tid=803), case)[0] == "sudo taskset -pc 0-1 803"


def test_a_thread_is_pinned_elsewhere_and_back_to_where_it_might_run() -> None:
    assert _commands(_culprit("thread", "hog", tid=900)) == (
        "sudo taskset -pc 0-1 900",
        "for a service: AllowedCPUs=0-1 in its unit",
        "sudo taskset -pc 0-3 900",
    )


def test_a_caller_is_moved_with_all_its_threads() -> None:
    now, _, undo = _commands(_culprit("ipi", "flush_tlb_func, called by mapper", tid=456, pid=450))
    assert (now, undo) == ("sudo taskset -apc 0-1 450", "sudo taskset -apc 0-3 450")
    assert "Other CPUs call this one" in remedy_of(_culprit("ipi"), _case()).said


def test_a_caller_that_cannot_be_pinned_has_no_command() -> None:
    case = _case(process(450, "mapper", 0, 5, allowed="0-3", policy=6))
    now, persist, _ = _commands(_culprit("ipi", "flush_tlb_func, called by mapper", tid=450, pid=450), case)
    assert now is None
    assert "taskset cannot move SCHED_DEADLINE threads" in (persist or "")


@pytest.mark.parametrize("pid", [1, 2, 30, 4242])
def test_init_kernel_threads_and_ended_processes_are_never_moved(pid: int) -> None:
    for kind in ("ipi", "thread"):
        assert _commands(_culprit(kind, "x", tid=pid, pid=pid)) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("kworker/u8:3", "workqueue.unbound_cpus=0-1"),
        ("rcuc/2", "rcu_nocbs=2-3"),
    ],
)
def test_kernel_threads_have_a_setting_of_their_own(name: str, setting: str) -> None:
    persist = _commands(_culprit("kernel-thread", name, tid=30), _untuned())[1]
    assert persist is not None
    assert setting in persist


@pytest.mark.parametrize("name", ["rcu_preempt", "rcuop/2", "rcuog/2", "rcu_exp_gp_kthread_worker"])
def test_grace_period_threads_are_moved_like_any_thread(name: str) -> None:
    remedy = remedy_of(_culprit("kernel-thread", name, tid=900), _case())
    assert "housekeeping CPUs" in remedy.said
    assert "rcu_nocbs" not in remedy.said


def test_the_process_at_work_is_never_moved_off_its_cpu() -> None:
    call = remedy_of(_culprit("ipi", "flush_tlb_func, called by mapper", pid=450, tid=450), _case(), {450})
    assert (call.fix, "calls itself" in call.said) == (None, True)
    thread = remedy_of(_culprit("thread", "hog", tid=900), _case(), {900})
    assert (thread.fix, "process that works on this CPU" in thread.said) == (None, True)
    assert remedy_of(_culprit("thread", "hog", tid=900), _case(), {450}).fix is not None


@pytest.mark.parametrize("name", ["ksoftirqd/2", "ktimers/2", "migration/2", "kworker/2:1", "kworker/2:0H-kblockd"])
def test_a_thread_of_the_cpu_itself_cannot_be_moved(name: str) -> None:
    remedy = remedy_of(_culprit("kernel-thread", name, tid=30), _case())
    assert (remedy.fix, "belongs to this CPU" in remedy.said) == (None, True)


def test_the_thread_of_an_interrupt_is_moved_with_its_interrupt() -> None:
    now, persist, undo = _commands(_culprit("kernel-thread", "irq/24-nvme0q0", tid=30))
    assert now == "echo 0-1 | sudo tee /proc/irq/24/smp_affinity_list"
    assert (persist, undo) == _commands(_culprit("irq", irq=24))[1:]


def test_the_tick_the_watchdog_and_callbacks_are_boot_options_and_settings() -> None:
    assert _commands(_culprit("tick"), _untuned())[1] == "add to the kernel command line and reboot: nohz_full=2-3"
    assert _commands(_culprit("softirq", "RCU"), _untuned())[1] == (
        "add to the kernel command line and reboot: rcu_nocbs=2-3"
    )
    assert _commands(_culprit("tick")) == _commands(_culprit("softirq", "RCU")) == (None, None, None)  # they are set
    on = _case({Knob.NMI_WATCHDOG: "1\n"})
    assert _commands(_culprit("nmi", "NMI"), on)[::2] == (
        "echo 0 | sudo tee /proc/sys/kernel/nmi_watchdog",
        "echo 1 | sudo tee /proc/sys/kernel/nmi_watchdog",
    )


def test_a_quota_is_lifted_in_the_group_that_has_it_and_set_again() -> None:
    group = "/sys/fs/cgroup/ci"
    limited = _case(
        {
            "/proc/self/cgroup": "0::/ci/job\n",
            f"{group}/cpu.max": "50000 100000\n",
            f"{group}/cpu.stat": "nr_throttled 3\nthrottled_usec 9\n",
            f"{group}/job/cgroup.controllers": "memory\n",
        }
    )
    assert _commands(_culprit("quota", f"CPU quota of {group}: 50 ms in each 100 ms"), limited) == (
        f"echo max | sudo tee {group}/cpu.max",
        "start the container or service without a CPU limit",
        f"echo '50000 100000' | sudo tee {group}/cpu.max",
    )
    hidden = remedy_of(_culprit("quota", "a probable CPU quota"), limited)
    assert (hidden.fix, "where this container" in hidden.said) == (None, True)


def test_noise_of_the_host_has_a_remedy_without_a_fix() -> None:
    remedy = remedy_of(_culprit("outside"), _case())
    assert (remedy.fix, "nothing inside this" in remedy.said) == (None, True)


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("name", ["x", "TIMER", "NET_RX", "BLOCK", "SCHED", "\x1b[1m$(reboot)", "kworker/u8:0"])
def test_every_kind_has_a_remedy_and_its_commands_are_sound(kind: str, name: str) -> None:
    remedy = remedy_of(_culprit(kind, name, tid=900, pid=901, irq=24), _case())
    assert remedy.said.endswith(".")
    for command in (remedy.fix.now, remedy.fix.undo) if remedy.fix is not None else ():
        if command is not None:
            assert shlex.split(command) != []
            assert subprocess.run(["sh", "-n", "-c", command], check=False).returncode == 0
            assert "reboot" not in command


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("nmi", "Non-maskable interrupts", "watchdog"),
        ("local", "Performance monitoring interrupts", "profiler"),
        ("local", "49 arm-pmu", "profiler"),
        ("local", "Thermal event interrupts", "throttles"),
        ("local", "thermal_apic", "throttles"),
        ("local", "deferred_error_apic", "errors"),
        ("local", "spurious_apic", "no device sends it"),
        ("local", "Machine check polls", "lengthen the interval"),
        ("local", "Machine check exceptions", "errors"),
        ("local", "Posted-interrupt wakeup event", "virtual machine"),
        ("local", "Something new", "a per-CPU interrupt"),
        ("timer", "perf_swevent_hrtimer (a profiler's)", "stop it"),
        ("timer", "hrtimer_wakeup (threads that sleep)", "move them"),
        ("timer", "timer interrupts", "noisewatch trace --cpus 2"),
    ],
)
def test_remedies_of_interrupts_without_a_device_do_not_mention_one(kind: str, name: str, words: str) -> None:
    remedy = remedy_of(_culprit(kind, name), _case())
    assert words in remedy.said
    assert "device idle" not in remedy.said


def test_a_profiler_that_runs_is_named_for_its_timer() -> None:
    sentence = remedy_of(_culprit("timer", "timer interrupts"), _case(process(901, "perf", 0, 5))).said
    assert "perf (pid 901) runs" in sentence


@pytest.mark.parametrize("kind", sorted(set(Kind) - {Kind.IDLE, Kind.NO_INTERRUPT}))
def test_every_kind_of_noise_has_a_remedy(kind: Kind) -> None:
    assert remedy_of(_culprit(kind), _case()).said


def test_a_process_that_started_during_the_calibration_has_a_name_in_its_fix() -> None:
    files = quiet_files()
    machine = WrittenMachine(files, files | process(77, "late", 2, 5, allowed="0-3"), answers=ANSWERS)
    reader = TaskReader(asks_all_affinities=True)
    before = read_snapshot(machine, SnapshotOptions(), reader)
    machine.advance()
    case = Case(before, under_load=interval_between(before, read_snapshot(machine, SnapshotOptions(), reader, before)))
    fix = Fix((move({77: frozenset({2})}, frozenset({0})),))
    assert names_in_fix(fix, case) == ((77, "late"),)
