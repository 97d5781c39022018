#include <algorithm>
#include <bit>
#include <numeric>

#include "base/random.h"
#include "model/gpu/torch/decoder.h"

namespace kw {
namespace {

using at::Tensor;

constexpr std::int64_t alignment = 32;  // int32: 128 bytes
std::int64_t aligned(std::int64_t count) { return (count + alignment - 1) / alignment * alignment; }

Error refused(std::size_t row, const std::string& what) {
  return Error{"row " + std::to_string(row) + " of the step " + what, "", {}};
}

}  // namespace

Result<void> GpuDecoder::check(std::span<const DecoderRow> rows) const {
  if (static_cast<std::int64_t>(rows.size()) > options_.most_rows) {
    return Error{"a step has " + std::to_string(rows.size()) + " rows, at most " + std::to_string(options_.most_rows) +
                     " are possible",
                 "",
                 {}};
  }
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DecoderRow& row = rows[i];
    const auto count = static_cast<std::int64_t>(row.tokens.size());
    tokens += count;
    if (count == 0) return refused(i, "has no tokens");
    const std::int64_t end = row.first_position + count;
    if (row.first_position < 0 || end > context_) return refused(i, "goes beyond the context");
    if (static_cast<std::int64_t>(row.pages.size()) * 16 < end) return refused(i, "has too few pages");
    for (std::int64_t p = 0; p < (end + 15) / 16; ++p) {
      const std::int32_t page = row.pages[static_cast<std::size_t>(p)];
      if (page < 0 || page >= page_count_) return refused(i, "names a page that does not exist");
    }
    for (const std::int32_t token : row.tokens) {
      if (token < 0 || token >= model_->description.vocabulary)
        return refused(i, "has a token outside of the vocabulary");
    }
    if (row.adapter < -1 || row.adapter >= static_cast<std::int64_t>(model_->adapters.size())) {
      return refused(i, "names an adapter that does not exist");
    }
    if (!(row.rule.temperature >= 0)) return refused(i, "has a negative temperature");
  }
  if (tokens > options_.most_tokens) return Error{"a step has too many tokens", "", {}};
  return {};
}

GpuDecoder::Inputs GpuDecoder::views(const Tensor& buffer, std::int64_t tokens, std::int64_t rows) {
  std::int64_t at = alignment;
  const auto take = [&](std::int64_t count) {
    const Tensor view = buffer.narrow(0, at, count);
    at += aligned(count);
    return view;
  };
  Inputs inputs;
  inputs.paged.table_stride = buffer.narrow(0, 0, 1);
  inputs.tokens = take(tokens);
  inputs.positions = take(tokens);
  inputs.slots = take(tokens);
  inputs.adapters = take(tokens);
  inputs.paged.lengths = take(tokens);
  inputs.paged.table_of_row = take(tokens);
  inputs.rules = take(4 * rows).view({rows, 4});
  inputs.last = take(rows);
  inputs.tables_at = at;
  inputs.paged.tables = buffer.narrow(0, at, buffer.size(0) - at);
  return inputs;
}

// Whole prompts come first, so that they are one piece for the fast attention. `padded` rows, or 0: as many as there
// are.
GpuDecoder::StepPlan GpuDecoder::fill(std::span<const DecoderRow> rows, std::int64_t padded) {
  StepPlan plan;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_fresh = [&](std::size_t i) { return rows[i].first_position == 0 && rows[i].tokens.size() > 1; };
  std::ranges::stable_partition(order, is_fresh);
  std::int64_t tokens = 0, stride = 1;
  for (const std::size_t i : order) {
    tokens += static_cast<std::int64_t>(rows[i].tokens.size());
    const auto end = rows[i].first_position + static_cast<std::int64_t>(rows[i].tokens.size());
    stride = std::max(stride, (end + 15) / 16);
    if (padded > 0 || rows[i].sample) plan.sampled.push_back(i);
  }
  plan.single_tokens = tokens == static_cast<std::int64_t>(rows.size());
  plan.tokens = std::max(tokens, padded);
  plan.rows = std::max(static_cast<std::int64_t>(plan.sampled.size()), padded);

  const Inputs host = views(host_input_, plan.tokens, plan.rows);
  const auto ints = [](const Tensor& tensor) { return tensor.data_ptr<std::int32_t>(); };
  std::int32_t *ids = ints(host.tokens), *positions = ints(host.positions), *slots = ints(host.slots),
               *adapters = ints(host.adapters), *lengths = ints(host.paged.lengths),
               *table_of_row = ints(host.paged.table_of_row), *rules = ints(host.rules), *last = ints(host.last),
               *tables = ints(host.paged.tables);
  ints(host.paged.table_stride)[0] = static_cast<std::int32_t>(stride);
  plan.starts.host.push_back(0);
  std::int64_t at = 0, sampled = 0;
  for (std::size_t table = 0; table < order.size(); ++table) {
    const DecoderRow& row = rows[order[table]];
    const auto count = static_cast<std::int64_t>(row.tokens.size());
    const std::int64_t pages = (row.first_position + count + 15) / 16;
    std::copy_n(row.pages.data(), pages, tables + static_cast<std::int64_t>(table) * stride);
    for (std::int64_t k = 0; k < count; ++k, ++at) {
      const std::int64_t position = row.first_position + k;
      ids[at] = row.tokens[static_cast<std::size_t>(k)];
      positions[at] = static_cast<std::int32_t>(position);
      slots[at] = row.pages[static_cast<std::size_t>(position / 16)] * 16 + static_cast<std::int32_t>(position % 16);
      adapters[at] = row.adapter;
      lengths[at] = static_cast<std::int32_t>(position + 1);
      table_of_row[at] = static_cast<std::int32_t>(table);
    }
    if (is_fresh(order[table])) {
      plan.fresh = at;
      plan.starts.host.push_back(at);
      plan.starts.longest = std::max(plan.starts.longest, count);
    }
    if (padded == 0 && !row.sample) continue;
    const bool greedy = row.rule.temperature == 0;
    const std::uint64_t key = Random(row.rule.seed, static_cast<std::uint64_t>(row.answer_index)).next();
    rules[4 * sampled] = std::bit_cast<std::int32_t>(greedy ? 1.0f : 1.0f / row.rule.temperature);
    rules[4 * sampled + 1] = greedy ? 0 : 1;
    rules[4 * sampled + 2] = static_cast<std::int32_t>(static_cast<std::uint32_t>(key));
    rules[4 * sampled + 3] = static_cast<std::int32_t>(static_cast<std::uint32_t>(key >> 32));
    last[sampled++] = static_cast<std::int32_t>(at - 1);
  }
  for (; at < plan.tokens; ++at) {
    ids[at] = positions[at] = lengths[at] = table_of_row[at] = 0;
    slots[at] = adapters[at] = -1;
  }
  for (; sampled < plan.rows; ++sampled) {
    rules[4 * sampled] = std::bit_cast<std::int32_t>(1.0f);
    rules[4 * sampled + 1] = rules[4 * sampled + 2] = rules[4 * sampled + 3] = 0;
    last[sampled] = static_cast<std::int32_t>(sampled);
  }
  if (plan.fresh > 0) plan.starts.device = at::tensor(plan.starts.host, at::kInt).to(model_->device);
  plan.used = host.tables_at + std::max<std::int64_t>(1, static_cast<std::int64_t>(order.size()) * stride);
  return plan;
}

}  // namespace kw
