#include "agent/dra/slice_publisher.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/kinds.h"

namespace tranche::agent {
namespace {

constexpr const char* kSlicesKey = "slices";
constexpr int kTries = 5;

cluster::ListOptions of_node(const dra::PoolNames& names) {
  return {.field_selector =
              fmt::format("spec.nodeName={},spec.driver={}", names.node, names.driver)};
}

bool somebody_was_faster(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kAlreadyExists ||
         error.code == Code::kFailedPrecondition;
}

cluster::WatchCache::Options watch_options(const cluster::ListOptions& selection,
                                           const Backoff& backoff) {
  return {.kind = cluster::kResourceSlice,
          .selection = selection,
          .kind_may_be_missing = true,
          .backoff = backoff};
}

}  // namespace

SlicePublisher::SlicePublisher(Ports ports, Backoff backoff)
    : ports_(std::move(ports)),
      selection_(of_node(ports_.names)),
      retrier_(ports_.log, backoff),
      slices_(
          ports_.objects, watch_options(selection_, backoff),
          [this](const cluster::CacheChange&) { look(); }, ports_.log) {}

void SlicePublisher::publish(dra::Pool pool) {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = std::move(pool);
  }
  look();
}

void SlicePublisher::look() {
  retrier_.request(
      {.key = kSlicesKey,
       .attempt = [this](const std::stop_token& stop) { return bring_up_to_date(stop); },
       .done = {},
       .aim = kSlicesKey});
}

// A fresh list: the cache may lack what was written a moment ago.
Result<std::vector<cluster::ResourceSlice>> SlicePublisher::slices_there(
    const cluster::Call& call) const {
  ASSIGN_OR_RETURN(const auto list, ports_.objects.list(cluster::kResourceSlice, selection_, call));
  std::vector<cluster::ResourceSlice> slices;
  for (const auto& object : list.items) {
    ASSIGN_OR_RETURN(auto slice, cluster::parse_resource_slice(object.json));
    slices.push_back(std::move(slice));
  }
  return slices;
}

// Kubelet or a person may remove slices while they are written: then starts again from a new list.
Result<void> SlicePublisher::bring_up_to_date(const std::stop_token& stop) {
  for (int tries = 1;; ++tries) {
    auto done = write_what_differs(stop);
    if (done || tries == kTries || !somebody_was_faster(done.error())) return done;
  }
}

Result<void> SlicePublisher::write_what_differs(const std::stop_token& stop) {
  std::optional<dra::Pool> wanted;
  {
    const std::scoped_lock lock(mutex_);
    wanted = wanted_;
  }
  if (!wanted) return {};
  const cluster::Call call{.stop = stop};
  ASSIGN_OR_RETURN(const auto owner, ports_.owner());
  ASSIGN_OR_RETURN(const auto there, slices_there(call));
  const auto told = told_;
  for (const auto& one : dra::writes_for(there, *std::move(wanted), ports_.names, owner)) {
    // Places without counters would be given out twice. The scheduler ignores an incomplete pool;
    // the next one is made without places.
    if (told_.counters && !told.counters) return {};
    auto written = write(one, call);
    if (!written) {
      return std::unexpected(
          std::move(written).error().with_context("ResourceSlice " + one.slice.name));
    }
  }
  return {};
}

Result<void> SlicePublisher::write(const dra::SliceWrite& write, const cluster::Call& call) {
  using Kind = dra::SliceWrite::Kind;
  const cluster::ObjectKey key{"", write.slice.name};
  if (write.kind == Kind::kDelete) {
    return ports_.objects.remove(
        cluster::kResourceSlice, key,
        {.uid = write.slice.uid, .resource_version = write.slice.resource_version}, call);
  }
  const auto text = to_json(write.slice);
  const auto answer = write.kind == Kind::kCreate
                          ? ports_.objects.create(cluster::kResourceSlice, "", text, call)
                          : ports_.objects.update(cluster::kResourceSlice, key, text, "", call);
  if (!answer) return std::unexpected(answer.error());
  ASSIGN_OR_RETURN(const auto stored, cluster::parse_resource_slice(answer->json));
  tell(dra::dropped_fields(write.slice, stored));
  return {};
}

void SlicePublisher::tell(dra::Dropped dropped) {
  const dra::Dropped all{.shares = told_.shares || dropped.shares,
                         .counters = told_.counters || dropped.counters,
                         .taints = told_.taints || dropped.taints};
  if (all == told_) return;
  told_ = all;
  if (ports_.dropped) ports_.dropped(all);
}

}  // namespace tranche::agent
