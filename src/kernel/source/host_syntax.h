#pragma once
// The syntax of host code as the launcher's interpreter needs it: types, expressions, statements and declarations.
// Device functions appear with their declaration only. Nodes are owned by a SyntaxStore and point into the file's text;
// `token` is an index into HostProgram::tokens and leads to the user's line and column.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/source/preprocess.h"

namespace kw {

struct Expr;
struct Stmt;
struct TypeSyntax;
struct StructSyntax;
struct EnumSyntax;
struct AliasSyntax;

using TokenIndex = std::uint32_t;

struct TemplateArgument {  // one of the two
  const TypeSyntax* type = nullptr;
  const Expr* value = nullptr;
};

struct NamePart {
  std::string_view name;
  bool has_arguments = false;
  std::vector<TemplateArgument> arguments;
};

struct Name {  // `ns::reduce<256, float>`
  bool global = false;
  std::vector<NamePart> parts;
};

enum class TypeKind : std::uint8_t {
  void_,
  bool_,
  char_,
  schar,
  uchar,
  short_,
  ushort,
  int_,
  uint,
  long_,
  ulong,
  longlong,
  ulonglong,
  float_,
  double_,  // up to here: what C++ has a keyword for
  half,
  bfloat16,
  null,         // std::nullptr_t
  stream,       // cudaStream_t
  enumeration,  // also cudaError_t and the runtime's other enums
  structure,    // also dim3, float4 and cudaDeviceProp
  pointer,
  array,
  function,  // a kernel, a host function or a pointer to one
  closure,   // a lambda
  string,    // a string literal
  tensor,    // torch::Tensor
  list,      // std::vector, at::IntArrayRef
  optional,  // std::optional, c10::optional
};

struct TypeSyntax {
  enum class Base : std::uint8_t { builtin, name, automatic, type_of };
  struct Suffix {
    enum class Kind : std::uint8_t { pointer, lvalue_reference, rvalue_reference, array, function_pointer };
    Kind kind;
    bool is_const = false;        // of a pointer: `float* const`
    const Expr* count = nullptr;  // of an array; null for []
  };
  Base base = Base::builtin;
  TypeKind builtin = TypeKind::int_;
  bool is_const = false;  // of the base: `const float*`
  bool is_volatile = false;
  bool is_pack = false;  // `Args... rest`
  Name name;
  const Expr* operand = nullptr;  // of decltype
  std::vector<Suffix> suffixes;   // in the order in which they apply to the base
  TokenIndex token = 0;
};

enum class ExprKind : std::uint8_t {
  error,
  number,
  string,
  character,
  boolean,
  null,
  this_,
  name,     // Expr::name
  unary,    // text is the operator: + - ! ~ * & ++ --
  postfix,  // ++ --
  binary,   // also && || and comma
  assign,   // = += ...
  ternary,
  call,    // callee, arguments
  launch,  // callee, configuration, arguments
  subscript,
  member,     // text is the member, `arrow` for ->
  cast,       // text: "(T)", "static_cast", "reinterpret_cast", "const_cast"
  construct,  // T(arguments), or T{arguments} with `braces`
  braces,     // {a, b}
  sizeof_type,
  sizeof_value,
  alignof_type,
  lambda,
  unsupported,  // text says what
};

struct ParameterSyntax {
  const TypeSyntax* type = nullptr;
  std::string_view name;  // may be empty
  const Expr* initial = nullptr;
  TokenIndex token = 0;
};

struct LambdaSyntax {
  char capture_default = 0;                                 // '=', '&' or none
  std::vector<std::pair<std::string_view, bool>> captures;  // name, by reference
  std::vector<ParameterSyntax> parameters;
  const TypeSyntax* result = nullptr;
  const Stmt* body = nullptr;
};

struct Expr {
  ExprKind kind = ExprKind::error;
  bool arrow = false;
  bool braces = false;
  std::uint16_t depth = 1;  // of the tree below; bounded by the parser
  TokenIndex token = 0;
  std::uint32_t config_count = 0;  // of a launch: how many children after the callee are its <<<configuration>>>
  std::string_view text;
  Name name;
  const TypeSyntax* type = nullptr;
  const LambdaSyntax* lambda = nullptr;
  std::vector<const Expr*> children;
};

struct VariableSyntax {
  enum class Initial : std::uint8_t { none, copy, parentheses, braces };
  const TypeSyntax* type = nullptr;
  std::string_view name;
  Initial initial = Initial::none;
  std::vector<const Expr*> values;  // one for copy
  bool is_static = false;
  bool is_constexpr = false;
  TokenIndex token = 0;
};

enum class StmtKind : std::uint8_t {
  empty,
  expression,
  variables,
  block,
  if_,
  for_,
  range_for,
  while_,
  do_,
  switch_,
  case_,
  default_,
  break_,
  continue_,
  return_,
  struct_,
  enum_,
  alias,
  static_assert_,
};

struct Stmt {
  StmtKind kind = StmtKind::empty;
  bool is_constexpr = false;  // `if constexpr`
  TokenIndex token = 0;
  const Expr* value = nullptr;          // expression, condition, returned value, case label
  const Expr* step = nullptr;           // of for
  const Stmt* initial = nullptr;        // of for, if and switch
  const Stmt* condition = nullptr;      // `if (int n = f())`: the declaration that is the condition
  const Stmt* first = nullptr;          // body or then
  const Stmt* second = nullptr;         // else
  std::vector<const Stmt*> statements;  // of block
  std::vector<VariableSyntax> variables;
  const StructSyntax* structure = nullptr;
  const EnumSyntax* enumeration = nullptr;
  const AliasSyntax* alias = nullptr;
};

struct TemplateParameter {
  std::string_view name;
  const TypeSyntax* value_type = nullptr;  // null for `typename T`
  const TypeSyntax* default_type = nullptr;
  const Expr* default_value = nullptr;
  bool is_pack = false;
  bool is_template = false;
};

struct TemplateSyntax {
  std::vector<TemplateParameter> parameters;  // empty with `present`: an explicit specialisation
  bool present = false;
};

struct FunctionSyntax {
  std::string_view name;
  std::string scope;  // "ns::inner", empty at file level
  TemplateSyntax generic;
  std::vector<TemplateArgument> specialised;  // of `template <> int f<float>(...)`
  bool is_specialisation = false;
  bool is_global = false, is_device = false, is_host = false;
  bool is_constexpr = false, is_static = false, extern_c = false, anonymous = false;
  const TypeSyntax* result = nullptr;  // null for a constructor
  std::vector<ParameterSyntax> parameters;
  bool variadic = false;
  std::vector<const Expr*> launch_bounds;
  std::vector<std::pair<std::string_view, std::vector<const Expr*>>> member_initialisers;  // of a constructor
  bool has_body = false;
  const Stmt* body = nullptr;  // null for device code
  std::optional<Error> body_error;
  TokenIndex token = 0;  // of the name
};

inline bool is_reference(const TypeSyntax& type) {
  using Kind = TypeSyntax::Suffix::Kind;
  return !type.suffixes.empty() &&
         (type.suffixes.back().kind == Kind::lvalue_reference || type.suffixes.back().kind == Kind::rvalue_reference);
}

// Whether it can be called with so many arguments.
inline bool accepts(const FunctionSyntax& function, std::size_t arguments) {
  std::size_t required = 0;
  for (const ParameterSyntax& parameter : function.parameters) required += parameter.initial == nullptr;
  return arguments >= required && arguments <= function.parameters.size();
}

struct StructSyntax {
  std::string_view name;
  std::string scope;
  TemplateSyntax generic;
  std::vector<TemplateArgument> specialised;
  bool is_specialisation = false;
  bool is_union = false;
  bool has_base = false;
  bool has_virtual = false;
  std::uint32_t alignment = 0;  // alignas with a plain number; 0: natural
  std::string_view unknown;     // a member that was not understood
  std::vector<VariableSyntax> fields;
  std::vector<VariableSyntax> constants;  // static constexpr members
  std::vector<const FunctionSyntax*> functions;
  std::vector<const AliasSyntax*> aliases;
  std::vector<const EnumSyntax*> enums;
  TokenIndex token = 0;
};

struct EnumSyntax {
  std::string_view name;  // may be empty
  std::string scope;
  bool scoped = false;
  const TypeSyntax* underlying = nullptr;
  std::vector<std::pair<std::string_view, const Expr*>> enumerators;
  TokenIndex token = 0;
};

struct AliasSyntax {
  std::string_view name;
  std::string scope;
  TemplateSyntax generic;
  const TypeSyntax* type = nullptr;
  TokenIndex token = 0;
};

struct UsedName {      // using a::b;
  std::string name;    // b
  std::string target;  // a::b, as it is written
  std::string scope;   // where it stands
};

struct GlobalVariable {
  std::string scope;
  VariableSyntax variable;
  TemplateSyntax generic;    // `template <typename T> constexpr int kWidth = 4;`
  bool is_constant = false;  // const or constexpr
  bool is_device = false;    // __device__, __constant__, __managed__
};

struct SyntaxStore {
  std::deque<Expr> expressions;
  std::deque<Stmt> statements;
  std::deque<TypeSyntax> types;
  std::deque<LambdaSyntax> lambdas;
  std::deque<FunctionSyntax> functions;
  std::deque<StructSyntax> structs;
  std::deque<EnumSyntax> enums;
  std::deque<AliasSyntax> aliases;
};

// A range of the user's text that the device compiler must not see.
struct HostRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  TokenIndex token = 0;
};

// What an extension file offers to Python: `m.def("forward", &softmax_forward)`.
struct ExportedFunction {
  std::string python_name;
  std::string function;  // "ns::softmax_forward"; empty when it is not a plain name
  TokenIndex token = 0;
};

// A declaration that could not be read: the device compiler will judge it, the launcher cannot use it.
struct UnreadDeclaration {
  std::string_view name;  // may be empty
  Error error;
};

// A file, read: what it declares, and the texts that the nodes point into.
struct HostProgram {
  std::string file;
  std::string text;
  TokenStream stream;
  PreprocessedSource source;
  std::vector<Token> tokens;  // of `source`, with every `>` alone, so that template brackets can close
  SyntaxStore store;

  std::vector<const FunctionSyntax*> functions;  // in order, kernels included
  std::vector<const StructSyntax*> structs;
  std::vector<const EnumSyntax*> enums;
  std::vector<const AliasSyntax*> aliases;
  std::vector<GlobalVariable> variables;
  std::vector<std::string> used_namespaces;  // using namespace a::b;
  std::vector<UsedName> used_names;
  std::vector<std::pair<const Expr*, std::string>> static_asserts;  // with their scope
  std::vector<HostRange> host_ranges;
  std::vector<HostRange> device_ranges;
  std::vector<UnreadDeclaration> unread;
  std::vector<ExportedFunction> exports;
  bool uses_torch = false;                          // it includes headers of PyTorch
  const FunctionSyntax* extension_entry = nullptr;  // of an extension file; null: `launch` is the launcher

  Position position_of(TokenIndex token) const {
    return token < tokens.size() ? kw::position_of(tokens[token], file) : Position{file, 0, 0};
  }
};

// The parser recurses no deeper than this.
inline constexpr int max_syntax_depth = 160;
// And keeps no more expressions than this.
inline constexpr std::size_t max_syntax_nodes = 300'000;
// Bounds on what is searched linearly.
inline constexpr std::size_t max_members = 500;  // of a struct
inline constexpr std::size_t max_template_parameters = 64;
inline constexpr std::size_t max_overloads = 64;
inline constexpr std::size_t max_using_declarations = 100;

// A type as it was written: "const float*", "Pair<T, 4>&".
std::string print(const TypeSyntax& type);
std::string print(const Name& name);
// What a node is in words, for messages: "a lambda", "the statement goto".
std::string describe(const Expr& expr);

}  // namespace kw
