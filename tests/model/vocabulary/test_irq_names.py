"""Whether an interrupt is of a network card or of a disk, by its driver's name for it and by its device's."""

from __future__ import annotations

import pytest

from noisewatch.model.vocabulary import DISK, NETWORK, kinds_of_device


@pytest.mark.parametrize(
    ("actions", "device", "kinds"),
    [
        (("eth0-TxRx-3",), None, {NETWORK}),
        (("i40e-eth0-TxRx-3",), None, {NETWORK}),
        (("mlx5_comp17@pci:0000:3b:00.0",), None, {NETWORK}),
        (("eth0",), None, {NETWORK}),
        (("enp5s0f0",), None, {NETWORK}),
        (("ens33", "ata_piix"), None, {NETWORK, DISK}),
        (("iwlwifi:queue_3",), None, {NETWORK}),
        (("ena-mgmnt@pci:0000:00:05.0",), None, {NETWORK}),
        (("ff0e0000.ethernet",), None, {NETWORK}),
        (("virtio2-input.0",), None, {NETWORK}),
        (("virtio3-virtqueues",), "Virtio network device (ens4)", {NETWORK}),
        (("ioc0",), "SAS3008 PCI-Express Fusion-MPT SAS-3 (sda)", {DISK}),
        (("nvme0q3",), None, {DISK}),
        (("virtio1-req.0",), None, {DISK}),
        (("virtio3-virtqueues",), "Virtio block device (vda)", {DISK}),
        (("ahci[0000:00:17.0]",), None, {DISK}),
        (("megasas0-msix3",), None, {DISK}),
        (("virtio0-stats",), "Virtio memory balloon", set()),
        (("xhci_hcd",), "Tiger Lake-LP USB 3.2 xHCI Host Controller", set()),
        (("ttyS0",), None, set()),
        (("i915",), None, set()),
        ((), None, set()),
    ],
)
def test_the_kind_of_a_device(actions: tuple[str, ...], device: str | None, kinds: set[str]) -> None:
    assert kinds_of_device(actions, device) == kinds
