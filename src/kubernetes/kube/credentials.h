#pragma once
// The address of the API server and the credentials for it, from a kubeconfig file or from the
// service account of a Pod. This file has the values and reads them; client.h connects.
//
// Tokens and certificates rotate. So a value here names the file instead of copying it; the client
// reads the file again when it has changed. Data inline in a kubeconfig (…-data) is kept as text.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::kube {

// A text, or the file that holds it. Both empty: there is none.
struct Secret {
  std::string text;
  std::filesystem::path file;
  bool empty() const { return text.empty() && file.empty(); }
  bool operator==(const Secret&) const = default;
};

struct Credentials {
  std::string server;           // "https://10.96.0.1:443", without a slash at the end
  std::string tls_server_name;  // the name to expect in its certificate; empty: the server's host
  bool insecure = false;        // insecure-skip-tls-verify
  Secret authority;             // PEM; empty: the system's authorities
  Secret certificate;           // PEM
  Secret key;                   // PEM
  Secret token;
  // For a server behind the API server's proxy, where that has another token (HttpGet).
  Secret proxied_token{};
  std::string ns;    // namespace of the context, or of the Pod
  std::string from;  // for messages: "kubeconfig /x, context y", "the Pod's service account"

  bool operator==(const Credentials&) const = default;
};

// Parses the text of a kubeconfig. `path`: named in messages; relative file names are relative to
// its folder. `context`: empty for current-context. kInvalidArgument: the text is invalid or lacks
// something. kUnsupported: it uses something that this client does not support (proxy-url, exec and
// auth-provider plugins, user names with passwords, impersonation).
Result<Credentials> parse_kubeconfig(std::string_view text, const std::filesystem::path& path,
                                     const std::string& context = {});
Result<Credentials> load_kubeconfig(const std::filesystem::path& path,
                                    const std::string& context = {});

// The context from several files, as listed in KUBECONFIG: `context`, else the current-context of
// the first file that has one, taken from the first file that defines it. Its cluster and user must
// be in the same file. kInvalidArgument also if no file defines the context.
Result<Credentials> load_kubeconfigs(const std::vector<std::filesystem::path>& paths,
                                     const std::string& context = {});

// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of the environment; nullopt: not set.
struct ServiceAddress {
  std::optional<std::string> host;
  std::optional<std::string> port;
};
inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// The credentials of the Pod's service account. kFailedPrecondition: this is no Pod, or the Pod has
// no service account token.
Result<Credentials> in_cluster(const ServiceAddress& address, const FsRoot& fs = FsRoot());

}  // namespace tranche::kube
