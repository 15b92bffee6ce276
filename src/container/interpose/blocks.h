#pragma once
// What this process holds, keyed by the address or handle that the driver returned: a hash table in
// shards, each with its own lock, so that threads which allocate concurrently rarely contend and a
// lookup costs the same at ten blocks and at fifty thousand.
//
// Memory comes from mmap: malloc belongs to the program, and may be our caller.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "interpose/lock.h"

namespace tranche::interpose {

// Value: trivially copyable. Key 0 is never stored.
template <class Value>
class Blocks {
 public:
  constexpr Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // false: no memory for it. An existing key gets the new value; the old one is stored in
  // `displaced`, which is otherwise unchanged.
  // By value: a small one stays in registers.
  bool put(std::uint64_t key, Value value, Value* displaced = nullptr) {
    Shard& shard = shard_of(key);
    const Guard guard(shard.lock);
    return shard.put(key, value, displaced);
  }
  // Removes and returns the value.
  bool take(std::uint64_t key, Value& value) {
    Shard& shard = shard_of(key);
    const Guard guard(shard.lock);
    return shard.take(key, value);
  }
  // Calls `change(Value&)` on the value under its lock; returns its result, or false if there is no
  // such key.
  template <class Change>
  bool with(std::uint64_t key, Change change) {
    Shard& shard = shard_of(key);
    const Guard guard(shard.lock);
    Entry* entry = shard.find(key);
    return entry != nullptr && change(entry->value);
  }
  // Removes every value for which `is_one(const Value&)` is true, and passes it to `then(key,
  // value)`.
  template <class IsOne, class Then>
  void take_all(IsOne is_one, Then then) {
    for (Shard& shard : shards_) {
      const Guard guard(shard.lock);
      // The entry that moves into a gap comes from behind, and is examined in its new place.
      for (std::size_t i = 0; i < shard.capacity;) {
        Value value;
        const std::uint64_t key = shard.entries[i].key;
        if (key == 0 || !is_one(shard.entries[i].value)) {
          ++i;
        } else if (shard.take(key, value)) {
          then(key, value);
        }
      }
    }
  }
  // Calls `change(Value&)` on every value, under its lock.
  template <class Change>
  void change_all(Change change) {
    for (Shard& shard : shards_) {
      const Guard guard(shard.lock);
      for (std::size_t i = 0; i < shard.capacity; ++i) {
        if (shard.entries[i].key != 0) change(shard.entries[i].value);
      }
    }
  }
  // In a forked child: discards all state. The memory is left alone.
  void reset() {
    for (Shard& shard : shards_) {
      shard.lock.reset();
      shard.entries = nullptr;
      shard.capacity = shard.count = 0;
    }
  }

 private:
  struct Entry {
    std::uint64_t key;
    Value value;
  };
  struct alignas(64) Shard {
    SpinLock lock;
    Entry* entries = nullptr;
    std::size_t capacity = 0;  // a power of two
    std::size_t count = 0;

    // Eight neighbours in memory are neighbours here, so that a program which allocates or frees in
    // order finds the next one in the cache. More would pile up where two such rows meet.
    std::size_t home(std::uint64_t key) const {
      return (mix(key >> kRow) << 3U | ((key >> kGrain) & 7U)) & (capacity - 1);
    }
    // The key's present or future place; nullptr: there is no table yet.
    Entry* place_of(std::uint64_t key) {
      if (capacity == 0) return nullptr;
      std::size_t i = home(key);
      while (entries[i].key != key && entries[i].key != 0) i = (i + 1) & (capacity - 1);
      return &entries[i];
    }
    Entry* find(std::uint64_t key) {
      Entry* entry = place_of(key);
      return entry != nullptr && entry->key == key ? entry : nullptr;
    }
    bool put(std::uint64_t key, const Value& value, Value* displaced) {
      Entry* entry = place_of(key);
      if (entry != nullptr) prefetch_row(key);
      if (entry != nullptr && entry->key == key) {
        if (displaced != nullptr) *displaced = entry->value;
        entry->value = value;
        return true;
      }
      if (entry == nullptr || (count + 1) * 4 > capacity * 3) {
        if (!grow()) return false;
        entry = place_of(key);
      }
      *entry = {key, value};
      ++count;
      return true;
    }
    // One memory wait for a whole row, instead of one for each of its lines as they are filled.
    void prefetch_row(std::uint64_t key) const {
      const char* row = reinterpret_cast<const char*>(entries + (home(key) & ~std::size_t{7}));
      for (std::size_t line = 0; line < 8 * sizeof(Entry); line += 64) {
        __builtin_prefetch(row + line, 1);
      }
    }
    [[gnu::noinline, gnu::cold]] bool grow() {
      const std::size_t before = capacity;
      Entry* old = entries;
      const std::size_t wanted = before == 0 ? 128 : before * 2;
      void* memory = mmap(nullptr, wanted * sizeof(Entry), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return false;
      entries = static_cast<Entry*>(memory);
      capacity = wanted;
      for (std::size_t i = 0; i < before; ++i) {
        if (old[i].key != 0) *place_of(old[i].key) = old[i];
      }
      if (old != nullptr) munmap(old, before * sizeof(Entry));
      return true;
    }
    // Closes the gap: entries that were pushed past it move up.
    bool take(std::uint64_t key, Value& value) {
      Entry* entry = find(key);
      if (entry == nullptr) return false;
      value = entry->value;
      auto gap = static_cast<std::size_t>(entry - entries);
      for (std::size_t i = (gap + 1) & (capacity - 1); entries[i].key != 0;
           i = (i + 1) & (capacity - 1)) {
        const std::size_t distance = (i - home(entries[i].key)) & (capacity - 1);
        if (distance < ((i - gap) & (capacity - 1))) continue;
        entries[gap] = entries[i];
        gap = i;
      }
      entries[gap].key = 0;
      --count;
      return true;
    }
  };

  static std::uint64_t mix(std::uint64_t key) {
    key ^= key >> 33U;
    key *= 0xFF51AFD7ED558CCDULL;
    return key ^ key >> 29U;
  }
  Shard& shard_of(std::uint64_t key) { return shards_[(mix(key >> kRow) >> 40U) % kShards]; }

  static constexpr unsigned kGrain = 9;  // the driver's alignment; handles are closer, and few
  static constexpr unsigned kRow = kGrain + 3;
  static constexpr std::size_t kShards = 16;
  Shard shards_[kShards];
};

}  // namespace tranche::interpose
