#include "host/cgroup.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::host::cgroup_test {
namespace {

using ::testing::HasSubstr;

const std::string kId(64, 'a');
const std::string kOtherId(64, 'b');

struct LevelCase {
  const char* name;
  std::string path;
  std::optional<std::string> level;
};

TEST(ContainerLevel, IsTheOneWithTheRuntimesId) {
  const std::string pod =
      "kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod0b8b3c5e_31a3_4f0b_9a5e_000000000001.slice";
  const std::string scope = pod + "/cri-containerd-" + kId + ".scope";
  const LevelCase cases[] = {
      {"systemd", "/" + scope, scope},
      {"a group of the container's own", "/" + scope + "/init/worker", scope},
      {"CRI-O", "/" + pod + "/crio-" + kId + ".scope/container", pod + "/crio-" + kId + ".scope"},
      {"cgroupfs", "/kubepods/besteffort/pod1/" + kId, "kubepods/besteffort/pod1/" + kId},
      {"from another container", "/../../burstable/pod1/" + kId + "/x", "burstable/pod1/" + kId},
      {"of the same Pod", "/../" + kId, kId},
      // A container cannot put itself below a name of its choice.
      {"a name like an id below", "/" + scope + "/" + kOtherId, scope},
      {"a Pod's name below", "/" + scope + "/kubepods/pod1/" + kOtherId, scope},
      // Kubernetes in a container: the node's own container comes first.
      {"node in a container", "/docker/" + kOtherId + "/kubelet/" + scope,
       "docker/" + kOtherId + "/kubelet/" + scope},
      {"outside of Kubernetes", "/system.slice/docker-" + kId + ".scope",
       "system.slice/docker-" + kId + ".scope"},
      {"no container", "/user.slice/user-0.slice/session-1.scope", std::nullopt},
      {"too long for an id", "/kubepods/pod1/" + kId + "a", std::nullopt},
      {"the Pod alone", "/" + pod, std::nullopt},
      {"nothing", "", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(container_level(c.path), c.level) << c.name;
}

class FindContainerTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(host.make_directories(std::filesystem::path(path).parent_path()));
    ASSERT_TRUE(host.write_atomic(path, text));
  }
  void process(const std::string& cgroup) const {
    put("/proc/42/stat", "42 (a b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n");
    put("/proc/42/cgroup", "0::" + cgroup + "\n");
    put("/proc/42/mountinfo", "");
  }
  Result<std::filesystem::path> find(std::uint64_t start_time = 777) const {
    return find_container_cgroup(host, root(), 42, start_time);
  }
  std::filesystem::path root() const { return dir.path() / "cgroup"; }

  test::TempDir dir;
  FsRoot host{dir.path()};
};

TEST_F(FindContainerTest, InTheWholeTreeOrSeenFromAnotherContainer) {
  const auto level = "kubepods/burstable/pod1/" + kId;
  put("/cgroup/" + level + "/cgroup.procs", "41\n42\n");
  for (const auto& told : {"/" + level, "/../../../burstable/pod1/" + kId, "/../" + kId}) {
    process(told);
    const auto found = find();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, root() / level);
  }
}

TEST_F(FindContainerTest, TheProcessMayBeFurtherBelow) {
  const auto level = "kubepods/pod1/" + kId;
  put("/cgroup/" + level + "/cgroup.procs", "");
  put("/cgroup/" + level + "/a/b/cgroup.procs", "142\n42\n");
  process("/../pod1/" + kId + "/a/b");
  EXPECT_EQ(find().value(), root() / level);
}

TEST_F(FindContainerTest, AGroupOfThatNameWithoutTheProcessIsNotIt) {
  put("/cgroup/a/" + kId + "/cgroup.procs", "43\n420\n");
  process("/../" + kId);
  const auto missing = find();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().what, HasSubstr("with process 42 below"));
  EXPECT_THAT(missing.error().hint, HasSubstr("--cgroup-root"));
  put("/cgroup/b/c/" + kId + "/cgroup.procs", "42\n");
  EXPECT_EQ(find().value(), root() / "b/c" / kId);
}

TEST_F(FindContainerTest, WhatCannotBeFoundSaysWhy) {
  EXPECT_THAT(find().error().what, HasSubstr("42 has ended"));
  process("/kubepods/pod1/" + kId);
  EXPECT_THAT(find(778).error().what, HasSubstr("42 has ended")) << "another process's number";
  process("/user.slice");
  EXPECT_THAT(find().error().what,
              HasSubstr("process 42 (a b) is in no container: its control group is '/user.slice'"));
}

TEST_F(FindContainerTest, TheTreeIsOfVersionTwoOrNot) {
  EXPECT_FALSE(is_cgroup_v2(root()));
  put("/cgroup/cgroup.controllers", "memory\n");
  EXPECT_TRUE(is_cgroup_v2(root()));
}

}  // namespace
}  // namespace tranche::host::cgroup_test
