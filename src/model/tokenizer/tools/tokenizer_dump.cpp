// Ids of texts, for comparison with other programs (scripts/tokenizer_parity.py).
//   tokenizer_dump json FILE | arrays FILE | tiktoken FILE [--special] [--bench TEXT]
//   tokenizer_dump train SIZE CORPUS OUT.json [gpt-2|smollm|qwen2]
// Standard input: one JSON string a line, or {"hex": "..."} for bytes that are not UTF-8. Output: {"ids": [...], "hex":
// decoded bytes}.
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "model/tokenizer/bpe_training.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary_sources.h"

namespace kw {
namespace {

constexpr std::size_t file_limit_bytes = 256u << 20;

Result<Tokenizer> load(const std::string& kind, const std::string& path) {
  if (kind == "json") return load_tokenizer_json(path);
  KW_TRY(const std::string text, read_file(path, file_limit_bytes));
  if (kind == "arrays") {
    const auto arrays = nlohmann::json::parse(text);
    VocabularyArrays vocabulary;
    vocabulary.pre = arrays.at("pre");
    vocabulary.tokens = arrays.at("tokens");
    vocabulary.types = arrays.at("types").get<std::vector<int>>();
    vocabulary.merges = arrays.at("merges");
    KW_TRY(TokenizerSpec spec, spec_from_gguf(vocabulary));
    return Tokenizer::make(std::move(spec));
  }
  std::vector<std::string> special{"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  KW_TRY(TokenizerSpec spec, spec_from_tiktoken(text, qwen2_pattern, true, special));
  return Tokenizer::make(std::move(spec));
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    for (const int shift : {4, 0}) hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15];
  }
  return hex;
}

int fail(const Error& error) {
  std::cerr << to_string(error) << "\n";
  return 1;
}

// Five passes over the file with one encoder, in processor time; the first also fills the cache.
int bench(const Tokenizer& tokenizer, const std::string& path) {
  const auto text = read_file(path, file_limit_bytes);
  if (!text.ok()) return fail(text.error());
  Encoder encoder(tokenizer);
  for (int pass = 0; pass < 5; ++pass) {
    const std::clock_t start = std::clock();
    const auto ids = encoder.encode(*text);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!ids.ok()) return fail(ids.error());
    std::cout << "pass " << pass << ": " << text->size() / 1e6 << " MB, " << ids->size() << " tokens, "
              << text->size() / 1e6 / seconds << " MB/s, " << ids->size() / 1e6 / seconds << " Mtok/s\n";
  }
  return 0;
}

int train(std::size_t size, const std::string& corpus, const std::string& out, const std::string& pre) {
  const auto text = read_file(corpus, file_limit_bytes);
  if (!text.ok()) return fail(text.error());
  const auto start = std::chrono::steady_clock::now();
  BpeTrainingOptions options{.vocabulary = size, .special = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}};
  options.nfc = pre == "qwen2";
  if (pre == "qwen2") options.pre_tokenizer = pattern_steps(qwen2_pattern);
  if (pre == "smollm") options.pre_tokenizer = smollm_steps();
  const auto spec = train_bpe({*text}, options);
  if (!spec.ok()) return fail(spec.error());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cerr << text->size() / 1e6 << " MB to " << spec->tokens.size() << " tokens in " << seconds << " s\n";
  const auto written = write_file_atomic(out, to_tokenizer_json(*spec));
  return written.ok() ? 0 : fail(written.error());
}

int dump(const std::vector<std::string>& arguments) {
  if (arguments.size() >= 4 && arguments[0] == "train") {
    return train(std::stoul(arguments[1]), arguments[2], arguments[3], arguments.size() > 4 ? arguments[4] : "gpt-2");
  }
  if (arguments.size() < 2) {
    std::cerr << "tokenizer_dump json|arrays|tiktoken FILE [--special] [--bench TEXT]\n";
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto tokenizer = load(arguments[0], arguments[1]);
  if (!tokenizer.ok()) return fail(tokenizer.error());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cerr << tokenizer->size() << " tokens loaded in " << seconds << " s, " << tokenizer->missing_bytes().size()
            << " bytes without a token\n";
  SpecialTokens special = SpecialTokens::as_text;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (arguments[i] == "--special") special = SpecialTokens::recognised;
    if (arguments[i] == "--bench" && i + 1 < arguments.size()) return bench(*tokenizer, arguments[i + 1]);
  }
  Encoder encoder(*tokenizer);
  for (std::string line; std::getline(std::cin, line);) {
    const auto value = nlohmann::json::parse(line);
    const std::string text = value.is_string() ? value.get<std::string>() : from_hex(value.at("hex"));
    const auto ids = encoder.encode(text, special);
    if (!ids.ok()) return fail(ids.error());
    const auto decoded = tokenizer->decode(*ids);
    if (!decoded.ok()) return fail(decoded.error());
    std::cout << nlohmann::json{{"ids", *ids}, {"hex", to_hex(*decoded)}}.dump() << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) { return kw::dump({argv + 1, argv + argc}); }
