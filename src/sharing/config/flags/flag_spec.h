#pragma once
// One setting of a program, as a row of its flag table says it (flag_table.h).

#include <span>
#include <string_view>

namespace tranche::config {

enum class FlagType { kString, kBool, kInt, kFloat, kIntList, kStringList, kDuration };

// What a shell completes after a flag whose value is a path.
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
  kUseLabels = 4096,           // tranche labels: as gpu-feature-discovery, but for --output
  kUseVersion = 8192,          // tranche version
  kUseLayoutList = 1U << 14U,  // tranche layout list, and so on
  kUseLayoutValidate = 1U << 15U,
  kUseLayoutPack = 1U << 16U,
  kUseLayoutShow = 1U << 17U,
  kUseLayoutAssert = 1U << 18U,
  kUseLayoutExport = 1U << 19U,
  kUseLayoutDefaults = 1U << 20U,
  kUseLayoutApply = 1U << 21U,
  kUseLint = 1U << 22U,  // tranche lint
};

inline constexpr unsigned kUseLimit =
    kUseLimitSet | kUseLimitGet | kUseLimitReset | kUseLimitList | kUseLimitPrune;

// Those that plan without hardware or look at it, those that read a file of mig-parted, and those
// that bring this machine's GPUs and such a file together.
inline constexpr unsigned kUseLayoutLook =
    kUseLayoutList | kUseLayoutValidate | kUseLayoutPack | kUseLayoutShow;
inline constexpr unsigned kUseLayoutFile = kUseLayoutAssert | kUseLayoutApply;
inline constexpr unsigned kUseLayoutMachine =
    kUseLayoutFile | kUseLayoutExport | kUseLayoutDefaults;

// Those that also talk to a cluster, about one of its nodes.
inline constexpr unsigned kUseLayoutNode = kUseLayoutShow | kUseLayoutApply;

inline constexpr unsigned kUseLayout = kUseLayoutLook | kUseLayoutMachine;

struct FlagSpec {
  std::string_view name;                               // canonical, without dashes
  std::span<const std::string_view> aliases = {};      // other spellings; one letter = short flag
  unsigned alias_uses = ~0U;                           // the programs that know these
  std::span<const std::string_view> environment = {};  // in order of precedence
  std::string_view field = {};  // "flags.plugin.passDeviceSpecs"; "" = flag and environment only
  FlagType type = FlagType::kString;
  std::string_view default_text = {};  // the default itself, as one would write it after the flag
  std::span<const std::string_view> choices = {};  // of an enumeration, or of a list's items
  PathKind path = PathKind::kNone;                 // of a string that is a path of this machine
  std::string_view path_word = {};                 // a word that may stand in place of the path
  std::string_view help = {};
  unsigned uses = kUseAgent;
};

}  // namespace tranche::config
