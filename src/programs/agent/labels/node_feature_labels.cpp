#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/labels/label_sink.h"

namespace tranche::agent {

NodeFeatureLabels::NodeFeatureLabels(cluster::Objects& objects, NodeFeatureWriter::Options options,
                                     process::ChangeNotifier& changed, const Log& log,
                                     Backoff backoff)
    : writer_(objects, std::move(options), log),
      log_(log),
      retrier_(log, backoff),
      cache_(
          objects,
          {.kind = cluster::kNodeFeature,
           .selection = {.ns = writer_.key().ns,
                         .field_selector = "metadata.name=" + writer_.key().name},
           .kind_may_be_missing = true,
           .backoff = backoff},
          [&changed](const cluster::CacheChange&) { changed.notify(); }, log) {}

void NodeFeatureLabels::write(const labels::Labels& labels) {
  // The first write is always tried: only it makes this Pod the owner of another Pod's object.
  const auto object = cache_.find(writer_.key());
  if (taken_over_ && object && writer_.says(*object, labels)) {
    retrier_.forget("labels");
    return;
  }
  retrier_.request({.key = "labels",
                    .attempt = [this, labels](const std::stop_token& stop) -> Result<void> {
                      TRY(writer_.write(labels, stop));
                      taken_over_ = true;
                      log_.info(fmt::format("wrote {} labels to {}", labels.size(), place()));
                      return {};
                    },
                    .done = {},
                    .aim = fmt::format("{}", labels)});
}

}  // namespace tranche::agent
