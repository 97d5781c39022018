// Declarations of variables and registers.

#include <algorithm>

#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

// A vector variable, `.v4 .f32 x`, is an array that is aligned as a whole.
std::optional<std::uint32_t> vector_width(const PtxToken& token) {
  if (token.is_dotted(".v2")) return 2;
  if (token.is_dotted(".v4")) return 4;
  if (token.is_dotted(".v8")) return 8;
  return std::nullopt;
}

bool is_opaque_type(const PtxToken& token) {
  return token.is_dotted(".texref") || token.is_dotted(".samplerref") || token.is_dotted(".surfref");
}

bool parse_alignment(PtxParser& parser, PtxVariable& variable) {
  const PtxToken at = parser.lexer.current();
  std::uint64_t alignment = 0;
  if (!expect_count(parser, "an alignment", 1u << 20, alignment)) return false;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0)
    return fail(parser, at, "an alignment must be a power of two");
  variable.alignment = static_cast<std::uint32_t>(alignment);
  return true;
}

bool add_dimension(PtxParser& parser, PtxDeclarator& declarator) {
  constexpr std::size_t most_dimensions = 16;
  if (declarator.dimensions.size() == most_dimensions) return fail(parser, "this array has too many dimensions");
  std::int64_t count = 0;
  if (parser.lexer.current().is(']')) {
    if (!declarator.dimensions.empty()) return fail(parser, "only the first dimension of an array may be left out");
  } else {
    const PtxToken at = parser.lexer.current();
    if (!parse_integer_constant(parser, count)) return false;
    if (count <= 0) return fail(parser, at, "an array must have at least one element");
    if (static_cast<std::uint64_t>(count) > max_ptx_variable_bytes)
      return fail(parser, at, "this array is larger than 1 TiB");
  }
  declarator.dimensions.push_back(static_cast<std::uint64_t>(count));
  return expect(parser, ']');
}

// A first dimension that is left out counts as one row, so that the limit holds for the row too.
std::uint64_t elements_of(const PtxDeclarator& declarator) {
  std::uint64_t elements = 1;
  for (std::uint64_t count : declarator.dimensions) {
    if (count == 0) continue;
    if (elements > max_ptx_variable_bytes / count) return max_ptx_variable_bytes + 1;
    elements *= count;
  }
  return elements;
}

bool add_to_scope(PtxParser& parser, PtxFunctionBody* body, const PtxToken& at, PtxDeclarator& declarator) {
  PtxVariable& variable = declarator.variable;
  variable.name = declarator.name;
  if (!body) {
    const int index = static_cast<int>(parser.module.variables.size());
    if (!parser.module_names.declare(declarator.name, {PtxNameKind::module_variable, index})) {
      // `.extern` first and the definition later, or the other way round.
      const PtxName* known = parser.module_names.find(declarator.name);
      if (known->kind == PtxNameKind::module_variable) {
        PtxVariable& earlier = parser.module.variables[static_cast<std::size_t>(known->index)];
        if (earlier.external || variable.external) {
          if (earlier.external) earlier = std::move(variable);
          return true;
        }
      }
      return fail(parser, at, quoted_ptx(declarator.name) + " is declared twice");
    }
    parser.module.variables.push_back(std::move(variable));
    return true;
  }
  const std::uint32_t times = body->names.times_declared(declarator.name);
  const int index = static_cast<int>(body->function->locals.size());
  if (!body->names.declare(declarator.name, {PtxNameKind::variable, index})) {
    return fail(parser, at, quoted_ptx(declarator.name) + " is declared twice in the same scope");
  }
  // '#' is not part of any PTX name, so the new one cannot meet another.
  if (times > 0 || parser.module_names.find(declarator.name)) variable.name += '#' + std::to_string(times);
  body->function->locals.push_back(std::move(variable));
  return true;
}

}  // namespace

std::optional<PtxSpace> declared_space(const PtxToken& token) {
  if (token.kind != PtxTokenKind::dotted) return std::nullopt;
  if (token.text == ".global") return PtxSpace::global;
  if (token.text == ".shared" || token.text == ".shared::cta") return PtxSpace::shared;
  if (token.text == ".local") return PtxSpace::local;
  if (token.text == ".const") return PtxSpace::constant;
  if (token.text == ".param") return PtxSpace::param;
  return std::nullopt;
}

bool count_variable(PtxParser& parser) {
  if (++parser.variables > max_ptx_variables) return fail(parser, "the program declares more than 200000 variables");
  return true;
}

const std::string* find_symbol(const PtxParser& parser, const PtxFunctionBody* body, std::string_view text) {
  if (body) {
    const PtxName* name = body->names.find(text);
    if (name && name->kind == PtxNameKind::variable) {
      const PtxFunction& function = *body->function;
      if (name->index >= 0) return &function.locals[static_cast<std::size_t>(name->index)].name;
      const std::size_t place = static_cast<std::size_t>(-1 - name->index);
      return place < function.returns.size() ? &function.returns[place].name
                                             : &function.parameters[place - function.returns.size()].name;
    }
  }
  const PtxName* name = parser.module_names.find(text);
  if (!name) return nullptr;
  if (name->kind == PtxNameKind::function) return &parser.module.functions[static_cast<std::size_t>(name->index)].name;
  return &parser.module.variables[static_cast<std::size_t>(name->index)].name;
}

bool parse_variable_type(PtxParser& parser, PtxDeclarator& declarator) {
  PtxVariable& variable = declarator.variable;
  std::uint32_t width = 1;
  bool aligned = false;
  bool pointer = false;  // after .ptr, .align is about what is pointed at
  PtxLexer& lexer = parser.lexer;
  while (lexer.current().kind == PtxTokenKind::dotted) {
    const PtxToken token = lexer.current();
    lexer.advance();
    if (token.text == ".align") {
      PtxVariable pointee;
      if (!parse_alignment(parser, pointer ? pointee : variable)) return false;
      aligned = aligned || !pointer;
    } else if (token.text == ".attribute") {
      if (!skip_parentheses(parser)) return false;
    } else if (token.text == ".ptr") {
      pointer = true;
    } else if (const auto lanes = vector_width(token)) {
      width = *lanes;
    } else if (const auto type = ptx_type_from_name(token.text.substr(1)); type && variable.type == PtxType::none) {
      if (bytes_of(*type) == 0) return fail(parser, token, "only registers can be of type .pred");
      variable.type = *type;
    } else if (is_opaque_type(token)) {
      return fail_unsupported(parser, token, "textures and surfaces (" + std::string(token.text) + ")");
    } else if (!(pointer && declared_space(token))) {
      return fail(parser, token, quoted_ptx(token.text) + " is not expected in a declaration");
    }
  }
  if (variable.type == PtxType::none) return fail(parser, "this declaration has no type");
  declarator.element_bytes = static_cast<std::uint64_t>(bytes_of(variable.type)) * width;
  if (!aligned) variable.alignment = static_cast<std::uint32_t>(declarator.element_bytes);
  return true;
}

bool parse_variable_name(PtxParser& parser, PtxDeclarator& declarator) {
  const PtxToken at = parser.lexer.current();
  if (!expect_identifier(parser, "the name of a variable", declarator.name)) return false;
  declarator.dimensions.clear();
  while (accept(parser, '[')) {
    if (!add_dimension(parser, declarator)) return false;
  }
  const std::uint64_t elements = elements_of(declarator);
  if (elements > max_ptx_variable_bytes / declarator.element_bytes) {
    return fail(parser, at, quoted_ptx(declarator.name) + " is larger than 1 TiB");
  }
  const bool open_ended = !declarator.dimensions.empty() && declarator.dimensions[0] == 0;
  declarator.variable.bytes = open_ended ? 0 : elements * declarator.element_bytes;
  return true;
}

bool parse_variables(PtxParser& parser, PtxFunctionBody* body, PtxLinkage linkage) {
  PtxDeclarator shape;
  shape.variable.space = *declared_space(parser.lexer.current());
  shape.variable.external = linkage.external;
  parser.lexer.advance();
  if (!parse_variable_type(parser, shape)) return false;
  while (true) {
    PtxDeclarator declarator = shape;
    const PtxToken at = parser.lexer.current();
    if (!count_variable(parser) || !parse_variable_name(parser, declarator)) return false;
    if (accept(parser, '=')) {
      if (!parse_initial(parser, body, declarator)) return false;
    } else if (!declarator.dimensions.empty() && declarator.dimensions[0] == 0 && !linkage.external) {
      return fail(parser, at, quoted_ptx(declarator.name) + " needs a size");
    }
    if (!add_to_scope(parser, body, at, declarator)) return false;
    if (!accept(parser, ',')) break;
  }
  return expect(parser, ';');
}

bool declare_register(PtxParser& parser, PtxFunctionBody& body, const PtxToken& at, std::string_view name,
                      PtxType type) {
  std::vector<PtxRegister>& registers = body.function->registers;
  if (registers.size() >= max_ptx_registers || ++parser.registers > max_ptx_registers_total) {
    return fail(parser, at, "too many registers are declared");
  }
  if (!body.names.declare(name, {PtxNameKind::reg, static_cast<int>(registers.size())})) {
    return fail(parser, at, quoted_ptx(name) + " is declared twice in the same scope");
  }
  registers.push_back({std::string(name), type});
  ++body.single_registers;
  return true;
}

bool parse_registers(PtxParser& parser, PtxFunctionBody& body) {
  PtxLexer& lexer = parser.lexer;
  if (vector_width(lexer.current())) return fail_unsupported(parser, lexer.current(), "registers of a vector type");
  const auto type =
      lexer.current().kind == PtxTokenKind::dotted ? ptx_type_from_name(lexer.current().text.substr(1)) : std::nullopt;
  if (!type) return fail(parser, "expected the type of a register");
  lexer.advance();
  std::vector<PtxRegister>& registers = body.function->registers;
  do {
    const PtxToken at = lexer.current();
    std::string_view name;
    if (!expect_identifier(parser, "the name of a register", name)) return false;
    if (!accept(parser, '<')) {
      if (!declare_register(parser, body, at, name, *type)) return false;
      continue;
    }
    std::uint64_t count = 0;
    if (!expect_count(parser, "how many registers there are", max_ptx_registers, count) || !expect(parser, '>'))
      return false;
    parser.registers += count;
    if (registers.size() + count > max_ptx_registers || parser.registers > max_ptx_registers_total) {
      return fail(parser, at, "too many registers are declared");
    }
    const PtxName range{PtxNameKind::register_range, static_cast<int>(registers.size()),
                        static_cast<std::uint32_t>(count)};
    if (!body.register_ranges.declare(name, range)) {
      return fail(parser, at, quoted_ptx(name) + " is declared twice in the same scope");
    }
    // A long prefix times many registers would be far more memory than text.
    const std::string prefix(name.substr(0, 40));
    registers.reserve(std::max(registers.capacity(), registers.size() + count));
    for (std::uint64_t i = 0; i < count; ++i) registers.push_back({prefix + std::to_string(i), *type});
  } while (accept(parser, ','));
  return expect(parser, ';');
}

}  // namespace kw
