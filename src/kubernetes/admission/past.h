#pragma once
// What an earlier rewrite left in a Pod. The record alone is never trusted:
//
//   - A claim is ours by its form: its name is tranche-gpu or begins with tranche-gpu-, and its
//     template has one of our names. The record does not count, because it may be lost: if a
//     manifest's last annotation is removed, kubectl removes them all. A user's claim of another
//     name is never touched, even with such a template.
//   - A replica is ours if the record names it and the container has exactly one.
//
// Pure; refers to the Pod.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admission/pod_parts.h"
#include "admission/record.h"
#include "admission/share.h"

namespace tranche::admission {

// The manifests that kubectl applied last, by the object's annotation: now, and before the change
// under review. nullopt: unknown.
struct Manifests {
  std::optional<PodParts> now;
  std::optional<PodParts> before;
};

class Past {
 public:
  // Refers to both.
  Past(const PodParts& pod, const Manifests& manifests);

  // The annotation exists but has no readable record.
  bool is_unreadable() const { return is_unreadable_; }
  // The container's record; for one that uses our claim without a record, derived from the claim.
  // null: none.
  const Record* record_of(const std::string& container) const;
  // Whether the container has what its record says, and requests nothing else.
  bool is_settled(const Container& container, const Ask& ask) const;

  bool is_our_claim(const std::string& name) const { return shares_.contains(name); }
  // Whether an earlier rewrite put the resource into the container.
  bool is_our_resource(const Container& container, const std::string& resource) const;
  // Whether the manifest is known, and does not request the resource for the container.
  bool is_beyond_manifest(const Container& container, const std::string& resource) const;
  // Our claims in the Pod's spec.
  const std::map<std::string, std::vector<Share>>& claims() const { return shares_; }
  // The container's share by our claim; nullopt: it has none.
  std::optional<Share> settled_share(const Container& container) const;

  // What the container requests, or by its record had requested.
  std::string original_of(const Container& container) const;

 private:
  void find_claims();
  void complete_records();
  bool is_taken_out(const std::string& container) const;

  const PodParts& pod_;
  Records records_;
  bool is_unreadable_ = false;
  std::map<std::string, std::vector<Share>> shares_;  // of our claims, by claim
  bool has_both_ = false;                             // manifests
  std::map<std::string, const Container*> now_;       // of the manifests, by name
  std::map<std::string, const Container*> before_;
};

}  // namespace tranche::admission
