#include "kernel/reference/message.h"

#include <bit>
#include <limits>

#include "base/bytes.h"

namespace kw {
namespace {

constexpr std::uint64_t most_tensors = 4096;
constexpr std::uint64_t most_dimensions = 64;
constexpr std::uint64_t most_sizes = 4096;
constexpr std::uint64_t most_trials = 1u << 20;

void write(ByteWriter& writer, const std::vector<std::int64_t>& numbers) {
  writer.number(numbers.size());
  for (const std::int64_t number : numbers) writer.number(static_cast<std::uint64_t>(number));
}

std::vector<std::int64_t> read_numbers(ByteReader& reader, std::uint64_t most) {
  std::vector<std::int64_t> numbers(reader.count(most));
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(reader.number());
  return numbers;
}

void write(ByteWriter& writer, double value) { writer.number(std::bit_cast<std::uint64_t>(value)); }
double read_double(ByteReader& reader) { return std::bit_cast<double>(reader.number()); }

template <class Enum>
Enum read_enum(ByteReader& reader, Enum last) {
  return static_cast<Enum>(reader.count(static_cast<std::uint64_t>(last)));
}

int read_int(ByteReader& reader) {
  return static_cast<int>(reader.count(static_cast<std::uint64_t>(std::numeric_limits<int>::max())));
}

Dtype read_dtype(ByteReader& reader) {
  const auto dtype = dtype_from_name(reader.text());
  if (!dtype) reader.fail();
  return dtype.value_or(Dtype::float32);
}

void write(ByteWriter& writer, const DrawRecipe& recipe) {
  writer.number(static_cast<std::uint64_t>(recipe.kind));
  for (const std::uint64_t number : {recipe.element_bytes, recipe.table_elements, recipe.key, recipe.line_elements,
                                     recipe.parts, recipe.steady_parts})
    writer.number(number);
  writer.number(recipe.has_range ? 1 : 0);
  write(writer, recipe.low);
  write(writer, recipe.high);
}

DrawRecipe read_recipe(ByteReader& reader) {
  DrawRecipe recipe;
  recipe.kind = read_enum(reader, DrawRecipe::Kind::doubles);
  for (std::uint64_t* number : {&recipe.element_bytes, &recipe.table_elements, &recipe.key, &recipe.line_elements,
                                &recipe.parts, &recipe.steady_parts})
    *number = reader.number();
  recipe.has_range = reader.number() != 0;
  recipe.low = read_double(reader);
  recipe.high = read_double(reader);
  if (!recipe.is_sound()) reader.fail();
  return recipe;
}

void write(ByteWriter& writer, const std::vector<PlacedTensor>& tensors) {
  writer.number(tensors.size());
  for (const PlacedTensor& tensor : tensors) {
    writer.text(tensor.name);
    writer.text(name_of(tensor.dtype));
    write(writer, tensor.shape);
    writer.number(tensor.offset);
    writer.number(tensor.bytes);
    writer.number(tensor.recipe ? 1 : 0);
    if (tensor.recipe) write(writer, *tensor.recipe);
    writer.number(tensor.coarse ? 1 : 0);
  }
}

std::vector<PlacedTensor> read_tensors(ByteReader& reader) {
  std::vector<PlacedTensor> tensors(reader.count(most_tensors));
  for (PlacedTensor& tensor : tensors) {
    if (reader.failed()) break;
    tensor.name = reader.text();
    tensor.dtype = read_dtype(reader);
    tensor.shape = read_numbers(reader, most_dimensions);
    tensor.offset = reader.number();
    tensor.bytes = reader.number();
    if (reader.number() != 0) tensor.recipe = read_recipe(reader);
    tensor.coarse = reader.number() != 0;
  }
  return tensors;
}

void write(ByteWriter& writer, const std::vector<TensorSpec>& specs) {
  writer.number(specs.size());
  for (const TensorSpec& spec : specs) {
    writer.text(spec.name);
    writer.text(name_of(spec.dtype));
    writer.number(spec.shape.size());
    for (const Expression& extent : spec.shape) writer.text(extent.text());
  }
}

std::vector<TensorSpec> read_specs(ByteReader& reader) {
  std::vector<TensorSpec> specs(reader.count(most_tensors));
  for (TensorSpec& spec : specs) {
    if (reader.failed()) break;
    spec.name = reader.text();
    spec.dtype = read_dtype(reader);
    const std::uint64_t dimensions = reader.count(most_dimensions);
    for (std::uint64_t i = 0; i < dimensions && !reader.failed(); ++i) {
      auto extent = Expression::parse(reader.text());
      if (extent.ok()) {
        spec.shape.push_back(std::move(*extent));
      } else {
        reader.fail();
      }
    }
  }
  return specs;
}

void write(ByteWriter& writer, const Task& task) {
  writer.text(task.name);
  writer.text(task.file);
  writer.text(task.pytorch);
  write(writer, task.inputs);
  write(writer, task.outputs);
  writer.number(task.size_names.size());
  for (const std::string& name : task.size_names) writer.text(name);
}

Task read_task(ByteReader& reader) {
  Task task;
  task.name = reader.text();
  task.file = reader.text();
  task.pytorch = reader.text();
  task.inputs = read_specs(reader);
  task.outputs = read_specs(reader);
  const std::uint64_t names = reader.count(most_sizes);
  for (std::uint64_t i = 0; i < names && !reader.failed(); ++i) task.size_names.push_back(reader.text());
  return task;
}

void write(ByteWriter& writer, const Sizes& sizes) {
  writer.number(sizes.size());
  for (const auto& [name, value] : sizes) {
    writer.text(name);
    writer.number(static_cast<std::uint64_t>(value));
  }
}

Sizes read_sizes(ByteReader& reader) {
  Sizes sizes;
  const std::uint64_t count = reader.count(most_sizes);
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
    const std::string name = reader.text();
    sizes[name] = static_cast<std::int64_t>(reader.number());
  }
  return sizes;
}

void write(ByteWriter& writer, const TimingOptions& options) {
  writer.number(static_cast<std::uint64_t>(options.trials_min));
  writer.number(static_cast<std::uint64_t>(options.trials_max));
  write(writer, options.relative_interval);
  write(writer, options.budget_ms);
  writer.number(options.allow_tf32 ? 1 : 0);
}

TimingOptions read_timing(ByteReader& reader) {
  TimingOptions options;
  options.trials_min = read_int(reader);
  options.trials_max = read_int(reader);
  options.relative_interval = read_double(reader);
  options.budget_ms = read_double(reader);
  options.allow_tf32 = reader.number() != 0;
  return options;
}

void write(ByteWriter& writer, const ReferenceTimes& times) {
  writer.number(times.trials_us.size());
  for (const double each : times.trials_us) write(writer, each);
  write(writer, times.enqueue_us);
  write(writer, times.flush_us);
  writer.number(static_cast<std::uint64_t>(times.flushes));
  writer.number(static_cast<std::uint64_t>(times.trials_exposed));
}

ReferenceTimes read_times(ByteReader& reader) {
  ReferenceTimes times;
  times.trials_us.resize(reader.count(most_trials));
  for (double& each : times.trials_us) each = read_double(reader);
  times.enqueue_us = read_double(reader);
  times.flush_us = read_double(reader);
  times.flushes = read_int(reader);
  times.trials_exposed = read_int(reader);
  return times;
}

}  // namespace

std::string encode(const ReferenceRequest& request) {
  ByteWriter writer;
  writer.number(static_cast<std::uint64_t>(request.command));
  writer.number(request.task);
  writer.number(request.inputs);
  writer.number(request.text ? 1 : 0);
  if (request.text) write(writer, *request.text);
  write(writer, request.tensors);
  write(writer, request.positions);
  write(writer, request.sizes);
  writer.number(static_cast<std::uint64_t>(request.precision));
  writer.number(static_cast<std::uint64_t>(request.device));
  write(writer, request.timing);
  writer.number(request.shared_bytes);
  writer.number(request.room_offset);
  writer.number(request.room_bytes);
  writer.number(request.cpu_seconds);
  return writer.take();
}

Result<ReferenceRequest> decode_reference_request(std::string_view bytes) {
  ByteReader reader(bytes);
  ReferenceRequest request;
  request.command = read_enum(reader, ReferenceCommand::gpu_name);
  request.task = reader.number();
  request.inputs = reader.number();
  if (reader.number() != 0) request.text = read_task(reader);
  request.tensors = read_tensors(reader);
  request.positions = read_tensors(reader);
  request.sizes = read_sizes(reader);
  request.precision = read_enum(reader, Precision::task_dtype);
  request.device = read_enum(reader, Device::gpu);
  request.timing = read_timing(reader);
  request.shared_bytes = reader.number();
  request.room_offset = reader.number();
  request.room_bytes = reader.number();
  request.cpu_seconds = reader.number();
  if (!reader.complete()) return Error{"the request to the reference process is malformed", "", {}};
  return request;
}

std::string encode(const ReferenceReply& reply) {
  ByteWriter writer;
  writer.number(reply.error ? 1 : 0);
  if (reply.error) {
    writer.text(reply.error->message);
    writer.text(reply.error->advice);
    writer.text(reply.error->where.file);
  }
  write(writer, reply.outputs);
  writer.number(reply.whole_shapes.size());
  for (const auto& shape : reply.whole_shapes) write(writer, shape);
  write(writer, reply.times);
  writer.text(reply.gpu_name);
  writer.number(reply.cpu_us);
  return writer.take();
}

Result<ReferenceReply> decode_reference_reply(std::string_view bytes) {
  ByteReader reader(bytes);
  ReferenceReply reply;
  if (reader.number() != 0) {
    Error error;
    error.message = reader.text();
    error.advice = reader.text();
    error.where.file = reader.text();
    reply.error = std::move(error);
  }
  reply.outputs = read_tensors(reader);
  reply.whole_shapes.resize(reader.count(most_tensors));
  for (auto& shape : reply.whole_shapes) {
    if (reader.failed()) break;
    shape = read_numbers(reader, most_dimensions);
  }
  reply.times = read_times(reader);
  reply.gpu_name = reader.text();
  reply.cpu_us = reader.number();
  if (!reader.complete()) return Error{"the answer of the reference process is malformed", "", {}};
  return reply;
}

}  // namespace kw
