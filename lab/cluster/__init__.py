"""The lab's parts. Tests begin with `from lab.cluster.lab import Lab`."""
