// How long a plan takes on the device, measured so that nothing but the plan is measured: new contents and addresses
// from trial to trial, a cold L2, outputs poisoned before each run, the two plans in turns and in random order, and as
// many rounds as their ratio needs to be known.

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/random.h"
#include "base/statistics.h"
#include "kernel/gpu/device_calls.h"
#include "kernel/gpu/device_session.h"

namespace kw {
namespace {

constexpr double graph_below_us = 50;  // shorter plans are timed many at a time: an event costs about a microsecond
constexpr double graph_us = 160;       // of one replay
constexpr int least_repeats = 4, most_repeats = 16;
constexpr double least_graph_us = 0.2;  // less than any launch takes
// The longer a plan, the less its time varies, and the dearer a round is.
struct LeastRounds {
  double from_us;
  int rounds;
};
constexpr LeastRounds least_rounds_of_long_plans[] = {{5'000, 2}, {400, 3}};
constexpr double long_plan_us = 400;    // one run is enough to warm it up ...
constexpr double slow_plan_us = 1'500;  // ... and what it takes to load code is nothing: that run counts
constexpr int rounds_at_once = 4;       // between two looks at what is known
constexpr std::uint64_t least_shift_range = 64u << 10, most_shift_range = 1u << 20;
constexpr int spin_rounds = 100'000;    // about 200 us at full clock: long enough to tell a percent
constexpr double raise_clocks_ms = 40;  // at most
constexpr double clocks_stay_ms = 100;
constexpr double settled = 0.01;  // relative, of successive spins
constexpr double laid_out_ms =
    2;  // that count as spent of a timing's budget, at most: others share the device meanwhile

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

#undef KW_CUDA  // here the session is another object
#define KW_CUDA(call)                                                    \
  do {                                                                   \
    const CUresult kw_code = cuda_.call;                                 \
    if (kw_code != CUDA_SUCCESS) return session_.failed(kw_code, #call); \
  } while (false)

class DeviceTimer {
 public:
  DeviceTimer(DeviceSession& session, TimeRequest request)
      : session_(session), cuda_(session.cuda_), request_(std::move(request)), random_(request_.seed) {}
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;
  ~DeviceTimer() {
    if (session_.outcome_ == GpuOutcome::fault) return;
    for (Subject& subject : subjects_)
      for (const CUgraphExec graph : {subject.graph, subject.without})
        if (graph != nullptr) cuda_.cuGraphExecDestroy(graph);
  }

  // The first step.
  Result<void> prepare() {
    const auto start = std::chrono::steady_clock::now();
    KW_TRY(inputs_, session_.inputs_at(request_.inputs));
    KW_TRY_VOID(add_subject(request_.candidate));
    if (request_.baseline) KW_TRY_VOID(add_subject(*request_.baseline));
    KW_TRY_VOID(lay_out());
    note_spent(start);
    return {};
  }

  // The second, alone on the device.
  Result<TimeReply> run() {
    using namespace std::chrono;
    spent_ms_.front() = std::min(spent_ms_.front(), laid_out_ms);
    const auto start =
        steady_clock::now() - duration_cast<steady_clock::duration>(duration<double, std::milli>(spent_ms_.front()));
    KW_TRY_VOID(raise_clocks());
    cuda_.cuCtxResetPersistingL2Cache();  // where there is such a thing
    note_spent(start);
    KW_TRY_VOID(warm_up());
    note_spent(start);
    KW_TRY_VOID(make_graphs());
    note_spent(start);
    KW_TRY_VOID(measure(start));
    note_spent(start);
    KW_TRY(TimeReply reply, finish());
    note_spent(start);
    reply.spent_ms = spent_ms_;
    session_.last_timing_ = std::chrono::steady_clock::now();
    return reply;
  }

 private:
  void note_spent(std::chrono::steady_clock::time_point start) {
    double before = 0;
    for (const double ms : spent_ms_) before += ms;
    spent_ms_.push_back(milliseconds_since(start) - before);
  }

  struct Subject {
    const TimedPlan* plan = nullptr;
    const DeviceSession::Module* module = nullptr;
    std::vector<DeviceSession::Placement> places;  // of each set of inputs
    double about_us = 0;
    CUgraphExec graph = nullptr;    // when it is timed many at a time ...
    CUgraphExec without = nullptr;  // ... and the same without the plan
    std::vector<double> raw_us;     // one for each round, flushes included where it is a graph
    std::vector<double> without_us;
    bool first_counts = false;  // its first round was the warming up
  };

  Result<void> add_subject(const TimedPlan& plan) {
    Subject subject;
    subject.plan = &plan;
    KW_TRY(subject.module, session_.module_at(plan.slot));
    if (!is_consistent(plan.plan, subject.module->kernels.size()))
      return session_.refused("the plan is not consistent");
    subjects_.push_back(std::move(subject));
    return {};
  }

  // The arena: [flush buffer][input sets][for each subject and set: outputs and scratch].
  Result<void> lay_out() {
    flush_bytes_ = std::max<std::uint64_t>(session_.facts_.l2_bytes * 2, 1u << 20);
    sets_ = std::clamp(request_.input_sets, 1, 16);
    shift_range_ = std::clamp(session_.facts_.l2_bytes / 32, least_shift_range, most_shift_range);
    const auto total = [&] {
      std::uint64_t bytes = flush_bytes_ + static_cast<std::uint64_t>(sets_) * (inputs_->bytes + shift_range_);
      for (const Subject& subject : subjects_)
        bytes += static_cast<std::uint64_t>(sets_) * session_.placement_bytes(subject.plan->plan, shift_range_);
      return bytes;
    };
    while (sets_ > 1 && total() > session_.facts_.memory_bytes / 8) --sets_;
    KW_TRY_VOID(session_.grow_arena(total()));
    std::uint64_t offset = flush_bytes_;
    for (int set = 0; set < sets_; ++set) {
      Copy copy;
      copy.region = session_.arena_ + offset;
      copy.region_bytes = inputs_->bytes + shift_range_;
      offset += copy.region_bytes;
      const CUdeviceptr base = copy.region + shift();
      KW_CUDA(cuMemsetD32Async(copy.region, poison_word, copy.region_bytes / 4, session_.stream_));
      KW_CUDA(cuMemcpyDtoDAsync_v2(base, inputs_->base, inputs_->bytes, session_.stream_));
      for (std::size_t i = 0; i < inputs_->tensors.size(); ++i) {
        const CUdeviceptr place = base + (inputs_->tensors[i] - inputs_->base);
        copy.tensors.push_back(place);
        if (set > 0) KW_TRY_VOID(rotate(inputs_->tensors[i], place, inputs_->tensor_bytes[i], set));
      }
      copies_.push_back(std::move(copy));
    }
    for (Subject& subject : subjects_) {
      for (int set = 0; set < sets_; ++set) {
        const std::uint64_t region = session_.placement_bytes(subject.plan->plan, shift_range_);
        const auto& tensors = copies_[static_cast<std::size_t>(set)].tensors;
        KW_TRY(auto place, session_.place(subject.plan->plan, tensors, inputs_->tensor_bytes, offset, region, shift()));
        KW_TRY_VOID(session_.poison(place));
        offset += region;
        subject.places.push_back(std::move(place));
      }
    }
    KW_TRY(checksums_, sums_of_copies());
    return {};
  }

  Result<std::vector<std::uint64_t>> sums_of_copies() {
    KW_TRY_VOID(session_.clear_counters(copies_.size()));
    for (std::size_t i = 0; i < copies_.size(); ++i)
      KW_TRY_VOID(session_.enqueue_checksum(copies_[i].region, copies_[i].region_bytes, i));
    return session_.read_counters(copies_.size());
  }

  std::uint64_t shift() {
    return static_cast<std::uint64_t>(
               random_.integer(0, static_cast<std::int64_t>(shift_range_ / tensor_alignment) - 1)) *
           tensor_alignment;
  }

  // Other contents with the same distribution: the values moved along by a number of elements (of 8 bytes, so that no
  // element is cut).
  Result<void> rotate(CUdeviceptr from, CUdeviceptr to, std::uint64_t bytes, int set) {
    const std::uint64_t units = bytes / 8;
    if (units < 2) return {};
    const std::uint64_t by = units * static_cast<std::uint64_t>(set) / static_cast<std::uint64_t>(sets_) * 8;
    if (by == 0) return {};
    const std::uint64_t whole = units * 8;
    KW_CUDA(cuMemcpyDtoDAsync_v2(to, from + by, whole - by, session_.stream_));
    KW_CUDA(cuMemcpyDtoDAsync_v2(to + whole - by, from, by, session_.stream_));
    return {};
  }

  // An idle GPU runs at a fraction of its clock. Never set clocks: work until the same work takes the same time.
  Result<void> raise_clocks() {
    // Somebody was measured a moment ago: they are up.
    if (milliseconds_since(session_.last_timing_) < clocks_stay_ms) return {};
    const auto start = std::chrono::steady_clock::now();
    double last = 0;
    int steady = 0;
    int rounds = spin_rounds;
    CUdeviceptr out = session_.counters_;
    void* arguments[] = {&rounds, &out};
    while (steady < 2 && milliseconds_since(start) < raise_clocks_ms) {
      KW_TRY(const double us, timed([&] {
               return session_.enqueue_helper(3, static_cast<unsigned>(session_.facts_.multiprocessors * 4), 256,
                                              arguments);
             }));
      steady = std::abs(us - last) < settled * us ? steady + 1 : 0;
      last = us;
    }
    return {};
  }

  // Between two events of its own; its time comes with collect(). The device has the next run before this one ends, so
  // neither a wait of the host nor its waking up stands between them.
  template <class Work>
  Result<void> enqueue_timed(const Work& work) {
    KW_TRY_VOID(session_.want_events(2 * (waiting_ + 1)));
    KW_CUDA(cuEventRecord(session_.events_[2 * waiting_], session_.stream_));
    KW_TRY_VOID(work());
    KW_CUDA(cuEventRecord(session_.events_[2 * waiting_ + 1], session_.stream_));
    ++waiting_;
    return {};
  }

  // Waits for what was enqueued; microseconds, in the order of enqueuing.
  Result<std::vector<double>> collect() {
    std::vector<double> times;
    if (waiting_ > 0) KW_CUDA(cuEventSynchronize(session_.events_[2 * waiting_ - 1]));
    for (std::size_t i = 0; i < waiting_; ++i) {
      float ms = 0;
      KW_CUDA(cuEventElapsedTime(&ms, session_.events_[2 * i], session_.events_[2 * i + 1]));
      times.push_back(1000.0 * ms);
    }
    waiting_ = 0;
    return times;
  }

  template <class Work>
  Result<double> timed(const Work& work) {
    KW_TRY_VOID(enqueue_timed(work));
    KW_TRY(const std::vector<double> times, collect());
    return times.back();
  }

  // Nothing of an earlier run is left: not in shared memory, not in variables. Outputs and scratch were poisoned when
  // they were laid out and after each run.
  Result<void> forget(const Subject& subject) { return session_.enqueue_restoring(*subject.module); }

  Result<void> flush() {
    KW_CUDA(cuMemsetD32Async(session_.arena_, 0, flush_bytes_ / 4, session_.stream_));
    return {};
  }

  Result<void> enqueue(const Subject& subject, std::size_t set) {
    return session_.enqueue(*subject.module, subject.plan->plan, subject.places[set]);
  }

  Result<void> enqueue_timed_alone(const Subject& subject, std::size_t set) {
    KW_TRY_VOID(forget(subject));
    KW_TRY_VOID(flush());
    KW_TRY_VOID(enqueue_timed([&] { return enqueue(subject, set); }));
    // Right answers must not lie about while others are timed.
    return session_.poison(subject.places[set]);
  }

  Result<void> warm_up() {
    KW_TRY_VOID(flush());
    KW_TRY(flush_us_, timed([&] { return flush(); }));
    sets_looked_at_ = sets_;
    for (Subject& subject : subjects_) {
      KW_TRY_VOID(enqueue_timed_alone(subject, 0));
      KW_TRY(const std::vector<double> first, collect());
      subject.about_us = first.back();
      subject.first_counts = subject.about_us > slow_plan_us;
      if (subject.first_counts) {
        sets_looked_at_ = 1;
        subject.raw_us = first;
      }
      if (subject.about_us > long_plan_us) {
        sets_looked_at_ = std::min(sets_looked_at_, 2);
        continue;
      }
      const int runs = std::max(sets_, 2);
      for (int i = 1; i < runs; ++i) KW_TRY_VOID(enqueue_timed_alone(subject, static_cast<std::size_t>(i % sets_)));
      KW_TRY(const std::vector<double> others, collect());
      subject.about_us = std::min(subject.about_us, *std::min_element(others.begin(), others.end()));
    }
    return {};
  }

  template <class Work>
  Result<CUgraphExec> graph_of(const Work& work) {
    KW_CUDA(cuStreamBeginCapture_v2(session_.stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
    const Result<void> recorded = work();
    CUgraph graph = nullptr;
    const CUresult ended = cuda_.cuStreamEndCapture(session_.stream_, &graph);
    if (!recorded.ok()) return recorded.error();
    if (ended != CUDA_SUCCESS) return session_.failed(ended, "cuStreamEndCapture");
    CUgraphExec made = nullptr;
    const CUresult instantiated = cuda_.cuGraphInstantiateWithFlags(&made, graph, 0);
    cuda_.cuGraphDestroy(graph);
    if (instantiated != CUDA_SUCCESS) return session_.failed(instantiated, "cuGraphInstantiate");
    KW_CUDA(cuGraphUpload(made, session_.stream_));
    return made;
  }

  Result<void> make_graphs() {
    double longest = 0;
    for (const Subject& subject : subjects_)
      if (subject.about_us < graph_below_us) longest = std::max(longest, subject.about_us);
    if (longest == 0) return {};
    repeats_ = std::clamp(static_cast<int>(graph_us / (longest + flush_us_)), least_repeats, most_repeats);
    for (Subject& subject : subjects_) {
      if (subject.about_us >= graph_below_us) continue;
      KW_TRY(subject.graph, graph_of([&] { return repeat(subject, true); }));
      KW_TRY(subject.without, graph_of([&] { return repeat(subject, false); }));
      for (const CUgraphExec graph : {subject.graph, subject.without}) KW_CUDA(cuGraphLaunch(graph, session_.stream_));
    }
    return session_.synchronize();
  }

  Result<void> repeat(const Subject& subject, bool with_plan) {
    for (int i = 0; i < repeats_; ++i) {
      const auto set = static_cast<std::size_t>(i % sets_);
      KW_TRY_VOID(forget(subject));
      KW_TRY_VOID(flush());
      if (with_plan) KW_TRY_VOID(enqueue(subject, set));
      KW_TRY_VOID(session_.poison(subject.places[set]));
    }
    return {};
  }

  Result<void> launch(CUgraphExec graph) {
    KW_CUDA(cuGraphLaunch(graph, session_.stream_));
    return {};
  }

  Result<void> measure(std::chrono::steady_clock::time_point start) {
    const double longest = std::max_element(subjects_.begin(), subjects_.end(), [](const auto& a, const auto& b) {
                             return a.about_us < b.about_us;
                           })->about_us;
    int least = request_.least_rounds;
    for (const LeastRounds& each : least_rounds_of_long_plans)
      if (longest > each.from_us) least = std::min(least, each.rounds);
    // Which comes first must not matter: they take turns, from a random start.
    const auto start_with = static_cast<std::size_t>(random_.integer(0, 1));
    int done = 0;
    while (done < request_.most_rounds) {
      const int wanted = done == 0 ? least : longest > slow_plan_us ? 1 : rounds_at_once;
      const int until = std::min(done + wanted, request_.most_rounds);
      std::vector<std::vector<double>*> owners;  // of the times, in the order of enqueuing
      for (int round = done; round < until; ++round)
        KW_TRY_VOID(enqueue_round(round, start_with + static_cast<std::size_t>(round), owners));
      KW_TRY(const std::vector<double> times, collect());
      for (std::size_t i = 0; i < times.size(); ++i) owners[i]->push_back(times[i]);
      done = until;
      if (is_known() || milliseconds_since(start) > request_.budget_ms) break;
    }
    return {};
  }

  Result<void> enqueue_round(int round, std::size_t first, std::vector<std::vector<double>*>& owners) {
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      Subject& subject = subjects_[(first + i) % subjects_.size()];
      if (round == 0 && subject.first_counts) continue;
      if (subject.graph == nullptr) {
        KW_TRY_VOID(enqueue_timed_alone(subject, static_cast<std::size_t>(round % sets_)));
        owners.push_back(&subject.raw_us);
        continue;
      }
      const bool plan_first = (first + i) % 4 < 2;
      for (const bool with_plan : {plan_first, !plan_first}) {
        KW_TRY_VOID(enqueue_timed([&] { return launch(with_plan ? subject.graph : subject.without); }));
        owners.push_back(with_plan ? &subject.raw_us : &subject.without_us);
      }
    }
    return {};
  }

  std::vector<double> times_of(const Subject& subject) const {
    if (subject.graph == nullptr) return subject.raw_us;
    std::vector<double> times;
    // Round by round, so that the noise of both is in the samples.
    for (std::size_t i = 0; i < subject.raw_us.size(); ++i)
      times.push_back(std::max((subject.raw_us[i] - subject.without_us[i]) / repeats_, least_graph_us));
    return times;
  }

  bool is_known() const {
    const std::vector<double> candidate = times_of(subjects_[0]);
    std::vector<double> figures = candidate;
    if (subjects_.size() > 1) {
      const std::vector<double> baseline = times_of(subjects_[1]);
      for (std::size_t i = 0; i < figures.size(); ++i) figures[i] = baseline[i] / candidate[i];
    }
    const Interval known = median_interval(figures);
    return (known.high - known.low) / 2 <= request_.relative_half_width * median(figures);
  }

  Result<TimeReply> finish() {
    TimeReply reply;
    reply.candidate_us = times_of(subjects_[0]);
    reply.candidate_by_graph = subjects_[0].graph != nullptr;
    reply.flush_us = flush_us_;
    if (subjects_.size() > 1) {
      reply.baseline_us = times_of(subjects_[1]);
      reply.baseline_by_graph = subjects_[1].graph != nullptr;
    }
    std::vector<const DeviceSession::Placement*> places;
    for (const Subject& subject : subjects_)
      for (const auto& place : subject.places) places.push_back(&place);
    KW_TRY_VOID(session_.clear_counters(counters_read));
    KW_TRY(const std::size_t counters, session_.enqueue_memory_checks(places, *inputs_, *subjects_[0].module, 0));
    KW_TRY(const auto counted, session_.read_counters(counters));
    reply.memory = DeviceSession::memory_state(places, *inputs_, counted, 0);
    KW_TRY(const auto sums, sums_of_copies());
    reply.memory.inputs_changed = reply.memory.inputs_changed || sums != checksums_;
    return look_after(std::move(reply));
  }

  // Once more with every set: a kernel cannot tell this run from those that were timed. The answers of the baseline are
  // fetched last, and nothing of one run is left for the next.
  Result<TimeReply> look_after(TimeReply reply) {
    for (std::size_t number = 0; number < subjects_.size(); ++number) {
      const Subject& subject = subjects_[number];
      auto& all = number == 0 ? reply.candidate_outputs : reply.baseline_outputs;
      for (std::size_t set = 0; set < static_cast<std::size_t>(sets_looked_at_); ++set) {
        // The first set is the case itself, whose answers are known better.
        if (number > 0 && set == 0) {
          all.resize(reply.candidate_outputs.size() / static_cast<std::size_t>(sets_looked_at_));
          continue;
        }
        KW_TRY_VOID(forget(subject));
        KW_TRY_VOID(flush());
        KW_TRY_VOID(enqueue(subject, set));
        KW_TRY(auto outputs, session_.read_outputs({{&subject.plan->plan, &subject.places[set], &request_.samples}}));
        for (std::string& output : outputs.at(0)) all.push_back(std::move(output));
        KW_TRY_VOID(session_.poison(subject.places[set]));
      }
    }
    return reply;
  }

  struct Copy {
    CUdeviceptr region = 0;
    std::uint64_t region_bytes = 0;
    std::vector<CUdeviceptr> tensors;
  };

  DeviceSession& session_;
  const Driver& cuda_;
  const TimeRequest request_;
  Random random_;
  const DeviceSession::Inputs* inputs_ = nullptr;
  std::vector<double> spent_ms_;
  std::vector<Subject> subjects_;  // the candidate, and the baseline if there is one
  std::vector<Copy> copies_;       // of the inputs
  std::vector<std::uint64_t> checksums_;
  std::uint64_t flush_bytes_ = 0;
  std::uint64_t shift_range_ = 0;  // bytes by which places are moved at most
  double flush_us_ = 0;
  int sets_ = 1;
  int sets_looked_at_ = 1;  // after timing
  int repeats_ = 1;
  std::size_t waiting_ = 0;  // enqueued, not collected
};

Result<void> DeviceSession::lay_out_timing(const TimeRequest& request) {
  auto timer = std::make_shared<DeviceTimer>(*this, request);
  KW_TRY_VOID(timer->prepare());
  timer_ = std::move(timer);
  return {};
}

Result<TimeReply> DeviceSession::time() {
  const auto timer = std::move(timer_);
  if (timer == nullptr) return refused("no timing has been laid out");
  return timer->run();
}

}  // namespace kw
