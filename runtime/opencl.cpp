#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "runtime/compiler_log.h"
#include "runtime/device.h"
#include "runtime/shared_library.h"

namespace moonloop {
namespace {

/// The entries of the ICD loader.
struct Api {
  SharedLibrary library{"libOpenCL.so.1", "libOpenCL.so"};
  decltype(&::clGetPlatformIDs) clGetPlatformIDs = nullptr;
  decltype(&::clGetDeviceIDs) clGetDeviceIDs = nullptr;
  decltype(&::clGetDeviceInfo) clGetDeviceInfo = nullptr;
  decltype(&::clCreateContext) clCreateContext = nullptr;
  decltype(&::clReleaseContext) clReleaseContext = nullptr;
  decltype(&::clCreateCommandQueue) clCreateCommandQueue = nullptr;
  decltype(&::clReleaseCommandQueue) clReleaseCommandQueue = nullptr;
  decltype(&::clCreateBuffer) clCreateBuffer = nullptr;
  decltype(&::clReleaseMemObject) clReleaseMemObject = nullptr;
  decltype(&::clEnqueueWriteBuffer) clEnqueueWriteBuffer = nullptr;
  decltype(&::clEnqueueReadBuffer) clEnqueueReadBuffer = nullptr;
  decltype(&::clCreateProgramWithSource) clCreateProgramWithSource = nullptr;
  decltype(&::clBuildProgram) clBuildProgram = nullptr;
  decltype(&::clGetProgramBuildInfo) clGetProgramBuildInfo = nullptr;
  decltype(&::clReleaseProgram) clReleaseProgram = nullptr;
  decltype(&::clCreateKernel) clCreateKernel = nullptr;
  decltype(&::clReleaseKernel) clReleaseKernel = nullptr;
  decltype(&::clSetKernelArg) clSetKernelArg = nullptr;
  decltype(&::clEnqueueNDRangeKernel) clEnqueueNDRangeKernel = nullptr;
  decltype(&::clFinish) clFinish = nullptr;
  decltype(&::clEnqueueMarkerWithWaitList) clEnqueueMarkerWithWaitList = nullptr;
  decltype(&::clWaitForEvents) clWaitForEvents = nullptr;
  decltype(&::clGetEventProfilingInfo) clGetEventProfilingInfo = nullptr;
  decltype(&::clReleaseEvent) clReleaseEvent = nullptr;

  Api() {
    if (!library) fail("no-device", {}, "OpenCL is not installed: there is no libOpenCL.so.1");
    library.find(clGetPlatformIDs, "clGetPlatformIDs");
    library.find(clGetDeviceIDs, "clGetDeviceIDs");
    library.find(clGetDeviceInfo, "clGetDeviceInfo");
    library.find(clCreateContext, "clCreateContext");
    library.find(clReleaseContext, "clReleaseContext");
    library.find(clCreateCommandQueue, "clCreateCommandQueue");
    library.find(clReleaseCommandQueue, "clReleaseCommandQueue");
    library.find(clCreateBuffer, "clCreateBuffer");
    library.find(clReleaseMemObject, "clReleaseMemObject");
    library.find(clEnqueueWriteBuffer, "clEnqueueWriteBuffer");
    library.find(clEnqueueReadBuffer, "clEnqueueReadBuffer");
    library.find(clCreateProgramWithSource, "clCreateProgramWithSource");
    library.find(clBuildProgram, "clBuildProgram");
    library.find(clGetProgramBuildInfo, "clGetProgramBuildInfo");
    library.find(clReleaseProgram, "clReleaseProgram");
    library.find(clCreateKernel, "clCreateKernel");
    library.find(clReleaseKernel, "clReleaseKernel");
    library.find(clSetKernelArg, "clSetKernelArg");
    library.find(clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel");
    library.find(clFinish, "clFinish");
    library.find(clEnqueueMarkerWithWaitList, "clEnqueueMarkerWithWaitList");
    library.find(clWaitForEvents, "clWaitForEvents");
    library.find(clGetEventProfilingInfo, "clGetEventProfilingInfo");
    library.find(clReleaseEvent, "clReleaseEvent");
  }
};

const Api& api() {
  static const Api a;
  return a;
}

std::string error_name(cl_int e) {
  switch (e) {
    case CL_OUT_OF_RESOURCES: return "out of resources";
    case CL_OUT_OF_HOST_MEMORY: return "out of memory on the host";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "no memory for a buffer";
    case CL_INVALID_BUFFER_SIZE: return "a buffer is too large";
    case CL_INVALID_WORK_GROUP_SIZE: return "the work-group has a size that it does not support";
    case CL_INVALID_WORK_ITEM_SIZE: return "too many work-items along an axis";
    case CL_INVALID_KERNEL_NAME: return "no such kernel";
    case CL_INVALID_KERNEL_ARGS: return "an argument is missing";
    default: return "error " + std::to_string(e);
  }
}

void check(cl_int e, const char* what, const char* code = "device-failed") {
  // Some drivers take memory when a kernel first needs it.
  if (e == CL_MEM_OBJECT_ALLOCATION_FAILURE) code = "out-of-device-memory";
  if (e != CL_SUCCESS) fail(code, {}, "OpenCL: {}: {}", what, error_name(e));
}

/// One of OpenCL's objects, released with this.
template <class T, auto Release>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T h) : h_(h) {}
  Handle(Handle&& o) noexcept : h_(std::exchange(o.h_, nullptr)) {}
  Handle& operator=(Handle&& o) noexcept {
    std::swap(h_, o.h_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (h_) (api().*Release)(h_);
  }
  T get() const { return h_; }

 private:
  T h_ = nullptr;
};
using Context = Handle<cl_context, &Api::clReleaseContext>;
using Queue = Handle<cl_command_queue, &Api::clReleaseCommandQueue>;
using Memory = Handle<cl_mem, &Api::clReleaseMemObject>;
using Module = Handle<cl_program, &Api::clReleaseProgram>;
using KernelObject = Handle<cl_kernel, &Api::clReleaseKernel>;
using Event = Handle<cl_event, &Api::clReleaseEvent>;

std::vector<cl_device_id> all_devices() {
  cl_uint n = 0;
  // An ICD loader without a driver reports an error here, which means none.
  if (api().clGetPlatformIDs(0, nullptr, &n) != CL_SUCCESS || n == 0) return {};
  std::vector<cl_platform_id> platforms(n);
  check(api().clGetPlatformIDs(n, platforms.data(), nullptr), "listing platforms");
  std::vector<cl_device_id> out;
  for (cl_platform_id p : platforms) {
    cl_uint m = 0;
    if (api().clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &m) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(m);
    check(api().clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, m, devices.data(), nullptr),
          "listing devices");
    out.insert(out.end(), devices.begin(), devices.end());
  }
  return out;
}

template <class T>
T info(cl_device_id d, cl_device_info what) {
  T value{};
  check(api().clGetDeviceInfo(d, what, sizeof value, &value, nullptr), "asking for a limit");
  return value;
}
std::string text_info(cl_device_id d, cl_device_info what) {
  std::size_t n = 0;
  check(api().clGetDeviceInfo(d, what, 0, nullptr, &n), "asking for a name");
  std::string text(n, '\0');
  check(api().clGetDeviceInfo(d, what, n, text.data(), nullptr), "asking for a name");
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

class OpenCLMemory : public DeviceMemory {
 public:
  OpenCLMemory(cl_context context, cl_command_queue queue, std::size_t bytes) : queue_(queue) {
    cl_int e = CL_SUCCESS;
    memory_ =
        Memory(api().clCreateBuffer(context, CL_MEM_READ_WRITE, whole_words(bytes), nullptr, &e));
    check(e, "allocating memory", "out-of-device-memory");
  }
  void upload(const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    check(api().clEnqueueWriteBuffer(queue_, get(), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
          "copying to the device");
  }
  void download(void* to, std::size_t bytes) const override {
    if (bytes == 0) return;
    check(api().clEnqueueReadBuffer(queue_, get(), CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
          "copying from the device");
  }
  cl_mem get() const { return memory_.get(); }

 private:
  cl_command_queue queue_;
  Memory memory_;
};

class OpenCLModule : public DeviceModule {
 public:
  OpenCLModule(cl_context context, cl_command_queue queue, cl_device_id device,
               const Program& program, const DeviceCompileOptions& options)
      : queue_(queue) {
    const std::string source =
        (options.contract ? "" : "#pragma OPENCL FP_CONTRACT OFF\n") + program.source;
    const char* text = source.c_str();
    const std::size_t length = source.size();
    cl_int e = CL_SUCCESS;
    module_ = Module(api().clCreateProgramWithSource(context, 1, &text, &length, &e));
    check(e, "making a program");
    const char* flags = options.optimize ? "-cl-std=CL1.2" : "-cl-std=CL1.2 -cl-opt-disable";
    if (api().clBuildProgram(module_.get(), 1, &device, flags, nullptr, nullptr) != CL_SUCCESS)
      fail("compiler-failed", {}, "OpenCL's compiler refused the generated code:\n{}",
           with_marked_line(log(device), source));
    for (const DeviceKernel& k : program.device->kernels) {
      kernels_.push_back(KernelObject(api().clCreateKernel(module_.get(), k.name.c_str(), &e)));
      check(e, "making a kernel");
    }
  }

  void launch(int kernel, const std::vector<DeviceArgument>& args,
              const std::array<std::int64_t, 3>& groups,
              const std::array<std::int64_t, 3>& items) override {
    cl_kernel k = kernels_.at(static_cast<std::size_t>(kernel)).get();
    for (std::size_t i = 0; i < args.size(); ++i) {
      const DeviceArgument& a = args[i];
      cl_mem memory = a.memory ? static_cast<OpenCLMemory*>(a.memory)->get() : nullptr;
      check(api().clSetKernelArg(k, static_cast<cl_uint>(i), a.memory ? sizeof(cl_mem) : a.bytes,
                                 a.memory ? &memory : a.scalar),
            "setting an argument");
    }
    std::array<std::size_t, 3> all{}, group{};
    for (std::size_t i = 0; i < 3; ++i) {
      group.at(i) = static_cast<std::size_t>(items.at(i));
      all.at(i) = static_cast<std::size_t>(groups.at(i) * items.at(i));
    }
    check(api().clEnqueueNDRangeKernel(queue_, k, 3, nullptr, all.data(), group.data(), 0, nullptr,
                                       nullptr),
          "starting a kernel");
  }

 private:
  std::string log(cl_device_id device) const {
    std::size_t n = 0;
    check(api().clGetProgramBuildInfo(module_.get(), device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &n),
          "reading the compiler's log");
    std::string text(n, '\0');
    check(api().clGetProgramBuildInfo(module_.get(), device, CL_PROGRAM_BUILD_LOG, n, text.data(),
                                      nullptr),
          "reading the compiler's log");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  cl_command_queue queue_;
  Module module_;
  std::vector<KernelObject> kernels_;
};

class OpenCLDevice : public Device {
 public:
  explicit OpenCLDevice(cl_device_id id) : id_(id), name_(text_info(id, CL_DEVICE_NAME)) {
    cl_int e = CL_SUCCESS;
    context_ = Context(api().clCreateContext(nullptr, 1, &id_, nullptr, nullptr, &e));
    check(e, "opening the device", "no-device");
    queue_ = Queue(api().clCreateCommandQueue(context_.get(), id_, CL_QUEUE_PROFILING_ENABLE, &e));
    check(e, "opening the device", "no-device");
    const auto sizes = info<std::array<std::size_t, 3>>(id, CL_DEVICE_MAX_WORK_ITEM_SIZES);
    for (std::size_t i = 0; i < 3; ++i) {
      limits_.items.at(i) = static_cast<std::int64_t>(sizes.at(i));
      limits_.groups.at(i) = INT32_MAX;
    }
    limits_.items_in_group =
        static_cast<std::int64_t>(info<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    limits_.local_bytes = static_cast<std::int64_t>(info<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE));
    limits_.memory = static_cast<std::int64_t>(info<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE));
    limits_.compute_units = static_cast<int>(info<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS));
    limits_.is_gpu = (info<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) == 0;
    limits_.clock = 1e6 * info<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    limits_.cache_bytes =
        static_cast<std::int64_t>(info<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
    limits_.extensions = text_info(id, CL_DEVICE_EXTENSIONS);
    limits_.has_double = limits_.extensions.find("cl_khr_fp64") != std::string::npos;
  }
  std::string name() const override { return name_; }
  const DeviceLimits& limits() const override { return limits_; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override {
    return std::make_unique<OpenCLMemory>(context_.get(), queue_.get(), bytes);
  }
  std::unique_ptr<DeviceModule> compile(const Program& program,
                                        const DeviceCompileOptions& options) override {
    return std::make_unique<OpenCLModule>(context_.get(), queue_.get(), id_, program, options);
  }
  void finish() override { check(api().clFinish(queue_.get()), "running a kernel"); }
  void start_clock() override { start_ = marker(); }
  double stop_clock() override {
    const Event end = marker();
    cl_event e = end.get();
    check(api().clWaitForEvents(1, &e), "running a kernel");
    return static_cast<double>(ended(end) - ended(start_)) * 1e-9;
  }

 private:
  Event marker() {
    cl_event e = nullptr;
    check(api().clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &e), "starting a clock");
    return Event(e);
  }
  static cl_ulong ended(const Event& e) {
    cl_ulong t = 0;
    check(api().clGetEventProfilingInfo(e.get(), CL_PROFILING_COMMAND_END, sizeof t, &t, nullptr),
          "reading the clock");
    return t;
  }

  cl_device_id id_;
  std::string name_;
  DeviceLimits limits_;
  Context context_;
  Queue queue_;
  Event start_;
};

}  // namespace

int count_opencl() { return static_cast<int>(all_devices().size()); }

std::unique_ptr<Device> open_opencl(int n) {
  const std::vector<cl_device_id> all = all_devices();
  if (all.empty()) fail("no-device", {}, "OpenCL lists no device");
  if (n >= static_cast<int>(all.size()))
    fail("no-device", {}, "there is no OpenCL device {}; there are {}, counted from 0", n,
         all.size());
  if (n >= 0) return std::make_unique<OpenCLDevice>(all[static_cast<std::size_t>(n)]);
  for (cl_device_id d : all)
    if (info<cl_device_type>(d, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU)
      return std::make_unique<OpenCLDevice>(d);
  return std::make_unique<OpenCLDevice>(all.front());
}

}  // namespace moonloop
