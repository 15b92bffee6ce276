"""The chart's policy gives the same result as the admission webhook's own code
(src/kubernetes/admission/)."""

import copy
import json
import os
import pathlib
import random
import subprocess

import pytest
from fractions_policy import MODELS, RECORD, SERVED, admitted, installed, shown, values
from helm import ROOT
from json_patch import patched
from workloads import KINDS, container, pod, template_of, within

REWRITE = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve() / "tests/rewrite_lines"


@pytest.fixture(scope="module")
def fractions(server, tmp_path_factory):
    with installed(server, tmp_path_factory.mktemp("helm")) as server:
        yield server


@pytest.fixture(scope="module")
def webhook():
    """An object as the webhook rewrites it; a string: the reason of a refusal."""
    if not REWRITE.exists():
        pytest.skip(f"no {REWRITE}: make builds it")
    models = [f"{m['product']}={m['memory']}" for m in MODELS]
    program = subprocess.Popen([REWRITE, *models], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rewrite(item: dict):
        program.stdin.write(json.dumps(item) + "\n")
        program.stdin.flush()
        answer = json.loads(program.stdout.readline())
        return answer if isinstance(answer, str) else patched(item, answer)

    yield rewrite
    program.stdin.close()
    assert program.wait(10) == 0


@pytest.mark.parametrize("percent", [25, 50, 75])
def test_the_templates_are_the_webhooks(helm, percent):
    if not REWRITE.exists():
        pytest.skip(f"no {REWRITE}: make builds it")
    models = [f"{m['product']}={m['memory']}" for m in MODELS]
    done = subprocess.run([REWRITE, *models, "--template", str(percent)], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    rendered = helm.template(values(namespaces=["shop", "lab"]), *SERVED)
    for namespace in ("shop", "lab"):
        (ours,) = [
            o for o in rendered.of("ResourceClaimTemplate")
            if o["metadata"]["name"] == theirs["metadata"]["name"] and o["metadata"]["namespace"] == namespace
        ]
        assert ours["spec"] == theirs["spec"]
        assert ours["metadata"]["labels"].items() >= theirs["metadata"]["labels"].items()


def random_pod(dice: random.Random) -> dict:
    """With containers that ask, have asked, or have claims of their user's."""
    has_mine = dice.random() < 0.3
    claims = [{"name": "mine", "resourceClaimTemplateName": "net"}] if has_mine else []
    lists = {"containers": [], "initContainers": []}
    for name in dice.sample(["a", "b", "c-d", "e--f", "main", "z9"], dice.randint(1, 4)):
        resources = {}
        asks = dice.random() < 0.7
        amount = f"{dice.randint(1, 99) * 10}m" if dice.random() < 0.85 else dice.choice(["0", "1", "2"])
        if asks:
            resources["limits"] = {"nvidia.com/gpu": amount}
        if dice.random() < 0.4:
            resources.setdefault("limits", {})["cpu"] = "1"
        if dice.random() < 0.3 or asks:
            resources["requests"] = dict(resources.get("limits", {"cpu": "1"}))
        used = [{"name": "mine"}] if has_mine and dice.random() < 0.5 else []
        if dice.random() < 0.4:
            own = "tranche-gpu-" + name.replace("--", "-")
            claims.append({"name": own, "resourceClaimTemplateName": f"tranche-gpu-{dice.randint(1, 99)}"})
            used.append({"name": own})
        dice.shuffle(used)
        if used:
            resources["claims"] = used
        lists[dice.choice(["containers", "containers", "initContainers"])].append(container(name, **resources))
    dice.shuffle(claims)
    if not lists["containers"]:
        lists["containers"].append(container("last"))
    annotations = {"mine": "1"} if dice.random() < 0.5 else None
    made = pod(*lists["containers"], namespace="any", annotations=annotations)
    for key, value in (("initContainers", lists["initContainers"]), ("resourceClaims", claims)):
        if value:
            made["spec"][key] = value
    return made


def asks_for_a_fraction(item: dict) -> bool:
    spec = template_of(item)["spec"]
    return any(
        c.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", "").endswith("m")
        for c in [*spec["containers"], *spec.get("initContainers", [])]
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_policy_makes_what_the_webhook_makes(fractions, webhook, seed):
    dice = random.Random(seed)
    item = within(dice.choice(KINDS), random_pod(dice))
    while not asks_for_a_fraction(item):
        item = within(dice.choice(KINDS), random_pod(dice))
    theirs = webhook(item)
    assert isinstance(theirs, dict), theirs
    ours = admitted(fractions, item)
    assert shown(ours) == shown(theirs)
    # Again with the manifest over it: limits and requests, in addition to the claims.
    again = copy.deepcopy(item)
    template_of(again)["spec"]["resourceClaims"] = shown(theirs)["claims"]
    template_of(again)["metadata"].setdefault("annotations", {})[RECORD] = shown(theirs)["annotations"][RECORD]
    for key in ("containers", "initContainers"):
        for one in template_of(again)["spec"].get(key, []):
            had = shown(theirs)["resources"].get(one["name"], {})
            one.setdefault("resources", {}).pop("claims", None)
            if "claims" in had:
                one["resources"]["claims"] = had["claims"]
    assert shown(admitted(fractions, again)) == shown(webhook(again)) == shown(theirs)
