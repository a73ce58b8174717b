"""Show what disturbs the CPUs that a benchmark runs on, and judge whether it may start."""

__version__ = "0.3.0"
