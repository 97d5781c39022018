// Lambdas: nested Python functions, which see the variables around them as C++'s captures by reference do.

#include "kernel/export/launcher_translator.h"

namespace kw {

Result<LauncherTranslator::Code> LauncherTranslator::lambda(const Expr& expr) {
  const LambdaSyntax& syntax = *expr.lambda;
  if (frame().self != nullptr) return refuse("a lambda in a member function", expr.token);
  auto closure = std::make_shared<TranslatedClosure>();
  closure->syntax = &syntax;
  closure->bindings = frame().bindings;
  closure->scope = frame().scope;
  closure->names = function_->names;
  for (const Scope& scope : frame().scopes) {
    closure->types.insert(closure->types.end(), scope.types.begin(), scope.types.end());
    for (const auto& [name, cell] : scope.variables) {
      bool wanted = syntax.capture_default != 0, by_reference = syntax.capture_default == '&';
      for (const auto& [captured, reference] : syntax.captures) {
        if (captured != name) continue;
        wanted = true;
        by_reference = reference;
      }
      const auto place = places_.find(cell);
      if (place == places_.end()) wanted = true;  // constants, other lambdas
      if (!wanted) continue;
      if (by_reference || place == places_.end()) {
        closure->captured.emplace_back(name, cell);
        continue;
      }
      // By value: what it holds now. A name of its own, because the variable may change later.
      KW_TRY(HostValue * copy, new_cell(cell->type, expr.token));
      const std::string kept_name = unique_name(std::string(name) + "_then");
      const bool structure = cell->type->kind == TypeKind::structure || cell->type->kind == TypeKind::array;
      emit(kept_name + " = " + place->second.text + (structure ? ".copy()" : ""));
      Place fixed;
      fixed.text = kept_name;
      fixed.declared = place->second.declared;
      fixed.owner = function_.get();
      places_[copy] = std::move(fixed);
      closure->captured.emplace_back(name, copy);
    }
  }
  closure->definitions = block_->reserve();
  Code code;
  code.type = types_.basic(TypeKind::closure);
  code.closure = std::move(closure);
  return code;
}

Result<LauncherTranslator::Code> LauncherTranslator::call_lambda(
    const std::shared_ptr<const TranslatedClosure>& closure, std::vector<Argument> arguments, TokenIndex token,
    bool discard) {
  const LambdaSyntax& syntax = *closure->syntax;
  if (syntax.body == nullptr) return refuse("this lambda", token);
  if (++translated_depth_ > limits_.max_call_depth) return refuse("functions that call each other so deeply", token);
  const auto with_captures = [&](auto step) {
    return within(closure->bindings, closure->scope, [&] {
      frame().scopes.back().variables = closure->captured;
      frame().scopes.back().types = closure->types;
      open_scope();
      return step();
    });
  };
  std::vector<Passed> passed;
  const Result<void> done = with_captures([&]() -> Result<void> {
    KW_TRY(passed, pass(syntax.parameters, arguments, token));
    return {};
  });
  if (!done.ok()) return done.error();
  std::string key = "lambda " + std::to_string(reinterpret_cast<std::uintptr_t>(closure.get()));
  for (std::size_t i = 0; i < passed.size(); ++i) {
    key += "; " + passed[i].type->name;
    if (passed[i].closure != nullptr) return refuse("a lambda that is passed to a lambda", token);
    if (!passed[i].reference) continue;
    const Expr* expr = arguments[i].expr;
    if (expr == nullptr || !is_variable(*expr)) return fail("a reference parameter needs a variable", token);
    KW_TRY(const Target target, target_of(*expr));
    KW_TRY(passed[i].text, pointer_to_target(target, token));
  }
  std::shared_ptr<Instance>& known = instances_[key];
  if (known == nullptr) {
    known = std::make_shared<Instance>();
    const std::shared_ptr<Instance> instance = known;
    const std::shared_ptr<PythonFunction> outer_function = function_;
    PythonBlock* const outer_block = block_;
    enter_function(closure->names);
    instance->name = unique_name("closure");
    const auto body = std::make_shared<PythonBlock>();
    block_ = body.get();
    std::string header;
    const Result<void> translated = with_captures([&]() -> Result<void> {
      KW_TRY(std::string list, bind_passed(syntax.parameters, passed));
      header = "def " + instance->name + "(" + (list.empty() ? "" : list.substr(2)) + "):";
      const HostType* declared = nullptr;
      if (syntax.result != nullptr) {
        KW_TRY(declared, resolve(*syntax.result));
      }
      return function_body(*syntax.body, declared, *instance, token);
    });
    block_ = outer_block;
    function_ = outer_function;
    if (!translated.ok()) return translated.error();
    closure->definitions->open(header)->append(*body);
  }
  --translated_depth_;
  const std::shared_ptr<Instance> instance = known;
  if (instance->result == nullptr) return refuse("a recursive lambda", token);
  std::string list;
  for (const Passed& one : passed) {
    if (one.function == nullptr) list += (list.empty() ? "" : ", ") + one.text;
  }
  return call_code(*instance, instance->name + "(" + list + ")", discard);
}

}  // namespace kw
