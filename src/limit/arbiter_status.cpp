#include "limit/arbiter_status.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/envelope.h"
#include "base/json_value.h"
#include "cluster/time.h"
#include "fmt/format.h"
#include "values/limits_json.h"

namespace tranche::limit {
namespace {

using Json = nlohmann::json;

constexpr EnvelopeKind kStatus{.version = "arbiter-status/v1", .key = "status"};

constexpr std::array kDegraded{
    std::pair{Degraded::kMemoryOverLimit, std::string_view("memory-over-limit")},
    std::pair{Degraded::kMemoryNotTold, std::string_view("memory-not-told")},
    std::pair{Degraded::kMemoryLent, std::string_view("memory-lent")},
    std::pair{Degraded::kNotReconciled, std::string_view("not-reconciled")},
    std::pair{Degraded::kKernelLimitFailed, std::string_view("kernel-limit-failed")},
};
constexpr std::array kKinds{
    std::pair{Finding::Kind::kUnregistered, std::string_view("unregistered")},
    std::pair{Finding::Kind::kNoGrant, std::string_view("no-grant")},
    std::pair{Finding::Kind::kUnderReported, std::string_view("under-reported")},
    std::pair{Finding::Kind::kImagePreload, std::string_view("image-preload")},
    std::pair{Finding::Kind::kKernelLimitChanged, std::string_view("kernel-limit-changed")},
};

template <class Table>
std::string_view word_of(const Table& table, auto value) {
  for (const auto& [known, word] : table) {
    if (known == value) return word;
  }
  return "?";
}

// Throws Json::exception, as Json's own readers do.
[[noreturn]] void refuse(const std::string& what) {
  throw Json::other_error::create(501, what, static_cast<const Json*>(nullptr));
}

template <class Table>
auto value_of(const Table& table, const Json& word) {
  for (const auto& [value, known] : table) {
    if (word == known) return value;
  }
  refuse("unknown word " + word.dump());
}

template <class T>
T required(const std::optional<T>& value, const Json& word) {
  if (!value) refuse("unknown word " + word.dump());
  return *value;
}

json::Value to_json(const TenantDevice& device) {
  json::Value entry = json_of(device.limits);
  entry["chargedBytes"] = device.charged_bytes;
  entry["outsideBytes"] = device.outside_bytes;
  entry["gpuNs"] = device.gpu_ns;
  if (device.may_hold_bytes) entry["mayHoldBytes"] = *device.may_hold_bytes;
  return entry;
}

json::Value to_json(const TenantStatus& tenant) {
  json::Value degraded = json::Value::array();
  for (const Degraded one : tenant.degraded) degraded.push_back(to_string(one));
  json::Value devices = json::Value::array();
  for (const TenantDevice& device : tenant.devices) devices.push_back(to_json(device));
  return {{"id", tenant.id},
          {"resource", tenant.resource},
          {"enforcement", to_string(tenant.enforcement)},
          {"priority", to_string(tenant.priority)},
          {"processes", tenant.processes},
          {"refusedAllocations", tenant.refused},
          {"longestLaunchNs", tenant.longest_ns},
          {"degraded", std::move(degraded)},
          {"devices", std::move(devices)}};
}

json::Value to_json(const RefusedTenant& refused) {
  return {{"id", refused.id}, {"reason", refused.reason}};
}

json::Value to_json(const MpsServer& server) {
  return {{"device", server.device}, {"pid", server.pid}};
}

json::Value to_json(const Finding& finding) {
  json::Value entry = {{"kind", to_string(finding.kind)},
                       {"cgroup", finding.cgroup},
                       {"since", cluster::micro_time(finding.since)}};
  if (finding.pid != 0) {
    entry["pid"] = finding.pid;
    entry["startTime"] = finding.start_time;
  }
  if (!finding.name.empty()) entry["name"] = finding.name;
  if (!finding.device.empty()) entry["device"] = finding.device;
  if (!finding.preload.empty()) entry["preload"] = finding.preload;
  if (!finding.tenant.empty()) entry["tenant"] = finding.tenant;
  if (finding.memory_bytes) entry["memoryBytes"] = *finding.memory_bytes;
  return entry;
}

template <class Part>
json::Value list_of(const std::vector<Part>& parts) {
  json::Value list = json::Value::array();
  for (const Part& part : parts) list.push_back(to_json(part));
  return list;
}

template <class T>
std::optional<T> optional_at(const Json& object, const char* key) {
  const auto entry = object.find(key);
  if (entry == object.end()) return std::nullopt;
  return entry->get<T>();
}

void from_json(const Json& value, TenantDevice& device) {
  auto limits = device_limits_of(value);
  if (!limits) refuse(limits.error().what);
  device = {.limits = *std::move(limits),
            .may_hold_bytes = optional_at<std::uint64_t>(value, "mayHoldBytes"),
            .charged_bytes = value.at("chargedBytes"),
            .outside_bytes = value.at("outsideBytes"),
            .gpu_ns = value.at("gpuNs")};
}

void from_json(const Json& value, TenantStatus& tenant) {
  const Json& enforcement = value.at("enforcement");
  const Json& priority = value.at("priority");
  tenant = {.id = value.at("id"),
            .resource = value.at("resource"),
            .enforcement = required(enforcement_of(enforcement.get<std::string>()), enforcement),
            .priority = required(priority_of(priority.get<std::string>()), priority),
            .processes = value.at("processes"),
            .refused = value.at("refusedAllocations"),
            .longest_ns = value.at("longestLaunchNs")};
  for (const Json& word : value.at("degraded")) {
    tenant.degraded.push_back(value_of(kDegraded, word));
  }
  for (const Json& entry : value.at("devices")) from_json(entry, tenant.devices.emplace_back());
}

void from_json(const Json& value, RefusedTenant& refused) {
  refused = {value.at("id"), value.at("reason")};
}

void from_json(const Json& value, MpsServer& server) {
  server = {value.at("device"), value.at("pid")};
}

void from_json(const Json& value, Finding& finding) {
  const auto since = cluster::parse_time(value.at("since").get<std::string>());
  if (!since) refuse("since: " + since.error().what);
  finding = {.kind = value_of(kKinds, value.at("kind")),
             .tenant = value.value("tenant", ""),
             .pid = value.value("pid", 0),
             .start_time = value.value("startTime", std::uint64_t{0}),
             .name = value.value("name", ""),
             .cgroup = value.at("cgroup"),
             .device = value.value("device", ""),
             .preload = value.value("preload", ""),
             .memory_bytes = optional_at<std::uint64_t>(value, "memoryBytes"),
             .since = *since};
}

template <class Part>
void read_list(const Json& list, std::vector<Part>& parts) {
  for (const Json& entry : list) from_json(entry, parts.emplace_back());
}

}  // namespace

std::string encode(const ArbiterStatus& status, std::chrono::system_clock::time_point written_at) {
  json::Value body = {{"tenants", list_of(status.tenants)},
                      {"refusedTenants", list_of(status.refused)},
                      {"mpsServers", list_of(status.mps_servers)},
                      {"findings", list_of(status.findings)}};
  if (!status.nvml_failure.empty()) body["nvmlFailure"] = status.nvml_failure;
  // Names of processes and control groups may hold any byte; what is not UTF-8 is replaced.
  return seal(kStatus, body.text(json::Value::Order::kSorted), cluster::micro_time(written_at));
}

Result<ArbiterStatus> decode_status(std::string_view text) try {
  ASSIGN_OR_RETURN(const auto sealed, unseal(kStatus, text));
  const Json body = Json::parse(sealed.text());
  ArbiterStatus status{.nvml_failure = body.value("nvmlFailure", "")};
  read_list(body.at("tenants"), status.tenants);
  read_list(body.at("refusedTenants"), status.refused);
  read_list(body.at("mpsServers"), status.mps_servers);
  read_list(body.at("findings"), status.findings);
  return status;
} catch (const Json::exception& error) {
  return fail(Code::kInvalidArgument,
              fmt::format("torn or not {}: {}", kStatus.version, error.what()));
}

std::string_view to_string(Degraded degraded) { return word_of(kDegraded, degraded); }
std::string_view to_string(Finding::Kind kind) { return word_of(kKinds, kind); }

}  // namespace tranche::limit
