#include "kernel/source/host_type.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kw {
namespace {

struct BasicSpec {
  TypeKind kind;
  std::string_view name;
  std::uint32_t bytes;
};
constexpr std::array<BasicSpec, 24> basic_specs = {{{TypeKind::void_, "void", 1},
                                                    {TypeKind::bool_, "bool", 1},
                                                    {TypeKind::char_, "char", 1},
                                                    {TypeKind::schar, "signed char", 1},
                                                    {TypeKind::uchar, "unsigned char", 1},
                                                    {TypeKind::short_, "short", 2},
                                                    {TypeKind::ushort, "unsigned short", 2},
                                                    {TypeKind::int_, "int", 4},
                                                    {TypeKind::uint, "unsigned int", 4},
                                                    {TypeKind::long_, "long", 8},
                                                    {TypeKind::ulong, "unsigned long", 8},
                                                    {TypeKind::longlong, "long long", 8},
                                                    {TypeKind::ulonglong, "unsigned long long", 8},
                                                    {TypeKind::float_, "float", 4},
                                                    {TypeKind::double_, "double", 8},
                                                    {TypeKind::half, "__half", 2},
                                                    {TypeKind::bfloat16, "__nv_bfloat16", 2},
                                                    {TypeKind::null, "std::nullptr_t", 8},
                                                    {TypeKind::stream, "cudaStream_t", 8},
                                                    {TypeKind::function, "a function", 8},
                                                    {TypeKind::closure, "a lambda", 1},
                                                    {TypeKind::string, "const char*", 8},
                                                    {TypeKind::enumeration, "enum", 4},
                                                    {TypeKind::tensor, "torch::Tensor", 8}}};

struct Synonym {
  std::string_view name;
  TypeKind kind;
};
constexpr std::array<Synonym, 56> synonyms = {{{"size_t", TypeKind::ulong},
                                               {"ssize_t", TypeKind::long_},
                                               {"ptrdiff_t", TypeKind::long_},
                                               {"int8_t", TypeKind::schar},
                                               {"uint8_t", TypeKind::uchar},
                                               {"int16_t", TypeKind::short_},
                                               {"uint16_t", TypeKind::ushort},
                                               {"int32_t", TypeKind::int_},
                                               {"uint32_t", TypeKind::uint},
                                               {"int64_t", TypeKind::long_},
                                               {"uint64_t", TypeKind::ulong},
                                               {"intptr_t", TypeKind::long_},
                                               {"uintptr_t", TypeKind::ulong},
                                               {"uint", TypeKind::uint},
                                               {"ushort", TypeKind::ushort},
                                               {"ulong", TypeKind::ulong},
                                               {"half", TypeKind::half},
                                               {"__half", TypeKind::half},
                                               {"nv_half", TypeKind::half},
                                               {"__nv_bfloat16", TypeKind::bfloat16},
                                               {"nv_bfloat16", TypeKind::bfloat16},
                                               {"cudaStream_t", TypeKind::stream},
                                               {"CUstream", TypeKind::stream},
                                               {"nullptr_t", TypeKind::null},
                                               {"int_fast32_t", TypeKind::long_},
                                               {"uint_fast32_t", TypeKind::ulong},
                                               {"intmax_t", TypeKind::long_},
                                               {"uintmax_t", TypeKind::ulong},
                                               {"int_least32_t", TypeKind::int_},
                                               {"uint_least32_t", TypeKind::uint},
                                               {"int_least64_t", TypeKind::long_},
                                               {"uint_least64_t", TypeKind::ulong},
                                               {"int_least8_t", TypeKind::schar},
                                               {"uint_least8_t", TypeKind::uchar},
                                               {"int_least16_t", TypeKind::short_},
                                               {"uint_least16_t", TypeKind::ushort},
                                               {"int_fast8_t", TypeKind::schar},
                                               {"uint_fast8_t", TypeKind::uchar},
                                               {"int_fast16_t", TypeKind::long_},
                                               {"uint_fast16_t", TypeKind::ulong},
                                               {"int_fast64_t", TypeKind::long_},
                                               {"uint_fast64_t", TypeKind::ulong},
                                               {"u_char", TypeKind::uchar},
                                               {"u_short", TypeKind::ushort},
                                               {"u_int", TypeKind::uint},
                                               {"u_long", TypeKind::ulong},
                                               {"u_int8_t", TypeKind::uchar},
                                               {"u_int16_t", TypeKind::ushort},
                                               {"u_int32_t", TypeKind::uint},
                                               {"u_int64_t", TypeKind::ulong},
                                               {"quad_t", TypeKind::long_},
                                               {"u_quad_t", TypeKind::ulong},
                                               {"off_t", TypeKind::long_},
                                               {"time_t", TypeKind::long_},
                                               {"float_t", TypeKind::float_},
                                               {"double_t", TypeKind::double_}}};

struct VectorSpec {
  std::string_view prefix;
  TypeKind element;
  std::uint32_t bytes;
};
constexpr std::array<VectorSpec, 12> vectors = {{{"char", TypeKind::schar, 1},
                                                 {"uchar", TypeKind::uchar, 1},
                                                 {"short", TypeKind::short_, 2},
                                                 {"ushort", TypeKind::ushort, 2},
                                                 {"int", TypeKind::int_, 4},
                                                 {"uint", TypeKind::uint, 4},
                                                 {"long", TypeKind::long_, 8},
                                                 {"ulong", TypeKind::ulong, 8},
                                                 {"longlong", TypeKind::longlong, 8},
                                                 {"ulonglong", TypeKind::ulonglong, 8},
                                                 {"float", TypeKind::float_, 4},
                                                 {"double", TypeKind::double_, 8}}};

constexpr std::array<std::string_view, 8> runtime_enums = {
    "cudaError_t",   "cudaMemcpyKind",      "cudaFuncAttribute",  "cudaDeviceAttr",
    "cudaFuncCache", "cudaSharedMemConfig", "cudaSharedCarveout", "cudaError"};

}  // namespace

bool is_integer(const HostType& type) { return type.kind >= TypeKind::bool_ && type.kind <= TypeKind::ulonglong; }
bool is_floating(const HostType& type) { return type.kind == TypeKind::float_ || type.kind == TypeKind::double_; }
bool is_small_float(const HostType& type) { return type.kind == TypeKind::half || type.kind == TypeKind::bfloat16; }
bool is_arithmetic(const HostType& type) { return is_integer(type) || is_floating(type); }
bool is_signed_integer(const HostType& type) {
  switch (type.kind) {
    case TypeKind::char_:
    case TypeKind::schar:
    case TypeKind::short_:
    case TypeKind::int_:
    case TypeKind::long_:
    case TypeKind::longlong:
      return true;
    default:
      return false;
  }
}
int integer_bits(const HostType& type) { return type.kind == TypeKind::bool_ ? 1 : static_cast<int>(type.bytes) * 8; }

const TypeTable::BuiltIn& TypeTable::built_in() {
  static BuiltIn types;
  static const TypeTable owner(types);
  return owner.base_;
}

TypeTable::TypeTable(BuiltIn& filling) : base_(filling) {
  filling.basics.resize(static_cast<std::size_t>(TypeKind::optional) + 1, nullptr);
  for (const BasicSpec& spec : basic_specs) {
    HostType type;
    type.kind = spec.kind;
    type.name = spec.name;
    type.bytes = type.alignment = spec.bytes;
    filling.basics[static_cast<std::size_t>(spec.kind)] = add(type);
  }
  for (const Synonym& synonym : synonyms) filling.named.emplace(synonym.name, basic(synonym.kind));
  for (const VectorSpec& spec : vectors) add_vector(filling, spec.prefix, spec.element, spec.bytes);
  for (const auto& [name, kind] : {std::pair("half2", TypeKind::half), std::pair("nv_bfloat162", TypeKind::bfloat16)}) {
    StructType pair;
    pair.name = "__" + std::string(name);
    for (const char* field : {"x", "y"}) pair.fields.push_back({field, basic(kind), 0, nullptr});
    const HostType* type = make_struct(std::move(pair), 4);
    filling.named.emplace(name, type);
    filling.named.emplace("__" + std::string(name), type);
  }
  StructType dim3;
  dim3.name = "dim3";
  dim3.is_dim3 = true;
  for (const char* field : {"x", "y", "z"}) dim3.fields.push_back({field, basic(TypeKind::uint), 0, nullptr});
  filling.dim3 = make_struct(std::move(dim3), 0);
  filling.named.emplace("dim3", filling.dim3);
  for (const std::string_view name : runtime_enums) {
    if (name == "cudaError") continue;
    EnumType enumeration;
    enumeration.name = name == "cudaError_t" ? "cudaError" : std::string(name);
    enumeration.underlying = basic(TypeKind::uint);
    filling.named.emplace(name, make_enum(std::move(enumeration)));
  }
  filling.error = named("cudaError_t");
  filling.named.emplace("cudaError", filling.error);
  // What launchers ask of it; the device's other properties are not known here.
  StructType properties;
  properties.name = "cudaDeviceProp";
  for (const char* field :
       {"multiProcessorCount", "maxThreadsPerBlock", "maxThreadsPerMultiProcessor", "warpSize", "major", "minor",
        "regsPerBlock", "regsPerMultiprocessor", "l2CacheSize", "maxBlocksPerMultiProcessor", "cooperativeLaunch"}) {
    properties.fields.push_back({field, basic(TypeKind::int_), 0, nullptr});
  }
  for (const char* field : {"sharedMemPerBlock", "sharedMemPerBlockOptin", "sharedMemPerMultiprocessor"}) {
    properties.fields.push_back({field, basic(TypeKind::ulong), 0, nullptr});
  }
  for (const char* field : {"maxGridSize", "maxThreadsDim"}) {
    properties.fields.push_back({field, array_of(basic(TypeKind::int_), 3), 0, nullptr});
  }
  filling.named.emplace("cudaDeviceProp", make_struct(std::move(properties), 0));
  add_torch(filling);
}

void TypeTable::add_torch(BuiltIn& filling) {
  filling.torch.emplace("Tensor", basic(TypeKind::tensor));
  filling.torch.emplace("CUDAStream", basic(TypeKind::stream));
  const std::pair<std::string_view, TypeKind> plain[] = {{"ScalarType", TypeKind::schar},
                                                         {"DeviceType", TypeKind::schar}};
  for (const auto& [name, underlying] : plain) {
    EnumType enumeration;
    enumeration.name = "c10::" + std::string(name);
    enumeration.scoped = enumeration.fixed = true;
    enumeration.underlying = basic(underlying);
    filling.torch.emplace(name, make_enum(std::move(enumeration)));
  }
  // There is one device, so a device is its kind.
  filling.torch.emplace("Device", torch_named("DeviceType"));
  filling.torch.emplace("Dtype", torch_named("ScalarType"));
  // Their own types, which device code sees by their own names.
  const std::pair<std::string_view, TypeKind> small[] = {{"Half", TypeKind::half}, {"BFloat16", TypeKind::bfloat16}};
  for (const auto& [name, kind] : small) {
    HostType type = *basic(kind);
    type.name = "c10::" + std::string(name);
    type.plain = nullptr;
    filling.torch.emplace(name, add(std::move(type)));
  }
  StructType options;
  options.name = "c10::TensorOptions";
  options.fields.push_back({"dtype", torch_named("ScalarType"), 0, nullptr});
  options.fields.push_back({"on_gpu", bool_type(), 0, nullptr});
  filling.torch.emplace("TensorOptions", make_struct(std::move(options), 0));
  StructType guard;  // which device is current: there is one
  guard.name = "c10::cuda::CUDAGuard";
  const HostType* guard_type = make_struct(std::move(guard), 0);
  for (const char* name : {"CUDAGuard", "OptionalCUDAGuard", "DeviceGuard", "OptionalDeviceGuard"}) {
    filling.torch.emplace(name, guard_type);
  }
  StructType nothing;
  nothing.name = "std::nullopt_t";
  filling.torch.emplace("nullopt_t", make_struct(std::move(nothing), 0));
}

const HostType* TypeTable::torch_named(std::string_view name) const {
  const auto found = base_.torch.find(name);
  return found == base_.torch.end() ? nullptr : found->second;
}

std::span<const std::string_view> torch_type_names() {
  static constexpr std::string_view names[] = {"Tensor",
                                               "CUDAStream",
                                               "ScalarType",
                                               "DeviceType",
                                               "Device",
                                               "Dtype",
                                               "Half",
                                               "BFloat16",
                                               "TensorOptions",
                                               "CUDAGuard",
                                               "OptionalCUDAGuard",
                                               "DeviceGuard",
                                               "OptionalDeviceGuard",
                                               "nullopt_t",
                                               "IntArrayRef",
                                               "scalar_t",
                                               "string"};
  return names;
}

std::span<const std::string_view> torch_template_names() {
  static constexpr std::string_view names[] = {"vector", "optional", "tuple", "pair", "ArrayRef"};
  return names;
}

void TypeTable::add_vector(BuiltIn& filling, std::string_view prefix, TypeKind element, std::uint32_t element_bytes) {
  const std::array<const char*, 4> names = {"x", "y", "z", "w"};
  for (std::uint32_t count = 1; count <= 4; ++count) {
    StructType vector;
    vector.name = std::string(prefix) + std::to_string(count);
    for (std::uint32_t i = 0; i < count; ++i) vector.fields.push_back({names[i], basic(element), 0, nullptr});
    // Two and four elements are aligned to their size, up to 16 bytes; three are not.
    const std::uint32_t alignment = count == 3 ? element_bytes : std::min(16u, count * element_bytes);
    const std::string name = vector.name;
    filling.named.emplace(name, make_struct(std::move(vector), alignment));
  }
}

const HostType* TypeTable::basic(TypeKind kind) const {
  const HostType* type = base_.basics[static_cast<std::size_t>(kind)];
  KW_CHECK(type != nullptr);
  return type;
}

const HostType* TypeTable::named(std::string_view name) const {
  const auto found = base_.named.find(name);
  return found == base_.named.end() ? nullptr : found->second;
}

HostType* TypeTable::add(HostType type) {
  HostType& stored = types_.emplace_back(std::move(type));
  if (stored.plain == nullptr) stored.plain = &stored;
  return &stored;
}

const HostType* TypeTable::with_const(const HostType* type) {
  if (type->is_const) return type;
  const HostType*& entry = constants_[type];
  if (entry == nullptr) {
    HostType constant = *type;
    constant.is_const = true;
    constant.name = type->kind == TypeKind::pointer ? type->name + " const" : "const " + type->name;
    constant.plain = type;
    entry = add(std::move(constant));
  }
  return entry;
}

const HostType* TypeTable::pointer_to(const HostType* element) {
  const HostType*& entry = pointers_[element];
  if (entry == nullptr) {
    HostType pointer;
    pointer.kind = TypeKind::pointer;
    pointer.name = element->name + "*";
    pointer.bytes = pointer.alignment = 8;
    pointer.element = element;
    entry = add(std::move(pointer));
  }
  return entry;
}

const HostType* TypeTable::list_of(const HostType* element) {
  const HostType*& entry = lists_[element];
  if (entry == nullptr) {
    HostType list;
    list.kind = TypeKind::list;
    list.name = "std::vector<" + element->name + ">";
    list.bytes = 24;
    list.alignment = 8;
    list.element = element;
    entry = add(std::move(list));
  }
  return entry;
}

const HostType* TypeTable::optional_of(const HostType* element) {
  const HostType*& entry = optionals_[element];
  if (entry == nullptr) {
    HostType optional;
    optional.kind = TypeKind::optional;
    optional.name = "std::optional<" + element->name + ">";
    optional.bytes = element->bytes + element->alignment;
    optional.alignment = element->alignment;
    optional.element = element;
    entry = add(std::move(optional));
  }
  return entry;
}

const HostType* TypeTable::array_of(const HostType* element, std::int64_t count) {
  const HostType*& entry = arrays_[{element, count}];
  if (entry == nullptr) {
    HostType array;
    array.kind = TypeKind::array;
    array.name = element->name + "[" + std::to_string(count) + "]";
    array.bytes = element->bytes * static_cast<std::uint64_t>(count);
    array.alignment = element->alignment;
    array.element = element;
    array.count = count;
    entry = add(std::move(array));
  }
  return entry;
}

const HostType* TypeTable::make_struct(StructType structure, std::uint32_t alignment) {
  HostType type;
  type.kind = TypeKind::structure;
  type.name = structure.name;
  type.alignment = std::max(alignment, 1u);
  std::uint64_t end = 0;
  for (FieldType& field : structure.fields) {
    const std::uint64_t step = std::max(field.type->alignment, 1u);
    field.offset_bytes = (end + step - 1) / step * step;
    end = field.offset_bytes + field.type->bytes;
    type.alignment = std::max(type.alignment, field.type->alignment);
  }
  end = std::max<std::uint64_t>(end, 1);  // an empty struct still has an address
  type.bytes = (end + type.alignment - 1) / type.alignment * type.alignment;
  type.structure = &structs_.emplace_back(std::move(structure));
  return add(std::move(type));
}

const HostType* TypeTable::make_enum(EnumType enumeration) {
  HostType type;
  type.kind = TypeKind::enumeration;
  type.name = enumeration.name;
  type.bytes = enumeration.underlying->bytes;
  type.alignment = enumeration.underlying->alignment;
  type.enumeration = &enums_.emplace_back(std::move(enumeration));
  return add(std::move(type));
}

std::span<const std::string_view> builtin_type_names() {
  static const std::vector<std::string> storage = [] {
    std::vector<std::string> names = {"dim3", "half2", "__half2", "nv_bfloat162", "__nv_bfloat162", "cudaDeviceProp"};
    for (const Synonym& synonym : synonyms) names.emplace_back(synonym.name);
    for (const std::string_view name : runtime_enums) names.emplace_back(name);
    for (const VectorSpec& spec : vectors) {
      for (int count = 1; count <= 4; ++count) names.push_back(std::string(spec.prefix) + std::to_string(count));
    }
    return names;
  }();
  static const std::vector<std::string_view> views(storage.begin(), storage.end());
  return views;
}

}  // namespace kw
