#include "kernel/gpu/message.h"

#include <bit>

namespace kw {
namespace {

constexpr std::uint64_t list_limit = 1u << 20;
constexpr std::uint64_t batch_limit = 256;

class Writer : public ByteWriter {
 public:
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void reals(const std::vector<double>& values) {
    number(values.size());
    for (const double value : values) real(value);
  }
  void numbers(const std::vector<std::uint64_t>& values) {
    number(values.size());
    for (const std::uint64_t value : values) number(value);
  }
  void texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
  }
  void samples(const std::vector<OutputSample>& values) {
    number(values.size());
    for (const OutputSample& sample : values) {
      number(sample.chunk_bytes);
      numbers(sample.offsets_bytes);
    }
  }
  void timed(const TimedPlan& plan) {
    number(plan.slot);
    write(*this, plan.plan);
  }
  void memory(const MemoryState& state) {
    number(state.inputs_changed ? 1 : 0);
    number(static_cast<std::uint64_t>(state.overrun_buffer));
    number(state.state_left ? 1 : 0);
  }
};

class Reader : public ByteReader {
 public:
  using ByteReader::ByteReader;
  double real() { return std::bit_cast<double>(number()); }
  std::vector<double> reals() {
    std::vector<double> values(count(list_limit));
    for (double& value : values) value = real();
    return values;
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> values(count(list_limit));
    for (std::uint64_t& value : values) value = number();
    return values;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    const std::uint64_t total = count(list_limit);
    for (std::uint64_t i = 0; i < total && !failed(); ++i) values.push_back(text());
    return values;
  }
  std::vector<OutputSample> samples() {
    std::vector<OutputSample> values;
    const std::uint64_t total = count(list_limit);
    for (std::uint64_t i = 0; i < total && !failed(); ++i) {
      OutputSample sample;
      sample.chunk_bytes = number();
      sample.offsets_bytes = numbers();
      values.push_back(std::move(sample));
    }
    return values;
  }
  TimedPlan timed() {
    TimedPlan plan;
    plan.slot = number();
    plan.plan = read_gpu_plan(*this);
    return plan;
  }
  MemoryState memory() {
    MemoryState state;
    state.inputs_changed = number() != 0;
    state.overrun_buffer = static_cast<std::int64_t>(number());
    state.state_left = number() != 0;
    return state;
  }
};

template <class T>
Result<T> finished(const Reader& reader, T value, const char* what) {
  if (!reader.complete()) return Error{std::string(what) + " is malformed", "", {}};
  return value;
}

}  // namespace

std::string encode(const GpuFacts& facts) {
  Writer writer;
  writer.text(facts.name);
  writer.text(facts.uuid);
  for (const int value : {facts.capability, facts.multiprocessors, facts.driver_version, facts.clock_khz,
                          facts.memory_clock_khz, facts.memory_bus_bits})
    writer.number(static_cast<std::uint64_t>(value));
  writer.number(facts.memory_bytes);
  writer.number(facts.l2_bytes);
  writer.number(facts.reads_host_memory ? 1 : 0);
  writer.text(facts.protection);
  writer.number(facts.confined ? 1 : 0);
  return writer.take();
}

Result<GpuFacts> decode_facts(std::string_view bytes) {
  Reader reader(bytes);
  GpuFacts facts;
  facts.name = reader.text();
  facts.uuid = reader.text();
  for (int* value : {&facts.capability, &facts.multiprocessors, &facts.driver_version, &facts.clock_khz,
                     &facts.memory_clock_khz, &facts.memory_bus_bits})
    *value = static_cast<int>(reader.number());
  facts.memory_bytes = reader.number();
  facts.l2_bytes = reader.number();
  facts.reads_host_memory = reader.number() != 0;
  facts.protection = reader.text();
  facts.confined = reader.number() != 0;
  return finished(reader, std::move(facts), "the worker's greeting");
}

std::string encode(const ModuleRequest& request) {
  Writer writer;
  writer.number(request.slot);
  writer.text(request.image);
  writer.texts(request.kernels);
  return writer.take();
}

Result<ModuleRequest> decode_module_request(std::string_view bytes) {
  Reader reader(bytes);
  ModuleRequest request;
  request.slot = reader.number();
  request.image = reader.text();
  request.kernels = reader.texts();
  return finished(reader, std::move(request), "the module");
}

std::string encode(const InputsRequest& request) {
  Writer writer;
  writer.number(request.id);
  writer.number(request.tensors.size());
  for (const InputLayout& tensor : request.tensors) {
    writer.number(tensor.bytes);
    writer.number(tensor.file_bytes);
    writer.number(tensor.recipe ? 1 : 0);
    if (!tensor.recipe) continue;
    const DrawRecipe& recipe = *tensor.recipe;
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(recipe.kind), recipe.element_bytes, recipe.table_elements, recipe.key,
          std::uint64_t{recipe.has_range}, recipe.line_elements, recipe.parts, recipe.steady_parts})
      writer.number(value);
    writer.real(recipe.low);
    writer.real(recipe.high);
  }
  return writer.take();
}

Result<InputsRequest> decode_inputs_request(std::string_view bytes) {
  Reader reader(bytes);
  InputsRequest request;
  request.id = reader.number();
  const std::uint64_t tensors = reader.count(list_limit);
  for (std::uint64_t i = 0; i < tensors && !reader.failed(); ++i) {
    InputLayout tensor;
    tensor.bytes = reader.number();
    tensor.file_bytes = reader.number();
    if (reader.number() != 0) {
      DrawRecipe recipe;
      recipe.kind = static_cast<DrawRecipe::Kind>(reader.count(2));
      recipe.element_bytes = reader.count(8);
      recipe.table_elements = reader.number();
      recipe.key = reader.number();
      recipe.has_range = reader.number() != 0;
      recipe.line_elements = reader.number();
      recipe.parts = reader.number();
      recipe.steady_parts = reader.number();
      recipe.low = reader.real();
      recipe.high = reader.real();
      tensor.recipe = recipe;
    }
    request.tensors.push_back(tensor);
  }
  return finished(reader, std::move(request), "the list of inputs");
}

std::string encode(const std::vector<RunRequest>& requests) {
  Writer writer;
  writer.number(requests.size());
  for (const RunRequest& request : requests) {
    writer.number(request.slot);
    writer.number(request.inputs);
    writer.number(request.placement_seed);
    write(writer, request.plan);
    writer.samples(request.samples);
  }
  return writer.take();
}

Result<std::vector<RunRequest>> decode_run_requests(std::string_view bytes) {
  Reader reader(bytes);
  std::vector<RunRequest> requests;
  const std::uint64_t count = reader.count(batch_limit);
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
    RunRequest request;
    request.slot = reader.number();
    request.inputs = reader.number();
    request.placement_seed = reader.number();
    request.plan = read_gpu_plan(reader);
    request.samples = reader.samples();
    requests.push_back(std::move(request));
  }
  return finished(reader, std::move(requests), "the list of runs");
}

std::string encode(const std::vector<RunReply>& replies) {
  Writer writer;
  writer.number(replies.size());
  for (const RunReply& reply : replies) {
    writer.texts(reply.outputs);
    writer.memory(reply.memory);
    writer.real(reply.time_us);
  }
  return writer.take();
}

Result<std::vector<RunReply>> decode_run_replies(std::string_view bytes) {
  Reader reader(bytes);
  std::vector<RunReply> replies;
  const std::uint64_t count = reader.count(batch_limit);
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
    RunReply reply;
    reply.outputs = reader.texts();
    reply.memory = reader.memory();
    reply.time_us = reader.real();
    replies.push_back(std::move(reply));
  }
  return finished(reader, std::move(replies), "the worker's answer");
}

std::string encode(const TimeRequest& request) {
  Writer writer;
  writer.number(request.inputs);
  writer.number(request.seed);
  writer.timed(request.candidate);
  writer.number(request.baseline ? 1 : 0);
  if (request.baseline) writer.timed(*request.baseline);
  writer.samples(request.samples);
  for (const int value : {request.input_sets, request.least_rounds, request.most_rounds})
    writer.number(static_cast<std::uint64_t>(value));
  writer.real(request.relative_half_width);
  writer.real(request.budget_ms);
  return writer.take();
}

Result<TimeRequest> decode_time_request(std::string_view bytes) {
  Reader reader(bytes);
  TimeRequest request;
  request.inputs = reader.number();
  request.seed = reader.number();
  request.candidate = reader.timed();
  if (reader.number() != 0) request.baseline = reader.timed();
  request.samples = reader.samples();
  for (int* value : {&request.input_sets, &request.least_rounds, &request.most_rounds})
    *value = static_cast<int>(reader.count(1u << 16));
  request.relative_half_width = reader.real();
  request.budget_ms = reader.real();
  return finished(reader, std::move(request), "the timing");
}

std::string encode(const TimeReply& reply) {
  Writer writer;
  writer.reals(reply.candidate_us);
  writer.reals(reply.baseline_us);
  writer.number(reply.candidate_by_graph ? 1 : 0);
  writer.number(reply.baseline_by_graph ? 1 : 0);
  writer.real(reply.flush_us);
  writer.reals(reply.spent_ms);
  writer.memory(reply.memory);
  writer.texts(reply.candidate_outputs);
  writer.texts(reply.baseline_outputs);
  return writer.take();
}

Result<TimeReply> decode_time_reply(std::string_view bytes) {
  Reader reader(bytes);
  TimeReply reply;
  reply.candidate_us = reader.reals();
  reply.baseline_us = reader.reals();
  reply.candidate_by_graph = reader.number() != 0;
  reply.baseline_by_graph = reader.number() != 0;
  reply.flush_us = reader.real();
  reply.spent_ms = reader.reals();
  reply.memory = reader.memory();
  reply.candidate_outputs = reader.texts();
  reply.baseline_outputs = reader.texts();
  return finished(reader, std::move(reply), "the worker's times");
}

std::string encode(const TransferRates& rates) {
  Writer writer;
  writer.real(rates.to_device_gb_per_s);
  writer.real(rates.to_host_gb_per_s);
  return writer.take();
}

Result<TransferRates> decode_transfer_rates(std::string_view bytes) {
  Reader reader(bytes);
  TransferRates rates;
  rates.to_device_gb_per_s = reader.real();
  rates.to_host_gb_per_s = reader.real();
  return finished(reader, rates, "the transfer rates");
}

}  // namespace kw
