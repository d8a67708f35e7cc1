#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "runtime/c_compiler.h"
#include "runtime/process.h"

namespace moonloop::cli {
namespace {

/// A system library that may not be there.
class SystemLibrary {
 public:
  explicit SystemLibrary(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  explicit operator bool() const { return handle_ != nullptr; }
  template <class F>
  F* find(const char* symbol) const {
    return reinterpret_cast<F*>(::dlsym(handle_, symbol));
  }

 private:
  void* handle_;  // stays: drivers do not unload well
};

/// The compilers that `$CC` and usual names give, each once.
std::string compilers() {
  std::string out;
  std::set<std::string> seen;
  const char* given = std::getenv("CC");
  bool is_default = true;
  for (const std::string& name : {std::string(given ? given : ""), std::string("cc"),
                                  std::string("gcc"), std::string("clang"), std::string("icx")}) {
    const auto cc = find_c_compiler(name);
    // `cc` and `gcc` are often one: what stands behind the name in the version tells.
    if (!cc || !seen.insert(cc->version.substr(std::min(cc->version.find(' '), cc->version.size())))
                    .second)
      continue;
    out += fmt::format("c        {}{}\n", cc->str(), is_default ? "  [default]" : "");
    out += supports_openmp(*cc) ? "openmp   the same, with -fopenmp\n"
                                : "openmp   not supported by it\n";
    is_default = false;
  }
  return out.empty() ? "c        none; install a C compiler, or name one with the variable CC\n"
                     : out;
}

// The few entries of OpenCL's and CUDA's C interfaces that counting and naming devices needs.
std::string opencl() {
  const SystemLibrary cl("libOpenCL.so.1");
  if (!cl) return "opencl   none: no libOpenCL.so.1\n";
  using GetPlatforms = int(unsigned, void**, unsigned*);
  using GetDevices = int(void*, std::uint64_t, unsigned, void**, unsigned*);
  using GetInfo = int(void*, unsigned, std::size_t, void*, std::size_t*);
  auto* platforms = cl.find<GetPlatforms>("clGetPlatformIDs");
  auto* devices = cl.find<GetDevices>("clGetDeviceIDs");
  auto* info = cl.find<GetInfo>("clGetDeviceInfo");
  constexpr std::uint64_t all_types = 0xFFFFFFFF;
  constexpr unsigned name_of = 0x102B, most = 64;
  if (!platforms || !devices || !info) return "opencl   none: libOpenCL.so.1 is not usable\n";
  std::string out;
  void* ids[most];
  unsigned n = 0;
  if (platforms(most, ids, &n) != 0) n = 0;
  int number = 0;
  for (unsigned p = 0; p < std::min(n, most); ++p) {
    void* found[most];
    unsigned m = 0;
    if (devices(ids[p], all_types, most, found, &m) != 0) continue;
    for (unsigned d = 0; d < std::min(m, most); ++d) {
      char name[256] = "";
      if (info(found[d], name_of, sizeof name - 1, name, nullptr) != 0) continue;
      out += fmt::format("opencl   {}: {}\n", number++, name);
    }
  }
  return out.empty() ? "opencl   none: no platform has a device\n" : out;
}

std::string cuda() {
  const SystemLibrary driver("libcuda.so.1");
  if (!driver) return "cuda     none: no libcuda.so.1\n";
  auto* init = driver.find<int(unsigned)>("cuInit");
  auto* count = driver.find<int(int*)>("cuDeviceGetCount");
  auto* name_of = driver.find<int(char*, int, int)>("cuDeviceGetName");
  int n = 0;
  if (!init || !count || !name_of || init(0) != 0 || count(&n) != 0 || n == 0)
    return "cuda     none: the driver has no device\n";
  std::string out;
  for (int d = 0; d < n; ++d) {
    char name[256] = "";
    if (name_of(name, sizeof name - 1, d) == 0) out += fmt::format("cuda     {}: {}\n", d, name);
  }
  return out;
}

}  // namespace

void add_devices(CLI::App& app, Common& common, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("devices", "List the compilers and the OpenCL and CUDA devices found");
  add_common_options(*command, common, false);
  command->callback([&action] {
    action = [] {
      write_output("-", compilers() + opencl() + cuda());
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
