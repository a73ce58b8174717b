"""Boot a machine of the lab, and open a root shell in it: `python -m tests.lab [VARIANT]`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.lab.machine import VARIANTS, boot_command, kernel_image


def main() -> int:
    variant = VARIANTS.get(sys.argv[1] if len(sys.argv) > 1 else "isolated")
    image = kernel_image(variant) if variant is not None else None
    if variant is None or image is None:
        print(f"usage: python -m tests.lab [{'|'.join(VARIANTS)}], after tests/lab/set_up", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(boot_command(variant, image, Path(folder)), check=False).returncode


sys.exit(main())
