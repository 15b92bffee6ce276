"""docs/runbook.md on MIG changes: every reason and Event of a change has its entry there, and every
quoted message is in a source."""

import re

import markdown
import pytest
import reasons
from test_runbook import PAGE, TEXTS, pieces, spans, tables

SECTIONS = ("`TrancheMigLayout` of the Node", "`TrancheMigPlanned` of the Node", "Of changes of the MIG layout", "MIG changes")
SECTION = "\n".join(markdown.section(PAGE, name) for name in SECTIONS)
# Reasons without a remedy, or of something else: a ClusterPolicy.
FINE = set("""MigStrategyUnknown MigPlanned MigChanged MigUnmanaged MigChangeAnnounced MigUncordoned
            MigPoolDone MigEviction""".split())


def messages():
    """What the tables quote in their first column, without names and values."""
    for _, rows in tables(SECTION):
        for row in rows:
            yield from (span for span in spans(row[0]) if " " in span and "=" not in span)


@pytest.mark.parametrize("message", sorted(set(messages())))
def test_a_message_is_said(message):
    missing = [piece for piece in pieces(message) if piece not in TEXTS]
    assert pieces(message) and not missing, f"nobody says {missing}"


def test_every_reason_has_an_entry():
    wanted = {name for name in reasons.NAMES if name.startswith("Mig")} - FINE
    assert wanted and not {name for name in wanted if f"`{name}`" not in SECTION}


def test_every_phase_has_an_entry():
    words = re.findall(r'Phase::k\w+, std::string_view\("(\w+)"\)', (reasons.ROOT / "src/sharing/mig/journal.cpp").read_text())
    assert words and not {word for word in words if f"`{word}`" not in SECTION}
