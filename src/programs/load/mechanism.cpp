#include "load/mechanism.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "load/cuda_api.h"
#include "load/mps_daemon.h"

namespace tranche::load {
namespace {

namespace fs = std::filesystem;

constexpr std::array kNames = {std::pair{Mechanism::kTimeSlicing, std::string_view("time-slicing")},
                               std::pair{Mechanism::kMps, std::string_view("mps")},
                               std::pair{Mechanism::kLimits, std::string_view("limits")}};
constexpr std::string_view kPipeVariable = "CUDA_MPS_PIPE_DIRECTORY";
// A folder that cannot exist, so it has no daemon's pipe and the process is no MPS client.
constexpr std::string_view kNoPipe = "/proc/self/no-mps";

std::unexpected<Error> missing(std::string what, std::string hint = {}) {
  return fail(Code::kFailedPrecondition, std::move(what), std::move(hint));
}

Result<void> check_shared(const DeviceInfo& device) {
  if (device.compute_mode == CU_COMPUTEMODE_DEFAULT) return {};
  return missing("the GPU's compute mode lets one process alone use it",
                 "nvidia-smi -c DEFAULT, unless an MPS server needs it so");
}

bool has_socket(const fs::path& tenant) {
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(tenant, ignored)) {
    if (file.is_socket(ignored)) return true;
  }
  return false;
}

Result<void> check_limits(const MechanismOptions& options, const std::vector<std::string>& roles) {
  std::error_code ignored;
  if (options.limit_library.empty() || !fs::is_regular_file(options.limit_library, ignored)) {
    return missing(options.limit_library.empty() ? "no limiter library"
                                                 : options.limit_library + " is not there",
                   "--limit-library names libtranche-limit.so");
  }
  if (options.tenants.empty()) {
    return missing("no tenants", "--tenants names the arbiter's folder of them");
  }
  for (const std::string& role : roles) {
    const fs::path tenant = fs::path(options.tenants) / role;
    if (!fs::is_directory(tenant, ignored)) {
      return missing(fmt::format("there is no tenant {}", tenant.string()),
                     "each process of the comparison is one");
    }
    if (!has_socket(tenant)) {
      return missing(fmt::format("no arbiter serves the tenant {}", tenant.string()),
                     "start tranche arbiter");
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(Mechanism mechanism) {
  return std::ranges::find(kNames, mechanism, &decltype(kNames)::value_type::first)->second;
}

Result<std::vector<Mechanism>> parse_mechanisms(std::string_view text) {
  std::vector<Mechanism> out;
  for (;;) {
    const auto comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto found = std::ranges::find(kNames, word, &decltype(kNames)::value_type::second);
    if (found == kNames.end()) {
      return fail(Code::kInvalidArgument, fmt::format("no mechanism '{}'", word),
                  "there are time-slicing, mps and limits");
    }
    if (std::ranges::find(out, found->first) == out.end()) out.push_back(found->first);
    if (comma == text.npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Result<void> check(Mechanism mechanism, const MechanismOptions& options, const DeviceInfo& device,
                   const std::vector<std::string>& roles) {
  switch (mechanism) {
    case Mechanism::kTimeSlicing:
      return check_shared(device);
    case Mechanism::kMps:
      return options.mps_environment.empty() ? ask_mps_daemon() : Result<void>();
    case Mechanism::kLimits:
      TRY(check_shared(device));
      return check_limits(options, roles);
  }
  return fail(Code::kInternal, "no such mechanism");
}

Surroundings surroundings_of(Mechanism mechanism, const MechanismOptions& options,
                             const std::string& role) {
  if (mechanism == Mechanism::kMps) return {.set = options.mps_environment};
  Surroundings out;
  for (const std::string& setting : options.mps_environment) {
    out.unset.push_back(setting.substr(0, setting.find('=')));
  }
  out.set.push_back(fmt::format("{}={}", kPipeVariable, kNoPipe));
  if (mechanism == Mechanism::kLimits) {
    out.set.push_back("LD_PRELOAD=" + options.limit_library);
    out.tenant = (fs::path(options.tenants) / role).string();
  }
  return out;
}

}  // namespace tranche::load
