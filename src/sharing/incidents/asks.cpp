#include "incidents/asks.h"

#include <fmt/format.h>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "incidents/incident.h"

namespace tranche::incidents {
namespace {

constexpr EnvelopeKind kAsks{.version = "incident-asks/v1", .key = "asks"};

Ask read_ask(const json::Fields& fields) {
  Ask ask{.id = fields.need<std::string>("id"),
          .gpu = fields.need<std::string>("gpu"),
          .devices = fields.need<std::vector<std::string>>("devices"),
          .xid = fields.need<std::uint64_t>("xid")};
  if (!is_id(ask.id)) fields.refuse("id", "is no name of an incident");
  const auto at = cluster::parse_time(fields.need<std::string>("at"));
  if (!at) fields.refuse("at", at.error().what);
  ask.at = at.value_or(cluster::WallTime());
  return ask;
}

std::vector<Ask> read_asks(const json::Fields& fields) {
  std::vector<Ask> asks;
  for (const auto& ask : fields.need_list("list")) {
    if (asks.size() == kMostAsks) break;
    asks.push_back(read_ask(ask));
  }
  return asks;
}

}  // namespace

std::string encode(const std::vector<Ask>& asks) {
  auto list = json::Value::array();
  for (const Ask& ask : asks) {
    list.push_back({{"id", ask.id},
                    {"gpu", ask.gpu},
                    {"devices", ask.devices},
                    {"xid", ask.xid},
                    {"at", cluster::micro_time(ask.at)}});
  }
  const json::Value body = {{"list", std::move(list)}};
  return seal(kAsks, body.text(json::Value::Order::kSorted));
}

Result<std::vector<Ask>> decode_asks(std::string_view text) {
  ASSIGN_OR_RETURN(const auto body, unseal(kAsks, text));
  return json::read_fields(body, read_asks);
}

}  // namespace tranche::incidents
