#include "kernel/judge/gpu_task.h"

#include <algorithm>
#include <atomic>

#include "base/hash.h"
#include "base/log.h"
#include "base/random.h"
#include "base/statistics.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/large_inputs.h"
#include "kernel/judge/task_entry.h"

namespace kw {
namespace {

constexpr std::int64_t chunk_elements = sample_chunk_elements;
constexpr std::size_t timed_stride = 8;
constexpr double pytorch_budget_ms = 60;

std::vector<InputPack::Tensor> tensors_of(const std::vector<InputTensor>& inputs) {
  std::vector<InputPack::Tensor> tensors;
  for (const InputTensor& input : inputs)
    if (!input.shape.empty()) tensors.push_back({input.bytes, input.bytes.size(), std::nullopt});
  return tensors;
}

// Whoever gets them rounds them as coarse_inputs() does.
std::vector<InputTensor> rounded_there(std::vector<InputTensor> inputs) {
  for (InputTensor& input : inputs) input.coarse = true;
  return inputs;
}

// Without its inputs.
std::uint64_t bytes_of_samples(const FullSizeCase& one) {
  std::uint64_t bytes = 0;
  for (const Positions* all : {&one.places, &one.timed_places})
    for (const std::vector<std::int64_t>& places : *all) bytes += places.size() * sizeof places[0];
  for (const auto* all : {&one.truth, &one.timed_truth})
    for (const OutputTensor& truth : *all) bytes += truth.bytes.size();
  return bytes;
}

// Timed runs are many; a part of the places is enough for each.
void choose_timed_part(FullSizeCase& one) {
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    const OutputSample& sample = one.samples[i];
    OutputSample part{sample.chunk_bytes, {}};
    OutputTensor truth{one.truth[i].name, one.truth[i].dtype, {}, {}};
    std::vector<std::int64_t> places;
    if (sample.whole()) {
      places = one.places[i];
      truth.bytes = one.truth[i].bytes;
    } else {
      const std::size_t width = bytes_of(truth.dtype), per_chunk = chunk_elements;
      for (std::size_t chunk = 0; chunk < sample.offsets_bytes.size(); ++chunk) {
        if (chunk % timed_stride != 0 && chunk + 1 != sample.offsets_bytes.size()) continue;
        part.offsets_bytes.push_back(sample.offsets_bytes[chunk]);
        const auto first = one.places[i].begin() + static_cast<std::ptrdiff_t>(chunk * per_chunk);
        places.insert(places.end(), first, first + chunk_elements);
        truth.bytes.append(one.truth[i].bytes, chunk * per_chunk * width, per_chunk * width);
      }
    }
    truth.shape = {static_cast<std::int64_t>(places.size())};
    one.timed_samples.push_back(std::move(part));
    one.timed_places.push_back(std::move(places));
    one.timed_truth.push_back(std::move(truth));
  }
}

}  // namespace

OutputSample choose_sample(std::int64_t elements, std::size_t element_bytes, std::uint64_t seed, std::int64_t chunks) {
  OutputSample sample;
  if (elements <= chunks * chunk_elements) return sample;
  sample.chunk_bytes = chunk_elements * element_bytes;
  Random random(seed);
  std::vector<std::int64_t> starts = {0, elements - chunk_elements};
  for (std::int64_t i = 0; i < chunks; ++i) starts.push_back(random.integer(0, elements - chunk_elements));
  std::sort(starts.begin(), starts.end());
  for (const std::int64_t start : starts)
    sample.offsets_bytes.push_back(static_cast<std::uint64_t>(start) * element_bytes);
  return sample;
}

std::vector<std::int64_t> places_of(const OutputSample& sample, std::int64_t elements, std::size_t element_bytes) {
  std::vector<std::int64_t> places;
  if (sample.whole()) {
    for (std::int64_t i = 0; i < elements; ++i) places.push_back(i);
    return places;
  }
  for (const std::uint64_t offset : sample.offsets_bytes)
    for (std::int64_t i = 0; i < chunk_elements; ++i)
      places.push_back(static_cast<std::int64_t>(offset / element_bytes) + i);
  return places;
}

GpuKernel gpu_kernel(const CompileResult& compiled, bool use_ptx) {
  static std::atomic<std::uint64_t> next_id{1};
  GpuKernel made;
  made.id = next_id++;
  made.image = use_ptx ? compiled.ptx : compiled.cubin;
  for (const CompiledKernel& kernel : compiled.kernels) made.symbols.push_back(kernel.symbol);
  made.kernels = compiled.kernels;
  return made;
}

std::shared_ptr<const InputPack> GpuTask::pack_of(int set, const Case& one) {
  std::lock_guard lock(packs_mutex_);
  auto& pack = packs_[{set, one.question}];
  if (pack == nullptr) pack = InputPack::make(tensors_of(one.inputs));
  return pack;
}

Result<std::shared_ptr<const FullSizeCase>> GpuTask::full_size(std::size_t train_size, GpuTurns& turns) {
  return known_or_made({train_size, std::nullopt}, {}, turns);
}

Result<std::shared_ptr<const FullSizeCase>> GpuTask::unusual(std::size_t train_size, InputMix mix,
                                                             const std::set<InputKind>& fair, GpuTurns& turns) {
  if (!is_of_use(task_, mix, fair)) return std::shared_ptr<const FullSizeCase>();
  return known_or_made({train_size, mix}, fair, turns);
}

GpuTask::Made GpuTask::known_or_made(const Wanted& wanted, const std::set<InputKind>& fair, GpuTurns& turns) {
  std::lock_guard lock(full_mutex_);
  const auto known = full_.find(wanted);
  if (known != full_.end()) return known->second;
  Made made = make_full_size(wanted, fair, turns);
  if (!made.ok() && is_want_of_memory(made.error())) return made;  // of the moment: the next kernel asks again
  return full_.emplace(wanted, std::move(made)).first->second;
}

GpuTask::Made GpuTask::make_full_size(const Wanted& wanted, const std::set<InputKind>& fair, GpuTurns& turns) {
  const auto made = std::make_shared<FullSizeCase>();
  FullSizeCase& one = *made;
  one.sizes = task_.sizes_train.at(wanted.train_size);
  one.mix = wanted.mix;
  Sha256 hash;
  hash.add(secret_).add(task_.name).add("full size").add(to_string(one.sizes));
  if (one.mix) hash.add(name_of(*one.mix));
  one.seed = std::stoull(hash.hex().substr(0, 12), nullptr, 16);
  KW_TRY(auto large, one.mix ? make_unusual_inputs(task_, one.sizes, one.seed, full_size_seed, *one.mix, fair)
                             : make_large_inputs(task_, one.sizes, one.seed, full_size_seed));
  // PyTorch on the GPU draws them itself.
  const Device device = gpu_available().ok() ? Device::gpu : Device::cpu;
  const std::vector<InputTensor> inputs = device == Device::gpu ? tensors_to_draw(large) : drawn_tensors(large);
  const auto contents = std::make_shared<std::vector<std::string>>();
  for (LargeInput& input : large) contents->push_back(std::move(input.recipe ? input.table : input.tensor.bytes));
  std::vector<InputPack::Tensor> packed;
  for (std::size_t i = 0; i < large.size(); ++i)
    if (!large[i].tensor.shape.empty()) packed.push_back({(*contents)[i], large[i].bytes(), large[i].recipe});
  one.inputs = InputPack::make(std::move(packed), contents);
  one.input_bytes = one.inputs->bytes();
  for (const TensorSpec& output : task_.outputs) {
    KW_TRY(const std::int64_t elements, output.elements_at(one.sizes));
    const std::size_t width = bytes_of(output.dtype);
    one.output_bytes += static_cast<std::uint64_t>(elements) * width;
    one.samples.push_back(choose_sample(elements, width, one.seed ^ one.samples.size()));
    one.places.push_back(places_of(one.samples.back(), elements, width));
  }
  KW_TRY(const bool fair_question, answer(inputs, device, turns, one));
  if (!fair_question) return std::shared_ptr<const FullSizeCase>();
  choose_timed_part(one);
  for (const std::string& content : *contents) kept_bytes_ += content.size();
  kept_bytes_ += bytes_of_samples(one);
  return std::shared_ptr<const FullSizeCase>(made);
}

Result<bool> GpuTask::answer(const std::vector<InputTensor>& inputs, Device device, GpuTurns& turns,
                             FullSizeCase& one) {
  KW_TRY(const auto reference, make_reference(task_));
  const auto answers = [&](const PreparedInputs& from, Precision precision) -> Result<std::vector<OutputTensor>> {
    KW_TRY(auto sampled, reference->run_at(from, one.sizes, precision, one.places));
    std::vector<OutputTensor> picked;
    picked.reserve(sampled.size());
    for (SampledOutput& output : sampled) picked.push_back(std::move(output.elements));
    return picked;
  };
  const std::vector<InputTensor> coarser = device == Device::gpu ? rounded_there(inputs) : coarse_inputs(inputs);
  std::unique_ptr<PreparedInputs> prepared;
  std::vector<OutputTensor> own, coarse;
  const auto answer_all = [&]() -> Result<void> {
    KW_TRY(prepared, reference->prepare(inputs, device));
    KW_TRY(one.truth, answers(*prepared, Precision::truth));
    KW_TRY(own, answers(*prepared, Precision::task_dtype));
    KW_TRY(const auto coarse_prepared, reference->prepare(coarser, device));
    KW_TRY(coarse, answers(*coarse_prepared, Precision::truth));
    return {};
  };
  const auto answered = [&] {
    const SharedTurn turn(turns);
    return answer_all();
  }();
  if (!answered.ok()) {
    if (!is_want_of_memory(answered.error())) return answered.error();
    // Others hold it for their kernels and give it back.
    prepared.reset();
    const AloneTurn turn(turns);
    KW_TRY_VOID(answer_all());
  }
  for (std::size_t i = 0; i < one.truth.size() && one.mix; ++i)
    if (!is_finite(own[i]) || !reference_copes({{one.truth[i], own[i], coarse[i]}})) return false;
  for (std::size_t i = 0; i < one.truth.size(); ++i)
    one.bounds.push_back(task_.tolerance ? ErrorBound{task_.tolerance->relative, task_.tolerance->absolute}
                                         : derive_bound({{one.truth[i], std::move(own[i]), std::move(coarse[i])}},
                                                        terms_of(task_, one.sizes)));
  if (one.mix && !task_.tolerance)
    for (ErrorBound& bound : one.bounds) bound = {bound.relative * unusual_slack, bound.absolute * unusual_slack};
  if (!want_pytorch_ || device != Device::gpu || one.mix) return true;
  one.pytorch = pytorch_time(*reference, *prepared, one.sizes, false, turns);
  const auto is_float = [](const TensorSpec& input) { return input.dtype == Dtype::float32 && !input.is_scalar(); };
  if (std::any_of(task_.inputs.begin(), task_.inputs.end(), is_float))
    one.pytorch_tf32 = pytorch_time(*reference, *prepared, one.sizes, true, turns);
  return true;
}

std::optional<TimeAndInterval> GpuTask::pytorch_time(Reference& reference, const PreparedInputs& inputs,
                                                     const Sizes& sizes, bool tf32, GpuTurns& turns) const {
  TimingOptions timing;
  timing.budget_ms = pytorch_budget_ms;
  timing.allow_tf32 = tf32;
  const AloneTurn turn(turns);
  const auto times = reference.time_us(inputs, sizes, timing);
  if (times.ok()) return TimeAndInterval{median(times->trials_us), time_interval(times->trials_us)};
  log_event(LogLevel::warn, "pytorch_not_timed", {{"task", task_.name}, {"reason", times.error().message}});
  return std::nullopt;
}

std::chrono::milliseconds GpuTask::naive_limit(std::size_t train_size) {
  std::lock_guard lock(naive_mutex_);
  const auto known = naive_us_.find(train_size);
  if (known == naive_us_.end()) return std::chrono::seconds(60);
  return std::chrono::milliseconds(static_cast<int>(known->second * 100 / 1000));
}

void GpuTask::note_naive_us(std::size_t train_size, double us) {
  std::lock_guard lock(naive_mutex_);
  naive_us_[train_size] = us;
}

std::shared_ptr<const NaiveOnGpu> GpuTask::naive(CompileService& service, GpuArchitecture architecture, bool use_ptx) {
  std::lock_guard lock(naive_mutex_);
  if (naive_made_) return naive_;
  naive_made_ = true;
  if (task_.naive.empty()) return nullptr;
  BuildOptions options;
  options.architecture = architecture;
  for (const Sizes& sizes : task_.sizes_train) {
    const auto scalars = scalars_at(task_, sizes, full_size_seed);
    if (!scalars.ok()) return nullptr;
    options.plans.push_back({sizes, *scalars});
  }
  const KernelBuild build = build_kernel(service, task_, task_.naive, task_.naive_file, options);
  if (!build.built()) return nullptr;
  NaiveOnGpu made;
  made.kernel = gpu_kernel(build.compiled, use_ptx);
  for (const SizedPlan& sized : build.plans) {
    auto plan = gpu_plan(sized.plan, made.kernel.kernels);
    made.plans.push_back(plan.ok() ? std::optional<GpuPlan>(std::move(plan).value()) : std::nullopt);
  }
  kept_bytes_ += made.kernel.image.size();
  naive_ = std::make_shared<const NaiveOnGpu>(std::move(made));
  return naive_;
}

}  // namespace kw
