"""The noise floor: what is predicted, by kind of work, what it mostly is, and how two of them compare."""
