"""A comparison as text, and as Markdown for an issue: the answer, then the differences, blocking ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.comparison import ComparedFigure, FindingDifference, OnlyOnOneSide, SideComparison
from noisewatch.judgement.comparison import ComparisonOutcome as Outcome
from noisewatch.judgement.history.development import words_of_change
from noisewatch.judgement.record import FindingState, MachineRecord
from noisewatch.judgement.terms import Status
from noisewatch.model.history.facts import FactClass
from noisewatch.model.history.figures import Nature
from noisewatch.surfaces.drawing.accents import Accents, accent_lines
from noisewatch.surfaces.drawing.tables import MOST_BYTES, prose
from noisewatch.surfaces.drawing.wraps import wrap_hanging
from noisewatch.surfaces.reports.parts.sections import Section, Table, markdown_of_sections, text_of_sections
from noisewatch.units import describe_count, describe_figure, describe_names, describe_share

_MOST_BLOCKING, _MOST_ALONE = 3, 6
_NATURES = {Nature.TIME: "speed", Nature.RATE: "speed", Nature.NOISE: "noise"}


def answer_of(comparison: SideComparison) -> str:
    """Return one line: the number of differences, the blocking ones, and what cannot be compared."""
    counts = (
        (len(comparison.facts), "fact"),
        (len(comparison.findings), "check"),
        (len(comparison.different_figures), "figure"),
    )
    parts = [describe_count(count, what) for count, what in counts if count]
    total = sum(count for count, _ in counts)
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
    differ = f"{listed} {'differ' if total != 1 else 'differs'}" if parts else "no difference found"
    by_profile = sum(finding.is_by_profile for finding in comparison.findings)
    differ += f" ({describe_count(by_profile, 'check')} only because the profiles do)" if by_profile else ""
    in_what_blocks = [_blocking_words(comparison)] if parts or comparison.outcome != Outcome.SAME else []
    return "; ".join([differ, *in_what_blocks, *_blind_words(comparison), *_alone_words(comparison)])


def _blocking_words(comparison: SideComparison) -> str:
    if comparison.outcome == Outcome.DIFFERENT:
        names = [item.check_id for item in comparison.blocking] + [
            change_of(item) for item in comparison.different_figures
        ]
        return f"blocking differences: {describe_names(names, _MOST_BLOCKING)}"
    if comparison.outcome == Outcome.SAME:
        return "no blocking differences"
    if comparison.undecided:
        return (
            "blocking differences unknown, because one or both sides have no answer: "
            f"{describe_names(comparison.undecided, _MOST_BLOCKING)}"
        )
    return "blocking differences unknown: no check or figure that can block is known on both sides"


def _blind_words(comparison: SideComparison) -> Iterator[str]:
    """Yield `5 of 15 figures are too noisy to tell`, unless a difference blocks; single CPUs' figures do not count."""
    blind = sum(figure.cpu is None for figure in comparison.blind_figures)
    if blind and comparison.outcome != Outcome.DIFFERENT:
        yield f"{blind} of {_compared_figures(comparison)} {'are' if blind != 1 else 'is'} too noisy to tell"


def _alone_words(comparison: SideComparison) -> Iterator[str]:
    """Yield `only one side has all checks and 3 facts`, unless both sides have the same facts, checks and figures."""
    sides = (comparison.only_before, comparison.only_after)
    parts = [f"all {part}" for part in dict.fromkeys(part for side in sides for part in side.parts)]
    for word in ("fact", "check", "figure"):
        count = sum(len(getattr(side, f"{word}s")) for side in sides)
        parts += [describe_count(count, word)] if count else []
    if parts:
        yield f"only one side has {' and '.join(filter(None, [', '.join(parts[:-1]), parts[-1]]))}"


def _compared_figures(comparison: SideComparison) -> str:
    return describe_count(sum(figure.cpu is None for figure in comparison.figures), "figure")


def change_of(figure: ComparedFigure) -> str:
    """Return `latency work 4.1% slower` or `gaps below 10 µs 2.3 times as noisy`."""
    words = words_of_change(figure.traits.nature, figure.ratio.value - 1)
    return f"{figure.name} {words}"


def other_machine_sentences(comparison: SideComparison) -> Iterator[str]:
    """Yield sentences if the sides are different machines, or different CPUs of one machine."""
    if comparison.are_other_machines:
        identities = [str(fact) for fact in comparison.facts if fact.of_class == FactClass.IDENTITY]
        yield f"two different machines: {'; '.join(identities)}"
    for what, before, after in (
        ("target CPUs", comparison.before.target, comparison.after.target),
        ("CPUs of --against", comparison.before.against, comparison.after.against),
    ):
        if before is not None and after is not None and before != after:
            yield f"different {what}: {name_cpus(before)} → {name_cpus(after)}"


def side_words(side: MachineRecord) -> str:
    """Return `before.json (verdict, CPUs 2-7)` or `before.json (calibration, CPU 3 against CPU 0)`."""
    cpus = f", {name_cpus(side.target)}" if side.target else ""
    against = f" against {name_cpus(side.against)}" if side.against else ""
    return f"{side.source} ({side.kind}{cpus}{against})"


def finding_words(finding: FindingDifference) -> str:
    """Return `target-cpu-busy: pass → fail (CPU 3 is busy)`; the later side's detail is preferred."""
    detail = _detail(finding.after) or _detail(finding.before)
    before, after = (_state(state, finding) for state in (finding.before, finding.after))
    return f"{finding.check_id}: {before} → {after}{f' ({detail})' if detail else ''}"


def _state(state: FindingState, finding: FindingDifference) -> str:
    """Return the judgement, and what answers an unknown check: `unknown, answered by hypervisor-steal`."""
    is_same = finding.before.status == finding.after.status
    return ", ".join([_judgement(state, finding), *_answered_by(state, is_same)])


def _judgement(state: FindingState, finding: FindingDifference) -> str:
    """Return the status; if both sides have the same status, also the differing severity: `fail, blocking`."""
    is_same = finding.before.status == finding.after.status
    severity = [state.severity] if is_same and finding.before.severity != finding.after.severity else []
    return ", ".join([state.status, *severity])


def _answered_by(state: FindingState, is_same: bool) -> Iterator[str]:
    if state.status == Status.UNKNOWN and state.answered_by is not None:
        yield f"answered by {state.answered_by}"
    elif state.status == Status.UNKNOWN and is_same:
        yield "not answered by any other check"


def _detail(state: FindingState) -> str:
    if state.status in (Status.FAIL, Status.WARN):
        return state.said
    return (state.reason or "") if state.status in (Status.UNKNOWN, Status.IGNORED) else ""


def figure_words(figure: ComparedFigure) -> str:
    """Return `203 µs → 212 µs, 4.1% slower, ratio 1.041 (1.022 to 1.060)`."""
    words = words_of_change(figure.traits.nature, figure.ratio.value - 1)
    return f"{' → '.join(_value_texts(figure))}, {words}, ratio {ratio_words(figure)}"


def _value_texts(figure: ComparedFigure) -> list[str]:
    return [describe_figure(estimate.value, figure.traits.unit) for estimate in (figure.before, figure.after)]


def ratio_words(figure: ComparedFigure) -> str:
    """Return the ratio and its interval."""
    low, high = figure.ratio.interval
    return f"{_ratio(figure.ratio.value)} ({_ratio(low)} to {_ratio(high)})"


def _ratio(value: float) -> str:
    """Format a ratio: `1.053`, `6.9`, `18,670`."""
    return f"{value:.3f}" if 0.1 <= value < 9.95 else f"{value:.2g}" if value < 99.5 else f"{value:,.0f}"


def test_sentences(comparison: SideComparison) -> Iterator[str]:
    """Yield the tests, their significance level, and the smallest changes that they can detect."""
    if not comparison.figures:
        return
    by_cpu = f", {comparison.by_cpu} of them also CPU by CPU" if comparison.by_cpu else ""
    yield (
        f"{_compared_figures(comparison)} compared{by_cpu}, each at a significance level of "
        f"{describe_share(comparison.significance)} (Bonferroni: 5% for all){_least_shown(comparison.figures)}"
    )
    if comparison.blind_figures:
        names = [figure.name for figure in comparison.blind_figures]
        yield f"too noisy to detect even a large change: {', '.join(names)}"
    for test in dict.fromkeys(figure.test for figure in comparison.different_figures):
        names = [figure.name for figure in comparison.different_figures if figure.test == test]
        yield f"{', '.join(names)}: {test}"


def _least_shown(figures: Sequence[ComparedFigure]) -> str:
    """Return the smallest detectable change of the most and of the least sensitive figure, for each kind of change."""
    ranges = []
    for word in dict.fromkeys(_NATURES.values()):
        of_word = [figure for figure in figures if _NATURES[figure.traits.nature] == word and not figure.is_blind]
        if of_word:
            ordered = sorted(of_word, key=lambda figure: figure.detectable_ratio)
            ends = [
                f"{_least(figure.detectable_ratio)} ({figure.name})"
                for figure in dict.fromkeys((ordered[0], ordered[-1]))
            ]
            ranges.append(f"{word} {' to '.join(ends)}")
    return f"; smallest detectable changes: {', '.join(ranges)}" if ranges else ""


def _least(ratio: float) -> str:
    """Format a smallest change: `1.8%`, `6.1 times`."""
    return describe_share(ratio - 1, 1) if ratio < 2 else f"{ratio:.2g} times"


def alone_sentences(comparison: SideComparison) -> Iterator[str]:
    """Yield sentences on what only the first or only the second side has, and on what is unknown on both sides."""
    for when, alone in (("before", comparison.only_before), ("after", comparison.only_after)):
        parts = list(_alone_parts(alone))
        if parts:
            yield f"known only {when}: {'; '.join(parts)}"
    if comparison.unknown_on_both:
        yield f"unknown on both sides, so not compared: {describe_names(comparison.unknown_on_both, _MOST_ALONE)}"


def _alone_parts(alone: OnlyOnOneSide) -> Iterator[str]:
    for part in alone.parts:
        yield f"all {part}"
    for word, names in (("facts", alone.facts), ("checks", alone.checks), ("figures", alone.figures)):
        if names:
            yield f"{word} {describe_names(names, _MOST_ALONE)}"


_ANSWERS: Accents = {
    "no blocking differences": "calm",
    "blocking differences unknown": "notable",
    "blocking differences": "grave",
    "no difference found": "strong",
}
_MARKS: Accents = {"BLOCKS": "grave", "UNKNOWN": "notable"}
_ASCII = {"→": "->", "µ": "u", "…": "...", "·": ".", "×": "x", "–": "-"}


def text_of_comparison(comparison: SideComparison, width: int, is_unicode: bool = True, in_colour: bool = False) -> str:
    """Return the comparison in lines of at most `width` columns."""
    answer = "\n".join(accent_lines(wrap_hanging(answer_of(comparison), width), _ANSWERS, in_colour))
    text = f"{answer}\n{text_of_sections(_sections(comparison), width, in_colour, keep='hyphens')}"
    return text if is_unicode else "".join(_ASCII.get(character, character) for character in text)


def markdown_of_comparison(comparison: SideComparison) -> str:
    """Return the comparison, cut at the end to fit in an issue."""
    heading = Section(f"noisewatch compare: {prose(answer_of(comparison))}", level=2)
    return markdown_of_sections([heading, *_sections(comparison)], MOST_BYTES)


def _sections(comparison: SideComparison) -> Iterator[Section]:
    before, after = f"before: {side_words(comparison.before)}", f"after:  {side_words(comparison.after)}"
    yield Section(sentences=[*other_machine_sentences(comparison), before, after, *comparison.remarks])
    for of_class in dict.fromkeys(fact.of_class for fact in comparison.facts):
        facts = [fact for fact in comparison.facts if fact.of_class == of_class]
        table = Table(("fact", "before", "after"), [fact[1:] for fact in facts], sentences=[*map(str, facts)])
        yield Section(f"{of_class}:", table=table, title_style="title", accents={fact.name: "strong" for fact in facts})
    if listed := [finding for finding in comparison.findings if not finding.is_by_profile]:
        accents = _MARKS | {finding.check_id: "strong" for finding in listed}
        sentences = [_mark(finding) + finding_words(finding) for finding in listed]
        yield Section("checks:", sentences=sentences, title_style="title", accents=accents)
    if by_profile := [finding for finding in comparison.findings if finding.is_by_profile]:
        title = f"checks with the same answer, judged by {comparison.before.profile} and {comparison.after.profile}:"
        yield Section(title, sentences=_summed_findings(by_profile), title_style="title", accents=_MARKS)
    if figures := comparison.different_figures:
        rows = [(figure.name, *_value_texts(figure), ratio_words(figure)) for figure in figures]
        texts = [f"{figure.name}: {figure_words(figure)}" for figure in figures]
        changes = [words_of_change(figure.traits.nature, figure.ratio.value - 1) for figure in figures]
        table = Table(("figure", "before", "after", "ratio"), rows, sentences=texts)
        yield Section("figures:", table=table, title_style="title", accents=dict.fromkeys(changes, "culprit"))
    if sentences := [*test_sentences(comparison), *alone_sentences(comparison)]:
        yield Section(sentences=sentences)


def _summed_findings(findings: Sequence[FindingDifference]) -> list[str]:
    """Return a sentence for each change of the judgement: `BLOCKS fail, warning → fail, blocking: swapping`."""
    checks_by_change: dict[str, list[str]] = {}
    for finding in findings:
        states = (_judgement(state, finding) for state in (finding.before, finding.after))
        checks_by_change.setdefault(f"{_mark(finding)}{' → '.join(states)}", []).append(finding.check_id)
    return [f"{change}: {', '.join(checks)}" for change, checks in checks_by_change.items()]


def _mark(finding: FindingDifference) -> str:
    """Return a mark for a check whose difference blocks, or leaves the answer unknown."""
    return "BLOCKS " if finding.blocks else "UNKNOWN " if finding.is_undecided else ""
