// NVML failing at each function we call: nothing crashes, and what it costs is what is documented.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "contract/sim_machine.h"
#include "nvml/events.h"
#include "nvml/process_reader.h"
#include "nvml/reader.h"
#include "nvml/telemetry_reader.h"

namespace tranche::nvml::nvml_faults_test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kMig = "    mig: {enabled: true, instances: [1g.5gb, 2g.10gb]}\n";

std::vector<std::string> functions() {
  std::vector<std::string> names;
#define NVML_FUNCTION(need, name, arguments) names.emplace_back(#name);
#include "nvml/functions.def"
#undef NVML_FUNCTION
  return names;
}

// Everything the agent does with the hardware, once.
struct Session {
  explicit Session(const test::SimMachine& sim) : connection(Connection::make(sim.options())) {}

  void use() {
    machine = reader.read();
    if (!machine) return;
    std::vector<std::string> uuids;
    for (const auto& gpu : machine->gpus) uuids.push_back(gpu.uuid.value);
    (void)processes.read(uuids);  // whatever it says, the others go on
    (void)telemetry.read_fast(uuids);
    (void)telemetry.read_slow(uuids);
    topology = reader.read_topology(*machine);
    subscription = events.subscribe(*machine);
    if (subscription) event = events.wait(1ms, {});
  }

  std::shared_ptr<Connection> connection;
  Reader reader{connection};
  EventSource events{connection};
  ProcessReader processes{connection};
  TelemetryReader telemetry{connection};
  Result<gpu::Machine> machine;
  Result<gpu::Topology> topology;
  Result<gpu::EventSource::Subscription> subscription;
  Result<std::optional<gpu::Event>> event;
};

TEST(NvmlFaults, EachFunctionWithEachErrorAtFirstAndLater) {
  for (const auto& function : functions()) {
    for (const Return error :
         {kUninitialized, kNotSupported, kFunctionNotFound, kGpuIsLost, kUnknown}) {
      test::SimMachine sim(test::a100_machine(2, kMig));
      Session session(sim);
      sim.fail(function, error);
      session.use();
      sim.heal();
      session.use();
      ASSERT_TRUE(session.machine.has_value())
          << function << " " << error << ": " << session.machine.error().message();
      EXPECT_THAT(session.machine->gpus, SizeIs(2)) << function << " " << error;
      sim.fail(function, error);
      session.use();
      EXPECT_TRUE(session.machine || session.machine.error().code == Code::kUnavailable)
          << function;
      sim.heal();
      session.use();
      ASSERT_TRUE(session.machine.has_value()) << function << " " << error;
      for (const auto& gpu : session.machine->gpus) {
        EXPECT_EQ(gpu.presence, gpu::Presence::kPresent) << function << " " << error;
      }
      EXPECT_THAT(session.machine->gpus[0].mig_instances, SizeIs(2)) << function << " " << error;
    }
  }
}

TEST(NvmlFaults, WhatEachCosts) {
  struct Case {
    const char* function;
    std::function<void(Session&)> check;
  };
  const auto warned = [](Session& session, const char* what) {
    EXPECT_THAT(session.machine->warnings, Contains(HasSubstr(what)));
  };
  const Case cases[] = {
      {"nvmlInit_v2",
       [](Session& s) {
         ASSERT_FALSE(s.machine.has_value());
         EXPECT_EQ(s.machine.error().code, Code::kUnavailable);
         EXPECT_THAT(s.machine.error().what, HasSubstr("nvmlInit_v2"));
       }},
      {"nvmlDeviceGetCount_v2",
       [](Session& s) {
         ASSERT_FALSE(s.machine.has_value());
         EXPECT_THAT(s.machine.error().what, HasSubstr("nvmlDeviceGetCount_v2"));
       }},
      {"nvmlSystemGetDriverVersion",
       [&](Session& s) {
         EXPECT_EQ(s.machine->driver_version, "");
         warned(s, "nvmlSystemGetDriverVersion");
       }},
      {"nvmlSystemGetCudaDriverVersion_v2",
       [&](Session& s) {
         EXPECT_EQ(s.machine->cuda_driver_version, 0);
         warned(s, "CUDA version");
       }},
      {"nvmlDeviceGetHandleByIndex_v2",
       [&](Session& s) {
         EXPECT_THAT(s.machine->gpus, IsEmpty());
         EXPECT_THAT(s.machine->warnings, SizeIs(2));
         warned(s, "left out");
       }},
      {"nvmlDeviceGetUUID", [&](Session& s) { warned(s, "nvmlDeviceGetUUID"); }},
      {"nvmlDeviceGetName",
       [&](Session& s) {
         EXPECT_EQ(s.machine->gpus[0].name, "");
         warned(s, "nvmlDeviceGetName");
       }},
      {"nvmlDeviceGetMinorNumber",
       [&](Session& s) {
         EXPECT_EQ(s.machine->gpus[0].minor, -1);
         warned(s, "device node");
       }},
      {"nvmlDeviceGetPciInfo_v3",
       [&](Session& s) {
         EXPECT_EQ(s.machine->gpus[0].pci, gpu::PciAddress{});
         warned(s, "PCI address");
       }},
      {"nvmlDeviceGetCudaComputeCapability",
       [&](Session& s) {
         EXPECT_EQ(s.machine->gpus[0].compute_capability, gpu::ComputeCapability{});
         warned(s, "compute capability");
       }},
      {"nvmlDeviceGetMemoryInfo",
       [&](Session& s) {
         EXPECT_EQ(s.machine->gpus[0].memory, Bytes{});
         EXPECT_EQ(s.machine->gpus[0].presence, gpu::Presence::kPresent);
         warned(s, "memory");
       }},
      {"nvmlDeviceGetMigMode",
       [&](Session& s) {
         EXPECT_EQ(s.machine->gpus[0].mig_mode, gpu::MigMode::kUnsupported);
         warned(s, "MIG mode");
       }},
      {"nvmlDeviceGetMaxMigDeviceCount",
       [&](Session& s) {
         EXPECT_TRUE(s.machine->gpus[0].mig_enabled());
         EXPECT_THAT(s.machine->gpus[0].mig_instances, IsEmpty());
         warned(s, "MIG devices");
       }},
      {"nvmlDeviceGetAttributes_v2", [&](Session& s) { warned(s, "MIG device 0:0"); }},
      {"nvmlDeviceGetGpuFabricInfoV",
       [](Session& s) { EXPECT_EQ(s.machine->gpus[0].fabric, std::nullopt); }},
      {"nvmlDeviceGetFieldValues",
       [](Session& s) { EXPECT_EQ(s.machine->gpus[0].recovery_action, std::nullopt); }},
      {"nvmlDeviceGetTopologyCommonAncestor",
       [](Session& s) { EXPECT_EQ(s.topology->at(0, 1).level, gpu::P2pLevel::kUnknown); }},
      {"nvmlEventSetCreate",
       [](Session& s) {
         ASSERT_FALSE(s.subscription.has_value());
         EXPECT_THAT(s.subscription.error().what, HasSubstr("nvmlEventSetCreate"));
       }},
      {"nvmlDeviceRegisterEvents",
       [](Session& s) { EXPECT_THAT(s.subscription->failed, SizeIs(2)); }},
      {"nvmlDeviceGetHandleByUUID",
       [](Session& s) { EXPECT_THAT(s.subscription->failed, SizeIs(2)); }},
      {"nvmlDeviceGetSupportedEventTypes",
       [](Session& s) {
         EXPECT_THAT(s.subscription->failed, IsEmpty());
         EXPECT_THAT(s.subscription->unsupported, IsEmpty());
       }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.function);
    test::SimMachine sim(test::a100_machine(2, kMig));
    Session session(sim);
    sim.fail(c.function, kUnknown);
    session.use();
    c.check(session);
  }
}

TEST(NvmlFaults, AGpuWithoutEventsIsUnsupportedAndNotFailed) {
  test::SimMachine sim(test::a100_machine(2));
  Session session(sim);
  sim.fail("nvmlDeviceRegisterEvents", kNotSupported, 1);
  session.use();
  ASSERT_TRUE(session.subscription.has_value());
  EXPECT_THAT(session.subscription->unsupported, ElementsAre(gpu::GpuUuid{sim.uuid(1)}));
  EXPECT_THAT(session.subscription->failed, IsEmpty());
}

TEST(NvmlFaults, AGpuThatBreaksTheEventSetLeavesTheOthersObserved) {
  test::SimMachine sim(test::a100_machine(3));
  Session session(sim);
  sim.fail("nvmlDeviceRegisterEvents", kUnknown, 1);
  session.use();
  ASSERT_TRUE(session.subscription.has_value());
  EXPECT_THAT(session.subscription->failed, ElementsAre(gpu::GpuUuid{sim.uuid(1)}));
  sim.xid(79, 2);
  const auto event = session.events.wait(20s, {});
  ASSERT_TRUE(event.has_value());
  ASSERT_TRUE(event->has_value());
  EXPECT_EQ(std::get<gpu::XidEvent>(**event).gpu, gpu::GpuUuid{sim.uuid(2)});
}

TEST(NvmlFaults, AnErrorOfWaitingIsTold) {
  test::SimMachine sim(test::a100_machine(1));
  Session session(sim);
  session.use();
  sim.fail("nvmlEventSetWait_v2", kUnknown);
  const auto event = session.events.wait(20s, {});
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, Code::kUnavailable);
  EXPECT_THAT(event.error().what, HasSubstr("nvmlEventSetWait_v2"));
  EXPECT_FALSE(session.events.wait(1ms, {}).has_value()) << "until somebody subscribes";
  sim.heal();
  ASSERT_TRUE(session.events.subscribe(*session.machine).has_value());
  EXPECT_EQ(session.events.wait(1ms, {}), std::nullopt);
}

TEST(NvmlFaults, AGpuThatNeedsAResetAsksForIt) {
  test::SimMachine sim(test::a100_machine(1));
  Session session(sim);
  sim.fail("nvmlDeviceGetMemoryInfo", kResetRequired);
  sim.fail("nvmlDeviceGetFieldValues", kNotSupported);
  session.use();
  EXPECT_EQ(session.machine->gpus[0].recovery_action, 1);
}

}  // namespace
}  // namespace tranche::nvml::nvml_faults_test
