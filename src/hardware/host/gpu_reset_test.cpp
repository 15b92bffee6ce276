#include "host/gpu_reset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "support/temp_dir.h"

namespace tranche::host::gpu_reset_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr gpu::PciAddress kGpu{.domain = 0, .bus = 0x1A, .device = 0, .function = 0};

TEST(JudgeReset, KnowsWhatDriversSay) {
  struct Row {
    const char* name;
    int code;
    const char* output;
    Code meaning;
  };
  const Row rows[] = {
      {"in use", 255,
       "The following GPUs could not be reset:\n  GPU 00000000:1A:00.0: In use by another "
       "client\n\n1 device is currently being used by one or more other processes\n",
       Code::kFailedPrecondition},
      {"in use, 450", 1, "GPU 00000000:C1:00.0 is currently in use by another process.\n",
       Code::kFailedPrecondition},
      {"passed through", 3, "Resetting GPU 00000000:00:03.0 is not supported.\n",
       Code::kUnsupported},
      {"passed through, newer", 255,
       "The following GPUs could not be reset:\n  GPU 00000000:00:03.0: Not Supported\n",
       Code::kUnsupported},
      {"linked", 255, "GPU 00000000:06:00.0 has NVLinks to other GPUs and must be reset together\n",
       Code::kUnsupported},
      {"no root", 4, "Unable to reset this GPU: Insufficient Permissions\n", Code::kPermission},
      {"no such GPU", 6, "No devices were found\n", Code::kUnavailable},
      {"silent", 137, "", Code::kUnavailable},
  };
  for (const Row& row : rows) {
    const auto judged = judge_reset({.code = row.code, .output = row.output});
    ASSERT_FALSE(judged.has_value()) << row.name;
    EXPECT_EQ(judged.error().code, row.meaning) << row.name;
    EXPECT_EQ(judged.error().what.find('\n'), std::string::npos) << row.name;
  }
  EXPECT_TRUE(judge_reset(
      {.code = 0, .output = "GPU 00000000:1A:00.0 was successfully reset.\nAll done.\n"}));
}

class ResetTest : public ::testing::Test {
 protected:
  void install(const std::string& script, const std::string& folder = "bin") {
    const FsRoot fs(dir_.path());
    ASSERT_TRUE(fs.make_directories("/" + folder));
    ASSERT_TRUE(fs.write_atomic("/" + folder + "/nvidia-smi", "#!/bin/sh\n" + script, 0755));
  }
  GpuReset make(std::chrono::milliseconds limit = std::chrono::minutes(1)) {
    return GpuReset({.environment = {{"PATH", (dir_.path() / "bin").string() + ":/usr/bin:/bin"}},
                     .driver_root = dir_.path() / "driver",
                     .limit = limit});
  }
  test::TempDir dir_;
};

TEST_F(ResetTest, RunsTheProgramForThatGpu) {
  install("echo \"$@\" > " + (dir_.path() / "said").string());
  EXPECT_TRUE(make().reset(kGpu).has_value());
  EXPECT_EQ(FsRoot(dir_.path()).read("/said"), "--gpu-reset -i 00000000:1A:00.0\n");
}

TEST_F(ResetTest, AProgramOfTheDriversRootFindsItsLibraries) {
  install("echo \"$LD_LIBRARY_PATH\" > " + (dir_.path() / "said").string(), "driver/usr/bin");
  EXPECT_TRUE(make().reset(kGpu).has_value());
  EXPECT_THAT(FsRoot(dir_.path()).read("/said").value_or(""),
              HasSubstr((dir_.path() / "driver/usr/lib/x86_64-linux-gnu").string()));
}

TEST_F(ResetTest, TellsWhyNot) {
  const auto missing = make().reset(kGpu);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message(),
              AllOf(HasSubstr("reset GPU 00000000:1A:00.0"), HasSubstr("utility")));
  install("echo 'GPU 00000000:1A:00.0 is currently in use by another process.'; exit 1");
  const auto busy = make().reset(kGpu);
  ASSERT_FALSE(busy.has_value());
  EXPECT_EQ(busy.error().code, Code::kFailedPrecondition);
  install("exec sleep 1000");
  const auto hung = make(std::chrono::milliseconds(50)).reset(kGpu);
  ASSERT_FALSE(hung.has_value());
  EXPECT_EQ(hung.error().code, Code::kTimeout);
}

}  // namespace
}  // namespace tranche::host::gpu_reset_test
