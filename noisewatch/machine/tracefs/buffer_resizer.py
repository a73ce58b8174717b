"""A script that moves from CPU to CPU and resizes each one's buffer; it writes a byte after each CPU.

Arguments: an instance's folder, a size in kB, and the CPUs. Slow imports are avoided.
"""

import os
import sys

READY, DONE = b"r", b"d"


def main() -> None:
    """Resize the buffers in the order of the arguments."""
    os.write(1, READY)
    for cpu in map(int, sys.argv[3:]):
        try:
            os.sched_setaffinity(0, {cpu})
            file = os.open(f"{sys.argv[1]}/per_cpu/cpu{cpu}/buffer_size_kb", os.O_WRONLY | os.O_TRUNC)
            os.write(file, sys.argv[2].encode())
            os.close(file)
        except OSError:  # outside of the cpuset, or too much memory: the buffer keeps its size
            pass
        os.write(1, DONE)


if __name__ == "__main__":
    main()
