"""How long turbo budgets last: the duration cannot be read, so it has to be waited for.

Most processors average their power over 28 s for the long-term limit. A budget lasts 28 s if the turbo draws 1.6 times
this limit, and 42 s at 1.3 times the limit; if it draws less, the clock drops little afterwards.
"""

LEAST_S = 42  # a clock counts as stable if it is constant for so long
LEAST_WORK_S = LEAST_S + 3  # the first and the last second are not whole, and CPUs may not begin at the same time
