"""The duration of turbo budgets. No file contains it, so noisewatch waits for longer than a budget can last.

Most processors average their power over 28 s for the long-term limit. A budget lasts 28 s if the turbo draws 1.6 times
this limit, and 42 s at 1.3 times the limit; if it draws less, the clock drops little afterwards.
"""

LEAST_S = 42  # seconds of work before clocks are judged as stable or not
LEAST_WORK_S = LEAST_S + 3  # the first and last seconds are incomplete, and CPUs may begin at different times
