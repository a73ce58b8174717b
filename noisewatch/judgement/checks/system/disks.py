"""Area `load`: whether the disks are idle, and where temporary files are written."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.judgement.answer import Answer, Limit, unknown, warns_and_fails
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import growth_by_name
from noisewatch.judgement.fixes.actions import write_all
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.rules import IO, STRICT
from noisewatch.judgement.terms import Area, Ground, Severity
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.disks import DISKSTATS, MDSTAT, Array, disk_of
from noisewatch.kernel.system.mounts import TEMPORARY_FILES
from noisewatch.model.interval.interval import Interval

_BUSY_PASSES = Limit(
    *(
        "passes",
        "busy share of a disk that passes",
        0.05,
        "share",
        "writing a log takes less, although time is counted in whole jiffies",
    ),
    value_in={IO: 0.02, STRICT: 0.02},
)
_BUSY_FAILS = Limit(
    *("fails", "busy share of a disk that fails", 0.20, "share", "one request in five has to wait"),
    value_in={IO: 0.10, STRICT: 0.10},
)
_NS_PER_MS = 1_000_000


@check(
    id="disks-busy",
    area=Area.LOAD,
    question="Are the disks idle?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    severity_in={IO: Severity.BLOCKING},
    reads=(f"{DISKSTATS} over the sample",),
    limits=(_BUSY_PASSES, _BUSY_FAILS),
    why=(
        "Programs that read or write now compete with a benchmark that does so too, evict its cached files, and "
        "cause disk interrupts. The busy share is the share of time during which any request was in flight."
    ),
    remedy="Find the program (iotop, pidstat -d) and stop it; run sync to write pending data.",
    sources=("https://docs.kernel.org/admin-guide/iostats.html",),
    asks_rates=True,
)
def disks_busy(case: Case) -> Answer:
    interval = case.sample
    before, after = interval.before.background.disks, interval.after.background.disks
    if before is None or after is None:
        return case.unread(DISKSTATS)
    if not before and not after:
        return unknown("no disk is visible")
    arrays = (case.snapshot.settings.arrays or ()) if _is_rebuilding_judged(case) else ()
    rebuilt = _members(arrays, before.keys() | after.keys())
    names = sorted(before.keys() | after.keys())
    busy_ms = growth_by_name(interval, lambda moment: _counters(moment, "busy_ms"), names)
    requests = growth_by_name(interval, lambda moment: _counters(moment, "requests"), names)
    shares = {name: _share(ms, interval) for name, ms in busy_ms.items()}
    judged = {name: share for name, share in shares.items() if name not in rebuilt}
    share_by_disk = {name: share for name, share in judged.items() if share is not None}
    observed = case.graded(
        evidence={"disks": {name: _evidence(share, requests[name], interval) for name, share in shares.items()}}
    )
    worst, bound = max(share_by_disk.values(), default=0.0), case.bound(_BUSY_FAILS)
    graded = observed.by(_BUSY_FAILS, worst)
    if worst > bound:
        return graded.fails(_name_busy(share_by_disk, bound))
    lost = sorted(judged.keys() - share_by_disk.keys())
    if lost:
        return observed.unknown(f"{DISKSTATS}: {lost[0]} appeared, disappeared or counted backwards during the sample")
    passes = case.bound(_BUSY_PASSES)
    if worst > passes:
        return graded.warns(_name_busy(share_by_disk, passes) + warns_and_fails(passes, bound, "share"))
    text = f"busy for {worst:.1%} of the time at most"
    text += f"; {', '.join(sorted(rebuilt))} left out: disk-array-rebuilds reports them" if rebuilt else ""
    return graded.passes(text)


def _name_busy(share_by_disk: Mapping[str, float], above: float) -> str:
    busy = sorted(
        (name for name, share in share_by_disk.items() if share > above), key=lambda name: -share_by_disk[name]
    )
    return ", ".join(f"{name} was busy for {share_by_disk[name]:.0%} of the time" for name in busy)


def _counters(snapshot: Snapshot, counter: str) -> dict[str, int | None]:
    return {name: getattr(counts, counter) for name, counts in (snapshot.background.disks or {}).items()}


def _share(busy_ms: int | None, interval: Interval) -> float | None:
    return None if busy_ms is None else min(busy_ms * _NS_PER_MS / interval.length_ns, 1.0)


def _evidence(share: float | None, requests: int | None, interval: Interval) -> dict[str, float | None]:
    return {"busy_share": share, "requests_per_s": None if requests is None else requests / interval.seconds}


def _is_rebuilding_judged(case: Case) -> bool:
    """Return whether another check judges array rebuilds, so the disks of these arrays need not be judged again."""
    check_, rules = disk_array_rebuilds, case.rules
    severity = rules.severity_by_id.get(check_.id, check_.severity_under(rules.profile))
    return rules.ignored_reason(check_.id, check_.area) is None and severity != Severity.INFORMATION


def _members(arrays: tuple[Array, ...], disks: set[str]) -> frozenset[str]:
    """Return the arrays that are checking or rebuilding themselves, and their member disks."""
    members = {disk_of(member, disks) for array in arrays for member in array.members}
    return frozenset(members | {array.name for array in arrays}) & disks


_ARRAYS = Limit(
    key="fails",
    name="arrays being checked or rebuilt",
    value=0,
    unit="arrays",
    reason="a check or rebuild takes hours and reads every block",
)


@check(
    id="disk-array-rebuilds",
    area=Area.LOAD,
    question="Are the disk arrays free of checks and rebuilds?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    severity_in={IO: Severity.BLOCKING},
    reads=(MDSTAT,),
    limits=(_ARRAYS,),
    why=(
        "Distributions check software arrays weekly or monthly, often on Sunday night, for hours: all disks are read "
        "from end to end while a kernel thread computes parity."
    ),
    remedy="Stop a check and start it again later; wait until a recovery ends.",
    sources=("https://docs.kernel.org/admin-guide/md.html",),
)
def disk_array_rebuilds(case: Case) -> Answer:
    arrays = case.snapshot.settings.arrays
    if arrays is None:
        return case.unread(MDSTAT)
    evidence = {"arrays": {array.name: {"work": array.work, "done_percent": array.done_percent} for array in arrays}}
    graded = case.graded(evidence=evidence).by(_ARRAYS, len(arrays))
    if len(arrays) <= case.bound(_ARRAYS):
        return graded.passes("no array is being checked or rebuilt")
    text = ", ".join(f"{array.name}: {array.work}, {array.done_percent:g}% done" for array in arrays)
    return graded.fails(text, fix=_stop(tuple(array.name for array in arrays if array.work == "check")))


def _stop(checked: tuple[str, ...]) -> Fix | None:
    """Return the fix that stops array checks, or None if there are none. Rebuilds are not stopped."""
    if not checked:
        return None
    return Fix((write_all("idle", {f"/sys/block/{name}/md/sync_action": "check" for name in checked}),))


_ON_THIS_MACHINE = frozenset(
    {
        *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "nilfs2"),
        *("vfat", "exfat", "ntfs", "ntfs3", "tmpfs", "ramfs"),
    }
)
_FAR_AWAY = frozenset(
    {
        *(
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "ceph",
            "afs",
            "9p",
            "virtiofs",
            "lustre",
            "gpfs",
            "beegfs",
            "orangefs",
            "gfs2",
        ),
        *("ocfs2", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse"),
    }
)


@check(
    id="temporary-files-far-away",
    area=Area.LOAD,
    question="Are temporary files stored on this machine?",
    severity=Severity.INFORMATION,
    severity_in={IO: Severity.WARNING},
    reads=(f"{TEMPORARY_FILES}: of $TMPDIR (default /tmp), from /proc/self/mounts",),
    why=(
        "Access to files on a server, or on the host of a virtual machine, depends on the network and on other "
        "clients. Keep inputs and outputs in memory unless their access is measured."
    ),
    remedy="Set TMPDIR to a folder on a local disk or in /dev/shm.",
    sources=("https://llvm.org/docs/Benchmarking.html",),
)
def temporary_files_far_away(case: Case) -> Answer:
    kind = case.snapshot.settings.temporary_files
    if kind is None:
        return case.unread(TEMPORARY_FILES)
    graded = case.graded(measured=kind)
    if kind in _ON_THIS_MACHINE:
        return graded.passes(f"on {kind}")
    if kind in _FAR_AWAY:
        return graded.fails(f"on {kind}: temporary files are stored outside this machine")
    return graded.warns(f"on {kind}, which does not show where files are stored")
