// The best library for a kernel, where there is one: oneTBB's parallel_sort and parallel_scan, FFTW.
#ifdef RADDLE_BENCH_TBB
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>
#endif
#ifdef RADDLE_BENCH_FFTW
#include <fftw3.h>
#endif

#include <functional>

#include "parallel.h"
#include "system.h"

namespace bench {
namespace {

/// One run of a kernel by a library; what it owns goes with it.
using Runner = std::function<void()>;

struct Bound {
  Runner run;
  std::string remark;
};

#ifdef RADDLE_BENCH_TBB

/// What oneTBB's algorithms may use from here to the end of the object's life.
struct Threads {
  tbb::global_control limit{tbb::global_control::max_allowed_parallelism, core_count()};
};

Result<Bound> bind_scan(Workload& workload) {
  const std::uint32_t* in = workload.buffers[0].as<std::uint32_t>().data();
  std::uint32_t* out = workload.buffers[1].as<std::uint32_t>().data();
  const auto part = [=](const tbb::blocked_range<long>& range, std::uint32_t sum, bool is_final) {
    for (long i = range.begin(); i < range.end(); ++i) {
      sum += in[i];
      if (is_final) out[i] = sum;
    }
    return sum;
  };
  return Bound{[=, n = workload.size, threads = std::make_shared<Threads>()] {
                 tbb::parallel_scan(tbb::blocked_range<long>(0, n), 0u, part, std::plus<>());
               },
               fmt::format("oneTBB {} parallel_scan", TBB_VERSION_STRING)};
}

/// Keys above values in words of 64 bits: the values rise, so their order is the stable one.
Result<Bound> bind_sort(Workload& workload) {
  std::uint32_t *keys = workload.buffers[0].as<std::uint32_t>().data(),
                *values = workload.buffers[1].as<std::uint32_t>().data();
  return Bound{[=, pairs = std::make_shared<std::vector<std::uint64_t>>(workload.size),
                threads = std::make_shared<Threads>()] {
                 const long n = static_cast<long>(pairs->size());
                 std::uint64_t* pair = pairs->data();
                 tbb::parallel_for(0l, n,
                                   [=](long i) { pair[i] = std::uint64_t{keys[i]} << 32 | values[i]; });
                 tbb::parallel_sort(pair, pair + n);
                 tbb::parallel_for(0l, n, [=](long i) {
                   keys[i] = static_cast<std::uint32_t>(pair[i] >> 32);
                   values[i] = static_cast<std::uint32_t>(pair[i]);
                 });
               },
               fmt::format("oneTBB {} parallel_sort of 64-bit words", TBB_VERSION_STRING)};
}

#else

Result<Bound> bind_scan(Workload&) { return Error::unsupported("built without oneTBB (Debian: libtbb-dev)"); }
Result<Bound> bind_sort(Workload& workload) { return bind_scan(workload); }

#endif
#ifdef RADDLE_BENCH_FFTW

/// Planned on memory of its own, as measuring overwrites it.
Result<Bound> bind_fft(Workload& workload) {
  static const bool kThreads = fftwf_init_threads() != 0;
  if (!kThreads) return Error::unsupported("FFTW's threads do not start");
  fftwf_plan_with_nthreads(static_cast<int>(core_count()));
  const auto numbers = [](const Buffer& buffer) { return reinterpret_cast<fftwf_complex*>(buffer.data()); };
  const Buffer in(workload.buffers[0].bytes()), out(workload.buffers[1].bytes());
  const int n = kTransform;
  fftwf_plan plan = fftwf_plan_many_dft(1, &n, static_cast<int>(workload.size), numbers(in), nullptr, 1, n,
                                        numbers(out), nullptr, 1, n, FFTW_FORWARD, FFTW_MEASURE);
  if (plan == nullptr) return Error::unsupported("FFTW makes no plan");
  const std::shared_ptr<fftwf_plan_s> kept(plan, fftwf_destroy_plan);
  return Bound{[kept, from = numbers(workload.buffers[0]), to = numbers(workload.buffers[1])] {
                 fftwf_execute_dft(kept.get(), from, to);
               },
               fmt::format("{} FFTW_MEASURE, {} threads", fftwf_version, core_count())};
}

#else

Result<Bound> bind_fft(Workload&) { return Error::unsupported("built without FFTW (Debian: libfftw3-dev)"); }

#endif

class LibrarySystem : public System {
 public:
  std::string_view name() const override { return "library"; }
  std::string why_not(Kernel kernel) const override {
    return binder(kernel) ? "" : "neither oneTBB nor FFTW has it";
  }
  Result<void> prepare(Workload& workload, const std::string&) override {
    Result<Bound> bound = binder(workload.kernel)(workload);
    if (!bound.ok()) return bound.error();
    bound_ = std::move(*bound);
    return {};
  }
  Result<void> run() override {
    bound_.run();
    return {};
  }
  std::string remark() const override { return bound_.remark; }
  void release() override { bound_ = {}; }

 private:
  using Binder = Result<Bound> (*)(Workload&);
  static Binder binder(Kernel kernel) {
    switch (kernel) {
      case Kernel::scan:
        return bind_scan;
      case Kernel::radix_sort:
        return bind_sort;
      case Kernel::fft:
        return bind_fft;
      default:
        return nullptr;
    }
  }
  Bound bound_;
};

}  // namespace

Result<std::unique_ptr<System>> make_library_system() {
  return std::unique_ptr<System>(std::make_unique<LibrarySystem>());
}

}  // namespace bench
