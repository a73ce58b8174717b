"""The options of the commands, where there are many, and those that several commands share."""
