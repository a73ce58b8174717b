"""The noise floor: its prediction by kind of work, its main cause, and its comparison."""
