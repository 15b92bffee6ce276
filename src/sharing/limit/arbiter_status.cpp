#include "limit/arbiter_status.h"

#include <array>
#include <utility>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "cluster/time.h"
#include "fmt/format.h"
#include "values/limits_json.h"

namespace tranche::limit {
namespace {

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
    std::pair{Finding::Kind::kForgedCharge, std::string_view("forged-charge")},
    std::pair{Finding::Kind::kForeignUsageFile, std::string_view("foreign-usage-file")},
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

void refuse_word(const json::Fields& fields, std::string_view key, std::string_view word) {
  fields.refuse(fmt::format("{}: unknown word \"{}\"", fields.path_of(key), word));
}

// Returns the value of `word`. An unknown word is refused, and the result is then the first value
// of the table.
template <class Table>
auto value_of(const Table& table, const json::Fields& fields, std::string_view key,
              std::string_view word) {
  for (const auto& [value, known] : table) {
    if (word == known) return value;
  }
  refuse_word(fields, key, word);
  return table.front().first;
}

template <class T>
T word_at(const json::Fields& fields, std::string_view key,
          std::optional<T> (*find)(std::string_view)) {
  const auto word = fields.need<std::string>(key);
  const auto value = find(word);
  if (!value) refuse_word(fields, key, word);
  return value.value_or(T());
}

json::Value to_json(const TenantDevice& device) {
  json::Value entry = json_of(device.limits);
  entry["chargedBytes"] = device.charged_bytes;
  if (device.released_bytes > 0) entry["releasedBytes"] = device.released_bytes;
  entry["outsideBytes"] = device.outside_bytes;
  entry["gpuNs"] = device.gpu_ns;
  entry["askedNs"] = device.asked_ns;
  entry["waitedNs"] = device.waited_ns;
  entry["launches"] = device.launches;
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

std::optional<std::uint64_t> optional_at(const json::Fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.need<std::uint64_t>(key);
}

template <class Part>
std::vector<Part> read_list(const json::Fields& fields, std::string_view key,
                            Part (*read)(const json::Fields&)) {
  std::vector<Part> parts;
  for (const auto& entry : fields.need_list(key)) parts.push_back(read(entry));
  return parts;
}

TenantDevice read_device(const json::Fields& fields) {
  return {.limits = device_limits_of(fields),
          .may_hold_bytes = optional_at(fields, "mayHoldBytes"),
          .charged_bytes = fields.need<std::uint64_t>("chargedBytes"),
          .released_bytes = optional_at(fields, "releasedBytes").value_or(0),
          .outside_bytes = fields.need<std::uint64_t>("outsideBytes"),
          .gpu_ns = fields.need<std::uint64_t>("gpuNs"),
          .asked_ns = optional_at(fields, "askedNs").value_or(0),
          .waited_ns = optional_at(fields, "waitedNs").value_or(0),
          .launches = optional_at(fields, "launches").value_or(0)};
}

TenantStatus read_tenant(const json::Fields& fields) {
  TenantStatus tenant{.id = fields.need<std::string>("id"),
                      .resource = fields.need<std::string>("resource"),
                      .enforcement = word_at(fields, "enforcement", enforcement_of),
                      .priority = word_at(fields, "priority", priority_of),
                      .processes = fields.need<unsigned>("processes"),
                      .refused = fields.need<std::uint64_t>("refusedAllocations"),
                      .longest_ns = fields.need<std::uint64_t>("longestLaunchNs")};
  for (const auto& word : fields.need<std::vector<std::string>>("degraded")) {
    tenant.degraded.push_back(value_of(kDegraded, fields, "degraded", word));
  }
  tenant.devices = read_list(fields, "devices", read_device);
  return tenant;
}

RefusedTenant read_refused(const json::Fields& fields) {
  return {fields.need<std::string>("id"), fields.need<std::string>("reason")};
}

MpsServer read_server(const json::Fields& fields) {
  return {fields.need<std::string>("device"), fields.need<pid_t>("pid")};
}

Finding read_finding(const json::Fields& fields) {
  const auto since = cluster::parse_time(fields.need<std::string>("since"));
  if (!since) fields.refuse(fields.path_of("since") + ": " + since.error().what);
  const std::string none;
  return {.kind = value_of(kKinds, fields, "kind", fields.need<std::string>("kind")),
          .tenant = fields.need_or("tenant", none),
          .pid = fields.need_or<pid_t>("pid", 0),
          .start_time = fields.need_or<std::uint64_t>("startTime", 0),
          .name = fields.need_or("name", none),
          .cgroup = fields.need<std::string>("cgroup"),
          .device = fields.need_or("device", none),
          .preload = fields.need_or("preload", none),
          .memory_bytes = optional_at(fields, "memoryBytes"),
          .since = since.value_or(cluster::WallTime())};
}

ArbiterStatus read_status(const json::Fields& fields) {
  return {.nvml_failure = fields.need_or("nvmlFailure", std::string()),
          .tenants = read_list(fields, "tenants", read_tenant),
          .refused = read_list(fields, "refusedTenants", read_refused),
          .mps_servers = read_list(fields, "mpsServers", read_server),
          .findings = read_list(fields, "findings", read_finding)};
}

}  // namespace

std::string encode(const ArbiterStatus& status, std::chrono::system_clock::time_point written_at) {
  json::Value body = {{"tenants", list_of(status.tenants)},
                      {"refusedTenants", list_of(status.refused)},
                      {"mpsServers", list_of(status.mps_servers)},
                      {"findings", list_of(status.findings)}};
  if (!status.nvml_failure.empty()) body["nvmlFailure"] = status.nvml_failure;
  // Names of processes and cgroups may hold any byte; bytes that are not UTF-8 are replaced.
  return seal(kStatus, body.text(json::Value::Order::kSorted), cluster::micro_time(written_at));
}

Result<ArbiterStatus> decode_status(std::string_view text) {
  ASSIGN_OR_RETURN(const auto body, unseal(kStatus, text));
  auto status = json::read_fields(body, read_status);
  if (status) return status;
  return std::unexpected(
      std::move(status).error().with_context(fmt::format("torn or not {}", kStatus.version)));
}

std::string_view to_string(Degraded degraded) { return word_of(kDegraded, degraded); }
std::string_view to_string(Finding::Kind kind) { return word_of(kKinds, kind); }

}  // namespace tranche::limit
