#include "cdi/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace tranche::cdi::writer_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SpecFile spec(const std::string& class_name, const std::string& json) {
  return {.name = spec_file_name(class_name), .class_name = class_name, .json = json};
}

class WriterTest : public testing::Test {
 protected:
  Written write(const std::vector<SpecFile>& files) {
    const auto written = write_specs(fs_, kSpecFolder, files);
    EXPECT_TRUE(written.has_value()) << written.error().message();
    return written.value_or(Written{});
  }

  test::TempDir dir_;
  FsRoot fs_{dir_.path()};
};

TEST_F(WriterTest, MakesTheFolderAndWritesOnlyWhatDiffers) {
  EXPECT_THAT(write({spec("gpu", "{1}")}).changed,
              ElementsAre("k8s.device-plugin.nvidia.com-gpu.json"));
  const auto real = dir_.path() / "var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json";
  EXPECT_EQ(std::filesystem::status(real).permissions(), std::filesystem::perms(0644));
  EXPECT_THAT(write({spec("gpu", "{1}")}).changed, IsEmpty());
  EXPECT_THAT(write({spec("gpu", "{2}")}).changed, ElementsAre(spec_file_name("gpu")));
  EXPECT_EQ(*fs_.read("/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"), "{2}");
}

TEST_F(WriterTest, RemovesOurUnwantedFilesOnly) {
  write({spec("gpu", "{}"), spec("gds", "{}"), spec("imex-channel", "{}")});
  std::ofstream(dir_.path() / "var/run/cdi/nvidia.yaml") << "kind: nvidia.com/gpu\n";
  std::ofstream(dir_.path() / "var/run/cdi/k8s.device-plugin.nvidia.com-own.json") << "{}";
  const auto written = write({spec("gpu", "{}")});
  EXPECT_THAT(written.changed, IsEmpty());
  EXPECT_THAT(written.removed, ElementsAre(spec_file_name("imex-channel"), spec_file_name("gds")));
  EXPECT_THAT(*fs_.list("/var/run/cdi"),
              ElementsAre("k8s.device-plugin.nvidia.com-gpu.json",
                          "k8s.device-plugin.nvidia.com-own.json", "nvidia.yaml"));
}

TEST_F(WriterTest, FolderThatCannotBeMade) {
  std::ofstream(dir_.path() / "var") << "a file\n";
  const auto written = write_specs(fs_, kSpecFolder, {});
  ASSERT_FALSE(written.has_value());
  EXPECT_THAT(written.error().what, testing::HasSubstr("var/run/cdi"));
}

}  // namespace
}  // namespace tranche::cdi::writer_test
