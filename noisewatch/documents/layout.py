"""The memory layouts of repetitions, and their effect, in the receipt of `noisewatch run`."""

from __future__ import annotations

from noisewatch.documents.document import Amount, Chance, Count, DocumentPart


class LayoutPart(DocumentPart, frozen=True, kw_only=True):
    """The memory layout of a repetition; all repetitions with the same number share it.

    environment_bytes: The length of the value of NOISEWATCH_LAYOUT, which was added to the environment.
    argv0_bytes: By how many bytes argv[0] was made longer.
    """

    number: Count
    environment_bytes: Count
    argv0_bytes: Count


class LayoutEffectPart(DocumentPart, frozen=True, kw_only=True):
    """How much the times vary between layouts and within one, as standard deviations divided by the mean.

    layouts: The number of layouts in which all runs count.
    probability: The probability of at least this ratio of the variances if the layout has no effect.
    smallest_shown: The smallest `between` that this number of layouts shows with 80% power.
    is_shown: Whether the layout has an effect, with 5% false alarms. null for fewer than three layouts.
    """

    layouts: Count
    between: Amount | None
    within: Amount | None
    probability: Chance | None
    smallest_shown: Amount | None
    is_shown: bool | None
