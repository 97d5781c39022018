// Initial values of variables: numbers, addresses of other symbols, nested lists.

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

struct InitialValues {
  PtxParser& parser;
  PtxFunctionBody* body;
  PtxDeclarator& declarator;
  std::uint64_t element = 0;  // the next one
  std::uint64_t elements = 0;
};

// Makes the initial bytes reach to the end of the current element. Leaves gaps zero.
bool reserve_element(InitialValues& values) {
  PtxParser& parser = values.parser;
  if (values.element >= values.elements) return fail(parser, "there are more initial values than elements");
  std::string& bytes = values.declarator.variable.initial;
  const std::uint64_t width = static_cast<std::uint64_t>(bytes_of(values.declarator.variable.type));
  const std::uint64_t end = (values.element + 1) * width;
  KW_CHECK(end > bytes.size());
  parser.initial_bytes += end - bytes.size();
  if (end > max_ptx_initial_bytes || parser.initial_bytes > max_ptx_initial_bytes) {
    return fail(parser, "the initial values take more than 64 MiB");
  }
  bytes.resize(end);
  return true;
}

std::uint64_t bits_for(const PtxConstant& constant, PtxType type) {
  PtxOperand operand;
  operand.value = static_cast<std::int64_t>(constant.bits);
  operand.single = constant.is_single;
  if (type == PtxType::f32) {
    if (constant.is_floating) return operand.single_bits();
    return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(constant.bits)));
  }
  if (type == PtxType::f64 && !constant.is_floating) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(constant.bits)));
  }
  if (constant.is_single && bytes_of(type) == 4) return operand.single_bits();
  return constant.bits;
}

bool store_constant(InitialValues& values, const PtxToken& at, const PtxConstant& constant) {
  PtxVariable& variable = values.declarator.variable;
  const auto width = static_cast<std::size_t>(bytes_of(variable.type));
  const bool holds_it = !constant.is_floating || variable.type == PtxType::f64 || variable.type == PtxType::f32 ||
                        (constant.is_single ? width == 4 : width == 8);
  if (!holds_it) return fail(values.parser, at, "a variable of this type cannot have a floating-point value");
  if (!reserve_element(values)) return false;
  const std::uint64_t bits = bits_for(constant, variable.type);
  std::memcpy(variable.initial.data() + values.element * width, &bits, std::min(width, sizeof bits));  // little-endian
  ++values.element;
  return true;
}

// `sym`, `generic(sym)`, each with `+ n`.
bool parse_symbol_address(InitialValues& values, PtxVariable::Relocation& relocation) {
  PtxParser& parser = values.parser;
  PtxLexer& lexer = parser.lexer;
  std::string_view text;
  PtxToken at = lexer.current();
  if (!expect_identifier(parser, "an initial value", text)) return false;
  const bool generic = text == "generic" && lexer.current().is('(');
  if (generic) {
    lexer.advance();
    at = lexer.current();
    if (!expect_identifier(parser, "the name of a variable", text) || !expect(parser, ')')) return false;
  }
  // A variable's initial value may hold its own address.
  const std::string* symbol = find_symbol(parser, values.body, text);
  if (!symbol && text != values.declarator.name) return fail(parser, at, quoted_ptx(text) + " is not declared");
  relocation.symbol = symbol ? *symbol : std::string(text);
  relocation.generic = generic;
  if (lexer.current().is('+') || lexer.current().is('-')) {
    if (!parse_integer_constant(parser, relocation.addend)) return false;
  }
  return true;
}

bool store_relocation(InitialValues& values, PtxVariable::Relocation relocation) {
  if (!reserve_element(values)) return false;
  PtxVariable& variable = values.declarator.variable;
  relocation.offset = values.element * static_cast<std::uint64_t>(bytes_of(variable.type));
  variable.relocations.push_back(std::move(relocation));
  ++values.element;
  return true;
}

bool parse_value(InitialValues& values) {
  PtxParser& parser = values.parser;
  PtxLexer& lexer = parser.lexer;
  const PtxToken at = lexer.current();
  if (at.is_identifier() && at.text != "WARP_SZ") {
    PtxVariable::Relocation relocation;
    return parse_symbol_address(values, relocation) && store_relocation(values, std::move(relocation));
  }
  PtxConstant constant;
  if (!parse_constant(parser, constant)) return false;
  if (!lexer.current().is('(')) return store_constant(values, at, constant);
  // 0xFF00(symbol): a byte of an address
  if (constant.is_floating || constant.bits == 0) return fail(parser, at, "this is not a mask");
  PtxVariable::Relocation relocation;
  relocation.mask = constant.bits;
  return expect(parser, '(') && parse_symbol_address(values, relocation) && expect(parser, ')') &&
         store_relocation(values, std::move(relocation));
}

}  // namespace

bool parse_initial(PtxParser& parser, PtxFunctionBody* body, PtxDeclarator& declarator) {
  PtxLexer& lexer = parser.lexer;
  PtxVariable& variable = declarator.variable;
  if (variable.space != PtxSpace::global && variable.space != PtxSpace::constant) {
    return fail(parser, "only .global and .const variables have initial values");
  }
  const auto width = static_cast<std::uint64_t>(bytes_of(variable.type));
  const std::uint64_t vector_elements = declarator.element_bytes / width;
  const bool open_ended = !declarator.dimensions.empty() && declarator.dimensions[0] == 0;
  InitialValues values{parser, body, declarator};

  // Elements that one item of a list at this depth spans: of x[2][3], 3 and then 1.
  std::vector<std::uint64_t> dimensions = declarator.dimensions;
  if (vector_elements > 1) dimensions.push_back(vector_elements);
  std::vector<std::uint64_t> spans(dimensions.size(), 1);
  for (std::size_t i = dimensions.size(); i-- > 1;) spans[i - 1] = spans[i] * dimensions[i];
  const std::uint64_t row = dimensions.empty() ? 1 : spans[0];
  values.elements = open_ended ? max_ptx_variable_bytes / width / row * row : variable.bytes / width;

  if (!lexer.current().is('{')) return parse_value(values);
  // starts[d]: the element at which the list that is open at depth d began.
  std::vector<std::uint64_t> starts;
  while (true) {
    while (accept(parser, '{')) {
      if (starts.size() >= std::max<std::size_t>(dimensions.size(), 1))
        return fail(parser, "this list is nested too deeply");
      starts.push_back(values.element);
    }
    if (!lexer.current().is('}') && !parse_value(values)) return false;
    while (accept(parser, '}')) {
      const std::size_t depth = starts.size() - 1;
      const std::uint64_t start = starts.back();
      starts.pop_back();
      if (depth > 0) {
        const std::uint64_t span = spans[depth - 1];
        if (values.element - start > span) return fail(parser, "a list has more values than its row has elements");
        values.element = start + span;
        if (values.element > values.elements) return fail(parser, "there are more initial values than elements");
      }
      if (starts.empty()) {
        if (open_ended) variable.bytes = (values.element + row - 1) / row * row * width;
        return true;
      }
    }
    if (!expect(parser, ',')) return false;
  }
}

}  // namespace kw
