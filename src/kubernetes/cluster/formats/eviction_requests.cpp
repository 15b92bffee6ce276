#include "cluster/formats/eviction_requests.h"

#include <fmt/format.h>

#include <optional>

#include "base/json.h"
#include "cluster/checks.h"
#include "cluster/fields.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

constexpr std::string_view kVersion = "evict-requests/v1";
std::string checked(const Fields& fields, std::string_view key, bool (*is_one)(std::string_view)) {
  auto text = fields.text(key);
  if (!is_one(text)) fields.refuse(key, "is missing, or cannot be one");
  return text;
}

EvictionRequest request_from(const Fields& fields) {
  EvictionRequest request{.ns = checked(fields, "namespace", is_name),
                          .name = checked(fields, "name", is_name),
                          .uid = checked(fields, "uid", is_id),
                          .container = fields.text("container"),
                          .device = checked(fields, "device", is_id)};
  if (!request.container.empty() && !is_name(request.container)) {
    fields.refuse("container", "cannot be one");
  }
  const auto reason = fields.text("reason");
  if (reason == to_string(EvictionRequest::Reason::kNoGrant)) {
    request.reason = EvictionRequest::Reason::kNoGrant;
  } else if (reason != to_string(EvictionRequest::Reason::kUnregistered)) {
    fields.refuse("reason", "is none that this release knows");
  }
  return request;
}

}  // namespace

std::string_view to_string(EvictionRequest::Reason reason) {
  return reason == EvictionRequest::Reason::kNoGrant ? "no-grant" : "unregistered";
}

std::string encode(const EvictionRequests& requests) {
  json::Value pods = json::Value::array();
  for (const auto& request : requests.pods) {
    if (pods.size() == EvictionRequests::kMost) break;
    json::Value pod = {{"namespace", request.ns}, {"name", request.name}, {"uid", request.uid}};
    if (!request.container.empty()) pod["container"] = request.container;
    pod["device"] = request.device;
    pod["reason"] = to_string(request.reason);
    pods.push_back(std::move(pod));
  }
  return json::Value({{"version", kVersion},
                      {"writtenAt", micro_time(requests.written_at)},
                      {"pods", std::move(pods)}})
      .text();
}

Result<EvictionRequests> decode_eviction_requests(std::string_view text) {
  if (text.size() > EvictionRequests::kLongest) {
    return fail(Code::kInvalidArgument, fmt::format("{} bytes are too many", text.size()));
  }
  ASSIGN_OR_RETURN(const auto root, json::parse(text));
  std::optional<Error> error;
  const Fields fields(root, "", error);
  if (root.kind() != json::Kind::kObject || fields.text("version") != kVersion) {
    return fail(Code::kInvalidArgument, fmt::format("not {}", kVersion));
  }
  ASSIGN_OR_RETURN(const auto written_at, parse_time(fields.text("writtenAt")));
  EvictionRequests requests{.written_at = written_at, .pods = {}};
  const auto pods = fields.list("pods");
  if (pods.size() > EvictionRequests::kMost) {
    return fail(Code::kInvalidArgument, fmt::format("{} Pods are too many", pods.size()));
  }
  for (const auto& pod : pods) requests.pods.push_back(request_from(pod));
  if (error) return std::unexpected(*std::move(error));
  return requests;
}

}  // namespace tranche::cluster
