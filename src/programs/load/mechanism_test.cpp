#include "load/mechanism.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tranche::load::mechanism_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Makes a socket like the arbiter's in a tenant's folder.
void make_socket(const fs::path& path) {
  fs::create_directories(path.parent_path());
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.native().size(), sizeof address.sun_path);
  std::strcpy(&address.sun_path[0], path.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
}

std::string reason(Mechanism mechanism, const MechanismOptions& options,
                   const DeviceInfo& device = {}) {
  const auto there = check(mechanism, options, device, {"latency", "neighbour-1"});
  return there ? "" : there.error().message();
}

TEST(Mechanisms, AreNamedByAList) {
  EXPECT_THAT(parse_mechanisms("mps,time-slicing,mps").value(),
              ElementsAre(Mechanism::kMps, Mechanism::kTimeSlicing));
  EXPECT_THAT(parse_mechanisms("limits").value(), ElementsAre(Mechanism::kLimits));
  for (const char* text : {"", "mig", "mps,", "mps;limits"}) {
    EXPECT_FALSE(parse_mechanisms(text)) << text;
  }
}

TEST(Mechanisms, AnExclusiveGpuIsNotSliced) {
  EXPECT_EQ(reason(Mechanism::kTimeSlicing, {}), "");
  EXPECT_THAT(reason(Mechanism::kTimeSlicing, {}, {.compute_mode = 3}), HasSubstr("compute mode"));
}

TEST(Mechanisms, SlicesAreForProcessesThatAreNobodysClients) {
  const MechanismOptions options{.mps_environment = {"A=1", "B=x=y"}};
  const auto sliced = surroundings_of(Mechanism::kTimeSlicing, options, "latency");
  EXPECT_THAT(sliced.unset, ElementsAre("A", "B"));
  EXPECT_THAT(sliced.set, ElementsAre(HasSubstr("CUDA_MPS_PIPE_DIRECTORY=/proc/self/")));
  const auto clients = surroundings_of(Mechanism::kMps, options, "latency");
  EXPECT_EQ(clients.set, options.mps_environment);
  EXPECT_TRUE(clients.unset.empty());
  EXPECT_EQ(reason(Mechanism::kMps, options), "");
}

TEST(Mechanisms, LimitsNeedTheLibraryAndAnArbitersSocketForEveryRole) {
  const test::TempDir folder;
  const fs::path root = folder.path();
  MechanismOptions options;
  EXPECT_THAT(reason(Mechanism::kLimits, options), HasSubstr("--limit-library"));
  options.limit_library = (root / "libtranche-limit.so").string();
  EXPECT_THAT(reason(Mechanism::kLimits, options), HasSubstr("libtranche-limit.so is not there"));
  std::ofstream(options.limit_library) << "x";
  EXPECT_THAT(reason(Mechanism::kLimits, options), HasSubstr("--tenants"));
  options.tenants = (root / "t").string();
  EXPECT_THAT(reason(Mechanism::kLimits, options), HasSubstr("there is no tenant"));
  make_socket(root / "t/latency/arbiter.sock");
  EXPECT_THAT(reason(Mechanism::kLimits, options), HasSubstr("neighbour-1"));
  fs::create_directories(root / "t/neighbour-1");
  EXPECT_THAT(reason(Mechanism::kLimits, options), HasSubstr("tranche arbiter"));
  make_socket(root / "t/neighbour-1/arbiter.sock");
  EXPECT_EQ(reason(Mechanism::kLimits, options), "");
  const auto around = surroundings_of(Mechanism::kLimits, options, "neighbour-1");
  EXPECT_EQ(around.tenant, (root / "t/neighbour-1").string());
  EXPECT_THAT(around.set, Contains("LD_PRELOAD=" + options.limit_library));
}

}  // namespace
}  // namespace tranche::load::mechanism_test
