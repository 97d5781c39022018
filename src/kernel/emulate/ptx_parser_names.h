#pragma once
// What a name means at a place in PTX: nested scopes where an inner declaration hides an outer one, and register ranges
// (`%r<10>` declares %r0 to %r9) that are kept as ranges. Every step is constant time on average, also for names chosen
// to collide: the hash is seeded.

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kw {

std::uint64_t seeded_hash(std::string_view text, std::uint64_t salt = 0);

enum class PtxNameKind : std::uint8_t {
  module_variable,
  function,
  variable,
  reg,
  register_range,
  prototype,
  call_targets,
  branch_targets
};

struct PtxName {
  PtxNameKind kind = PtxNameKind::variable;
  // Into the list that the kind implies; of a range: the index of register 0. A variable below 0 is a return value or a
  // parameter: -1 is the first return value, parameters follow the last.
  int index = -1;
  std::uint32_t count = 0;  // of a range
  std::uint32_t depth = 0;  // of the scope that declared it
};

// The views must outlive the table.
class PtxScopedNames {
 public:
  void open_scope();
  void close_scope();
  std::uint32_t depth() const { return static_cast<std::uint32_t>(scope_starts_.size()); }

  // False when the innermost scope already has the name.
  bool declare(std::string_view text, PtxName name);
  const PtxName* find(std::string_view text) const;
  // How many times the name was declared, in scopes that are still open or not.
  std::uint32_t times_declared(std::string_view text) const;

 private:
  struct Slot {
    std::string_view text;
    std::uint64_t hash = 0;
    int top = -1;                // into declared_; -1: no declaration is visible
    std::uint32_t declared = 0;  // 0: the slot is free
  };
  struct Declared {
    PtxName name;
    std::uint32_t slot = 0;
    int hidden = -1;  // the declaration of an outer scope
  };
  std::uint32_t slot_of(std::string_view text, std::uint64_t hash) const;
  void grow();

  std::vector<Slot> slots_;  // open addressing; a power of two
  std::size_t used_ = 0;
  std::vector<Declared> declared_;  // visible or hidden, innermost scope last
  std::vector<std::size_t> scope_starts_;
};

// Labels are visible in their scope and the scopes inside it, also before they are set.
class PtxLabels {
 public:
  PtxLabels() { scope_parents_.push_back(-1); }
  void open_scope();
  void close_scope() { scope_ = scope_parents_[static_cast<std::size_t>(scope_)]; }
  int scope() const { return scope_; }
  int highest() const { return highest_; }  // the last instruction that has a label; -1: none has

  // False when the scope already has the label.
  bool set(std::string_view text, int instruction);
  std::optional<int> find(std::string_view text, int scope) const;

 private:
  struct Key {
    std::string_view text;
    int scope;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return seeded_hash(key.text, static_cast<std::uint64_t>(key.scope));
    }
  };
  std::vector<int> scope_parents_;
  int scope_ = 0;
  int highest_ = -1;
  std::unordered_map<Key, int, Hash> labels_;
};

// Splits "%r12" where a range could be meant ("%r" and 12, then "%r1" and 2; no leading zeros) and takes the first
// range that has it.
struct PtxRangeRegister {
  int index = -1;           // of the register
  std::uint32_t depth = 0;  // of the scope that declared the range
};
std::optional<PtxRangeRegister> find_in_ranges(const PtxScopedNames& ranges, std::string_view text);

// %tid, %laneid, %envreg3, ... (PTX ISA 9.0, chapter 10), without a component.
bool is_special_register(std::string_view text);

}  // namespace kw
