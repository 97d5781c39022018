#include "kernel/source/name_index.h"

namespace kw {
namespace {

std::string join(std::string_view scope, std::string_view name) {
  if (scope.empty()) return std::string(name);
  return std::string(scope) + "::" + std::string(name);
}

}  // namespace

NameIndex::NameIndex(const HostProgram& program) : program_(program) {
  for (const FunctionSyntax* function : program.functions) {
    std::vector<const FunctionSyntax*>& known = names_[join(function->scope, function->name)].functions;
    if (known.size() > max_overloads) continue;  // the interpreter refuses to choose among so many
    // A definition takes the place of its earlier declaration, so that calls find a body.
    bool replaced = false;
    for (const FunctionSyntax*& other : known) {
      const bool same = other->parameters.size() == function->parameters.size() &&
                        other->is_specialisation == function->is_specialisation &&
                        other->generic.parameters.size() == function->generic.parameters.size();
      if (!same || other->has_body || !function->has_body) continue;
      bool equal = true;
      for (std::size_t i = 0; i < function->parameters.size(); ++i) {
        equal = equal && print(*other->parameters[i].type) == print(*function->parameters[i].type);
      }
      if (!equal) continue;
      other = function;
      replaced = true;
    }
    if (!replaced) known.push_back(function);
  }
  for (const StructSyntax* structure : program.structs) {
    names_[join(structure->scope, structure->name)].structs.push_back(structure);
  }
  for (const EnumSyntax* enumeration : program.enums) {
    const std::string full = join(enumeration->scope, enumeration->name);
    if (!enumeration->name.empty()) names_[full].enumeration = enumeration;
    for (std::size_t i = 0; i < enumeration->enumerators.size(); ++i) {
      const std::string_view name = enumeration->enumerators[i].first;
      const auto add = [&](const std::string& path) {
        names_[path].enumerator_of = enumeration;
        names_[path].enumerator = i;
      };
      if (!enumeration->scoped) add(join(enumeration->scope, name));
      if (!enumeration->name.empty()) add(join(full, name));
    }
  }
  for (const AliasSyntax* alias : program.aliases) names_[join(alias->scope, alias->name)].alias = alias;
  for (const GlobalVariable& variable : program.variables) {
    names_[join(variable.scope, variable.variable.name)].variable = &variable;
  }
}

const Declared* NameIndex::exact(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

const Declared* NameIndex::outwards(std::string_view scope, std::string_view name) const {
  while (true) {
    if (const Declared* found = exact(join(scope, name))) return found;
    if (scope.empty()) return nullptr;
    const std::size_t cut = scope.rfind("::");
    scope = cut == std::string_view::npos ? std::string_view() : scope.substr(0, cut);
  }
}

const Declared* NameIndex::find(std::string_view scope, std::string_view name) const {
  if (name.starts_with("::")) return exact(std::string(name.substr(2)));
  if (const Declared* found = outwards(scope, name)) return found;
  for (const UsedName& used : program_.used_names) {
    if (used.name != name || used.target == name) continue;
    if (const Declared* found = outwards(used.scope, used.target)) return found;
  }
  for (const std::string& used : program_.used_namespaces) {
    if (const Declared* found = exact(join(used, name))) return found;
  }
  return nullptr;
}

}  // namespace kw
