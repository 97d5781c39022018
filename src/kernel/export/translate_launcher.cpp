// The file as a whole: the launcher, the kernels it may launch, the classes of its structs, names in Python.

#include <algorithm>

#include "kernel/export/launcher_translator.h"

namespace kw {
namespace {

// Python's own words, and what the translated text uses of the code around it.
constexpr std::string_view reserved_names[] = {
    "False",    "None",     "True",   "and",    "as",     "assert",   "async",        "await",         "break",
    "class",    "continue", "def",    "del",    "elif",   "else",     "except",       "finally",       "for",
    "from",     "global",   "if",     "import", "in",     "is",       "lambda",       "nonlocal",      "not",
    "or",       "pass",     "raise",  "return", "try",    "while",    "with",         "yield",         "rt",
    "self",     "math",     "struct", "os",     "sys",    "range",    "len",          "list",          "int",
    "float",    "bool",     "min",    "max",    "abs",    "tuple",    "dict",         "set",           "str",
    "type",     "torch",    "cupy",   "ctypes", "i32",    "i64",      "u32",          "u64",           "to_i8",
    "to_u8",    "to_i16",   "to_u16", "to_i32", "to_u32", "to_i64",   "to_u64",       "to_bool",       "f16",
    "bf16",     "f32",      "f64",    "div",    "rem",    "shl",      "shr",          "fdiv",          "plus",
    "distance", "address",  "same",   "Record", "Array",  "Pointer",  "FieldPointer", "DevicePointer", "NULL",
    "KERNELS",  "dim3",     "c_math", "clz",    "ctz",    "popcount", "refuse",       "launch",        "property",
    "object",   "print",    "map",    "zip",    "repr"};

}  // namespace

LauncherTranslator::LauncherTranslator(const HostProgram& program, const Task& task, const Sizes& sizes,
                                       const PlanLimits& limits, const ScalarInputs& scalars,
                                       std::set<TokenIndex>& boxed)
    : HostInterpreter(program, task, sizes, limits, scalars), boxed_(boxed) {
  for (const std::string_view name : reserved_names) module_names_.emplace(name);
}

Error LauncherTranslator::refuse(std::string what, TokenIndex token) const {
  return fail("the export cannot translate " + std::move(what), token,
              "export with --compile nvcc, which compiles the launcher itself");
}

std::string LauncherTranslator::unique_name(std::string_view wanted) {
  std::string base;
  for (const char c : wanted) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    base += word ? c : '_';
  }
  if (base.empty() || (base[0] >= '0' && base[0] <= '9')) base = "value" + base;
  std::set<std::string>& names = *function_->names;
  std::string name = base;
  for (int i = 2; module_names_.count(name) != 0 || names.count(name) != 0; ++i) name = base + "_" + std::to_string(i);
  names.insert(name);
  return name;
}

void LauncherTranslator::enter_function(std::shared_ptr<std::set<std::string>> names) {
  function_ = std::make_shared<PythonFunction>();
  function_->names = std::move(names);
  all_functions_.push_back(function_);
}

void LauncherTranslator::need_box(const Place& place) {
  boxed_.insert(place.declared);
  repeat_ = true;
}

// Declares a variable; `text` becomes the name to assign its first value to.
Result<HostValue*> LauncherTranslator::declare_python(std::string_view name, const HostType* type, TokenIndex token,
                                                      std::string* text) {
  KW_TRY(HostValue * cell, declare(name, type, token));
  Place place;
  *text = unique_name(name);
  place.declared = token;
  place.boxed = boxed_.count(token) != 0;
  place.text = place.boxed ? *text + "[0]" : *text;
  place.owner = function_.get();
  places_[cell] = std::move(place);
  return cell;
}

std::string LauncherTranslator::kernel_text(const std::string& name) const {
  std::string text = "KERNELS[\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"]";
}

std::string LauncherTranslator::field_name(std::string_view name) {
  constexpr std::string_view words[] = {"False", "None",    "True", "and",    "as",      "assert", "async", "await",
                                        "class", "copy",    "def",  "del",    "elif",    "except", "from",  "global",
                                        "in",    "finally", "is",   "lambda", "import",  "assign", "not",   "or",
                                        "pass",  "raise",   "with", "yield",  "nonlocal"};
  const bool taken = std::find(std::begin(words), std::end(words), name) != std::end(words) || name.starts_with("__");
  return taken ? "field_" + std::string(name) : std::string(name);
}

Result<std::string> LauncherTranslator::layout_of(const HostType& type, TokenIndex token) const {
  const HostType& plain = type.kind == TypeKind::enumeration ? *type.enumeration->underlying : *type.plain;
  if (plain.kind == TypeKind::pointer) return std::string("\"p\"");
  if (plain.kind == TypeKind::bool_) return std::string("\"bool\"");
  if (is_integer(plain)) {
    return "\"" + std::string(is_signed_integer(plain) ? "i" : "u") + std::to_string(integer_bits(plain)) + "\"";
  }
  if (plain.kind == TypeKind::float_) return std::string("\"f32\"");
  if (plain.kind == TypeKind::double_) return std::string("\"f64\"");
  if (plain.kind == TypeKind::half) return std::string("\"f16\"");
  if (plain.kind == TypeKind::bfloat16) return std::string("\"bf16\"");
  if (plain.kind == TypeKind::array) {
    KW_TRY(const std::string element, layout_of(*plain.element, token));
    return "(\"array\", " + std::to_string(plain.bytes) + ", " + std::to_string(plain.element->bytes) + ", " + element +
           ")";
  }
  if (plain.kind == TypeKind::structure) {
    std::string text = "(\"struct\", " + std::to_string(plain.bytes) + ", (";
    for (const FieldType& field : plain.structure->fields) {
      KW_TRY(const std::string layout, layout_of(*field.type, token));
      text += "(\"" + field_name(field.name) + "\", " + std::to_string(field.offset_bytes) + ", " + layout + "), ";
    }
    return text + "))";
  }
  return refuse("a kernel's parameter of type " + type.name, token);
}

Result<void> LauncherTranslator::add_kernel(const KernelInstance& kernel) {
  for (const ExportedKernel& known : kernels_) {
    if (known.name == kernel.name) return {};
  }
  ExportedKernel added{kernel.name, {}};
  for (const ParameterSyntax& parameter : kernel.function->parameters) {
    KW_TRY(const HostType* type, parameter_type(kernel, parameter));
    KW_TRY(std::string layout, layout_of(*type, parameter.token));
    added.layout.push_back(std::move(layout));
  }
  kernels_.push_back(std::move(added));
  return {};
}

// The Python class of a struct, made when it is first needed.
std::string LauncherTranslator::record_class(const HostType& type) {
  const HostType* plain = type.plain;
  if (plain->structure->is_dim3) return "dim3";
  if (const auto found = records_.find(plain); found != records_.end()) return found->second;
  std::string base;
  for (const char c : plain->name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (word)
      base += c;
    else if (!base.empty() && base.back() != '_')
      base += '_';
  }
  std::string name = base;
  for (int i = 2; !module_names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  std::string fields;
  for (const FieldType& field : plain->structure->fields) fields += "\"" + field_name(field.name) + "\", ";
  const auto body = classes_.open("class " + name + "(Record):");
  body->add("__slots__ = (" + fields + ")");
  classes_.add("");
  classes_.add("");
  return records_[plain] = name;
}

Result<void> LauncherTranslator::translate_body(const FunctionSyntax& launcher) {
  const std::vector<Parameter> expected = task_.parameters();
  std::string header = "def launch(rt";
  const auto body = std::make_shared<PythonBlock>();
  block_ = body.get();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ParameterSyntax& parameter = launcher.parameters[i];
    KW_TRY(const HostType* type, resolve(*parameter.type));
    std::string text;
    const std::string_view name = parameter.name.empty() ? std::string_view("unused") : parameter.name;
    KW_TRY(HostValue * cell, declare_python(name, type, parameter.token, &text));
    static_cast<void>(cell);
    if (expected[i].role == Parameter::Role::stream) {
      emit(text + " = rt.stream");
    } else {
      header += ", " + text;
    }
    if (boxed_.count(parameter.token) != 0) emit(text + " = Array([" + text + "])");
  }
  frame().result = types_.basic(TypeKind::void_);
  KW_TRY(const End end, statement(*launcher.body));
  static_cast<void>(end);
  const auto place = functions_.open(header + "):");
  place->append(*body);
  return {};
}

Result<LauncherTranslation> LauncherTranslator::run() {
  stack_base_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const FunctionSyntax* launcher = &this->launcher();
  frames_.push_back(std::make_unique<Frame>());
  open_scope();
  KW_TRY_VOID(check_signature(*launcher));
  KW_TRY_VOID(check_static_asserts());
  if (launcher->body_error) return *launcher->body_error;
  enter_function(std::make_shared<std::set<std::string>>());
  KW_TRY_VOID(translate_body(*launcher));
  LauncherTranslation result;
  classes_.render(result.python, 0);
  functions_.render(result.python, 0);
  result.kernels = std::move(kernels_);
  result.reads_addresses = reads_addresses_;
  return result;
}

Result<LauncherTranslation> translate_launcher(const KernelFile& file, const Task& task) {
  KW_CHECK(file.program != nullptr);
  std::set<TokenIndex> boxed;
  const Sizes sizes;
  const PlanLimits limits;
  const ScalarInputs scalars;
  // Each round boxes at least one more variable.
  for (int round = 0; round < 64; ++round) {
    const std::size_t before = boxed.size();
    LauncherTranslator translator(*file.program, task, sizes, limits, scalars, boxed);
    Result<LauncherTranslation> result = translator.run();
    if (!result.ok() || !translator.must_repeat() || boxed.size() == before) return result;
  }
  return Error{"the launcher has too many variables whose address is taken", "export with --compile nvcc", {}};
}

}  // namespace kw
