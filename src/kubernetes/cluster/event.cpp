#include "cluster/event.h"

#include <fmt/format.h>

#include <cstdint>

#include "cluster/time.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

// Limits of the API server's validation of events.k8s.io/v1.
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;
constexpr std::size_t kMaxName = 253;

// At most `bytes` of `text`, without half a character at the end.
std::string shorten(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

// FNV-1a: distinguishes what happened in the same nanosecond.
std::uint32_t hash(std::string_view text) {
  std::uint32_t value = 0x811c9dc5U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return value;
}

json::Value json_of(const ObjectReference& reference) {
  json::Value json = {{"apiVersion", reference.api_version}, {"kind", reference.kind}};
  if (!reference.ns.empty()) json["namespace"] = reference.ns;
  json["name"] = reference.name;
  if (!reference.uid.empty()) json["uid"] = reference.uid;
  return json;
}

json::Value json_of(const Event::Series& series) {
  return {{"count", series.count}, {"lastObservedTime", micro_time(series.last)}};
}

}  // namespace

ObjectKey key_of(const Event& event) {
  const auto since = std::chrono::nanoseconds(event.time.time_since_epoch()).count();
  const auto suffix = fmt::format(".{:x}{:08x}", since, hash(event.reason + event.note));
  auto name = shorten(event.regarding.name, kMaxName - suffix.size());
  // A part of a name ends with a letter or a digit.
  while (name.ends_with('.') || name.ends_with('-')) name.pop_back();
  return {event.regarding.ns.empty() ? "default" : event.regarding.ns, name + suffix};
}

std::string to_json(const Event& event) {
  auto json = head_of(kEvent, key_of(event));
  json["eventTime"] = micro_time(event.time);
  if (event.series) json["series"] = json_of(*event.series);
  json["reportingController"] = event.reporter;
  json["reportingInstance"] = shorten(event.instance, kMaxWord);
  json["action"] = shorten(event.action, kMaxWord);
  json["reason"] = shorten(event.reason, kMaxWord);
  json["regarding"] = json_of(event.regarding);
  json["note"] = shorten(event.note, kMaxNote);
  json["type"] = event.warning ? "Warning" : "Normal";
  return json.text();
}

std::string series_patch(const Event::Series& series) {
  return json::Value({{"series", json_of(series)}}).text();
}

}  // namespace tranche::cluster
