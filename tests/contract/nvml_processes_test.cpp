// Who uses a device, read over the simulated machine, and over the fake for what both promise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "contract/sim_machine.h"
#include "nvml/process_reader.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/uses.h"
#include "support/fake_process_reader.h"
#include "support/wait.h"

namespace tranche::nvml::nvml_processes_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kMig = "    mig: {enabled: true, instances: [1g.5gb, 2g.10gb]}\n";

// This process on the machine's GPUs.
class User {
 public:
  explicit User(test::SimMachine& machine)
      : sim_(machine.sim()), slot_(sim_.claim_slot("user").value()) {}
  ~User() { sim_.release_slot(slot_); }
  sim::Use& takes(const sim::UseTarget& target, std::uint64_t mib) {
    sim::Use* use = sim::add_use(sim_, *slot_, target).value();
    EXPECT_TRUE(sim::take_memory(sim_, *use, mib << 20U));
    return *use;
  }

 private:
  sim::Simulation& sim_;
  sim::ProcessSlot* slot_;
};

gpu::DeviceProcess self(std::optional<std::uint64_t> mib) {
  return {::getpid(), mib ? std::optional(Bytes::from_mib(*mib)) : std::nullopt};
}

TEST(NvmlProcesses, MemoryOnEachGpu) {
  test::SimMachine sim(test::a100_machine(2));
  User user(sim);
  user.takes({.gpu = 0}, 300);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(1), sim.uuid(0)};
  const auto read = reader.read(uuids);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].uuid, sim.uuid(1));
  EXPECT_THAT((*read)[0].processes.value(), IsEmpty());
  EXPECT_THAT((*read)[1].processes.value(), ElementsAre(self(300)));
}

TEST(NvmlProcesses, MpsClientsAndWhatDrawsCountToo) {
  for (const auto kind : {sim::UseKind::kMps, sim::UseKind::kGraphics}) {
    test::SimMachine sim(test::a100_machine(1));
    User user(sim);
    user.takes({.gpu = 0, .kind = kind}, 200);
    ProcessReader reader(Connection::make(sim.options()));
    const std::vector uuids{sim.uuid(0)};
    EXPECT_THAT(reader.read(uuids).value()[0].processes.value(), ElementsAre(self(200)));
    // On two lists a process is one process.
    user.takes({.gpu = 0}, 300);
    EXPECT_THAT(reader.read(uuids).value()[0].processes.value(), ElementsAre(self(300)));
  }
}

TEST(NvmlProcesses, AMigInstanceHasItsOwn) {
  test::SimMachine sim(test::a100_machine(1, kMig));
  const auto& gpu = sim.sim().state().gpus[0];
  const auto devices = sim::mig_devices(gpu);
  ASSERT_EQ(devices.size(), 2U);
  User user(sim);
  user.takes({.gpu = 0,
              .gpu_instance = devices[1].gpu_instance,
              .compute_instance = devices[1].compute_instance},
             100);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim::mig_uuid(gpu, devices[0]), sim::mig_uuid(gpu, devices[1])};
  const auto read = reader.read(uuids);
  ASSERT_TRUE(read);
  EXPECT_THAT((*read)[0].processes.value(), IsEmpty());
  EXPECT_THAT((*read)[1].processes.value(), ElementsAre(self(100)));
}

TEST(NvmlProcesses, MemoryThatTheDriverDoesNotTellIsNotNothing) {
  test::SimMachine sim(test::a100_machine(1));
  User user(sim);
  user.takes({.gpu = 0}, 0).memory.store(kNotAvailable);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0)};
  EXPECT_THAT(reader.read(uuids).value()[0].processes.value(), ElementsAre(self(std::nullopt)));
}

TEST(NvmlProcesses, AListThatNeverFitsIsAFailureAndNoLoop) {
  test::SimMachine sim(test::a100_machine(2));
  sim.fail("nvmlDeviceGetComputeRunningProcesses_v3", kInsufficientSize, 0);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0), sim.uuid(1)};
  const auto read = reader.read(uuids);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].processes.error().code, Code::kUnavailable);
  EXPECT_TRUE((*read)[1].processes);
}

TEST(NvmlProcesses, WithoutMpsOrGraphicsComputeIsStillTold) {
  test::SimMachine sim(test::a100_machine(1));
  User user(sim);
  user.takes({.gpu = 0}, 300);
  sim.fail("nvmlDeviceGetMPSComputeRunningProcesses_v3", kNotSupported);
  sim.fail("nvmlDeviceGetGraphicsRunningProcesses_v3", kNotSupported);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0)};
  EXPECT_THAT(reader.read(uuids).value()[0].processes.value(), ElementsAre(self(300)));
}

TEST(NvmlProcesses, ADeviceThatHangsCostsTheOthersNothing) {
  test::SimMachine sim(test::a100_machine(2));
  sim.hang("nvmlDeviceGetComputeRunningProcesses_v3", 0);
  // Long enough for a busy machine to start a session and to answer for the other device.
  ProcessReader reader(Connection::make(sim.options(1s)));
  const std::vector uuids{sim.uuid(0), sim.uuid(1)};
  const auto read = reader.read(uuids);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)[0].processes.error().code, Code::kTimeout);
  EXPECT_TRUE((*read)[1].processes);
  sim.heal();
}

TEST(NvmlProcesses, TheDriverGoesAndReturns) {
  test::SimMachine sim(test::a100_machine(1));
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0)};
  ASSERT_TRUE(reader.read(uuids).value()[0].processes);
  sim.set_driver_error(kDriverNotLoaded);
  const auto gone = reader.read(uuids);
  ASSERT_TRUE(gone);
  EXPECT_EQ((*gone)[0].processes.error().code, Code::kUnavailable);
  EXPECT_EQ(reader.read(uuids).error().code, Code::kUnavailable);
  sim.set_driver_error(0);
  EXPECT_TRUE(reader.read(uuids).value()[0].processes);
}

TEST(NvmlProcesses, HowBusyEachWasSinceTheReadingBefore) {
  test::SimMachine sim(test::a100_machine(1));
  User user(sim);
  sim::Use& use = user.takes({.gpu = 0}, 300);
  use.declared_since_ns.store(1);  // long before the first window that is kept
  use.declared_permille.store(500);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0)};
  const auto busy = [&] { return reader.read(uuids).value()[0].processes.value().at(0).busy; };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(busy(), 0ns) << "what was before it began to read";
  std::chrono::nanoseconds sum{0};
  EXPECT_TRUE(test::eventually([&] {
    sum += busy();
    return sum >= 400ms;
  })) << sum.count();
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  // Half of the time, and half of the sample in progress at the first reading.
  EXPECT_LE(sum, elapsed / 2 + 500ms);
}

TEST(NvmlProcesses, WhoDoesNothingIsNotBusy) {
  test::SimMachine sim(test::a100_machine(1));
  User user(sim);
  user.takes({.gpu = 0}, 300);
  ProcessReader reader(Connection::make(sim.options()));
  const std::vector uuids{sim.uuid(0)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(reader.read(uuids).value()[0].processes.value(), ElementsAre(self(300)));
  }
}

// What the fake and the adapter both promise.
void unknown_device_is_its_own_failure(gpu::ProcessReader& reader, const std::string& known) {
  const std::vector uuids{std::string("GPU-00000000-0000-0000-0000-000000000000"), known};
  const auto read = reader.read(uuids);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].uuid, uuids[0]);
  EXPECT_EQ((*read)[0].processes.error().code, Code::kNotFound);
  EXPECT_TRUE((*read)[1].processes);
}

TEST(ProcessReaderContract, AnUnknownDeviceIsItsOwnFailure) {
  test::SimMachine sim(test::a100_machine(1));
  ProcessReader reader(Connection::make(sim.options()));
  unknown_device_is_its_own_failure(reader, sim.uuid(0));
  test::FakeProcessReader fake;
  fake.set("GPU-1", {});
  unknown_device_is_its_own_failure(fake, "GPU-1");
}

TEST(ProcessReaderContract, WithoutADriverTheReadingFails) {
  test::SimMachine sim(test::a100_machine(1));
  sim.set_driver_error(kDriverNotLoaded);
  ProcessReader reader(Connection::make(sim.options()));
  test::FakeProcessReader fake;
  fake.fail_with({Code::kUnavailable, "no driver"});
  const std::vector uuids{sim.uuid(0)};
  for (gpu::ProcessReader* one :
       {static_cast<gpu::ProcessReader*>(&reader), static_cast<gpu::ProcessReader*>(&fake)}) {
    const auto read = one->read(uuids);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kUnavailable);
  }
}

}  // namespace
}  // namespace tranche::nvml::nvml_processes_test
