"""Target CPUs for this machine: which, why these, and what keeps everything else off them."""
