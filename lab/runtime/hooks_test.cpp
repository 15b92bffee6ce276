#include "lab/runtime/hooks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tranche::lab::hooks_test {
namespace {

using Words = std::vector<std::string_view>;

TEST(Hooks, LinksOfACdiFile) {
  const Words words = {"create-symlinks", "--link", "libcuda.so.1::/usr/lib/libcuda.so",
                       "--link=../card1::/dev/dri/by-path/pci-card"};
  const auto links = read_links(words);
  ASSERT_TRUE(links) << links.error().message();
  EXPECT_EQ(*links, (std::vector<Link>{{"libcuda.so.1", "/usr/lib/libcuda.so"},
                                       {"../card1", "/dev/dri/by-path/pci-card"}}));
}

TEST(Hooks, ALinkThatIsNone) {
  for (const std::string_view bad : {"libcuda.so", "::/x", "a::relative"}) {
    EXPECT_FALSE(read_links(Words{"create-symlinks", "--link", bad})) << bad;
  }
}

TEST(Hooks, RootOfTheContainer) {
  const auto bundle = std::filesystem::path(testing::TempDir()) / "lab_hooks_test";
  std::filesystem::create_directories(bundle);
  const auto state = R"({"bundle":")" + bundle.string() + R"("})";
  std::ofstream(bundle / "config.json") << R"({"root":{"path":"rootfs"}})";
  EXPECT_EQ(container_root(state).value(), bundle / "rootfs");
  std::ofstream(bundle / "config.json") << R"({"root":{"path":"/elsewhere"}})";
  EXPECT_EQ(container_root(state).value(), "/elsewhere");
  std::ofstream(bundle / "config.json") << "{}";
  EXPECT_FALSE(container_root(state));
  std::filesystem::remove_all(bundle);
  EXPECT_FALSE(container_root(state));
  EXPECT_FALSE(container_root("no JSON"));
}

TEST(Hooks, Names) {
  EXPECT_TRUE(run_hook(Words{"enable-cuda-compat", "--host-driver-version=1"}, ""));
  const auto unknown = run_hook(Words{"explode"}, "");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().what.find("explode"), std::string::npos);
  EXPECT_FALSE(run_hook({}, ""));
}

}  // namespace
}  // namespace tranche::lab::hooks_test
