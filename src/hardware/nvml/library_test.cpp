#include "nvml/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace tranche::nvml::library_test {
namespace {

using ::testing::HasSubstr;

class LibraryTest : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::filesystem::path& path) {
    const auto file = dir.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "no library";
    return file;
  }
  test::TempDir dir;
};

TEST_F(LibraryTest, WithoutADriverRootTheLinkerSearches) {
  EXPECT_EQ(find_library(""), "libnvidia-ml.so.1");
  EXPECT_EQ(find_library("/"), "libnvidia-ml.so.1");
  EXPECT_EQ(find_library(dir.path()), "libnvidia-ml.so.1") << "an empty driver root";
}

TEST_F(LibraryTest, TheFirstFolderWins) {
  // From the last folder to the first: each new one wins over those that are there already.
  for (const char* folder :
       {"lib/aarch64-linux-gnu", "lib/x86_64-linux-gnu", "lib64", "usr/lib/aarch64-linux-gnu",
        "usr/lib/x86_64-linux-gnu", "usr/lib64"}) {
    const auto file = put(std::filesystem::path(folder) / kSoname);
    EXPECT_EQ(find_library(dir.path()), std::filesystem::canonical(file)) << folder;
  }
}

TEST_F(LibraryTest, LinksAreResolvedAndBrokenOnesPassedOver) {
  const auto real = put("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.158.01");
  std::filesystem::create_symlink("libnvidia-ml.so.570.158.01",
                                  dir.path() / "usr/lib/x86_64-linux-gnu" / kSoname);
  std::filesystem::create_directories(dir.path() / "usr/lib64");
  std::filesystem::create_symlink("nowhere", dir.path() / "usr/lib64" / kSoname);
  EXPECT_EQ(find_library(dir.path()), std::filesystem::canonical(real));
}

TEST_F(LibraryTest, AFileThatIsNoLibraryIsAnErrorWithARemedy) {
  put(std::filesystem::path("usr/lib64") / kSoname);
  const auto library = Library::load(dir.path());
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().code, Code::kUnavailable);
  EXPECT_THAT(library.error().what, HasSubstr("libnvidia-ml.so.1"));
  EXPECT_THAT(library.error().hint, HasSubstr("--driver-root-ctr-path"));
}

TEST_F(LibraryTest, ALibraryThatIsNoNvmlIsRefused) {
  std::filesystem::create_directories(dir.path() / "usr/lib64");
  std::filesystem::create_symlink(TRANCHE_SOME_LIBRARY, dir.path() / "usr/lib64" / kSoname);
  const auto library = Library::load(dir.path());
  ASSERT_FALSE(library.has_value());
  EXPECT_THAT(library.error().what, HasSubstr("lacks nvmlShutdown"));
  EXPECT_THAT(library.error().what, HasSubstr("nvmlInit_v2"));
}

TEST(Describe, FallsBackToTheNumber) {
  EXPECT_EQ(describe(Api(), "nvmlDeviceGetName", 15), "NVML error (nvmlDeviceGetName: 15)");
}

}  // namespace
}  // namespace tranche::nvml::library_test
