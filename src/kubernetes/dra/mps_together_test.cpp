#include "dra/mps_together.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::dra::mps_together_test {
namespace {

using testing::HasSubstr;

constexpr const char* kPod = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b00";
constexpr const char* kGpu = "nvidia.com/gpu";

std::string uuid(int number) { return fmt::format("0b51bcc7-6a6c-4c0f-9e0e-{:012}", number); }

PreparedDevice share(int gpu, std::uint32_t percent, const char* request = "gpu",
                     const char* mps = kGpu) {
  const auto name = fmt::format("GPU-{}", gpu);
  return {.request = request,
          .pool = "gpu-n1",
          .device = fmt::format("gpu-{}", gpu),
          .share_id = uuid(gpu * 100 + static_cast<int>(percent)),
          .uuid = name,
          .part = ConsumedPart{Bytes::from_mib(1000), percent},
          .limits = GrantLimits{.enforcement = Enforcement::kStrict,
                                .devices = {{.uuid = name,
                                             .memory = Bytes::from_mib(1000),
                                             .weight = percent * 10,
                                             .permille = percent * 10}}},
          .mps = mps};
}

PreparedClaim claim(int number, std::vector<PreparedDevice> devices) {
  return {.ns = "team",
          .name = fmt::format("p-c{}", number),
          .uid = uuid(number),
          .boot = "boot",
          .devices = std::move(devices),
          .pod = kPod};
}

cluster::Pod pod(std::vector<cluster::PodContainer> containers) {
  return {.ns = "team",
          .name = "p",
          .uid = kPod,
          .containers = std::move(containers),
          .claims = {{"one", "p-c1", "t"}, {"two", "p-c2"}}};
}
const auto kTogether = pod({{.name = "main", .claims = {{"one"}, {"two"}}}});
const auto kApart = pod({{.name = "a", .claims = {{"one"}}}, {.name = "b", .claims = {{"two"}}}});

std::string trouble(const PreparedClaim& wanted, const std::vector<PreparedClaim>& prepared,
                    const cluster::Pod* of) {
  const auto checked = check_mps_together(wanted, prepared, of);
  return checked ? "" : checked.error().what;
}

TEST(MpsTogether, OneDaemonForAContainer) {
  const auto first = claim(1, {share(0, 50)});
  const auto other = claim(2, {share(1, 50, "gpu", "nvidia.com/small")});
  EXPECT_THAT(trouble(other, {first}, nullptr), HasSubstr("different MPS control daemons"));
  EXPECT_THAT(trouble(other, {first}, &kTogether), HasSubstr("of container main"));
  EXPECT_EQ(trouble(other, {first}, &kApart), "");
  EXPECT_EQ(trouble(claim(2, {share(1, 50, "gpu", "")}), {first}, nullptr), "")
      << "not a client of any";
  auto elsewhere = first;
  elsewhere.pod = uuid(9);
  EXPECT_EQ(trouble(other, {elsewhere}, nullptr), "") << "another Pod's";
}

TEST(MpsTogether, OnePercentageForAContainer) {
  const auto first = claim(1, {share(0, 50)});
  EXPECT_EQ(trouble(claim(2, {share(1, 50)}), {first}, &kTogether), "");
  EXPECT_THAT(trouble(claim(2, {share(1, 20)}), {first}, &kTogether),
              HasSubstr("20% of gpu-1 and 50% of gpu-0 of container main"));
  EXPECT_EQ(trouble(claim(2, {share(1, 20)}), {first}, &kApart), "");
  auto whole = share(1, 20);
  whole.limits.reset();
  EXPECT_THAT(trouble(claim(2, {whole}), {first}, &kTogether), HasSubstr("100% of gpu-1"));
}

TEST(MpsTogether, RequestsOfOneClaim) {
  const auto both = claim(1, {share(0, 50, "a"), share(1, 20, "b")});
  EXPECT_THAT(trouble(both, {}, nullptr), HasSubstr("MPS has one percentage"));
  const auto apart =
      pod({{.name = "a", .claims = {{"one", "a"}}}, {.name = "b", .claims = {{"one", "b"}}}});
  EXPECT_EQ(trouble(both, {}, &apart), "");
}

// Joint shares of one GPU count as their sum.
TEST(MpsTogether, SharesOfOneGpu) {
  const auto first = claim(1, {share(0, 50)});
  auto second = claim(2, {share(0, 20)});
  second.devices[0].joined = first.devices[0].share_id;
  EXPECT_EQ(trouble(second, {first}, &kTogether), "");
}

}  // namespace
}  // namespace tranche::dra::mps_together_test
