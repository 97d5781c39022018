#include "kernel/judge/full_size_truth.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "kernel/judge/elementwise_truth.h"
#include "kernel/judge/gpu_task.h"
#include "kernel/judge/large_inputs.h"
#include "kernel/judge/task_entry.h"
#include "kernel/task/input_values.h"

namespace kw {
namespace {

constexpr std::int64_t sampled_chunks = 512;  // of an output
constexpr std::string_view stored_version = "full size truth 4";
constexpr std::string_view unfair = "unfair";

// Contents that a recipe draws, or that are small enough to be kept.
class InputPages : public PageSource {
 public:
  explicit InputPages(LargeInput input) : input_(std::move(input)) {}

  void fill(std::uint64_t offset, std::byte* into, std::size_t bytes) const override {
    if (input_.recipe) {
      const std::uint64_t width = input_.recipe->element_bytes;  // a page holds whole elements
      draw_part(*input_.recipe, input_.table, offset / width, into, bytes / width * width);
      return;
    }
    const std::string& all = input_.tensor.bytes;
    if (offset < all.size()) std::memcpy(into, all.data() + offset, std::min<std::size_t>(bytes, all.size() - offset));
  }

 private:
  LargeInput input_;
};

// What is stored: everything but the inputs and places, which follow from the seed.
std::string to_stored(const FullSizeTruth& one) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  std::string values;
  for (std::size_t i = 0; i < one.truth.size(); ++i) {
    nlohmann::ordered_json unstable = nlohmann::ordered_json::array();
    // Infinity has no place in JSON.
    for (const UnstableElement& element : one.bounds[i].unstable)
      unstable.push_back({element.index, std::min(element.allowed, 1e300)});
    outputs.push_back({{"name", one.truth[i].name},
                       {"dtype", name_of(one.truth[i].dtype)},
                       {"bytes", one.truth[i].bytes.size()},
                       {"relative", one.bounds[i].relative},
                       {"absolute", one.bounds[i].absolute},
                       {"unstable", std::move(unstable)}});
    values += one.truth[i].bytes;
  }
  return outputs.dump() + "\n" + values;
}

bool from_stored(std::string_view stored, FullSizeTruth& one) {
  const std::size_t end = stored.find('\n');
  if (end == std::string_view::npos) return false;
  const auto outputs = nlohmann::ordered_json::parse(stored.substr(0, end), nullptr, false);
  if (outputs.is_discarded() || !outputs.is_array() || outputs.size() != one.places.size()) return false;
  std::string_view values = stored.substr(end + 1);
  try {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& output = outputs[i];
      OutputTensor truth;
      truth.name = output.at("name").get<std::string>();
      const auto dtype = dtype_from_name(output.at("dtype").get<std::string>());
      const auto bytes = output.at("bytes").get<std::size_t>();
      if (!dtype || bytes > values.size() || bytes != one.places[i].size() * bytes_of(*dtype)) return false;
      truth.dtype = *dtype;
      truth.shape = {static_cast<std::int64_t>(one.places[i].size())};
      truth.bytes = std::string(values.substr(0, bytes));
      values.remove_prefix(bytes);
      ErrorBound bound{output.at("relative").get<double>(), output.at("absolute").get<double>()};
      for (const auto& element : output.at("unstable"))
        bound.unstable.push_back({element.at(0).get<std::int64_t>(), element.at(1).get<double>()});
      one.truth.push_back(std::move(truth));
      one.bounds.push_back(std::move(bound));
    }
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  return true;
}

bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }

// What PyTorch would answer, as far as that can be told without running it: in 16-bit types on a CPU that takes
// minutes.
OutputTensor rounded(const OutputTensor& truth, Dtype dtype) {
  OutputTensor made{truth.name, dtype, truth.shape, {}};
  const auto count = static_cast<std::int64_t>(truth.bytes.size() / bytes_of(truth.dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(element_at(truth.dtype, truth.bytes, i));
    const std::uint16_t bits = dtype == Dtype::float16 ? float16_bits(value) : bfloat16_bits(value);
    made.bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  return made;
}

OutputTensor in_double(const OutputTensor& tensor) {
  if (!is_floating_point(tensor.dtype)) return tensor;
  OutputTensor made{tensor.name, Dtype::float64, tensor.shape, {}};
  const auto count = static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = element_at(tensor.dtype, tensor.bytes, i);
    made.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return made;
}

std::uint64_t bytes_of_truth(const FullSizeTruth& one, const std::vector<LargeInput>& inputs) {
  std::uint64_t bytes = 0;
  for (const LargeInput& input : inputs) bytes += input.tensor.bytes.size() + input.table.size();
  for (const std::vector<std::int64_t>& places : one.places) bytes += places.size() * sizeof places[0];
  for (const OutputTensor& truth : one.truth) bytes += truth.bytes.size();
  for (const ErrorBound& bound : one.bounds) bytes += bound.unstable.size() * sizeof(UnstableElement);
  return bytes;
}

Result<std::int64_t> tensor_bytes(const Task& task, const Sizes& sizes) {
  std::int64_t bytes = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *tensors) {
      KW_TRY(const std::int64_t elements, tensor.elements_at(sizes));
      bytes += elements * static_cast<std::int64_t>(bytes_of(tensor.dtype));
    }
  return bytes;
}

class Answering {
 public:
  Answering(const Task& task, const std::vector<LargeInput>& inputs, const std::vector<double>& relative,
            std::optional<ElementwiseTruth> elementwise, FullSizeTruth& one)
      : task_(task), large_(inputs), relative_(relative), one_(one), elementwise_(std::move(elementwise)) {}

  // False: the inputs are unusual, and the reference does not cope with them.
  Result<bool> run(bool jumps, std::uint64_t seed) {
    KW_TRY(const bool fair, answer());
    if (!jumps || !fair) return fair;
    for (const double sign : {1.0, -1.0}) {
      const auto nudged_tensors = nudged_inputs(inputs_, {seed, sign, std::nullopt});
      KW_TRY(const auto prepared, reference_->prepare(nudged_tensors, Device::cpu));
      KW_TRY(const auto nudged, at_places(*prepared, Precision::truth));
      for (std::size_t i = 0; i < one_.truth.size(); ++i) add_unstable(one_.truth[i], nudged[i], one_.bounds[i]);
    }
    return true;
  }

 private:
  Result<std::vector<OutputTensor>> at_places(const PreparedInputs& prepared, Precision precision) {
    reference_->start_work();
    KW_TRY(auto sampled, reference_->run_at(prepared, one_.sizes, precision, one_.places));
    std::vector<OutputTensor> picked;
    for (SampledOutput& output : sampled) picked.push_back(std::move(output.elements));
    return picked;
  }

  Result<std::vector<OutputTensor>> at_places(Precision precision) {
    if (elementwise_) return elementwise_->at(large_, one_.places, precision);
    if (prepared_ == nullptr) {
      KW_TRY(reference_, make_reference(task_));
      inputs_ = drawn_tensors(large_);
      KW_TRY(prepared_, reference_->prepare(inputs_, Device::cpu));
    }
    return at_places(*prepared_, precision);
  }

  Result<bool> answer() {
    auto truth = at_places(Precision::truth);
    if (!truth.ok() && elementwise_) {
      elementwise_.reset();
      truth = at_places(Precision::truth);
    }
    const bool exact = truth.ok();  // there may be no memory for so many doubles
    const bool half = std::any_of(task_.inputs.begin(), task_.inputs.end(),
                                  [](const TensorSpec& input) { return is_half(input.dtype); });
    if (half && !exact) return truth.error();
    std::vector<OutputTensor> own;
    if (!half) {
      KW_TRY(own, at_places(Precision::task_dtype));
    }
    for (std::size_t i = 0; i < task_.outputs.size(); ++i) {
      const Dtype dtype = task_.outputs[i].dtype;
      const OutputTensor right = exact ? std::move((*truth)[i]) : in_double(own[i]);
      const OutputTensor usual = !half ? own[i] : is_half(dtype) ? rounded(right, dtype) : right;
      if (one_.mix && (!exact || !is_finite(usual) || !reference_copes({{right, usual, right}}))) return false;
      one_.bounds.push_back(task_.tolerance ? ErrorBound{task_.tolerance->relative, task_.tolerance->absolute}
                                            : bound_of(i, {right, usual, right}, exact));
      one_.truth.push_back(right);
    }
    return true;
  }

  ErrorBound bound_of(std::size_t output, BoundDraw draw, bool exact) const {
    if (draw.own.dtype != task_.outputs[output].dtype) draw.own.dtype = task_.outputs[output].dtype;
    ErrorBound bound = derive_bound({std::move(draw)}, terms_of(task_, one_.sizes));
    if (bound.relative == 0) return bound;
    // What coarser inputs would do was asked at small sizes.
    const double wanted = std::max(bound.relative, output < relative_.size() ? relative_[output] : 0);
    const double factor = wanted / bound.relative * (one_.mix ? unusual_slack : exact ? 1 : 2);
    return {bound.relative * factor, bound.absolute * factor};
  }

  const Task& task_;
  const std::vector<LargeInput>& large_;
  const std::vector<double>& relative_;
  FullSizeTruth& one_;
  std::optional<ElementwiseTruth> elementwise_;  // else:
  std::unique_ptr<Reference> reference_;
  std::vector<InputTensor> inputs_;
  std::unique_ptr<PreparedInputs> prepared_;  // after what it is made of
};

}  // namespace

Result<std::shared_ptr<SharedPages>> FullSizeInput::pages() const {
  const std::lock_guard lock(mutex_);
  if (pages_ == nullptr) {
    KW_TRY(pages_, SharedPages::of(source_, bytes_));
  }
  return pages_;
}

std::uint64_t FullSizeInput::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return pages_ == nullptr ? 0 : std::min(pages_->made_bytes(), most_kept_bytes);
}

void FullSizeInput::forget_beyond(std::uint64_t bytes) const {
  std::shared_ptr<SharedPages> forgotten;  // ends after the lock
  const std::lock_guard lock(mutex_);
  if (pages_ != nullptr && pages_->made_bytes() > bytes) forgotten = std::move(pages_);
}

FullSizeTruths::~FullSizeTruths() {
  unwanted_ = true;
  if (working_.valid()) working_.wait();
}

void FullSizeTruths::prepare(bool jumps, std::vector<double> relative, std::set<InputKind> fair) {
  std::lock_guard lock(mutex_);
  if (!answers_.empty()) return;
  jumps_ = jumps;
  relative_ = std::move(relative);
  fair_ = std::move(fair);
  std::vector<std::promise<Answer>> promises(task_.sizes_train.size() * (1 + all_input_mixes.size()));
  for (auto& promise : promises) answers_.push_back(promise.get_future().share());
  working_ = std::async(std::launch::async, [this, promises = std::move(promises)]() mutable {
    const std::size_t sizes = task_.sizes_train.size();
    for (std::size_t i = 0; i < sizes; ++i) promises[i].set_value(make(task_.sizes_train[i], std::nullopt));
    for (std::size_t i = sizes; i < promises.size(); ++i)
      promises[i].set_value(make(task_.sizes_train[i % sizes], all_input_mixes[i / sizes - 1]));
  });
}

FullSizeTruths::Answer FullSizeTruths::wait_for(std::size_t answer) {
  std::shared_future<Answer> future;
  {
    std::lock_guard lock(mutex_);
    future = answers_.at(answer);
  }
  return future.get();
}

std::uint64_t FullSizeTruths::kept_bytes() const {
  std::uint64_t bytes = kept_bytes_;
  const std::lock_guard lock(mutex_);
  for (const auto& answer : answers_) {
    if (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
    const Answer& made = answer.get();
    if (!made.ok() || *made == nullptr) continue;
    for (const auto& input : (*made)->inputs) bytes += input->kept_bytes();
  }
  return bytes;
}

FullSizeTruths::Answer FullSizeTruths::at(std::size_t train_size) { return wait_for(train_size); }

FullSizeTruths::Answer FullSizeTruths::unusual(std::size_t train_size, InputMix mix) {
  return wait_for((static_cast<std::size_t>(mix) + 1) * task_.sizes_train.size() + train_size);
}

FullSizeTruths::Answer FullSizeTruths::make(const Sizes& sizes, std::optional<InputMix> mix) {
  if (unwanted_) return Error{"the judge is being closed", "", {}};
  const std::shared_ptr<const FullSizeTruth> none;
  // Where PyTorch on a CPU takes minutes, its own error is not known, and strong values may be beyond a half's range.
  const bool half = std::any_of(task_.inputs.begin(), task_.inputs.end(),
                                [](const TensorSpec& input) { return is_half(input.dtype); });
  if (mix && (!is_of_use(task_, *mix, fair_) || (half && *mix == InputMix::strong))) return none;
  auto one = std::make_shared<FullSizeTruth>();
  one->sizes = sizes;
  one->mix = mix;
  KW_TRY(const std::int64_t bytes, tensor_bytes(task_, sizes));
  if (bytes > largest_truth_bytes)
    return Error{fmt::format("{} has {} MiB of tensors, and at most {} MiB are compared without a GPU",
                             to_string(sizes), bytes >> 20, largest_truth_bytes >> 20),
                 "Judge it on a GPU, or declare smaller train sizes.",
                 {}};
  Sha256 hash;
  hash.add(stored_version).add(secret_).add(identity_).add(to_string(sizes)).add(jumps_ ? "jumps" : "");
  if (mix) hash.add(name_of(*mix));
  for (const InputKind kind : fair_)
    if (mix) hash.add(name_of(kind));
  const std::string key = hash.hex();
  const std::uint64_t seed = std::stoull(key.substr(0, 12), nullptr, 16);
  KW_TRY(auto large, mix ? make_unusual_inputs(task_, sizes, seed, full_size_seed, *mix, fair_)
                         : make_large_inputs(task_, sizes, seed, full_size_seed));
  for (const TensorSpec& output : task_.outputs) {
    KW_TRY(const std::int64_t elements, output.elements_at(sizes));
    const std::size_t width = bytes_of(output.dtype);
    auto places = places_of(choose_sample(elements, width, seed ^ one->places.size(), sampled_chunks), elements, width);
    one->places.push_back(std::move(places));
  }
  const auto stored = cache_ != nullptr ? cache_->get(key) : std::nullopt;
  if (stored && *stored == unfair) return none;
  if (!stored || !from_stored(*stored, *one)) {
    one->truth.clear();
    one->bounds.clear();
    // Whole inputs are nudged, each element by an amount of its own.
    std::optional<ElementwiseTruth> elementwise;
    if (!jumps_ && may_be_elementwise_) elementwise = ElementwiseTruth::of(task_, sizes);
    may_be_elementwise_ = elementwise.has_value();  // a text that is not will not be at other sizes
    KW_TRY(const bool fair, Answering(task_, large, relative_, std::move(elementwise), *one).run(jumps_, seed));
    if (cache_ != nullptr)
      if (const auto put = cache_->put(key, fair ? to_stored(*one) : std::string(unfair)); !put.ok())
        log_event(LogLevel::debug, "full_size_not_stored", {{"reason", put.error().message}});
    if (!fair) return none;
  }
  kept_bytes_ += bytes_of_truth(*one, large);
  for (std::size_t i = 0; i < large.size(); ++i) {
    if (task_.inputs[i].is_scalar()) continue;
    const std::uint64_t input_bytes = large[i].bytes();
    one->inputs.push_back(
        std::make_unique<FullSizeInput>(std::make_shared<InputPages>(std::move(large[i])), input_bytes));
  }
  return std::shared_ptr<const FullSizeTruth>(std::move(one));
}

}  // namespace kw
