// The parts of one GPU fit the GPU: on every simulated machine, with every way of dividing,
// programs can get what all tranches of a device are promised together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "contract/sim_machine.h"
#include "nvml/reader.h"
#include "nvml/reserved.h"
#include "offer/devices.h"
#include "offer/limits.h"
#include "offer/make_offer.h"
#include "offer/mps.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/uses.h"

namespace tranche::nvml::usable_memory_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> all_machines() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator("sim/machines", none)) {
    if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

// The memory that programs can get on each device, by its index ("0", "0:1").
std::uint64_t free_of(test::SimMachine& sim, const gpu::Machine& machine,
                      const offer::Device& device) {
  auto instance = sim::kNone;
  for (const auto& gpu : machine.gpus) {
    for (const auto& one : gpu.mig_instances) {
      if (one.uuid.value == device.uuid) instance = static_cast<unsigned>(one.gpu_instance_id);
    }
  }
  const auto use = sim::memory_use(sim.sim(), static_cast<unsigned>(device.gpu_index), instance);
  return use.total - std::min(use.total, use.used + use.reserved);
}

struct Way {
  std::string name;
  config::SharingStrategy sharing = config::SharingStrategy::kTimeSlicing;
  std::optional<config::MemoryLimit> memory;  // nullopt: no limits, MPS' own parts
};

std::vector<Way> ways(int replicas) {
  using config::SharingStrategy;
  std::vector<Way> all;
  for (const auto sharing : {SharingStrategy::kTimeSlicing, SharingStrategy::kMps}) {
    const std::string by = sharing == SharingStrategy::kMps ? "mps, " : "time-slicing, ";
    all.push_back({by + "equal", sharing, config::EqualPart{}});
    all.push_back({by + "percent", sharing, config::Percent{1000 / replicas}});
    all.push_back({by + "100 %", sharing, config::Percent{1000}});
    for (const std::uint64_t gib : {4, 15, 23, 45, 80}) {
      all.push_back({fmt::format("{}{}Gi", by, gib), sharing, Bytes::from_mib(gib << 10U)});
    }
  }
  all.push_back({"mps alone", config::SharingStrategy::kMps, std::nullopt});
  return all;
}

config::Config config_of(const Way& way, int replicas, config::MigStrategy strategy,
                         const gpu::Machine& machine) {
  std::vector<config::ReplicatedResource> entries(1);
  entries[0].name = {"nvidia.com/gpu"};
  for (const auto& gpu : machine.gpus) {
    for (const auto& instance : gpu.mig_instances) {
      entries.push_back({});
      entries.back().name = {"nvidia.com/mig-" + instance.profile.name};
      std::ranges::replace(entries.back().name.value, '+', '.');
    }
  }
  for (auto& entry : entries) entry.replicas = replicas;
  config::Config config;
  config.flags.mig_strategy = strategy;
  config::ReplicatedResources shared{.resources = entries};
  if (way.sharing == config::SharingStrategy::kMps) {
    shared.fail_requests_greater_than_one = true;
    config.sharing.mps = std::move(shared);
  } else {
    config.sharing.time_slicing = std::move(shared);
  }
  if (way.memory) {
    config.tranche.limits.general = {.enforcement = Enforcement::kStrict, .memory = *way.memory};
  }
  return config;
}

// The promise of one tranche of the device; all of it without a limit.
std::uint64_t part_of(const offer::ResourceOffer& resource, std::size_t device, const Way& way) {
  const auto whole = resource.devices[device].memory.value;
  if (!way.memory) return offer::mps_default(resource, device).memory.value_or(Bytes{whole}).value;
  const auto tranche = std::ranges::find(resource.tranches, device, &offer::Tranche::device);
  const auto limits = offer::limits_for(resource, std::span(&tranche->id, 1));
  return limits->devices.at(0).memory.value_or(Bytes{whole}).value;
}

class EveryMachine : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMachine, HasWhatAllTranchesArePromisedTogether) {
  test::SimMachine sim(GetParam());
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  if (!machine) return;  // a broken driver
  for (const auto& gpu : machine->gpus) {
    if (gpu.mig_enabled()) continue;
    EXPECT_LE(gpu.usable_memory().value, free_of(sim, *machine, offer::device_of(gpu, {})))
        << "the capacity that the scheduler divides among claims";
  }
  for (const int replicas : {1, 2, 3, 4, 7, 16}) {
    for (const auto& way : ways(replicas)) {
      for (const auto strategy : {config::MigStrategy::kNone, config::MigStrategy::kSingle,
                                  config::MigStrategy::kMixed}) {
        const auto offer =
            offer::make_offer(*machine, config_of(way, replicas, strategy, *machine), {});
        for (const auto& resource : offer.resources) {
          const auto counts = offer::tranche_counts(resource);
          for (std::size_t i = 0; i < counts.size(); ++i) {
            if (!way.memory && counts[i] <= 1) continue;
            const auto all = part_of(resource, i, way) * static_cast<std::uint64_t>(counts[i]);
            EXPECT_LE(all, free_of(sim, *machine, resource.devices[i]))
                << way.name << ", " << counts[i] << " of " << resource.name.value << " on "
                << resource.devices[i].index;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sim, EveryMachine, ::testing::ValuesIn(all_machines()),
                         [](const auto& at) {
                           std::string name = at.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// A process on GPU 0.
class User {
 public:
  User(test::SimMachine& machine, std::uint64_t mib)
      : sim_(machine.sim()), slot_(sim_.claim_slot("user").value()) {
    sim::Use* use = sim::add_use(sim_, *slot_, {.gpu = 0}).value();
    EXPECT_TRUE(sim::take_memory(sim_, *use, mib << 20U));
  }
  ~User() { sim_.release_slot(slot_); }

 private:
  sim::Simulation& sim_;
  sim::ProcessSlot* slot_;
};

gpu::Gpu first_gpu(Reader& reader) { return reader.read().value().gpus.at(0); }

TEST(ReservedMemory, IsWhatTheDriverSaysAndWhatNobodyUses) {
  test::SimMachine sim("l20");
  Reader reader(Connection::make(sim.options()));
  const auto gpu = first_gpu(reader);
  EXPECT_EQ(gpu.memory, Bytes::from_mib(46068)) << "as nvidia-smi says it";
  EXPECT_EQ(gpu.reserved, Bytes::from_mib(592 + kUsedByNobody.mib()));
  User user(sim, 10'000);
  EXPECT_EQ(first_gpu(reader).reserved, gpu.reserved) << "others' memory is not the driver's";
}

// Drivers before 510 lack the call; others may refuse it.
TEST(ReservedMemory, IsEstimatedWhereTheDriverDoesNotTell) {
  for (const int error : {kFunctionNotFound, kNotSupported, kArgumentVersionMismatch, kUnknown}) {
    test::SimMachine sim("l20");
    sim.fail("nvmlDeviceGetMemoryInfo_v2", error);
    User user(sim, 10'000);
    Reader reader(Connection::make(sim.options()));
    const auto machine = reader.read().value();
    EXPECT_THAT(machine.warnings, IsEmpty()) << error;
    EXPECT_EQ(machine.gpus[0].reserved, Bytes::from_mib(594 + kUsedByNobody.mib())) << error;
    sim.fail("nvmlDeviceGetComputeRunningProcesses_v3", kNotSupported);
    EXPECT_EQ(first_gpu(reader).reserved, machine.gpus[0].reserved) << "what was found first stays";
    sim.heal();
    EXPECT_EQ(first_gpu(reader).reserved, Bytes::from_mib(592 + kUsedByNobody.mib()));
  }
}

TEST(ReservedMemory, IsAThirtySecondWhereNobodyKnowsAnything) {
  test::SimMachine sim("l20");
  sim.fail("nvmlDeviceGetMemoryInfo_v2", kNotSupported);
  sim.fail("nvmlDeviceGetComputeRunningProcesses_v3", kNotSupported);
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read().value();
  EXPECT_EQ(machine.gpus[0].reserved.mib(), 46068U / 32 + kUsedByNobody.mib());
  EXPECT_THAT(machine.warnings,
              Contains(HasSubstr("how much of its memory the driver keeps for itself is unknown")));
}

TEST(ReservedMemory, AGpuThatIsLostMeanwhileIsLost) {
  test::SimMachine sim("l20");
  sim.fail("nvmlDeviceGetMemoryInfo_v2", kGpuIsLost);
  Reader reader(Connection::make(sim.options()));
  EXPECT_EQ(first_gpu(reader).presence, gpu::Presence::kLost);
}

}  // namespace
}  // namespace tranche::nvml::usable_memory_test
