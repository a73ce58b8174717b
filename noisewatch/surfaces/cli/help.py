"""Help texts: the commands, grouped by the question they answer, with summaries and examples."""

from __future__ import annotations

from argparse import Action, RawDescriptionHelpFormatter, _SubParsersAction

COMMANDS_BY_QUESTION = {
    "watch (what disturbs this machine? `noisewatch` without a command opens the monitor)": {
        "show": "print topology, clocks and IRQs, without a verdict",
        "trace": "trace the target CPUs and name the culprits",
    },
    "gate (may a benchmark start, and on which CPUs?)": {
        "preflight": "check whether a benchmark may start: verdict and exit status",
        "plan": "propose target CPUs for this machine, and the commands that keep other work off them",
        "tune": "change this machine's settings for a benchmark until the next boot",
        "restore": "restore the settings that tune has changed",
    },
    "measure (can I trust a result, and which change can I detect?)": {
        "run": "run a command and report which repetitions were disturbed, and by what",
        "calibrate": "measure the noise that the machine adds to a benchmark's samples",
    },
    "machines (what has changed, and which machine is fit?)": {
        "history": "show when this machine's speed or noise changed, and what else changed then",
        "compare": "show what differs between two verdicts, calibrations, recordings or receipts",
        "fleet": "list many machines' verdicts in one table, the worst first",
    },
    "share (how do I explain, record or automate it?)": {
        "explain": "explain a check, a topic or a term, or list checks and topics",
        "record": "record the machine into a file that replays anywhere",
        "screenshot": "draw the monitor's screen, or a poster of a result, to an SVG, PNG or GIF file",
        "integrations": "write integration files for other tools, such as Slurm and Nagios",
        "completion": "print a shell completion script",
    },
}
COMMANDS = {name: summary for commands in COMMANDS_BY_QUESTION.values() for name, summary in commands.items()}

EPILOG = """\
examples:
  noisewatch                                           watch this machine
  noisewatch preflight --cpus 2-3 && taskset -c 2-3 ./benchmark
  noisewatch run --runs 25 -- ./benchmark              judge each repetition
  noisewatch calibrate --cpus 2-3 --detect 2%          how many samples detect a change of 2%
  noisewatch compare before.json after.json            what differs between two machines, or days

exit status:
  preflight  0 stable, 1 unstable, 2 usage or internal error, 4 not stable within --wait
             3 unknown (1 with --on-unknown fail, 0 with --on-unknown pass)
             --format nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, also for errors
             --format problem-detector: never 4, always 3 for unknown
  run        status of its command, 125 for errors of noisewatch; see noisewatch run --help
  compare    0 no blocking difference, 1 blocking difference, 2 usage or input error, 3 unknown
  fleet      status of the worst host: 0 stable, 1 unstable, 2 usage or input error,
             3 unknown (also broken, missing or old reports)
  others     0 done, 2 usage or input error, 3 something could not be measured, tuned or restored
"""

EXAMPLES = {
    "preflight": """\
examples:
  noisewatch preflight --cpus 2-3 && taskset -c 2-3 ./benchmark
  noisewatch preflight --wait 300 --lock    retry for up to 5 minutes, and lock the machine once it is stable
  noisewatch preflight --fix-script fix.sh --undo-script undo.sh
  noisewatch preflight --expect 3600 --format json --output verdict.json
  noisewatch show --format machine --output machine.toml && noisewatch preflight --machine machine.toml
""",
    "tune": """\
examples:
  noisewatch tune --dry-run                 list the changes
  sudo noisewatch tune --cpus 2-3           list the changes, ask, and make them
  noisewatch tune --status                  what is tuned, and since when
  sudo noisewatch tune --yes --until-exit -- make bench    restore the settings when the command ends
  sudo noisewatch tune --measure --minutes 10    measure which changes are worth it here, and restore
  sudo noisewatch restore                   restore the settings

tune stops only services that move IRQs or change the CPU clock; it stops no other processes, takes no CPUs offline,
and changes no swap or boot options. It makes a control group partition only with --select target-not-isolated. Each
change is written to the journal (/var/lib/noisewatch/tune.jsonl) before it is made, so `restore` works even if
noisewatch was killed. A reboot undoes all changes.

exit status: 0 done, even if you decline; 2 usage or input error, or the journal cannot be written; 3 the kernel
refused a change, or --measure left a setting changed or measured nothing; with --until-exit, the command's
own status
""",
    "restore": """\
examples:
  sudo noisewatch restore --dry-run         list what would be restored
  sudo noisewatch restore

Settings that another program has changed since they were tuned are listed, but not restored. `restore` may be
interrupted and repeated.

exit status: 0 restored, or nothing was tuned; 2 usage or input error; 3 a setting was not restored
""",
    "run": """\
examples:
  noisewatch run -- ./benchmark
  noisewatch run --runs 25 --output receipt.jsonl -- ./benchmark
  noisewatch run --runs 25 --against './old --fast' -- ./new --fast
  noisewatch run --runs 25 --retry 10 --wait 60 --gate -- ./benchmark

exit status:
  0    the command succeeded
  N    the command's own status, if it failed; 128 plus the signal's number if a signal ended a series
  5    --gate: too few undisturbed repetitions, no result (--min-undisturbed),
       or the machine changed during the series
  3    --gate: unknown whether the gate passes (5 with --on-unknown fail, 0 with pass)
  125  noisewatch failed, or could not read or write a report, a recording or the --results file
  126  the command cannot be executed
  127  the command was not found

--format pyperf exits with 5 or 3 if no run was undisturbed, even without --gate.
""",
    "calibrate": """\
examples:
  noisewatch calibrate --cpus 2-3 --duration 10    the conclusion, and a picture of the gaps
  noisewatch calibrate --cpus 2-3 -v               also each CPU, culprits, longest gaps
  noisewatch calibrate --cpus 3 --against 0       compare an isolated CPU with another one
  noisewatch calibrate --cpus 3 --under-load      does isolation hold while all other CPUs are busy?
  noisewatch calibrate --at 10ms --max-cv 0.5%    compare with a benchmark's own budget
  sudo noisewatch calibrate --tracer osnoise      name the culprits at a lower overhead
  noisewatch calibrate --against 0 --format svg --output noise.svg
  noisewatch calibrate --format png --poster --output slide.png    16:9, with the conclusion as its title

exit status: 0 measured, whatever the result; 2 usage or input error; 3 could not measure, or the
load did not run all the time. If the command is interrupted, its load ends too.
""",
    "plan": """\
examples:
  noisewatch plan 2                         two cores: which, why, and what to do
  noisewatch plan 4 --near eth0             four cores near a network card
  noisewatch plan --cpus 2-5                what is wrong with these CPUs, and commands for them
  noisewatch plan 2 --format script >take.sh; noisewatch plan 2 --format script --undo >give-back.sh
  noisewatch plan 2 --format cmdline        kernel options to add; standard error names those to replace
  noisewatch plan 2 --format systemd        a service that isolates the CPUs while it runs, if the kernel supports it
""",
    "show": """\
examples:
  noisewatch show irqs -v                                  a row for each IRQ
  noisewatch show --format machine --output machine.toml   describe this machine, for preflight --machine
""",
    "history": """\
examples:
  noisewatch preflight --history              check the machine, and remember the measurements
  noisewatch history                          when speed or noise changed, and what else changed then
  noisewatch history --cpus 2-3               show the entries of these CPUs
  noisewatch history accept --why 'new BIOS'  make this machine the new baseline

For each set of CPUs, at most 200 entries are compared: the newest 40, and older ones evenly spaced in time.

exit status: 0 shown or accepted, even if there is no entry to show, or the machine has changed (`preflight
--history` judges that); 2 usage or input error, or no entry to accept
""",
    "compare": """\
examples:
  noisewatch compare before.json after.json         verdicts, calibrations or receipts, before and after a change
  noisewatch compare good-host.nw bad-host.nw       two machines by their recordings
  noisewatch compare golden.json now.json || exit 1

A difference blocks if
  - a blocking check fails on one side only, or is unknown on one side and answered on the other; or
  - a figure differs by more than chance (5% false alarms for all figures together), and by at least
    1% of speed or run time, 5% of a clock reading, or a factor of two in gaps or noise floor.
Facts that differ are shown, and do not block. Measurements under load, or on the CPUs of --against, are
compared separately. Calibrations and receipts have no checks: compared with a verdict, only figures and
facts are compared, and whether the checks differ is unknown.

exit status:
  0  no blocking difference
  1  a blocking difference
  2  usage or input error
  3  unknown: a blocking check is ignored or missing on one side, or unknown on both; a figure
     was not measured on one side, or not in the same way on both; speeds are too noisy to compare; or
     the two sides have nothing in common that could block
""",
    "fleet": """\
examples:
  noisewatch fleet verdicts/ --expect hosts.txt --max-age 24h
  noisewatch fleet today/ --baseline yesterday/ --format markdown --output fleet.md
  pdsh -w 'web[1-40]' 'noisewatch preflight --format json --output /shared/$(hostname).json'

exit status: that of the worst host (1 unstable, 3 unknown, 0 stable), or 2 for a usage or input error.
Reports that are broken, missing, too old or from the future count as unknown. In folders, JSON without a
verdict is ignored, and named in one line.
""",
    "screenshot": """\
examples:
  noisewatch screenshot --replay r.nw --size 120x34 overview.svg overview.png
  noisewatch screenshot --replay r.nw --at 12 --keys 3 --theme light irqs.svg
  noisewatch screenshot --replay r.nw --from 10 --to 30 demo.svg    an animated SVG, for a README
  noisewatch screenshot --replay r.nw --from 10 --to 30 demo.gif    for slides and chats, which play no SVG
  noisewatch screenshot --replay r.nw --at 12 --panel irqs --title eth0 --scale 2 slide.png
  noisewatch screenshot --poster receipt.jsonl slide.png            the result of a run, 16:9
  noisewatch screenshot --poster calibration.nw slide.svg           what can be measured on these CPUs, 16:9
""",
}


class HelpByQuestion(RawDescriptionHelpFormatter):
    """A help formatter that lists each command below the question that it answers."""

    def add_argument(self, action: Action) -> None:
        """Add an argument; the commands are added in a section for each question."""
        if not isinstance(action, _SubParsersAction):
            super().add_argument(action)
            return
        command_by_name = {command.dest: command for command in action._choices_actions}
        for question, names in COMMANDS_BY_QUESTION.items():
            self.start_section(question)
            self.add_arguments(command_by_name[name] for name in names)
            self.end_section()
