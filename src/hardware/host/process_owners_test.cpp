#include "host/process_owners.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace tranche::host::process_owners_test {
namespace {

constexpr const char* kUid = "a0000000-0000-4000-8000-000000000000";
const std::string kId(64, 'c');
const std::string kGroup = fmt::format("/kubepods/besteffort/pod{}/{}", kUid, kId);

class ProcessOwnersTest : public testing::Test {
 protected:
  ProcessOwnersTest() {
    process(1, "/init.scope");
    process(::getpid(),
            "/kubepods/besteffort/podb0000000-0000-4000-8000-000000000000/" + std::string(64, 'd'));
  }
  void process(pid_t pid, const std::string& group, int start_time = 7) const {
    const auto folder = fmt::format("/proc/{}", pid);
    ASSERT_TRUE(host_.make_directories(folder));
    ASSERT_TRUE(host_.write_atomic(
        folder + "/stat",
        fmt::format("{} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0\n", pid, start_time)));
    ASSERT_TRUE(host_.write_atomic(folder + "/cgroup", "0::" + group + "\n"));
  }

  test::TempDir dir_;
  FsRoot host_{dir_.path()};
};

TEST_F(ProcessOwnersTest, EachFormOfAControlGroup) {
  ProcessOwners owners(host_);
  EXPECT_TRUE(owners.sees_node());
  const Owner of_pod{.kind = Owner::Kind::kContainer, .pod_uid = kUid, .container = kId};
  process(10, kGroup);
  EXPECT_EQ(owners.of(10), of_pod);
  process(11, fmt::format("/kubepods.slice/kubepods-besteffort.slice/"
                          "kubepods-besteffort-poda0000000_0000_4000_8000_000000000000.slice/"
                          "cri-containerd-{}.scope",
                          kId));
  EXPECT_EQ(owners.of(11), of_pod);
  process(12, "/system.slice/sshd.service");
  EXPECT_EQ(owners.of(12).kind, Owner::Kind::kHost);
  process(13, "/kubepods/besteffort/strange");
  EXPECT_EQ(owners.of(13).kind, Owner::Kind::kUnknown) << "in some Pod";
  EXPECT_EQ(owners.of(14).kind, Owner::Kind::kEnded);
}

TEST_F(ProcessOwnersTest, AProcessHasTheNameThatItHasNow) {
  ProcessOwners owners(host_);
  process(10, kGroup);
  EXPECT_EQ(owners.look(10).name, "x");
  ASSERT_TRUE(host_.write_atomic(
      "/proc/10/stat", "10 (a) b\xff\n) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n"));
  EXPECT_EQ(owners.look(10).name, "a) b\xff\n");
  EXPECT_EQ(owners.look(14).name, "");
}

TEST_F(ProcessOwnersTest, AnotherProcessWithTheSameIdIsAnother) {
  ProcessOwners owners(host_);
  process(10, kGroup, 7);
  EXPECT_EQ(owners.of(10).kind, Owner::Kind::kContainer);
  process(10, "/system.slice/cron.service", 8);
  EXPECT_EQ(owners.of(10).kind, Owner::Kind::kHost);
}

TEST_F(ProcessOwnersTest, WithoutTheNodesProcessIdsNothingIsKnown) {
  process(1, "/");
  process(::getpid(), "/");
  process(10, kGroup);
  ProcessOwners owners(host_);
  EXPECT_FALSE(owners.sees_node());
  EXPECT_EQ(owners.of(10).kind, Owner::Kind::kUnknown) << "the id is one of this container's";
  EXPECT_EQ(owners.of(14).kind, Owner::Kind::kUnknown);
}

TEST_F(ProcessOwnersTest, WithoutProcNothingIsKnown) {
  const test::TempDir empty;
  ProcessOwners owners{FsRoot(empty.path())};
  EXPECT_FALSE(owners.sees_node());
}

}  // namespace
}  // namespace tranche::host::process_owners_test
