"""Which queue of a device an interrupt belongs to, by the name that the driver gave it.

nvme0q3   virtio1-req.0   virtio0-input.0   eth0-TxRx-3   i40e-eth0-TxRx-3   mlx5_comp17@pci:0000:3b:00.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAMES = (
    (r"(nvme\d+)q0", "the admin queue of the disk {0}"),
    (r"(nvme\d+)q(\d+)", "queue {1} of the disk {0}"),
    (r"(virtio\d+)-req(?:uest)?\.(\d+)", "queue {1} of the virtual disk {0}"),
    (r"(virtio\d+)-input\.(\d+)", "receive queue {1} of the virtual network card {0}"),
    (r"(virtio\d+)-output\.(\d+)", "send queue {1} of the virtual network card {0}"),
    (r"(virtio\d+)-config", "changes of the settings of the virtual device {0}"),
    (r"(virtio\d+)-(?:virtqueues?|requests)", "all queues of the virtual device {0}"),
    (r"(virtio\d+)-(\S+)", "the queue {1} of the virtual device {0}"),
    (r"(mlx\d+)_comp(\d+)(?:@\S+)?", "completion queue {1} of the network card ({0})"),
    (r"(mlx\d+)_async\d*(?:@\S+)?", "commands and events of the network card ({0})"),
    (r"mlx4-(\d+)(?:@\S+)?", "completion queue {0} of the network card (mlx4)"),
    (r"(?:\w+-)?([A-Za-z]\w*?)-(?:Tx-?Rx|fp|Q|rxtx)-?(\d+)", "queue {1} of the network interface {0}, both ways"),
    (r"(?:\w+-)?([A-Za-z]\w*?)-rx-?(\d+)", "receive queue {1} of the network interface {0}"),
    (r"(?:\w+-)?([A-Za-z]\w*?)-tx-?(\d+)", "send queue {1} of the network interface {0}"),
    (r"((?:megasas|mpt\dsas)\d+)-msix(\d+)", "queue {1} of the disk controller {0}"),
    (r"ahci(?:\[?\S*)", "the SATA disks"),
    (r"xhci_hcd|[eou]hci_hcd\S*", "the USB controller"),
    (r"i8042", "the keyboard, or the mouse"),
    (r"ttyS(\d+)", "the serial port ttyS{0}"),
    (r"rtc\d+", "the clock that runs while the machine is off"),
    (r"acpi(?::\S+)?", "the firmware: power, buttons, heat"),
    (r"PCIe PME|pciehp|aerdrv|PCIe bwctrl", "a PCI Express port: power, errors, devices that come and go"),
    (r"dmar\d+|AMD-Vi\d*", "faults that the IOMMU tells of"),
    (r"i915|amdgpu|nouveau|nvidia|xe", "the graphics card"),
)
NETWORK, DISK = "network", "disk"
_INTERFACE = r"(?:eth|en[opsx]|wlan|wl[opsx]|ib)\d\w*"
_DISK_NAME = r"nvme\d+n\d+|(?:xv|[shv])d[a-z]+|mmcblk\d+"
# In a driver's name for the interrupt, in the words for it, or in the device's name with its interfaces or disks.
_KINDS = (
    (NETWORK, rf"network|ethernet|wi-?fi|iwlwifi|wireless|infiniband|\bena-mgmnt\b|\b(?:{_INTERFACE})\b"),
    (DISK, rf"\bdisks?\b|nvme|\bs?ata\b|ata_piix|ahci|\b(?:sas|scsi)\b|\braid\b|block device|\b(?:{_DISK_NAME})\b"),
)
_KIND_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), words) for pattern, words in _NAMES)


def describe_action(action: str) -> str | None:
    """The queue, or the device, in words; None for a name that is not known."""
    matches = ((pattern.fullmatch(action), words) for pattern, words in _PATTERNS)
    return next((words.format(*match.groups()) for match, words in matches if match is not None), None)


def kinds_of_device(actions: Iterable[str], device: str | None) -> frozenset[str]:
    """NETWORK, DISK, both where they share the interrupt; none of another device or of one that is not known."""
    words = [word for action in actions for word in (action, describe_action(action) or "")] + [device or ""]
    return frozenset(kind for kind, pattern in _KIND_PATTERNS if any(pattern.search(word) for word in words))
