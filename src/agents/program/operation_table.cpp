// Which operation a name of PyTorch means, and what its arguments are.

#include "agents/program/operation_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace kw::program {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

SignatureEntry entry_of(std::string_view text) {
  SignatureEntry made;
  const std::size_t equals = text.find('=');
  std::string_view name = trimmed(text.substr(0, equals));
  if (name.starts_with('*')) {
    made.takes_rest = true;
    name.remove_prefix(1);
  }
  made.name = std::string(name);
  if (equals == std::string_view::npos) return made;
  made.has_default = true;
  made.default_text = std::string(trimmed(text.substr(equals + 1)));
  return made;
}

std::map<std::string, TableEntry, std::less<>> make_table() {
  std::map<std::string, TableEntry, std::less<>> made;
  for (const auto operations :
       {element_operations(), activation_operations(), tensor_operations(), movement_operations(), part_operations(),
        index_operations(), reduction_operations(), product_operations(), window_operations(), norm_operations(),
        loss_operations(), attention_operations(), resample_operations()}) {
    for (const Operation& operation : operations) {
      TableEntry entry{&operation, {}};
      std::string_view rest = operation.signature;
      while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        entry.signature.push_back(entry_of(rest.substr(0, comma)));
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      }
      std::string_view names = operation.names;
      while (!names.empty()) {
        const std::size_t space = names.find(' ');
        KW_CHECK(made.emplace(std::string(names.substr(0, space)), entry).second);
        names = space == std::string_view::npos ? std::string_view{} : names.substr(space + 1);
      }
    }
  }
  return made;
}

const std::map<std::string, TableEntry, std::less<>>& table() {
  static const auto made = make_table();
  return made;
}

// Names that PyTorch's functions have for what the signatures call otherwise.
std::string_view alias_of(std::string_view name) {
  static const std::map<std::string_view, std::string_view> aliases{
      {"axis", "dim"},
      {"keepdims", "keepdim"},
      {"split_size_or_sections", "size"},
      {"split_size", "size"},
      {"split_sizes", "size"},
      {"chunks", "size"},
      {"upscale_factor", "factor"},
      {"downscale_factor", "factor"},
      {"mat2", "other"},
      {"vec2", "other"},
      {"vec", "other"},
      {"tensor", "other"},
      {"mat1", "first"},
      {"batch1", "first"},
      {"batch2", "second"},
      {"self", "input"},
      {"indices", "index"},
      {"ord", "p"},
      {"x", "input"},
      {"n_classes", "num_classes"},
      {"value", "value"},
      {"offset", "diagonal"},
      {"dim", "dims"},
      {"a", "input"},
      {"b", "other"},
      {"A", "input"},
      {"end", "length"},
      {"index", "start"},
  };
  const auto found = aliases.find(name);
  return found == aliases.end() ? std::string_view{} : found->second;
}

Value default_of(const std::string& text, Lowering& to) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return Value::of_bool(text == "True");
  if (text.starts_with('\'')) {
    Value made;
    made.kind = Value::Kind::text;
    made.text = text.substr(1, text.size() - 2);
    return made;
  }
  if (text.find_first_of(".e") == std::string::npos) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return Value::of_whole(number);
  }
  Value made;
  made.kind = Value::Kind::real;
  made.real = to.graph.real(std::strtod(text.c_str(), nullptr), Dtype::float64);
  return made;
}

}  // namespace

const TableEntry* find_entry(std::string_view module, std::string_view name) {
  const auto& all = table();
  const bool functional = module == "F" || module == "torch.nn.functional";
  const std::string own = (functional ? "F." : std::string(module) + ".") + std::string(name);
  auto found = all.find(own);
  if (found == all.end()) found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

std::optional<Arguments> bind(Lowering& to, const TableEntry& entry, const std::string& function,
                              const std::vector<Value>& values, const std::vector<std::string>& keys) {
  Arguments made;
  made.function = function;
  const std::size_t count = entry.signature.size();
  made.values.resize(count);
  made.given.resize(count, false);
  for (const SignatureEntry& each : entry.signature) made.names.push_back(each.name);
  std::size_t next = 0;
  const auto refused = [&](const std::string& why) {
    to.fail(fmt::format("`{}` with {}", function, why));
    return std::nullopt;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (keys[i].empty()) {
      if (next >= count) return refused("so many arguments");
      if (entry.signature[next].takes_rest) {
        made.values[next].kind = Value::Kind::list;
        made.values[next].items.push_back(values[i]);
        made.given[next] = true;
        continue;
      }
      made.values[next] = values[i];
      made.given[next++] = true;
      continue;
    }
    auto found = std::find(made.names.begin(), made.names.end(), keys[i]);
    if (found == made.names.end()) found = std::find(made.names.begin(), made.names.end(), alias_of(keys[i]));
    if (found == made.names.end()) return refused(fmt::format("the argument `{}`", keys[i]));
    const auto place = static_cast<std::size_t>(found - made.names.begin());
    made.values[place] = values[i];
    made.given[place] = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (made.given[i]) continue;
    if (entry.signature[i].takes_rest) {
      made.values[i].kind = Value::Kind::list;
    } else if (entry.signature[i].has_default) {
      made.values[i] = default_of(entry.signature[i].default_text, to);
    } else {
      return refused(fmt::format("no argument `{}`", made.names[i]));
    }
  }
  return made;
}

}  // namespace kw::program
