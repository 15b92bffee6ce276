#pragma once
// Puts aliases in the place of names, field by field. One walk over a snapshot (anonymize.cpp) is
// made twice: the first time the renamer learns the names and changes nothing, the second time it
// replaces them. So no name is replaced in one place and forgotten in another.

#include <string>
#include <string_view>
#include <vector>

#include "cluster/label_selector.h"
#include "cluster/metadata.h"
#include "cluster/object.h"
#include "cluster/snapshot/aliases.h"

namespace tranche::cluster {

class Renamer {
 public:
  enum class Walk { kLearns, kReplaces };
  Renamer(Aliases& aliases, Walk walk) : aliases_(aliases), walk_(walk) {}

  bool learns() const { return walk_ == Walk::kLearns; }

  void name(NameKind kind, std::string& name) const;
  void key(NameKind kind, ObjectKey& key) const;  // with its namespace
  void uid(std::string& uid) const { name(NameKind::kUid, uid); }
  // A UUID of a GPU, of a MIG instance, or the name of a device; "GPU-...::3".
  void device(std::string& id) const;
  // "gpu/l20": a claim's request, and the subrequest.
  void request(std::string& request) const;
  void text(std::string& text) const;
  // What stays, also in texts.
  void word(std::string_view word) const;

  // Keys of public domains stay, and the values of those that describe hardware.
  void label(std::string& key, std::string& value) const;
  void labels(StringMap& labels) const;
  void selector(LabelSelector& selector) const;
  void owners(std::vector<OwnerReference>& owners) const;

 private:
  void label_key(std::string& key) const;
  void label_value(std::string_view key, std::string& value) const;

  Aliases& aliases_;
  Walk walk_;
};

}  // namespace tranche::cluster
