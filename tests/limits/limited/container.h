#pragma once
// A container as the grant makes it, for programs under libtranche-limit.so: /run/tranche has only
// the tenants of this container, with the sockets of a real arbiter.
//
// main.cpp starts the test program twice: the outer one makes a mount namespace with its own /run,
// and runs the arbiter; the inner one has the library preloaded and runs the tests. Each test makes
// its container, then runs programs in it (sim/cuda/support.h).

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "limit/tenant_limits.h"
#include "limits/library.h"
#include "sim/cuda/support.h"
#include "support/wait.h"

namespace tranche::test {

using sim::cuda::test::kGiB;
using sim::cuda::test::kMiB;

// The arbiter's folder, in both programs.
inline constexpr const char* kLimitsRoot = "/run/limits";

class Container {
 public:
  explicit Container(std::vector<limit::TenantLimits> tenants) {
    const std::filesystem::path view =
        std::filesystem::path(kLimitsRoot) / "views" / std::to_string(++made_);
    std::filesystem::create_directories(view);
    for (auto& tenant : tenants) {
      tenant.id += "-" + std::to_string(made_) + "-" + std::to_string(getpid());
      promise(tenant);
      std::filesystem::create_directory_symlink(folder(tenant.id), view / tenant.id);
      EXPECT_TRUE(eventually([&] { return answers(folder(tenant.id) / "arbiter.sock"); }))
          << "no arbiter";
    }
    std::filesystem::remove("/run/tranche");
    std::filesystem::create_directory_symlink(view, "/run/tranche");
    tenants_ = std::move(tenants);
  }
  ~Container() {
    std::filesystem::remove("/run/tranche");
    for (const auto& tenant : tenants_) {
      std::filesystem::remove(folder(tenant.id).string() + ".json");
      std::error_code gone;  // the arbiter takes its socket away too
      std::filesystem::remove_all(folder(tenant.id), gone);
    }
  }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  // As the agent does: the folder first, then the file atomically.
  static void promise(const limit::TenantLimits& limits) {
    std::filesystem::create_directories(folder(limits.id));
    const auto file = folder(limits.id).string() + ".json";
    std::ofstream(file + ".new") << encode(limits);
    std::filesystem::rename(file + ".new", file);
  }
  // Changes the first tenant's promise.
  template <class Change>
  void change(Change change) {
    change(tenants_.front());
    promise(tenants_.front());
  }

 private:
  // The file is there before anybody listens.
  static bool answers(const std::filesystem::path& path) {
    Library library;
    const bool is_there = library.connect_to(path);
    close(library.socket);
    return is_there;
  }
  static std::filesystem::path folder(const std::string& id) {
    return std::filesystem::path(kLimitsRoot) / "tenants" / id;
  }
  std::vector<limit::TenantLimits> tenants_;
  static inline int made_ = 0;
};

// UUID of the machine's GPU `index`.
inline std::string uuid_of(const sim::test::World& world, unsigned index = 0) {
  return world.open()->state().gpus[index].uuid;
}

// A tenant with this much of the machine's first GPU.
inline limit::TenantLimits part_of(const sim::test::World& world, std::uint64_t bytes,
                                   std::optional<std::uint32_t> permille = {}) {
  return {.id = "tenant",
          .resource = "nvidia.com/gpu",
          .enforcement = Enforcement::kStrict,
          .devices = {{.uuid = uuid_of(world), .memory = Bytes{bytes}, .permille = permille}}};
}

}  // namespace tranche::test
