// MPS v3's configuration file, by NVIDIA's documentation of it (release 615). Keys that it does not
// know are errors. SM partitions, memory accounting and context sharing are read and checked, and
// change nothing here (sim/README.md).

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "fmt/format.h"
#include "sim/mps/settings.h"

namespace tranche::sim::mps {
namespace {

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<std::vector<NamedServer>> read() const {
    const std::ifstream file(path_);
    if (!file) return fail(Code::kNotFound, fmt::format("open {}: no such file", path_));
    std::ostringstream text;
    text << file.rdbuf();
    try {
      return read_root(toml::parse(text.str(), path_));
    } catch (const toml::parse_error& error) {
      return wrong(error.source(), std::string(error.description()));
    }
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  std::unexpected<Error> wrong(const toml::source_region& where, const std::string& what) const {
    return fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", path_, where.begin.line, what));
  }

  Result<void> check_keys(const toml::table& table, const std::string& of, Names known) const {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      return wrong(value.source(), fmt::format("{}: unknown key '{}'", of, key.str()));
    }
    return {};
  }

  // nullptr: it is not there.
  Result<const toml::table*> table_at(const toml::table& in, std::string_view key) const {
    const toml::node* const node = in.get(key);
    if (node == nullptr || node->is_table()) return node == nullptr ? nullptr : node->as_table();
    return wrong(node->source(), fmt::format("'{}' is no table", key));
  }

  template <class Value>
  Result<std::optional<Value>> value_at(const toml::table& in, std::string_view key,
                                        std::string_view kind) const {
    const toml::node* const node = in.get(key);
    if (node == nullptr) return std::nullopt;
    auto value = node->value_exact<Value>();
    if (!value) return wrong(node->source(), fmt::format("'{}' must be {}", key, kind));
    return value;
  }
  Result<std::optional<std::string>> text_at(const toml::table& in, std::string_view key) const {
    return value_at<std::string>(in, key, "a string");
  }

  Result<std::vector<NamedServer>> read_root(const toml::table& root) const {
    TRY(check_keys(root, "the file", {"schema_version", "servers", "features"}));
    ASSIGN_OR_RETURN(const auto version, text_at(root, "schema_version"));
    if (version && *version != "1.0") {
      return wrong(root.get("schema_version")->source(), "schema_version is not \"1.0\"");
    }
    TRY(check_features(root));
    std::vector<NamedServer> servers;
    ASSIGN_OR_RETURN(const toml::table* const all, table_at(root, "servers"));
    if (all == nullptr) return servers;
    for (const auto& [key, value] : *all) {
      const toml::table* const one = value.as_table();
      if (one == nullptr)
        return wrong(value.source(), fmt::format("servers.{}: no table", key.str()));
      ASSIGN_OR_RETURN(servers.emplace_back(), read_server(std::string(key.str()), *one));
    }
    return servers;
  }

  Result<void> check_features(const toml::table& root) const {
    ASSIGN_OR_RETURN(const toml::table* const features, table_at(root, "features"));
    if (features == nullptr) return {};
    TRY(check_keys(*features, "features", {"memacct", "context-share"}));
    ASSIGN_OR_RETURN(const toml::table* const memory, table_at(*features, "memacct"));
    if (memory != nullptr) {
      TRY(check_keys(*memory, "features.memacct", {"enabled", "audit_log"}));
      TRY(value_at<bool>(*memory, "enabled", "true or false"));
      TRY(value_at<bool>(*memory, "audit_log", "true or false"));
    }
    ASSIGN_OR_RETURN(const toml::table* const share, table_at(*features, "context-share"));
    if (share == nullptr) return {};
    TRY(check_keys(*share, "features.context-share", {"enabled", "default_socket"}));
    TRY(value_at<bool>(*share, "enabled", "true or false"));
    TRY(text_at(*share, "default_socket"));
    return {};
  }

  Result<NamedServer> read_server(const std::string& name, const toml::table& table) const {
    const std::string of = "servers." + name;
    TRY(check_keys(table, of,
                   {"allowed_devices", "pinned_memory_limit", "active_thread_percentage",
                    "client_priority", "uid", "locality_domains", "namespaces", "devices"}));
    NamedServer server;
    server.name = name;
    ASSIGN_OR_RETURN(const auto uid, value_at<std::int64_t>(table, "uid", "a number"));
    if (uid) server.uid = static_cast<uid_t>(*uid);
    ASSIGN_OR_RETURN(const auto devices, text_at(table, "allowed_devices"));
    server.devices = devices.value_or("");
    TRY(value_at<bool>(table, "locality_domains", "true or false"));
    TRY(read_limits(table, server.limits, server.memory));
    TRY(check_partitions(table, of));
    ASSIGN_OR_RETURN(const toml::table* const spaces, table_at(table, "namespaces"));
    if (spaces == nullptr) return server;
    for (const auto& [key, value] : *spaces) {
      const toml::table* const one = value.as_table();
      const std::string space = fmt::format("{}.namespaces.{}", of, key.str());
      if (one == nullptr) return wrong(value.source(), space + ": no table");
      TRY(check_keys(*one, space,
                     {"pinned_memory_limit", "active_thread_percentage", "client_priority"}));
      MpsLimits limits;
      std::optional<std::uint64_t> memory;
      TRY(read_limits(*one, limits, memory));
      if (key.str() == "default") {
        server.limits = server.limits.lowered_by(limits);
        if (memory) server.memory = std::min(*memory, server.memory.value_or(*memory));
      } else {
        server.namespaces[std::string(key.str())] = {.limits = limits, .memory = memory};
      }
    }
    return server;
  }

  Result<void> read_limits(const toml::table& table, MpsLimits& limits,
                           std::optional<std::uint64_t>& memory) const {
    ASSIGN_OR_RETURN(const auto percent, text_at(table, "active_thread_percentage"));
    if (percent) {
      const auto permille = read_permille(*percent);
      if (!permille) return invalid(table, "active_thread_percentage", R"("1" to "100")");
      limits.thread_permille = *permille;
    }
    ASSIGN_OR_RETURN(const auto amount, text_at(table, "pinned_memory_limit"));
    if (amount) {
      memory = read_memory(*amount);
      if (!memory) return invalid(table, "pinned_memory_limit", R"(as "10G" or "512M")");
    }
    ASSIGN_OR_RETURN(const auto priority, text_at(table, "client_priority"));
    if (!priority) return {};
    if (*priority != "0" && *priority != "1")
      return invalid(table, "client_priority", R"("0" or "1")");
    limits.priority = *priority == "1" ? 1 : 0;
    return {};
  }

  std::unexpected<Error> invalid(const toml::table& table, std::string_view key,
                                 std::string_view how) const {
    return wrong(table.get(key)->source(), fmt::format("'{}' must be {}", key, how));
  }

  Result<void> check_partitions(const toml::table& table, const std::string& of) const {
    const toml::node* const devices = table.get("devices");
    if (devices == nullptr) return {};
    if (!devices->is_array_of_tables()) {
      return wrong(devices->source(), of + ".devices: written as [[" + of + ".devices]]");
    }
    for (const toml::node& device : *devices->as_array()) {
      const toml::table& one = *device.as_table();
      TRY(check_keys(one, of + ".devices", {"uuid", "sm_partitions"}));
      ASSIGN_OR_RETURN(const auto uuid, text_at(one, "uuid"));
      if (!uuid) return wrong(one.source(), of + ".devices: needs a uuid");
      const toml::node* const partitions = one.get("sm_partitions");
      if (partitions == nullptr) continue;
      if (!partitions->is_array_of_tables()) {
        return wrong(partitions->source(), of + ".devices: sm_partitions are tables");
      }
      for (const toml::node& node : *partitions->as_array()) {
        const toml::table& partition = *node.as_table();
        TRY(check_keys(partition, "sm_partitions", {"name", "chunks", "include_remainder"}));
        ASSIGN_OR_RETURN(const auto name, text_at(partition, "name"));
        ASSIGN_OR_RETURN(const auto chunks,
                         value_at<std::int64_t>(partition, "chunks", "a number"));
        TRY(value_at<bool>(partition, "include_remainder", "true or false"));
        if (!name || !chunks || *chunks < 1) {
          return wrong(partition.source(), "sm_partitions: need a name and chunks above 0");
        }
      }
    }
    return {};
  }

  std::string path_;
};

}  // namespace

Result<std::vector<NamedServer>> read_config(const std::string& path) {
  return Reader(path).read();
}

}  // namespace tranche::sim::mps
