"""The names of this run's labs."""

import os

# Short: unix socket paths are below.
PREFIX = f"t{os.getpid() % 100000}"
