#include "controller/web/fleet_metrics.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "metrics/exposition.h"

namespace tranche::controller {
namespace {

using metrics::Exposition;
using metrics::LabelText;
using metrics::Type;
using metrics::Value;

struct Line {
  std::string labels;
  Value value;
};

// Families whose number of lines tenants decide share what is left of the page.
class Limited {
 public:
  Limited(Exposition& out, std::size_t left) : out_(out), left_(left) {}

  void write(const metrics::Family& family, const std::vector<Line>& lines) {
    out_.family(family);
    for (const auto& line : lines) {
      if (left_ == 0) {
        ++dropped_;
        continue;
      }
      --left_;
      out_.line(line.labels, line.value);
    }
  }
  std::size_t dropped() const { return dropped_; }

 private:
  Exposition& out_;
  std::size_t left_;
  std::size_t dropped_ = 0;
};

void write_leads(Exposition& out, bool leads) {
  out.family({.name = "tranche_controller_leads",
              .help = "1 for the controller that leads, and has the series of the cluster."});
  out.line("", metrics::whole(leads ? 1 : 0));
}

void write_capacity(Exposition& out, const std::vector<fleet::Capacity>& capacity) {
  out.family({.name = "tranche_capacity_tranches",
              .help = "Tranches in the cluster by resource, mechanism, tier and state."});
  for (const auto& row : capacity) {
    const auto labels = LabelText()
                            .add("resource", row.resource)
                            .add("mechanism", usage::to_string(row.mechanism))
                            .add("tier", row.tier);
    for (const auto& [state, count] :
         {std::pair{"advertised", row.advertised}, std::pair{"allocated", row.allocated},
          std::pair{"withheld", row.withheld}, std::pair{"free", row.free}}) {
      auto with_state = labels;
      out.line(with_state.add("state", state).text(), metrics::whole(count));
    }
  }
}

void write_tiers(Exposition& out, const std::map<std::string, cluster::GpuTier>& tiers) {
  out.family({.name = "tranche_tier_max_wait_seconds",
              .help = "How long a Pod of the tier may wait, where its GPUTier says it.",
              .unit = "seconds"});
  for (const auto& [name, tier] : tiers) {
    if (tier.max_wait_seconds <= 0) continue;
    out.line(LabelText().add("tier", name).text(),
             metrics::whole(static_cast<std::uint64_t>(tier.max_wait_seconds)));
  }
}

void write_nodes(Exposition& out, const std::map<fleet::Reporting, std::size_t>& nodes) {
  out.family({.name = "tranche_nodes",
              .help = "Nodes with GPUs by whether their agent says who uses them."});
  for (const auto reporting :
       {fleet::Reporting::kFresh, fleet::Reporting::kStale, fleet::Reporting::kSilent}) {
    const auto found = nodes.find(reporting);
    out.line(LabelText().add("reporting", fleet::to_string(reporting)).text(),
             metrics::whole(found == nodes.end() ? 0 : found->second));
  }
}

std::string labels_of(const fleet::PendingGroup& group) {
  return LabelText()
      .add("namespace", group.ns)
      .add("resource", group.resource)
      .add("mechanism", group.mechanism ? usage::to_string(*group.mechanism) : "")
      .add("tier", group.tier)
      .add("cause", fleet::to_string(group.cause))
      .text();
}

void write_pending(Limited& out, const std::vector<fleet::PendingGroup>& pending,
                   cluster::WallTime now) {
  std::vector<Line> pods;
  std::vector<Line> oldest;
  for (const auto& group : pending) {
    auto labels = labels_of(group);
    if (group.oldest != cluster::WallTime()) {
      const std::chrono::duration<double> age = now - group.oldest;
      oldest.push_back({labels, std::max(0.0, age.count())});
    }
    pods.push_back({std::move(labels), metrics::whole(group.pods)});
  }
  out.write({.name = "tranche_pending_pods", .help = "Pods that wait for GPUs, by cause."}, pods);
  out.write({.name = "tranche_pending_oldest_seconds",
             .help = "Age of the oldest of these Pods.",
             .unit = "seconds"},
            oldest);
}

void write_namespaces(Limited& out, const std::vector<fleet::NamespaceUse>& namespaces) {
  std::vector<Line> lines;
  for (const auto& use : namespaces) {
    const auto labels =
        LabelText().add("namespace", use.ns).add("resource", use.resource).add("tier", use.tier);
    for (const auto& [state, count] :
         {std::pair{"allocated", use.allocated}, std::pair{"pending", use.pending}}) {
      auto with_state = labels;
      lines.push_back({with_state.add("state", state).text(), metrics::whole(count)});
    }
  }
  out.write({.name = "tranche_namespace_tranches",
             .help = "Tranches that Pods of a namespace have, and wait for."},
            lines);
}

void write_rejected(Limited& out, const std::vector<fleet::RejectedGroup>& rejected) {
  std::vector<Line> lines;
  for (const auto& group : rejected) {
    lines.push_back({LabelText()
                         .add("reason", group.reason)
                         .add("node", group.node)
                         .add("product", group.product)
                         .text(),
                     metrics::whole(group.pods)});
  }
  out.write({.name = "tranche_rejected_pods",
             .help = "Pods that kubelet rejected, and that nobody has deleted."},
            lines);
}

}  // namespace

std::string fleet_page(const FleetFigures& figures, const FleetPageOptions& options) {
  const auto& tally = figures.tally;
  Exposition out(options.format);
  write_leads(out, true);
  write_capacity(out, tally.capacity);
  write_tiers(out, figures.tiers);
  if (figures.nodes) write_nodes(out, *figures.nodes);
  const auto taken = out.lines() + 1;  // with tranche_series_dropped
  Limited limited(out, options.max_series > taken ? options.max_series - taken : 0);
  write_pending(limited, tally.pending, options.now);
  write_rejected(limited, tally.rejected);
  write_namespaces(limited, tally.namespaces);
  out.family({.name = "tranche_series_dropped", .help = "Series that did not fit on this page."});
  out.line("", metrics::whole(limited.dropped()));
  return std::move(out).finish();
}

std::string following_page(metrics::Format format) {
  Exposition out(format);
  write_leads(out, false);
  return std::move(out).finish();
}

}  // namespace tranche::controller
