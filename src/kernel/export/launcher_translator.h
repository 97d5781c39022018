#pragma once
// The translator behind translate_launcher. It is the interpreter with another effect: names, types, templates and
// constants are the interpreter's own, but an expression becomes Python text with a C++ type instead of a value.
//
// A variable of the launcher is a cell of the interpreter that holds its type; its value only where it is constant.
// `places_` says what the cell is called in Python. A variable whose address is needed becomes an Array of one element:
// that is found out on the way, and the translation starts again.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/export/launcher_translation.h"
#include "kernel/export/python_block.h"
#include "kernel/source/host_interpreter.h"

namespace kw {

struct TranslatedClosure;

class LauncherTranslator : private HostInterpreter {
 public:
  // `boxed`: the variables, by their tokens, that must be boxed; grows during the translation.
  LauncherTranslator(const HostProgram& program, const Task& task, const Sizes& sizes, const PlanLimits& limits,
                     const ScalarInputs& scalars, std::set<TokenIndex>& boxed);

  Result<LauncherTranslation> run();
  bool must_repeat() const { return repeat_; }

 private:
  struct PythonFunction {  // a `def` of its own; nested ones share the names
    std::shared_ptr<std::set<std::string>> names;
  };
  struct Place {  // what a cell is called
    std::string text;
    TokenIndex declared = 0;
    bool boxed = false;
    bool reference = false;  // `text` is a Pointer's value
    const PythonFunction* owner = nullptr;
  };
  struct Code {
    const HostType* type = nullptr;
    std::string text;
    std::optional<HostValue> constant;
    std::shared_ptr<const TranslatedClosure> closure;
    std::shared_ptr<const FunctionValue> function;
    bool lvalue = false;  // a struct must be copied when it is kept
  };
  struct Target {  // an lvalue
    const HostType* type = nullptr;
    std::string text;
    HostValue* cell = nullptr;  // of a plain variable
    std::string owner, key;     // of an element or a field: Pointer(owner, key)
  };
  struct Argument {
    Code code;
    const Expr* expr = nullptr;
    const Expr* braces = nullptr;
  };
  struct Instance {
    std::string name;
    const HostType* result = nullptr;
  };
  enum class End { falls_through, jumps };
  struct Loop {  // what `continue` must do first; null inside a switch
    std::shared_ptr<PythonBlock> before_continue;
    bool is_switch = false;
    bool break_used = false;
  };

  // The file (translate_launcher.cpp).
  Result<void> translate_body(const FunctionSyntax& launcher);
  std::string unique_name(std::string_view wanted);
  void enter_function(std::shared_ptr<std::set<std::string>> names);
  void emit(std::string line) { block_->add(std::move(line)); }
  Result<HostValue*> declare_python(std::string_view name, const HostType* type, TokenIndex token, std::string* text);
  void need_box(const Place& place);
  std::string kernel_text(const std::string& name) const;
  // A field's name in Python: with field_ before it where the word means something else there.
  static std::string field_name(std::string_view name);
  Result<void> add_kernel(const KernelInstance& kernel);
  Result<std::string> layout_of(const HostType& type, TokenIndex token) const;
  std::string record_class(const HostType& type);

  // Values (translate_value.cpp).
  Code code_of(const HostValue& value);
  std::string literal(const HostValue& value);
  Result<Code> converted(Code code, const HostType* to, Conversion how, TokenIndex token);
  std::string kept(const Code& code) const { return code.lvalue ? code.text + ".copy()" : code.text; }
  Code plain(const HostType* type, std::string text) const;
  Result<Code> binary(std::string_view op, const Code& a, const Code& b, TokenIndex token);
  Result<Code> pointer_binary(std::string_view op, const Code& a, const Code& b, TokenIndex token);
  Result<Code> unary(std::string_view op, const Code& a, TokenIndex token);

  // Expressions (translate_expression.cpp).
  Result<Code> translate(const Expr& expr, bool discard = false);
  Result<Code> translate_kind(const Expr& expr, bool discard);
  Result<Code> translate_name(const Expr& expr);
  Result<Code> translate_unary(const Expr& expr, bool discard);
  Result<Code> translate_step(const Expr& expr, bool discard);
  Result<Code> translate_binary(const Expr& expr);
  Result<Code> translate_logical(const Expr& expr);
  Result<Code> translate_ternary(const Expr& expr);
  Result<Code> translate_cast(const Expr& expr);
  Result<Code> translate_assign(const Expr& expr);
  Result<Code> read_target(const Target& target);
  Result<Target> target_of(const Expr& expr);
  Result<void> write(const Target& target, const Code& code);
  Result<std::string> pointer_to_target(const Target& target, TokenIndex token);
  const HostType* ternary_type(const Code& a, const Code& b);

  // Construction (translate_construct.cpp).
  Result<Code> build(const HostType* type, const std::vector<const Expr*>& values, bool braces, TokenIndex token);
  Result<Code> build_struct(const HostType* type, const std::vector<const Expr*>& values, TokenIndex token);
  Result<Code> build_array(const HostType* type, const std::vector<const Expr*>& values, TokenIndex token);
  Result<Code> build_with(const FunctionSyntax& constructor, const HostType* type, std::vector<Argument> arguments,
                          TokenIndex token);
  Result<Code> initial_code(const HostType* type, const Expr& value);
  Result<Code> default_code(const HostType* type, TokenIndex token);  // T x;
  Result<Code> zero_code(const HostType* type, TokenIndex token);     // T x{};
  Result<Code> field_default(const HostType* type, const FieldType& field, bool zero, TokenIndex token);
  Result<void> declare_translated(const VariableSyntax& variable);
  Result<bool> declare_reference(const VariableSyntax& variable);

  // Statements (translate_statement.cpp).
  Result<End> statement(const Stmt& stmt);
  Result<End> statement_kind(const Stmt& stmt);
  Result<End> statements(const std::vector<const Stmt*>& list);
  Result<End> if_statement(const Stmt& stmt);
  Result<End> loop_statement(const Stmt& stmt);
  Result<End> range_statement(const Stmt& stmt);
  Result<End> switch_statement(const Stmt& stmt);
  Result<End> return_statement(const Stmt& stmt);
  Result<Code> statement_condition(const Stmt& stmt);
  Result<End> in_block(const std::shared_ptr<PythonBlock>& block, const Stmt& stmt);
  bool ends_program(const Expr& expr) const;  // throw, exit, abort

  // Calls (translate_call.cpp, translate_lambda.cpp).
  struct Passed {
    std::string text;  // what the caller passes; empty for a closure
    const HostType* type = nullptr;
    bool reference = false;  // a Pointer is passed
    std::shared_ptr<const TranslatedClosure> closure;
    std::shared_ptr<const FunctionValue> function;  // known at translation
  };
  Result<Code> call(const Expr& expr, bool discard);
  Result<std::vector<Argument>> call_arguments(const std::vector<const Expr*>& values);
  std::vector<CallArgument> types_of(const std::vector<Argument>& arguments) const;
  Result<Code> call_user(const FunctionValue& function, const Expr& expr, bool discard);
  Result<Code> call_instance(const FunctionSyntax& function, const BoundArguments& bindings,
                             std::vector<Argument> arguments, const std::string* self, const HostType* self_type,
                             TokenIndex token, bool discard);
  Result<void> make_instance(const FunctionSyntax& function, const BoundArguments& bindings,
                             const std::vector<Passed>& passed, bool has_self, const HostType* self_type,
                             const TranslatedClosure* beside, Instance& instance, TokenIndex token);
  Result<Code> call_lambda(const std::shared_ptr<const TranslatedClosure>& closure, std::vector<Argument> arguments,
                           TokenIndex token, bool discard);
  Result<Code> method(const Expr& expr, const Expr& callee, bool discard);
  Result<Code> lambda(const Expr& expr);
  Result<std::vector<Passed>> pass(const std::vector<ParameterSyntax>& parameters, std::vector<Argument>& arguments,
                                   TokenIndex token);
  Result<std::string> bind_passed(const std::vector<ParameterSyntax>& parameters, const std::vector<Passed>& passed);
  Result<void> function_body(const Stmt& body, const HostType* declared, Instance& instance, TokenIndex token);
  void bind_self(const HostType* type);
  Code call_code(const Instance& instance, std::string text, bool discard);

  // Launches, the CUDA runtime and the standard library (translate_runtime.cpp, translate_standard.cpp).
  Result<Code> launch_expression(const Expr& expr);
  Result<std::string> kernel_value(const Code& code, TokenIndex token);
  Result<KernelInstance> instance_without_arguments(const FunctionValue& function, TokenIndex token);
  Result<std::optional<Code>> runtime_call(std::string_view name, const Expr& expr);
  Result<std::optional<Code>> device_query(std::string_view name, const Expr& expr);
  Result<void> store_out(const Expr& pointer, const HostType* type, const std::string& text);
  Result<std::optional<Code>> standard_call(std::string_view name, const Expr& expr);
  Result<Code> minimum(std::string_view name, const Expr& expr);
  Result<Code> math_call(std::string_view name, const std::vector<Code>& arguments, TokenIndex token);
  Result<std::string> size_text(const Expr& expr);
  Result<std::string> stream_text(const Expr& expr);
  Result<std::string> dimension_text(const Expr& expr);
  Error refuse(std::string what, TokenIndex token) const;

  std::set<TokenIndex>& boxed_;
  bool repeat_ = false;
  bool reads_addresses_ = false;
  PythonBlock classes_, functions_;
  PythonBlock* block_ = nullptr;
  std::shared_ptr<PythonFunction> function_;
  std::vector<std::shared_ptr<PythonFunction>> all_functions_;  // kept: places compare their addresses
  std::map<const HostValue*, Place> places_;
  std::map<const HostValue*, std::shared_ptr<const TranslatedClosure>> closures_;
  std::map<std::string, std::shared_ptr<Instance>> instances_;
  std::map<const HostType*, std::string> records_;
  std::set<std::string> module_names_;
  std::vector<ExportedKernel> kernels_;
  std::vector<Loop*> loops_;
  int translated_depth_ = 0;
};

// A lambda where it is defined. Its `def`s, one for each kind of call, are put there, because they see the variables
// around it.
struct TranslatedClosure {
  const LambdaSyntax* syntax = nullptr;
  std::vector<std::pair<std::string_view, HostValue*>> captured;
  std::vector<std::pair<std::string_view, const HostType*>> types;
  BoundArguments bindings;
  std::string scope;
  std::shared_ptr<PythonBlock> definitions;
  std::string name;  // of the variable, for readers
  std::shared_ptr<std::set<std::string>> names;
};

}  // namespace kw
