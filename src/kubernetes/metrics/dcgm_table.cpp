#include "metrics/dcgm_table.h"

#include <array>
#include <chrono>
#include <limits>

namespace tranche::metrics {
namespace {

std::optional<Reading> reading(std::optional<double> figure) {
  if (!figure) return std::nullopt;
  return *figure;
}
template <class Count>
std::optional<Reading> reading(std::optional<Count> figure) {
  if (!figure) return std::nullopt;
  return std::uint64_t{*figure};
}
std::optional<Reading> reading(std::optional<Bytes> figure) {
  if (!figure) return std::nullopt;
  return figure->value;
}
std::optional<Reading> reading(Bytes figure) { return figure.value; }
std::optional<Reading> reading(std::optional<std::chrono::nanoseconds> figure) {
  if (!figure || figure->count() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(figure->count());
}

#define READ_fast(field) device.fast == nullptr ? std::nullopt : reading(device.fast->field)
#define READ_slow(field) device.slow == nullptr ? std::nullopt : reading(device.slow->field)
#define READ_memory(field) device.memory == nullptr ? std::nullopt : reading(device.memory->field)
#define READ_engines(field) \
  device.engines == nullptr ? std::nullopt : reading(device.engines->field)
#define READ_links(field) device.links == nullptr ? std::nullopt : reading(device.links->field)
#define READ_xid(field) reading(device.xid)

#define DCGM(source, field, type, help, name48, scale48, unit48, name49, scale49, unit49)         \
  DcgmFigure{                                                                                     \
      [](const DeviceSources& device) -> std::optional<Reading> { return READ_##source(field); }, \
      Type::type,                                                                                 \
      {#name48, Scale::scale48, help " (" unit48 ")."},                                           \
      {#name49, Scale::scale49, help " (" unit49 ")."}},
constexpr auto kFigures = std::to_array<DcgmFigure>({
#include "metrics/dcgm.def"
});
#undef DCGM
#undef READ_fast
#undef READ_slow
#undef READ_memory
#undef READ_engines
#undef READ_links
#undef READ_xid

constexpr std::uint64_t kMillion = 1'000'000;

std::optional<Value> scaled_whole(std::uint64_t units, Scale scale) {
  switch (scale) {
    case Scale::kSame:
      return whole(units);
    case Scale::kMega:
      if (units > std::numeric_limits<std::uint64_t>::max() / kMillion) return std::nullopt;
      return whole(units * kMillion);
    case Scale::kMebi:
      return whole(Bytes{units}.mib());
    case Scale::kPercent:
      return Decimal{units, 2};
    case Scale::kMilli:
      return Decimal{units, 3};
    case Scale::kNano:
      return Decimal{units, 9};
  }
  return std::nullopt;
}

}  // namespace

std::span<const DcgmFigure> dcgm_table() { return kFigures; }

std::optional<Value> scaled(const Reading& reading, Scale scale) {
  if (const auto* number = std::get_if<double>(&reading)) return *number;
  return scaled_whole(std::get<std::uint64_t>(reading), scale);
}

}  // namespace tranche::metrics
