#include "kube/connect.h"

#include "kube/client.h"
#include "kube/credentials.h"

namespace tranche::kube {
namespace {

std::optional<std::string> find(const std::map<std::string, std::string>& environment,
                                const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Result<std::unique_ptr<cluster::Objects>> connect(
    const std::string& kubeconfig, const std::map<std::string, std::string>& environment,
    const std::string& user_agent, const Log& log) {
  ASSIGN_OR_RETURN(auto credentials,
                   kubeconfig.empty()
                       ? in_cluster({.host = find(environment, "KUBERNETES_SERVICE_HOST"),
                                     .port = find(environment, "KUBERNETES_SERVICE_PORT")})
                       : load_kubeconfig(kubeconfig));
  return Client::open(std::move(credentials), {.user_agent = user_agent, .log = &log});
}

}  // namespace tranche::kube
