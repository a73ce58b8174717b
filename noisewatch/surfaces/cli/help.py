"""The texts of the help: the commands by the question that they answer, their summaries and examples."""

from __future__ import annotations

from argparse import Action, RawDescriptionHelpFormatter, _SubParsersAction

COMMANDS_BY_QUESTION = {
    "watch (what disturbs this machine? without a command: the monitor)": {
        "show": "print topology, clocks and IRQs, without a verdict",
        "trace": "trace the target CPUs and name the culprits",
    },
    "gate (may a benchmark start, and on which CPUs?)": {
        "preflight": "check whether a benchmark may start: verdict and exit status",
        "plan": "propose target CPUs for this machine, and print what keeps everything else off them",
    },
    "measure (can I trust a result, and which change shows here?)": {
        "run": "run a command, and say of each repetition whether it was disturbed, and by whom",
        "calibrate": "measure the noise that the machine adds to a benchmark's samples",
    },
    "machines (what has changed, and which machine is fit?)": {
        "history": "show how this machine's speed and noise developed, and what changed when they did",
        "compare": "show what differs between two verdicts, calibrations, recordings or receipts",
        "fleet": "make one table of the verdicts of many machines, the worst first",
    },
    "share (how do I explain, record or automate it?)": {
        "explain": "explain a check or a topic of benchmarking, or list them all",
        "record": "record the machine into a file that replays anywhere",
        "screenshot": "draw the monitor's screen to an SVG or PNG file",
        "integrations": "write the files for engines that you already run, such as Slurm and Nagios",
        "completion": "print a shell completion script",
    },
}
COMMANDS = {name: summary for commands in COMMANDS_BY_QUESTION.values() for name, summary in commands.items()}

EPILOG = """\
examples:
  noisewatch                                           watch this machine
  noisewatch preflight --cpus 2-3 && taskset -c 2-3 ./benchmark
  noisewatch run --runs 25 -- ./benchmark              judge each repetition
  noisewatch calibrate --cpus 2-3 --detect 2%          how many samples show a change of 2%
  noisewatch compare before.json after.json            what differs between two machines, or days

exit status of preflight: 0 stable, 1 unstable, 2 usage or internal error, 3 unknown
(--on-unknown fail: 1, pass: 0), 4 not stable within --wait (--format nagios: 0 OK, 1 WARNING,
2 CRITICAL, 3 UNKNOWN, errors included);
of run: that of its command; 125 for all errors of its own (noisewatch run --help);
of compare: 0 no difference in what blocks, 1 they differ there, 2 usage or input error, 3 unknown;
of fleet: that of the worst host: 1 unstable, 3 unknown (also: broken, missing or old reports), 0 stable;
of all other commands: 0 done, 2 usage or input error, 3 could not measure
"""

EXAMPLES = {
    "preflight": """\
examples:
  noisewatch preflight --cpus 2-3 && taskset -c 2-3 ./benchmark
  noisewatch preflight --wait 300 --lock    retry for 5 minutes, then keep others from starting
  noisewatch preflight --fix-script fix.sh --undo-script undo.sh
  noisewatch preflight --expect 3600 --format json --output verdict.json
  noisewatch show --format machine --output machine.toml && noisewatch preflight --machine machine.toml
""",
    "run": """\
examples:
  noisewatch run -- ./benchmark
  noisewatch run --runs 25 --output receipt.jsonl -- ./benchmark
  noisewatch run --runs 25 --against './old --fast' -- ./new --fast
  noisewatch run --runs 25 --retry 10 --wait 60 --gate -- ./benchmark

exit status: that of the command where it failed (--ignore-failure lets a series
go on; where a signal ends a series, 128 plus its number); else 0, and with
--gate 5 (disturbed or incomplete) or 3 (unknown; --on-unknown). To pass the gate, as many runs
as --runs says must be undisturbed, the report must give a result
(--min-undisturbed), and the machine must be the same after a series as before.
--format pyperf without an undisturbed run ends with 5 or 3 even without --gate.
125: an error of noisewatch's own, or a report, a recording or the --results
could not be written or read. 126: the command cannot be run. 127: it is not there.
""",
    "calibrate": """\
examples:
  noisewatch calibrate --cpus 2-3 --duration 10
  noisewatch calibrate --cpus 3 --against 0    compare an isolated CPU with another one
  noisewatch calibrate --cpus 3 --under-load    whether isolation holds while all other CPUs are busy
  noisewatch calibrate --at 10ms --max-cv 0.5%    against a benchmark's own budget
  sudo noisewatch calibrate --tracer osnoise    name the culprits at a lower overhead
  noisewatch calibrate --against 0 --format svg --output noise.svg

exit status: 0 measured, whatever came of it; 2 usage or input error; 3 could not measure, or the
load did not run all the time; a command that is interrupted ends its load
""",
    "plan": """\
examples:
  noisewatch plan 2                         two cores: which, why, and what to do
  noisewatch plan 4 --near eth0             four cores near a network card
  noisewatch plan --cpus 2-5                what is wrong with these, and the same commands
  noisewatch plan 2 --format script >take.sh; noisewatch plan 2 --format script --undo >give-back.sh
  noisewatch plan 2 --format cmdline        what to add to the kernel command line; standard error says what to replace
  noisewatch plan 2 --format systemd        a service that isolates the CPUs while it runs, where the kernel can do so
""",
    "show": """\
examples:
  noisewatch show irqs -v                                  a row for each IRQ
  noisewatch show --format machine --output machine.toml   describe this machine, for preflight --machine
""",
    "history": """\
examples:
  noisewatch preflight --history              check, and remember what was measured
  noisewatch history                          where speed or noise moved, and what changed just then
  noisewatch history --cpus 2-3               of these CPUs, and not of those of the newest entry
  noisewatch history accept --why 'new BIOS'  from here on this is the machine

Of each set of CPUs up to 200 entries count: the newest 40, and older ones evenly over time.

exit status: 0 shown, also where there is no entry yet, or the machine is not as usual (`preflight
--history` judges that), or accepted; 2 usage or input error, also where there is no entry to accept
""",
    "compare": """\
examples:
  noisewatch compare before.json after.json         verdicts, calibrations or receipts, before and after a change
  noisewatch compare good-host.nw bad-host.nw       two machines by their recordings
  noisewatch compare golden.json now.json || exit 1

They differ in what blocks where a blocking check fails on one side but not on the other, or is unknown on one side but
answered on the other; and where a figure differs by more than chance (5% false alarms for all figures together) and by
as much as counts: 1% of speed or run time, 5% of a clock reading, twice the gaps or the noise floor. Facts that
differ are shown, and do not block. What was measured under load, or on the CPUs of --against, is compared by itself.
Calibrations and receipts have no checks: of one of them and a verdict, figures and facts are compared.

exit status: 0 no difference in what blocks; 1 they differ in what blocks; 2 usage or input error; 3 unknown: a blocking
check is ignored or missing in one of two verdicts, or unknown in both; a figure was not measured on one side, or not in
the same way on both; speeds are too noisy to compare; or nothing that blocks is known to both sides
""",
    "fleet": """\
examples:
  noisewatch fleet verdicts/ --expect hosts.txt --max-age 24h
  noisewatch fleet today/ --baseline yesterday/ --format markdown --output fleet.md
  pdsh -w 'web[1-40]' 'noisewatch preflight --format json --output /shared/$(hostname).json'

exit status: that of the worst host: 1 unstable, 3 unknown, 0 stable. Reports that are broken, missing,
too old or from the future count as unknown; 2 is a usage or input error.
""",
    "screenshot": """\
examples:
  noisewatch screenshot --replay r.nw --size 120x34 overview.svg overview.png
  noisewatch screenshot --replay r.nw --at 12 --keys 3 --theme light irqs.svg
  noisewatch screenshot --replay r.nw --from 10 --to 30 demo.svg    an animated SVG, for a README
""",
}


class HelpByQuestion(RawDescriptionHelpFormatter):
    """A help formatter that lists the commands below the question that they answer."""

    def add_argument(self, action: Action) -> None:
        """Add an argument, or a section of commands for each question."""
        if not isinstance(action, _SubParsersAction):
            super().add_argument(action)
            return
        command_by_name = {command.dest: command for command in action._choices_actions}
        for question, names in COMMANDS_BY_QUESTION.items():
            self.start_section(question)
            self.add_arguments(command_by_name[name] for name in names)
            self.end_section()
