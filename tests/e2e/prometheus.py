"""Pages of metrics, as a test reads them."""

import math
import re

LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')


class Page:
    """Values by name and labels. page["name"]: the value of a name that has one series."""

    def __init__(self, text: str):
        self._series: dict[str, dict[frozenset, float]] = {}
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            match = LINE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            series = self._series.setdefault(name, {})
            key = frozenset(LABEL.findall(labels or ""))
            assert key not in series, f"twice: {line}"
            series[key] = float(value)
            assert math.isfinite(series[key]), line

    def __iter__(self):
        return iter(self._series)

    def __contains__(self, name: str) -> bool:
        return name in self._series

    def all(self, name: str) -> dict[frozenset, float]:
        return self._series[name]

    def __getitem__(self, name: str) -> float:
        [value] = self.all(name).values()
        return value

    def labels(self, name: str) -> dict[str, str]:
        """Of its first series."""
        return dict(next(iter(self.all(name))))

    def by(self, name: str, label: str) -> dict[str, float]:
        """The values by a label; the series have no other difference."""
        found = {dict(key).get(label, ""): value for key, value in self.all(name).items()}
        assert len(found) == len(self.all(name)), (name, label)
        return found
