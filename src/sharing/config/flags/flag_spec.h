#pragma once
// One setting of a program: a row of its flag table (flag_table.h).

#include <span>
#include <string_view>

namespace tranche::config {

enum class FlagType { kString, kBool, kInt, kFloat, kIntList, kStringList, kDuration };

// What a shell completes after a flag that takes a path.
enum class PathKind { kNone, kFile, kFolder };

// Which programs take the flag (bit set).
enum FlagUse : unsigned {
  kUseAgent = 1,             // tranche agent, nvidia-device-plugin
  kUseFeatureDiscovery = 2,  // gpu-feature-discovery
  kUseConfigManager = 4,     // config-manager
  kUseController = 8,        // tranche controller
  kUseCleanup = 16,          // tranche cleanup
  kUseArbiter = 32,          // tranche arbiter
  kUseMpsControl = 64,       // tranche mps-control-daemon, mps-control-daemon
  kUseLimitSet = 128,        // tranche limit set, and so on
  kUseLimitGet = 256,
  kUseLimitReset = 512,
  kUseLimitList = 1024,
  kUseLimitPrune = 2048,
  kUseLabels = 4096,           // tranche labels: like gpu-feature-discovery, except for --output
  kUseVersion = 8192,          // tranche version
  kUseLayoutList = 1U << 14U,  // tranche layout list, and so on
  kUseLayoutValidate = 1U << 15U,
  kUseLayoutPack = 1U << 16U,
  kUseLayoutShow = 1U << 17U,
  kUseLayoutAssert = 1U << 18U,
  kUseLayoutExport = 1U << 19U,
  kUseLayoutDefaults = 1U << 20U,
  kUseLayoutApply = 1U << 21U,
  kUseLint = 1U << 22U,          // tranche lint
  kUseSnapshot = 1U << 23U,      // tranche snapshot
  kUseTop = 1U << 24U,           // tranche top
  kUseDoctor = 1U << 25U,        // tranche doctor
  kUseReport = 1U << 26U,        // tranche report
  kUseIncidentList = 1U << 27U,  // tranche incident list, and so on
  kUseIncidentShow = 1U << 28U,
};

inline constexpr unsigned kUseIncident = kUseIncidentList | kUseIncidentShow;

inline constexpr unsigned kUseLimit =
    kUseLimitSet | kUseLimitGet | kUseLimitReset | kUseLimitList | kUseLimitPrune;

// The commands that plan without hardware or inspect it, those that read a mig-parted file, and
// those that combine this machine's GPUs with such a file.
inline constexpr unsigned kUseLayoutLook =
    kUseLayoutList | kUseLayoutValidate | kUseLayoutPack | kUseLayoutShow;
inline constexpr unsigned kUseLayoutFile = kUseLayoutAssert | kUseLayoutApply;
inline constexpr unsigned kUseLayoutMachine =
    kUseLayoutFile | kUseLayoutExport | kUseLayoutDefaults;

// The commands that also talk to a cluster, about one of its nodes.
inline constexpr unsigned kUseLayoutNode = kUseLayoutShow | kUseLayoutApply;

// The commands that look at a cluster, or at a snapshot of one.
inline constexpr unsigned kUseCluster =
    kUseLimitGet | kUseLimitList | kUseLayoutShow | kUseLint | kUseReport;

inline constexpr unsigned kUseLayout = kUseLayoutLook | kUseLayoutMachine;

struct FlagSpec {
  std::string_view name;                               // canonical, without dashes
  std::span<const std::string_view> aliases = {};      // other spellings; one letter = short flag
  unsigned alias_uses = ~0U;                           // the programs that accept these aliases
  std::span<const std::string_view> environment = {};  // in order of precedence
  std::string_view field = {};  // "flags.plugin.passDeviceSpecs"; "" = flag and environment only
  FlagType type = FlagType::kString;
  std::string_view default_text = {};              // the default itself, written as after the flag
  std::span<const std::string_view> choices = {};  // values of an enumeration, or of a list's items
  PathKind path = PathKind::kNone;                 // for a string that is a path on this machine
  std::string_view path_word = {};                 // a word allowed in place of the path
  std::string_view help = {};
  unsigned uses = kUseAgent;
};

}  // namespace tranche::config
