#include "model/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/bounded_json.h"
#include "base/file.h"
#include "model/tokenizer/byte_alphabet.h"

namespace kw {
namespace {

using Json = nlohmann::json;
using Kind = PreTokenizerStep::Kind;

// The values bound the memory to some 300 MB.
constexpr JsonBounds tokenizer_bounds{.max_depth = 24, .min_bytes_per_value = 1, .max_values = 2'000'000};

// Thrown and caught in this file alone: what a file says wrong, from whatever depth.
struct Refused : std::exception {
  explicit Refused(std::string what) : message(std::move(what)) {}
  std::string message;
};

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) throw Refused("an object with '" + std::string(name) + "' was expected");
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool flag(const Json& object, const char* name, bool otherwise) {
  const Json* value = member(object, name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) throw Refused("'" + std::string(name) + "' is neither true nor false");
  return value->get<bool>();
}

std::string text_of(const Json& object, const char* name) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->is_string()) throw Refused("'" + std::string(name) + "' is missing or no string");
  return value->get<std::string>();
}

const Json& list_of(const Json& object, const char* name) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->is_array()) throw Refused("'" + std::string(name) + "' is missing or no list");
  return *value;
}

TokenId id_from(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= max_vocabulary) {
    throw Refused("an id is no number from 0 to " + std::to_string(max_vocabulary - 1));
  }
  return static_cast<TokenId>(value.get<std::uint64_t>());
}

bool normalizer_is_nfc(const Json& normalizer) {
  const std::string type = text_of(normalizer, "type");
  if (type == "NFC") return true;
  if (type != "Sequence") throw Refused("the normalizer " + type + " is not supported (NFC is)");
  bool nfc = false;
  for (const Json& part : list_of(normalizer, "normalizers")) nfc = normalizer_is_nfc(part) || nfc;
  return nfc;
}

SplitBehavior behavior_from(const std::string& name) {
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  throw Refused("the split behavior " + name + " is not known");
}

void read_steps(const Json& step, std::vector<PreTokenizerStep>& steps) {
  const std::string type = text_of(step, "type");
  PreTokenizerStep out;
  if (type == "Sequence") {
    for (const Json& part : list_of(step, "pretokenizers")) read_steps(part, steps);
    return;
  }
  if (type == "Split") {
    const Json* pattern = member(step, "pattern");
    if (pattern == nullptr) throw Refused("a Split has no pattern");
    out.literal = member(*pattern, "String") != nullptr;
    out.pattern = text_of(*pattern, out.literal ? "String" : "Regex");
    out.behavior = behavior_from(text_of(step, "behavior"));
    out.invert = flag(step, "invert", false);
  } else if (type == "Digits") {
    out.kind = Kind::digits;
    out.individual_digits = flag(step, "individual_digits", false);
  } else if (type == "ByteLevel") {
    out.kind = Kind::byte_level;
    out.add_prefix_space = flag(step, "add_prefix_space", true);
    out.use_regex = flag(step, "use_regex", true);
  } else {
    throw Refused("the pre-tokenizer " + type + " is not supported (Split, Digits, ByteLevel are)");
  }
  if (steps.size() >= max_pre_tokenizer_steps) throw Refused("the pre-tokenizer has too many steps");
  steps.push_back(std::move(out));
}

void check_post_processor(const Json& processor) {
  const std::string type = text_of(processor, "type");
  if (type == "ByteLevel" || type == "TemplateProcessing") return;
  if (type != "Sequence") throw Refused("the post-processor " + type + " is not supported");
  for (const Json& part : list_of(processor, "processors")) check_post_processor(part);
}

void read_vocabulary(const Json& model, TokenizerSpec& spec) {
  const Json* vocabulary = member(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) throw Refused("'vocab' is missing or no object");
  spec.tokens.resize(vocabulary->size());
  std::vector<bool> used(spec.tokens.size(), false);
  for (const auto& [token, value] : vocabulary->items()) {
    const auto id = static_cast<std::size_t>(id_from(value));
    if (id >= used.size() || used[id]) {
      throw Refused("the id " + std::to_string(id) + " of '" + token.substr(0, 60) +
                    "' occurs twice or leaves a gap: there are " + std::to_string(used.size()) + " tokens");
    }
    used[id] = true;
    spec.tokens[id] = token;
  }
}

void read_merges(const Json& model, TokenizerSpec& spec) {
  std::unordered_map<std::string_view, TokenId> ids;
  ids.reserve(spec.tokens.size());
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) ids.emplace(spec.tokens[id], static_cast<TokenId>(id));
  const auto id_of = [&](std::string_view token) {
    const auto found = ids.find(token);
    if (found == ids.end()) {
      throw Refused("merge " + std::to_string(spec.merges.size()) + " names '" + std::string(token.substr(0, 60)) +
                    "', which is no token");
    }
    return found->second;
  };
  for (const Json& merge : list_of(model, "merges")) {
    std::string_view left, right;
    if (merge.is_string()) {
      const std::string_view both = merge.get_ref<const std::string&>();
      const std::size_t space = both.find(' ');
      if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
        throw Refused("merge " + std::to_string(spec.merges.size()) + " is not two tokens with a space between");
      }
      left = both.substr(0, space);
      right = both.substr(space + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get_ref<const std::string&>();
      right = merge[1].get_ref<const std::string&>();
    } else {
      throw Refused("merge " + std::to_string(spec.merges.size()) + " is neither a string nor a pair of strings");
    }
    spec.merges.push_back({id_of(left), id_of(right), static_cast<std::int32_t>(spec.merges.size())});
  }
  if (const Json* unknown = member(model, "unk_token")) {
    // With a token for every byte nothing is ever unknown, and the setting says nothing.
    for (int byte = 0; byte < 0xF5; ++byte) {
      if (byte != 0xC0 && byte != 0xC1 && !ids.contains(to_byte_alphabet(std::string(1, static_cast<char>(byte))))) {
        throw Refused("unk_token " + unknown->dump() + " with bytes that have no token is not supported");
      }
    }
  }
}

void read_model(const Json& model, TokenizerSpec& spec) {
  if (member(model, "type") != nullptr && text_of(model, "type") != "BPE") {
    throw Refused("the model " + text_of(model, "type") + " is not supported (BPE is)");
  }
  if (const Json* dropout = member(model, "dropout"); dropout != nullptr && *dropout != 0) {
    throw Refused("dropout is not supported");
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (member(model, affix) != nullptr && !text_of(model, affix).empty()) {
      throw Refused(std::string(affix) + " is not supported");
    }
  }
  if (flag(model, "byte_fallback", false)) throw Refused("byte_fallback is not supported");
  spec.ignore_merges = flag(model, "ignore_merges", false);
  read_vocabulary(model, spec);
  read_merges(model, spec);
}

TokenizerSpec read_spec(const Json& file) {
  TokenizerSpec spec;
  if (const Json* normalizer = member(file, "normalizer")) spec.nfc = normalizer_is_nfc(*normalizer);
  const Json* pre_tokenizer = member(file, "pre_tokenizer");
  if (pre_tokenizer == nullptr) throw Refused("there is no pre_tokenizer; only byte-level tokenizers are supported");
  read_steps(*pre_tokenizer, spec.pre_tokenizer);
  if (const Json* processor = member(file, "post_processor")) check_post_processor(*processor);
  const Json* decoder = member(file, "decoder");
  if (decoder == nullptr || text_of(*decoder, "type") != "ByteLevel") throw Refused("the decoder is not ByteLevel");
  const Json* model = member(file, "model");
  if (model == nullptr) throw Refused("there is no model");
  read_model(*model, spec);
  if (member(file, "added_tokens") == nullptr) return spec;
  for (const Json& entry : list_of(file, "added_tokens")) {
    AddedToken token;
    const Json* id = member(entry, "id");
    if (id == nullptr) throw Refused("an added token has no id");
    token.id = id_from(*id);
    token.content = text_of(entry, "content");
    token.special = flag(entry, "special", false);
    token.normalized = flag(entry, "normalized", !token.special);
    token.lstrip = flag(entry, "lstrip", false);
    token.rstrip = flag(entry, "rstrip", false);
    if (flag(entry, "single_word", false)) {
      throw Refused("the added token '" + token.content.substr(0, 60) + "' is single_word, which is not supported");
    }
    spec.added.push_back(std::move(token));
  }
  return spec;
}

const char* name_of(SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::removed:
      return "Removed";
    case SplitBehavior::isolated:
      return "Isolated";
    case SplitBehavior::merged_with_previous:
      return "MergedWithPrevious";
    case SplitBehavior::merged_with_next:
      return "MergedWithNext";
    case SplitBehavior::contiguous:
      return "Contiguous";
  }
  return "";
}

Json step_to_json(const PreTokenizerStep& step) {
  if (step.kind == Kind::digits) return {{"type", "Digits"}, {"individual_digits", step.individual_digits}};
  if (step.kind == Kind::byte_level) {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", step.add_prefix_space},
            {"trim_offsets", true},
            {"use_regex", step.use_regex}};
  }
  return {{"type", "Split"},
          {"pattern", {{step.literal ? "String" : "Regex", step.pattern}}},
          {"behavior", name_of(step.behavior)},
          {"invert", step.invert}};
}

}  // namespace

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text) {
  if (text.size() > max_tokenizer_json_bytes) return Error{"a tokenizer.json of more than 32 MiB is not read", "", {}};
  KW_TRY(const Json file, parse_bounded_json(text, tokenizer_bounds));
  try {
    return read_spec(file);
  } catch (const Refused& refused) {
    return Error{refused.message, "", {}};
  }
}

Result<Tokenizer> load_tokenizer_json(const std::filesystem::path& path) {
  KW_TRY(const std::string text, read_file(path, max_tokenizer_json_bytes));
  auto spec = parse_tokenizer_json(text);
  auto tokenizer = spec.ok() ? Tokenizer::make(std::move(*spec)) : Result<Tokenizer>(std::move(spec).error());
  if (tokenizer.ok()) return tokenizer;
  Error error = std::move(tokenizer).error();
  error.where.file = path.string();
  return error;
}

std::string to_tokenizer_json(const TokenizerSpec& spec) {
  const auto quoted = [](const std::string& token) { return Json(token).dump(); };
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json steps = Json::array();
  for (const PreTokenizerStep& step : spec.pre_tokenizer) steps.push_back(step_to_json(step));
  // The vocabulary by hand, in the order of ids: a person can read it, and two versions can be compared.
  std::string out = "{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n\"added_tokens\": [";
  for (std::size_t i = 0; i < spec.added.size(); ++i) {
    const AddedToken& token = spec.added[i];
    const Json entry = {{"id", token.id},          {"content", token.content}, {"single_word", false},
                        {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
                        {"special", token.special}};
    out += (i == 0 ? "\n" : ",\n") + entry.dump();
  }
  out += "],\n\"normalizer\": " + std::string(spec.nfc ? R"({"type": "NFC"})" : "null");
  out += ",\n\"pre_tokenizer\": " + Json{{"type", "Sequence"}, {"pretokenizers", steps}}.dump();
  out += ",\n\"post_processor\": null,\n\"decoder\": " + byte_level.dump();
  out +=
      ",\n\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": null, ";
  out += "\"end_of_word_suffix\": null, \"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": ";
  out += spec.ignore_merges ? "true" : "false";
  out += ",\n\"vocab\": {";
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    out += (id == 0 ? "\n" : ",\n") + quoted(spec.tokens[id]) + ": " + std::to_string(id);
  }
  out += "},\n\"merges\": [";
  std::vector<Merge> merges = spec.merges;
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < merges.size(); ++i) {
    out += (i == 0 ? "\n[" : ",\n[") + quoted(spec.tokens[merges[i].left]) + ", " +
           quoted(spec.tokens[merges[i].right]) + "]";
  }
  return out + "]}\n}\n";
}

}  // namespace kw
