// What every gpu::Reader promises: the same cases on the fake and on the adapter over the simulated
// machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sim_machine.h"
#include "nvml/reader.h"
#include "support/fake_reader.h"
#include "support/machines.h"
#include "support/wait.h"

namespace tranche::reader_contract_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A machine of three A100-40GB that a test can break.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual gpu::Reader& reader() = 0;
  virtual void lose(unsigned gpu) = 0;
  virtual void hang(unsigned gpu) = 0;
  virtual void remove(unsigned gpu) = 0;
  virtual void restore(unsigned gpu) = 0;
  virtual void stop_driver() = 0;
  virtual void start_driver() = 0;
};

class FakeBench final : public Bench {
 public:
  gpu::Reader& reader() override { return reader_; }
  void lose(unsigned gpu) override { reader_.lose(uuid(gpu)); }
  void hang(unsigned gpu) override { reader_.hang(uuid(gpu)); }
  void remove(unsigned gpu) override { reader_.remove(uuid(gpu)); }
  void restore(unsigned gpu) override { reader_.restore(uuid(gpu)); }
  void stop_driver() override {
    reader_.fail_with({.code = Code::kUnavailable, .what = "no driver", .hint = "load it"});
  }
  void start_driver() override { reader_.recover(); }

 private:
  static std::string uuid(unsigned gpu) { return test::gpu_uuid(static_cast<int>(gpu)); }
  test::FakeReader reader_{test::machine_of(3, test::a100_40gb), test::islands(3, 2)};
};

class SimBench final : public Bench {
 public:
  gpu::Reader& reader() override { return reader_; }
  void lose(unsigned gpu) override { machine_.set_presence(gpu, sim::Presence::kLost); }
  void hang(unsigned gpu) override { machine_.hang("nvmlDeviceGetMemoryInfo", gpu); }
  void remove(unsigned gpu) override { machine_.set_presence(gpu, sim::Presence::kGone); }
  void restore(unsigned gpu) override {
    machine_.heal();
    machine_.set_presence(gpu, sim::Presence::kPresent);
    // The call that hung must have returned before the GPU is asked again.
    ASSERT_TRUE(test::eventually([&] { return connection_->pool().stuck() == 0; }));
  }
  void stop_driver() override { machine_.set_driver_error(nvml::kDriverNotLoaded); }
  void start_driver() override { machine_.set_driver_error(0); }

 private:
  test::SimMachine machine_{test::a100_machine(3)};
  std::shared_ptr<nvml::Connection> connection_ =
      nvml::Connection::make(machine_.options(std::chrono::seconds(1)));
  nvml::Reader reader_{connection_};
};

enum class Kind { kFake, kSimulated };

class ReaderContract : public ::testing::TestWithParam<Kind> {
 protected:
  gpu::Machine read() {
    auto machine = bench->reader().read();
    EXPECT_TRUE(machine.has_value()) << machine.error().message();
    return machine.value_or(gpu::Machine());
  }
  std::vector<gpu::Presence> presences(const gpu::Machine& machine) {
    std::vector<gpu::Presence> presences;
    for (const auto& gpu : machine.gpus) presences.push_back(gpu.presence);
    return presences;
  }

  std::unique_ptr<Bench> bench = GetParam() == Kind::kFake
                                     ? std::unique_ptr<Bench>(std::make_unique<FakeBench>())
                                     : std::make_unique<SimBench>();
  const std::vector<gpu::Presence> all_well{3, gpu::Presence::kPresent};
};

TEST_P(ReaderContract, DescribesEveryGpuInOrder) {
  const auto machine = read();
  ASSERT_THAT(machine.gpus, SizeIs(3));
  EXPECT_EQ(machine.driver_version, "570.158.01");
  EXPECT_EQ(machine.cuda_driver_version, 12080);
  EXPECT_THAT(machine.warnings, IsEmpty());
  for (int i = 0; i < 3; ++i) {
    const auto& gpu = machine.gpus[static_cast<std::size_t>(i)];
    EXPECT_EQ(gpu.index, i);
    EXPECT_EQ(gpu.minor, i);
    EXPECT_THAT(gpu.uuid.value, ::testing::StartsWith("GPU-"));
    EXPECT_EQ(gpu.name, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(gpu.memory, Bytes::from_mib(40960));
    EXPECT_EQ(gpu.compute_capability, (gpu::ComputeCapability{8, 0}));
    EXPECT_EQ(gpu.mig_mode, gpu::MigMode::kDisabled);
    EXPECT_EQ(gpu.presence, gpu::Presence::kPresent);
    EXPECT_EQ(gpu.presence_reason, "");
  }
}

TEST_P(ReaderContract, AnUnchangedMachineReadsTheSame) { EXPECT_EQ(read(), read()); }

TEST_P(ReaderContract, ALostGpuIsListedWithTheDescriptionItHad) {
  auto expected = read();
  bench->lose(1);
  const auto machine = read();
  ASSERT_THAT(machine.gpus, SizeIs(3));
  EXPECT_EQ(machine.gpus[1].presence, gpu::Presence::kLost);
  EXPECT_THAT(machine.gpus[1].presence_reason, Not(IsEmpty()));
  expected.gpus[1].presence = gpu::Presence::kLost;
  expected.gpus[1].presence_reason = machine.gpus[1].presence_reason;
  EXPECT_EQ(machine.gpus, expected.gpus);
  bench->restore(1);
  EXPECT_EQ(presences(read()), all_well);
}

TEST_P(ReaderContract, AHangingGpuIsUnknownAndTheOthersAreRead) {
  read();
  bench->hang(2);
  const auto machine = read();
  ASSERT_THAT(machine.gpus, SizeIs(3));
  EXPECT_EQ(machine.gpus[0].presence, gpu::Presence::kPresent);
  EXPECT_EQ(machine.gpus[1].presence, gpu::Presence::kPresent);
  EXPECT_EQ(machine.gpus[2].presence, gpu::Presence::kUnknown);
  EXPECT_THAT(machine.gpus[2].presence_reason, HasSubstr("has not returned"));
  bench->restore(2);
  EXPECT_EQ(presences(read()), all_well);
}

TEST_P(ReaderContract, AHangingGpuThatWasNeverSeenWellIsAWarning) {
  bench->hang(0);
  const auto machine = read();
  EXPECT_THAT(machine.gpus, SizeIs(2));
  EXPECT_THAT(machine.warnings, ElementsAre(HasSubstr("left out")));
  bench->restore(0);
  EXPECT_EQ(presences(read()), all_well);
}

TEST_P(ReaderContract, ARemovedGpuIsNotListedAndReturns) {
  const auto before = read();
  bench->remove(0);
  const auto machine = read();
  ASSERT_THAT(machine.gpus, SizeIs(2));
  EXPECT_EQ(machine.gpus[0].uuid, before.gpus[1].uuid);
  EXPECT_EQ(machine.gpus[1].uuid, before.gpus[2].uuid);
  bench->restore(0);
  EXPECT_EQ(read().gpus, before.gpus);
}

TEST_P(ReaderContract, WithoutADriverReadingFailsUntilItIsBack) {
  const auto before = read();
  bench->stop_driver();
  for (int i = 0; i < 3; ++i) {
    const auto machine = bench->reader().read();
    ASSERT_FALSE(machine.has_value());
    EXPECT_EQ(machine.error().code, Code::kUnavailable);
    EXPECT_THAT(machine.error().hint, Not(IsEmpty()));
  }
  bench->start_driver();
  EXPECT_EQ(read(), before);
}

TEST_P(ReaderContract, TopologyIsOfTheMachinesSize) {
  const auto machine = read();
  const auto topology = bench->reader().read_topology(machine);
  ASSERT_TRUE(topology.has_value()) << topology.error().message();
  EXPECT_EQ(topology->size(), 3U);
  EXPECT_NE(topology->at(0, 1).level, gpu::P2pLevel::kUnknown);
  EXPECT_EQ(topology->at(0, 2), topology->at(2, 0));
}

INSTANTIATE_TEST_SUITE_P(Readers, ReaderContract, ::testing::Values(Kind::kFake, Kind::kSimulated),
                         [](const auto& tested) {
                           return tested.param == Kind::kFake ? "Fake" : "Simulated";
                         });

}  // namespace
}  // namespace tranche::reader_contract_test
