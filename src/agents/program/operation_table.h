#pragma once
// All operations by name, and a call's arguments by the names of a signature.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/program/lowering.h"

namespace kw::program {

struct SignatureEntry {
  std::string name;
  bool takes_rest = false;
  bool has_default = false;
  std::string default_text;
};

struct TableEntry {
  const Operation* operation = nullptr;
  std::vector<SignatureEntry> signature;
};

// `module` is "torch", "F", "torch.linalg" or, for a method, empty. nullptr: there is none.
const TableEntry* find_entry(std::string_view module, std::string_view name);

// None, and an error in `to`, where the arguments are not those of the signature.
std::optional<Arguments> bind(Lowering& to, const TableEntry& entry, const std::string& function,
                              const std::vector<Value>& values, const std::vector<std::string>& keys);

}  // namespace kw::program
