"""Programs by their names: known kinds of program, running processes, and many threads merged into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from noisewatch.judgement.answer import Answer, unknown
from noisewatch.judgement.case import KERNEL_NAME_LENGTH, Case
from noisewatch.judgement.fixes.actions import pids_of
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.tasks.task import Task, Tasks, descendants_in, parents_in
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance

PACKAGES, INDEX, BUILD, BACKUP = "package manager", "indexer", "compiler", "backup"
SCANNER, BROWSER, BENCHMARK = "scanner", "browser", "benchmark or profiler"

_NAMES_BY_KIND: Mapping[str, tuple[str, ...]] = {
    PACKAGES: (
        *("apt", "apt-get", "aptitude", "dpkg", "dpkg-deb", "unattended-upgrade", "apt-check", "needrestart"),
        *("dnf", "dnf5", "dnf-automatic", "yum", "rpm", "zypper", "pacman", "apk", "emerge", "nix-daemon", "nix-build"),
        *("packagekitd", "snapd", "flatpak", "fwupd", "update-manager", "update-notifier", "gnome-software"),
    ),
    INDEX: (
        *("tracker-miner-fs-3", "tracker-miner-fs", "tracker-extract-3", "tracker-extract", "localsearch-3"),
        *("localsearch-extractor-3", "baloo_file", "baloo_file_extractor", "updatedb", "updatedb.plocate"),
        *("updatedb.mlocate", "mandb", "recollindex", "clangd", "gopls", "rust-analyzer"),
    ),
    BUILD: (
        *("cc1", "cc1plus", "gcc", "g++", "clang", "clang++", "rustc", "cargo", "ninja", "make", "cmake", "bazel"),
        *("ld", "ld.bfd", "ld.gold", "ld.lld", "mold", "lto1", "lto-wrapper", "as", "go", "compile", "javac", "ghc"),
        *("swiftc", "nvcc", "cicc", "ptxas", "distccd", "sccache", "webpack", "esbuild"),
    ),
    BACKUP: (
        *("restic", "borg", "rsync", "rclone", "kopia", "duplicity", "duplicati", "rsnapshot", "timeshift", "snapper"),
        *("bacula-fd", "bareos-fd", "dsmc", "veeamservice", "urbackupclientbackend", "syncthing", "dropbox"),
    ),
    SCANNER: (
        *("clamd", "clamscan", "freshclam", "falcon-sensor", "falcon-sensor-bpf", "wdavdaemon", "osqueryd", "auditd"),
        *("ds_agent", "savd", "savscand", "oaeventd", "esets_daemon", "elastic-agent", "elastic-endpoint"),
        *("wazuh-agentd", "wazuh-syscheckd", "ossec-syscheckd", "sentinelone-agent", "cbagentd", "aide", "rkhunter"),
    ),
    BROWSER: (
        *("firefox", "firefox-bin", "firefox-esr", "Web Content", "Isolated Web Content", "WebExtensions"),
        *("chrome", "chromium", "chromium-browser", "brave", "msedge", "opera", "vivaldi-bin", "epiphany"),
        *("WebKitWebProcess", "WebKitNetworkProcess", "slack", "teams", "discord", "electron"),
    ),
    BENCHMARK: (
        *("sysbench", "stress", "stress-ng", "stressapptest", "fio", "iperf", "iperf3", "netperf", "netserver", "wrk"),
        *("hyperfine", "geekbench5", "geekbench6", "mprime", "xlinpack_xeon64", "y-cruncher", "cyclictest", "oslat"),
        *("perf", "strace", "ltrace", "bpftrace", "valgrind", "memcheck-amd64-linux", "callgrind-amd64-linux", "vtune"),
    ),
}
_KIND_BY_CUT_NAME = {name[:KERNEL_NAME_LENGTH]: kind for kind, names in _NAMES_BY_KIND.items() for name in names}


def kind_of_program(name: str) -> str | None:
    """Return the kind of the program with this name, or None if unknown."""
    return _KIND_BY_CUT_NAME.get(name[:KERNEL_NAME_LENGTH])


def running(case: Case, names: Set[str]) -> list[Task]:
    """Return the main thread of each process with one of these names, except noisewatch's own."""
    cut = {name[:KERNEL_NAME_LENGTH] for name in names}
    if cut.isdisjoint(case.program_names):
        return []
    return [task for task in case.programs if task.name[:KERNEL_NAME_LENGTH] in cut]


def as_culprits(tasks: Iterable[Task]) -> tuple[Disturbance, ...]:
    """Return the processes as culprits of unknown cost."""
    return tuple(
        Disturbance(
            kind=Kind.THREAD, name=task.name, cpu=task.cpu, stolen_ns=None, share=None, rate_per_s=None, pid=task.pid
        )
        for task in tasks
    )


def passes_if_visible(case: Case, text: str) -> Answer:
    """Return a pass with the text that no such process runs, or unknown if processes may be hidden."""
    reason = unseen_reason(case)
    return case.graded().passes(text) if reason is None else unknown(reason)


def unseen_reason(case: Case) -> str | None:
    """Return why there may be hidden processes, or None if all are visible."""
    tasks = case.snapshot.tasks
    if tasks is None:
        return case.unread_reason("/proc/PID")
    if not any(task.is_kernel for task in tasks.by_tid.values()):
        if case.snapshot.platform.container in (None, NONE):
            return "no kernel thread is visible, so other processes may be hidden too"
        return "only this container's processes are visible"
    return case.snapshot.settings.hidden_processes_reason if tasks.is_complete else "not all processes were read"


def ancestors(case: Case) -> set[int]:
    """Return the PIDs of noisewatch's ancestors, such as the benchmark's script and its shell."""
    tasks = case.tasks_by_tid
    ancestors: set[int] = set()
    parents = {tasks[pid].parent_pid for pid in case.snapshot.own_pids if pid in tasks}
    while parents - ancestors:
        ancestors |= parents
        parents = {tasks[pid].parent_pid for pid in parents if pid in tasks}
    return ancestors


_OURS = "noisewatch"  # helper processes are called noisewatch-…


def other_noisewatches(case: Case) -> Mapping[int, int]:
    """Map the processes of each other noisewatch, including commands that it runs, to the PID of that noisewatch.

    This noisewatch and its ancestors are left out.
    """
    tasks = case.snapshot.tasks
    if tasks is None or not any(name.startswith(_OURS) for name in case.program_names):
        return {}
    parents, started_us = parents_in(tasks), ancestors(case)
    others: dict[int, int] = {}
    for task in case.programs:
        is_noisewatch = task.name == _OURS or task.name.startswith(f"{_OURS}-")
        if is_noisewatch and task.pid not in started_us and task.pid not in others:
            # This replaces the entries of a nested noisewatch.
            others |= dict.fromkeys(descendants_in(parents, [task.pid]), task.pid)
    return others


def names_in_fix(fix: Fix | None, case: Case) -> tuple[tuple[int, str], ...]:
    """Return the PIDs and TIDs in the fix, each with its current name in the kernel."""
    pids = {pid for action in (fix.actions if fix is not None else ()) for pid in pids_of(action)}
    if not pids:
        return ()
    intervals = [interval for interval in (case.interval, case.under_load) if interval is not None]
    snapshots = [*(interval.after for interval in reversed(intervals)), case.snapshot]
    task_tables = [snapshot.tasks.by_tid for snapshot in snapshots if snapshot.tasks is not None]
    task_by_pid = {pid: next((tasks[pid] for tasks in task_tables if pid in tasks), None) for pid in sorted(pids)}
    name_by_pid = {
        pid: task.name.encode()[:KERNEL_NAME_LENGTH] for pid, task in task_by_pid.items() if task is not None
    }
    return tuple((pid, name.decode(errors="ignore")) for pid, name in name_by_pid.items())


Members = tuple[Disturbance, ...]


def many_threads(threads: Iterable[Disturbance], tasks: Tasks | None, limit: float) -> dict[Disturbance, Members]:
    """Return groups of threads that used more than `limit` of a CPU together, but not alone, with their members.

    Threads are grouped by process name, kind and CPU.
    """
    alike: dict[tuple[int, str, str], list[Disturbance]] = defaultdict(list)
    for thread in threads:
        if thread.pid is not None and thread.tid is not None and (thread.share or 0.0) <= limit:
            first = tasks.by_tid.get(thread.pid) if tasks is not None and thread.pid in tasks.pids else None
            alike[thread.cpu, thread.kind, thread.name if first is None else first.name].append(thread)
    groups = {
        _merge_threads(name, members): tuple(members) for (_, _, name), members in alike.items() if len(members) > 1
    }
    return {group: members for group, members in groups.items() if (group.share or 0.0) > limit}


def merge_many_threads(disturbances: Iterable[Disturbance], tasks: Tasks | None, limit: float) -> list[Disturbance]:
    """Return the disturbances, the costliest first, with members of `many_threads` merged."""
    single = tuple(disturbances)
    groups = many_threads(single, tasks, limit)
    members = {member for group in groups.values() for member in group}
    remaining = (disturbance for disturbance in single if disturbance not in members)
    return sorted((*groups, *remaining), key=lambda culprit: -(culprit.share or 0.0))


def _merge_threads(name: str, members: list[Disturbance]) -> Disturbance:
    """Merge the members into one disturbance, `java (50 threads)`, with the PID if they share a process."""
    pids = {thread.pid for thread in members}
    return Disturbance(
        kind=members[0].kind,
        name=f"{name} ({len(members)} threads)",
        cpu=members[0].cpu,
        stolen_ns=sum(culprit.stolen_ns or 0 for culprit in members),
        share=sum(culprit.share or 0.0 for culprit in members),
        rate_per_s=None,
        pid=pids.pop() if len(pids) == 1 else None,
        is_inferred=any(thread.is_inferred for thread in members),
    )
