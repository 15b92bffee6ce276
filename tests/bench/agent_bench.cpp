// What Allocate costs on our side of gRPC: the grant and its record on disk (page cache); alone,
// and while another thread keeps replacing and syncing the file of grants; and what keeping
// promises costs in addition.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "agent/grants/grant_store.h"
#include "agent/holdings/book.h"
#include "deviceplugin/resource.h"
#include "offer/withholding.h"
#include "support/fake_clock.h"
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
      offered, [&](const offer::Grant& grant) { return store->add(grant); });
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string id = offered.offer.tranches[next++ % offered.offer.tranches.size()].id;
    benchmark::DoNotOptimize(resource.allocate(std::span(&id, 1)));
  }
}
BENCHMARK(own_part_of_allocate)->ArgName("replicas")->Arg(1)->Arg(48);

// The slowest call is the one that a Pod may meet.
void own_part_while_the_file_is_replaced(benchmark::State& state) {
  const test::TempDir dir;
  test::FakeClock clock;
  const Log log(LogLevel::kError);
  auto store = agent::GrantStore::open(dir.path() / "grants", clock, log).value();
  const auto offered = node(8, 48);
  const deviceplugin::Resource resource(
      offered, [&](const offer::Grant& grant) { return store->add(grant); });
  std::vector<std::string> ids;
  for (const auto& tranche : offered.offer.tranches) ids.push_back(tranche.id);
  const std::vector<cluster::HeldDevices> held{{"ns", "pod", "c", "nvidia.com/gpu", ids}};
  std::jthread pruner([&](const std::stop_token& stop) {
    offer::Grant gone;
    gone.resource = {"nvidia.com/gone"};
    gone.ids = {"GPU-gone"};
    while (!stop.stop_requested()) {
      (void)store->add(gone);
      clock.advance(agent::GrantStore::kSettle + std::chrono::seconds(1));
      store->prune({.listed = held, .remembered = held});
      clock.advance(agent::kAgree);
      store->prune({.listed = held, .remembered = held});
    }
  });
  std::size_t next = 0;
  std::chrono::nanoseconds slowest{0};
  for (auto _ : state) {
    const auto before = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(resource.allocate(std::span(&ids[next++ % ids.size()], 1)));
    slowest =
        std::max<std::chrono::nanoseconds>(slowest, std::chrono::steady_clock::now() - before);
  }
  state.counters["slowest_us"] = static_cast<double>(slowest.count()) / 1000;
}
BENCHMARK(own_part_while_the_file_is_replaced)->UseRealTime();

// A node on which the whole offer is held.
struct FullNode {
  FullNode() {
    offer.resources.push_back(node(8, 48).offer);
    for (int gpu = 0; gpu < 8; ++gpu) {
      machine.gpus.push_back(
          {.index = gpu, .uuid = {offer.resources[0].devices[static_cast<std::size_t>(gpu)].uuid}});
    }
    book.follow(offer, machine, true);
    for (const auto& tranche : offer.resources[0].tranches) {
      grants.push_back({.resource = {"nvidia.com/gpu"}, .ids = {tranche.id}, .envs = {}});
      (void)book.reserve(grants.back());
      book.commit(grants.back());
    }
  }
  SystemClock clock;
  offer::Offer offer;
  gpu::Machine machine;
  std::vector<offer::Grant> grants;
  agent::Book book{clock};
};

// What the book of holdings adds to a call of Allocate.
void a_grant_is_reserved(benchmark::State& state) {
  FullNode full;
  std::size_t next = 0;
  for (auto _ : state) {
    const auto& grant = full.grants[next++ % full.grants.size()];
    benchmark::DoNotOptimize(full.book.reserve(grant));
    full.book.commit(grant);
  }
}
BENCHMARK(a_grant_is_reserved);

// And to a round of the loop; nothing is withheld, or all of it.
void holdings_are_compared_with_the_offer(benchmark::State& state) {
  FullNode full;
  auto offer = full.offer;
  if (state.range(0) == 1) offer.resources[0].name = {"nvidia.com/other"};
  for (auto _ : state) {
    full.book.follow(offer, full.machine, true);
    const auto granted = full.book.granted();
    const auto& held = *granted;
    auto now = offer;
    offer::withhold_held(offer::find_at_odds(held, now), now);
    benchmark::DoNotOptimize(offer::count_beyond(held, now));
  }
}
BENCHMARK(holdings_are_compared_with_the_offer)->ArgName("withheld")->Arg(0)->Arg(1);

}  // namespace
}  // namespace tranche
