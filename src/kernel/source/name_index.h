#pragma once
// The names that a file declares outside of functions, found as C++ would: from the inner namespace outwards, then
// through using-directives.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/source/host_syntax.h"

namespace kw {

struct Declared {  // several functions may share a name; of the rest one is set
  std::vector<const FunctionSyntax*> functions;
  std::vector<const StructSyntax*> structs;  // the primary template and its specialisations
  const EnumSyntax* enumeration = nullptr;
  const AliasSyntax* alias = nullptr;
  const GlobalVariable* variable = nullptr;
  const EnumSyntax* enumerator_of = nullptr;
  std::size_t enumerator = 0;
};

class NameIndex {
 public:
  explicit NameIndex(const HostProgram& program);

  // `name` as written ("ns::f", without template arguments), seen from inside `scope`; null when unknown.
  const Declared* find(std::string_view scope, std::string_view name) const;

 private:
  const Declared* exact(const std::string& name) const;
  const Declared* outwards(std::string_view scope, std::string_view name) const;  // from the inner namespace

  const HostProgram& program_;
  std::map<std::string, Declared, std::less<>> names_;
};

}  // namespace kw
