// Operands: registers, immediates, addresses, vectors, symbols.

#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

bool begins_constant(const PtxToken& token) {
  return token.kind == PtxTokenKind::integer || token.kind == PtxTokenKind::floating || token.is('-') ||
         token.is('+') || token.is('~') || token.is('(') || token.is_identifier("WARP_SZ");
}

bool parse_immediate(PtxParser& parser, PtxOperand& operand) {
  PtxConstant constant;
  if (!parse_constant(parser, constant)) return false;
  operand.kind = constant.is_floating ? PtxOperand::Kind::floating : PtxOperand::Kind::integer;
  operand.single = constant.is_single;
  operand.value = static_cast<std::int64_t>(constant.bits);
  return true;
}

// The `+ 4` after a base, also `+-4` and `- 4`.
bool parse_offset(PtxParser& parser, std::int64_t& offset) {
  if (!parser.lexer.current().is('+') && !parser.lexer.current().is('-')) return true;
  return parse_integer_constant(parser, offset);
}

// What a name is where a value is expected: a register, a special register, or a symbol.
bool parse_named(PtxParser& parser, PtxFunctionBody& body, PtxOperand& operand) {
  PtxLexer& lexer = parser.lexer;
  const PtxToken at = lexer.current();
  lexer.advance();
  if (at.text == "_") {
    operand.kind = PtxOperand::Kind::sink;
    return true;
  }
  if (const int index = find_register(body, at.text); index >= 0) {
    operand.kind = PtxOperand::Kind::reg;
    operand.index = index;
    if (lexer.current().kind == PtxTokenKind::dotted) {
      operand.name = lexer.current().text.substr(1);
      lexer.advance();
    }
    return true;
  }
  if (at.text[0] == '%') {
    if (!is_special_register(at.text)) return fail(parser, at, "register " + quoted_ptx(at.text) + " is not declared");
    operand.kind = PtxOperand::Kind::special;
    operand.name = at.text;
    const PtxToken& component = lexer.current();
    if (component.is_dotted(".x") || component.is_dotted(".y") || component.is_dotted(".z") ||
        component.is_dotted(".w")) {
      operand.name += component.text;
      lexer.advance();
    }
    return true;
  }
  std::string_view text = at.text;
  const bool generic = text == "generic" && lexer.current().is('(');
  if (generic) {
    lexer.advance();
    if (!expect_identifier(parser, "the name of a variable", text) || !expect(parser, ')')) return false;
  }
  const std::string* symbol = find_symbol(parser, &body, text);
  if (!symbol) return fail(parser, at, quoted_ptx(text) + " is not declared");
  operand.kind = PtxOperand::Kind::symbol;
  operand.name = *symbol;
  return true;
}

bool parse_list(PtxParser& parser, PtxFunctionBody& body, char close, std::vector<PtxOperand>& parts);

// After the `[`.
bool parse_address(PtxParser& parser, PtxFunctionBody& body, PtxOperand& operand) {
  PtxLexer& lexer = parser.lexer;
  operand.kind = PtxOperand::Kind::address;
  if (begins_constant(lexer.current())) {
    if (!parse_integer_constant(parser, operand.value)) return false;
  } else {
    const PtxToken at = lexer.current();
    if (!at.is_identifier()) return fail(parser, "expected an address");
    PtxOperand base;
    if (!parse_named(parser, body, base)) return false;
    if (base.kind == PtxOperand::Kind::reg && base.name.empty()) {
      operand.index = base.index;
    } else if (base.kind == PtxOperand::Kind::symbol) {
      operand.name = std::move(base.name);
    } else {
      return fail(parser, at, quoted_ptx(at.text) + " cannot be the base of an address");
    }
    if (!parse_offset(parser, operand.value)) return false;
  }
  if (!lexer.current().is(',')) return expect(parser, ']');
  lexer.advance();
  return parse_list(parser, body, ']', operand.parts);
}

// Vectors hold plain values, tensor accesses hold vectors; nothing is nested deeper.
bool parse_part(PtxParser& parser, PtxFunctionBody& body, bool vectors, PtxOperand& part) {
  const PtxToken& token = parser.lexer.current();
  if (token.is('[') || (token.is('{') && !vectors)) return fail(parser, "operands cannot be nested like this");
  return parse_operand(parser, body, part);
}

bool parse_list(PtxParser& parser, PtxFunctionBody& body, char close, std::vector<PtxOperand>& parts) {
  parts.reserve(4);
  do {
    if (!count_operand(parser, parts.size())) return false;
    parts.emplace_back();
    if (!parse_part(parser, body, close == ']', parts.back())) return false;
  } while (accept(parser, ','));
  return expect(parser, close);
}

}  // namespace

bool count_operand(PtxParser& parser, std::size_t in_list) {
  if (in_list >= max_ptx_operands_in_list) return fail(parser, "there are too many operands");
  if (++parser.operands > max_ptx_operands) return fail(parser, "the program has more than 8000000 operands");
  return true;
}

int find_register(const PtxFunctionBody& body, std::string_view text) {
  // A single register hides a range of an outer scope and the other way round. Most functions have ranges only.
  const PtxName* single = body.single_registers > 0 ? body.names.find(text) : nullptr;
  if (single && single->kind != PtxNameKind::reg) single = nullptr;
  const auto ranged = find_in_ranges(body.register_ranges, text);
  if (single && (!ranged || single->depth >= ranged->depth)) return single->index;
  return ranged ? ranged->index : -1;
}

bool parse_operand(PtxParser& parser, PtxFunctionBody& body, PtxOperand& operand) {
  PtxLexer& lexer = parser.lexer;
  const PtxToken token = lexer.current();
  if (token.is_identifier() && token.text != "WARP_SZ") {
    if (!parse_named(parser, body, operand)) return false;
    return operand.kind != PtxOperand::Kind::symbol || parse_offset(parser, operand.value);
  }
  if (token.is('[')) {
    lexer.advance();
    return parse_address(parser, body, operand);
  }
  if (token.is('{')) {
    lexer.advance();
    operand.kind = PtxOperand::Kind::vector;
    return parse_list(parser, body, '}', operand.parts);
  }
  if (token.is('!') || token.is('-')) {
    // A negated register, or a constant that begins with the sign: the next token decides.
    const PtxLexer before_sign = lexer;
    lexer.advance();
    if (lexer.current().is_identifier() && lexer.current().text != "WARP_SZ") {
      operand.negated = true;
      if (!parse_named(parser, body, operand)) return false;
      return operand.kind == PtxOperand::Kind::reg || fail(parser, token, "only a register can be negated");
    }
    lexer = before_sign;
    return parse_immediate(parser, operand);
  }
  if (begins_constant(token)) return parse_immediate(parser, operand);
  return fail(parser, "expected an operand");
}

}  // namespace kw
