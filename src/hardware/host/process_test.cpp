#include "host/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace tranche::host::process_test {
namespace {

// As kubelet and runc leave them, shortened.
constexpr const char* kMounts =
    "1203 1003 0:98 / / rw,relatime master:5 - overlay overlay rw,lowerdir=/var/lib\n"
    "1204 1203 0:101 / /proc rw,nosuid - proc proc rw\n"
    "1210 1203 259:2 /var/lib/kubelet/pods/u/etc-hosts /etc/hosts rw - ext4 /dev/nvme0n1p2 rw\n"
    "1211 1203 259:2 /var/lib/tranche/tenants/t-1 /run/tranche/t-1 ro - ext4 /dev/nvme0n1p2 rw\n"
    "1212 1203 0:40 /a\\040b\\134c /with\\040space rw - tmpfs tmpfs rw\n"
    "torn line\n";

TEST(Process, MountsAreReadAsTheKernelWritesThem) {
  const auto mounts = parse_mounts(kMounts);
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[3], (Mount{"259:2", "/var/lib/tranche/tenants/t-1", "/run/tranche/t-1"}));
  EXPECT_EQ(mounts[4], (Mount{"0:40", "/a b\\c", "/with space"}));
  EXPECT_TRUE(parse_mounts("").empty());
}

// A mount point that was cut would hide a folder that it does not hide.
TEST(Process, ATornMountIsNone) {
  for (const char* line : {"1 2 8:1 / /run/tran", "1 2 8:1 / /run ", "1 2 8:1 /  /run rw",
                           "1 2 8:1 / run rw", "1 2 8:1 /"}) {
    EXPECT_TRUE(parse_mounts(line).empty()) << line;
  }
  EXPECT_EQ(parse_mounts("1 2 8:1 / /run rw").size(), 1U);
}

// Anybody may mount that often in a namespace of their own.
TEST(Process, ALongTableOfMountsIsNotNone) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  ASSERT_TRUE(fs.make_directories("/proc/42"));
  ASSERT_TRUE(fs.make_directories("/proc/self"));
  ASSERT_TRUE(
      fs.write_atomic("/proc/42/stat", "42 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n"));
  std::string table;
  const std::string line = "3 1 0:5 / /a/" + std::string(200, 'x') + " rw - tmpfs x rw\n";
  while (table.size() < (std::size_t{5} << 20U)) table += line;
  table += "4 1 259:2 /s/tenants/t /run/tranche/t ro - ext4 x rw\n";
  ASSERT_TRUE(fs.write_atomic("/proc/42/mountinfo", table));
  ASSERT_TRUE(fs.write_atomic("/proc/self/mountinfo", table));
  const auto facts = read_process(fs, 42);
  ASSERT_TRUE(facts) << facts.error().what;
  ASSERT_FALSE(facts->mounts.value().empty());
  EXPECT_EQ(facts->mounts->back().point, "/run/tranche/t");
  EXPECT_EQ(own_mounts(fs).size(), facts->mounts->size());
}

TEST(Process, WhatCannotBeReadIsAnError) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  ASSERT_TRUE(fs.make_directories("/proc/42/mountinfo"));
  ASSERT_TRUE(fs.make_directories("/proc/42/cgroup"));
  ASSERT_TRUE(
      fs.write_atomic("/proc/42/stat", "42 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n"));
  const auto facts = read_process(fs, 42);
  ASSERT_TRUE(facts) << "it lives";
  EXPECT_EQ(facts->name, "x");
  EXPECT_NE(facts->mounts.error().code, Code::kNotFound);
  EXPECT_NE(facts->cgroup.error().code, Code::kNotFound);
  EXPECT_EQ(read_cgroup(fs, 42).error().code, facts->cgroup.error().code);
  std::filesystem::remove(dir.path() / "proc/42/stat");
  ASSERT_TRUE(fs.make_directories("/proc/42/stat"));
  ASSERT_FALSE(read_process(fs, 42));
  EXPECT_NE(read_process(fs, 42).error().code, Code::kNotFound);
}

TEST(Process, AFolderIsFoundByTheMountThatLeadsThere) {
  struct Case {
    const char* name;
    std::vector<Mount> mounts;
    const char* path;
    std::optional<Place> place;
  };
  const Case cases[] = {
      {"OnTheRoot", {{"8:1", "/", "/"}}, "/var/t", Place{"8:1", "/var/t"}},
      {"ItselfAMount",
       {{"8:1", "/", "/"}, {"8:2", "/x/t", "/var/t"}},
       "/var/t",
       Place{"8:2", "/x/t"}},
      {"BelowAMount", {{"8:1", "/", "/"}, {"8:2", "/", "/var"}}, "/var/t", Place{"8:2", "/t"}},
      {"AMountNextToIt",
       {{"8:1", "/", "/"}, {"8:2", "/", "/va"}},
       "/var/t",
       Place{"8:1", "/var/t"}},
      {"TheLaterHidesTheEarlier",
       {{"8:1", "/a", "/t"}, {"8:2", "/b", "/t"}},
       "/t",
       Place{"8:2", "/b"}},
      {"Nothing", {{"8:2", "/", "/var"}}, "/t", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(place_of(c.mounts, c.path), c.place) << c.name;
}

TEST(Process, APodsControlGroupIsKnown) {
  const std::pair<const char*, bool> cases[] = {
      {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0e.slice/cri-c.scope",
       true},
      {"/kubepods/burstable/pod8dcd427f-483b-b48f-d7e5-75fb19a52b76/0123", true},
      {"/../../pod8dcd427f-483b-b48f-d7e5-75fb19a52b76/0123", true},
      {"/system.slice/podman.service", false},
      {"/user.slice/pod-tools", false},
      {"/", false},
      {"", false},
  };
  for (const auto& [cgroup, expected] : cases) EXPECT_EQ(is_in_pod(cgroup), expected) << cgroup;
}

class ProcessFilesTest : public ::testing::Test {
 protected:
  void put(const char* name, std::string_view text) {
    ASSERT_TRUE(fs.make_directories("/proc/42"));
    ASSERT_TRUE(fs.write_atomic(std::filesystem::path("/proc/42") / name, text));
  }
  test::TempDir dir;
  FsRoot fs{dir.path()};
};

constexpr const char* kStat =
    "42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 8123 1000 10 1 1 1\n";

TEST_F(ProcessFilesTest, AreRead) {
  put("stat", kStat);
  put("cgroup", "12:memory:/user\n3:cpu:/kubepods/podx/c\n0::/init.scope\n");
  put("mountinfo", kMounts);
  const auto facts = read_process(fs, 42);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->name, "a) b (c");
  EXPECT_EQ(facts->start_time, 8123U);
  EXPECT_EQ(facts->cgroup, "/kubepods/podx/c") << "of the hierarchy that names a Pod";
  EXPECT_EQ(facts->mounts->size(), 5U);
  put("cgroup", "0::/kubepods.slice/x.scope\n");
  EXPECT_EQ(read_process(fs, 42)->cgroup, "/kubepods.slice/x.scope");
  put("cgroup", "0::/system.slice/x.service\n");
  EXPECT_EQ(read_process(fs, 42)->cgroup, "/system.slice/x.service");
}

TEST_F(ProcessFilesTest, OneThatHasEndedIsNotFound) {
  EXPECT_EQ(read_process(fs, 42).error().code, Code::kNotFound);
  EXPECT_EQ(read_cgroup(fs, 42).error().code, Code::kNotFound);
  const std::string whole(kStat);
  for (const auto& torn : {std::string("42 (torn"), whole.substr(0, whole.find("8123") + 2)}) {
    put("stat", torn);
    const auto facts = read_process(fs, 42);
    ASSERT_FALSE(facts) << torn << ": " << facts->start_time;
    EXPECT_EQ(facts.error().code, Code::kNotFound);
  }
  put("stat", kStat);  // and nothing else any more
  const auto facts = read_process(fs, 42);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->mounts.value().empty());
  EXPECT_EQ(facts->cgroup.value(), "");
}

TEST(PodProcess, IsToldByTheControlGroup) {
  const std::string id(64, 'a');
  const std::string uid = "0f8fad5b-d9cb-469f-a165-70867728950e";
  const std::string masked = "0f8fad5b_d9cb_469f_a165_70867728950e";
  const struct {
    const char* name;
    std::string cgroup;
    std::optional<PodProcess> is;
  } cases[] = {
      {"cgroupfs", "/kubepods/besteffort/pod" + uid + "/" + id, PodProcess{uid, id}},
      {"systemd",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + masked +
           ".slice/cri-containerd-" + id + ".scope",
       PodProcess{uid, id}},
      {"systemd, guaranteed",
       "/kubepods.slice/kubepods-pod" + masked + ".slice/crio-" + id + ".scope",
       PodProcess{uid, id}},
      {"from another Pod's", "/../../pod" + uid + "/" + id, PodProcess{uid, id}},
      {"a group below the container's", "/kubepods/pod" + uid + "/" + id + "/sub",
       PodProcess{uid, id}},
      {"a static Pod's hash", "/kubepods/pod" + std::string(32, 'b') + "/" + id,
       PodProcess{std::string(32, 'b'), id}},
      {"no container", "/kubepods/pod" + uid, PodProcess{uid, ""}},
      {"an odd container", "/kubepods/pod" + uid + "/x", PodProcess{uid, ""}},
      {"no Pod", "/system.slice/ssh.service", std::nullopt},
      {"a word that begins like one", "/podman/podcast", std::nullopt},
      {"empty", "", std::nullopt},
  };
  for (const auto& one : cases) EXPECT_EQ(pod_process(one.cgroup), one.is) << one.name;
}

TEST(Process, ThisOneIsReadFromTheSystem) {
  const auto facts = read_process(FsRoot(), getpid());
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_GT(facts->start_time, 0U);
  EXPECT_FALSE(facts->mounts.value().empty());
  EXPECT_NE(facts->cgroup.value(), "");
  EXPECT_TRUE(place_of(own_mounts(FsRoot()), "/tmp"));
}

}  // namespace
}  // namespace tranche::host::process_test
