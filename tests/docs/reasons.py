"""The list of conditions and Events (src/kubernetes/cluster/formats/reasons.def), as the tests of the documentation
read it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
LIST = SOURCE / "kubernetes" / "cluster" / "formats" / "reasons.def"
ENTRY = re.compile(r"^(CONDITION|CONDITION_REASON|EVENT|DEVICE_REASON)\(([^\"]*)", re.M)


def entries():
    """The words of each line: its macro, then its arguments before the text."""
    for macro, words in ENTRY.findall(LIST.read_text()):
        yield macro, [word.strip() for word in words.split(",") if word.strip()]


CONDITIONS = [words[0] for macro, words in entries() if macro == "CONDITION"]
NODE_CONDITIONS = [w[0] for macro, w in entries() if macro == "CONDITION" and w[1] == "Node"]
CONDITION_REASONS = [words[1] for macro, words in entries() if macro == "CONDITION_REASON"]
EVENTS = [words[0] for macro, words in entries() if macro == "EVENT"]
DEVICE_REASONS = [words[0] for macro, words in entries() if macro == "DEVICE_REASON"]
NAMES = [*CONDITIONS, *CONDITION_REASONS, *EVENTS, *DEVICE_REASONS]
