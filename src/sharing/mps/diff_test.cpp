#include "mps/diff.h"

#include <gtest/gtest.h>

namespace tranche::mps::diff_test {
namespace {

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

// "keep a, restart b"
std::string steps(const Plan& running, const Plan& wanted) {
  static const char* const kNames[] = {"keep", "retune", "restart", "start", "end"};
  std::string out;
  for (const Change& change : diff(running, wanted)) {
    if (!out.empty()) out += ", ";
    out += std::string(kNames[static_cast<int>(change.step)]) + " " +
           std::string(change.daemon.resource.base());
  }
  return out;
}

TEST(Diff, TouchesOnlyWhatDiffers) {
  const auto a = daemon("a", {gpu(0)});
  const auto b = daemon("b", {gpu(1)});
  auto shown = a;
  shown.sees_all = false;
  struct Row {
    std::string name;
    Plan running;
    Plan wanted;
    std::string steps;
  };
  const std::vector<Row> rows = {
      {"nothing", {}, {}, ""},
      {"the first", {}, {a, b}, "start a, start b"},
      {"the same", {a, b}, {a, b}, "keep a, keep b"},
      {"one more", {a}, {a, b}, "start b, keep a"},
      {"one less", {a, b}, {b}, "end a, keep b"},
      {"memory of one", {a, b}, {daemon("a", {gpu(0, 2048)}), b}, "retune a, keep b"},
      {"percentage of one", {a, b}, {a, daemon("b", {gpu(1)}, 50)}, "retune b, keep a"},
      {"another GPU", {a, b}, {daemon("a", {gpu(2)}), b}, "restart a, keep b"},
      {"a GPU more", {a}, {daemon("a", {gpu(0), gpu(1)})}, "restart a"},
      {"the machine has other GPUs now", {a}, {shown}, "restart a"},
      {"another name for the same GPU", {a}, {daemon("c", {gpu(0)})}, "end a, start c"},
      {"all at once",
       {a, b, daemon("c", {gpu(2)})},
       {daemon("b", {gpu(0)}), daemon("c", {gpu(2, 1)}), daemon("d", {gpu(3)})},
       "end a, restart b, start d, retune c"},
  };
  for (const Row& row : rows) EXPECT_EQ(steps(row.running, row.wanted), row.steps) << row.name;
}

}  // namespace
}  // namespace tranche::mps::diff_test
