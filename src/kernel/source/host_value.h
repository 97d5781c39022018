#pragma once
// Values of host code: what a variable of the launcher holds while it is interpreted.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernel/source/host_type.h"
#include "kernel/source/launch_plan.h"

namespace kw {

struct HostValue;

// A pointer to a variable of the launcher; `index` >= 0 selects an element when the target is an array.
struct HostPointer {
  HostValue* target = nullptr;
  std::int64_t index = -1;
  friend bool operator==(const HostPointer&, const HostPointer&) = default;
};

struct Unset {  // declared and not yet assigned, or no longer alive
  bool ended = false;
};

struct BoundArgument;
using BoundArguments = std::vector<BoundArgument>;

// A function with the template arguments that are known so far.
struct FunctionValue {
  std::string name;  // as the launcher wrote it
  std::vector<const FunctionSyntax*> candidates;
  std::shared_ptr<const BoundArguments> explicit_arguments;  // in order; null if there are none
};

struct Closure;
struct TensorValue;

struct StreamValue {
  bool is_default = false;  // stream 0; otherwise the launcher's own
};

struct HostValue {
  using Aggregate = std::vector<HostValue>;  // fields of a struct, elements of an array, a list or an optional
  using Data = std::variant<Unset, std::int64_t, double, DevicePointer, HostPointer, Aggregate,
                            std::shared_ptr<const FunctionValue>, std::shared_ptr<const Closure>,
                            std::shared_ptr<const TensorValue>, StreamValue, std::string_view>;

  const HostType* type = nullptr;
  Data data;

  bool is_set() const { return !std::holds_alternative<Unset>(data); }
  bool is_integer_value() const { return std::holds_alternative<std::int64_t>(data); }
  bool is_double_value() const { return std::holds_alternative<double>(data); }
  bool is_device_pointer() const { return std::holds_alternative<DevicePointer>(data); }
  bool is_host_pointer() const { return std::holds_alternative<HostPointer>(data); }
  bool is_aggregate() const { return std::holds_alternative<Aggregate>(data); }

  // Integers, bools, characters and enums: sign- or zero-extended from the type's width.
  std::int64_t integer() const { return std::get<std::int64_t>(data); }
  // float, double, __half and __nv_bfloat16, exactly.
  double real() const { return std::get<double>(data); }
  const DevicePointer& device_pointer() const { return std::get<DevicePointer>(data); }
  const HostPointer& host_pointer() const { return std::get<HostPointer>(data); }
  Aggregate& parts() { return std::get<Aggregate>(data); }
  const Aggregate& parts() const { return std::get<Aggregate>(data); }
};

// A template parameter's name with its argument.
struct BoundArgument {
  std::string_view name;
  const HostType* type = nullptr;  // of a type parameter
  HostValue value;                 // of a value parameter
};

// A lambda with what it captured.
struct Closure {
  const LambdaSyntax* syntax = nullptr;
  std::vector<std::pair<std::string_view, HostValue*>> captured;  // cells: the variable's own, or a copy
  std::vector<std::pair<std::string_view, const HostType*>> types;
  BoundArguments bindings;
  std::string scope;
  HostValue* self = nullptr;
};

HostValue make_integer(const HostType* type, std::int64_t value);  // reduced to the type's width
HostValue make_real(const HostType* type, double value);           // rounded to the type
HostValue make_null(const HostType* type);

// Copies the content without moving cells that pointers may point at.
void assign(HostValue& target, const HostValue& source);
// Forgets the content when a variable's scope ends.
void end_life(HostValue& value);

// The value's bytes as they lie in a kernel's parameter, sizeof(type) of them; a device pointer is eight zero bytes and
// an entry in `pointers`. False when it holds something that has no bytes: a host pointer, an unset part.
bool append_bytes(const HostValue& value, std::string& bytes, std::vector<EmbeddedPointer>& pointers);

// For messages and for the names of template instances: "256", "true", "(Mode)1".
std::string print(const HostValue& value);

// Rounding to the 16-bit types, to nearest even.
std::uint16_t half_bits(double value);
double half_value(std::uint16_t bits);
std::uint16_t bfloat16_bits(double value);
double bfloat16_value(std::uint16_t bits);

}  // namespace kw
