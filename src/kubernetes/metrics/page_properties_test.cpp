// Random figures, most of which contradict each other: properties of every page.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "metrics/page.h"
#include "metrics/testing.h"
#include "support/node_figures.h"

namespace tranche::metrics::page_properties_test {
namespace {

// Few different ones, so that many entries are the same; some that no format can take as they are.
std::string drawn_text() {
  return *rc::gen::element<std::string>("", "a", "b", "a\"b", "a\\", "\n", "\r", "\x01", "\xFF",
                                        "\xE2\x82", "\xC3\xA9", "},x=", std::string(1, '\0'));
}

std::uint64_t drawn_count() {
  return *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 4), rc::gen::arbitrary<std::uint64_t>(),
                         rc::gen::just(std::numeric_limits<std::uint64_t>::max()));
}

double drawn_double() {
  return *rc::gen::oneOf(rc::gen::arbitrary<double>(),
                         rc::gen::element(0.0, 0.5, std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN()));
}

template <class Draw>
auto maybe(Draw draw) -> std::optional<decltype(draw())> {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return draw();
}

std::chrono::nanoseconds drawn_time() {
  return std::chrono::nanoseconds(*rc::gen::arbitrary<std::int64_t>());
}

std::uint32_t drawn_small() { return *rc::gen::arbitrary<std::uint32_t>(); }

gpu::MemoryFigures drawn_memory() {
  return {.total = {drawn_count()},
          .used = {drawn_count()},
          .free = {drawn_count()},
          .reserved = maybe([] { return Bytes{drawn_count()}; })};
}

gpu::Activity drawn_activity() {
  return {.graphics = maybe(drawn_double),
          .sm = maybe(drawn_double),
          .dram = maybe(drawn_double),
          .pcie_sent = maybe(drawn_double),
          .nvlink_received = maybe(drawn_double)};
}

gpu::Gpu drawn_gpu() {
  auto builder = test::a100_40gb(*rc::gen::inRange(0, 3));
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) builder.instance("1c.2g.10gb");
  gpu::Gpu gpu = builder.name(drawn_text()).minor(*rc::gen::inRange(-1, 2)).build();
  for (auto& instance : gpu.mig_instances) {
    instance.gpu_instance_id = *rc::gen::inRange(0, 3);
    instance.profile.name = *rc::gen::element<std::string>("1c.2g.10gb", "3g.20gb", "c.", "", "\n");
  }
  return gpu;
}

GpuFigures drawn_gpu_figures() {
  GpuFigures figures{.gpu = drawn_gpu(), .last_xid = maybe(drawn_count)};
  if (*rc::gen::arbitrary<bool>()) {
    auto& fast = figures.fast.emplace();
    fast.figures = {.memory = maybe(drawn_memory),
                    .gpu_percent = maybe(drawn_small),
                    .sm_clock_mhz = maybe(drawn_small),
                    .power_mw = maybe(drawn_small),
                    .remap_failed = maybe([] { return *rc::gen::arbitrary<bool>(); })};
    for (const auto& instance : figures.gpu.mig_instances) {
      fast.instances.push_back({instance.uuid.value, maybe(drawn_memory)});
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    auto& slow = figures.slow.emplace();
    slow.figures = {.energy_mj = maybe(drawn_count),
                    .pcie_replays = maybe(drawn_small),
                    .throttled_by_power = maybe(drawn_time),
                    .activity = drawn_activity()};
    for (const auto& instance : figures.gpu.mig_instances) {
      slow.instances.push_back({instance.uuid.value, drawn_activity()});
    }
  }
  return figures;
}

usage::Mechanism drawn_mechanism() {
  return *rc::gen::element(usage::Mechanism::kExclusive, usage::Mechanism::kMig,
                           usage::Mechanism::kTimeSlicing, usage::Mechanism::kMps,
                           usage::Mechanism::kShare);
}

usage::ContainerFigures drawn_container() {
  return {.ns = drawn_text(),
          .pod = drawn_text(),
          .container = drawn_text(),
          .resource = drawn_text(),
          .mechanism = drawn_mechanism(),
          .gpu = drawn_text(),
          .device = drawn_text(),
          .mig_profile = drawn_text(),
          .gpus = drawn_double(),
          .attributed = *rc::gen::arbitrary<bool>(),
          .processes = maybe(drawn_small),
          .memory_used = maybe(drawn_count),
          .memory_peak = maybe(drawn_count),
          .memory_limit = maybe(drawn_count),
          .compute_promised = maybe(drawn_double),
          .compute = maybe(drawn_time),
          .compute_estimated = maybe(drawn_time),
          .compute_asked = maybe(drawn_time),
          .waited = maybe(drawn_time),
          .launches = maybe(drawn_count),
          .allocation_failures = maybe(drawn_count)};
}

// Half of them add up.
usage::MemoryAccount drawn_account() {
  usage::MemoryAccount account{.gpu = drawn_text(),
                               .total = drawn_count(),
                               .free = drawn_count(),
                               .reserved = drawn_count(),
                               .containers = drawn_count(),
                               .host_processes = drawn_count(),
                               .unknown = drawn_count(),
                               .unattributed = drawn_count(),
                               .excess = drawn_count()};
  if (*rc::gen::arbitrary<bool>()) {
    account.free %= 1000;
    account.reserved %= 1000;
    account.containers %= 1000;
    account.host_processes %= 1000;
    account.unknown %= 1000;
    account.unattributed %= 1000;
    account.total = account.free + account.reserved + account.containers + account.host_processes +
                    account.unknown + account.unattributed;
  }
  return account;
}

template <class Draw>
auto several(int most, Draw draw) {
  std::vector<decltype(draw())> all;
  for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) all.push_back(draw());
  return all;
}

NodeFigures drawn_node() {
  return {
      .node = drawn_text(),
      .driver_version = drawn_text(),
      .gpus = several(4, drawn_gpu_figures),
      .containers = several(12, drawn_container),
      .memory = several(4, drawn_account),
      .tranches = several(3,
                          [] {
                            return usage::TrancheCount{.resource = drawn_text(),
                                                       .mechanism = drawn_mechanism(),
                                                       .advertised = drawn_count(),
                                                       .allocated = drawn_count(),
                                                       .withheld = drawn_count()};
                          }),
      .checks = several(3, [] { return usage::Check{drawn_text(), *rc::gen::arbitrary<bool>()}; }),
      .fast_age = maybe(drawn_time),
      .slow_age = maybe(drawn_time)};
}

PageOptions drawn_options() {
  return {.names = *rc::gen::element(DcgmNames::kBoth, DcgmNames::k48, DcgmNames::k49),
          .format = *rc::gen::element(Format::kPrometheusText, Format::kOpenMetrics),
          .max_series = *rc::gen::inRange<std::size_t>(0, 200),
          .version = "1"};
}

std::uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

// A page without faults has no series twice, no value that is no number, and whole families.
RC_GTEST_PROP(EveryPage, IsAsItsFormatDemands, ()) {
  const auto figures = drawn_node();
  const auto options = drawn_options();
  const auto read = read_page(page(figures, options), options.format);
  RC_ASSERT(read.faults == std::vector<std::string>{});
}

RC_GTEST_PROP(EveryPage, MemoryAddsUpToATotalThatTheFiguresHave, ()) {
  const auto figures = drawn_node();
  const auto read = read_page(page(figures, {}), Format::kPrometheusText);
  std::map<std::string, std::uint64_t> sums;
  std::map<std::string, int> uses;
  for (const auto& one : read.named("tranche_gpu_memory_bytes")) {
    const auto gpu = one.labels.find("gpu");
    const std::string name = gpu == one.labels.end() ? "" : gpu->second;
    sums[name] += number(one.value);
    ++uses[name];
  }
  std::set<std::uint64_t> totals;
  for (const auto& account : figures.memory) totals.insert(account.total);
  for (const auto& [name, sum] : sums) {
    RC_ASSERT(totals.contains(sum));
    RC_ASSERT(uses[name] == 6);
  }
}

RC_GTEST_PROP(EveryPage, SaysHowManySeriesItLeavesOut, ()) {
  const auto figures = drawn_node();
  auto options = drawn_options();
  const auto cut = read_page(page(figures, options), options.format);
  options.max_series = std::numeric_limits<std::size_t>::max();
  const auto full = read_page(page(figures, options), options.format);
  RC_ASSERT(number(cut.value("tranche_series_dropped", {})) -
                number(full.value("tranche_series_dropped", {})) ==
            full.size() - cut.size());
}

RC_GTEST_PROP(EveryPage, KeepsItsLimitOrHasNoContainers, ()) {
  const auto figures = drawn_node();
  const auto options = drawn_options();
  const auto read = read_page(page(figures, options), options.format);
  RC_ASSERT(read.size() <= options.max_series ||
            (read.named("tranche_container_attributed").empty() &&
             read.named("container_gpu_allocation").empty()));
}

// Values may change; which series there are may not.
RC_GTEST_PROP(EveryPage, HasTheSameSeriesWhereOnlyValuesChange, ()) {
  auto figures = drawn_node();
  const auto options = drawn_options();
  const auto names = [&] {
    std::set<std::pair<std::string, std::map<std::string, std::string>>> all;
    for (const auto& family : read_page(page(figures, options), options.format).families) {
      for (const auto& one : family.series) all.insert({one.name, one.labels});
    }
    return all;
  };
  const auto before = names();
  for (auto& one : figures.containers) {
    if (one.memory_used) one.memory_used = drawn_count();
    if (one.processes) one.processes = drawn_small();
    if (one.allocation_failures) one.allocation_failures = drawn_count();
  }
  for (auto& one : figures.gpus) {
    if (one.last_xid) one.last_xid = drawn_count();
  }
  RC_ASSERT(names() == before);
}

}  // namespace
}  // namespace tranche::metrics::page_properties_test
