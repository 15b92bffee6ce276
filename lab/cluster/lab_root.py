"""The namespaces of a lab: the first process of its process, mount and network namespaces. The
control plane runs here, and the nodes are on its bridge; outside only one listening socket on
loopback is seen, inherited by the relay.

python3 -m lab.cluster.lab_root FOLDER CGROUP DESCRIPTOR
"""

import os
import sys

from . import cgroup, linux, supervisor


def main() -> None:
    folder, group, descriptor = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)  # for the relay alone
    cgroup.join(group)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    # The nodes' disks are below: programs and devices must work there.
    linux.bind(folder, folder)
    linux.mount("none", folder, flags=linux.MS_BIND | linux.MS_REMOUNT)
    listener = supervisor.listen(os.path.join(folder, "s"))
    supervisor.Supervisor(listener).serve()


if __name__ == "__main__":
    main()
