#include "metrics/node_series.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tranche::metrics {
namespace {

// The elements of `all` in the order of `key`, of equal ones the first; the rest is counted in
// `twins`. Keys are compared as labels show them.
template <class Element, class Key>
std::vector<const Element*> ordered(const std::vector<Element>& all, Key key, std::size_t& twins) {
  std::vector<std::pair<std::string, const Element*>> keyed;
  for (const auto& one : all) keyed.emplace_back(key(one), &one);
  std::ranges::stable_sort(keyed, {},
                           [](const auto& one) -> const std::string& { return one.first; });
  std::vector<const Element*> kept;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    if (i > 0 && keyed[i].first == keyed[i - 1].first) {
      ++twins;
    } else {
      kept.push_back(keyed[i].second);
    }
  }
  return kept;
}

struct MemoryUse {
  std::string_view use;
  std::uint64_t usage::MemoryAccount::* bytes;
};
constexpr auto kMemoryUses = std::to_array<MemoryUse>({
    {"containers", &usage::MemoryAccount::containers},
    {"host-processes", &usage::MemoryAccount::host_processes},
    {"unknown", &usage::MemoryAccount::unknown},
    {"unattributed", &usage::MemoryAccount::unattributed},
    {"reserved", &usage::MemoryAccount::reserved},
    {"free", &usage::MemoryAccount::free},
});

bool adds_up(const usage::MemoryAccount& account) {
  std::uint64_t rest = account.total;
  for (const auto& [use, bytes] : kMemoryUses) {
    if (account.*bytes > rest) return false;
    rest -= account.*bytes;
  }
  return rest == 0;
}

struct TrancheState {
  std::string_view state;
  std::uint64_t usage::TrancheCount::* count;
};
constexpr auto kTrancheStates = std::to_array<TrancheState>({
    {"advertised", &usage::TrancheCount::advertised},
    {"allocated", &usage::TrancheCount::allocated},
    {"withheld", &usage::TrancheCount::withheld},
});

struct ConfigurationState {
  std::string_view name;
  Configuration state;
};
constexpr auto kConfigurations = std::to_array<ConfigurationState>({
    {"current", Configuration::kCurrent},
    {"older", Configuration::kOlder},
    {"default", Configuration::kDefault},
});

class NodeWriter {
 public:
  NodeWriter(Exposition& out, const NodeFigures& figures) : out_(out), figures_(figures) {}

  std::size_t left_out() const { return left_out_; }

  void write_memory() {
    const auto labels = [](const usage::MemoryAccount& one) {
      return LabelText().add("gpu", one.gpu);
    };
    const auto accounts = in_order(figures_.memory, labels, kMemoryUses.size() + 1);
    out_.family({"tranche_gpu_memory_bytes", Type::kGauge,
                 "The GPU's memory by its use. All uses together are all of its memory.", "bytes"});
    for (const auto* one : accounts) {
      if (adds_up(*one)) {
        write_uses(*one, labels(*one));
      } else {
        left_out_ += kMemoryUses.size();
      }
    }
    out_.family({"tranche_gpu_memory_excess_bytes", Type::kGauge,
                 "What the driver counted for processes beyond the memory in use.", "bytes"});
    for (const auto* one : accounts) line(labels(*one), whole(one->excess));
  }

  // OpenCost's name. The number of GPUs that the machine has, not of its tranches.
  void write_gpu_count() {
    if (figures_.gpus.empty()) return;
    std::size_t twins = 0;
    const auto gpus =
        ordered(figures_.gpus, [](const GpuFigures& one) { return one.gpu.uuid.value; }, twins);
    out_.family({"node_gpu_count", Type::kGauge, "Physical GPUs of the node."});
    line({}, whole(gpus.size()));
  }

  void write_tranches() {
    const auto labels = [](const usage::TrancheCount& one) {
      return LabelText().add("resource", one.resource).add("mechanism", to_string(one.mechanism));
    };
    const auto counts = in_order(figures_.tranches, labels, kTrancheStates.size());
    out_.family({"tranche_tranches", Type::kGauge, "Tranches of a resource."});
    for (const auto* one : counts) {
      for (const auto& [state, count] : kTrancheStates) {
        line(labels(*one).add("state", state), whole(one->*count));
      }
    }
  }

  void write_checks() {
    const auto labels = [](const usage::Check& one) { return LabelText().add("check", one.name); };
    const auto checks = in_order(figures_.checks, labels, 1);
    out_.family({"tranche_check", Type::kGauge, "Whether a source of attribution works."});
    for (const auto* one : checks) line(labels(*one), whole(one->works ? 1 : 0));
  }

  void write_configuration() {
    out_.family({"tranche_configuration", Type::kGauge,
                 "1 for the state that holds: the node serves the configuration that it is asked "
                 "to, an older one, or none is asked for."});
    if (!figures_.configuration) return;
    for (const auto& [name, state] : kConfigurations) {
      const bool holds = *figures_.configuration == state;
      line(LabelText().add("state", name), whole(holds ? 1 : 0));
    }
  }

  void write_ages() {
    out_.family({"tranche_sample_age_seconds", Type::kGauge, "Age of the readings.", "seconds"});
    write_age("fast", figures_.fast_age);
    write_age("slow", figures_.slow_age);
  }

  void write_build(std::string_view version) {
    out_.family({"tranche_build_info", Type::kInfo, "The agent's release."});
    line(LabelText().add("version", version), whole(1));
  }

  void write_dropped(std::size_t dropped) {
    out_.family({"tranche_series_dropped", Type::kGauge,
                 "Series that this page leaves out: beyond its limit, twice there, or not adding "
                 "up."});
    line({}, whole(dropped));
  }

 private:
  void line(LabelText labels, const Value& value) {
    out_.line(labels.add("node", figures_.node).text(), value);
  }

  // `series`: of each element.
  template <class Element, class Labels>
  std::vector<const Element*> in_order(const std::vector<Element>& all, Labels labels,
                                       std::size_t series) {
    std::size_t twins = 0;
    auto elements = ordered(all, [&](const Element& one) { return labels(one).text(); }, twins);
    left_out_ += twins * series;
    return elements;
  }

  void write_uses(const usage::MemoryAccount& account, const LabelText& labels) {
    for (const auto& [use, bytes] : kMemoryUses) {
      line(LabelText(labels).add("use", use), whole(account.*bytes));
    }
  }

  void write_age(std::string_view figures, std::optional<std::chrono::nanoseconds> age) {
    const auto value = age ? seconds(*age) : std::nullopt;
    if (value) line(LabelText().add("figures", figures), *value);
  }

  Exposition& out_;
  const NodeFigures& figures_;
  std::size_t left_out_ = 0;
};

}  // namespace

std::size_t write_node_series(Exposition& out, const NodeFigures& figures,
                              std::string_view version) {
  NodeWriter writer(out, figures);
  writer.write_memory();
  writer.write_gpu_count();
  writer.write_tranches();
  writer.write_checks();
  writer.write_configuration();
  writer.write_ages();
  writer.write_build(version);
  return writer.left_out();
}

void write_dropped(Exposition& out, const NodeFigures& figures, std::size_t dropped) {
  NodeWriter(out, figures).write_dropped(dropped);
}

}  // namespace tranche::metrics
