// Arbitrary text as JSON, an object, a list, a line of a watch, a refusal, a stream in pieces.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "base/json_value.h"
#include "cluster/cluster_policy.h"
#include "cluster/config_map.h"
#include "cluster/formats/eviction_requests.h"
#include "cluster/formats/gpu_node.h"
#include "cluster/formats/limit_settings.h"
#include "cluster/formats/mig_change.h"
#include "cluster/lease.h"
#include "cluster/node.h"
#include "cluster/node_feature.h"
#include "cluster/pod.h"
#include "kube/status.h"
#include "kube/watch_lines.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

void look_at(json::View view, int depth) {
  view.as_string();
  view.as_bool();
  view.as_int();
  view.as_uint();
  view.as_double();
  for (const auto& member : view.members()) {
    require(view.find(member.key).has_value());
    require(member.end > member.begin && member.end <= view.text().size());
    look_at(member.value, depth + 1);
  }
  for (const auto& element : view.elements()) look_at(element, depth + 1);
}

// What we accept, nlohmann accepts too, with the same content; except for intended differences:
// lone surrogates, numbers beyond a double.
void compare(std::string_view text, json::View view) {
  const auto other = nlohmann::json::parse(text, nullptr, false);
  if (other.is_discarded()) return;
  for (const auto& [key, value] : other.items()) {
    if (!other.is_object()) break;
    const auto ours = view.find(key);
    require(ours.has_value());
    if (value.is_string()) require(ours->as_string() == value.get<std::string>());
    if (value.is_object()) require(ours->kind() == json::Kind::kObject);
    if (value.is_array()) require(ours->elements().size() == value.size());
  }
}

// In strict mode a text is accepted or refused as by nlohmann, and a copy is the same JSON.
void check_strict(std::string_view text, json::View view) {
  const bool is_taken = json::parse_strict(text).has_value();
  require(is_taken != nlohmann::json::parse(text, nullptr, false).is_discarded());
  const auto copy = json::Value::copy(view).text();
  const auto again = json::parse(copy);
  require(again && json::Value::copy(*again).text() == copy);
}

void check_json(std::string_view text) {
  const auto view = json::parse(text);
  if (!view) return;
  check_strict(text, *view);
  require(json::parse(view->text()).has_value());
  look_at(*view, 0);
  compare(text, *view);
}

void check_objects(std::string_view text) {
  if (const auto object = cluster::parse_object(text)) {
    const auto again = cluster::parse_object(object->json);
    require(again && *again == *object);
    const auto shorter = cluster::without_managed_fields(object->json);
    const auto bare = cluster::parse_object(shorter);
    require(bare && bare->key == object->key && shorter.size() <= object->json.size());
  }
  if (const auto page = cluster::parse_list(cluster::kPod, text)) {
    for (const auto& item : page->list.items) {
      const auto again = cluster::parse_object(item.json);
      require(again && again->key == item.key);
    }
  }
}

// What agents and operators write into Nodes: what is accepted stays the same.
void check_annotations(std::string_view text) {
  if (const auto requests = cluster::decode_eviction_requests(text)) {
    const auto again = cluster::decode_eviction_requests(cluster::encode(*requests));
    require(!again || again->pods == requests->pods);  // a time may become longer
  }
  if (const auto settings = cluster::decode_limit_settings(text)) {
    const auto again = cluster::decode_limit_settings(cluster::encode(*settings));
    require(again && *again == *settings);
  }
  if (const auto outcomes = cluster::decode_limit_outcomes(text)) {
    const auto again = cluster::decode_limit_outcomes(cluster::encode(*outcomes));
    require(!again || *again == *outcomes);  // escapes may make it too long
  }
}

// The messages between agent and controller about a MIG layout.
void check_mig(std::string_view text) {
  if (const auto change = cluster::decode_mig_change(text)) {
    const auto again = cluster::decode_mig_change(cluster::encode(*change));
    // Escapes may make the journal too long, and a time is cut at a microsecond.
    require(!again || (again->id == change->id && again->after == change->after &&
                       again->pods.size() <= change->pods.size()));
  }
  if (const auto drain = cluster::decode_mig_drain(text)) {
    const auto again = cluster::decode_mig_drain(cluster::encode(*drain));
    require(again && again->reason == drain->reason && again->blocked == drain->blocked);
  }
}

void check_values(std::string_view text) {
  check_annotations(text);
  check_mig(text);
  cluster::parse_node(text);
  cluster::parse_pod(text);
  cluster::parse_cluster_policy(text);
  if (const auto map = cluster::parse_config_map(text)) {
    const auto again = cluster::parse_config_map(cluster::to_json(*map));
    require(again && *again == *map);
  }
  if (const auto feature = cluster::parse_node_feature(text)) {
    require(cluster::parse_node_feature(cluster::to_json(*feature)) == *feature);
  }
  if (const auto node = cluster::parse_gpu_node(text)) {
    require(cluster::parse_gpu_node(cluster::to_json(*node)) == *node);
  }
  if (const auto lease = cluster::parse_lease(text)) {
    require(cluster::parse_lease(cluster::to_json(*lease)).has_value());
  }
}

void check_stream(std::string_view text) {
  const kube::Request request{"watch", cluster::kPod, {}};
  kube::LineSplitter whole(1000);
  std::vector<std::string> lines;
  const bool fits = whole.feed(text, lines);
  for (const auto& line : lines) {
    require(line.find('\n') == std::string::npos);
    const auto parsed = kube::parse_watch_line(request, line, "fuzz");
    require(parsed || !parsed.error().what.empty());
  }
  // However the stream is cut, the lines are the same.
  kube::LineSplitter pieces(1000);
  std::vector<std::string> again;
  bool good = true;
  for (std::size_t at = 0; at < text.size() && good; at += 3) {
    good = pieces.feed(text.substr(at, 3), again);
  }
  if (fits && good) require(lines == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_json(text);
  check_objects(text);
  check_values(text);
  check_stream(text);
  const auto error = kube::refusal({"get", cluster::kPod, {"x", "a"}}, 403, text, "fuzz");
  require(!error.what.empty());
  return 0;
}
