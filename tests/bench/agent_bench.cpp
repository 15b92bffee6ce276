// What Allocate costs on our side of gRPC: the grant and its record on disk (page cache).

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "agent/plugins/grant_store.h"
#include "deviceplugin/resource.h"
#include "support/temp_dir.h"

namespace tranche {
namespace {

deviceplugin::ResourceState node(int gpus, int replicas) {
  deviceplugin::ResourceState state;
  state.offer.name = state.offer.base = {"nvidia.com/gpu"};
  state.offer.sharing = config::SharingStrategy::kTimeSlicing;
  state.offer.replicas = replicas;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const auto uuid = fmt::format("GPU-00000000-0000-0000-0000-{:012}", gpu);
    state.offer.devices.push_back(
        {.uuid = uuid, .index = std::to_string(gpu), .gpu_index = gpu, .gpu_uuid = uuid});
    for (int replica = 0; replica < replicas; ++replica) {
      state.offer.tranches.push_back(
          {offer::replica_id(uuid, replica), static_cast<std::size_t>(gpu)});
    }
  }
  return state;
}

void own_part_of_allocate(benchmark::State& state) {
  const test::TempDir dir;
  const SystemClock clock;
  const Log log(LogLevel::kError);
  auto store = agent::GrantStore::open(dir.path() / "grants", clock, log).value();
  const auto offered = node(8, static_cast<int>(state.range(0)));
  const deviceplugin::Resource resource(
      offered, [&](const offer::Grant& grant, const auto&) { return store->add(grant); });
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string id = offered.offer.tranches[next++ % offered.offer.tranches.size()].id;
    benchmark::DoNotOptimize(resource.allocate(std::span(&id, 1)));
  }
}
BENCHMARK(own_part_of_allocate)->ArgName("replicas")->Arg(1)->Arg(48);

}  // namespace
}  // namespace tranche
