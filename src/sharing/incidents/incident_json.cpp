#include "incidents/incident_json.h"

#include <fmt/format.h>

#include "base/envelope.h"
#include "base/json_fields.h"

namespace tranche::incidents {
namespace {

constexpr EnvelopeKind kIncident{.version = "incident/v1", .key = "incident"};

// Columns: sixty objects with seven names each would be five times as long.
constexpr std::string_view kColumns[] = {"before",  "heldBytes", "launches", "gpuMs",
                                         "askedMs", "waitedMs",  "refused"};

std::vector<std::uint64_t> row_of(const Second& second) {
  return {second.before,   second.held_bytes, second.launches, second.gpu_ms,
          second.asked_ms, second.waited_ms,  second.refused};
}

json::Value json_of(const std::vector<Second>& seconds) {
  auto rows = json::Value::array();
  for (const Second& second : seconds) rows.push_back(row_of(second));
  auto columns = json::Value::array();
  for (const auto column : kColumns) columns.push_back(column);
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

void put_name(json::Value& to, const PodName& pod) {
  if (!pod.ns.empty()) to["namespace"] = pod.ns;
  if (!pod.pod.empty()) to["pod"] = pod.pod;
  if (!pod.uid.empty()) to["podUid"] = pod.uid;
  if (!pod.container.empty()) to["container"] = pod.container;
}

json::Value json_of(const Holder& holder) {
  auto value = json::Value::object();
  if (!holder.tenant.empty()) value["tenant"] = holder.tenant;
  if (!holder.resource.empty()) value["resource"] = holder.resource;
  put_name(value, holder.pod);
  if (holder.limit_bytes) value["limitBytes"] = *holder.limit_bytes;
  if (holder.held_bytes) value["heldBytes"] = *holder.held_bytes;
  if (holder.growth.bytes > 0) {
    value["grewBytes"] = holder.growth.bytes;
    value["grewBeforeMs"] = holder.growth.before_ms;
  }
  if (!holder.seconds.empty()) value["timeline"] = json_of(holder.seconds);
  return value;
}

std::optional<std::uint64_t> optional_at(const json::Fields& fields, std::string_view key) {
  return fields.maybe<std::uint64_t>(key);
}

void refuse_row(const json::Fields& fields) {
  fields.refuse("rows", fmt::format("is not a list of at most {} rows of {} whole numbers",
                                    Incident::kWindow, std::size(kColumns)));
}

std::vector<Second> read_timeline(const json::Fields& fields) {
  std::vector<Second> seconds;
  const auto rows = fields.view().find("rows").value_or(json::View()).elements();
  std::vector<std::uint64_t> numbers;
  for (const auto& row : rows) {
    numbers.clear();
    for (const auto& cell : row.elements()) {
      if (const auto number = cell.as_uint()) numbers.push_back(*number);
    }
    if (numbers.size() != std::size(kColumns) || seconds.size() == Incident::kWindow ||
        numbers[0] >= Incident::kWindow) {
      refuse_row(fields);
      return {};
    }
    seconds.push_back({.before = static_cast<unsigned>(numbers[0]),
                       .held_bytes = numbers[1],
                       .launches = numbers[2],
                       .gpu_ms = numbers[3],
                       .asked_ms = numbers[4],
                       .waited_ms = numbers[5],
                       .refused = numbers[6]});
  }
  return seconds;
}

Holder read_holder(const json::Fields& fields) {
  const std::string none;
  Holder holder{.tenant = fields.need_or("tenant", none),
                .resource = fields.need_or("resource", none),
                .pod = {.ns = fields.need_or("namespace", none),
                        .pod = fields.need_or("pod", none),
                        .uid = fields.need_or("podUid", none),
                        .container = fields.need_or("container", none)},
                .limit_bytes = optional_at(fields, "limitBytes"),
                .held_bytes = optional_at(fields, "heldBytes"),
                .growth = {.bytes = optional_at(fields, "grewBytes").value_or(0),
                           .before_ms = optional_at(fields, "grewBeforeMs").value_or(0)},
                .seconds = {}};
  if (fields.has("timeline")) holder.seconds = read_timeline(fields.object("timeline"));
  return holder;
}

Incident read_incident(const json::Fields& fields) {
  Incident incident{.id = fields.need<std::string>("id"),
                    .device = fields.need<std::string>("device"),
                    .tenant = fields.need_or("tenant", std::string()),
                    .asked_bytes = optional_at(fields, "askedBytes"),
                    .held_bytes = optional_at(fields, "heldBytes"),
                    .times = optional_at(fields, "times").value_or(1),
                    .stalled_ms = optional_at(fields, "stalledMs").value_or(0),
                    .xid = optional_at(fields, "xid").value_or(0),
                    .others_bytes = optional_at(fields, "othersBytes").value_or(0),
                    .left_out = fields.need_or<unsigned>("leftOut", 0),
                    .holders = {}};
  if (!is_id(incident.id)) fields.refuse("id", "is no name of an incident");
  const auto cause = cause_of(fields.need<std::string>("cause"));
  if (!cause) fields.refuse("cause", "is no cause that this release knows");
  incident.cause = cause.value_or(Cause::kLimit);
  const auto at = cluster::parse_time(fields.need<std::string>("at"));
  if (!at) fields.refuse("at", at.error().what);
  incident.at = at.value_or(cluster::WallTime());
  for (const auto& holder : fields.need_list("holders")) {
    incident.holders.push_back(read_holder(holder));
  }
  return incident;
}

}  // namespace

json::Value json_of(const Incident& incident) {
  json::Value value = {{"id", incident.id},
                       {"kind", kind_of(incident.cause)},
                       {"cause", to_string(incident.cause)},
                       {"at", cluster::micro_time(incident.at)},
                       {"device", incident.device}};
  if (!incident.tenant.empty()) value["tenant"] = incident.tenant;
  if (incident.asked_bytes) value["askedBytes"] = *incident.asked_bytes;
  if (incident.held_bytes) value["heldBytes"] = *incident.held_bytes;
  if (is_out_of_memory(incident.cause)) value["times"] = incident.times;
  if (incident.stalled_ms > 0) value["stalledMs"] = incident.stalled_ms;
  if (incident.cause == Cause::kXid) value["xid"] = incident.xid;
  value["othersBytes"] = incident.others_bytes;
  if (incident.left_out > 0) value["leftOut"] = incident.left_out;
  auto holders = json::Value::array();
  for (const Holder& holder : incident.holders) holders.push_back(json_of(holder));
  value["holders"] = std::move(holders);
  return value;
}

std::string encode(const Incident& incident) {
  return seal(kIncident, json_of(incident).text(json::Value::Order::kSorted));
}

Result<Incident> decode(std::string_view text) {
  ASSIGN_OR_RETURN(const auto body, unseal(kIncident, text));
  auto incident = json::read_fields(body, read_incident);
  if (incident) return incident;
  return std::unexpected(
      std::move(incident).error().with_context(fmt::format("not {}", kIncident.version)));
}

}  // namespace tranche::incidents
