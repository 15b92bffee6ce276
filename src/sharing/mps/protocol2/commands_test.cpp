#include "mps/protocol2/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::mps::commands_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Daemon daemon(const std::string& name, std::vector<DaemonDevice> devices, int threads = 25) {
  return {.resource = {"nvidia.com/" + name},
          .devices = std::move(devices),
          .thread_percentage = threads};
}
DaemonDevice gpu(int index, std::optional<std::uint64_t> limit = 4096) {
  return {.uuid = "GPU-" + std::to_string(index),
          .index = index,
          .memory_mib = 16384,
          .limit_mib = limit};
}

TEST(Retune, TellsWhatDiffersToDaemonAndServers) {
  const auto before = daemon("a", {gpu(0), gpu(1)}, 25);
  const auto after = daemon("a", {gpu(0), gpu(1, 2048)}, 12);
  EXPECT_THAT(retune_commands(before, after),
              ElementsAre("set_default_device_pinned_mem_limit 1 2048M",
                          "set_default_active_thread_percentage 12"));
  EXPECT_THAT(retune_server_commands(before, after, "4711"),
              ElementsAre("set_device_pinned_mem_limit 4711 1 2048M",
                          "set_active_thread_percentage 4711 12"));
  EXPECT_THAT(retune_commands(before, before), IsEmpty());
}

TEST(Retune, ALimitThatIsNoMoreIsAllOfTheDevice) {
  EXPECT_THAT(retune_commands(daemon("a", {gpu(0)}), daemon("a", {gpu(0, std::nullopt)})),
              ElementsAre("set_default_device_pinned_mem_limit 0 16384M"));
  auto unreported = gpu(0, std::nullopt);
  unreported.memory_mib = 0;
  EXPECT_THAT(retune_commands(daemon("a", {gpu(0)}), daemon("a", {unreported})), IsEmpty());
}

// The form in NVIDIA's documentation.
TEST(Lspart, HasTheNumberOfChunks) {
  constexpr const char* kUuid = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65";
  constexpr const char* kOther = "GPU-74d43ed4-cdf7-e667-3644-bf5b4f46ed65";
  constexpr const char* kFree = "GPU-74d43ed3  -                   3      7     24    56    -";
  constexpr const char* kUsed = "GPU-74d43ed3  Dx4AAAAAAAAAAAAAAAA -      7     -     56    Yes";
  EXPECT_EQ(lspart_chunks(kFree, kUuid), 10);
  EXPECT_EQ(lspart_chunks(kFree, kOther), std::nullopt);
  EXPECT_EQ(lspart_chunks(kUsed, kUuid), std::nullopt);
  EXPECT_EQ(lspart_chunks("GPU  -  3  7", kUuid), std::nullopt);
  EXPECT_EQ(lspart_chunks("GPU-74d43ed3  -  3  7", kUuid), std::nullopt) << "the 7 may go on";
  EXPECT_EQ(lspart_chunks("", kUuid), std::nullopt);
  EXPECT_EQ(lspart_chunks("GPU-74d43ed3 - 2147483647 7 24 56 -", kUuid), std::nullopt);
}

}  // namespace
}  // namespace tranche::mps::commands_test
