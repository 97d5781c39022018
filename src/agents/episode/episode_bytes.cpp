#include "agents/episode/episode_bytes.h"

#include <bit>
#include <cmath>

#include "base/bytes.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t most_turns = 1024, most_samples = 65536;
constexpr std::int64_t none = std::int64_t{1} << 40;  // a KernelTurn that is not there

void write(ByteWriter& writer, double value) { writer.number(std::bit_cast<std::uint64_t>(value)); }
double read_double(ByteReader& reader) { return std::bit_cast<double>(reader.number()); }
void write_whole(ByteWriter& writer, std::int64_t value) { writer.number(static_cast<std::uint64_t>(value)); }
std::int64_t read_whole(ByteReader& reader) { return static_cast<std::int64_t>(reader.number()); }

template <class Number>
void write(ByteWriter& writer, const std::vector<Number>& numbers) {
  writer.text({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)});
}
template <class Number>
std::vector<Number> read_numbers(ByteReader& reader) {
  const std::string bytes = reader.text();
  if (bytes.size() % sizeof(Number) != 0) reader.fail();
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

template <class Enum>
Enum read_named(ByteReader& reader, Enum last) {
  return static_cast<Enum>(reader.count(static_cast<std::uint64_t>(last)));
}

// Verdicts travel as a store keeps them: who reads one from there has the same.
void write(ByteWriter& writer, const std::shared_ptr<const Verdict>& verdict) {
  writer.text(verdict ? to_json(*verdict).dump(-1, ' ', false, Json::error_handler_t::replace) : std::string());
}
std::shared_ptr<const Verdict> read_verdict(ByteReader& reader) {
  const std::string text = reader.text();
  if (text.empty()) return nullptr;
  const Json json = Json::parse(text, nullptr, false);
  auto verdict = json.is_discarded() ? Result<Verdict>(Error{}) : verdict_from_json(json);
  if (verdict.ok()) return std::make_shared<const Verdict>(std::move(verdict).value());
  reader.fail();
  return nullptr;
}

void write(ByteWriter& writer, const TurnSample& sample) {
  write(writer, sample.tokens);
  write(writer, sample.log_probs);
  write_whole(writer, sample.usage.prompt_tokens);
  write_whole(writer, sample.usage.answer_tokens);
  writer.number(static_cast<std::uint64_t>(sample.finish));
  write_whole(writer, sample.weights_version);
  write_whole(writer, sample.last_weights_version);
  writer.text(sample.text);
  writer.number(static_cast<std::uint64_t>(sample.outcome));
  writer.text(sample.message);
  writer.text(sample.kernel);
  writer.text(sample.said);
  writer.text(sample.held_to);
  write_whole(writer, sample.resampled);
  std::string strategies;
  for (const Strategy strategy : sample.strategies) strategies += std::string(to_string(strategy)) + ",";
  writer.text(strategies);
  writer.number(sample.predicted_correct ? 1 : 0);
  write(writer, sample.predicted_correct.value_or(0));
  writer.number(sample.skipped ? 1 : 0);
  write(writer, sample.verdict);
  write(writer, sample.reward);
  writer.number(sample.rewarded ? 1 : 0);
}

TurnSample read_sample(ByteReader& reader) {
  TurnSample sample;
  sample.tokens = read_numbers<std::int32_t>(reader);
  sample.log_probs = read_numbers<float>(reader);
  if (sample.tokens.size() != sample.log_probs.size()) reader.fail();
  sample.usage.prompt_tokens = read_whole(reader);
  sample.usage.answer_tokens = read_whole(reader);
  sample.finish = read_named(reader, FinishReason::failed);
  sample.weights_version = read_whole(reader);
  sample.last_weights_version = read_whole(reader);
  sample.text = reader.text();
  sample.outcome = read_named(reader, AnswerOutcome::look_alikes);
  sample.message = reader.text();
  sample.kernel = reader.text();
  sample.said = reader.text();
  sample.held_to = reader.text();
  sample.resampled = read_whole(reader);
  const std::string strategies = reader.text();
  for (std::size_t at = 0; at < strategies.size();) {
    const std::size_t end = strategies.find(',', at);
    const auto strategy = strategy_from_string(std::string_view(strategies).substr(at, end - at));
    if (!strategy || end == std::string::npos) {
      reader.fail();
      break;
    }
    sample.strategies.push_back(*strategy);
    at = end + 1;
  }
  const bool predicted = reader.count(1) == 1;
  const double probability = read_double(reader);
  if (predicted) sample.predicted_correct = probability;
  sample.skipped = reader.count(1) == 1;
  sample.verdict = read_verdict(reader);
  sample.reward = read_double(reader);
  sample.rewarded = reader.count(1) == 1;
  return sample;
}

void write(ByteWriter& writer, const Turn& turn) {
  writer.number(static_cast<std::uint64_t>(turn.role));
  write(writer, turn.prompt);
  write_whole(writer, turn.given_turn);
  write_whole(writer, turn.chosen);
  write(writer, turn.seconds);
  writer.number(turn.samples.size());
  for (const TurnSample& sample : turn.samples) write(writer, sample);
}

Turn read_turn(ByteReader& reader, int index) {
  Turn turn;
  turn.index = index;
  const std::uint64_t role = reader.number();
  turn.role = static_cast<AgentRole>(role);
  if (role > 255 || !agent_role_from_string(to_string(turn.role))) reader.fail();
  turn.prompt = read_numbers<std::int32_t>(reader);
  const std::int64_t given = read_whole(reader);
  if (given < -1 || given >= index) reader.fail();
  turn.given_turn = static_cast<int>(given);
  turn.chosen = read_whole(reader);
  turn.seconds = read_double(reader);
  const std::uint64_t samples = reader.count(most_samples);
  for (std::uint64_t i = 0; i < samples && !reader.failed(); ++i) turn.samples.push_back(read_sample(reader));
  if (turn.chosen < 0 || turn.chosen >= static_cast<std::int64_t>(turn.samples.size())) reader.fail();
  return turn;
}

void write(ByteWriter& writer, const KernelTurn& turn) { write_whole(writer, turn ? *turn : none); }
KernelTurn read_kernel_turn(ByteReader& reader, std::size_t turns) {
  const std::int64_t turn = read_whole(reader);
  if (turn == none) return std::nullopt;
  if (turn < -1 || turn >= static_cast<std::int64_t>(turns)) reader.fail();
  return static_cast<int>(turn);
}

}  // namespace

std::string to_bytes(const Episode& episode) {
  ByteWriter writer;
  writer.number(episode.request.number);
  write(writer, episode.given_verdict);
  writer.number(episode.turns.size());
  for (const Turn& turn : episode.turns) write(writer, turn);
  write(writer, episode.current);
  write(writer, episode.best);
  writer.number(static_cast<std::uint64_t>(episode.end));
  writer.text(episode.problem);
  write_whole(writer, episode.tokens);
  write(writer, episode.seconds);
  writer.number(episode.from_store ? 1 : 0);
  write_whole(writer, episode.resumed);
  return writer.take();
}

Result<Episode> episode_from_bytes(std::string_view bytes, EpisodeRequest request) {
  ByteReader reader(bytes);
  Episode episode;
  episode.request = std::move(request);
  if (reader.number() != episode.request.number) reader.fail();
  episode.given_verdict = read_verdict(reader);
  const std::uint64_t turns = reader.count(most_turns);
  for (std::uint64_t i = 0; i < turns && !reader.failed(); ++i)
    episode.turns.push_back(read_turn(reader, static_cast<int>(i)));
  episode.current = read_kernel_turn(reader, episode.turns.size());
  episode.best = read_kernel_turn(reader, episode.turns.size());
  episode.end = read_named(reader, EpisodeEnd::cancelled);
  episode.problem = reader.text();
  episode.tokens = read_whole(reader);
  episode.seconds = read_double(reader);
  episode.from_store = reader.count(1) == 1;
  episode.resumed = read_whole(reader);
  if (!reader.complete()) return Error{"these bytes are not the episode that was asked for", "", {}};
  return episode;
}

}  // namespace kw
