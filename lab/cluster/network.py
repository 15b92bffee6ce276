"""The lab's network, in its own namespace: one bridge with all nodes, a range of addresses for each
node's Pods behind it, and the service address of the API server. Without address translation, so
everyone sees everyone's own address."""

from . import settings as s
from .client import Client
from .settings import NodeSettings, Settings

BRIDGE = "lab0"


def _shell(client: Client, *lines: str) -> None:
    client.run(["/bin/sh", "-ec", "\n".join(lines)])


def make_lab(client: Client) -> None:
    prefix = s.NODE_NETWORK.prefixlen
    _shell(
        client,
        "ip link set lo up",
        f"ip addr add {s.API_SERVICE}/32 dev lo",
        f"ip link add {BRIDGE} type bridge",
        f"ip addr add {s.GATEWAY}/{prefix} dev {BRIDGE}",
        f"ip link set {BRIDGE} up",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
    )


def connect_node(lab: Client, node: Client, pid: int, this: NodeSettings, settings: Settings) -> None:
    """`pid`: the node's first process, as the lab sees it."""
    port = f"node{this.number}"
    _shell(
        lab,
        # The kernel dismantles a network namespace some time after its last process, so a node's
        # interfaces from before a reboot may still be there.
        f"ip link del {port} 2>/dev/null || true",
        f"ip link add {port} type veth peer name eth0 netns {pid}",
        f"ip link set {port} master {BRIDGE} up",
    )
    _shell(
        node,
        "ip link set lo up",
        f"ip addr add {this.address}/{s.NODE_NETWORK.prefixlen} dev eth0",
        "ip link set eth0 up",
        f"ip route add default via {s.GATEWAY}",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
    )
    _shell(lab, f"ip route replace {this.pods(settings.pod_network)} via {this.address}")


def cni_config(this: NodeSettings, settings: Settings) -> dict:
    """For Debian's plugins: a bridge on the node. Without hostPort, which would need iptables."""
    return {
        "cniVersion": "1.0.0",
        "name": "lab",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": str(this.pods(settings.pod_network))}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }
