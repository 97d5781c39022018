#pragma once
// The interpreter behind make_launch_plan: an abstract machine over HostProgram's syntax. Its parts are in
// interpret_*.cpp; each function returns an error with the position of the construct that caused it.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/source/host_arithmetic.h"
#include "kernel/source/host_tensor.h"
#include "kernel/source/host_value.h"
#include "kernel/source/interpreter.h"
#include "kernel/source/name_index.h"

namespace kw {

// An argument of a call: its value, and its variable when it has one (for reference parameters).
struct CallArgument {
  HostValue value;
  HostValue* cell = nullptr;
  const Expr* braces = nullptr;  // a list in braces, which only the parameter's type gives a meaning
};

class HostInterpreter {
 public:
  HostInterpreter(const HostProgram& program, const Task& task, const Sizes& sizes, const PlanLimits& limits,
                  const ScalarInputs& scalars);

  Result<LaunchPlan> run();

 protected:  // kernel/export translates a launcher with the same names, types and templates
  friend class StepGuard;

  const FunctionSyntax& launcher() const;  // of the file; not of an extension
  // Of `&tmp`, `(void**)&tmp`: for messages and the plan.
  static std::string variable_name(const Expr& expr);

  struct Scope {
    std::vector<std::pair<std::string_view, HostValue*>> variables;
    std::vector<std::pair<std::string_view, const HostType*>> types;
    std::vector<HostValue*> owned;  // to be ended with the scope
  };
  struct Frame {
    std::vector<Scope> scopes;
    BoundArguments bindings;
    std::string scope;                    // the namespace that names are looked up from
    const HostType* self_type = nullptr;  // inside a struct
    HostValue* self = nullptr;
    const HostType* result = nullptr;  // null: deduced from the first return
    HostValue returned;
  };
  enum class Flow { next, break_, continue_, return_ };

  struct Scratch {
    int buffer = 0;
    bool freed = false;
    TokenIndex token = 0;
    std::uint64_t bytes = 0;
    bool of_tensor = false;  // freed by PyTorch when nobody needs it any more
  };

  // The launcher's start (interpreter.cpp).
  Result<void> check_signature(const FunctionSyntax& launcher);
  Result<void> bind_parameters(const FunctionSyntax& launcher);
  Result<void> check_scratch_freed();
  Result<void> check_static_asserts();

  // Names and cells (interpret_name.cpp).
  Frame& frame() { return *frames_.back(); }
  HostValue* find_variable(std::string_view name);
  HostValue* find_field(std::string_view name);
  const BoundArgument* find_binding(std::string_view name);
  const Declared* find_declared(const Name& name);
  Result<HostValue*> new_cell(const HostType* type, TokenIndex token);
  Result<HostValue*> declare(std::string_view name, const HostType* type, TokenIndex token);
  void open_scope() { frame().scopes.emplace_back(); }
  void close_scope();
  Result<HostValue> evaluate_name(const Expr& expr);
  Result<HostValue*> global_constant(const GlobalVariable& global, const Expr& use);
  bool is_never_written(const GlobalVariable& global) const;
  Error unset_global(const std::string& name, TokenIndex token) const;
  Result<HostValue> enumerator_value(const EnumSyntax& enumeration, std::size_t index);
  Result<HostValue> struct_constant(const HostType& type, std::string_view name, TokenIndex token);
  std::optional<HostValue> runtime_constant(std::string_view name);
  std::optional<Error> unread_declaration(std::string_view name) const;
  HostValue function_value(const Declared& declared, const Name& name, std::shared_ptr<const BoundArguments> arguments);

  // Types (interpret_type.cpp).
  Result<const HostType*> resolve(const TypeSyntax& type);
  Result<const HostType*> resolve_base(const TypeSyntax& type);
  Result<const HostType*> resolve_name(const Name& name, std::size_t parts, TokenIndex token);
  Result<const HostType*> struct_type(const std::vector<const StructSyntax*>& candidates,
                                      const std::vector<TemplateArgument>& arguments, TokenIndex token);
  Result<const HostType*> lay_out(const StructSyntax& structure, std::string name, BoundArguments bindings);
  Result<const HostType*> enum_type(const EnumSyntax& enumeration);
  const HostType* static_type(const Expr& expr);  // null when it is not plain to see
  const HostType* static_binary_type(const Expr& expr);
  const HostType* static_call_type(const Expr& expr);

  // <type_traits> (interpret_trait.cpp).
  Result<HostValue> type_trait(const Name& name, TokenIndex token);
  static bool is_type_question(std::string_view name);
  Result<const HostType*> trait_type(const Name& name, std::size_t parts, TokenIndex token);
  Result<const HostType*> constant_type(const HostType* type, std::int64_t value, TokenIndex token);
  std::optional<HostValue> member_constant(const Expr& expr);

  // Template arguments (interpret_template.cpp).
  Result<BoundArguments> evaluate_arguments(const std::vector<TemplateArgument>& arguments);
  Result<BoundArguments> bind_template(const FunctionSyntax& function, const BoundArguments* explicit_arguments,
                                       const std::vector<CallArgument>& arguments, TokenIndex token);
  Result<BoundArguments> bind_parameters_of(const TemplateSyntax& generic, const BoundArguments& given,
                                            std::string_view what, TokenIndex token);
  void deduce(const TypeSyntax& pattern, const HostType* actual, const TemplateSyntax& generic,
              BoundArguments& bindings);
  bool same_arguments(const BoundArguments& a, const BoundArguments& b) const;
  std::string print_arguments(const BoundArguments& arguments) const;
  // Runs `step` with the bindings in a frame of their own, in the scope of the declaration.
  template <class Step>
  auto within(BoundArguments bindings, std::string scope, Step step) {
    auto inner = std::make_unique<Frame>();
    inner->bindings = std::move(bindings);
    inner->scope = std::move(scope);
    inner->scopes.emplace_back();
    frames_.push_back(std::move(inner));
    auto result = step();
    frames_.pop_back();
    return result;
  }

  // Expressions (interpret_expression.cpp, interpret_operator.cpp).
  Result<HostValue> evaluate(const Expr& expr);
  Result<HostValue> evaluate_kind(const Expr& expr);
  Result<HostValue> evaluate_set(const Expr& expr);  // refuses unset values
  Result<HostValue*> locate(const Expr& expr);       // the variable that an expression names
  bool is_variable(const Expr& expr);                // whether locate can succeed
  Result<bool> condition(const Expr& expr);
  Result<HostValue> evaluate_unary(const Expr& expr);
  Result<HostValue> evaluate_binary(const Expr& expr);
  Result<HostValue> evaluate_ternary(const Expr& expr);
  Result<HostValue> evaluate_cast(const Expr& expr);
  Result<HostValue> evaluate_member(const Expr& expr);
  Result<HostValue> evaluate_sizeof(const Expr& expr);
  Result<HostValue> evaluate_lambda(const Expr& expr);
  Result<HostValue*> evaluate_assign(const Expr& expr);
  Result<HostValue> evaluate_step(const Expr& expr);  // ++ and --
  Result<HostValue> read(HostValue& cell, const Expr& expr);
  Result<HostValue*> locate_member(const Expr& expr);
  Result<HostValue*> locate_target(const HostValue& pointer, const Expr& expr);
  Result<void> store(HostValue& cell, const HostValue& value, TokenIndex token);
  Result<HostValue> integer_of_pointer(const HostValue& value, const HostType* type, TokenIndex token);

  // Extension files: PyTorch's part of the host code (interpret_extension.cpp, interpret_torch.cpp,
  // interpret_tensor.cpp, interpret_list.cpp).
  Result<LaunchPlan> run_extension(const FunctionSyntax& entry);
  Result<std::vector<HostValue>> extension_inputs(const FunctionSyntax& entry);
  Result<HostValue> extension_input(const TensorSpec& spec, const ParameterSyntax& parameter, const HostType& type);
  Result<HostValue> extension_tensor(const TensorSpec& spec, bool input);
  Result<std::vector<HostValue>> returned_tensors(const HostValue& value, const FunctionSyntax& entry);
  Result<void> check_output(const TensorSpec& spec, const HostValue& value, TokenIndex token);
  Result<void> make_outputs(const std::vector<HostValue>& tensors, const FunctionSyntax& entry);
  void renumber_buffers(const std::vector<int>& target);
  Result<const HostType*> torch_type(const Name& name, std::size_t parts, TokenIndex token);
  Result<const HostType*> tuple_type(const std::vector<const HostType*>& fields, TokenIndex token);
  bool is_torch_type(const HostType& type) const;
  Result<HostValue> construct_torch(const HostType* type, const std::vector<const Expr*>& values, bool braces,
                                    TokenIndex token);
  std::optional<HostValue> torch_constant(const Name& name);
  Result<std::optional<HostValue>> call_torch(const Name& name, const Expr& expr);
  Result<std::optional<HostValue>> call_torch_macro(std::string_view name, const Expr& expr);
  Result<std::optional<HostValue>> call_torch_function(std::string_view name, const Expr& expr);
  Result<HostValue> call_check(std::string_view name, const Expr& expr);
  Result<HostValue> call_dispatch(std::string_view name, const Expr& expr);
  Result<HostValue> call_dispatch_switch(const Expr& expr);
  Result<Dtype> dispatched_type(std::string_view name, const Expr& expr);
  Result<HostValue> run_dispatched(std::string_view name, Dtype type, const Expr& lambda);
  Result<HostValue> call_new_tensor(std::string_view name, const Expr& expr);
  Result<HostValue> call_like_tensor(std::string_view name, const Expr& expr);
  Result<HostValue> call_make_tuple(const Expr& expr);
  Result<std::optional<HostValue>> call_torch_method(HostValue& self, const Expr& expr, const Expr& callee);
  Result<HostValue> call_options(const HostValue& self, const Expr& expr, const Expr& callee);
  Result<HostValue> call_list(HostValue& self, const Expr& expr, const Expr& callee);
  Result<HostValue> call_optional(const HostValue& self, const Expr& expr, const Expr& callee);
  Result<HostValue> call_tensor(const HostValue& self, const Expr& expr, const Expr& callee);
  std::optional<HostValue> tensor_property(const TensorValue& tensor, std::string_view name);
  Result<std::optional<HostValue>> call_tensor_reshape(const TensorValue& tensor, std::string_view name,
                                                       const Expr& expr);
  Result<std::optional<HostValue>> call_tensor_view(const TensorValue& tensor, std::string_view name, const Expr& expr);
  Result<std::optional<HostValue>> call_tensor_part(const TensorValue& tensor, std::string_view name, const Expr& expr);
  Result<std::optional<HostValue>> call_tensor_copy(const HostValue& self, std::string_view name, const Expr& expr);
  Result<HostValue> tensor_pointer(const TensorValue& tensor, const Expr& callee);
  Result<HostValue> tensor_like(const TensorValue& tensor, TokenIndex token);
  Result<HostValue> allocate_tensor(const HostType* element, std::vector<std::int64_t> sizes, TokenIndex token);
  Result<void> fill_tensor(const TensorValue& tensor, const HostValue& value, TokenIndex token);
  Result<std::vector<std::int64_t>> sizes_argument(const Expr& expr, std::size_t first, TokenIndex token);
  Result<std::int64_t> integer_argument(const Expr& expr, std::size_t index);
  Result<std::int64_t> dimension_argument(const Expr& expr, std::size_t index, std::size_t dimensions);
  Result<HostValue> options_of(const HostValue& value, TokenIndex token);
  HostValue make_options(int scalar_type, bool on_gpu);
  HostValue make_tensor(TensorValue tensor);
  HostValue make_list(const std::vector<std::int64_t>& values);
  HostValue nothing() const { return HostValue{types_.basic(TypeKind::void_), std::int64_t{0}}; }
  Result<const TensorValue*> defined_tensor(const HostValue& value, TokenIndex token);
  Result<HostValue> optional_value(const HostValue& value, TokenIndex token);
  Result<HostValue> compare_lists(const HostValue& a, const HostValue& b, const Expr& expr);
  Result<HostValue> evaluate_element(const Expr& expr);
  bool is_list_element(const Expr& expr);
  Result<HostValue*> locate_to_store(const Expr& expr);
  Result<HostValue*> list_element(HostValue& list, const HostValue& index, TokenIndex token);
  Error computes(std::string what, TokenIndex token) const;  // the refusal of a call that computes

  // Construction of values (interpret_construct.cpp).
  Result<HostValue> construct(const HostType* type, const std::vector<const Expr*>& values, bool braces,
                              TokenIndex token);
  Result<HostValue> construct_struct(const HostType* type, const std::vector<const Expr*>& values, bool braces,
                                     TokenIndex token);
  Result<HostValue> construct_with(const FunctionSyntax& constructor, const HostType* type,
                                   std::vector<CallArgument> arguments, TokenIndex token);
  Result<HostValue> construct_array(const HostType* type, const std::vector<const Expr*>& values, TokenIndex token);
  Result<HostValue> initial_value(const HostType* type, const Expr& value);  // T x = value
  Result<HostValue> default_value(const HostType* type, TokenIndex token);   // T x; and T x{}
  Result<HostValue> zero_value(const HostType* type, TokenIndex token);
  Result<void> declare_variable(const VariableSyntax& variable);

  // Statements (interpret_statement.cpp).
  Result<Flow> execute(const Stmt& statement);
  Result<Flow> execute_kind(const Stmt& statement);
  Result<Flow> execute_block(const Stmt& block);
  Result<Flow> execute_if(const Stmt& statement);
  Result<Flow> execute_loop(const Stmt& statement);
  Result<Flow> execute_range_for(const Stmt& statement);
  Result<Flow> execute_switch(const Stmt& statement);
  Result<Flow> execute_return(const Stmt& statement);
  Result<bool> loop_condition(const Stmt& statement);

  // Calls (interpret_call.cpp).
  Result<HostValue> evaluate_call(const Expr& expr);
  Result<std::vector<CallArgument>> evaluate_call_arguments(const Expr& expr, std::size_t first);
  Result<HostValue> call_function(const FunctionValue& function, std::vector<CallArgument> arguments, const Expr& expr);
  Result<const FunctionSyntax*> choose_overload(const FunctionValue& function,
                                                const std::vector<CallArgument>& arguments, bool kernel,
                                                TokenIndex token, BoundArguments* bindings);
  Result<HostValue> run_function(const FunctionSyntax& function, BoundArguments bindings,
                                 std::vector<CallArgument> arguments, HostValue* self, const HostType* self_type,
                                 TokenIndex token);
  Result<void> bind_call(const std::vector<ParameterSyntax>& parameters, std::vector<CallArgument>& arguments,
                         TokenIndex token);
  Result<HostValue> call_closure(const Closure& closure, std::vector<CallArgument> arguments, TokenIndex token);
  Result<HostValue> call_method(const Expr& expr, const Expr& callee);
  Result<HostValue> run_body(const Stmt& body, TokenIndex token);
  Result<std::optional<HostValue>> call_standard(std::string_view name, const Expr& expr);
  Result<std::optional<HostValue>> call_runtime(std::string_view name, const Expr& expr);
  Result<HostValue> call_limits(const Name& name, TokenIndex token);
  Result<HostValue> call_minimum(std::string_view name, const Expr& expr);
  Result<HostValue> call_vector(std::string_view name, const Expr& expr);
  Result<HostValue> call_swap(const Expr& expr);
  Result<HostValue> call_print(const Expr& expr);
  Result<HostValue> call_math(std::string_view name, const std::vector<HostValue>& arguments, TokenIndex token);
  // From and to: of `__float2half` and its like.
  static std::optional<std::pair<TypeKind, TypeKind>> converted_kinds(std::string_view name);
  Result<std::optional<HostValue>> call_conversion(std::string_view name, const std::vector<HostValue>& arguments,
                                                   TokenIndex token);
  Result<int> overload_rank(const FunctionSyntax& function, const BoundArguments& bindings,
                            const std::vector<CallArgument>& arguments);
  Result<HostValue> call_static_method(const HostType* type, const Expr& expr, std::string_view name);

  // Launches (interpret_launch.cpp).
  struct KernelInstance {
    const FunctionSyntax* function = nullptr;
    BoundArguments bindings;
    std::string name;
  };
  struct LaunchShape {
    Dim3 grid, block;
    std::uint64_t shared_bytes = 0;
    bool cooperative = false;
    bool default_stream = false;
  };
  Result<HostValue> evaluate_launch(const Expr& expr);
  Result<KernelInstance> kernel_instance(const FunctionValue& function, const std::vector<CallArgument>& arguments,
                                         TokenIndex token);
  Result<Dim3> launch_dimension(const HostValue& value, TokenIndex token);
  Result<void> launch(const KernelInstance& kernel, const LaunchShape& shape,
                      const std::vector<CallArgument>& arguments, TokenIndex token);
  Result<void> check_shape(const KernelInstance& kernel, const LaunchShape& shape, TokenIndex token);
  Result<KernelArgument> kernel_argument(const KernelInstance& kernel, const ParameterSyntax& parameter,
                                         const HostValue& value, TokenIndex token);
  Result<bool> is_default_stream(const HostValue& value, TokenIndex token);
  Result<const HostType*> parameter_type(const KernelInstance& kernel, const ParameterSyntax& parameter);

  // The CUDA runtime (interpret_runtime.cpp, interpret_memory.cpp).
  Result<HostValue> runtime_allocate(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<DevicePointer> allocate_scratch(std::uint64_t bytes, std::string name, bool of_tensor, TokenIndex token);
  Result<HostValue> runtime_free(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_memset(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_memcpy(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_function_attribute(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_launch(const std::vector<HostValue>& arguments, bool cooperative, const Expr& expr);
  Result<HostValue> runtime_device_attribute(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_device_properties(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_occupancy(const std::vector<HostValue>& arguments, const Expr& expr);
  Result<HostValue> runtime_block_size(const std::vector<HostValue>& arguments, const Expr& expr);
  std::uint64_t resident_blocks(std::uint64_t threads, std::uint64_t shared) const;
  Result<HostValue*> out_parameter(const HostValue& pointer, TokenIndex token);
  Result<std::uint64_t> byte_count(const HostValue& value, TokenIndex token);
  Result<void> check_range(const HostValue& pointer, std::uint64_t bytes, bool written, TokenIndex token);
  Result<std::shared_ptr<const FunctionValue>> kernel_of(const HostValue& value, TokenIndex token);
  HostValue success() const { return make_integer(types_.error_type(), 0); }
  Scratch* find_scratch(int buffer);
  Result<void> check_alive(const DevicePointer& pointer, TokenIndex token);
  Result<void> add_step(LaunchStep step, TokenIndex token);
  bool pay_steps();  // false when the budget is used up

  // Errors.
  Error fail(std::string message, TokenIndex token, std::string advice = "") const;
  Error unknown(std::string what, TokenIndex token, std::string advice = "") const;
  Error at(Error error, TokenIndex token) const;  // adds the position if there is none

  const HostProgram& program_;
  const Task& task_;
  const Sizes& sizes_;
  const PlanLimits& limits_;
  const ScalarInputs& scalars_;
  NameIndex index_;
  TypeTable types_;
  LaunchPlan plan_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::deque<HostValue> cells_;  // never moved, never freed: pointers into them stay good
  std::map<const GlobalVariable*, HostValue*> globals_;
  std::set<const void*> in_progress_;  // constants being computed, to refuse circles
  std::map<const EnumSyntax*, const HostType*> enums_;
  std::map<const EnumSyntax*, std::vector<std::int64_t>> enum_values_;
  std::map<std::string, const HostType*> structs_;
  std::map<const HostType*, BoundArguments> struct_bindings_;
  std::map<std::string, std::uint32_t> shared_limits_;  // by kernel instance
  std::vector<Scratch> scratch_;
  std::uint64_t scratch_bytes_ = 0;
  std::int64_t steps_left_;
  std::int64_t steps_unpaid_from_;  // what was left when steps were last charged
  std::int64_t array_elements_left_;
  std::uintptr_t stack_base_ = 0;  // the stack grows down from here
  int depth_ = 0;
  int call_depth_ = 0;
};

// Counts one step and one level of recursion.
class StepGuard {
 public:
  StepGuard(HostInterpreter& interpreter, TokenIndex token) : interpreter_(interpreter) {
    ++interpreter_.depth_;
    if (--interpreter_.steps_left_ < 0) {
      error =
          interpreter_.fail("the launcher does not end within its budget of steps", token, "make its loops shorter");
    } else if (interpreter_.steps_unpaid_from_ - interpreter_.steps_left_ >= steps_of_payment &&
               !interpreter_.pay_steps()) {
      error = interpreter_.at(interpreter_.limits_.budget->exceeded_error(), token);
    } else if (interpreter_.depth_ > max_depth || stack_used() > max_stack_bytes) {
      error = interpreter_.fail("the launcher recurses too deeply", token);
    }
  }
  ~StepGuard() { --interpreter_.depth_; }
  StepGuard(const StepGuard&) = delete;
  StepGuard& operator=(const StepGuard&) = delete;

  std::optional<Error> error;

 private:
  // Levels differ in how much of the stack they use, and sanitizers multiply it; both bounds keep it within 8 MiB.
  static constexpr int max_depth = 450;
  static constexpr std::int64_t steps_of_payment = 1024;
  static constexpr std::uintptr_t max_stack_bytes = 4u << 20;

  std::uintptr_t stack_used() const {
    return interpreter_.stack_base_ - reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  }

  HostInterpreter& interpreter_;
};

// KW_TRY_AT(auto x, convert(...), token): like KW_TRY, adding the position to an error that has none.
#define KW_TRY_AT(declaration, expression, token) \
  KW_TRY_AT_NAMED(KW_JOIN(kw_at_, __LINE__), declaration, expression, token)
#define KW_TRY_AT_NAMED(name, declaration, expression, token) \
  auto name = (expression);                                   \
  if (!name.ok()) return at(std::move(name).error(), token);  \
  declaration = std::move(name).value()

}  // namespace kw
