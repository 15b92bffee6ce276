"""Limits with a real kubelet and API server: two limited resources in one container; a Pod that
bypasses the limiter. The effect of limits is tested by tests/chart/test_lifecycle.py."""

import json
import os
import subprocess

import pytest
from limited import can_hold, events, limit, wait_event
from pods import GPU, Applied, pod, wait_offer
from release import Release

from lab.cluster import images, paths

SMALL, LARGE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
CONFIG = {
    "version": "v1",
    "flags": {"migStrategy": "mixed"},
    "tranche": {"limits": {"enforcement": "strict"}},
}


@pytest.fixture(scope="module")
def lab(labs):
    build = paths.build_folder()
    if not (build / "lib/libtranche-limit.so").exists():
        pytest.skip("libtranche-limit.so is not built")
    help_ = [build / "bin/tranche", "arbiter", "--help"]
    if subprocess.run(help_, capture_output=True, check=False).returncode != 0:
        pytest.skip("this build has no arbiter")
    return labs.get(["a100-40gb-mig=mig", "l20"])


def config_map(config: dict) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "limited", "namespace": "kube-system"},
            "data": {"default": json.dumps(config)},
        }
    )


def test_two_limited_resources_in_one_container(lab):
    """Each is a tenant of its own; mounts in both answers exist once."""
    values = ("config.name=limited", "limits.enabled=true", "mig.monitor=true")
    with Applied(lab, config_map(CONFIG)), Release(lab, *values):
        wait_offer(lab, "mig", 2, SMALL)
        wait_offer(lab, "mig", 1, LARGE)
        sleep = ("sleep", "infinity")
        both = pod("both", *sleep, image="lab-glibc:1", limits={SMALL: 1, LARGE: 1}, node="mig")
        with Applied(lab, both):
            lab.wait_pod("both")
            preload = lab.exec("both", "cat", "/etc/ld.so.preload")
            assert preload == "/usr/local/tranche/libtranche-limit.so\n"
            tenants = lab.exec("both", "ls", "/run/tranche").split()
            assert len(tenants) == 2
            for tenant in tenants:
                assert lab.exec("both", "ls", f"/run/tranche/{tenant}").split() == ["arbiter.sock", "part"]
            lines = lab.exec("both", "cat", "/proc/self/mountinfo").splitlines()
            mounts = [(line.split()[4], line.split()[5].split(",")) for line in lines]
            ours = ("/usr/local/tranche/", "/run/tranche/", "/etc/ld.so.preload")
            options = {point: options for point, options in mounts if point.startswith(ours)}
            assert len(options) == 4 == sum(point.startswith(ours) for point, _ in mounts)
            assert all("ro" in one for one in options.values()), options
            # A shell by exec has the library too.
            maps = lab.exec("both", "cat", "/proc/self/maps")
            assert "/usr/local/tranche/libtranche-limit.so" in maps


def shared(unregistered: str) -> str:
    """Four may share the L20, each limited to its quarter."""
    limits = {"enforcement": "strict", "unregistered": unregistered}
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
    return config_map({"version": "v1", "sharing": sharing, "tranche": {"limits": limits}})


def past_the_limiter() -> str:
    """Has a tranche, and a process on it that never registers: the GPU's holder is no CUDA
    program."""
    occupy = ("/opt/tranche/bin/tranche-sim", "occupy", "--memory", "1Gi")
    libraries = f"/host/usr/lib/{os.uname().machine}-linux-gnu"
    env = {"LD_LIBRARY_PATH": libraries}
    rogue = json.loads(pod("rogue", *occupy, image="lab-glibc:1", gpus=1, env=env, node="l20"))
    places = {"tools": ("/opt/tranche", "/opt/tranche"), "libraries": ("/usr/lib", "/host/usr/lib")}
    rogue["spec"]["volumes"] = [{"name": name, "hostPath": {"path": of}} for name, (of, _) in places.items()]
    rogue["spec"]["containers"][0]["volumeMounts"] = [
        {"name": name, "mountPath": at, "readOnly": True} for name, (_, at) in places.items()
    ]
    return json.dumps(rogue)


def without_a_grant() -> str:
    hold = ("tranche-load", "hold", "--memory", "1Gi", "--duration", "1h")
    env = {"NVIDIA_VISIBLE_DEVICES": "all"}
    thief = json.loads(pod("thief", *hold, image="lab-glibc:1", env=env, node="l20"))
    thief["metadata"]["labels"] = {"app": "guarded"}
    return json.dumps(thief)


BUDGET = json.dumps(
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guarded"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    }
)


def restarts(lab, name: str) -> int:
    return lab.pod(name)["status"]["containerStatuses"][0]["restartCount"]


def is_gone(lab, name: str) -> bool:
    return not lab.kubectl("get", "pod", name, "--ignore-not-found", "-o", "name").strip()


def test_what_goes_past_the_limiter_is_told_and_then_evicted(lab):
    values = ("config.name=limited", "limits.enabled=true", "limits.evict=true")
    hold = ("tranche-load", "hold", "--memory", "1Gi", "--duration", "1h")
    neighbour = pod("neighbour", *hold, image="lab-glibc:1", gpus=1, node="l20")
    with Applied(lab, shared("event")), Release(lab, *values):
        wait_offer(lab, "l20", 4)
        with Applied(lab, neighbour, past_the_limiter(), without_a_grant(), BUDGET):
            before = lab.wait_pod("neighbour")["metadata"]["uid"]
            note = wait_event(lab, "Pod", "rogue", "UnregisteredProcess")
            assert note.startswith("container main: process ")
            assert "has not registered with the limiter" in note
            note = wait_event(lab, "Pod", "thief", "DeviceNotGranted")
            assert note.startswith("container main: process ")

            def holders() -> set[tuple[str, str]]:
                status = lab.get("gpunode", "l20").get("status", {})
                return {(one["wire"], one.get("pod", "")) for one in status.get("holdings", [])}

            lab.wait(lambda: ("none", "thief") in holders(), "the GPUNode shows who has no grant")
            assert {("device-plugin", "neighbour"), ("device-plugin", "rogue")} <= holders()
            assert "Pod default/" in wait_event(lab, "Node", "l20", "UnregisteredProcess")
            assert not events(lab, "Pod", "neighbour").keys() & {"UnregisteredProcess", "DeviceNotGranted"}
            annotations = lab.get("node", "l20")["metadata"].get("annotations", {})
            assert "tranche.dev/evict-requests" not in annotations

            lab.apply(shared("evict"))
            lab.wait(lambda: is_gone(lab, "rogue"), "the Pod past the limiter is evicted")
            assert "uses GPU-" in wait_event(lab, "Pod", "rogue", "LimitEviction")
            blocked = wait_event(lab, "Pod", "thief", "LimitEvictionBlocked")
            assert "PodDisruptionBudget" in blocked
            assert not is_gone(lab, "thief")
            lab.kubectl("delete", "pdb", "guarded")
            lab.wait(lambda: is_gone(lab, "thief"), "the Pod without a grant is evicted")

            def asks() -> bool:
                node = lab.get("node", "l20")["metadata"]
                return "tranche.dev/evict-requests" in {**node["labels"], **node.get("annotations", {})}

            lab.wait(lambda: not asks(), "nothing is asked for any more")
            after = lab.pod("neighbour")
            assert after["metadata"]["uid"] == before
            assert [one["restartCount"] for one in after["status"]["containerStatuses"]] == [0]
            assert lab.exec("neighbour", "cat", "/proc/1/comm").strip() == "tranche-load"


def with_runtime_hook(on: bool) -> str:
    limits = {"enforcement": "strict", "runtimeHook": on}
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
    return config_map({"version": "v1", "sharing": sharing, "tranche": {"limits": limits}})


def load_image(lab, folder, name: str, preload: str | None) -> str:
    """A static busybox, and an /etc/ld.so.preload of the image."""
    files = {"/bin/busybox": "/bin/busybox"}
    if preload is not None:
        (folder / name).write_text(preload)
        files["/etc/ld.so.preload"] = folder / name
    images.write_program(folder / f"{name}.tar", [f"{name}:1"], files)
    lab.load_archive(folder / f"{name}.tar")
    return f"{name}:1"


def test_the_runtimes_hook_tells_of_an_images_own_preload_file(lab, tmp_path):
    """It stays as long as a container has it, with any configuration."""
    specification = "/var/run/cdi/tranche.dev-limits.json"
    sleep = ("/bin/busybox", "sleep", "infinity")
    until_told = "/bin/busybox mkdir /tmp; until [ -e /tmp/end ]; do /bin/busybox sleep 1; done"
    own = load_image(lab, tmp_path, "own-preload", "# the image's\n/opt/lib/libfoo.so\n")
    plain = load_image(lab, tmp_path, "no-preload", None)
    node = next(node for node in lab.nodes if node.name == "l20")

    def is_there(path: str) -> bool:
        return node.run("test", "-e", path, check=False).code == 0

    values = ("config.name=limited", "limits.enabled=true", "limits.runtimeHook=true")
    with Applied(lab, with_runtime_hook(True)), Release(lab, *values) as release:
        wait_offer(lab, "l20", 4)
        with Applied(
            lab,
            pod("own", *sleep, image=own, gpus=1, node="l20"),
            pod("plain", *sleep, image=plain, gpus=1, node="l20"),
            pod("short", "/bin/busybox", "sh", "-c", until_told, image=plain, gpus=1, node="l20"),
        ):
            lab.wait_pod("own")
            lab.wait_pod("short")
            lab.wait_pod("plain")
            note = wait_event(lab, "Pod", "own", "ImagePreloadCovered")
            assert note.startswith("container main: /opt/lib/libfoo.so is not preloaded: the image has")
            told = wait_event(lab, "Node", "l20", "ImagePreloadCovered")
            assert told.startswith("Pod default/own: container main: /opt/lib/libfoo.so")
            # Our file is mounted over it; if the image has none runc made one, which is no finding.
            ours = "/usr/local/tranche/libtranche-limit.so\n"
            assert lab.exec("own", "/bin/busybox", "cat", "/etc/ld.so.preload") == ours
            assert lab.exec("plain", "/bin/busybox", "cat", "/etc/ld.so.preload") == ours
            assert "ImagePreloadCovered" not in events(lab, "Pod", "plain")

            # Kubelet repeats the device's name when it starts a container again.
            lab.apply(with_runtime_hook(False))
            agent = release.agents()["l20"]["metadata"]["name"]
            lab.kubectl("delete", "pod", "-n", release.namespace, agent, "--wait")
            lab.wait(lambda: "l20" in release.agents(), "the next agent")
            lab.wait_pod(release.agents()["l20"]["metadata"]["name"], namespace=release.namespace)
            assert is_there(specification)
            assert is_there("/var/lib/tranche/hook/tranche-limit-hook")
            lab.exec("short", "/bin/busybox", "touch", "/tmp/end")
            lab.wait(lambda: restarts(lab, "short") > 0, "it is started again, with the hook")
            lab.wait_pod("short")


def tenant_files(lab, node: str) -> str:
    """Each file's name, number and last change, which differ after any write."""
    return lab.node(node).run("sh", "-c", "stat -c '%n %i %z' /var/lib/tranche/tenants/*.json").out


def test_a_tenant_goes_with_its_pod_on_an_idle_node(lab):
    """Kubelet's checkpoint names a gone Pod until kubelet writes it again, which the agent
    causes."""
    user = pod("goes", "sleep", "infinity", image="lab-glibc:1", gpus=1, node="l20")
    often = ("extraEnv[0].name=TRANCHE_GRANTS_INTERVAL", "extraEnv[0].value=1s")
    values = ("config.name=limited", "limits.enabled=true", *often)
    with Applied(lab, shared("event")), Release(lab, *values) as release:
        wait_offer(lab, "l20", 4)

        def tenants() -> set:
            return set(lab.node("l20").run("sh", "-c", "ls /var/lib/tranche/tenants | grep json; true").out.split())

        earlier = tenants()  # of Pods that ended with their agents
        with Applied(lab, user):
            lab.wait_pod("goes")
            assert len(tenants() - earlier) == 1
        # It counts after a minute, and two rounds must agree.
        lab.wait(lambda: not tenants(), lambda: f"left: {tenants()}:\n{release.log('l20')}", 180)
        assert " that nobody holds: " in release.log("l20")
        held = lab.node("l20").run("cat", "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint").out
        assert not json.loads(held)["Data"]["PodDeviceEntries"]


def test_the_operator_sets_limits_of_a_container_that_runs(lab):
    """A quarter of an L20 is 11361 MiB of it. Only the agent is restarted, whose successor keeps
    what is set."""
    limits = {"enforcement": "strict", "memory": "8Gi", "compute": "10%"}
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
    config = config_map({"version": "v1", "sharing": sharing, "tranche": {"limits": limits}})
    user = pod("user", "sleep", "infinity", image="lab-glibc:1", gpus=1, node="l20")
    with Applied(lab, config), Release(lab, "config.name=limited", "limits.enabled=true") as release:
        wait_offer(lab, "l20", 4)
        with Applied(lab, user):
            lab.wait_pod("user")
            assert [can_hold(lab, "user", size) for size in ("6Gi", "10Gi")] == [True, False]
            done = limit(lab, "set", "user", "--memory", "16Gi", "--compute", "50%")
            assert done.returncode == 0, done.stderr
            assert "memory 16384 MiB, compute 50%" in done.stdout
            lab.wait(lambda: can_hold(lab, "user", "14Gi"), "the arbiter has the new limit")
            assert not can_hold(lab, "user", "18Gi")

            lab.kubectl("annotate", "pod", "user", "tranche.dev/memory=2Gi")

            # 3 x 8 GiB are promised or on offer; of 45 GiB at most 21 can be the user's.
            before = tenant_files(lab, "l20")
            done = limit(lab, "set", "user", "--memory", "32Gi")
            assert done.returncode == 1
            assert "refused: memory: 32768 MiB cannot be kept" in done.stderr
            assert "cannot be kept" in wait_event(lab, "Pod", "user", "LimitSettingRefused")
            assert can_hold(lab, "user", "14Gi"), "what was set before stands"
            assert tenant_files(lab, "l20") == before, "limits/v1 is not written in between"

            for component in ("agent", "arbiter"):
                pods = release.pods(component)
                lab.kubectl("delete", "pod", "-n", release.namespace, pods["l20"]["metadata"]["name"], "--wait")
                lab.wait(lambda kind=component: "l20" in release.pods(kind), f"the next {component}")
                successor = release.pods(component)["l20"]["metadata"]["name"]
                lab.wait_pod(successor, namespace=release.namespace)
            lab.wait(lambda: can_hold(lab, "user", "14Gi"), "the next arbiter serves")
            (shown,) = json.loads(limit(lab, "get", "user", "-o", "json").stdout)["limits"]
            assert (shown["memory"], shown["compute"], shown["state"]) == ("16Gi", "50%", "holds")

            done = limit(lab, "reset", "user")
            assert done.returncode == 0, done.stderr
            lab.wait(lambda: not can_hold(lab, "user", "4Gi"), "the annotation's limit holds now")
            assert can_hold(lab, "user", "1Gi")
            lab.kubectl("annotate", "--overwrite", "pod", "user", "tranche.dev/memory=9Gi")
            assert "annotation only lowers" in wait_event(lab, "Pod", "user", "LimitAnnotationRefused")
            lab.wait(lambda: can_hold(lab, "user", "6Gi"), "the configuration's limit is back")
            assert not can_hold(lab, "user", "10Gi")
            assert "tranche.dev/limits" not in lab.get("node", "l20")["metadata"]["annotations"]
            after = lab.pod("user")["status"]["containerStatuses"]
            assert [one["restartCount"] for one in after] == [0]
            assert limit(lab, "set", "user", "--memory", "4Gi").returncode == 0
            (listed,) = json.loads(limit(lab, "list", "-o", "json").stdout)["limits"]
            assert (listed["node"], listed["pod"], listed["state"]) == ("l20", "user", "holds")
        # The Pod is gone, and its settings have no effect.
        done = limit(lab, "list")
        assert done.returncode == 1
        assert "1 of the settings is of Pods that are gone" in done.stderr
        assert limit(lab, "prune").returncode == 0
        assert "tranche.dev/limits" not in lab.get("node", "l20")["metadata"]["annotations"]
        assert limit(lab, "list").stdout.startswith("nothing is set")
    assert limit(lab, "set", "nobody", "--memory", "1Gi").returncode == 1
    assert limit(lab, "set", "nobody").returncode == 2


def priority_class(name: str) -> str:
    return json.dumps(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 1000,
            "preemptionPolicy": "Never",
        }
    )


def classes(lab, node: str, name: str) -> list:
    """Of the tenants that the Pod's container mounts."""
    tenants = lab.exec(name, "ls", "/run/tranche").split()
    files = [f"/var/lib/tranche/tenants/{tenant}.json" for tenant in tenants]
    return [json.loads(lab.node(node).run("cat", file).out)["limits"]["priority"] for file in files]


def test_classes_by_the_pods_priority_class(lab):
    """The API server admits the Pods' priorityClassName; a Pod's owner can only lower it."""
    limits = {
        "enforcement": "elastic",
        "policy": "priority",
        "class": "best-effort",
        "priorityClasses": [
            {"name": "serving", "class": "latency-critical"},
            {"name": "batch", "class": "normal"},
        ],
    }
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
    config = config_map({"version": "v1", "sharing": sharing, "tranche": {"limits": limits}})
    names = {"server": "serving", "trainer": "batch", "other": "unmapped", "plain": ""}
    pods = [
        pod(name, "sleep", "infinity", image="lab-glibc:1", gpus=1, node="l20", priorityClassName=of)
        for name, of in names.items()
    ]
    made = [priority_class(name) for name in names.values() if name]

    def becomes(name: str, wanted: str) -> None:
        lab.wait(lambda: classes(lab, "l20", name) == [wanted], f"{name} is {wanted}")

    def annotate(name: str, word: str) -> None:
        lab.kubectl("annotate", "--overwrite", "pod", name, word)

    with Applied(lab, config, *made), Release(lab, "config.name=limited", "limits.enabled=true"):
        wait_offer(lab, "l20", 4)
        with Applied(lab, *pods):
            for name in names:
                lab.wait_pod(name)
            becomes("server", "latency-critical")
            becomes("trainer", "normal")
            becomes("other", "best-effort")
            becomes("plain", "best-effort")

            annotate("server", "tranche.dev/class=normal")
            becomes("server", "normal")
            annotate("trainer", "tranche.dev/class=latency-critical")
            told = wait_event(lab, "Pod", "trainer", "LimitAnnotationRefused")
            assert "latency-critical goes before normal" in told
            assert classes(lab, "l20", "trainer") == ["normal"]
            annotate("server", "tranche.dev/class-")
            becomes("server", "latency-critical")


@pytest.fixture
def cut(lab):
    """Replaces node mig's instances by these: a profile, and the sizes of its compute instances."""
    node = lab.node("mig")

    def make(*instances: tuple) -> None:
        node.sim("mig", "destroy", "--all")
        for profile, *compute in instances:
            sizes = [word for size in compute for word in ("--compute", size)]
            node.sim("mig", "create", "--profile", profile, *sizes)

    yield make
    make(("3g.20gb",), ("2g.10gb",), ("1g.5gb",), ("1g.5gb",))


def test_pods_in_one_gpu_instance_are_each_held_to_their_part(lab, cut):
    """A GPU instance shared in time, and one in two compute instances; each has 20096 MiB."""
    shared, one, two = (f"nvidia.com/mig-{name}" for name in ("3g.20gb.shared", "1c.3g.20gb", "2c.3g.20gb"))
    replicas = {"renameByDefault": True, "resources": [{"name": "nvidia.com/mig-3g.20gb", "replicas": 2}]}
    config = config_map({**CONFIG, "sharing": {"timeSlicing": replicas}})
    users = {"a": (shared, "8Gi", "12Gi"), "b": (shared, "8Gi", "12Gi"), "c": (one, "5Gi", "8Gi"), "d": (two, "11Gi", "15Gi")}
    pods = "\n---\n".join(
        pod(name, "sleep", "infinity", image="lab-glibc:1", gpus=1, resource=resource, node="mig")
        for name, (resource, _, _) in users.items()
    )
    cut(("3g.20gb",), ("3g.20gb", 1, 2))
    with Applied(lab, config), Release(lab, "config.name=limited", "limits.enabled=true", "mig.monitor=true"):
        for resource, count in ((shared, 2), (one, 1), (two, 1)):
            wait_offer(lab, "mig", count, resource)
        with Applied(lab, pods):
            for name in users:
                lab.wait_pod(name)
            held = {name: [can_hold(lab, name, size) for size in sizes] for name, (_, *sizes) in users.items()}
            assert held == dict.fromkeys(users, [True, False])
