// What <type_traits> gives: constants that are types, types that depend on a condition, questions about types.

#include "kernel/source/host_interpreter.h"

namespace kw {

// std::integral_constant<int, 4>: an empty struct whose type says everything.
Result<const HostType*> HostInterpreter::constant_type(const HostType* type, std::int64_t value, TokenIndex token) {
  if (!is_integer(*type)) return unknown("a constant of type " + type->name, token);
  StructType constant;
  constant.constant_type = type->plain;
  constant.constant = make_integer(type->plain, value).integer();
  constant.name =
      "std::integral_constant<" + type->plain->name + ", " + print(make_integer(type->plain, constant.constant)) + ">";
  const std::string name = constant.name;
  if (const auto found = structs_.find(name); found != structs_.end()) return found->second;
  return structs_[name] = types_.make_struct(std::move(constant), 0);
}

// The type that a name of the standard library stands for; null for every other name.
Result<const HostType*> HostInterpreter::trait_type(const Name& name, std::size_t parts, TokenIndex token) {
  const bool member = parts > 1 && name.parts[parts - 1].name == "type";  // enable_if<...>::type
  const std::size_t at = member ? parts - 2 : parts - 1;
  const NamePart& part = name.parts[at];
  const std::vector<TemplateArgument>& arguments = part.arguments;
  if (at > 0 && name.parts[0].name != "std" && name.parts[0].name != "cuda") return nullptr;
  const auto choice = [&](std::string_view word) { return part.name == (member ? word : std::string(word) + "_t"); };
  if (choice("conditional") && arguments.size() == 3 && arguments[0].value != nullptr) {
    KW_TRY(const bool chosen, condition(*arguments[0].value));
    const TypeSyntax* type = arguments[chosen ? 1 : 2].type;
    return type == nullptr ? unknown("`" + print(name).substr(0, 80) + "`", token) : resolve(*type);
  }
  if (choice("enable_if") && !arguments.empty() && arguments.size() <= 2 && arguments[0].value != nullptr) {
    KW_TRY(const bool enabled, condition(*arguments[0].value));
    if (!enabled) return fail("the condition of `enable_if` does not hold", token);
    if (arguments.size() == 1) return types_.basic(TypeKind::void_);
    return arguments[1].type == nullptr ? unknown("`enable_if` of a value", token) : resolve(*arguments[1].type);
  }
  if (member) return nullptr;
  if (part.name == "true_type" || part.name == "false_type") {
    return constant_type(types_.bool_type(), part.name == "true_type", token);
  }
  const bool boolean = part.name == "bool_constant" && arguments.size() == 1;
  const bool integral = part.name == "integral_constant" && arguments.size() == 2 && arguments[0].type != nullptr;
  if ((!boolean && !integral) || arguments.back().value == nullptr) return nullptr;
  const HostType* type = types_.bool_type();
  if (integral) {
    KW_TRY(type, resolve(*arguments[0].type));
  }
  KW_TRY(const HostValue value, evaluate_set(*arguments.back().value));
  if (!value.is_integer_value()) return unknown("`" + print(name).substr(0, 80) + "`", token);
  return constant_type(type, value.integer(), token);
}

// `size.value` where size is an integral_constant.
std::optional<HostValue> HostInterpreter::member_constant(const Expr& expr) {
  if (expr.arrow || expr.text != "value") return std::nullopt;
  const HostType* owner = static_type(*expr.children[0]);
  if (owner == nullptr || owner->kind != TypeKind::structure || owner->structure->constant_type == nullptr) {
    return std::nullopt;
  }
  return make_integer(owner->structure->constant_type, owner->structure->constant);
}

// is_same_v<A, B>, is_same<A, B>::value, is_integral<A>::value ...
Result<HostValue> HostInterpreter::type_trait(const Name& name, TokenIndex token) {
  for (const NamePart& part : name.parts) {
    std::string_view question = part.name;
    if (question.ends_with("_v")) question.remove_suffix(2);
    if (part.arguments.empty() || part.arguments[0].type == nullptr) continue;
    if (question == "is_same" && part.arguments.size() == 2 && part.arguments[1].type != nullptr) {
      KW_TRY(const HostType* a, resolve(*part.arguments[0].type));
      KW_TRY(const HostType* b, resolve(*part.arguments[1].type));
      return make_integer(types_.bool_type(), a == b);
    }
    if (!is_type_question(question) || part.arguments.size() != 1) continue;
    KW_TRY(const HostType* type, resolve(*part.arguments[0].type));
    const bool answer = question == "is_integral"         ? is_integer(*type)
                        : question == "is_floating_point" ? is_floating(*type)
                                                          : type->kind == TypeKind::pointer;
    return make_integer(types_.bool_type(), answer);
  }
  return unknown("`" + print(name).substr(0, 80) + "`", token);
}

bool HostInterpreter::is_type_question(std::string_view name) {
  return name == "is_same" || name == "is_integral" || name == "is_floating_point" || name == "is_pointer";
}

}  // namespace kw
