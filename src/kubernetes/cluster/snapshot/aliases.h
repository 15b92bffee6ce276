#pragma once
// What stands for each name in an anonymous snapshot: "node-1" for a Node's name, a UUID of the
// same form for a UUID. One text has one alias, wherever it occurs and whatever it names there, so
// what was equal stays equal.
//
// First all names are learned, then number() gives each its alias: numbers in the order of `seed`,
// so that a list of the real names in alphabetical order tells nothing. An alias is never a name
// that was learned. Nothing of a name is in its alias, and nobody keeps which was which.
//
// Belongs to one thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tranche::cluster {

// In order of precedence: a text that names several things is called by the first.
enum class NameKind {
  kNodeName,
  kNamespaceName,
  kPodName,
  kContainerName,
  kClaimName,
  kTemplateName,
  kRequestName,
  kConfigMapName,
  kConfigName,  // a key of a ConfigMap, a MIG layout
  kOwnerName,
  kObjectName,
  kDeviceName,
  kTenantName,
  kGpuUuid,  // "GPU-<uuid>"
  kMigUuid,  // "MIG-<uuid>"
  kUid,
  kLabelKey,
  kSomeValue,  // of a label or an attribute
  kSomeWord,   // what may be a name, in words for people
};

class Aliases {
 public:
  explicit Aliases(std::uint64_t seed) : seed_(seed) {}

  // An empty text and a well-known name ("kube-system") are nobody's, and are kept.
  void learn(NameKind kind, const std::string& name);
  // A word that stays where it stands in a text: a resource, a model.
  void learn_word(std::string_view word) { words_.emplace(word); }
  void number();

  // The alias of a name; of one that was not learned a new one.
  std::string alias_of(NameKind kind, const std::string& name);
  // nullptr: it was not learned.
  const std::string* find(const std::string& name) const;
  bool is_word(std::string_view word) const { return words_.contains(word); }

 private:
  std::string next(NameKind kind);

  std::uint64_t seed_;
  std::map<std::string, NameKind> learned_;
  std::map<std::string, std::string> aliases_;
  std::map<NameKind, std::size_t> used_;  // numbers
  std::set<std::string, std::less<>> words_;
};

// By its form: kGpuUuid, kMigUuid, kUid, else `otherwise`.
NameKind kind_of_id(std::string_view text, NameKind otherwise);

}  // namespace tranche::cluster
