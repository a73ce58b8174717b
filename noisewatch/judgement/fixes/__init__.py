"""What helps against a finding: actions as data, and the commands, scripts and files that they come to."""
