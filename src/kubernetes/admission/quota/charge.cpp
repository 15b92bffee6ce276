#include "admission/quota/charge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/json_fields.h"
#include "base/printable.h"
#include "base/quantity.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

constexpr std::int64_t kPercent = kWhole / 100;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// `bytes` in whole Mi as billionths of the GPU; at most kWhole. The GPU has at least one Mi.
std::int64_t part_of(std::uint64_t bytes, Bytes gpu) {
  __extension__ using Wide = unsigned __int128;
  const Wide mib = bytes / kMiB + (bytes % kMiB == 0 ? 0 : 1);
  const Wide part = mib * kWhole / gpu.mib();
  return static_cast<std::int64_t>(std::min<Wide>(part, kWhole));
}

class Charger {
 public:
  Charger(const std::vector<DraModel>& models, const ChargeOptions& options)
      : models_(models), options_(options) {}

  std::int64_t of_request(const Fields& request) const {
    if (request.has("exactly")) return of_one(request.object("exactly"));
    std::int64_t dearest = 0;
    for (const auto& one : request.list("firstAvailable")) dearest = std::max(dearest, of_one(one));
    return dearest;
  }

 private:
  std::int64_t of_one(const Fields& one) const {
    const auto& classes = options_.classes;
    if (std::ranges::find(classes, one.text("deviceClassName")) == classes.end()) return 0;
    if (one.boolean("adminAccess")) return 0;  // for monitoring: takes nothing from others
    if (one.text("allocationMode") == "All") {
      one.refuse("allocationMode",
                 "is All, and nobody knows how many GPUs that will be: write "
                 "ExactCount and a count");
      return 0;
    }
    const auto count = std::max<std::int64_t>(one.number("count"), 1);
    const auto each = share_of(one);
    if (count > std::numeric_limits<std::int64_t>::max() / kWhole) {
      one.refuse("count", "is more than there can be");
      return 0;
    }
    return count * each;
  }

  std::int64_t share_of(const Fields& one) const {
    const auto requests = one.object("capacity").object("requests");
    const bool is_known = std::ranges::all_of(requests.view().members(), [](const auto& member) {
      return member.key == "compute" || member.key == "memory";
    });
    if (!is_known) return kWhole;
    return std::max(compute_of(requests), memory_of(requests, one));
  }

  static std::optional<std::int64_t> amount_of(const Fields& requests, std::string_view key) {
    const auto text = requests.maybe_text(key);
    if (!text) return std::nullopt;
    const auto amount = parse_quantity(*text);
    if (amount && *amount >= 0) return *amount;
    requests.refuse(key, fmt::format("is '{}', which is no amount", printable(*text, 64)));
    return std::nullopt;
  }

  static std::int64_t compute_of(const Fields& requests) {
    const auto percent = amount_of(requests, "compute");
    return percent ? std::clamp<std::int64_t>(*percent, 1, 100) * kPercent : kWhole;
  }

  std::int64_t memory_of(const Fields& requests, const Fields& one) const {
    const auto bytes = amount_of(requests, "memory");
    if (!bytes) return kWhole;
    const auto memory = static_cast<std::uint64_t>(*bytes);
    const auto* named = named_model(one);
    std::optional<std::int64_t> dearest;
    for (const auto& model : models_) {
      if (model.memory.value < memory || (named != nullptr && model.product != named->product))
        continue;
      const auto gpu = std::max(model.memory, model.total);
      if (gpu.mib() == 0) continue;
      dearest = std::max(dearest.value_or(0), part_of(memory, gpu));
    }
    return dearest.value_or(kWhole);  // if unknown, a whole one
  }

  // The model that a selector in our form names; null: none.
  const DraModel* named_model(const Fields& one) const {
    for (const auto& selector : one.list("selectors")) {
      const auto expression = selector.object("cel").text("expression");
      for (const auto& model : models_) {
        const auto ours = model_expression(model, options_.claim);
        if (ours && *ours == expression) return &model;
      }
    }
    return nullptr;
  }

  const std::vector<DraModel>& models_;
  const ChargeOptions& options_;
};

}  // namespace

bool may_name_a_class(std::string_view claim, const std::vector<std::string>& classes) {
  return std::ranges::any_of(classes, [&](const auto& name) { return claim.contains(name); });
}

Result<std::int64_t> charge_of(json::View claim, const std::vector<DraModel>& models,
                               const ChargeOptions& options) {
  const Charger charger(models, options);
  return json::read_fields(claim, [&](const Fields& top) {
    std::int64_t sum = 0;
    const auto devices = top.object("spec").object("devices");
    for (const auto& request : devices.list("requests")) {
      if (__builtin_add_overflow(sum, charger.of_request(request), &sum)) {
        devices.refuse("requests", "ask for more GPUs than there can be");
        return std::int64_t{0};
      }
    }
    return sum;
  });
}

}  // namespace tranche::admission::quota
