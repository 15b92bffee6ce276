"""docs/doctor.md has every check of node_checks.def, in its words."""

import re

from tree import ROOT

CHECK = re.compile(r'CHECK\((\w+), "[^"]*", "([^"]*)",\s*"([^"]*)"\)')


def test_every_check_is_on_the_page():
    table = (ROOT / "src/advice/explain/node/node_checks.def").read_text()
    page = " ".join((ROOT / "docs/doctor.md").read_text().split())
    checks = CHECK.findall(table)
    assert len(checks) == len(re.findall(r"^CHECK\(", table, re.MULTILINE)) > 10
    assert [one for one in checks if f"**TRN-{one[0]}** {one[1]}: {one[2]}" not in page] == []
    assert sorted(re.findall(r"\*\*(TRN-\w+)\*\*", page)) == [f"TRN-{one[0]}" for one in checks]
