#include "controller/quota_reconciler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "admission/quota/ledger.h"
#include "config/programs/controller_options.h"
#include "controller/share_services.h"

namespace tranche::controller {
namespace {

// For a paged list of the namespace's claims and a write.
constexpr std::chrono::seconds kLongestSettling{30};
// Wait beyond the end of a reservation.
constexpr std::chrono::seconds kAfter{1};

Reduction names_a_class(const std::vector<std::string>& classes) {
  return {.name = fmt::format("may name {}", fmt::join(classes, " ")),
          .make = [classes](const std::string& text) {
            const bool may = admission::quota::may_name_a_class(text, classes);
            return std::string(may ? "ours" : "");
          }};
}

}  // namespace

QuotaReconciler::QuotaReconciler(const WorkerContext& context, ShareBook& book, Options options)
    : context_(context),
      book_(book),
      options_(std::move(options)),
      queue_(
          context.log, context.backoff,
          [this](const std::string& ns, const std::stop_token& stop) { return visit(ns, stop); }),
      quotas_(context,
              [this](const std::string& ns) {
                if (!ns.empty()) queue_.ask(ns);
              }),
      // A claim may name the class anywhere; charging it finds out whether it requests it.
      claims_(context.watches,
              {.kind = cluster::kResourceClaim,
               .kind_may_be_missing = true,
               .reduce = names_a_class(options_.classes),
               .in_pages = true},
              [this](const cluster::CacheChange& change) { take_claim(change); }) {
  queue_.begin();
}

QuotaReconciler::~QuotaReconciler() { queue_.stop(); }

std::optional<std::string> QuotaReconciler::trouble() const {
  if (const auto why = quotas_.trouble()) return why;
  return trouble_of({&claims_});
}

void QuotaReconciler::take_claim(const cluster::CacheChange& change) {
  if (change.object.json.empty()) return;
  if (change.type == cluster::ChangeType::kDeleted) {
    const std::scoped_lock lock(mutex_);
    gone_[change.object.key.ns].insert(change.object.uid);
  }
  queue_.ask(change.object.key.ns);
}

Result<ShareBook::Holds> QuotaReconciler::settle(const std::string& ns, bool may_go,
                                                 const cluster::Call& call) {
  std::set<std::string> gone;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto node = gone_.extract(ns)) gone = std::move(node.mapped());
  }
  auto holds = book_.settle(ns, may_go, gone, call);
  if (!holds) {
    const std::scoped_lock lock(mutex_);
    gone_[ns].merge(gone);
  }
  return holds;
}

Result<WorkQueue::Next> QuotaReconciler::visit(const std::string& ns, const std::stop_token& stop) {
  const auto now = context_.clock.now();
  const auto last = visited_.find(ns);
  if (last != visited_.end() && now - last->second < options_.spacing) return options_.spacing;
  if (!quotas_.may_matter(ns)) {
    visited_.erase(ns);
    empty_since_.erase(ns);
    const std::scoped_lock lock(mutex_);
    gone_.erase(ns);
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const auto call, context_.call_while_leading(kLongestSettling, stop));
  visited_[ns] = now;
  const auto empty = empty_since_.find(ns);
  const bool may_go = empty != empty_since_.end() && now - empty->second >= options_.stays;
  ASSIGN_OR_RETURN(const auto holds, settle(ns, may_go, call));
  if (holds != ShareBook::Holds::kNothing) empty_since_.erase(ns);
  switch (holds) {
    case ShareBook::Holds::kNoQuota:
      return std::nullopt;
    case ShareBook::Holds::kNothing:
      if (may_go) return std::nullopt;
      empty_since_.try_emplace(ns, now);
      return std::min(options_.look, options_.stays);
    case ShareBook::Holds::kReservations:
      return std::min<std::chrono::milliseconds>(options_.look,
                                                 admission::quota::Ledger::kComes + kAfter);
    case ShareBook::Holds::kClaims:
      break;
  }
  return options_.look;
}

std::optional<WorkerPlan> plan_quota_reconciler(const config::ControllerOptions& options) {
  if (!options.webhook || !options.webhook->counts_shares) return std::nullopt;
  return WorkerPlan{
      .name = "quotas",
      .needs_leadership = true,
      .purposes = {"counting shares of GPUs against the quotas of namespaces"},
      .start = [own = QuotaReconciler::Options{.classes = options.webhook->counted_classes}](
                   const WorkerContext& context) -> std::unique_ptr<Worker> {
        return std::make_unique<QuotaReconciler>(context, context.shares->counting->book, own);
      }};
}

}  // namespace tranche::controller
