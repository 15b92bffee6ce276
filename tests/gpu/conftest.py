"""Chooses the machine (machine.py), and assembles the tests' report."""

import datetime
import os
import pathlib

import machine
import pytest


@pytest.fixture(scope="session")
def enter():
    try:
        return machine.namespaces()
    except machine.Missing as missing:
        # With a real GPU this is a failure; elsewhere the machine just cannot run these.
        (pytest.fail if machine.REAL else pytest.skip)(str(missing))


@pytest.fixture
def gpu(tmp_path):
    try:
        return machine.open_gpu(tmp_path)
    except machine.Missing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture
def served(gpu, enter, tmp_path):
    """An arbiter on the GPU, which makes containers."""
    with machine.served(gpu, tmp_path, enter) as out:
        yield out
        # A context manager does not see a test's failure, which the arbiter's log may explain.
        print(out.arbiter.log)


@pytest.fixture
def tell(record_property, gpu):
    """tell(what, figure): a row of the report."""
    record_property("machine", _machine_of(gpu))
    return lambda what, figure: record_property("figure", [what, figure])


def _machine_of(gpu) -> str:
    kind = "" if machine.REAL else " (simulated)"
    others = f"; {gpu.others} other processes on it" if gpu.others else ""
    return f"{gpu.name}{kind}, {gpu.total // machine.MiB} MiB, driver {gpu.driver}{others}"


def pytest_terminal_summary(terminalreporter):
    """The report in markdown: printed with a real GPU, written where TRANCHE_GPU_REPORT says."""
    path = os.environ.get("TRANCHE_GPU_REPORT")
    if not machine.REAL and path is None:
        return
    text = _markdown(terminalreporter.stats)
    if path is None:
        terminalreporter.write(text)
    else:
        pathlib.Path(path).write_text(text)


def _markdown(stats) -> str:
    ended = [r for kind in ("passed", "failed", "skipped", "error") for r in stats.get(kind, []) if _counts(r)]
    ended.sort(key=lambda report: report.nodeid)
    machines = {value for r in ended for key, value in r.user_properties if key == "machine"}
    lines = [f"{', '.join(sorted(machines)) or 'no GPU'}, {datetime.date.today()}, Linux {os.uname().release}", ""]
    lines += ["| test | result |", "|---|---|"]
    for report in ended:
        name = report.nodeid.rpartition("/")[2].replace("|", "\\|")
        lines.append(f"| {name} | {_result(report)} |")
    lines += ["", "| what | measured |", "|---|---|"]
    for report in ended:
        lines += [f"| {value[0]} | {value[1]} |" for key, value in report.user_properties if key == "figure"]
    return "\n".join(lines) + "\n"


def _counts(report) -> bool:
    """A test counts once: by its call, or by what prevented it."""
    return "tests/gpu/" in report.nodeid and (report.when == "call" or not report.passed)


def _result(report) -> str:
    if report.skipped:
        return f"not run: {report.longrepr[2].removeprefix('Skipped: ')}"
    if report.passed:
        return "passed"
    crash = getattr(report.longrepr, "reprcrash", None)
    reason = (crash.message if crash else str(report.longrepr)).splitlines()[0]
    return f"**failed**: {reason}".replace("|", "\\|")
