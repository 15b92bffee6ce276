#include "dra/claim_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "base/json_fields.h"
#include "base/quantity.h"

namespace tranche::dra {
namespace {

using json::Fields;

constexpr std::array<std::string_view, 4> kIntervals = {"Default", "Short", "Medium", "Long"};
constexpr Bytes kLeast = Bytes::from_mib(1);  // MPS counts in MiB

void allow_only(const Fields& fields, std::initializer_list<std::string_view> keys) {
  for (const auto& member : fields.view().members()) {
    if (std::ranges::find(keys, member.key) != keys.end()) continue;
    fields.refuse(member.key, fmt::format("is not known; known are {}", fmt::join(keys, ", ")));
  }
}

// The object at `key`; nullopt: absent.
std::optional<Fields> inner(const Fields& fields, std::string_view key) {
  return fields.has(key) ? std::optional(fields.need_object(key)) : std::nullopt;
}

// A quantity as Kubernetes writes it, text or number.
Bytes read_memory(const Fields& fields, std::string_view key) {
  const auto value = fields.view().find(key);
  const bool is_number = value && value->kind() == json::Kind::kNumber;
  const auto bytes =
      parse_bytes(is_number ? std::string(value->text()) : fields.need<std::string>(key));
  if (!bytes) {
    fields.refuse(key, "is no quantity of bytes, such as 10Gi");
  } else if (*bytes < kLeast) {
    fields.refuse(key, "is less than 1Mi");
  }
  return bytes.value_or(Bytes{});
}

// Key format of NVIDIA's driver: a UUID, or the device's number within the claim.
bool names_a_device(std::string_view key) {
  if (key.starts_with("GPU-") || key.starts_with("MIG-")) return true;
  std::size_t index = 0;
  const auto* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  return error == std::errc() && stop == end;
}

void read_mps(const Fields& mps, ClaimSettings& settings) {
  allow_only(mps, {"defaultActiveThreadPercentage", "defaultPinnedDeviceMemoryLimit",
                   "defaultPerDevicePinnedMemoryLimit", "multiUser"});
  if (mps.has("defaultActiveThreadPercentage")) {
    const auto percent = mps.need_number("defaultActiveThreadPercentage", 0, 100);
    if (percent > 0) settings.threads = static_cast<int>(percent);
  }
  if (mps.has("defaultPinnedDeviceMemoryLimit")) {
    settings.memory = read_memory(mps, "defaultPinnedDeviceMemoryLimit");
  }
  const auto each = inner(mps, "defaultPerDevicePinnedMemoryLimit");
  if (!each) return;
  for (const auto& member : each->view().members()) {
    if (!names_a_device(member.key)) each->refuse(member.key, "is neither a UUID nor an index");
    settings.memory_of[member.key] = read_memory(*each, member.key);
  }
}

void read_sharing(const Fields& sharing, ClaimSettings& settings) {
  const bool whole_gpu = settings.kind == ClaimSettings::Kind::kGpu;
  allow_only(sharing, {"strategy", "timeSlicingConfig", "mpsConfig"});
  const auto strategy = sharing.need<std::string>("strategy");
  if (strategy == "TimeSlicing") {
    settings.sharing = SharingWish::kTimeSlicing;
  } else if (strategy == "MPS") {
    settings.sharing = SharingWish::kMps;
  } else {
    sharing.refuse("strategy", "is neither TimeSlicing nor MPS");
  }
  if (const auto slices = inner(sharing, "timeSlicingConfig")) {
    if (!whole_gpu || settings.sharing != SharingWish::kTimeSlicing) {
      sharing.refuse("timeSlicingConfig", "is for whole GPUs with strategy TimeSlicing");
    }
    allow_only(*slices, {"interval"});
    settings.interval = slices->need_or<std::string>("interval", "");
    if (!settings.interval.empty() &&
        std::ranges::find(kIntervals, settings.interval) == kIntervals.end()) {
      slices->refuse("interval", fmt::format("is none of {}", fmt::join(kIntervals, ", ")));
    }
  }
  if (const auto mps = inner(sharing, "mpsConfig")) {
    if (settings.sharing != SharingWish::kMps) {
      sharing.refuse("mpsConfig", "needs strategy MPS");
    }
    read_mps(*mps, settings);
  }
}

ClaimSettings read_settings(const Fields& fields) {
  allow_only(fields, {"apiVersion", "kind", "sharing"});
  ClaimSettings settings{.kind = fields.text("kind") == "GpuConfig" ? ClaimSettings::Kind::kGpu
                                                                    : ClaimSettings::Kind::kMig};
  if (const auto sharing = inner(fields, "sharing")) read_sharing(*sharing, settings);
  return settings;
}

}  // namespace

Result<ClaimSettings> parse_settings(std::string_view text) {
  ASSIGN_OR_RETURN(const auto root, json::parse_strict(text));
  std::optional<Error> error;
  const Fields fields(root, "", error);
  const auto version = fields.text("apiVersion");
  const auto kind = fields.text("kind");
  if (error) return std::unexpected(*std::move(error));
  if (version != kConfigGroup) {
    return fail(Code::kInvalidArgument, fmt::format("apiVersion is \"{}\"", version.substr(0, 64)),
                fmt::format("write {}", kConfigGroup));
  }
  if (kind == "VfioDeviceConfig" || kind.starts_with("ComputeDomain")) {
    return fail(Code::kUnsupported, fmt::format("{} is not served by this driver", kind));
  }
  if (kind != "GpuConfig" && kind != "MigDeviceConfig") {
    return fail(Code::kInvalidArgument, fmt::format("kind is \"{}\"", kind.substr(0, 64)),
                "write GpuConfig or MigDeviceConfig");
  }
  auto settings = json::read_fields(root, read_settings);
  if (!settings) return std::unexpected(std::move(settings).error().with_context(kind));
  return settings;
}

}  // namespace tranche::dra
