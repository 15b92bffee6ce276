#include <fmt/format.h>

#include "kube/credentials.h"
#include "kube/server_url.h"

namespace tranche::kube {

Result<Credentials> in_cluster(const ServiceAddress& address, const FsRoot& fs) {
  if (!address.host || address.host->empty() || !address.port || address.port->empty()) {
    return fail(Code::kFailedPrecondition,
                "this is no Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
                "name a kubeconfig file");
  }
  Credentials credentials;
  credentials.from = "the Pod's service account";
  ServerUrl url;
  url.host = *address.host;
  url.port = *address.port;
  ASSIGN_OR_RETURN(url, parse_server_url(url.to_string()));
  credentials.server = url.to_string();
  const std::filesystem::path folder(kServiceAccountFolder);
  credentials.token.file = fs.resolve(folder / "token");
  credentials.authority.file = fs.resolve(folder / "ca.crt");
  if (!fs.exists(folder / "token")) {
    return fail(Code::kFailedPrecondition,
                fmt::format("the Pod has no service account's token at {}",
                            credentials.token.file.string()),
                "set automountServiceAccountToken: true, or name a kubeconfig file");
  }
  // Kubernetes puts the namespace next to the token. It may be missing: it is optional here.
  auto ns = fs.read(folder / "namespace");
  if (!ns && ns.error().code != Code::kNotFound) return std::unexpected(std::move(ns).error());
  credentials.ns = std::move(ns).value_or("");
  credentials.ns.erase(credentials.ns.find_last_not_of(" \n") + 1);
  return credentials;
}

}  // namespace tranche::kube
