// The OpenCL rival (PoCL's CPU device): opencl/*.cl on zero-copy host buffers, so that only the launch is
// timed.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "parallel.h"
#include "system.h"

namespace bench {
namespace {

Result<void> check(cl_int status, std::string_view what) {
  if (status == CL_SUCCESS) return {};
  return Error::invalid("{} failed with OpenCL error {}", what, status);
}

struct PreparedLaunch {
  cl_kernel kernel;
  std::size_t global[3], local[3];
};

class PoclSystem : public System {
 public:
  Result<void> open();
  ~PoclSystem() override { release(); }
  std::string_view name() const override { return "pocl"; }
  std::string why_not(Kernel kernel) const override;
  std::vector<std::string> variants() const override { return {kOptions}; }
  std::string remark() const override { return description_; }
  Result<void> prepare(Workload& workload, const std::string& variant) override;
  Result<void> upload() override { return transfer(CL_MAP_WRITE); }
  Result<void> download() override { return transfer(CL_MAP_READ); }
  Result<void> run() override;
  void release() override;

 private:
  /// CUDA's defaults contract multiply and add; black_scholes and nbody use the native_ functions besides.
  static constexpr const char* kOptions = "-cl-std=CL1.2 -cl-mad-enable -cl-fast-relaxed-math";

  Result<void> build_program();
  Result<void> add_launch(const Launch& launch);
  Result<cl_mem> argument_buffer(const BufferArgument& argument);
  Result<void> transfer(cl_map_flags direction);

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::string description_;
  Workload* workload_ = nullptr;
  std::vector<cl_mem> buffers_, views_;
  std::vector<PreparedLaunch> launches_;
};

Result<void> PoclSystem::open() {
  setenv("POCL_MAX_PTHREAD_COUNT", fmt::format("{}", core_count()).c_str(), 1);
  cl_platform_id platforms[8];
  cl_uint count = 0;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < std::min(count, 8u); ++i) {
    char name[128] = {}, version[128] = {};
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, nullptr);
    if (std::string_view(name).find("Portable Computing Language") == std::string_view::npos) continue;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) != CL_SUCCESS) continue;
    clGetDeviceInfo(device_, CL_DRIVER_VERSION, sizeof(version), version, nullptr);
    description_ = fmt::format("PoCL {} {}", version, kOptions);
    cl_int status;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (Result<void> made = check(status, "clCreateContext"); !made.ok()) return made;
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    if (Result<void> made = check(status, "clCreateCommandQueue"); !made.ok()) return made;
    return build_program();
  }
  return Error::make(raddle::ErrorCode::not_found, "no PoCL CPU device (Debian: pocl-opencl-icd)");
}

std::string PoclSystem::why_not(Kernel kernel) const {
  switch (kernel) {
    case Kernel::scan:
    case Kernel::radix_sort:
      return "no such kernel: OpenCL's work-groups must not wait for one another";
    case Kernel::cluster_scan:
      return "no such kernel: OpenCL has no clusters";
    default:
      return {};
  }
}

Result<void> PoclSystem::build_program() {
  std::stringstream text;
  for (const char* name : {"kernels", "rows_and_graphs", "transforms"}) {
    const std::string path = fmt::format("{}/kernels/opencl/{}.cl", RADDLE_BENCH_SOURCE_DIR, name);
    std::ifstream file(path);
    if (!file) return Error::make(raddle::ErrorCode::io, "cannot read {}", path);
    text << file.rdbuf();
  }
  const std::string source = text.str();
  const char* pointer = source.c_str();
  cl_int status;
  program_ = clCreateProgramWithSource(context_, 1, &pointer, nullptr, &status);
  if (Result<void> made = check(status, "clCreateProgramWithSource"); !made.ok()) return made;
  if (clBuildProgram(program_, 1, &device_, kOptions, nullptr, nullptr) == CL_SUCCESS) return {};
  std::string log(16384, '\0');
  clGetProgramBuildInfo(program_, device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
  return Error::invalid("opencl/*.cl do not build: {}", log.c_str());
}

Result<void> PoclSystem::prepare(Workload& workload, const std::string&) {
  release();
  workload_ = &workload;
  for (const Buffer& buffer : workload.buffers) {
    cl_int status;
    buffers_.push_back(clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, buffer.bytes(),
                                      buffer.data(), &status));
    if (Result<void> made = check(status, "clCreateBuffer"); !made.ok()) return made;
  }
  for (const Launch& launch : workload.launches()) {
    if (Result<void> added = add_launch(launch); !added.ok()) return added;
  }
  return {};
}

Result<cl_mem> PoclSystem::argument_buffer(const BufferArgument& argument) {
  if (argument.offset == 0) return buffers_[argument.index];
  const std::size_t origin = static_cast<std::size_t>(argument.offset);
  cl_buffer_region region{origin, workload_->buffers[argument.index].bytes() - origin};
  cl_int status;
  cl_mem view = clCreateSubBuffer(buffers_[argument.index], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                  &region, &status);
  if (Result<void> made = check(status, "clCreateSubBuffer"); !made.ok()) return made.error();
  views_.push_back(view);
  return view;
}

Result<void> PoclSystem::add_launch(const Launch& launch) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program_, std::string(launch.kernel).c_str(), &status);
  if (Result<void> made = check(status, "clCreateKernel"); !made.ok()) return made;
  launches_.push_back({kernel, {}, {}});
  for (int d = 0; d < 3; ++d) {
    launches_.back().local[d] = launch.block[d];
    launches_.back().global[d] = std::size_t{launch.grid[d]} * launch.block[d];
  }
  for (cl_uint i = 0; i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    if (const BufferArgument* buffer = std::get_if<BufferArgument>(&argument)) {
      Result<cl_mem> memory = argument_buffer(*buffer);
      if (!memory.ok()) return memory.error();
      status = clSetKernelArg(kernel, i, sizeof(cl_mem), &*memory);
    } else if (const std::int32_t* integer = std::get_if<std::int32_t>(&argument)) {
      status = clSetKernelArg(kernel, i, sizeof(*integer), integer);
    } else {
      status = clSetKernelArg(kernel, i, sizeof(float), &std::get<float>(argument));
    }
    if (Result<void> set = check(status, "clSetKernelArg"); !set.ok()) return set;
  }
  return {};
}

/// On this device a map of a host-pointer buffer copies nothing; it makes the contents official.
Result<void> PoclSystem::transfer(cl_map_flags direction) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    cl_int status;
    void* mapped = clEnqueueMapBuffer(queue_, buffers_[i], CL_TRUE, direction, 0,
                                      workload_->buffers[i].bytes(), 0, nullptr, nullptr, &status);
    if (Result<void> done = check(status, "clEnqueueMapBuffer"); !done.ok()) return done;
    clEnqueueUnmapMemObject(queue_, buffers_[i], mapped, 0, nullptr, nullptr);
  }
  return check(clFinish(queue_), "clFinish");
}

Result<void> PoclSystem::run() {
  for (const PreparedLaunch& launch : launches_) {
    const cl_int status = clEnqueueNDRangeKernel(queue_, launch.kernel, 3, nullptr, launch.global,
                                                 launch.local, 0, nullptr, nullptr);
    if (Result<void> done = check(status, "clEnqueueNDRangeKernel"); !done.ok()) return done;
  }
  return check(clFinish(queue_), "clFinish");
}

void PoclSystem::release() {
  for (const PreparedLaunch& launch : launches_) clReleaseKernel(launch.kernel);
  for (cl_mem view : views_) clReleaseMemObject(view);
  for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
  launches_.clear(), views_.clear(), buffers_.clear();
}

}  // namespace

Result<std::unique_ptr<System>> make_pocl_system() {
  auto system = std::make_unique<PoclSystem>();
  if (Result<void> opened = system->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<System>(std::move(system));
}

}  // namespace bench
