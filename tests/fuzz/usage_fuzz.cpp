// What a tenant may write into its usage memory: all of it, like every process of the tenant. The
// input's bytes are repeated over the slots. Nothing in them may make a step of the policy examine
// more than a bounded number of things, or charge more than the time that passed.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "limit/device.h"
#include "tenant/usage.h"

namespace {

using namespace tranche;
using namespace tranche::limit;
using namespace std::chrono_literals;

constexpr unsigned kSlots = 8;
constexpr std::size_t kMostBatches = 128;       // as the arbiter joins them
constexpr std::uint64_t kMostWork = 20'000;     // of a step, with one such tenant
constexpr Ns kLongest = std::chrono::hours(1);  // of a time that is believed

void require(bool holds) {
  if (!holds) std::abort();
}

// The usage memory of a tenant with kSlots processes, as the arbiter and as the tenant see it.
struct Tenant {
  tenant::Usage usage;
  wire::UsageFile& file;

  static Tenant& instance() {
    static Tenant tenant = make();
    return tenant;
  }
  static Tenant make() {
    char name[] = "/tmp/tranche-fuzz-XXXXXX";
    require(mkdtemp(name) != nullptr);
    auto usage = tenant::Usage::open(name, "t", 1);
    require(usage.has_value());
    for (int i = 0; i < static_cast<int>(kSlots); ++i)
      require(usage->take({100 + i, 1}).has_value());
    std::filesystem::remove_all(name);
    void* memory =
        mmap(nullptr, sizeof(wire::UsageFile), PROT_READ | PROT_WRITE, MAP_SHARED, usage->fd(), 0);
    require(memory != MAP_FAILED);
    return {*std::move(usage), *static_cast<wire::UsageFile*>(memory)};
  }
  void write(std::span<const std::uint8_t> data, std::size_t shift) {
    auto* bytes = reinterpret_cast<unsigned char*>(&file.slot[0]);
    for (std::size_t i = 0; i < kSlots * sizeof(wire::Slot); ++i) {
      bytes[i] = data[(i + shift) % data.size()];
    }
  }
};

Ns time_of(std::uint64_t ns) { return Ns{static_cast<std::int64_t>(ns)}; }

bool is_plausible(const Batch& batch, Ns now) {
  return batch.stretch.begin >= Ns{0} && batch.stretch.end <= now + 5ms &&
         batch.stretch.length() <= kLongest && batch.asked >= Ns{0} && batch.asked <= kLongest;
}

void step(Tenant& tenant, Device& device, Ns now) {
  Standing standing;
  std::vector<Batch> batches;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    const auto reading = tenant.usage.read(slot);
    require(reading.intervals.size() <= wire::kRing + 1);
    require(reading.unfinished.at(0) <= tenant::kMostUnfinished);
    for (const wire::Interval& interval : reading.intervals) {
      const Batch batch{{time_of(interval.begin), time_of(interval.end)},
                        time_of(interval.asked_ns)};
      if (is_plausible(batch, now)) batches.push_back(batch);
    }
    standing.outstanding += time_of(reading.unfinished[0]);
    standing.waiting |= reading.waiting.at(0) > 0;
    if (reading.busy_since.at(0) != 0)
      standing.busy_since = std::min(now, time_of(reading.busy_since[0]));
  }
  join(batches, kMostBatches);
  require(batches.size() <= kMostBatches);
  for (const Batch& batch : batches) device.finished(TenantId{1}, batch);
  const std::uint64_t before = device.work();
  device.step(now, {{TenantId{1}, standing}, {TenantId{2}, {.waiting = true}}});
  require(device.work() - before <= kMostWork);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Tenant& tenant = Tenant::instance();
  Device device(0ms);
  device.put(TenantId{1}, {});
  device.put(TenantId{2}, {});
  for (int i = 1; i <= 8; ++i) {
    tenant.write({data, size}, static_cast<std::size_t>(i));
    step(tenant, device, i * 2ms);
  }
  require(device.charged(TenantId{1}) + device.charged(TenantId{2}) <= 16ms);
  return 0;
}
