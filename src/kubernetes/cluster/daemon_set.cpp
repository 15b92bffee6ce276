#include "cluster/daemon_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/fields.h"

namespace tranche::cluster {

std::string DaemonSet::selector_text() const {
  std::vector<std::string> terms;
  for (const auto& [label, value] : selector) {
    terms.push_back(fmt::format("{}={}", label, value));
  }
  return fmt::format("{}", fmt::join(terms, ","));
}

Result<DaemonSet> parse_daemon_set(std::string_view json) {
  return read_object<DaemonSet>("DaemonSet", json, [](const Fields& top, DaemonSet& set) {
    const auto metadata = top.object("metadata");
    set.key = {metadata.text("namespace"), metadata.text("name")};
    set.uid = metadata.text("uid");
    set.resource_version = metadata.text("resourceVersion");
    set.generation = metadata.number("generation");
    set.labels = metadata.map("labels");
    set.owners = read_owners(metadata);
    set.selector = top.object("spec").object("selector").map("matchLabels");
    set.template_generation =
        metadata.object("annotations").text("deprecated.daemonset.template.generation");
    const auto status = top.object("status");
    set.observed_generation = status.number("observedGeneration");
    set.desired = status.number("desiredNumberScheduled");
    set.updated = status.number("updatedNumberScheduled");
    set.ready = status.number("numberReady");
  });
}

}  // namespace tranche::cluster
