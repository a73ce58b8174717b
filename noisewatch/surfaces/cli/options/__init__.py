"""The options of commands that have many, and the options that several commands share."""
