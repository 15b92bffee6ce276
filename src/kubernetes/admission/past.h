#pragma once
// What an earlier rewrite left in a Pod. Nothing that the record says is believed by itself:
//
//   - A claim is ours by its form: its name is tranche-gpu or begins tranche-gpu-, and it is made
//     from a template with one of our names. The record is not asked, because it may be lost: who
//     takes the last annotation out of a manifest has kubectl remove them all. A claim of the
//     user's own from such a template is not touched under any other name.
//   - A replica is ours if the record names it and the container has one.
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

// What kubectl applied last, as the object says: now, and before the change that is to be admitted.
// nullopt: it is not known.
struct Manifests {
  std::optional<PodParts> now;
  std::optional<PodParts> before;
};

class Past {
 public:
  // Refers to both.
  Past(const PodParts& pod, const Manifests& manifests);

  // The annotation is there, and no record can be read from it.
  bool is_unreadable() const { return is_unreadable_; }
  // Of a container that uses our claim and has no record: what its claim tells. nullptr: nothing.
  const Record* record_of(const std::string& container) const;
  // Whether the container has what its record says, and asks for nothing else.
  bool is_settled(const Container& container, const Ask& ask) const;

  bool is_our_claim(const std::string& name) const { return shares_.contains(name); }
  // Whether one of the resource is what an earlier rewrite put into the container.
  bool is_our_resource(const Container& container, const std::string& resource) const;
  // Whether the manifest is known, and does not ask the resource for the container.
  bool is_beyond_manifest(const Container& container, const std::string& resource) const;
  // Our claims in the Pod's spec.
  const std::map<std::string, std::vector<Share>>& claims() const { return shares_; }
  // The share that a container has of our claim; nullopt: it has none.
  std::optional<Share> settled_share(const Container& container) const;

  // What the container asks, or what its record says that it had asked.
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
