// What the pure part of a device-plugin call costs. Bounds (docs/allocation.md): a grant 10 us,
// with 8 x 48 replicas at most 1.5 times the figure for 8 whole GPUs; aligned preferred allocation
// on 16 GPUs 5 ms for every size.

#include <benchmark/benchmark.h>

#include "offer/grant_maker.h"
#include "offer/make_offer.h"
#include "offer/preferred.h"
#include "support/machines.h"

namespace tranche::offer {
namespace {

config::Config sharing(int replicas) {
  config::Config config;
  config.sharing.time_slicing = config::ReplicatedResources{
      .resources = {{.name = {"nvidia.com/gpu"}, .replicas = replicas}}};
  return config;
}

ResourceOffer gpus(int count, int replicas) {
  return make_offer(test::machine_of(count, test::a100_40gb), sharing(replicas), {})
      .resources.at(0);
}

std::vector<std::string> ids_of(const ResourceOffer& offer) {
  std::vector<std::string> ids;
  for (const Tranche& tranche : offer.tranches) ids.push_back(tranche.id);
  return ids;
}

// Arguments: GPUs, replicas.
void make_offers(benchmark::State& state) {
  const gpu::Machine machine = test::machine_of(static_cast<int>(state.range(0)), test::a100_40gb);
  const config::Config config = sharing(static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(make_offer(machine, config, {}));
}
BENCHMARK(make_offers)->Args({8, 1})->Args({8, 48})->Args({16, 48})->Unit(benchmark::kMicrosecond);

// Arguments: replicas, ids in the request.
void grants(benchmark::State& state) {
  const GrantMaker maker(gpus(8, static_cast<int>(state.range(0))), {.pass_device_specs = true});
  std::vector<std::string> ids = ids_of(maker.offer());
  ids.erase(ids.begin(), ids.end() - state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(maker.make(ids, "annotation"));
}
BENCHMARK(grants)->ArgsProduct({{1, 48}, {1, 8}})->Unit(benchmark::kMicrosecond);

// Every way of listing devices at once.
void grants_with_everything(benchmark::State& state) {
  GrantOptions options;
  options.list_strategies = {
      config::DeviceListStrategy::kEnvvar, config::DeviceListStrategy::kVolumeMounts,
      config::DeviceListStrategy::kCdiAnnotations, config::DeviceListStrategy::kCdiCri};
  options.pass_device_specs = true;
  options.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                           "/dev/nvidia-modeset"};
  options.imex_channels = {0};
  options.gds = true;
  options.cdi_modes = {"gds"};
  const GrantMaker maker(gpus(8, 1), options);
  const std::vector<std::string> ids = ids_of(maker.offer());
  for (auto _ : state) benchmark::DoNotOptimize(maker.make(ids, "annotation"));
}
BENCHMARK(grants_with_everything)->Unit(benchmark::kMicrosecond);

// Arguments: GPUs (in NVLink islands of 4), size.
void aligned(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const ResourceOffer offer = gpus(static_cast<int>(count), 1);
  Links links;
  for (const Device& device : offer.devices) links.gpu_uuids.push_back(device.uuid);
  links.topology = test::islands(count, 4, 2);
  const PreferredRequest request{.available = ids_of(offer),
                                 .size = static_cast<int>(state.range(1))};
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        preferred_allocation(offer, &links, config::AllocationPolicy::kDistributed, request));
  }
}
BENCHMARK(aligned)
    ->ArgsProduct({{8}, benchmark::CreateDenseRange(1, 8, 1)})
    ->ArgsProduct({{16}, benchmark::CreateDenseRange(1, 16, 1)})
    ->Args({32, 8})
    ->Args({64, 32})
    ->Unit(benchmark::kMicrosecond);

// Arguments: replicas on each of 8 GPUs, size.
void distributed(benchmark::State& state) {
  const ResourceOffer offer = gpus(8, static_cast<int>(state.range(0)));
  const PreferredRequest request{.available = ids_of(offer),
                                 .size = static_cast<int>(state.range(1))};
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        preferred_allocation(offer, nullptr, config::AllocationPolicy::kDistributed, request));
  }
}
BENCHMARK(distributed)->Args({10, 1})->Args({48, 1})->Args({48, 8})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tranche::offer
