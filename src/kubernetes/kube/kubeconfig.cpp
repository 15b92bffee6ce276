#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/base64.h"
#include "base/yaml.h"
#include "kube/credentials.h"
#include "kube/server_url.h"

namespace tranche::kube {
namespace {

Result<yaml::Document> parse_document(std::string_view text, const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(auto document, yaml::parse(text, path.string()));
  if (document.root.kind == yaml::Kind::kMap) return document;
  return fail(Code::kInvalidArgument, fmt::format("{}: no kubeconfig: it is {}", path.string(),
                                                  yaml::describe(document.root.kind)));
}

std::vector<std::string> contexts_of(const yaml::Node& root) {
  std::vector<std::string> names;
  const auto* const entries = root.find("contexts");
  if (entries == nullptr) return names;
  for (const auto& entry : entries->items) {
    if (const auto* const name = entry.find("name")) names.push_back(name->scalar);
  }
  return names;
}

// Reads one kubeconfig. Messages begin with file name and line.
class Reader {
 public:
  Reader(std::filesystem::path path, const yaml::Node& root)
      : path_(std::move(path)), root_(root) {}

  Result<Credentials> read(const std::string& wanted) const {
    ASSIGN_OR_RETURN(const auto context, context_name(wanted));
    ASSIGN_OR_RETURN(const auto* const entry, named("contexts", "context", context));
    ASSIGN_OR_RETURN(const auto cluster_name, text(*entry, "cluster"));
    ASSIGN_OR_RETURN(const auto user_name, text(*entry, "user"));
    Credentials credentials;
    ASSIGN_OR_RETURN(credentials.ns, text(*entry, "namespace"));
    credentials.from = fmt::format("kubeconfig {}, context {}", path_.string(), context);
    ASSIGN_OR_RETURN(const auto* const cluster, named("clusters", "cluster", cluster_name));
    TRY(read_cluster(*cluster, credentials));
    if (user_name.empty()) return credentials;
    ASSIGN_OR_RETURN(const auto* const user, named("users", "user", user_name));
    TRY(read_user(*user, credentials));
    return credentials;
  }

 private:
  std::unexpected<Error> refuse(int line, std::string_view what, std::string hint = {},
                                Code code = Code::kInvalidArgument) const {
    return fail(code, fmt::format("{}:{}: {}", path_.string(), line, what), std::move(hint));
  }

  Result<std::string> context_name(const std::string& wanted) const {
    if (!wanted.empty()) return wanted;
    ASSIGN_OR_RETURN(auto current, text(root_, "current-context"));
    if (current.empty()) {
      return refuse(root_.line, "current-context is not set", "set it, or name a context");
    }
    return current;
  }

  // The mapping at `key` in the entry of `list` with this name.
  Result<const yaml::Node*> named(std::string_view list, std::string_view key,
                                  const std::string& name) const {
    const auto* const entries = root_.find(list);
    std::vector<std::string> known;
    if (entries != nullptr) {
      for (const auto& entry : entries->items) {
        const auto* const entry_name = entry.find("name");
        if (entry_name == nullptr) continue;
        known.push_back(entry_name->scalar);
        if (entry_name->scalar != name) continue;
        const auto* const found = entry.find(key);
        if (found != nullptr && found->kind == yaml::Kind::kMap) return found;
        return refuse(entry.line, fmt::format("{} \"{}\" has no mapping {}", list, name, key));
      }
    }
    const auto hint = known.empty() ? fmt::format("the file has no {}", list)
                                    : fmt::format("it has {}", fmt::join(known, ", "));
    return refuse(entries == nullptr ? root_.line : entries->line,
                  fmt::format("no \"{}\" among {}", name, list), hint);
  }

  // The text at `key`; empty if absent or null.
  Result<std::string> text(const yaml::Node& map, std::string_view key) const {
    const auto* const found = map.find(key);
    if (found == nullptr || found->kind == yaml::Kind::kNull) return std::string();
    if (found->kind == yaml::Kind::kScalar) return found->scalar;
    return refuse(found->line, fmt::format("{} is {} where a text is expected", key,
                                           yaml::describe(found->kind)));
  }

  Result<bool> flag(const yaml::Node& map, std::string_view key) const {
    const auto* const found = map.find(key);
    if (found == nullptr || found->kind == yaml::Kind::kNull) return false;
    if (const auto value = yaml::as_bool(*found)) return *value;
    return refuse(found->line, fmt::format("{} is neither true nor false", key));
  }

  // The inline text (`<key>-data`, base64), else the file at `key`.
  Result<Secret> secret(const yaml::Node& map, const std::string& key) const {
    const auto data_key = key + "-data";
    ASSIGN_OR_RETURN(const auto data, text(map, data_key));
    if (!data.empty()) {
      auto decoded = decode_base64(data);
      if (decoded) return Secret{*std::move(decoded), {}};
      return refuse(map.find(data_key)->line, data_key + " is no base64");
    }
    ASSIGN_OR_RETURN(const auto file, text(map, key));
    if (file.empty()) return Secret{};
    return Secret{{}, file_of(file)};
  }

  std::filesystem::path file_of(const std::string& name) const {
    const std::filesystem::path file(name);
    return file.is_absolute() ? file : path_.parent_path() / file;
  }

  Result<void> read_cluster(const yaml::Node& cluster, Credentials& credentials) const {
    if (const auto* const proxy = cluster.find("proxy-url");
        proxy != nullptr && !proxy->scalar.empty()) {
      return refuse(proxy->line, "proxy-url is not supported",
                    "use an address that can be reached directly", Code::kUnsupported);
    }
    ASSIGN_OR_RETURN(const auto server, text(cluster, "server"));
    if (server.empty()) return refuse(cluster.line, "the cluster has no server");
    auto url = parse_server_url(server);
    if (!url) return refuse(cluster.find("server")->line, url.error().what, url.error().hint);
    credentials.server = url->to_string();
    ASSIGN_OR_RETURN(credentials.tls_server_name, text(cluster, "tls-server-name"));
    ASSIGN_OR_RETURN(credentials.insecure, flag(cluster, "insecure-skip-tls-verify"));
    ASSIGN_OR_RETURN(credentials.authority, secret(cluster, "certificate-authority"));
    if (credentials.insecure && !credentials.authority.empty()) {
      return refuse(cluster.line,
                    "certificate-authority and insecure-skip-tls-verify exclude each other",
                    "remove insecure-skip-tls-verify");
    }
    return {};
  }

  Result<void> read_user(const yaml::Node& user, Credentials& credentials) const {
    struct Unsupported {
      std::string_view key;
      std::string_view hint;
    };
    constexpr auto kUnsupported = std::to_array<Unsupported>({
        {"exec",
         "programs that fetch credentials are not run: use a token or a client certificate"},
        {"auth-provider", "use a token or a client certificate"},
        {"username", "use a token or a client certificate"},
        {"password", "use a token or a client certificate"},
        {"as", "use credentials of the user itself"},
        {"as-uid", "use credentials of the user itself"},
        {"as-groups", "use credentials of the user itself"},
        {"as-user-extra", "use credentials of the user itself"},
    });
    for (const auto& [key, hint] : kUnsupported) {
      const auto* const found = user.find(key);
      if (found == nullptr || found->kind == yaml::Kind::kNull) continue;
      return refuse(found->line, fmt::format("{} is not supported", key), std::string(hint),
                    Code::kUnsupported);
    }
    ASSIGN_OR_RETURN(credentials.certificate, secret(user, "client-certificate"));
    ASSIGN_OR_RETURN(credentials.key, secret(user, "client-key"));
    if (credentials.certificate.empty() != credentials.key.empty()) {
      return refuse(user.line, "client-certificate and client-key belong together",
                    "give both or neither");
    }
    ASSIGN_OR_RETURN(const auto token_file, text(user, "tokenFile"));
    if (!token_file.empty()) {
      credentials.token.file = file_of(token_file);
      return {};
    }
    ASSIGN_OR_RETURN(credentials.token.text, text(user, "token"));
    return {};
  }

  std::filesystem::path path_;
  const yaml::Node& root_;
};

}  // namespace

Result<Credentials> parse_kubeconfig(std::string_view text, const std::filesystem::path& path,
                                     const std::string& context) {
  ASSIGN_OR_RETURN(const auto document, parse_document(text, path));
  return Reader(path, document.root).read(context);
}

Result<Credentials> load_kubeconfig(const std::filesystem::path& path, const std::string& context) {
  std::error_code ignored;
  auto absolute = std::filesystem::absolute(path, ignored);
  ASSIGN_OR_RETURN(const auto text, FsRoot().read(absolute));
  return parse_kubeconfig(text, absolute, context);
}

Result<Credentials> load_kubeconfigs(const std::vector<std::filesystem::path>& paths,
                                     const std::string& context) {
  if (paths.size() == 1) return load_kubeconfig(paths.front(), context);
  std::vector<std::pair<std::filesystem::path, yaml::Document>> files;
  std::string wanted = context;
  for (const auto& path : paths) {
    std::error_code ignored;
    auto absolute = std::filesystem::absolute(path, ignored);
    ASSIGN_OR_RETURN(const auto text, FsRoot().read(absolute));
    ASSIGN_OR_RETURN(auto document, parse_document(text, absolute));
    const auto* const current = document.root.find("current-context");
    if (wanted.empty() && current != nullptr) wanted = current->scalar;
    files.emplace_back(std::move(absolute), std::move(document));
  }
  std::vector<std::string> known;
  for (const auto& [path, document] : files) {
    const auto names = contexts_of(document.root);
    if (std::ranges::find(names, wanted) != names.end()) {
      return Reader(path, document.root).read(wanted);
    }
    known.insert(known.end(), names.begin(), names.end());
  }
  return fail(Code::kInvalidArgument,
              wanted.empty() ? "no kubeconfig file sets current-context"
                             : fmt::format("no kubeconfig file knows the context \"{}\"", wanted),
              fmt::format("they have {}", fmt::join(known, ", ")));
}

}  // namespace tranche::kube
