// What a claim requests: requests, constraints, configurations.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "explain/lint/dra.h"

namespace tranche::lint {
namespace {

// Next to `name` in v1beta1, below `exactly` in v1.
constexpr std::array<std::string_view, 7> kBody = {
    "deviceClassName", "selectors",   "allocationMode", "count",
    "adminAccess",     "tolerations", "capacity"};

std::vector<std::string> request_names(const std::vector<Place>& requests) {
  std::vector<std::string> names;
  for (const auto& request : requests) {
    const auto name = request.text("name");
    names.push_back(name);
    const auto* first = request.node().find("firstAvailable");
    if (first == nullptr) continue;
    for (const auto& one : first->items) {
      const auto* inner = one.find("name");
      if (inner != nullptr) names.push_back(fmt::format("{}/{}", name, inner->scalar));
    }
  }
  return names;
}

// matchAttribute or distinctAttribute: "domain/name".
void check_attribute(const Place& constraint, std::string_view key, const Surroundings& around) {
  const auto place = constraint.child(key);
  if (!place || place->node().kind != yaml::Kind::kScalar) return;
  const auto text = place->node().scalar;
  const auto slash = text.find('/');
  if (slash == std::string::npos) {
    const auto full = fmt::format("{}/{}", around.driver, text);
    if (around.names.attribute(around.driver, text)) {
      place->corrected(fmt::format("{} lacks the domain", shown(text)),
                       fmt::format("write {}", full));
      place->set_text(full);
    } else {
      place->error(fmt::format("{} lacks the domain", shown(text)),
                   did_you_mean(text, around.names.names(around.driver),
                                fmt::format("write domain/name, such as {}/uuid", around.driver)));
    }
    return;
  }
  const auto domain = text.substr(0, slash);
  const auto name = text.substr(slash + 1);
  if (around.names.attribute(domain, name)) return;
  if (!around.names_are_the_clusters && !around.names.has_domain(domain)) return;
  auto what = fmt::format("no device has the attribute {}", shown(text));
  auto fix = did_you_mean(name, around.names.names(domain),
                          "write an attribute that all of the devices have");
  if (around.names_are_the_clusters) {
    place->error(std::move(what), std::move(fix));
  } else {
    place->doubt(std::move(what), std::move(fix));
  }
}

void check_device_class(const Place& body, const Surroundings& around) {
  const auto place = body.child("deviceClassName");
  if (!place) {
    body.error("deviceClassName is missing", "write the name of a DeviceClass");
    return;
  }
  const auto& name = place->node().scalar;
  if (!around.classes || around.classes->contains(name)) return;
  place->error(fmt::format("the cluster and the files have no DeviceClass {}", shown(name)),
               did_you_mean(name, {around.classes->begin(), around.classes->end()},
                            "kubectl get deviceclasses shows those that there are"));
}

void check_count(const Place& body) {
  const auto count = body.child("count");
  if (!count) return;
  const auto number = yaml::as_int(count->node());
  if (!number || *number < 1) {
    count->error(fmt::format("{} is no number of devices", shown(count->node().scalar)),
                 "write a whole number from 1");
  } else if (body.text("allocationMode") == "All") {
    count->error("count stands beside allocationMode: All", "remove one of them");
  }
}

// Everything except the class.
void check_parts(const Place& body, const Surroundings& around) {
  check_selectors(body, around);
  check_capacity(body, around);
  check_count(body);
  const auto mode = body.child("allocationMode");
  if (mode && mode->node().scalar != "All" && mode->node().scalar != "ExactCount") {
    mode->error(fmt::format("{} is no allocationMode", shown(mode->node().scalar)),
                "write ExactCount or All");
  }
}

void check_body(const Place& body, const Surroundings& around) {
  check_device_class(body, around);
  check_parts(body, around);
}

std::vector<std::string> flat_keys(const Place& request) {
  std::vector<std::string> found;
  for (const auto key : kBody) {
    if (request.has(key)) found.emplace_back(key);
  }
  return found;
}

// v1beta1 -> v1.
void move_below_exactly(const Place& request, const std::vector<std::string>& keys) {
  std::string listed;
  for (const auto& key : keys) listed += (listed.empty() ? "" : ", ") + key;
  const bool several = keys.size() > 1;
  const auto first = request.child(keys.front()).value_or(request);
  first.corrected(fmt::format("{} {} beside name, where resource.k8s.io/v1 does not know {}",
                              listed, several ? "stand" : "stands", several ? "them" : "it"),
                  fmt::format("write {} below exactly:", several ? "them" : "it"));
  auto body = request.take("exactly");
  if (body.kind != yaml::Kind::kMap) body = map_node();
  for (const auto& key : keys) {
    body.entries.push_back({key, request.line(), request.take(key)});
  }
  request.put("exactly", std::move(body));
}

}  // namespace

void check_request_names(const Place& entry, const std::vector<std::string>& known) {
  const auto list = entry.child("requests");
  if (!list) return;
  for (const auto& name : list->items()) {
    if (std::ranges::find(known, name.node().scalar) != known.end()) continue;
    name.error(fmt::format("the claim has no request {}", shown(name.node().scalar)),
               did_you_mean(name.node().scalar, known, "write the name of one"));
  }
}

void check_request(const Place& request, const Surroundings& around) {
  request.check_keys({"name", "exactly", "firstAvailable", "deviceClassName", "selectors",
                      "allocationMode", "count", "adminAccess", "tolerations", "capacity"});
  if (request.text("name").empty()) request.error("the request has no name", "write name:");
  const auto flat = flat_keys(request);
  const auto exactly = request.map("exactly");
  const auto subrequests = request.list_of_maps("firstAvailable");
  if (exactly) {
    exactly->check_keys({"deviceClassName", "selectors", "allocationMode", "count", "adminAccess",
                         "tolerations", "capacity"});
    // Part of the body may be here, and the rest next to `name`.
    if (!request.has("deviceClassName")) check_device_class(*exactly, around);
    check_parts(*exactly, around);
  }
  for (const auto& one : subrequests) {
    one.check_keys({"name", "deviceClassName", "selectors", "allocationMode", "count",
                    "tolerations", "capacity"});
    check_body(one, around);
  }
  if (!flat.empty()) {
    const bool clashes = !subrequests.empty() || std::ranges::any_of(flat, [&](const auto& key) {
      return exactly && exactly->has(key);
    });
    if (clashes) {
      request.error(fmt::format("{} stands both beside name and below it", flat.front()),
                    "write each once, below exactly: or below entries of firstAvailable:");
      return;
    }
    if (!exactly || request.has("deviceClassName")) check_device_class(request, around);
    check_parts(request, around);
    move_below_exactly(request, flat);
  } else if (exactly && !subrequests.empty()) {
    request.error("exactly and firstAvailable stand beside each other", "remove one of them");
  } else if (!request.child("exactly") && !request.child("firstAvailable")) {
    request.error("the request asks for nothing",
                  "write deviceClassName below exactly:, or alternatives below firstAvailable:");
  }
}

void check_claim_spec(const Place& spec, const Surroundings& around) {
  if (convert_classic_claim(spec)) return;
  if (spec.has("controller")) {
    spec.corrected("resource.k8s.io/v1 has no controller: the scheduler allocates",
                   "remove controller");
    spec.take("controller");
  }
  spec.check_keys({"devices"});
  const auto devices = spec.map("devices");
  if (!devices) return;
  devices->check_keys({"requests", "constraints", "config"});
  const auto requests = devices->list_of_maps("requests");
  const auto names = request_names(requests);
  for (const auto& request : requests) check_request(request, around);
  for (const auto& constraint : devices->list_of_maps("constraints")) {
    constraint.check_keys({"requests", "matchAttribute", "distinctAttribute"});
    check_request_names(constraint, names);
    check_attribute(constraint, "matchAttribute", around);
    check_attribute(constraint, "distinctAttribute", around);
  }
  check_config(*devices, names, ConfigOf::kClaim, around);
}

}  // namespace tranche::lint
