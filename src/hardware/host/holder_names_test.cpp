#include "host/holder_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::host::holder_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kUid = "0f0e3a46-1d2b-4c5d-8e9f-aabbccddeeff";
const std::string kContainer(64, 'c');

std::string named(const PodProcess& process) { return process.pod_uid == kUid ? "shop/train" : ""; }

TEST(HolderNames, AProcessIsNamedWithWhereItBelongs) {
  const auto in_pod = fmt::format("/kubepods/burstable/pod{}/{}", kUid, kContainer);
  const auto unknown = fmt::format("/kubepods.slice/kubepods-pod{}.slice/cri-containerd-{}.scope",
                                   "11111111_2222_3333_4444_555555555555", kContainer);
  struct Row {
    const char* name;
    DeviceHolder holder;
    std::string text;
  };
  const Row rows[] = {
      {"a Pod that is known",
       {.pid = 7, .name = "python", .cgroup = in_pod, .command = "python train.py"},
       "python (pid 7, Pod shop/train)"},
      {"a Pod that is not",
       {.pid = 7, .name = "python", .cgroup = unknown},
       "python (pid 7, Pod with uid 11111111-2222-3333-4444-555555555555, container "
       "cccccccccccc)"},
      {"a service of systemd",
       {.pid = 12,
        .name = "nv-hostengine",
        .cgroup = "/system.slice/nvidia-dcgm.service",
        .command = "/usr/bin/nv-hostengine -n"},
       "nv-hostengine (pid 12, nvidia-dcgm.service: /usr/bin/nv-hostengine -n)"},
      {"a service, seen from a container",
       {.pid = 12, .name = "nvidia-persiste", .cgroup = "/../../../system.slice/n.service/sub"},
       "nvidia-persiste (pid 12, n.service)"},
      {"a person's shell",
       {.pid = 9, .name = "top", .cgroup = "/", .command = "top"},
       "top (pid 9, no Pod: top)"},
      {"a group that is not known",
       {.pid = 9, .name = "top", .cgroup = "", .command = "top"},
       "top (pid 9, top)"},
      {"what a process chose itself",
       {.pid = 9, .name = "a\nb", .cgroup = "/x\n.service", .command = "\033[2J"},
       "a?b (pid 9, x?.service: ?[2J)"},
  };
  for (const auto& [name, holder, text] : rows) EXPECT_EQ(describe(holder, named), text) << name;
}

TEST(HolderNames, ManyAreNamedInPart) {
  const std::vector<DeviceHolder> many = {{.pid = 1, .name = "a"}, {.pid = 2, .name = "b"}};
  EXPECT_THAT(describe(many, {}), ElementsAre("a (pid 1)", "b (pid 2)"));
  EXPECT_THAT(describe(many, {}, 1), ElementsAre("a (pid 1)", "and 1 more"));
}

TEST(HolderNames, WhatCannotBeSeenIsSaid) {
  EXPECT_EQ(what_is_unseen({.sees_others = true}), "");
  EXPECT_THAT(what_is_unseen({}), HasSubstr("enableHostPID"));
  EXPECT_THAT(what_is_unseen({.unseen = 3, .sees_others = true}),
              HasSubstr("3 processes could not be looked at"));
}

}  // namespace
}  // namespace tranche::host::holder_names_test
