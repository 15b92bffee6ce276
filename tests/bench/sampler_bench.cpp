// What a sample of who uses what costs the agent by itself, without the driver, the arbiter and
// kubelet: once a second. Goal: 0.5 % of a core, which is 5 ms.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/metrics/node_sampler.h"
#include "base/clock.h"
#include "offer/make_offer.h"
#include "offer/testing.h"
#include "support/fake_process_reader.h"
#include "support/fake_telemetry_reader.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::agent {
namespace {

// A node whose GPUs are time-sliced, with a Pod of one process on each replica. /proc is a folder.
class Node {
 public:
  Node(int gpus, int pods) : machine_(test::machine_of(gpus, test::t4)) {
    put(1, "/init.scope");
    put(::getpid(), "/system.slice/tranche.service");
    const int replicas = pods / gpus;
    offer_ = std::make_shared<const offer::Offer>(offer::make_offer(
        machine_, offer::testing::time_slicing({offer::testing::entry("gpu", replicas)}), {}));
    book_.follow(*offer_, machine_, true);
    book_.restore(std::map<std::string, dra::PreparedClaim>(), machine_, {});
    for (int gpu = 0; gpu < gpus; ++gpu) fill(gpu, replicas);
    for (const auto& one : listed_) {
      const offer::Grant grant{.resource = {one.resource}, .ids = one.ids, .envs = {}};
      if (!book_.reserve(grant)) std::abort();
      book_.commit(grant);
    }
    book_.apply({.began = clock_.now(),
                 .listed = listed_,
                 .remembered = std::vector<cluster::HeldDevices>()});
    touch();
    sampler_.emplace(NodeSampler::Ports{.telemetry = telemetry_,
                                        .processes = processes_,
                                        .book = book_,
                                        .ask_kubelet = [] { return true; },
                                        .pods = [this] { return shared_; },
                                        .set_tiers = {},
                                        .host = host_,
                                        .arbiter_dir = {},
                                        .node = "n1",
                                        .clock = clock_});
    State state;
    state.machine = machine_;
    sampler_->follow(state, offer_);
  }
  NodeSampler& sampler() { return *sampler_; }
  // As after a change of a Pod.
  void touch() { shared_ = std::make_shared<const std::vector<cluster::Pod>>(pods_); }

 private:
  void put(pid_t pid, const std::string& group) {
    const auto folder = fmt::format("/proc/{}", pid);
    if (!host_.make_directories(folder)) std::abort();
    (void)host_.write_atomic(
        folder + "/stat",
        fmt::format("{} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n", pid));
    (void)host_.write_atomic(folder + "/cgroup", "0::" + group + "\n");
  }
  void fill(int gpu, int replicas) {
    const auto uuid = test::gpu_uuid(gpu);
    std::vector<gpu::DeviceProcess> processes;
    for (int i = 0; i < replicas; ++i) {
      const int number = gpu * replicas + i;
      const auto uid = fmt::format("a0000000-0000-4000-8000-{:012}", number);
      const auto id = fmt::format("{:064}", number);
      const pid_t pid = 100'000'000 + number;
      put(pid, fmt::format("/kubepods/besteffort/pod{}/{}", uid, id));
      processes.push_back({.pid = pid, .memory = Bytes::from_mib(64)});
      auto& pod = pods_.emplace_back();
      pod.ns = "team";
      pod.name = fmt::format("train-{}", number);
      pod.uid = uid;
      pod.container_ids[id] = "main";
      listed_.push_back({.pod_namespace = pod.ns,
                         .pod_name = pod.name,
                         .container = "main",
                         .resource = "nvidia.com/gpu",
                         .ids = {offer::replica_id(uuid, i)}});
    }
    telemetry_.set(gpu::FastReading{
        .uuid = uuid,
        .figures = {.memory = gpu::MemoryFigures{.total = Bytes::from_mib(15360),
                                                 .used = Bytes::from_mib(1000),
                                                 .free = Bytes::from_mib(14360)}}});
    processes_.set(uuid, processes);
  }

  const gpu::Machine machine_;
  test::TempDir dir_;
  FsRoot host_{dir_.path()};
  SystemClock clock_;
  test::FakeTelemetryReader telemetry_;
  test::FakeProcessReader processes_;
  Book book_{clock_};
  std::shared_ptr<const offer::Offer> offer_;
  std::vector<cluster::Pod> pods_;
  std::vector<cluster::HeldDevices> listed_;
  std::shared_ptr<const std::vector<cluster::Pod>> shared_;
  std::optional<NodeSampler> sampler_;
};

// Arguments: GPUs, Pods, whether a Pod has changed since the last sample.
void samples(benchmark::State& state) {
  Node node(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) {
    if (state.range(2) != 0) node.touch();
    node.sampler().sample();
    benchmark::DoNotOptimize(node.sampler().checks());
  }
  state.counters["containers"] = static_cast<double>(node.sampler().figures()->containers.size());
}
BENCHMARK(samples)
    ->Args({8, 48, 0})
    ->Args({8, 48, 1})
    ->Args({16, 160, 0})
    ->Args({16, 160, 1})
    ->Unit(benchmark::kMicrosecond);

// What the sampling thread once took to look at the sources: a copy of all figures.
void copies(benchmark::State& state) {
  Node node(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  node.sampler().sample();
  for (auto _ : state) benchmark::DoNotOptimize(node.sampler().figures());
}
BENCHMARK(copies)->Args({16, 160})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tranche::agent
