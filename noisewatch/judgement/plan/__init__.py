"""Target CPUs for this machine: a choice, its reasons, and what keeps all other work off them."""
