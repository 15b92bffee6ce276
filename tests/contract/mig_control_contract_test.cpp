// gpu::MigControl: the same cases on the fake and on NVML over the simulated machine.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "contract/sim_machine.h"
#include "nvml/mig_control.h"
#include "sim/gpu/uses.h"
#include "sim/machine/mig_tables.h"
#include "support/fake_mig_control.h"

namespace tranche::mig_control_contract_test {
namespace {

using Activation = gpu::MigControl::Activation;
using ::testing::IsEmpty;

// Profile ids of 7-slice GPUs.
constexpr int k1g = 19;
constexpr int k1gMedia = 20;
constexpr int k2g = 14;
constexpr int k3g = 9;
constexpr int k7g = 0;

gpu::MigGeometry geometry_of(const sim::MigTable& table) {
  gpu::MigGeometry geometry = {.compute_slices = static_cast<int>(table.compute_slices),
                               .memory_slices = static_cast<int>(table.memory_slices),
                               .profiles = {}};
  for (const auto& row : table.rows) {
    gpu::GpuInstanceProfile profile = {
        .name = std::string(row.name),
        .id = static_cast<int>(row.id),
        .kind = gpu::mig_kind(row.constant),
        .compute_slices = static_cast<int>(row.slices),
        .memory_slices = static_cast<int>(row.memory_slices),
        .max_instances = static_cast<int>(row.max_instances),
        .starts = {},
        .attributes = gpu::MigAttributes{.memory = Bytes::from_mib(row.memory_mib),
                                         .multiprocessors = static_cast<int>(row.sm),
                                         .copy_engines = static_cast<int>(row.copy_engines),
                                         .decoders = static_cast<int>(row.decoders),
                                         .encoders = static_cast<int>(row.encoders),
                                         .jpeg_engines = static_cast<int>(row.jpeg),
                                         .ofa_engines = static_cast<int>(row.ofa)}};
    for (int start = 0; start < 32; ++start) {
      if ((row.starts >> static_cast<unsigned>(start) & 1U) != 0) profile.starts.push_back(start);
    }
    geometry.profiles.push_back(std::move(profile));
  }
  return geometry;
}

// One GPU of that table; an empty key: a GPU without MIG.
struct Hardware {
  std::string table = "a100-40gb";
  bool no_reset = false;
};

std::string machine_of(const Hardware& hardware) {
  std::string yaml = "machine: contract\n";
  if (hardware.no_reset) yaml += "virtualization: {mode: passthrough, no_reset: true}\n";
  yaml +=
      "models:\n"
      "  m: {name: NVIDIA X, compute_capability: \"8.0\", memory: 40960Mi, sm: 108,\n"
      "      pci_device: 0x20B0";
  if (!hardware.table.empty()) yaml += ", mig: " + hardware.table;
  return yaml + "}\ngpus:\n  - {model: m, pci: \"0000:10:00.0\"}\n";
}

class Bench {
 public:
  virtual ~Bench() = default;
  virtual gpu::MigControl& control() = 0;
  virtual gpu::GpuUuid gpu() = 0;
  virtual void hold() = 0;
  virtual void hold(int gpu_instance, int compute_instance) = 0;
  virtual void release() = 0;
};

class FakeBench final : public Bench {
 public:
  explicit FakeBench(const Hardware& hardware) {
    const auto* table = sim::find_mig_table(hardware.table);
    test::FakeMigGpu gpu = {.no_reset = hardware.no_reset};
    if (table != nullptr) {
      gpu.geometry = geometry_of(*table);
      gpu.mode_needs_reset = table->mode_needs_reset;
    }
    control_.add(uuid_, std::move(gpu));
  }
  gpu::MigControl& control() override { return control_; }
  gpu::GpuUuid gpu() override { return uuid_; }
  void hold() override { control_.hold(uuid_); }
  void hold(int gpu_instance, int compute_instance) override {
    control_.hold(uuid_, gpu_instance, compute_instance);
  }
  void release() override { control_.release(uuid_); }

 private:
  gpu::GpuUuid uuid_{"GPU-1"};
  test::FakeMigControl control_;
};

class SimBench final : public Bench {
 public:
  explicit SimBench(const Hardware& hardware) : machine_(machine_of(hardware)) {}
  ~SimBench() override { release(); }
  gpu::MigControl& control() override { return control_; }
  gpu::GpuUuid gpu() override { return {machine_.uuid(0)}; }
  void hold() override { use({}); }
  void hold(int gpu_instance, int compute_instance) override {
    use({.gpu_instance = static_cast<std::uint32_t>(gpu_instance),
         .compute_instance = static_cast<std::uint32_t>(compute_instance)});
  }
  void release() override {
    if (slot_ != nullptr) machine_.sim().release_slot(slot_);
    slot_ = nullptr;
  }

 private:
  void use(const sim::UseTarget& target) {
    if (slot_ == nullptr) slot_ = machine_.sim().claim_slot("user").value();
    ASSERT_TRUE(sim::add_use(machine_.sim(), *slot_, target).has_value());
  }

  test::SimMachine machine_;
  nvml::MigControl control_{nvml::Connection::make(machine_.options())};
  sim::ProcessSlot* slot_ = nullptr;
};

enum class Kind { kFake, kSimulated };

std::unique_ptr<Bench> make_bench(Kind kind, const Hardware& hardware = {}) {
  if (kind == Kind::kFake) return std::make_unique<FakeBench>(hardware);
  return std::make_unique<SimBench>(hardware);
}

class MigControlContract : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Bench> make(const Hardware& hardware = {}) const {
    return make_bench(GetParam(), hardware);
  }
  // With MIG mode on.
  std::unique_ptr<Bench> ready(const Hardware& hardware = {}) const {
    auto bench = make(hardware);
    EXPECT_EQ(bench->control().set_mode(bench->gpu(), true), Activation::kInForce);
    return bench;
  }
};

TEST_P(MigControlContract, TheModeGoesOnAndOff) {
  const auto bench = make();
  auto& control = bench->control();
  EXPECT_EQ(control.read(bench->gpu()), gpu::MigState());
  EXPECT_EQ(control.set_mode(bench->gpu(), true), Activation::kInForce);
  EXPECT_EQ(control.read(bench->gpu()), (gpu::MigState{.enabled = true, .pending = true}));
  EXPECT_EQ(control.set_mode(bench->gpu(), true), Activation::kInForce);
  EXPECT_EQ(control.set_mode(bench->gpu(), false), Activation::kInForce);
  EXPECT_EQ(control.read(bench->gpu()), gpu::MigState());
}

TEST_P(MigControlContract, InstancesAreMadeWhereTheyAreAskedFor) {
  const auto bench = ready();
  auto& control = bench->control();
  const auto at4 = control.create_gpu_instance(bench->gpu(), k3g, 4);
  const auto at0 = control.create_gpu_instance(bench->gpu(), k2g, 0);
  const auto at2 = control.create_gpu_instance(bench->gpu(), k1gMedia, 2);
  ASSERT_TRUE(at4 && at0 && at2);
  EXPECT_EQ(control.create_compute_instance(bench->gpu(), *at4, 3, 0), 0);
  EXPECT_EQ(control.create_compute_instance(bench->gpu(), *at0, 1, 1), 0);
  EXPECT_EQ(control.create_compute_instance(bench->gpu(), *at0, 1, 0), 1);
  EXPECT_EQ(control.create_compute_instance(bench->gpu(), *at2, 1, 0), 0);
  const gpu::MigState expected = {
      .enabled = true,
      .pending = true,
      .instances = {
          {.id = *at0, .profile_id = k2g, .placement = {0, 2}, .compute = {{1, 1, 0}, {0, 1, 1}}},
          {.id = *at2, .profile_id = k1gMedia, .placement = {2, 1}, .compute = {{0, 1, 0}}},
          {.id = *at4, .profile_id = k3g, .placement = {4, 4}, .compute = {{0, 3, 0}}}}};
  EXPECT_EQ(control.read(bench->gpu()), expected);
}

TEST_P(MigControlContract, WhatDoesNotFitIsRefused) {
  const auto bench = ready();
  auto& control = bench->control();
  const auto present = control.create_gpu_instance(bench->gpu(), k3g, 4);
  ASSERT_TRUE(present.has_value());
  struct Row {
    const char* name;
    int profile;
    int start;
  };
  const Row rows[] = {{"memory is taken", k1g, 6},
                      {"no start of it", k2g, 1},
                      {"beyond the end", k1g, 9},
                      {"too large", k7g, 0},
                      {"unknown", 99, 0}};
  for (const Row& row : rows) {
    const auto made = control.create_gpu_instance(bench->gpu(), row.profile, row.start);
    ASSERT_FALSE(made.has_value()) << row.name;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument) << row.name << made.error().message();
  }
  for (const auto& [slices, start] : {std::pair(4, 0), std::pair(2, 2), std::pair(5, 0)}) {
    const auto made = control.create_compute_instance(bench->gpu(), *present, slices, start);
    ASSERT_FALSE(made.has_value()) << slices;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument) << made.error().message();
  }
}

TEST_P(MigControlContract, WhatIsNotThereIsNotFound) {
  const auto bench = ready();
  auto& control = bench->control();
  const gpu::GpuUuid other{"GPU-of-another"};
  EXPECT_EQ(control.read(other).error().code, Code::kNotFound);
  EXPECT_EQ(control.set_mode(other, true).error().code, Code::kNotFound);
  EXPECT_EQ(control.destroy_gpu_instance(bench->gpu(), 5).error().code, Code::kNotFound);
  EXPECT_EQ(control.create_compute_instance(bench->gpu(), 5, 1, 0).error().code, Code::kNotFound);
  const auto instance = control.create_gpu_instance(bench->gpu(), k1g, 0);
  ASSERT_TRUE(instance.has_value());
  EXPECT_EQ(control.destroy_compute_instance(bench->gpu(), *instance, 0).error().code,
            Code::kNotFound);
}

TEST_P(MigControlContract, InstancesInUseStay) {
  const auto bench = ready();
  auto& control = bench->control();
  const auto instance = control.create_gpu_instance(bench->gpu(), k2g, 0);
  ASSERT_TRUE(instance.has_value());
  const auto compute = control.create_compute_instance(bench->gpu(), *instance, 2, 0);
  ASSERT_TRUE(compute.has_value());
  EXPECT_EQ(control.destroy_gpu_instance(bench->gpu(), *instance).error().code,
            Code::kFailedPrecondition)
      << "it has a compute instance";
  bench->hold(*instance, *compute);
  const auto before = control.read(bench->gpu());
  EXPECT_EQ(control.destroy_compute_instance(bench->gpu(), *instance, *compute).error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(control.set_mode(bench->gpu(), false).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(control.read(bench->gpu()), before);
  bench->release();
  EXPECT_TRUE(control.destroy_compute_instance(bench->gpu(), *instance, *compute).has_value());
  EXPECT_TRUE(control.destroy_gpu_instance(bench->gpu(), *instance).has_value());
  EXPECT_THAT(control.read(bench->gpu())->instances, IsEmpty());
}

TEST_P(MigControlContract, InstancesOfAGpuWithoutTheModeAreRefused) {
  const auto bench = make();
  EXPECT_EQ(bench->control().create_gpu_instance(bench->gpu(), k1g, 0).error().code,
            Code::kFailedPrecondition);
}

TEST_P(MigControlContract, AGpuWithoutMigIsUnsupported) {
  const auto bench = make({.table = ""});
  auto& control = bench->control();
  EXPECT_EQ(control.read(bench->gpu()).error().code, Code::kUnsupported);
  EXPECT_EQ(control.set_mode(bench->gpu(), true).error().code, Code::kUnsupported);
  EXPECT_EQ(control.create_gpu_instance(bench->gpu(), k1g, 0).error().code, Code::kUnsupported);
}

TEST_P(MigControlContract, TheModeOfAGpuInUseIsPending) {
  const auto bench = make();
  auto& control = bench->control();
  bench->hold();
  EXPECT_EQ(control.set_mode(bench->gpu(), true), Activation::kInUse);
  EXPECT_EQ(control.read(bench->gpu()), (gpu::MigState{.enabled = false, .pending = true}));
  bench->release();
  EXPECT_EQ(control.set_mode(bench->gpu(), true), Activation::kInForce);
}

TEST_P(MigControlContract, AGpuThatCannotBeResetNeedsAReboot) {
  const auto bench = make({.no_reset = true});
  EXPECT_EQ(bench->control().set_mode(bench->gpu(), true), Activation::kNeedsReboot);
  EXPECT_EQ(bench->control().read(bench->gpu()),
            (gpu::MigState{.enabled = false, .pending = true, .passed_through = true}));
}

TEST_P(MigControlContract, AModelThatNeedsNoResetNeedsNoReboot) {
  const auto bench = make({.table = "h100-80gb", .no_reset = true});
  EXPECT_EQ(bench->control().set_mode(bench->gpu(), true), Activation::kInForce);
}

INSTANTIATE_TEST_SUITE_P(Controls, MigControlContract,
                         ::testing::Values(Kind::kFake, Kind::kSimulated), [](const auto& tested) {
                           return tested.param == Kind::kFake ? "Fake" : "Simulated";
                         });

// What random calls answer on both, call by call, on every model.
class Twins {
 public:
  Twins(const sim::MigTable& table, unsigned seed)
      : table_(table),
        fake_({.table = std::string(table.key)}),
        sim_({.table = std::string(table.key)}),
        random_(seed) {
    EXPECT_EQ(fake_.control().set_mode(fake_.gpu(), true),
              sim_.control().set_mode(sim_.gpu(), true));
  }

  void step() {
    const auto state = fake_.control().read(fake_.gpu()).value();
    ASSERT_EQ(sim_.control().read(sim_.gpu()), state);
    const auto& present = state.instances;
    if (present.empty() || below(3) > 0) return create(pick_profile(), below(table_.memory_slices));
    const auto& one = present[below(present.size())];
    if (below(3) == 0) return add_compute(one, 1 + below(4), below(table_.compute_slices));
    if (one.compute.empty()) {
      return both("destroy", [&](Bench& bench) {
        return bench.control().destroy_gpu_instance(bench.gpu(), one.id);
      });
    }
    both("destroy compute", [&](Bench& bench) {
      return bench.control().destroy_compute_instance(bench.gpu(), one.id, one.compute[0].id);
    });
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  int pick_profile() { return static_cast<int>(table_.rows[below(table_.rows.size())].id); }

  void create(int profile, std::size_t start) {
    both(fmt::format("create {} at {}", profile, start), [&](Bench& bench) {
      return bench.control().create_gpu_instance(bench.gpu(), profile, static_cast<int>(start));
    });
  }
  void add_compute(const gpu::GpuInstance& in, std::size_t slices, std::size_t start) {
    both(fmt::format("{} slices at {} in {}", slices, start, in.id), [&](Bench& bench) {
      return bench.control().create_compute_instance(bench.gpu(), in.id, static_cast<int>(slices),
                                                     static_cast<int>(start));
    });
  }

  template <class Work>
  void both(const std::string& what, Work work) {
    const auto fake = work(fake_);
    const auto simulated = work(sim_);
    ASSERT_EQ(fake.has_value(), simulated.has_value())
        << table_.key << ": " << what << ": "
        << (fake ? simulated.error().message() : fake.error().message());
    if (!fake) {
      ASSERT_EQ(fake.error().code, simulated.error().code)
          << table_.key << ": " << what << ": " << simulated.error().message();
    }
  }

  const sim::MigTable& table_;
  FakeBench fake_;
  SimBench sim_;
  std::mt19937 random_;
};

TEST(MigControlTwins, TheFakeAndTheSimulatedMachineAgreeOnEveryModel) {
  unsigned seed = 1;
  for (const auto& table : sim::mig_tables()) {
    Twins twins(table, seed++);
    for (int i = 0; i < 60 && !testing::Test::HasFatalFailure(); ++i) twins.step();
  }
}

}  // namespace
}  // namespace tranche::mig_control_contract_test
