// Read-only checks on real hardware (see CMakeLists.txt). They change nothing and start no work.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/models.h"
#include "host/host_reader.h"
#include "nvml/events.h"
#include "nvml/reader.h"

namespace tranche::nvml::real_gpu_test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(RealGpu, IsRead) {
  const auto connection = Connection::make({});
  Reader reader(connection);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value()) << machine.error().message();
  ASSERT_THAT(machine->gpus, Not(IsEmpty()));
  for (const auto& warning : machine->warnings) std::cout << warning << "\n";
  for (const auto& gpu : machine->gpus) {
    std::cout << gpu.index << " " << gpu.uuid.value << " " << gpu.name << " "
              << gpu::sysfs_name(gpu.pci) << " " << gpu.memory.mib() << " MiB\n";
    EXPECT_EQ(gpu.presence, gpu::Presence::kPresent);
    EXPECT_THAT(gpu.uuid.value, ::testing::StartsWith("GPU-"));
    EXPECT_GT(gpu.memory.mib(), 0U);
    EXPECT_GT(gpu.compute_capability.major, 0);
    if (const auto* model = gpu::find_model(gpu.name)) {
      EXPECT_EQ(model->compute_capability, gpu.compute_capability);
      EXPECT_EQ(model->mig_capable, gpu.mig_mode != gpu::MigMode::kUnsupported);
    }
  }
  EXPECT_EQ(reader.read()->gpus, machine->gpus);
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->size(), machine->gpus.size());

  EventSource events(connection);
  const auto subscription = events.subscribe(*machine);
  ASSERT_TRUE(subscription.has_value()) << subscription.error().message();
  EXPECT_THAT(subscription->failed, IsEmpty());
  EXPECT_EQ(events.wait(1ms, {}), std::nullopt);
}

TEST(RealGpu, TheHostIsRead) {
  const auto host = host::read_host(FsRoot(), host::kMachineTypeFile);
  EXPECT_THAT(host.display_classes, Not(IsEmpty()));
}

}  // namespace
}  // namespace tranche::nvml::real_gpu_test
