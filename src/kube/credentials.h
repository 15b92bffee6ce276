#pragma once
// Where the API server is and how to prove who we are: from a kubeconfig file, or from what
// Kubernetes puts into every Pod. Values and their reading; the connection is client.h's.
//
// Tokens and certificates rotate. So files are named here, not copied: whoever connects reads them
// when they have changed. What a kubeconfig holds inline (…-data) is kept as text.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::kube {

// A text, or the file that holds it; both empty: not given.
struct Secret {
  std::string text;
  std::filesystem::path file;
  bool empty() const { return text.empty() && file.empty(); }
  bool operator==(const Secret&) const = default;
};

struct Credentials {
  std::string server;           // "https://10.96.0.1:443", without a slash at the end
  std::string tls_server_name;  // instead of the server's host; empty: the host
  bool insecure = false;        // insecure-skip-tls-verify
  Secret authority;             // PEM; empty: the system's
  Secret certificate;           // PEM
  Secret key;                   // PEM
  Secret token;
  std::string ns;    // of the context, or the Pod's
  std::string from;  // for messages: "kubeconfig /x, context y", "the Pod's service account"

  bool operator==(const Credentials&) const = default;
};

// A kubeconfig's text. `path`: for messages, and relative file names are relative to its folder.
// `context`: empty for current-context. kInvalidArgument for what is broken or misses something,
// kUnsupported for what this client does not do (proxy-url, exec and auth-provider plugins, user
// names with passwords, impersonation).
Result<Credentials> parse_kubeconfig(std::string_view text, const std::filesystem::path& path,
                                     const std::string& context = {});
Result<Credentials> load_kubeconfig(const std::filesystem::path& path,
                                    const std::string& context = {});

// The environment's KUBERNETES_SERVICE_HOST and _PORT, as far as set.
struct ServiceAddress {
  std::optional<std::string> host;
  std::optional<std::string> port;
};
inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// kFailedPrecondition outside a Pod, or in one without a service account's token.
Result<Credentials> in_cluster(const ServiceAddress& address, const FsRoot& fs = FsRoot());

}  // namespace tranche::kube
