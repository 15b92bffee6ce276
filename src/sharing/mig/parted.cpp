#include "mig/parted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <ranges>
#include <set>
#include <utility>

#include "base/edit_distance.h"
#include "base/printable.h"
#include "base/yaml.h"
#include "cluster/checks.h"
#include "config/problems.h"
#include "mig/empty.h"
#include "mig/parted_words.h"

namespace tranche::mig {
namespace {

// The limit of a ConfigMap, from which the file comes.
constexpr std::size_t kLongestFile = std::size_t{1} << 20U;
constexpr std::size_t kMostConfigs = 1000;
constexpr std::size_t kMostEntries = 256;  // of a layout; of indices, filters and profiles, too
constexpr std::int64_t kHighestIndex = 1023;
constexpr std::int64_t kHighestCount = 1000;

constexpr std::string_view kDevices = "write all, or a list of indices: [0, 1]";
constexpr std::string_view kMode = "write mig-enabled: true, or false";

constexpr std::array<std::string_view, 3> kTopKeys = {"version", "mig-configs", "hooks"};
constexpr std::array<std::string_view, 4> kEntryKeys = {"device-filter", "devices", "mig-enabled",
                                                        "mig-devices"};
constexpr std::array<std::string_view, 4> kHookKeys = {"command", "args", "envs", "workdir"};

std::string shown(std::string_view text) { return printable(text, 80); }

// GPUs that entries name by their indices.
struct Named {
  bool all = false;
  std::bitset<kHighestIndex + 1> indices = {};

  void add(const std::optional<std::vector<int>>& devices) {
    all = all || !devices;
    for (const int index : devices.value_or(std::vector<int>())) {
      indices.set(static_cast<std::size_t>(index));
    }
  }
};

using Filters = std::set<std::pair<std::uint32_t, std::optional<std::uint32_t>>>;

Filters filters_of(const PartedEntry& entry) {
  Filters filters;
  for (const auto& filter : entry.filters) filters.emplace(filter.device, filter.subsystem);
  return filters;
}

// Whether later entries, for any GPU or for the same models, name all GPUs of the entry.
bool is_hidden(const PartedEntry& entry, const Named& any, const Named& alike) {
  if (any.all || alike.all) return true;
  return entry.devices && std::ranges::all_of(*entry.devices, [&](int index) {
           const auto bit = static_cast<std::size_t>(index);
           return any.indices.test(bit) || alike.indices.test(bit);
         });
}

class PartedReader {
 public:
  explicit PartedReader(std::string_view file_name) : file_name_(file_name) {
    file_.name = file_name;
  }

  Result<PartedFile> read(const yaml::Document& document) {
    for (const auto& twice : document.duplicates) {
      error(twice.line, fmt::format("\"{}\" is there twice", shown(twice.key)),
            fmt::format("the first is in line {}; keep one", twice.first_line));
    }
    if (document.next_line > 0) {
      error(document.next_line, "another document begins here, and the first one alone is read",
            "write one file of layouts in a file or key");
    }
    if (yaml::says_nothing(document.root)) {
      error(1, "the file is empty",
            "begin it with \"version: v1\"; what is commented out does not count");
    } else if (is_map(document.root, "the file", "begin it with \"version: v1\"")) {
      top(document.root);
    }
    if (problems_.any_errors()) {
      return std::unexpected(problems_.as_error(Code::kInvalidArgument));
    }
    file_.warnings = problems_.warnings();
    return std::move(file_);
  }

 private:
  void error(int line, std::string_view what, std::string_view remedy) {
    problems_.error(fmt::format("{}:{}", file_name_, line), what, remedy);
  }

  void warn(int line, std::string_view what, std::string_view remedy) {
    problems_.warn(fmt::format("{}:{}", file_name_, line), what, remedy);
  }

  bool is_map(const yaml::Node& node, std::string_view what, std::string_view remedy) {
    if (node.kind == yaml::Kind::kMap) return true;
    error(node.line, fmt::format("{} is {} where a mapping is expected", what, describe(node.kind)),
          remedy);
    return false;
  }

  // Checks that a list is neither empty nor too long.
  bool is_list(const yaml::Node& node, std::string_view what, Empty empty) {
    if (node.kind != yaml::Kind::kSequence) {
      error(node.line, fmt::format("{} is {} where a list is expected", what, describe(node.kind)),
            "begin each of its entries with \"- \"");
    } else if (node.items.empty() && empty == Empty::kRefused) {
      error(node.line, fmt::format("{} is empty", what), "at least one entry is needed");
    } else if (node.items.size() > kMostEntries) {
      error(node.line, fmt::format("{} has {} entries", what, node.items.size()),
            fmt::format("{} are allowed", kMostEntries));
    } else {
      return true;
    }
    return false;
  }

  void unknown_keys(const yaml::Node& map, std::span<const std::string_view> known) {
    for (const auto& [key, line, value] : map.entries) {
      if (std::ranges::find(known, key) != known.end()) continue;
      const auto near = tranche::nearest(key, known);
      error(line, fmt::format("unknown key \"{}\"", shown(key)),
            near ? fmt::format("did you mean \"{}\"?", *near) : "remove it");
    }
  }

  void top(const yaml::Node& root) {
    if (const auto* kind = root.find("kind"); kind != nullptr && kind->scalar == "ConfigMap") {
      error(kind->line, "the file is a ConfigMap", "write the value of its key into a file");
      return;
    }
    unknown_keys(root, kTopKeys);
    const auto* version = root.find("version");
    if (version == nullptr) {
      error(root.line, "\"version\" is missing", "write version: v1");
    } else if (version->kind != yaml::Kind::kScalar || version->scalar != "v1") {
      error(version->line, fmt::format("unknown version \"{}\"", shown(version->scalar)),
            "version v1 is known");
    }
    if (const auto* hooks = root.find("hooks")) read_hooks(*hooks);
    if (const auto* configs = root.find("mig-configs")) {
      read_configs(*configs);
    } else {
      warn(root.line, "\"mig-configs\" is missing, so the file has no layouts", "name them in it");
    }
  }

  void read_configs(const yaml::Node& configs) {
    if (!is_map(configs, "\"mig-configs\"", "name layouts in it")) return;
    if (configs.entries.empty() || configs.entries.size() > kMostConfigs) {
      error(configs.line, fmt::format("\"mig-configs\" has {} layouts", configs.entries.size()),
            fmt::format("from 1 to {} are allowed", kMostConfigs));
      return;
    }
    for (const auto& [name, line, value] : configs.entries) {
      if (!is_layout_name(name)) {
        error(line, fmt::format("\"{}\" is no name of a layout", shown(name)),
              "use letters, digits, '-', '_' and '.'");
      } else if (!cluster::is_label_value(name)) {
        warn(line,
             fmt::format("layout \"{}\" cannot be the value of a label, so no node can ask for it",
                         shown(name)),
             "use at most 63 letters, digits, '-', '_' and '.', the first and last a letter or "
             "digit");
      }
      if (!is_list(value, fmt::format("layout \"{}\"", shown(name)), Empty::kRefused)) continue;
      auto& entries = file_.configs[name];
      for (const auto& item : value.items) {
        if (is_map(item, "an entry", "write \"devices\" and \"mig-enabled\" in it"))
          entries.push_back(read_entry(item));
      }
      warn_of_hidden(entries);
    }
  }

  void warn_of_hidden(const std::vector<PartedEntry>& entries) {
    std::map<Filters, Named> later;
    for (const auto& entry : std::views::reverse(entries)) {
      const auto filters = filters_of(entry);
      const bool names_any = !entry.devices || !entry.devices->empty();
      if (names_any && is_hidden(entry, later[{}], later[filters])) {
        warn(entry.line, "entries below are for all of its GPUs, so this one has no effect",
             "move it below them, or remove it");
      }
      later[filters].add(entry.devices);
    }
  }

  PartedEntry read_entry(const yaml::Node& node) {
    unknown_keys(node, kEntryKeys);
    PartedEntry entry{.filters = {}, .devices = {}, .wish = {}, .line = node.line};
    if (const auto* filters = node.find("device-filter")) entry.filters = read_filters(*filters);
    if (const auto* devices = needed(node, "devices", kDevices)) {
      entry.devices = read_devices(*devices);
    }
    const auto* enabled = needed(node, "mig-enabled", kMode);
    if (enabled == nullptr) return entry;
    const auto on = yaml::as_bool(*enabled);
    if (!on) error(enabled->line, "\"mig-enabled\" is neither true nor false", kMode);
    entry.wish.enabled = on.value_or(false);
    if (on) read_profiles(node, *on, entry.wish.devices);
    return entry;
  }

  const yaml::Node* needed(const yaml::Node& map, std::string_view key, std::string_view remedy) {
    const auto* found = map.find(key);
    if (found == nullptr) error(map.line, fmt::format("\"{}\" is missing", key), remedy);
    return found;
  }

  std::vector<DeviceFilter> read_filters(const yaml::Node& node) {
    std::vector<DeviceFilter> filters;
    if (node.kind == yaml::Kind::kScalar) {
      if (!(node.quoted && node.scalar.empty())) add_filter(node, filters);
    } else if (node.kind != yaml::Kind::kNull &&
               is_list(node, "\"device-filter\"", Empty::kAllowed)) {
      for (const auto& item : node.items) add_filter(item, filters);
    }
    return filters;
  }

  void add_filter(const yaml::Node& node, std::vector<DeviceFilter>& filters) {
    if (node.kind == yaml::Kind::kScalar && !yaml::is_text(node)) {
      error(node.line, fmt::format("\"device-filter\" {} is a number", shown(node.scalar)),
            "put it in quotes");
    } else if (auto filter = read_filter(node.scalar)) {
      check_vendor(*filter, node.line);
      filters.push_back(*std::move(filter));
    } else {
      error(node.line, fmt::format("\"{}\" is no device filter", shown(node.scalar)),
            "write the PCI ids as \"0xDDDDVVVV\" (device, vendor: \"0x20B210DE\") or "
            "\"0xDDDDVVVV:0xSSSSssss\" (and subsystem)");
    }
  }

  void check_vendor(const DeviceFilter& filter, int line) {
    constexpr std::uint32_t kNvidia = 0x10DE;
    const auto vendor = filter.device & 0xFFFFU;
    const auto device = filter.device >> 16U;
    if (vendor == kNvidia) return;
    const auto meant = device == kNvidia ? vendor : device == 0 ? vendor : device;
    warn(line,
         fmt::format("\"device-filter\" \"{}\" matches no GPU: it does not end in NVIDIA's number, "
                     "10DE",
                     shown(filter.text)),
         fmt::format("write the device first, then the vendor: \"0x{:04X}10DE\"", meant));
  }

  std::optional<std::vector<int>> read_devices(const yaml::Node& node) {
    if (node.kind == yaml::Kind::kScalar && node.scalar == "all") return std::nullopt;
    if (node.kind != yaml::Kind::kSequence) {
      error(node.line,
            fmt::format("\"devices\" is neither all nor a list{}",
                        node.scalar.empty() ? "" : ": " + shown(node.scalar)),
            kDevices);
      return std::nullopt;
    }
    std::vector<int> devices;
    if (!is_list(node, "\"devices\"", Empty::kAllowed)) return devices;
    if (node.items.empty()) {
      warn(node.line, "\"devices\" is an empty list, so the entry is for no GPU", kDevices);
    }
    for (const auto& item : node.items) {
      const auto index = yaml::as_int(item);
      if (index && *index >= 0 && *index <= kHighestIndex) {
        devices.push_back(static_cast<int>(*index));
      } else {
        error(item.line, fmt::format("\"{}\" is no index of a GPU", shown(item.scalar)), kDevices);
      }
    }
    return devices;
  }

  void read_profiles(const yaml::Node& entry, bool enabled, std::map<std::string, int>& devices) {
    const auto* node = entry.find("mig-devices");
    if (node == nullptr || node->kind == yaml::Kind::kNull) {
      if (enabled) error(entry.line, "\"mig-devices\" is missing", "write {} for no instances");
      return;
    }
    if (!is_map(*node, "\"mig-devices\"", "write profiles and how many: {\"1g.10gb\": 7}")) return;
    if (!enabled && !node->entries.empty()) {
      error(node->line, "\"mig-devices\" is there, and \"mig-enabled\" is false", "remove one");
      return;
    }
    if (node->entries.size() > kMostEntries) {
      error(node->line, fmt::format("\"mig-devices\" has {} profiles", node->entries.size()),
            fmt::format("{} are allowed", kMostEntries));
      return;
    }
    for (const auto& one : node->entries) read_profile(one, devices);
    if (devices.empty() && !node->entries.empty()) {
      error(node->line, "all numbers in \"mig-devices\" are 0", "write {} for no instances");
    }
  }

  void read_profile(const yaml::Entry& one, std::map<std::string, int>& devices) {
    if (!is_profile_name(one.key)) {
      error(one.line, fmt::format("\"{}\" is no name of a MIG profile", shown(one.key)),
            "it is like 1g.10gb, 1c.3g.40gb or 1g.10gb+me");
    }
    const auto count = one.value.quoted ? std::nullopt : yaml::as_int(one.value);
    if (!count || *count < 0 || *count > kHighestCount) {
      error(one.line, fmt::format("\"{}\" is no number of instances", shown(one.value.scalar)),
            fmt::format("write a whole number from 0 to {}", kHighestCount));
    } else if (*count > 0) {
      devices[one.key] = static_cast<int>(*count);
    }
  }

  void read_hooks(const yaml::Node& hooks) {
    if (hooks.kind == yaml::Kind::kNull ||
        !is_map(hooks, "\"hooks\"", "name in it when they run: apply-start"))
      return;
    for (const auto& [name, line, list] : hooks.entries) {
      if (!is_list(list, fmt::format("hook \"{}\"", shown(name)), Empty::kAllowed)) continue;
      for (const auto& hook : list.items) {
        if (!is_map(hook, "a hook", "name its command")) continue;
        unknown_keys(hook, kHookKeys);
        if (file_.hooks.size() < kMostEntries) file_.hooks.push_back(command_of(name, hook));
      }
    }
  }

  // "pre-apply-mode: /bin/stop --now"
  static std::string command_of(std::string_view name, const yaml::Node& hook) {
    std::string line = shown(name) + ":";
    if (const auto* command = hook.find("command")) line += " " + shown(command->scalar);
    if (const auto* arguments = hook.find("args")) {
      for (const auto& one : arguments->items) line += " " + shown(one.scalar);
    }
    return line;
  }

  std::string_view file_name_;
  config::Problems problems_{true};
  PartedFile file_;
};

}  // namespace

Result<PartedFile> parse_parted(std::string_view text, std::string_view file_name) {
  if (text.size() > kLongestFile) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} bytes are too many", file_name, text.size()),
                "leave out layouts that nobody needs");
  }
  ASSIGN_OR_RETURN(const auto document, yaml::parse(text, file_name));
  return PartedReader(file_name).read(document);
}

}  // namespace tranche::mig
