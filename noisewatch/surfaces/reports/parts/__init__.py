"""The parts that several reports share."""
