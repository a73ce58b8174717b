"""The command line, run in this process, and a node of Slurm."""

from tests.integrations.slurm_node import node as node
from tests.surfaces.conftest import run as run
