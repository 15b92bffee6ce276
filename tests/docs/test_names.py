"""What the pages name in code exists: paths, commands, flags of their program, labels and
annotations, environment variables, values of the chart, reasons and other words, metrics."""

import names_of_others
import names_there
import page_names
import pytest
from tree import ROOT, tracked

PAGES = [name for name in tracked() if name.endswith(".md")]
# A plan names what is to come and what is gone.
NOT_THERE_YET = {"docs/roadmap.md": ("command", "flag", "word")}


def missing(text, but=()):
    return [
        (line, kind, name)
        for line, kind, name, command in page_names.names(text)
        if kind not in but and not names_there.has(kind, name, command)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    text = (ROOT / page).read_text()
    told = missing(text, NOT_THERE_YET.get(page, ()))
    assert not told, "\n".join(f"{page}:{line}: there is no {kind} {name}" for line, kind, name in told)


def test_pages_name_something_of_each_kind():
    named = {name[1] for page in PAGES for name in
             page_names.names((ROOT / page).read_text())}
    assert named == {"command", "flag", "label", "metric", "path", "value", "variable",
                     "word"}


# A wrong name, planted in each form in which pages write it.
@pytest.mark.parametrize(
    "text, kind, name",
    [
        ("see `src/sharing/offer/offers.h`", "path", "src/sharing/offer/offers.h"),
        ("a room `kubernetes/deviceplugins/`", "path", "kubernetes/deviceplugins/"),
        ("both `tools/{layers,player}.py`", "path", "tools/player.py"),
        ("the file `/var/lib/tranche/grantz`", "path", "/var/lib/tranche/grantz"),
        ("the file `<state>/grants/grantz.jsonl`", "path", "<state>/grants/grantz.jsonl"),
        ("text\n\n    cat deploy/daemonsets.yaml\n", "path", "deploy/daemonsets.yaml"),
        ("run `tranche survey`", "command", "tranche survey"),
        ("text\n\n    kubectl tranche layout draw\n", "command", "tranche layout draw"),
        ("the flag `--mig-manger`", "flag", "--mig-manger"),
        ("`tranche limit set POD --model x`", "flag", "--model"),
        ("`kubectl tranche limit get POD --memory`", "flag", "--memory"),
        ("```\nA=1 tranche agent \\\n  --stay\n```", "flag", "--stay"),
        ("`kubectl exec POD -- tranche agent --check=live --previous`", "flag", "--previous"),
        ("`kubectl get pods | tranche lint - --fix`", "flag", "--fix"),
        ("`kubectl get pods --mig-manager`", "flag", "--mig-manager"),
        ("`gpu-feature-discovery --dra`", "flag", "--dra"),
        ("`build/bin/tranche-sim --cheat`", "flag", "--cheat"),
        ("the label `tranche.dev/modes`", "label", "tranche.dev/modes"),
        ("`kubectl label node NODE nvidia.com/mig.configs=x`", "label", "nvidia.com/mig.configs"),
        ("`tranche.dev/gpu-memories.<container>`", "label", "tranche.dev/gpu-memories.<container>"),
        ("the variable `TRANCHE_STATE_DIRS`", "variable", "TRANCHE_STATE_DIRS"),
        ("the Event `GpuUnhealhty`", "word", "GpuUnhealhty"),
        ("the condition `TrancheServes`", "word", "TrancheServes"),
        ("the metric `tranche_gpus_total`", "metric", "tranche_gpus_total"),
        ("set `limits.enable=true`", "value", "limits.enable"),
        ("text\n\n    helm install tranche . --set mig.manager=true\n", "value", "mig.manager"),
    ],
)
def test_a_wrong_name_is_found(text, kind, name):
    assert (kind, name) in [found[1:] for found in missing(text)]


@pytest.mark.parametrize(
    "text",
    [
        "`src/sharing/offer/offer.h`, `offer/offer.h`, `sharing/`, `tests/data/*/README.md`",
        "`<state>/grants/grants.jsonl`, `/var/lib/tranche`, `build/bin/tranche`, `claim/NAME`",
        "`tranche limit set POD --memory 8Gi`, `kubectl tranche limit list --help`",
        "`kubectl -n NS exec POD -- tranche agent --check=ready`, `tranche lint claim.yaml`",
        "`gpu-feature-discovery --oneshot --output=`, `build/bin/tranche-load --mechanisms`",
        "`kubectl label node NODE tranche.dev/mig-change-`, `nvidia.com/mig-1g.5gb`",
        "`tranche.dev/gpu-memory.<container>`, `tranche.dev/...`, `limits.enabled=true`",
        "`TRANCHE_STATE_DIR`, `GpuUnhealthy`, `TrancheServing`, `OUT_OF_MEMORY`",
    ],
)
def test_a_right_name_is_found(text):
    assert missing(text) == []


def test_names_of_others_are_in_some_page():
    pages = "\n".join((ROOT / page).read_text() for page in PAGES)
    flags = {flag for flags in names_of_others.FLAGS.values() for flag in flags}
    assert not {name for name in {*flags, *names_of_others.WORDS, *names_of_others.LABELS}
                if name not in pages}
