"""A day of load on which no alert fires, and an hour of it into which each fault is put: its alert fires within a
minute, and no other does."""

import pytest
import yaml
from helm import CHART
from load_day import GIB, HOUR, Day
from prometheus_programs import find_promtool, promtool

ALERTS = CHART / "files/alerts.yaml"
pytestmark = pytest.mark.skipif(find_promtool() is None, reason="no promtool: tools/setup.sh test gets it")

FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
# Scrapes are 15 s apart, so a fault may be this much older than the first series that shows it.
STEP = 15
FAULT = 40  # the step from which on series show it


def samples(names) -> list[dict]:
    return [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names]


def run(tmp_path, interval: str, tests: list[dict]):
    case = tmp_path / "day.yaml"
    text = {"rule_files": [str(ALERTS)], "evaluation_interval": interval, "tests": tests}
    case.write_text(yaml.dump(text, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    done = promtool("test", "rules", case)
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]


def test_on_a_day_of_load_no_alert_fires(tmp_path):
    day = Day(seconds=24 * HOUR, step=60)
    pods = [name for name in day.series if name.startswith("tranche_container_attributed")]
    assert len(pods) > 120
    quiet = {"expr": 'count_over_time(ALERTS{alertstate="firing"}[1d])', "eval_time": "24h", "exp_samples": []}
    # That rules were looked at: what waited for its time is kept too.
    waited = {"expr": 'count(count by (alertname) (count_over_time(ALERTS{alertstate="pending"}[1d]))) >= bool 7',
              "eval_time": "24h", "exp_samples": [{"labels": "{}", "value": 1}]}
    # Each minute would take twice as long, and what is wrong lasts.
    run(tmp_path, "2m", [{"interval": "60s", "input_series": day.input_series(), "promql_expr_test": [quiet, waited]}])


def series(day: Day, *words: str) -> list:
    """The first one that has a value at the fault and a while before and after it."""
    for name, line in day.series.items():
        if all(word in name for word in words) and None not in line[FAULT - 5 : FAULT + 4]:
            return line
    raise AssertionError(f"no series with {words}")


def labels_of(day: Day, *words: str) -> str:
    line = series(day, *words)
    return next(name.split("{", 1)[1] for name, one in day.series.items() if one is line)


def set_from(line: list, value, first: int = FAULT):
    """value: a number, or a function of the steps since then."""
    for tick in range(first, len(line)):
        line[tick] = value(tick - first) if callable(value) else value


def waiting(day: Day, resource: str, mechanism: str, tier: str, at_fault: float):
    """A Pod that has waited for so long when the fault begins."""
    first = max(0, FAULT - int(at_fault // STEP))
    values = [at_fault + (tick - FAULT) * STEP for tick in range(first, day.ticks)]
    labels = {"namespace": "team-1", "resource": resource, "mechanism": mechanism, "tier": tier, "cause": "not-enough"}
    day.put("tranche_pending_oldest_seconds", labels, first, values)


def vram_pressure(day):
    set_from(series(day, "tranche_gpu_memory_bytes", 'gpu="GPU-n2-0"', 'use="free"'), GIB // 4)
    set_from(series(day, "tranche_gpu_memory_bytes", 'gpu="GPU-n2-0"', 'use="containers"'), 15 * GIB + GIB // 2)


def sized_below_peak(day):
    set_from(series(day, "memory_peak_bytes", 'node="n2"'), 5 * GIB)


def near_its_limit(day):
    set_from(series(day, "memory_peak_bytes", 'node="n1"'), 4 * GIB - (100 << 20))


def outside_its_limit(day):
    set_from(series(day, "memory_used_bytes", 'node="n3"'), 4 * GIB)


def starved(day):
    labels = labels_of(day, "compute_seconds_total", 'node="n1"')
    compute = day.series["tranche_container_compute_seconds_total{" + labels]
    waits = day.series["tranche_container_wait_seconds_total{" + labels]
    for tick in range(FAULT - 20, day.ticks):  # it wants the GPU all the time
        if waits[tick] is not None:
            waits[tick] = tick * STEP * 0.9
            compute[tick] = min(tick, FAULT - 1) * STEP * 0.25 + max(0, tick - FAULT + 1) * STEP * 0.08


def topology(day):
    labels = {"reason": "TopologyAffinityError", "node": "n5", "product": "NVIDIA-A100-80GB"}
    day.put("tranche_rejected_pods", labels, FAULT, [1] * (day.ticks - FAULT))


def mig_exhausted(day):
    set_from(series(day, "tranche_capacity_tranches", 'mechanism="mig"', 'state="free"'), 0)
    waiting(day, "nvidia.com/mig-2g.20gb", "mig", "", 0)


def drift(day):
    set_from(series(day, "tranche_configuration", 'node="n1"', 'state="older"'), 1)
    set_from(series(day, "tranche_configuration", 'node="n1"', 'state="current"'), 0)


def sums(day):
    set_from(series(day, "tranche_gpu_memory_excess_bytes", 'gpu="GPU-n1-0"'), GIB)


FAULTS = {
    "TrancheSharedGpuMemoryPressure": vram_pressure,
    "TrancheSizedBelowPeak": sized_below_peak,
    "TrancheContainerNearItsLimit": near_its_limit,
    "TrancheContainerOutsideItsLimit": outside_its_limit,
    "TrancheContainerStarved": starved,
    "TrancheTopologyRejects": topology,
    "TrancheMigProfileExhausted": mig_exhausted,
    "TrancheConfigurationDrift": drift,
    "TrancheMemorySumsDoNotClose": sums,
    "TrancheXid": lambda day: set_from(series(day, "XID_ERRORS", 'UUID="GPU-n5-0"'), 79),
    "TrancheMetricsAttributionDegraded": lambda day: set_from(series(day, "tranche_check", 'check="pods"'), 0),
    # These begin when the wait has become too long.
    "TrancheGpuQueueRising": lambda day: waiting(day, "nvidia.com/gpu", "exclusive", "", 600),
    "TrancheTierWaitExceeded": lambda day: waiting(day, "nvidia.com/gpu.mps", "mps", "gold", 300),
    "TranchePendingLong": lambda day: waiting(day, "nvidia.com/gpu.open", "time-slicing", "", 3600),
}


def test_each_fault_is_told_within_a_minute_and_nothing_else_is(tmp_path):
    tests = []
    for alert, put in FAULTS.items():
        day = Day(seconds=20 * 60, step=STEP, begin=15 * HOUR, seed=11)
        put(day)
        before = {"expr": FIRING, "eval_time": f"{(FAULT - 1) * STEP}s", "exp_samples": []}
        after = {"expr": FIRING, "eval_time": f"{FAULT * STEP + 45}s", "exp_samples": samples([alert])}
        tests.append({"name": alert, "interval": f"{STEP}s", "input_series": day.input_series(),
                      "promql_expr_test": [before, after]})
    run(tmp_path, f"{STEP}s", tests)
