// What the fleet costs the controller (docs/decisions/0062-fleet.md): 1,000 nodes of 8 GPUs that
// are each cut in four, and 30,000 Pods, of which 2,000 wait. Bounds: counting below 0.5 s, for it
// is done for each scrape.

#include <benchmark/benchmark.h>

#include "controller/web/fleet_metrics.h"
#include "fleet/fleet_json.h"
#include "fleet/make_fleet.h"
#include "fleet/read_facts.h"
#include "fleet/testing.h"

namespace tranche::fleet {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr int kNodes = 1000;
constexpr int kTranches = 32;
constexpr int kBound = 28'000;
constexpr int kWaiting = 2000;

std::string node_name(int i) { return "node-" + std::to_string(i); }

cluster::GpuNode agents_view(int node) {
  auto made = testing_facts::gpu_node(node_name(node), kGpu, kTranches, 28);
  auto& status = *made.status;
  auto& devices = status.resources[0].devices;
  devices.clear();
  status.gpus.clear();
  for (int gpu = 0; gpu < 8; ++gpu) {
    const auto uuid = "GPU-" + std::to_string(node) + '-' + std::to_string(gpu);
    status.gpus.push_back({.index = gpu, .uuid = uuid, .model = "NVIDIA H100 80GB HBM3"});
    devices.push_back({.uuid = uuid, .tranches = 4});
  }
  for (std::size_t i = 0; i < status.holdings.size(); ++i) {
    status.holdings[i].device = status.holdings[i].gpu = status.gpus[i / 4].uuid;
  }
  return made;
}

Facts big() {
  Facts facts;
  for (int i = 0; i < kNodes; ++i) {
    testing_facts::add(facts, testing_facts::node(node_name(i), {{kGpu, {kTranches, kTranches}}}));
    facts.gpu_nodes[node_name(i)] = agents_view(i);
  }
  for (int i = 0; i < kBound; ++i) {
    auto pod = testing_facts::pod("bound-" + std::to_string(i), kGpu, node_name(i % kNodes));
    pod.key.ns = "team-" + std::to_string(i % 200);
    testing_facts::add(facts, std::move(pod));
  }
  for (int i = 0; i < kWaiting; ++i) {
    auto pod = testing_facts::unscheduled(
        "waits-" + std::to_string(i), kGpu,
        "0/1000 nodes are available: 200 node(s) had untolerated taint(s), 800 Insufficient "
        "nvidia.com/gpu. preemption: 0/1000 nodes are available: 1000 Preemption is not helpful.");
    pod.wants[kGpu] = 8;
    pod.key.ns = "team-" + std::to_string(i % 200);
    testing_facts::add(facts, std::move(pod));
  }
  return facts;
}

void counting(benchmark::State& state) {
  const auto facts = big();
  for (auto _ : state) benchmark::DoNotOptimize(tally(facts));
}
BENCHMARK(counting)->Unit(benchmark::kMillisecond);

void a_page_of_metrics(benchmark::State& state) {
  const controller::FleetFigures figures{.tally = tally(big())};
  std::size_t bytes = 0;
  for (auto _ : state) bytes = controller::fleet_page(figures, {.now = {}}).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(a_page_of_metrics)->Unit(benchmark::kMillisecond);

void a_fleet_as_json(benchmark::State& state) {
  const auto facts = big();
  std::size_t bytes = 0;
  for (auto _ : state) bytes = to_json(make_fleet(facts, {}, {})).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(a_fleet_as_json)->Unit(benchmark::kMillisecond);

// What a watch does for each change of a Pod that asks for a GPU; `bytes` is what it keeps.
void keeping_a_pod(benchmark::State& state) {
  std::string pod =
      R"({"metadata":{"namespace":"team","name":"train-0","creationTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"nodeName":"node-1","containers":[{"name":"c","image":"x","env":[)";
  for (int i = 0; i < 100; ++i) pod += R"({"name":"VARIABLE","value":"a value of some length"},)";
  pod += R"({"name":"LAST"}],"resources":{"limits":{"nvidia.com/gpu":"1","cpu":"4"}}}]},
      "status":{"phase":"Running"}})";
  std::size_t bytes = 0;
  for (auto _ : state) bytes = kept_of_pod(pod).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(keeping_a_pod)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tranche::fleet
