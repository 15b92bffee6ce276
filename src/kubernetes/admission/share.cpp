#include "admission/share.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/names.h"
#include "base/first_few.h"
#include "base/printable.h"
#include "base/quantity.h"

namespace tranche::admission {
namespace {

constexpr Bytes kMostMemory = Bytes::from_mib(std::uint64_t{16} << 20U);  // 16Ti
constexpr std::size_t kShown = 63;

std::string named(std::string_view container) {
  return fmt::format("container \"{}\"", printable(container, kShown));
}

Result<std::optional<Amount>> amount_in(json::View resources, std::string_view which,
                                        std::string_view container) {
  const auto value = resources.at({which, kGpuResource});
  if (!value) return std::nullopt;
  auto amount = parse_amount(*value);
  if (amount) return *amount;
  return std::unexpected(std::move(amount).error().with_context(
      fmt::format("{}: {}.{}", named(container), which, kGpuResource)));
}

std::string memory_text(Bytes memory) {
  const auto mib = memory.mib();
  return mib % 1024 == 0 ? fmt::format("{}Gi", mib / 1024) : fmt::format("{}Mi", mib);
}

Result<Bytes> memory_of(std::string_view text) {
  ASSIGN_OR_RETURN(const auto memory, parse_bytes(text));
  if (memory.value == 0 || memory > kMostMemory) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is no share of a GPU's memory", printable(text, kShown)),
                "write an amount such as 12Gi");
  }
  const auto whole = Bytes::from_mib(memory.mib());
  if (whole == memory) return memory;
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is no whole number of Mi", printable(text, kShown)),
              fmt::format("write {}", memory_text(Bytes::from_mib(memory.mib() + 1))));
}

Result<int> compute_of(std::string_view text) {
  const auto percent = parse_amount(text);
  if (percent && !percent->is_fraction() && percent->whole >= 1 && percent->whole <= 100) {
    return static_cast<int>(percent->whole);
  }
  return fail(Code::kInvalidArgument, fmt::format("'{}' is no percentage", printable(text, kShown)),
              "write a whole number from 1 to 100, in quotes: \"50\"");
}

const std::string* find_annotation(const Annotations& annotations, const std::string& key) {
  const auto found = annotations.find(key);
  return found == annotations.end() ? nullptr : &found->second;
}

// The container's share by the annotations with `suffix`; nullopt: there are none.
Result<std::optional<Share>> annotated(const Annotations& annotations, const std::string& suffix) {
  const auto memory_key = std::string(kMemoryAnnotation) + suffix;
  const auto compute_key = std::string(kComputeAnnotation) + suffix;
  const auto* memory = find_annotation(annotations, memory_key);
  const auto* compute = find_annotation(annotations, compute_key);
  if (memory == nullptr && compute == nullptr) return std::nullopt;
  if (memory == nullptr || compute == nullptr) {
    return fail(Code::kInvalidArgument,
                fmt::format("annotation {} is there, and {} is missing",
                            printable(memory != nullptr ? memory_key : compute_key, 128),
                            printable(memory != nullptr ? compute_key : memory_key, 128)),
                "write both: an amount of memory such as 12Gi, and a percentage of compute");
  }
  auto bytes = memory_of(*memory);
  if (!bytes) return std::unexpected(std::move(bytes).error().with_context(printable(memory_key)));
  auto percent = compute_of(*compute);
  if (!percent) {
    return std::unexpected(std::move(percent).error().with_context(printable(compute_key)));
  }
  return Share{.memory = *bytes, .percent = *percent};
}

// The container that an annotation names, "" for all; nullopt: it is not such an annotation.
std::optional<std::string> annotated_container(std::string_view key) {
  for (const auto name : {kMemoryAnnotation, kComputeAnnotation}) {
    if (!key.starts_with(name)) continue;
    const auto rest = key.substr(name.size());
    if (rest.empty()) return "";
    if (rest.starts_with('.')) return std::string(rest.substr(1));
  }
  return std::nullopt;
}

class ShareReader {
 public:
  ShareReader(const std::vector<Ask>& asks, const std::vector<std::string>& settled,
              const Annotations& annotations)
      : annotations_(annotations), settled_(settled) {
    for (const auto& ask : asks) {
      if (!ask.amount || (!ask.amount->is_fraction() && ask.amount->whole == 0)) continue;
      asking_.push_back(ask.container);
      amounts_[ask.container] = *ask.amount;
    }
  }

  Result<std::map<std::string, Share>> read() {
    for (const auto& [name, amount] : amounts_) {
      if (amount.is_fraction()) shares_[name] = Share{.memory = {}, .percent = amount.hundredths};
    }
    for (const auto& [key, value] : annotations_) {
      const auto container = annotated_container(key);
      if (container) TRY(container->empty() ? for_the_only_one(key) : for_one(key, *container));
    }
    return std::move(shares_);
  }

 private:
  Result<void> for_the_only_one(std::string_view key) {
    if (asking_.size() == 1) return give(key, asking_.front(), "");
    // After the rewrite nobody requests anything, and the annotation is harmless.
    if (asking_.empty()) return {};
    return fail(Code::kInvalidArgument,
                fmt::format("annotation {}: {} containers ask for a GPU", key, asking_.size()),
                fmt::format("write it for each that shall have a share, as {}.<container>: {}", key,
                            printable(first_few(asking_, 5))));
  }

  Result<void> for_one(std::string_view key, const std::string& container) {
    if (amounts_.contains(container)) return give(key, container, "." + container);
    if (std::ranges::find(settled_, container) != settled_.end()) return {};
    return fail(
        Code::kInvalidArgument,
        fmt::format("annotation {}: {} asks for no GPU", printable(key, 128), named(container)),
        fmt::format("write {}: 1 into the container's limits, or remove the annotation",
                    kGpuResource));
  }

  Result<void> give(std::string_view key, const std::string& container, const std::string& suffix) {
    const auto& amount = amounts_[container];
    if (amount.is_fraction() || amount.whole != 1) {
      return fail(
          Code::kInvalidArgument,
          fmt::format("{} asks for {} {}, and annotation {} gives it a share", named(container),
                      to_string(amount), kGpuResource, printable(key, 128)),
          fmt::format("write {}: 1 into the container's limits, or remove the annotation",
                      kGpuResource));
    }
    auto share = annotated(annotations_, suffix);
    if (!share) return std::unexpected(std::move(share).error().with_context(named(container)));
    if (shares_.contains(container) && shares_[container] != **share) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} has two different shares by annotations", named(container)),
                  fmt::format("keep {0}.{2} and {1}.{2}, or those without the name",
                              kMemoryAnnotation, kComputeAnnotation, printable(container, kShown)));
    }
    shares_[container] = **share;
    return {};
  }

  const Annotations& annotations_;
  const std::vector<std::string>& settled_;
  std::vector<std::string> asking_;  // in the Pod's order
  std::map<std::string, Amount> amounts_;
  std::map<std::string, Share> shares_;
};

}  // namespace

std::string describe(const Share& share) {
  if (!share.memory) return fmt::format("{} of a GPU", permille_text(share.percent * 10));
  return fmt::format("{} and {} % of compute of a GPU", memory_text(*share.memory), share.percent);
}

Result<Ask> read_ask(std::string_view container, json::View resources, bool has_replica) {
  ASSIGN_OR_RETURN(const auto limit, amount_in(resources, "limits", container));
  ASSIGN_OR_RETURN(auto request, amount_in(resources, "requests", container));
  if (has_replica && limit && request == Amount{.whole = 1}) request = limit;
  const bool is_fraction = (limit && limit->is_fraction()) || (request && request->is_fraction());
  if (is_fraction && !limit) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: requests.{} is {}, and limits say nothing", named(container),
                            kGpuResource, to_string(*request)),
                fmt::format("Kubernetes wants limits for such resources: write {}: {} into limits",
                            kGpuResource, to_string(*request)));
  }
  if (is_fraction && request && *request != *limit) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: limits.{} is {}, and requests say {}", named(container),
                            kGpuResource, to_string(*limit), to_string(*request)),
                "write the same into both, or only limits");
  }
  return Ask{.container = std::string(container), .amount = limit ? limit : request};
}

Result<std::map<std::string, Share>> shares_of(const std::vector<Ask>& asks,
                                               const std::vector<std::string>& settled,
                                               const Annotations& annotations) {
  return ShareReader(asks, settled, annotations).read();
}

}  // namespace tranche::admission
