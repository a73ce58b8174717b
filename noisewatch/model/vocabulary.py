"""Explanations of the names of kernel threads and of IRQ queues.

    ksoftirqd/3   migration/3   rcuop/3   kworker/3:1H-kblockd   kworker/u8:2+flush-8:0   irq/36-nvme0q3

https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html, core-api/workqueue.html and admin-guide/mm; older
kernels cut the names after 15 characters.

An IRQ queue has a name from its driver.

    nvme0q3   virtio1-req.0   virtio0-input.0   eth0-TxRx-3   i40e-eth0-TxRx-3   mlx5_comp17@pci:0000:3b:00.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from noisewatch.patterns import regex

_IRQ_NAMES = (
    (r"(nvme\d+)q0", "the admin queue of the disk {0}"),
    (r"(nvme\d+)q(\d+)", "queue {1} of the disk {0}"),
    (r"(virtio\d+)-req(?:uest)?\.(\d+)", "queue {1} of the virtual disk {0}"),
    (r"(virtio\d+)-input\.(\d+)", "receive queue {1} of the virtual network card {0}"),
    (r"(virtio\d+)-output\.(\d+)", "send queue {1} of the virtual network card {0}"),
    (r"(virtio\d+)-config", "configuration changes of the virtual device {0}"),
    (r"(virtio\d+)-(?:virtqueues?|requests)", "all queues of the virtual device {0}"),
    (r"(virtio\d+)-(\S+)", "the queue {1} of the virtual device {0}"),
    (r"(mlx\d+)_comp(\d+)(?:@\S+)?", "completion queue {1} of the network card ({0})"),
    (r"(mlx\d+)_async\d*(?:@\S+)?", "commands and events of the network card ({0})"),
    (r"mlx4-(\d+)(?:@\S+)?", "completion queue {0} of the network card (mlx4)"),
    (r"(?:\w+-)?([A-Za-z]\w*?)-(?:Tx-?Rx|fp|Q|rxtx)-?(\d+)", "queue {1} of the network interface {0}, both directions"),
    (r"(?:\w+-)?([A-Za-z]\w*?)-rx-?(\d+)", "receive queue {1} of the network interface {0}"),
    (r"(?:\w+-)?([A-Za-z]\w*?)-tx-?(\d+)", "send queue {1} of the network interface {0}"),
    (r"((?:megasas|mpt\dsas)\d+)-msix(\d+)", "queue {1} of the disk controller {0}"),
    (r"ahci(?:\[?\S*)", "the SATA disks"),
    (r"xhci_hcd|[eou]hci_hcd\S*", "the USB controller"),
    (r"i8042", "the keyboard, or the mouse"),
    (r"ttyS(\d+)", "the serial port ttyS{0}"),
    (r"rtc\d+", "the real-time clock (RTC)"),
    (r"acpi(?::\S+)?", "the firmware: power, buttons, heat"),
    (r"PCIe PME|pciehp|aerdrv|PCIe bwctrl", "a PCI Express port: power, errors, hotplug"),
    (r"dmar\d+|AMD-Vi\d*", "faults reported by the IOMMU"),
    (r"i915|amdgpu|nouveau|nvidia|xe", "the graphics card"),
)
NETWORK, DISK = "network", "disk"
_INTERFACE = r"(?:eth|en[opsx]|wlan|wl[opsx]|ib)\d\w*"
_DISK_NAME = r"nvme\d+n\d+|(?:xv|[shv])d[a-z]+|mmcblk\d+"
# Patterns for an interrupt's name, its description above, and the device's name with its interfaces or disks.
_KINDS = (
    (NETWORK, rf"network|ethernet|wi-?fi|iwlwifi|wireless|infiniband|\bena-mgmnt\b|\b(?:{_INTERFACE})\b"),
    (DISK, rf"\bdisks?\b|nvme|\bs?ata\b|ata_piix|ahci|\b(?:sas|scsi)\b|\braid\b|block device|\b(?:{_DISK_NAME})\b"),
)
_KIND_PATTERNS = tuple((kind, regex(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_IRQ_PATTERNS = tuple((regex(pattern, re.IGNORECASE), words) for pattern, words in _IRQ_NAMES)


def describe_action(action: str) -> str | None:
    """Return a description of the queue or the device, or None for an unknown name."""
    matches = ((pattern.fullmatch(action), words) for pattern, words in _IRQ_PATTERNS)
    return next((words.format(*match.groups()) for match, words in matches if match is not None), None)


def kinds_of_device(actions: Iterable[str], device: str | None) -> frozenset[str]:
    """Return NETWORK, DISK, or both if they share the interrupt; an empty set for any other or unknown device."""
    words = [word for action in actions for word in (action, describe_action(action) or "")] + [device or ""]
    return frozenset(kind for kind, pattern in _KIND_PATTERNS if any(pattern.search(word) for word in words))


_WORKER = regex(r"kworker/(?:(?P<cpu>\d+)|u(?P<pool>\d+)):(?P<number>\d+)(?P<high>H?)(?:(?P<state>[-+])(?P<queue>.+))?")
_RESCUER = regex(r"kworker/R-(?P<queue>.+)")
_FLUSHED = regex(r"flush-(?P<disk>\S+)")
_IRQ_THREAD = regex(r"irq/(?P<irq>\d+)-(?P<action>.+)")

_QUEUES = {
    "events": "deferred work from any part of the kernel",
    "events_highpri": "urgent deferred work from any part of the kernel",
    "events_unbound": "deferred work from any part of the kernel, on any CPU",
    "events_long": "long-running deferred work from any part of the kernel",
    "events_power_efficient": "deferred work from any part of the kernel, on any CPU to save power",
    "events_freezable": "deferred work from any part of the kernel, but not during suspend",
    "mm_percpu_wq": "this CPU's memory statistics and caches",
    "kblockd": "requests to disks",
    "writeback": "writing changed pages to disk",
    "rcu_gp": "RCU's grace periods",
    "rcu_par_gp": "RCU's grace periods",
    "pm": "power management of devices",
    "netns": "taking down network namespaces",
    "cgroup_destroy": "removing control groups",
    "usb_hub_wq": "USB hotplug",
    "nvme-wq": "NVMe disks: their set-up and errors",
}

_THREADS = (
    (r"ksoftirqd/(\d+)", "runs softirqs of CPU {0} if there are too many to handle after an interrupt"),
    (r"ktimers/(\d+)", "runs the timer softirqs of CPU {0} (real-time kernels)"),
    (r"irq_work/(\d+)", "runs small pieces of deferred interrupt work on CPU {0} (real-time kernels)"),
    (r"migration/(\d+)", "moves threads off CPU {0}, or stops CPU {0} briefly, at the highest priority"),
    (r"cpuhp/(\d+)", "takes CPU {0} online and offline, step by step"),
    (r"idle_inject/(\d+)", "keeps CPU {0} idle on purpose, to cool the processor"),
    (r"watchdog/(\d+)", "proves to the soft lockup watchdog that CPU {0} still runs threads"),
    (r"rcuc/(\d+)", "runs the RCU callbacks of CPU {0} on that CPU; most of them free memory"),
    (r"rcuo[ps]/(\d+)", "runs the RCU callbacks of CPU {0} on its behalf (rcu_nocbs), possibly on any CPU"),
    (r"rcuog/(\d+)", "waits for RCU's grace periods for a group of CPUs that includes CPU {0} (rcu_nocbs)"),
    (r"rcub/(\d+)", "raises the priority of readers that delay RCU"),
    (r"rcu_(preempt|sched|bh)", "detects when no CPU uses old data any more (RCU grace periods)"),
    (r"rcu_exp\S*", "finishes RCU's grace periods early, by interrupting CPUs"),
    (r"rcu_tasks\S*", "waits for all tasks on behalf of tracing and BPF (RCU)"),
    (r"kswapd(\d+)", "reclaims pages when the memory of node {0} runs low"),
    (r"kcompactd(\d+)", "compacts pages of node {0} to make large blocks of free memory"),
    (r"khugepaged", "merges small pages of running programs into huge pages"),
    (r"ksmd", "looks for equal pages to share them (KSM)"),
    (r"kdamond\.(\d+)", "samples which memory is used (DAMON)"),
    (r"oom_reaper", "frees the memory of processes killed because memory ran out"),
    (r"khungtaskd", "looks regularly for hung tasks"),
    (r"kthreadd", "starts all other threads of the kernel"),
    (r"kdevtmpfs", "creates the device files in /dev"),
    (r"pool_workqueue_\S*", "cleans up removed workqueues"),
    (r"watchdogd", "feeds the watchdog that resets a hung machine"),
    (r"hwrng", "reads random numbers from the hardware"),
    (r"kauditd", "passes audit messages to auditd"),
    (r"psimon", "monitors pressure (PSI) for programs that set a trigger"),
    (r"sugov:(\d+)", "sets the clock of CPU {0}, and of CPUs that share it (governor schedutil)"),
    (r"napi/(.+)-(\d+)", "receives the packets of the network interface {0} (threaded NAPI)"),
    (r"backlog_napi/(\d+)", "receives packets that were steered to CPU {0}"),
    (r"vhost-(\d+)", "moves packets or blocks of the virtual machine with PID {0}"),
    (r"kvm-pit/(\d+)", "emulates the timer (PIT) of the virtual machine with PID {0}"),
    (r"kvm-nx-lpage\S*", "rebuilds the huge pages of virtual machines"),
    (r"jbd2/(.+)-(\d+)", "writes the journal of the file system on {0} (ext4)"),
    (r"xfsaild/(.+)", "writes the changed metadata of the file system on {0} (XFS)"),
    (r"btrfs-(\S+)", "works for a btrfs file system: {0}"),
    (r"loop(\d+)", "reads and writes the file behind the disk loop{0}"),
    (r"(md\d+)_(resync|recovery)", "synchronizes or rebuilds the disk array {0}"),
    (r"(md\d+)_(\S+)", "runs the disk array {0} ({1})"),
    (r"scsi_eh_(\d+)", "handles errors of the disk controller {0}"),
    (r"dmcrypt_write\S*", "writes encrypted data to disk"),
    (r"pr/(\S+)", "prints kernel messages on the console {0}"),
)  # fmt: skip
_PATTERNS = tuple((regex(pattern), words) for pattern, words in _THREADS)


def explain_thread(name: str) -> str | None:
    """Return what the thread does, or None for an unknown name. The thread's name is the subject of the text."""
    explanation = _explain_worker(name) or _explain_rescuer(name)
    if explanation is not None:
        return explanation
    irq_thread = _IRQ_THREAD.fullmatch(name)
    if irq_thread is not None:
        action = irq_thread["action"]
        return f"handles IRQ {irq_thread['irq']} in a thread: {describe_action(action) or action}"
    matches = ((pattern.fullmatch(name), words) for pattern, words in _PATTERNS)
    return next((words.format(*match.groups()) for match, words in matches if match is not None), None)


def _explain_worker(name: str) -> str | None:
    worker = _WORKER.fullmatch(name)
    if worker is None:
        return None
    urgent = "high-priority " if worker["high"] else ""
    where = f" on CPU {worker['cpu']} only" if worker["cpu"] else ", not bound to a CPU"
    if worker["queue"] is None:
        return f"does {urgent}deferred kernel work{where}"
    label = "running now" if worker["state"] == "+" else "ran last"
    return f"does {urgent}deferred kernel work{where}; {label}: {_describe_queue(worker['queue'])}"


def _explain_rescuer(name: str) -> str | None:
    rescuer = _RESCUER.fullmatch(name)
    if rescuer is None:
        return None
    return f"does deferred kernel work when there is no memory for another worker: {_describe_queue(rescuer['queue'])}"


def _describe_queue(queue: str) -> str:
    flushed = _FLUSHED.fullmatch(queue)
    if flushed is not None:
        return f"writing changed pages to the disk {flushed['disk']}"
    return f"{_QUEUES[queue]} ({queue})" if queue in _QUEUES else f"the workqueue {queue}"
