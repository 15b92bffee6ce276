#pragma once
// What an earlier rewrite left in a Pod: its record, as far as the Pod's spec bears it out. Nothing
// that the record says is believed by itself. A claim is ours if the record names it and the Pod
// makes it from a template with one of our names; a replica is ours if the record names it and the
// container has one. Pure; refers to the Pod.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/pod_parts.h"
#include "admission/record.h"
#include "admission/share.h"

namespace tranche::admission {

class Past {
 public:
  // `applied`: the object that kubectl applied last, if it is known.
  Past(const PodParts& pod, const std::optional<PodParts>& applied);

  // The annotation is there, and no record can be read from it.
  bool is_unreadable() const { return is_unreadable_; }
  // nullptr: there is none.
  const Record* record_of(const std::string& container) const;
  // Whether the container has what its record says, and asks for nothing else.
  bool is_settled(const Container& container, const Ask& ask) const;

  bool is_our_claim(const std::string& name) const { return shares_.contains(name); }
  bool is_our_resource(const Container& container, const std::string& resource) const;
  // Our claims in the Pod's spec.
  const std::map<std::string, std::vector<Share>>& claims() const { return shares_; }
  // The share that a container has of our claim; nullopt: it has none.
  std::optional<Share> settled_share(const Container& container) const;

  // What the container asks, or what its record says that it had asked.
  std::string original_of(const Container& container) const;
  // The same of the object that kubectl applied last; nullopt: nothing, or there is no such object.
  std::optional<std::string> applied_of(const std::string& container) const;

 private:
  bool is_still_applied(const std::string& container, const Record& record) const;

  const PodParts& pod_;
  Records records_;
  bool is_unreadable_ = false;
  std::map<std::string, std::vector<Share>> shares_;  // of our claims, by claim
  bool has_applied_ = false;
  std::map<std::string, std::string> applied_;  // container -> amount
};

}  // namespace tranche::admission
