#pragma once
// Classes of a file whose member functions, where they are defined outside of the class, run only when somebody names
// them or the class: no variable is declared with the class, and nothing about it depends on an #if.

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/rules_reading.h"

namespace kw {

// Whether every branch of every #if within these offsets closes the braces that it opens, and no #if crosses the ends.
bool has_balanced_branches(const TokenStream& stream, std::uint32_t begin, std::uint32_t end);

class PlainClasses {
 public:
  PlainClasses(const RuleInput& input, const Reading& reading);

  // The class of `X::name(...) {`, or empty: it is none of these, or C++ calls such a member without its name.
  std::string_view class_of_member(const Declaration& declaration) const;

  // Tokens that declare and call nothing: a class's name at its head and before its members, those of its constructors
  // and destructor in it, and those of member functions that have no body there.
  const std::unordered_set<std::size_t>& declaring_tokens() const { return declaring_; }

 private:
  struct Body {
    std::size_t open = 0, close = 0;
  };

  void find_classes();
  std::size_t body_of(std::size_t name) const;
  void add_constructors(std::string_view name, const Body& body);
  void add_prototypes();
  bool is_prototype(const Declaration& declaration) const;

  const RuleInput& input_;
  const Reading& reading_;
  const std::vector<Token>& tokens_;
  std::unordered_map<std::string_view, Body> classes_;
  std::unordered_set<std::size_t> declaring_;
};

}  // namespace kw
