#include "top/view/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "top/view/history.h"

namespace tranche::top {
namespace {

// A row with what stands below it.
struct Branch {
  Row row;
  std::vector<Branch> below{};
};

// Of one node: what is on each device.
class NodeIndex {
 public:
  explicit NodeIndex(const usage::NodeUsage& usage) {
    for (const auto& container : usage.containers) {
      const auto& device = container.device.empty() ? container.gpu : container.device;
      containers_[device].push_back(&container);
      names_.emplace(device, container.ns, container.pod, container.container);
    }
    for (const auto& process : usage.processes) {
      const bool owned =
          process.owner == usage::ProcessOwner::kContainer &&
          names_.contains({process.device, process.ns, process.pod, process.container});
      if (owned) {
        of_containers_[{process.device, process.ns, process.pod, process.container}].push_back(
            &process);
      } else {
        others_[process.device].push_back(&process);
      }
    }
  }

  using Containers = std::vector<const usage::ContainerFigures*>;
  using Processes = std::vector<const usage::ProcessUsage*>;

  // Each device's are given once: what is left over is on no device that is known.
  Containers take_containers(const std::string& device) { return take(containers_, device); }
  Processes take_others(const std::string& device) { return take(others_, device); }
  Processes take_of(const usage::ContainerFigures& container) {
    const auto& device = container.device.empty() ? container.gpu : container.device;
    return take(of_containers_, Name{device, container.ns, container.pod, container.container});
  }
  std::vector<std::string> devices_left() const {
    std::vector<std::string> left;
    for (const auto& entry : containers_) left.emplace_back(entry.first);
    for (const auto& entry : others_) left.emplace_back(entry.first);
    std::ranges::sort(left);
    left.erase(std::unique(left.begin(), left.end()), left.end());
    return left;
  }

 private:
  using Name = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

  template <class Map>
  static typename Map::mapped_type take(Map& map, const typename Map::key_type& key) {
    auto node = map.extract(key);
    return node ? std::move(node.mapped()) : typename Map::mapped_type();
  }

  std::map<std::string_view, Containers> containers_;  // by device
  std::map<std::string_view, Processes> others_;
  std::map<Name, Processes> of_containers_;
  std::set<Name> names_;
};

class Builder {
 public:
  Builder(const Reading& reading, const Settings& settings)
      : reading_(reading), settings_(settings) {}

  std::vector<Row> rows() {
    std::vector<Branch> roots;
    for (const auto& node : reading_.fleet.nodes) {
      auto branch = node_branch(node);
      if (reading_.cluster) {
        if (keep(branch)) roots.push_back(std::move(branch));
      } else {
        std::ranges::move(branch.below, std::back_inserter(roots));
      }
    }
    std::vector<Row> rows;
    if (settings_.tree) {
      for (auto& root : roots) lay_out(std::move(root), 0, rows);
      return rows;
    }
    std::vector<Branch> leaves;
    for (auto& root : roots) gather_leaves(std::move(root), leaves);
    sort(leaves);
    for (auto& leaf : leaves) lay_out(std::move(leaf), 0, rows);
    return rows;
  }

 private:
  // False: neither it nor anything below it is shown.
  bool keep(const Branch& branch) const {
    return !settings_.filter || !branch.below.empty() || settings_.filter->matches(branch.row);
  }
  void add(Branch branch, std::vector<Branch>& to) const {
    if (keep(branch)) to.push_back(std::move(branch));
  }

  Branch node_branch(const fleet::FleetNode& node) const;
  Branch gpu_branch(const Row& above, const usage::GpuUsage& gpu, NodeIndex& index) const;
  void add_device(const Row& above, const std::string& device, NodeIndex& index,
                  std::vector<Branch>& to) const;
  Branch container_branch(const Row& above, const usage::ContainerFigures& container,
                          NodeIndex& index) const;
  static Branch process_branch(const Row& above, const usage::ProcessUsage& process);
  void sort(std::vector<Branch>& branches) const;
  void lay_out(Branch branch, std::size_t depth, std::vector<Row>& rows) const;
  static void gather_leaves(Branch branch, std::vector<Branch>& leaves);

  const Reading& reading_;
  const Settings& settings_;
};

Branch Builder::node_branch(const fleet::FleetNode& node) const {
  Branch branch{{.kind = RowKind::kNode, .id = node.name, .node = &node}};
  NodeIndex index(node.usage);
  for (const auto& gpu : node.usage.gpus) add(gpu_branch(branch.row, gpu, index), branch.below);
  // A GPU that is gone, or that the agent does not know, may still be held.
  for (const auto& device : index.devices_left()) {
    add_device(branch.row, device, index, branch.below);
  }
  return branch;
}

Branch Builder::gpu_branch(const Row& above, const usage::GpuUsage& gpu, NodeIndex& index) const {
  Branch branch{above};
  branch.row.kind = RowKind::kGpu;
  branch.row.id = gpu_id(above.node->name, gpu.uuid);
  branch.row.gpu = &gpu;
  for (const auto& instance : gpu.instances) {
    Branch part{branch.row};
    part.row.kind = RowKind::kInstance;
    part.row.id += '\n' + instance.uuid;
    part.row.instance = &instance;
    add_device(part.row, instance.uuid, index, part.below);
    add(std::move(part), branch.below);
  }
  add_device(branch.row, gpu.uuid, index, branch.below);
  return branch;
}

void Builder::add_device(const Row& above, const std::string& device, NodeIndex& index,
                         std::vector<Branch>& to) const {
  std::vector<Branch> found;
  for (const auto* container : index.take_containers(device)) {
    auto branch = container_branch(above, *container, index);
    // Its processes come and go with it.
    if (!settings_.filter || settings_.filter->matches(branch.row)) {
      found.push_back(std::move(branch));
    }
  }
  sort(found);
  std::vector<Branch> others;
  for (const auto* process : index.take_others(device))
    add(process_branch(above, *process), others);
  sort(others);
  std::ranges::move(found, std::back_inserter(to));
  std::ranges::move(others, std::back_inserter(to));
}

Branch Builder::container_branch(const Row& above, const usage::ContainerFigures& container,
                                 NodeIndex& index) const {
  Branch branch{above};
  branch.row.kind = RowKind::kContainer;
  branch.row.id = container_id(above.node->name, container);
  branch.row.container = &container;
  for (const auto* process : index.take_of(container)) {
    if (settings_.processes) branch.below.push_back(process_branch(branch.row, *process));
  }
  sort(branch.below);
  return branch;
}

Branch Builder::process_branch(const Row& above, const usage::ProcessUsage& process) {
  Branch branch{above};
  branch.row.kind = RowKind::kProcess;
  branch.row.id += fmt::format("\n{}\n{}", process.device, process.pid);
  branch.row.process = &process;
  return branch;
}

// The largest first; nullopt last.
std::optional<double> amount_of(const Row& row, Sort sort) {
  const auto figures = figures_of(row);
  switch (sort) {
    case Sort::kMemory:
      return figures.used ? std::optional(static_cast<double>(*figures.used)) : std::nullopt;
    case Sort::kCompute:
      return figures.compute;
    case Sort::kWait:
      return figures.waited;
    case Sort::kName:
      break;
  }
  return std::nullopt;
}

void Builder::sort(std::vector<Branch>& branches) const {
  struct Key {
    bool unknown;
    double amount;
    std::string name;
    bool operator<(const Key& other) const {
      return std::tie(unknown, amount, name) < std::tie(other.unknown, other.amount, other.name);
    }
  };
  std::vector<std::pair<Key, Branch>> keyed;
  for (auto& branch : branches) {
    const auto amount = amount_of(branch.row, settings_.sort);
    const bool unknown = settings_.sort != Sort::kName && !amount;
    const double sign = settings_.reverse ? 1 : -1;
    Key key{unknown, sign * amount.value_or(0), name_of(branch.row)};
    keyed.emplace_back(std::move(key), std::move(branch));
  }
  std::ranges::stable_sort(keyed, std::less<>(), &std::pair<Key, Branch>::first);
  if (settings_.sort == Sort::kName && settings_.reverse) std::ranges::reverse(keyed);
  for (std::size_t i = 0; i < keyed.size(); ++i) branches[i] = std::move(keyed[i].second);
}

void Builder::lay_out(Branch branch, std::size_t depth, std::vector<Row>& rows) const {
  auto& row = branch.row;
  row.depth = depth;
  row.has_children = !branch.below.empty();
  row.closed = row.has_children && settings_.closed.contains(row.id);
  const bool closed = row.closed;
  rows.push_back(std::move(row));
  if (closed) return;
  for (auto& below : branch.below) lay_out(std::move(below), depth + 1, rows);
}

void Builder::gather_leaves(Branch branch, std::vector<Branch>& leaves) {
  if (branch.row.kind == RowKind::kContainer || branch.row.kind == RowKind::kProcess) {
    branch.below.clear();
    leaves.push_back(std::move(branch));
    return;
  }
  for (auto& below : branch.below) gather_leaves(std::move(below), leaves);
}

}  // namespace

std::vector<Row> rows_of(const Reading& reading, const Settings& settings) {
  return Builder(reading, settings).rows();
}

}  // namespace tranche::top
