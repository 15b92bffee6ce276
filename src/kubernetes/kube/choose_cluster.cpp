#include "kube/choose_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "kube/connect.h"

namespace tranche::kube {
namespace {

using Environment = std::map<std::string, std::string>;
using Paths = std::vector<std::filesystem::path>;

constexpr const char* kRemedy =
    "copy the cluster's kubeconfig there, set KUBECONFIG, or name a file with --kubeconfig";

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Like kubectl, leaves out missing files.
Paths files_of(const std::string& list) {
  Paths paths;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(':', begin), list.size());
    const std::filesystem::path path = list.substr(begin, end - begin);
    if (!path.empty() && is_there(path)) paths.push_back(path);
    begin = end + 1;
  }
  return paths;
}

// Where a kubeconfig was looked for.
std::string looked_at(const Environment& environment, const std::filesystem::path& home_file) {
  const auto list = variable(environment, "KUBECONFIG");
  std::vector<std::string> places;
  places.push_back(list.empty() ? "KUBECONFIG is not set"
                                : fmt::format("KUBECONFIG names {}, which is not there", list));
  places.push_back(home_file.empty() ? "HOME is not set"
                                     : fmt::format("there is no {}", home_file.string()));
  if (variable(environment, "KUBERNETES_SERVICE_HOST").empty()) {
    places.emplace_back("this is no Pod with a service account");
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

}  // namespace

Result<Credentials> choose_cluster(const ApiServer& asked, bool by_flag,
                                   const Environment& environment) {
  if (by_flag && !asked.kubeconfig.empty()) {
    if (is_there(asked.kubeconfig)) return load_kubeconfig(asked.kubeconfig, asked.context);
    return fail(Code::kInvalidArgument,
                fmt::format("--kubeconfig: there is no file {}", asked.kubeconfig));
  }
  if (const auto paths = files_of(variable(environment, "KUBECONFIG")); !paths.empty()) {
    return load_kubeconfigs(paths, asked.context);
  }
  const auto home = variable(environment, "HOME");
  const auto file =
      home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".kube" / "config";
  const bool in_pod = !variable(environment, "KUBERNETES_SERVICE_HOST").empty();
  if (in_pod && asked.context.empty()) return find_credentials({}, environment);
  if (!file.empty() && is_there(file)) return load_kubeconfig(file, asked.context);
  if (!asked.context.empty()) {
    return fail(Code::kInvalidArgument,
                fmt::format("context {}: there is no kubeconfig that could have it: {}",
                            asked.context, looked_at(environment, file)),
                kRemedy);
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("no cluster is configured: {}", looked_at(environment, file)), kRemedy);
}

}  // namespace tranche::kube
