"""Print what other tools measure with `noisewatch run` and without: `python -m tests.benchmark.run_tools [TOOL …]`.

Both use the same CPU (without noisewatch by taskset), in turn. Next to the ratio is the tool's own noise: how much
its figures vary from run to run without noisewatch. Figures, no limits; run it on an otherwise idle host.

On Debian: apt-get install hyperfine libbenchmark-dev numactl meson golang-go cargo. pyperf comes with `.[dev]`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from noisewatch.units import describe_ns, describe_share
from tests.benchmark.paired import paired_ratio
from tests.benchmark.run_tools.tools import TOOLS, BenchmarkTool, Words
from tests.live.noise import CPU

_ROUNDS = 10
_PROGRAMS = Path(__file__).with_name("programs")
_ALONE = ["taskset", "-c", str(CPU)]
_RUN = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU)]


def _output(tool: BenchmarkTool, words: Words, prefix: Words, folder: Path) -> str:
    environment = os.environ | tool.environment(prefix)
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder, env=environment).stdout


def _figure(tool: BenchmarkTool, prefix: Words, folder: Path) -> float:
    for old_file in folder.glob("*.json"):
        old_file.unlink()
    return tool.figure(_output(tool, tool.command(prefix), prefix, folder), folder)


def _compare(tool: BenchmarkTool, watched: Words, rounds: int, folder: Path) -> str:
    """Warm up once in each way, measure in turn, and describe the ratio. `watched` is the prefix with noisewatch."""
    prefixes = {False: _ALONE, True: watched}
    figures: dict[bool, list[float]] = {False: [], True: []}

    def measure(is_with: bool) -> float:
        figures[is_with].append(_figure(tool, prefixes[is_with], folder))
        return figures[is_with][-1]

    for prefix in prefixes.values():
        _figure(tool, prefix, folder)
    ratio = paired_ratio(measure, rounds)
    noise = statistics.stdev(figures[False]) / statistics.fmean(figures[False])
    is_within_noise = abs(ratio.middle - 1) <= noise or ratio.low <= 1 <= ratio.high
    alone, inside = (describe_ns(round(statistics.fmean(figures[is_with]))) for is_with in (False, True))
    return (
        f"{alone} without, {inside} with; ratio {ratio}; own noise (CV without) {describe_share(noise)}: "
        f"{'no more than its noise' if is_within_noise else 'MORE than its noise'}"
    )


def _unusable_reason(tool: BenchmarkTool, folder: Path) -> str | None:
    """Prepare the tool. Return why it cannot be used, or None if it can."""
    if shutil.which(tool.prepare[0]) is None:
        return f"no {tool.prepare[0]}"
    try:
        _output(tool, tool.prepare, _ALONE, folder)
    except subprocess.CalledProcessError as error:
        return f"{shlex.join(tool.prepare)}: {' '.join(error.stderr.split())[-200:]}"
    return None


def main() -> None:
    """Print a line for each tool, or for those whose name contains one of the words."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark.run_tools")
    names = ", ".join(tool.name for tool in TOOLS)
    parser.add_argument("tool", nargs="*", metavar="TOOL", help=f"part of a name; all by default: {names}")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help=f"at least two (default {_ROUNDS})")
    parser.add_argument("--options", default="", help="of `noisewatch run`, such as '--counters none'")
    options = parser.parse_args()
    watched = [*_RUN, *shlex.split(options.options), "--"]
    for tool in TOOLS:
        if options.tool and not any(word in tool.name for word in options.tool):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if tool.program is not None:
                shutil.copytree(_PROGRAMS / tool.program, folder, dirs_exist_ok=True)
            reason = _unusable_reason(tool, folder)
            text = _compare(tool, watched, options.rounds, folder) if reason is None else f"not available: {reason}"
        print(f"{tool.name:<26}{text}", flush=True)


if __name__ == "__main__":
    main()
