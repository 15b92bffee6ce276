// What preparing a claim costs the driver itself: the plan, the record, the tenant's files and the
// CDI file, with other prepared claims. The API server answers at once here.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "agent/dra/claim_preparer.h"
#include "agent/limits/tenant_store.h"
#include "cluster/kinds.h"
#include "support/fake_objects.h"
#include "support/fake_pod_resources.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::agent {
namespace {

// Claim number `n` for one percent of a GPU.
std::string uid_of(int n) { return fmt::format("0b51bcc7-6a6c-4c0f-9e0e-{:012x}", n); }
std::string share_of(int n) { return fmt::format("7d0a2b1e-93c4-4d52-8f7e-{:012x}", n); }

std::string claim_json(int n) {
  return fmt::format(
      R"({{"metadata": {{"namespace": "team", "name": "c{}", "uid": "{}"}},
          "status": {{"allocation": {{"devices": {{"results": [
            {{"request": "gpu/l20", "driver": "gpu.nvidia.com", "pool": "gpu-n1", "device": "gpu-{}",
              "shareID": "{}", "consumedCapacity": {{"memory": "100Mi", "compute": "1"}}}}]}}}}}}}})",
      n, uid_of(n), n % 8, share_of(n));
}

double at(std::vector<double>& sorted, double part) {
  std::ranges::sort(sorted);
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void prepare_a_share(benchmark::State& state) {
  const int beside = static_cast<int>(state.range(0));
  const test::TempDir dir;
  const Log log(LogLevel::kError);
  test::FakeObjects objects;
  test::FakePodResources kubelet;
  for (int n = 0; n <= beside; ++n) objects.put(cluster::kResourceClaim, claim_json(n));
  ClaimNode made;
  made.machine = test::machine_of(8, test::l20);
  made.files.driver_version = "550.163.01";
  made.files.nodes = {{"/dev/nvidiactl", {}}};
  for (int gpu = 0; gpu < 8; ++gpu) made.files.nodes[fmt::format("/dev/nvidia{}", gpu)] = {};
  made.limits = offer::LimitMounts{"/lib.so", "/preload", "/tenants"};
  made.facts = {.driver = "gpu.nvidia.com", .pool = "gpu-n1", .boot = "boot"};
  const auto node = std::make_shared<const ClaimNode>(std::move(made));
  const TenantStore tenants(dir.path() / "tenants");
  ClaimStore store(dir.path() / "claims", log);
  const SystemClock clock;
  Book book(clock);
  book.open(true);
  ClaimPreparer preparer(
      {.objects = &objects,
       .kubelet = kubelet,
       .store = store,
       .book = book,
       .node = [&] { return node; },
       .listed = [] { return std::nullopt; },
       .make = {.add_tenant = [&](const std::string& id, const GrantLimits& limits,
                                  bool) -> Result<void> {
                  ASSIGN_OR_RETURN(const auto tenant, tenant_limits(id, "gpu.nvidia.com", limits));
                  const auto put = tenants.put(tenant);
                  return put ? Result<void>() : std::unexpected(put.error());
                },
                .remove_tenant = [&](const std::string& id) { return tenants.remove(id); },
                .instances = nullptr,
                .cdi_root = dir.path() / "cdi",
                .work = ClaimMaker::Ports::Work::kMakes,
                .log = log},
       .pod = {},
       .changed = {},
       .log = log});
  for (int n = 1; n <= beside; ++n) {
    if (!preparer.prepare({"team", fmt::format("c{}", n), uid_of(n)})) {
      return state.SkipWithError("a claim beside it cannot be prepared");
    }
  }
  const dra::ClaimName name{"team", "c0", uid_of(0)};
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const auto prepared = preparer.prepare(name);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (!prepared) return state.SkipWithError(prepared.error().message().c_str());
    times.push_back(took.count());
    if (!preparer.unprepare(name)) return state.SkipWithError("it cannot be undone");
  }
  state.counters["p50_us"] = at(times, 0.5);
  state.counters["p99_us"] = at(times, 0.99);
}
BENCHMARK(prepare_a_share)->Arg(0)->Arg(100)->Iterations(2000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tranche::agent
