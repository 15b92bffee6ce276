#include "kube/connect.h"

#include <fmt/format.h>

#include "kube/client.h"

namespace tranche::kube {
namespace {

std::optional<std::string> find(const std::map<std::string, std::string>& environment,
                                const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Result<Credentials> find_credentials(const ApiServer& server,
                                     const std::map<std::string, std::string>& environment) {
  if (!server.kubeconfig.empty()) return load_kubeconfig(server.kubeconfig, server.context);
  if (!server.context.empty()) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("context {}: there is no kubeconfig that could have it", server.context),
        "name the file with --kubeconfig, or leave --context out");
  }
  return in_cluster({.host = find(environment, "KUBERNETES_SERVICE_HOST"),
                     .port = find(environment, "KUBERNETES_SERVICE_PORT")});
}

Result<std::unique_ptr<cluster::Objects>> connect(
    const ApiServer& server, const std::map<std::string, std::string>& environment,
    const std::string& user_agent, const Log& log) {
  ASSIGN_OR_RETURN(auto credentials, find_credentials(server, environment));
  return Client::open(std::move(credentials), {.user_agent = user_agent, .log = &log});
}

}  // namespace tranche::kube
