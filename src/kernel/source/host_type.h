#pragma once
// The types of host code as nvcc sees them on x86-64 Linux. Types are interned in a TypeTable: equal types are the same
// pointer, `const int` and `int` are two types that share `plain`.

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/source/host_syntax.h"

namespace kw {

struct HostType;

struct FieldType {
  std::string name;
  const HostType* type = nullptr;
  std::uint64_t offset_bytes = 0;
  const Expr* initial = nullptr;  // the default member initialiser
  VariableSyntax::Initial initial_kind = VariableSyntax::Initial::none;
};

// A template argument that has become a type or a value.
struct HostValue;

struct StructType {
  std::string name;                      // as C++ writes it: "Config<4>"
  const StructSyntax* syntax = nullptr;  // null for built-in ones
  std::vector<FieldType> fields;
  bool is_dim3 = false;
  const HostType* constant_type = nullptr;  // of std::integral_constant: what its value is of, and the value
  std::int64_t constant = 0;
};

struct EnumType {
  std::string name;
  const EnumSyntax* syntax = nullptr;  // null for built-in ones
  bool scoped = false;
  bool fixed = false;  // `enum E : unsigned`
  const HostType* underlying = nullptr;
};

struct HostType {
  TypeKind kind = TypeKind::void_;
  bool is_const = false;
  std::string name;  // the C++ spelling: "const float*", "unsigned int"
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 1;
  const HostType* plain = nullptr;    // without const at the top; itself if there is none
  const HostType* element = nullptr;  // of pointers and arrays
  std::int64_t count = 0;             // of arrays
  const StructType* structure = nullptr;
  const EnumType* enumeration = nullptr;
};

bool is_integer(const HostType& type);   // bool and the character types included, enums not
bool is_floating(const HostType& type);  // float, double
bool is_small_float(const HostType& type);
bool is_arithmetic(const HostType& type);  // is_integer or is_floating
bool is_signed_integer(const HostType& type);
int integer_bits(const HostType& type);  // of the value: 1 for bool

// A table begins with the built-in types, which all tables share.
class TypeTable {
 public:
  TypeTable() : base_(built_in()) {}
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  const HostType* basic(TypeKind kind) const;
  const HostType* named(std::string_view name) const;  // dim3, size_t, float4 ...; null when unknown
  // Of torch::, at:: and c10:: without the namespace: Tensor, ScalarType, TensorOptions ...; null when unknown
  const HostType* torch_named(std::string_view name) const;
  const HostType* with_const(const HostType* type);
  const HostType* pointer_to(const HostType* element);
  const HostType* list_of(const HostType* element);
  const HostType* optional_of(const HostType* element);
  const HostType* array_of(const HostType* element, std::int64_t count);
  // Lays out the fields; `alignment` raises the natural one.
  const HostType* make_struct(StructType structure, std::uint32_t alignment);
  const HostType* make_enum(EnumType enumeration);

  const HostType* int_type() const { return basic(TypeKind::int_); }
  const HostType* bool_type() const { return basic(TypeKind::bool_); }
  const HostType* size_type() const { return basic(TypeKind::ulong); }
  const HostType* dim3_type() const { return base_.dim3; }
  const HostType* error_type() const { return base_.error; }

 private:
  struct BuiltIn {
    std::vector<const HostType*> basics;  // by TypeKind
    std::map<std::string, const HostType*, std::less<>> named;
    std::map<std::string, const HostType*, std::less<>> torch;
    const HostType* dim3 = nullptr;
    const HostType* error = nullptr;
  };
  explicit TypeTable(BuiltIn& filling);  // makes the built-in types
  static const BuiltIn& built_in();
  HostType* add(HostType type);
  void add_torch(BuiltIn& filling);
  void add_vector(BuiltIn& filling, std::string_view prefix, TypeKind element, std::uint32_t element_bytes);

  const BuiltIn& base_;
  std::deque<HostType> types_;
  std::deque<StructType> structs_;
  std::deque<EnumType> enums_;
  std::map<const HostType*, const HostType*> constants_;
  std::map<const HostType*, const HostType*> pointers_;
  std::map<const HostType*, const HostType*> lists_;
  std::map<const HostType*, const HostType*> optionals_;
  std::map<std::pair<const HostType*, std::int64_t>, const HostType*> arrays_;
};

// The names that TypeTable::named knows, for the parser.
std::span<const std::string_view> builtin_type_names();
// What is also a type, or a template of types, in a file that includes PyTorch's headers.
std::span<const std::string_view> torch_type_names();
std::span<const std::string_view> torch_template_names();

}  // namespace kw
