"""The energy of repetitions in the receipt of `noisewatch run`."""

from __future__ import annotations

from noisewatch.documents.document import Amount, Count, DocumentPart


class EnergyDomainPart(DocumentPart, frozen=True, kw_only=True):
    """A domain of RAPL.

    domain: package-0 contains package-0/core and package-0/uncore, but not package-0/dram; psys is the whole computer.
    reason: Why `joules` is null; "none" if it is known.
    """

    domain: str
    joules: Amount | None
    reason: str


class EnergyPart(DocumentPart, frozen=True, kw_only=True):
    """The energy that the CPU packages used during a repetition, other processes included.

    interval_ns: The time between the two readings of the counters, slightly longer than the repetition.
    package_j: The energy of all packages, without memory; null means unknown.
    dram_j: The energy of all memory; null means unknown, or not counted.
    watts: The mean power of all packages, without memory; null means unknown.
    reason: Why `package_j` is null; "none" if it is known.
    """

    interval_ns: Count
    package_j: Amount | None
    dram_j: Amount | None
    watts: Amount | None
    domains: list[EnergyDomainPart]
    reason: str


class EnergyStatisticsPart(DocumentPart, frozen=True, kw_only=True):
    """The energy of a command's counted repetitions: the undisturbed ones, or all measured ones if there are none.

    count: The number of counted repetitions with a known energy.
    mean_j: The mean energy of all packages, without memory.
    mean_w: The mean power of all packages, without memory.
    dram_mean_j: The mean energy of all memory; null means unknown, or not counted.
    excess_share: How much longer the measured intervals were than the repetitions, as a share of the latter.
    reason: Why the energy of a counted repetition is unknown; "none" if all are known.
    """

    count: Count
    mean_j: Amount | None
    sd_j: Amount | None
    mean_w: Amount | None
    dram_mean_j: Amount | None
    excess_share: float | None
    reason: str
