"""docs/runbook.md compared with the code: every condition, reason and Event has its entry, every
line of the log that asks for action too, and the runbook has none that is not in the code."""

import re

import log_lines
import markdown
import pytest
import reasons
import yaml

PAGE = (reasons.ROOT / "docs" / "runbook.md").read_text()
ALERTS = reasons.ROOT / "deploy" / "helm" / "tranche" / "files" / "alerts.yaml"
GAP = "..."

# Warnings and errors without an entry, each with the reason why it needs none.
NO_ENTRY = {
    "labels: …": "passes on an error, which says what to do",
    "limits: …": "passes on an error, which says what to do",
    "tenant …: …": "passes on an error, which says what to do",
    "…: …; it is tried again": "passes on an error, which says what to do",
    "ClusterPolicy …: …": "the condition TrancheApplied says it",
    "Pod … is not evicted: …; …": "the Event LimitEvictionRefused says it",
    "Pod …/… on … is not evicted for MIG layout …: …": "an Event MigEviction... says it",
    "… (… times in … s)": "counts another line",
    "…: …; it is written anew": "nothing is to be done",
    "there is no …, so no node to change": "nothing is to be done",
    "process … of the MPS control daemon of … is killed": "nothing is to be done",
    "… leads no more: …": "nothing is to be done: it ends and is started anew",
    "the Lease … is not given away, another controller waits … s: …": "nothing is to be done",
    "tenant …: none of its processes handed over what the arbiter before knew of them; their "
    "memory is counted anew": "nothing is to be done",
    "annotation … is none that Tranche wrote, and is removed": "answers who applies a manifest",
    "container \"…\" has no GPU to claim: …": "answers who applies a manifest",
    "container \"…\" keeps one … for … of a GPU, though nodes are in mode dra now; apply its "
    "manifest again (delete a Pod or Job first) to have it claim that share": "says what to do",
    "… and gets more: one …, which is … of a GPU": "answers who applies a manifest",
    "…, and nothing holds containers with … to their part": "answers who applies a manifest",
}
# Messages of others, which are not in our sources.
OTHERS = {
    "ASan runtime does not come first in initial library list": "the program's sanitizer",
    "wrong ELF class": "glibc",
    "unresolvable CDI devices": "the container runtime",
    "unresolvable CDI devices tranche.dev/limits=hook": "the container runtime",
    "additional properties '...' not allowed": "Helm",
    "violates PodSecurity": "the API server",
    "cannot set MIG_MONITOR_DEVICES in non privileged container": "NVIDIA's container runtime",
    "rpc error: code = Unavailable": "kubelet",
    "connection refused": "kubelet",
    "endpoint ... has been stopped": "kubelet",
    "no healthy devices present; cannot allocate unhealthy devices": "kubelet",
    "requested number of devices unavailable for": "kubelet",
    "previously allocated devices are no longer healthy": "kubelet",
    "cannot allocate unregistered device": "kubelet",
    "helm uninstall": "a command",
    "Driver Not Loaded": "NVML",
    "RM has detected an NVML/RM version mismatch": "NVML",
    "Insufficient Permissions": "NVML",
    "libnvidia-ml.so.1": "the linker names the library",
}


def sections(text, level):
    """(heading, text below it) of each heading of a level."""
    parts = re.split(rf"^{'#' * level} +(.*?)\s*$", markdown.FENCE.sub("", text), flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


KEY = re.compile(r"((?:(`+)(?:.+?)\2|\[[^\]]*\]\([^)]*\)|[^`\[:]|:(?!\s))+):\s+(.*)", re.S)


def items(text):
    """Each item "- what is seen: what to do" as a table of one row. Text in backticks at its
    beginning is a message."""
    for item in re.findall(r"^- (.*(?:\n  +\S.*)*)", markdown.FENCE.sub("", text), re.M):
        match = KEY.match(re.sub(r"\s+", " ", item))
        key, do = match.group(1, 3) if match else (item, "")
        yield ["line" if key.startswith("`") else "you see", "do"], [[key, do]]


def tables(text):
    """(head, rows) of every table and list."""
    yield from items(text)
    for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.M):
        lines = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in block.splitlines()]
        cells = [[cell.strip() for cell in line] for line in lines]
        yield cells[0], cells[2:]


def spans(cell):
    """The texts in backticks."""
    return [match.group(2).strip() for match in markdown.CODE_SPAN.finditer(cell)]


def names(section):
    """The reasons that the entries of a section begin with."""
    found = []
    for head, rows in tables(markdown.section(PAGE, section)):
        if head[0] == "line":
            found += [name for row in rows for name in spans(row[0])]
    return found


def messages():
    """The messages that have a row, anywhere on the page."""
    for head, rows in tables(PAGE):
        if head[0] == "line":
            for row in rows:
                yield from spans(row[0])


def pieces(message):
    """The fixed words between the variable ones. Programs in containers prefix their name."""
    parts = message.removeprefix("tranche: ").split(GAP)
    return [piece for piece in (part.strip(" ;:,") for part in parts) if piece]


def is_said_by(message, line):
    """Whether the words of a message are in a line, in their order."""
    at = 0
    for piece in pieces(message):
        at = line.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return sum(map(len, pieces(message))) > 8


def every_text():
    """All texts of the sources and of the chart."""
    texts = [log_lines.line_of(p.read_text()) for p in sorted(log_lines.SOURCE.rglob("*.cpp"))]
    texts += [log_lines.line_of(p.read_text()) for p in sorted(log_lines.SOURCE.rglob("*.h"))]
    chart = reasons.ROOT / "deploy" / "helm" / "tranche"
    texts += [p.read_text() for p in sorted(chart.rglob("*")) if p.is_file()]
    return "\n".join(texts)


def test_every_condition_has_a_heading():
    told = [spans(head)[0] for head, _ in sections(markdown.section(PAGE, "Conditions"), 3)]
    assert sorted(told) == sorted(reasons.CONDITIONS)


def test_every_reason_of_a_condition_has_an_entry_below_its_condition():
    wanted = {}
    for macro, words in reasons.entries():
        if macro == "CONDITION_REASON":
            wanted.setdefault(words[0], []).append(words[1])
    told = {}
    for head, text in sections(markdown.section(PAGE, "Conditions"), 3):
        told[spans(head)[0]] = [
            name for _, rows in tables(text) for row in rows for name in spans(row[0])
        ]
    assert {k: sorted(v) for k, v in told.items()} == {k: sorted(v) for k, v in wanted.items()}


def test_every_event_has_an_entry():
    assert sorted(names("Events")) == sorted(reasons.EVENTS)


def test_every_reason_of_a_claims_device_has_an_entry():
    told = dict(sections(markdown.section(PAGE, "Symptoms"), 3))["A claim's device is not Ready"]
    rows = [name for _, table in tables(told) for row in table for name in spans(row[0])]
    assert sorted(rows) == sorted(reasons.DEVICE_REASONS)


def test_every_entry_says_what_to_do():
    for section in ("Conditions", "Events", "Log lines"):
        for head, rows in tables(markdown.section(PAGE, section)):
            assert head[-1] == "do", head
            assert not [row for row in rows if len(row) != len(head) or not row[-1]]


@pytest.mark.parametrize("place, line", sorted(set(log_lines.lines())))
def test_a_line_of_the_log_has_an_entry(place, line):
    if line in NO_ENTRY:
        return
    assert any(is_said_by(message, line) for message in messages()), (
        f"{place}: '{line}' has no entry in docs/runbook.md; if it asks for nothing, it belongs to "
        "NO_ENTRY with the reason"
    )


@pytest.mark.parametrize("place, line", sorted(set(log_lines.limiter_lines())))
def test_what_the_limiter_says_has_an_entry(place, line):
    told = markdown.section(PAGE, "In the output of a program")
    rows = [name for _, table in tables(told) for row in table for name in spans(row[0])]
    assert any(is_said_by(message, line) for message in rows), f"{place}: '{line}' has no row"


def test_what_needs_no_entry_is_there():
    said = {line for _, line in log_lines.lines()}
    assert sorted(set(NO_ENTRY) - said) == []


TEXTS = every_text()


@pytest.mark.parametrize("message", sorted(set(messages()) - set(reasons.NAMES)))
def test_a_message_of_the_runbook_is_said(message):
    if message in OTHERS:
        return
    missing = [piece for piece in pieces(message) if piece not in TEXTS]
    assert pieces(message) and not missing, f"nobody says {missing}"


def test_messages_of_others_are_in_the_runbook():
    assert sorted(set(OTHERS) - set(messages())) == []


# Conditions of the Node that are no alert while they are False, each with the reason.
NO_ALERT = {
    "TrancheClaimsDrained": "who turned claims off waits for Pods, and may want to for days",
    "TrancheDevicesFree": "who changed the configuration waits for Pods, and may want to for days",
}


def test_alerts_are_of_the_conditions_that_there_are():
    rules = yaml.safe_load(ALERTS.read_text())
    alerts = {rule["alert"]: rule for group in rules["groups"] for rule in group["rules"]}
    told = {name for _, rows in tables(markdown.section(PAGE, "Alerts")) for row in rows
            for name in spans(row[0])}
    assert told == set(alerts)
    assert all(rule["annotations"]["summary"] for rule in alerts.values())
    asked = re.search(r'condition=~"([^"]+)"', alerts["TrancheNodeConditionFalse"]["expr"])
    assert sorted(asked.group(1).split("|")) == sorted(set(reasons.NODE_CONDITIONS) - set(NO_ALERT))
