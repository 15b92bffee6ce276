"""What the labs of this run are called."""

import os

# Short: unix socket paths lie below.
PREFIX = f"t{os.getpid() % 100000}"
