"""The options of `noisewatch compare`."""

from __future__ import annotations

from argparse import ArgumentParser

from noisewatch.surfaces.cli.options.shared import add_output

_EPILOG = """\
examples:
  noisewatch compare before.json after.json         verdicts, calibrations or receipts, before and after a change
  noisewatch compare good-host.nw bad-host.nw       two machines by their recordings
  noisewatch compare golden.json now.json || exit 1

They differ in what blocks where a blocking check fails on one side but not on the other, or is unknown on one side but
answered on the other; and where a figure differs by more than chance (5 % false alarms for all figures together) and by
as much as counts: 1 % of speed or run time, 5 % of a clock reading, twice the gaps or the noise floor. Facts that
differ are shown, and do not block. What was measured under load, or on the CPUs of --against, is compared by itself.

exit status: 0 no difference in what blocks; 1 they differ in what blocks; 2 usage or input error; 3 unknown: a blocking
check is ignored or missing on one side, or unknown on both; a figure was not measured on one side, or not in the same
way on both; speeds are too noisy to compare; or nothing that blocks is known to both sides
"""


def fill_compare(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch compare`; the kind of either file is recognized by its content."""
    parser.epilog = _EPILOG
    kinds = "a verdict, calibration or receipt (JSON, JSON Lines) or a recording"
    parser.add_argument("before", metavar="BEFORE", help=f"{kinds}, recognized by its content")
    parser.add_argument("after", metavar="AFTER", help="the file to compare it with, of the same kind or another")
    add_output(parser, ("text", "json", "markdown"))
