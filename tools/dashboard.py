#!/usr/bin/env python3
"""Writes the chart's Grafana dashboard: tools/dashboard.py > deploy/helm/tranche/files/dashboard.json

A row is a list of panels, from left to right; the lists at the end are the dashboard. Figures of agents are taken as the
maximum over `instance`, because two agents serve a node while one takes over from the other. Figures of GPUs stand
under no Pod, so they are never summed by one.
"""

import json
import sys

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDE = 24
# Which of a container's labels a panel tells it by.
CONTAINER = "namespace, pod, container, node, device"
NAME = "{{namespace}}/{{pod}} {{container}}"
OF_NODE = '{node=~"$node"}'
OF_PODS = '{node=~"$node", namespace=~"$namespace", pod=~"$pod"}'


def per_container(metric: str, function: str = "", window: str = "") -> str:
    series = f"{metric}{OF_PODS}"
    return f"max by ({CONTAINER}) ({f'{function}({series}[{window}])' if function else series})"


def dcgm(old: str, new: str, factor: str = "") -> str:
    """A figure of GPUs by the names of either generation; factor: from the old unit to the new."""
    of_node = '{hostname=~"$node"}'
    return f"max by (hostname, gpu, UUID, GPU_I_ID, GPU_I_PROFILE) ({new}{of_node} or {old}{of_node}{factor})"


def target(expression: str, legend: str = "", table: bool = False) -> dict:
    made = {"datasource": DATASOURCE, "expr": expression, "legendFormat": legend or "__auto"}
    return made | ({"format": "table", "instant": True} if table else {"range": True})


def panel(kind: str, title: str, description: str, targets: list[dict], unit: str = "short", width: int = 8, **more) -> dict:
    for ref, one in zip("ABCDEFGH", targets, strict=False):
        one["refId"] = ref
    defaults = {"unit": unit} | more.pop("defaults", {})
    return {"type": kind, "title": title, "description": description, "datasource": DATASOURCE, "targets": targets,
            "fieldConfig": {"defaults": defaults, "overrides": more.pop("overrides", [])}, "width": width} | more


def lines(title: str, description: str, *targets: dict, unit: str = "short", width: int = 8, stacked: bool = False, **more) -> dict:
    custom = {"fillOpacity": 30, "stacking": {"mode": "normal"}} if stacked else {"fillOpacity": 5}
    defaults = {"custom": custom, "min": 0} | more.pop("defaults", {})
    options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
    return panel("timeseries", title, description, list(targets), unit, width, defaults=defaults, options=options, **more)


def number(title: str, description: str, expression: str, width: int = 4, red_from: float | None = None, unit: str = "short") -> dict:
    steps = [{"color": "green", "value": None}] + ([{"color": "red", "value": red_from}] if red_from is not None else [])
    return panel("stat", title, description, [target(expression)], unit, width,
                 defaults={"thresholds": {"mode": "absolute", "steps": steps}},
                 options={"reduceOptions": {"calcs": ["lastNotNull"]}})


def bars(title: str, description: str, expression: str, legend: str, unit: str, width: int = 8, limits: tuple = ()) -> dict:
    steps = [{"color": "green", "value": None}, *({"color": color, "value": value} for color, value in limits)]
    defaults = {"thresholds": {"mode": "absolute", "steps": steps}, "min": 0} | ({"max": 1} if unit == "percentunit" else {})
    one = target(expression, legend) | {"instant": True, "range": False}
    return panel("bargauge", title, description, [one], unit, width, defaults=defaults,
                 options={"orientation": "horizontal", "displayMode": "basic", "reduceOptions": {"calcs": ["lastNotNull"]}})


def table(title: str, description: str, columns: dict[str, tuple[str, str]], width: int = 12) -> dict:
    """columns: an expression and its unit by title. They are joined by their labels."""
    targets = [target(expression, table=True) for expression, _ in columns.values()]
    names = {f"Value #{ref}" if len(columns) > 1 else "Value": title for ref, title in zip("ABCDEFGH", columns, strict=False)}
    units = [{"matcher": {"id": "byName", "options": title}, "properties": [{"id": "unit", "value": unit}]}
             for title, (_, unit) in columns.items()]
    tidy = {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": names}}
    return panel("table", title, description, targets, "short", width, overrides=units,
                 transformations=[{"id": "merge", "options": {}}, tidy])


KINDS = "resource, mechanism, tier"
WAITS = '{namespace=~"$namespace"}'

FLEET = [
    number("GPUs", "Physical GPUs of the nodes.", f"sum(max by (node) (node_gpu_count{OF_NODE}))"),
    number("Nodes without figures", "Nodes whose agents do not answer the controller.",
           'sum(max by (reporting) (tranche_nodes{reporting!="fresh"}))', red_from=1),
    number("Pods that wait", "Pods that ask for GPUs and do not run.",
           f"sum(max by (namespace, {KINDS}, cause) (tranche_pending_pods{WAITS})) or 0 * max(tranche_controller_leads == 1)"),
    bars("How much is free of each kind", "What a new Pod can have now: tranche_capacity_tranches.",
         f'sum by (mechanism, resource, tier) (max by ({KINDS}) (tranche_capacity_tranches{{state="free"}}))',
         "{{resource}} ({{mechanism}}) {{tier}}", "short", 12),
    table("Why Pods wait", "By cause, and how long the oldest has waited. One Pod's reason: the controller's page, or tranche top.",
          {"Pods": (f"max by (namespace, {KINDS}, cause) (tranche_pending_pods{WAITS})", "short"),
           "longest wait": (f"max by (namespace, {KINDS}, cause) (tranche_pending_oldest_seconds{WAITS})", "s")}),
    lines("Used and free, by mechanism", "Withheld: unhealthy, or held in another way.",
          target(f'sum by (mechanism, state) (max by ({KINDS}, state) (tranche_capacity_tranches{{state!="advertised"}}))',
                 "{{mechanism}} {{state}}"), width=12, stacked=True),
]

GPUS = [
    lines("Utilisation", "Part of the time in which a kernel ran; none of a GPU in MIG mode.",
          target(dcgm("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", " / 100"), "{{hostname}} {{gpu}}"), unit="percentunit"),
    lines("Memory, by use", "Of all GPUs of the nodes. Unattributed: used, and no process's.",
          target(f"sum by (use) (max by (node, gpu, use) (tranche_gpu_memory_bytes{OF_NODE}))", "{{use}}"),
          unit="bytes", stacked=True),
    lines("Engines", "Of GPUs and MIG instances, where the driver has GPM (Hopper and later).",
          target(dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"),
                 "{{hostname}} {{gpu}} {{GPU_I_PROFILE}} {{GPU_I_ID}}"), unit="percentunit"),
    lines("Temperature", "", target(dcgm("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS"), "{{hostname}} {{gpu}}"),
          unit="celsius"),
    lines("Power", "", target(dcgm("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"), "{{hostname}} {{gpu}}"),
          unit="watt"),
    table("Last XID", "Since the agent's start; no line: none.",
          {"XID": (dcgm("DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"), "none")}, 8),
]

PODS = [
    table("Who uses the card", "Memory, and GPU time of the last minute, by GPU and container. Mechanism none: it uses a GPU without a grant.",
          {"memory": (f"max by (namespace, pod, container, node, gpu, mechanism) (tranche_container_memory_used_bytes{OF_PODS})", "bytes"),
           "GPU time": ("max by (namespace, pod, container, node, gpu, mechanism) "
                        f"(rate(tranche_container_compute_seconds_total{OF_PODS}[1m]))", "percentunit"),
           "GPUs given": ("max by (namespace, pod, container, node, gpu, mechanism) "
                          f"(tranche_container_attributed{OF_PODS}) * on (namespace, pod, container, node) group_left () "
                          f"max by (namespace, pod, container, node) (container_gpu_allocation{OF_PODS})", "short")}),
    bars("Which Pod is close to its limit", "Of its limit of memory; the 15 closest.",
         f"topk(15, {per_container('tranche_container_memory_used_bytes')} / {per_container('tranche_container_memory_limit_bytes')})",
         NAME, "percentunit", 12, (("orange", 0.8), ("red", 0.95))),
    lines("Memory", "Used, and the limit where there is one.",
          target(per_container("tranche_container_memory_used_bytes"), NAME),
          target(per_container("tranche_container_memory_limit_bytes"), f"limit of {NAME}"), unit="bytes"),
    lines("Memory, peak", "The most since the agent's start.",
          target(per_container("tranche_container_memory_peak_bytes"), NAME), unit="bytes"),
    lines("GPU time got and promised", "Of a device, over a minute, as the arbiter counts it.",
          target(per_container("tranche_container_compute_seconds_total", "rate", "1m"), NAME),
          target(per_container("tranche_container_compute_promised_ratio"), f"promised to {NAME}"), unit="percentunit"),
    lines("Waiting for the GPU", "Part of a minute in which a thread waited.",
          target(per_container("tranche_container_wait_seconds_total", "rate", "1m"), NAME), unit="percentunit"),
    lines("GPU time, estimated", "From the driver's samples, where no arbiter counts. No share of the GPU: docs/metrics.md.",
          target(per_container("tranche_container_compute_estimated_seconds_total", "rate", "2m"), NAME), unit="percentunit"),
    lines("Launches", "Each second.", target(per_container("tranche_container_launches_total", "rate", "1m"), NAME), unit="ops"),
    lines("Refused allocations", "In five minutes.",
          target(per_container("tranche_container_allocation_failures_total", "increase", "5m"), NAME)),
]

TIERS = [
    lines("Tranches of namespaces, by tier", "Allocated and waited for.",
          target("max by (namespace, resource, tier, state) "
                 f"(tranche_namespace_tranches{WAITS})", "{{namespace}} {{resource}} {{tier}} {{state}}"), width=12),
    lines("Longest wait, and what the tier allows", "",
          target(f"max by (resource, tier) (tranche_pending_oldest_seconds{WAITS})", "{{resource}} {{tier}}"),
          target("max by (tier) (tranche_tier_max_wait_seconds)", "{{tier}} allows"), unit="s", width=12),
]

HEALTH = [
    table("Sources of what containers use", "0: it fails, and figures are missing.",
          {"works": (f"max by (node, check) (tranche_check{OF_NODE})", "none")}, 8),
    lines("Age of figures", "", target(f"min by (node, figures) (tranche_sample_age_seconds{OF_NODE})", "{{node}} {{figures}}"),
          unit="s"),
    lines("Configuration", "Nodes that serve what they are asked to, an older one, or for which none is asked.",
          target(f"sum by (state) (min by (node, state) (tranche_configuration{OF_NODE}))", "{{state}}"), stacked=True),
    lines("Memory beyond what is used", "More for processes than the driver says is used; for a moment that is normal.",
          target(f"max by (node, gpu) (tranche_gpu_memory_excess_bytes{OF_NODE})", "{{node}} {{gpu}}"), unit="bytes"),
    lines("Series left out", "Of agents and of the controller, past a page's bound.",
          target("max by (instance) (tranche_series_dropped)", "{{instance}}")),
    table("Pods that kubelet rejected", "They are there until somebody deletes them.",
          {"Pods": ("max by (reason, node, product) (tranche_rejected_pods)", "short")}, 8),
]

ROWS = {"Fleet": FLEET, "GPUs": GPUS, "Pods": PODS, "Tiers": TIERS, "Health": HEALTH}


def query_variable(name: str, label: str, query: str, everything: str) -> dict:
    return {"type": "query", "name": name, "label": label, "datasource": DATASOURCE, "refresh": 2, "sort": 1, "multi": True,
            "includeAll": True, "allValue": everything, "current": {"text": ["All"], "value": ["$__all"]}, "definition": query,
            "query": {"query": query, "refId": name}}


VARIABLES = [
    {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"},
    query_variable("node", "Node", "label_values(tranche_build_info, node)", ".+"),
    query_variable("namespace", "Namespace", 'label_values(tranche_container_attributed{node=~"$node"}, namespace)', ".*"),
    query_variable("pod", "Pod", 'label_values(tranche_container_attributed{node=~"$node", namespace=~"$namespace"}, pod)', ".*"),
]


def laid_out() -> list[dict]:
    panels, y = [], 0
    for title, row in ROWS.items():
        panels.append({"type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": WIDE, "h": 1}})
        x, y = 0, y + 1
        for one in row:
            width = one["width"]
            if x + width > WIDE:
                x, y = 0, y + 8
            panels.append({key: value for key, value in one.items() if key != "width"}
                          | {"gridPos": {"x": x, "y": y, "w": width, "h": 8}})
            x += width
        y += 8
    return [one | {"id": number} for number, one in enumerate(panels, 1)]


def dashboard() -> dict:
    return {"title": "Tranche: who uses the GPUs", "uid": "tranche", "tags": ["gpu", "tranche"], "schemaVersion": 38,
            "timezone": "browser", "refresh": "30s", "time": {"from": "now-3h", "to": "now"}, "editable": True,
            "graphTooltip": 1, "templating": {"list": VARIABLES}, "panels": laid_out()}


def text() -> str:
    return json.dumps(dashboard(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
