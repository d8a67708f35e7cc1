#include <vector>

#include "runtime/cache.h"
#include "runtime/compile_apart.h"
#include "runtime/compiler_log.h"
#include "runtime/device.h"
#include "runtime/file.h"
#include "runtime/shared_library.h"

namespace moonloop {
namespace {

// The part of the driver's and of NVRTC's C interface that this file uses (CUDA 11.4 and later).
// The toolkit's headers are not needed to build.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct Opaque;
using CUcontext = Opaque*;
using CUmodule = Opaque*;
using CUfunction = Opaque*;
using CUevent = Opaque*;
using CUstream = Opaque*;
using CUgraph = Opaque*;
using CUgraphExec = Opaque*;
using nvrtcProgram = Opaque*;

enum Attribute {
  kItemsInGroup = 1,
  kItemsX = 2,
  kGroupsX = 5,
  kLocalBytes = 8,
  kClock = 13,  // kHz
  kComputeUnits = 16,
  kCacheBytes = 38,
  kMajor = 75,
  kMinor = 76,
  kGivenLocalBytes = 97,  // of which the launch gives more than kLocalBytes
};
constexpr int kMostGivenLocal = 8;  // the attribute of a function

constexpr int kThisThread = 1;  // calls of other threads do not disturb a recording

struct Api {
  SharedLibrary driver{"libcuda.so.1"};
  CUresult (*cuInit)(unsigned) = nullptr;
  CUresult (*cuDeviceGetCount)(int*) = nullptr;
  CUresult (*cuDeviceGet)(CUdevice*, int) = nullptr;
  CUresult (*cuDeviceGetName)(char*, int, CUdevice) = nullptr;
  CUresult (*cuDeviceGetAttribute)(int*, int, CUdevice) = nullptr;
  CUresult (*cuDeviceTotalMem)(std::size_t*, CUdevice) = nullptr;
  CUresult (*cuDevicePrimaryCtxRetain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*cuDevicePrimaryCtxRelease)(CUdevice) = nullptr;
  CUresult (*cuCtxSetCurrent)(CUcontext) = nullptr;
  CUresult (*cuCtxSynchronize)() = nullptr;
  CUresult (*cuModuleLoadData)(CUmodule*, const void*) = nullptr;
  CUresult (*cuModuleUnload)(CUmodule) = nullptr;
  CUresult (*cuModuleGetFunction)(CUfunction*, CUmodule, const char*) = nullptr;
  CUresult (*cuFuncSetAttribute)(CUfunction, int, int) = nullptr;
  CUresult (*cuMemAlloc)(CUdeviceptr*, std::size_t) = nullptr;
  CUresult (*cuMemFree)(CUdeviceptr) = nullptr;
  CUresult (*cuMemsetD8)(CUdeviceptr, unsigned char, std::size_t) = nullptr;
  CUresult (*cuMemcpyHtoD)(CUdeviceptr, const void*, std::size_t) = nullptr;
  CUresult (*cuMemcpyDtoH)(void*, CUdeviceptr, std::size_t) = nullptr;
  CUresult (*cuLaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, CUstream, void**, void**) = nullptr;
  CUresult (*cuStreamCreate)(CUstream*, unsigned) = nullptr;
  CUresult (*cuStreamDestroy)(CUstream) = nullptr;
  CUresult (*cuStreamBeginCapture)(CUstream, int) = nullptr;
  CUresult (*cuStreamEndCapture)(CUstream, CUgraph*) = nullptr;
  CUresult (*cuGraphDestroy)(CUgraph) = nullptr;
  CUresult (*cuGraphInstantiate)(CUgraphExec*, CUgraph, unsigned long long) = nullptr;
  CUresult (*cuGraphExecDestroy)(CUgraphExec) = nullptr;
  CUresult (*cuGraphLaunch)(CUgraphExec, CUstream) = nullptr;
  CUresult (*cuEventCreate)(CUevent*, unsigned) = nullptr;
  CUresult (*cuEventDestroy)(CUevent) = nullptr;
  CUresult (*cuEventRecord)(CUevent, CUstream) = nullptr;
  CUresult (*cuEventSynchronize)(CUevent) = nullptr;
  CUresult (*cuEventElapsedTime)(float*, CUevent, CUevent) = nullptr;
  CUresult (*cuGetErrorString)(CUresult, const char**) = nullptr;

  Api() {
    if (!driver) fail("no-device", {}, "there is no NVIDIA driver (libcuda.so.1)");
    driver.find(cuInit, "cuInit");
    driver.find(cuDeviceGetCount, "cuDeviceGetCount");
    driver.find(cuDeviceGet, "cuDeviceGet");
    driver.find(cuDeviceGetName, "cuDeviceGetName");
    driver.find(cuDeviceGetAttribute, "cuDeviceGetAttribute");
    driver.find(cuDeviceTotalMem, "cuDeviceTotalMem_v2");
    driver.find(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    driver.find(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
    driver.find(cuCtxSetCurrent, "cuCtxSetCurrent");
    driver.find(cuCtxSynchronize, "cuCtxSynchronize");
    driver.find(cuModuleLoadData, "cuModuleLoadData");
    driver.find(cuModuleUnload, "cuModuleUnload");
    driver.find(cuModuleGetFunction, "cuModuleGetFunction");
    driver.find(cuFuncSetAttribute, "cuFuncSetAttribute");
    driver.find(cuMemAlloc, "cuMemAlloc_v2");
    driver.find(cuMemFree, "cuMemFree_v2");
    driver.find(cuMemsetD8, "cuMemsetD8_v2");
    driver.find(cuMemcpyHtoD, "cuMemcpyHtoD_v2");
    driver.find(cuMemcpyDtoH, "cuMemcpyDtoH_v2");
    driver.find(cuLaunchKernel, "cuLaunchKernel");
    driver.find(cuStreamCreate, "cuStreamCreate");
    driver.find(cuStreamDestroy, "cuStreamDestroy_v2");
    driver.find(cuStreamBeginCapture, "cuStreamBeginCapture_v2");
    driver.find(cuStreamEndCapture, "cuStreamEndCapture");
    driver.find(cuGraphDestroy, "cuGraphDestroy");
    driver.find(cuGraphInstantiate, "cuGraphInstantiateWithFlags");
    driver.find(cuGraphExecDestroy, "cuGraphExecDestroy");
    driver.find(cuGraphLaunch, "cuGraphLaunch");
    driver.find(cuEventCreate, "cuEventCreate");
    driver.find(cuEventDestroy, "cuEventDestroy_v2");
    driver.find(cuEventRecord, "cuEventRecord");
    driver.find(cuEventSynchronize, "cuEventSynchronize");
    driver.find(cuEventElapsedTime, "cuEventElapsedTime");
    driver.find(cuGetErrorString, "cuGetErrorString");
  }
};

struct Compiler {
  SharedLibrary library{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                        "/usr/local/cuda/lib64/libnvrtc.so"};
  int (*nvrtcCreateProgram)(nvrtcProgram*, const char*, const char*, int, const char* const*,
                            const char* const*) = nullptr;
  int (*nvrtcDestroyProgram)(nvrtcProgram*) = nullptr;
  int (*nvrtcCompileProgram)(nvrtcProgram, int, const char* const*) = nullptr;
  int (*nvrtcGetCUBINSize)(nvrtcProgram, std::size_t*) = nullptr;
  int (*nvrtcGetCUBIN)(nvrtcProgram, char*) = nullptr;
  int (*nvrtcGetProgramLogSize)(nvrtcProgram, std::size_t*) = nullptr;
  int (*nvrtcGetProgramLog)(nvrtcProgram, char*) = nullptr;
  int (*nvrtcVersion)(int*, int*) = nullptr;

  Compiler() {
    if (!library) fail("no-compiler", {}, "there is no NVRTC (libnvrtc.so), CUDA's compiler");
    library.find(nvrtcCreateProgram, "nvrtcCreateProgram");
    library.find(nvrtcDestroyProgram, "nvrtcDestroyProgram");
    library.find(nvrtcCompileProgram, "nvrtcCompileProgram");
    library.find(nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
    library.find(nvrtcGetCUBIN, "nvrtcGetCUBIN");
    library.find(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
    library.find(nvrtcGetProgramLog, "nvrtcGetProgramLog");
    library.find(nvrtcVersion, "nvrtcVersion");
  }
};

const Api& api() {
  static const Api a;
  return a;
}

void check(CUresult e, const char* what, const char* code = "device-failed") {
  if (e == 0) return;
  const char* text = nullptr;
  api().cuGetErrorString(e, &text);
  fail(code, {}, "CUDA: {}: {}", what, text ? text : "error " + std::to_string(e));
}

class CudaMemory : public DeviceMemory {
 public:
  explicit CudaMemory(std::size_t bytes) {
    const std::size_t whole = whole_words(bytes);
    check(api().cuMemAlloc(&at_, whole), "allocating memory", "out-of-device-memory");
    if (whole == bytes) return;
    const CUresult cleared = api().cuMemsetD8(at_ + bytes, 0, whole - bytes);
    if (cleared != 0) api().cuMemFree(at_);
    check(cleared, "clearing memory");
  }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory() override { api().cuMemFree(at_); }
  void upload(const void* from, std::size_t bytes) override {
    if (bytes > 0) check(api().cuMemcpyHtoD(at_, from, bytes), "copying to the device");
  }
  void download(void* to, std::size_t bytes) const override {
    if (bytes > 0) check(api().cuMemcpyDtoH(to, at_, bytes), "copying from the device");
  }
  CUdeviceptr* address() { return &at_; }

 private:
  CUdeviceptr at_ = 0;
};

/// The cubin that NVRTC makes of the program. Fails `compiler-failed`.
std::string compiled(const Compiler& c, const Program& program,
                     const std::vector<const char*>& flags) {
  nvrtcProgram p = nullptr;
  if (c.nvrtcCreateProgram(&p, program.source.c_str(), (program.name + ".cu").c_str(), 0, nullptr,
                           nullptr) != 0)
    fail("compiler-failed", {}, "NVRTC makes no program");
  struct Release {
    const Compiler& c;
    nvrtcProgram& p;
    ~Release() { c.nvrtcDestroyProgram(&p); }
  } release{c, p};
  if (c.nvrtcCompileProgram(p, static_cast<int>(flags.size()), flags.data()) != 0) {
    std::size_t n = 0;
    c.nvrtcGetProgramLogSize(p, &n);
    std::string log(n, '\0');
    c.nvrtcGetProgramLog(p, log.data());
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    fail("compiler-failed", {}, "NVRTC refused the generated code:\n{}",
         with_marked_line(log, program.source));
  }
  std::size_t n = 0;
  c.nvrtcGetCUBINSize(p, &n);
  std::string out(n, '\0');
  c.nvrtcGetCUBIN(p, out.data());
  return out;
}

/// The same, or the remembered result for the same source.
std::string compile_cubin(const Program& program, int major, int minor,
                          const DeviceCompileOptions& options) {
  static const Compiler c;
  const std::string arch = fmt::format("--gpu-architecture=sm_{}{}", major, minor);
  std::vector<const char*> flags{arch.c_str(), "--std=c++17",
                                 options.contract ? "--fmad=true" : "--fmad=false"};
  if (!options.optimize) flags.push_back("--device-debug");
  std::array<int, 2> version{};
  c.nvrtcVersion(&version[0], &version[1]);
  const std::string name = fmt::format("NVRTC {}.{}", version[0], version[1]);
  const Cache cache = Cache::standard();
  const std::string key =
      Cache::key(fmt::format("{}\n{}\n{}", name, fmt::join(flags, " "), program.source));
  std::string out;
  if (const std::string path = cache.find(key, "cubin"); !path.empty() && read_whole(path, out))
    return out;
  out = compile_apart(name, [&] { return compiled(c, program, flags); });
  cache.keep(key, "cubin", out);
  return out;
}

/// A stream that waits for copies, and they for it.
class Stream {
 public:
  Stream() { check(api().cuStreamCreate(&stream_, 0), "making a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { api().cuStreamDestroy(stream_); }
  operator CUstream() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

/// A graph of the launches that went to a stream.
class CudaRecord : public DeviceRecord {
 public:
  CudaRecord(CUgraph graph, CUstream stream) : stream_(stream) {
    const CUresult made = api().cuGraphInstantiate(&graph_, graph, 0);
    api().cuGraphDestroy(graph);
    check(made, "recording launches");
  }
  CudaRecord(const CudaRecord&) = delete;
  CudaRecord& operator=(const CudaRecord&) = delete;
  ~CudaRecord() override { api().cuGraphExecDestroy(graph_); }
  void run() override { check(api().cuGraphLaunch(graph_, stream_), "starting kernels"); }

 private:
  CUgraphExec graph_ = nullptr;
  CUstream stream_;
};

class CudaModule : public DeviceModule {
 public:
  CudaModule(const Program& program, int major, int minor, const DeviceCompileOptions& options,
             CUstream stream)
      : stream_(stream) {
    const std::string cubin = compile_cubin(program, major, minor, options);
    check(api().cuModuleLoadData(&module_, cubin.data()), "loading the code");
    for (const DeviceKernel& k : program.device->kernels) {
      CUfunction f = nullptr;
      check(api().cuModuleGetFunction(&f, module_, k.name.c_str()), "finding a kernel");
      const unsigned given = k.given_local ? static_cast<unsigned>(k.local_bytes) : 0;
      if (given > 0)
        check(api().cuFuncSetAttribute(f, kMostGivenLocal, static_cast<int>(given)),
              "taking local memory");
      kernels_.push_back({f, given});
    }
  }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;
  ~CudaModule() override { api().cuModuleUnload(module_); }

  void launch(int kernel, const std::vector<DeviceArgument>& args,
              const std::array<std::int64_t, 3>& groups,
              const std::array<std::int64_t, 3>& items) override {
    std::vector<void*> pointers;
    for (const DeviceArgument& a : args)
      pointers.push_back(a.memory
                             ? static_cast<void*>(static_cast<CudaMemory*>(a.memory)->address())
                             : const_cast<void*>(a.scalar));
    const auto n = [](std::int64_t v) { return static_cast<unsigned>(v); };
    const Entry& k = kernels_.at(static_cast<std::size_t>(kernel));
    check(
        api().cuLaunchKernel(k.function, n(groups[0]), n(groups[1]), n(groups[2]), n(items[0]),
                             n(items[1]), n(items[2]), k.given, stream_, pointers.data(), nullptr),
        "starting a kernel");
  }

 private:
  struct Entry {
    CUfunction function;
    unsigned given;  // bytes of local memory
  };

  CUstream stream_;
  CUmodule module_ = nullptr;
  std::vector<Entry> kernels_;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int n) {
    check(api().cuDeviceGet(&id_, n), "opening the device", "no-device");
    std::array<char, 256> name{};
    check(api().cuDeviceGetName(name.data(), static_cast<int>(name.size()), id_),
          "asking its name");
    name_ = name.data();
    limits_.items_in_group = attribute(kItemsInGroup);
    for (int i = 0; i < 3; ++i) {
      limits_.items.at(static_cast<std::size_t>(i)) = attribute(kItemsX + i);
      limits_.groups.at(static_cast<std::size_t>(i)) = attribute(kGroupsX + i);
    }
    limits_.local_bytes = std::max(attribute(kLocalBytes), attribute(kGivenLocalBytes));
    limits_.compute_units = static_cast<int>(attribute(kComputeUnits));
    limits_.clock = 1e3 * static_cast<double>(attribute(kClock));
    limits_.cache_bytes = attribute(kCacheBytes);
    major_ = static_cast<int>(attribute(kMajor));
    minor_ = static_cast<int>(attribute(kMinor));
    std::size_t bytes = 0;
    check(api().cuDeviceTotalMem(&bytes, id_), "asking its memory");
    limits_.memory = static_cast<std::int64_t>(bytes);
    CUcontext context = nullptr;
    check(api().cuDevicePrimaryCtxRetain(&context, id_), "opening the device", "no-device");
    check(api().cuCtxSetCurrent(context), "opening the device", "no-device");
    stream_ = std::make_unique<Stream>();
    check(api().cuEventCreate(&start_, 0), "making a clock");
    check(api().cuEventCreate(&stop_, 0), "making a clock");
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    api().cuEventDestroy(start_);
    api().cuEventDestroy(stop_);
    stream_.reset();
    api().cuDevicePrimaryCtxRelease(id_);
  }
  std::string name() const override { return name_; }
  const DeviceLimits& limits() const override { return limits_; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override {
    return std::make_unique<CudaMemory>(bytes);
  }
  std::unique_ptr<DeviceModule> compile(const Program& program,
                                        const DeviceCompileOptions& options) override {
    return std::make_unique<CudaModule>(program, major_, minor_, options, *stream_);
  }
  bool start_recording() override {
    check(api().cuStreamBeginCapture(*stream_, kThisThread), "recording launches");
    return true;
  }
  std::unique_ptr<DeviceRecord> stop_recording() override {
    CUgraph graph = nullptr;
    check(api().cuStreamEndCapture(*stream_, &graph), "recording launches");
    return std::make_unique<CudaRecord>(graph, *stream_);
  }
  void finish() override { check(api().cuCtxSynchronize(), "running a kernel"); }
  void start_clock() override { check(api().cuEventRecord(start_, *stream_), "starting a clock"); }
  double stop_clock() override {
    check(api().cuEventRecord(stop_, *stream_), "stopping a clock");
    check(api().cuEventSynchronize(stop_), "running a kernel");
    float ms = 0;
    check(api().cuEventElapsedTime(&ms, start_, stop_), "reading the clock");
    return static_cast<double>(ms) * 1e-3;
  }

 private:
  std::int64_t attribute(int which) const {
    int value = 0;
    check(api().cuDeviceGetAttribute(&value, which, id_), "asking for a limit");
    return value;
  }

  CUdevice id_ = 0;
  std::string name_;
  DeviceLimits limits_;
  int major_ = 0, minor_ = 0;
  std::unique_ptr<Stream> stream_;
  CUevent start_ = nullptr, stop_ = nullptr;
};

}  // namespace

int count_cuda() {
  check(api().cuInit(0), "starting the driver", "no-device");
  int count = 0;
  check(api().cuDeviceGetCount(&count), "listing devices", "no-device");
  return count;
}

std::unique_ptr<Device> open_cuda(int n) {
  const int count = count_cuda();
  if (count == 0) fail("no-device", {}, "CUDA lists no device");
  if (n >= count)
    fail("no-device", {}, "there is no CUDA device {}; there are {}, counted from 0", n, count);
  return std::make_unique<CudaDevice>(std::max(n, 0));
}

}  // namespace moonloop
