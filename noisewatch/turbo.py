"""How long a turbo budget lasts. It cannot be read, so it has to be waited for.

Most processors average their long-term power limit over 28 s. A budget lasts as long where the turbo draws 1.6 times
that limit, and half as long again where it draws 1.3 times as much: less than that hardly lowers the clock.
"""

LEAST_S = 42  # that a clock has to be level to be believed
LEAST_WORK_S = LEAST_S + 3  # for as many whole seconds: the first and the last are not, nor may each CPU begin at once
