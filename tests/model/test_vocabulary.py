"""Kinds and explanations of devices, interrupts and kernel threads, by their names on real machines."""

from __future__ import annotations

import pytest

from noisewatch.model.vocabulary import DISK, NETWORK, describe_action, explain_thread, kinds_of_device


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
def test_kind_of_a_device_is_recognized(actions: tuple[str, ...], device: str | None, kinds: set[str]) -> None:
    assert kinds_of_device(actions, device) == kinds


_NAMES = [
    *("ksoftirqd/3", "migration/3", "cpuhp/0", "idle_inject/1", "watchdog/2", "irq_work/2", "ktimers/1"),
    *("rcu_preempt", "rcu_sched", "rcuop/2", "rcuos/2", "rcuog/0", "rcuc/1", "rcub/0", "rcu_tasks_kthre"),
    *("rcu_exp_gp_kthread_worker", "kcompactd0", "kswapd1", "khugepaged", "ksmd", "kthreadd", "kauditd"),
    *("jbd2/vda1-8", "napi/eth0-8193", "vhost-4711", "kvm-pit/4711", "sugov:4", "md0_raid1", "psimon"),
    *("kworker/R-nvme-wq", "kworker/2:0", "irq/9-acpi"),
]


@pytest.mark.parametrize("name", _NAMES)
def test_kernel_thread_is_explained(name: str) -> None:
    assert explain_thread(name)


@pytest.mark.parametrize("name", ["hog", "kworker", "ksoftirqd/x", "migration/3x", "", "my-kswapd0", "irq/x-y"])
def test_name_that_resembles_a_kernel_thread_is_not_explained(name: str) -> None:
    assert explain_thread(name) is None


def test_number_in_a_name_is_the_cpu_node_or_process() -> None:
    assert "CPU 17 " in (explain_thread("ksoftirqd/17") or "")
    assert "node 1 " in (explain_thread("kswapd1") or "")
    assert "PID 4711" in (explain_thread("vhost-4711") or "")


@pytest.mark.parametrize(
    ("name", "explanation"),
    [
        ("kworker/3:1", "does deferred kernel work on CPU 3 only"),
        (
            "kworker/3:1H-kblockd",
            "does high-priority deferred kernel work on CPU 3 only; ran last: requests to disks",
        ),
        ("kworker/u8:2+flush-8:0", "does deferred kernel work, not bound to a CPU; running now: writing changed pages"),
        (
            "kworker/0:2-xfs-conv/sda1",
            "does deferred kernel work on CPU 0 only; ran last: the workqueue xfs-conv/sda1",
        ),
    ],
)
def test_worker_is_explained_by_its_cpus_and_its_work(name: str, explanation: str) -> None:
    assert (explain_thread(name) or "").startswith(explanation)


def test_threaded_handler_is_explained_by_its_irq_and_its_queue() -> None:
    assert explain_thread("irq/36-nvme0q3") == "handles IRQ 36 in a thread: queue 3 of the disk nvme0"
    assert explain_thread("irq/40-vmwgfx") == "handles IRQ 40 in a thread: vmwgfx"


@pytest.mark.parametrize(
    ("action", "description"),
    [
        ("nvme0q0", "the admin queue of the disk nvme0"),
        ("nvme10q31", "queue 31 of the disk nvme10"),
        ("mlx5_comp17", "completion queue 17 of the network card (mlx5)"),
        ("mlx5_comp3@pci:0000:3b:00.0", "completion queue 3 of the network card (mlx5)"),
        ("eth0-TxRx-3", "queue 3 of the network interface eth0, both directions"),
        ("i40e-ens1f0-TxRx-3", "queue 3 of the network interface ens1f0, both directions"),
        ("eth0-Tx-Rx-3", "queue 3 of the network interface eth0, both directions"),
        ("eth0-rx-0", "receive queue 0 of the network interface eth0"),
        ("eth0-tx-12", "send queue 12 of the network interface eth0"),
        ("virtio1-req.0", "queue 0 of the virtual disk virtio1"),
        ("virtio0-input.0", "receive queue 0 of the virtual network card virtio0"),
        ("virtio0-output.2", "send queue 2 of the virtual network card virtio0"),
        ("virtio3-tx", "the queue tx of the virtual device virtio3"),
        ("ahci[0000:00:1f.2]", "the SATA disks"),
        ("ACPI:Ged", "the firmware: power, buttons, heat"),
    ],
)
def test_interrupt_is_described_by_its_queue(action: str, description: str) -> None:
    assert describe_action(action) == description


@pytest.mark.parametrize("action", ["enp1s0", "timer", "", "mydriver", "nvme0"])
def test_unknown_interrupt_is_not_described(action: str) -> None:
    assert describe_action(action) is None
