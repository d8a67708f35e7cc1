// Names of a kernel that mean something else where its code is compiled. The words come from the
// table of codegen/reserved.h and, so that it misses none, from compilers and libraries here.
#include <dlfcn.h>

#include <sstream>

#include "codegen/reserved.h"
#include "core/infer/infer.h"
#include "runtime/c_compiler.h"
#include "runtime/process.h"
#include "tests/nvcc.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::Folder;
using test::spit;

namespace {

/// Words of the kernel language itself: no names of variables there.
bool is_word_of_ours(const std::string& name) {
  static const std::set<std::string> own = [] {
    const std::vector<std::string> functions = function_names();
    std::set<std::string> out(functions.begin(), functions.end());
    for (const char* w : {"and", "or", "not", "for", "if", "else", "in", "inf", "nan", "true",
                          "false", "exists", "mod", "all", "any", "product", "sum", "do", "end"})
      out.insert(w);
    return out;
  }();
  return own.count(name) > 0;
}

/// Kernels whose loop, temporary and arrays have these names, and whose code uses much of the
/// headers and our own functions.
std::vector<Kernel> kernels_with(std::vector<std::string> names) {
  constexpr std::size_t at_once = 60;
  std::erase_if(names, is_word_of_ours);
  std::vector<Kernel> out;
  for (std::size_t from = 0; from + 2 < names.size(); from += at_once) {
    const std::size_t end = std::min(names.size(), from + at_once);
    const std::string &i = names[from], &t = names[from + 1];
    std::string args = "n: int32, x: float64[n], u: int64[n], z: complex128[n], s: float32[n]", sum;
    for (std::size_t a = from + 2; a < end; ++a) {
      args += ", " + names[a] + ": float64[n]";
      sum += " + " + names[a] + "[" + i + "]";
    }
    out.push_back(parsed(
        "kernel k" + std::to_string(from) + "(" + args + ")\ndomain {[" + i + "]: 0 <= " + i +
        " < n}\nfor " + i + "\n  <float64> " + t + " = exp(x[" + i + "]) + abs(x[" + i + "])" +
        sum + "\n  x[" + i + "] = " + t + " + min(x[" + i + "], " + t + ") + (inf if " + t +
        " > 1 else nan) + (1.0 if isnan(" + t + ") else fmod(" + t + ", 3.0))\n  u[" + i +
        "] = (u[" + i + "] - 9) // 4 + u[" + i + "] % (" + i + " - 3) + max(u[" + i + "], " + i +
        ") + abs(u[" + i + "])\n  z[" + i + "] = exp(z[" + i + "])*z[" + i + "] + real(z[" + i +
        "])\n  s[" + i + "] = sin(s[" + i + "])*pow(s[" + i + "], 0.3)\nend\n"));
  }
  return out;
}

Kernel named(const Kernel& k, const std::string& name) {
  Kernel out = k;
  out.name = name;
  return out;
}
Kernel doubling(const std::string& name) {
  static const Kernel k =
      parsed("kernel k(m: int32, a: float64[m])\ndomain {[i]: 0 <= i < m}\na[i] = 2*a[i] + 1\n");
  return named(k, name);
}

ProcessResult run_in(const Folder& folder, const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  words[0] = find_program(words[0]);
  return run_process(words, folder.path());
}

/// The macros that a compiler defines, but for those that begin with `_`, which are all ours to
/// avoid.
std::vector<std::string> macros(const std::string& printed) {
  std::vector<std::string> out;
  std::istringstream in(printed);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("#define ")) continue;
    std::string name = line.substr(8, line.find_first_of(" (", 8) - 8);
    if (name[0] != '_') out.push_back(std::move(name));
  }
  return out;
}

void check_known(const std::vector<std::string>& names, Surroundings around, NameUse use) {
  std::string missing;
  for (const std::string& n : names)
    if (!is_reserved(around, use, n)) missing += " " + n;
  CHECK(missing == "");
}

const char* const kHeaders =
    "#include <complex.h>\n#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n";

}  // namespace

TEST_CASE("names: the table has every macro of the headers that generated C includes") {
  const Folder folder;
  spit(folder / "all.c", kHeaders);
  for (const char* standard : {"-std=c17", "-std=gnu17"}) {
    const ProcessResult r = run_in(folder, {"cc", standard, "-dM", "-E", "all.c"});
    REQUIRE(r.status == 0);
    const std::vector<std::string> all = macros(r.output);
    REQUIRE(all.size() > 50);
    check_known(all, Surroundings::C, NameUse::Member);
  }
}

TEST_CASE("names: the table has every macro of OpenCL C and of CUDA's headers") {
  const Folder folder;
  spit(folder / "none.cl", "");
  spit(folder / "none.cu", "");
  if (find_program("clang").empty()) {
    MESSAGE("there is no clang: OpenCL's macros were not compared");
  } else {
    const ProcessResult r = run_in(folder, {"clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang",
                                            "-finclude-default-header", "-dM", "-E", "none.cl"});
    REQUIRE(r.status == 0);
    check_known(macros(r.output), Surroundings::OpenCL, NameUse::Member);
  }
  if (find_program("nvcc").empty()) {
    MESSAGE("there is no nvcc: CUDA's macros were not compared");
  } else {
    const ProcessResult r = run_in(folder, {"nvcc", "-E", "-Xcompiler", "-dM", "none.cu"});
    REQUIRE(r.status == 0);
    check_known(macros(r.output), Surroundings::Cuda, NameUse::Member);
  }
}

TEST_CASE("names: the table has what the C library gives a program that links with it") {
  const Folder folder;
  if (find_program("nm").empty()) {
    MESSAGE("there is no nm: the library was not compared");
    return;
  }
  for (const char* library : {"libc.so.6", "libm.so.6"}) {
    ProcessResult r = run_in(folder, {"cc", std::string("-print-file-name=") + library});
    REQUIRE(r.status == 0);
    const std::string path = r.output.substr(0, r.output.find('\n'));
    r = run_in(folder, {"nm", "-D", "--defined-only", path});
    if (r.status != 0) {
      MESSAGE("there is no " << library);
      return;
    }
    std::vector<std::string> names;
    std::istringstream in(r.output);
    for (std::string line; std::getline(in, line);) {
      const std::size_t at = line.find("@@"), name = line.rfind(' ') + 1;  // the default version
      if (at != std::string::npos && line[name] != '_')
        names.push_back(line.substr(name, at - name));
    }
    names.erase(std::remove_if(names.begin(), names.end(),
                               [](const std::string& n) { return n.starts_with("GLIBC"); }),
                names.end());
    CHECK(names.size() > 100);
    check_known(names, Surroundings::C, NameUse::Global);
  }
}

TEST_CASE("names: variables called like anything that C has are variables, in C and in C++") {
  std::vector<std::string> names = reserved_names(Surroundings::C, NameUse::Global);
  const Folder folder;
  std::string all;
  for (const Kernel& k : kernels_with(names)) {
    const Program p = generate(k, Target::C);
    spit(folder / "k.c", p.source);
    std::string header = p.header;  // C++ has no `double complex`
    header.erase(header.find(" complex *"), 8);
    spit(folder / "k.hpp", header + header);
    const ProcessResult c = run_in(
        folder, {"cc", "-std=c17", "-Wall", "-Werror", "-fsyntax-only", "-Wno-shadow", "k.c"});
    CHECK_MESSAGE(c.status == 0, c.output);
    const ProcessResult cpp = run_in(folder, {"c++", "-std=c++20", "-fsyntax-only", "k.hpp"});
    CHECK_MESSAGE(cpp.status == 0, cpp.output);
  }
}

TEST_CASE("names: variables called like anything that a device has are variables") {
  for (const Kernel& k : kernels_with(reserved_names(Surroundings::OpenCL, NameUse::Local))) {
    const Program p = generate(k, Target::OpenCL);
    open_device(Target::OpenCL, -1)->compile(p, {});
  }
  std::set<std::string> cuda;
  for (const Kernel& k : kernels_with(reserved_names(Surroundings::Cuda, NameUse::Global)))
    cuda.insert(generate(k, Target::Cuda).source);
  const auto complaint = test::nvcc_complaint(cuda);
  if (!complaint) {
    MESSAGE("there is no nvcc: CUDA's names were not compiled");
    return;
  }
  CHECK(*complaint == "");
}

TEST_CASE("names: a function of the kernel's name is none of a header's or a library's") {
  const Folder folder;
  std::string c = std::string(kHeaders) +
                  "#include <string.h>\n#include <strings.h>\n#include <time.h>\n"
                  "#include <unistd.h>\n#include <signal.h>\n#include <sys/socket.h>\n";
  for (const std::string& n : reserved_names(Surroundings::C, NameUse::Global)) {
    const Program p = generate(doubling(n), Target::C);
    CAPTURE(n);
    CHECK((p.name == n + "_kernel" || p.name == "kernel_" + n));
    CHECK(::dlsym(RTLD_DEFAULT, p.name.c_str()) == nullptr);
    c += p.source;
  }
  spit(folder / "all.c", c);
  const ProcessResult r =
      run_in(folder, {"cc", "-std=gnu17", "-Wall", "-Werror", "-fsyntax-only", "all.c"});
  CHECK_MESSAGE(r.status == 0, r.output);
  // Near misses keep their names: a variable called like a function, a kernel like no function.
  CHECK(generate(doubling("step"), Target::C).name == "step");
  CHECK(generate(doubling("strain"), Target::C).name == "strain");
  CHECK(generate(parsed("kernel f(n: int32, time: float64[n], index: float64[n])\n"
                        "domain {[i]: 0 <= i < n}\ntime[i] = index[i]\n"),
                 Target::C)
            .source.find("time[i] = index[i];") != std::string::npos);
}

TEST_CASE("names: kernels called like functions of devices compile there") {
  std::string cuda;  // one file, where all functions of C are one
  for (const std::string& n : reserved_names(Surroundings::Cuda, NameUse::Global))
    if (n.size() % 3 == 0 && !is_reserved(Surroundings::C, NameUse::Global, n))
      cuda += generate(doubling(n), Target::Cuda, {.host_arrays = true}).source;
  const Folder folder;
  spit(folder / "all.cu", cuda);
  if (find_program("nvcc").empty()) {
    MESSAGE("there is no nvcc: CUDA's kernels were not compiled");
  } else {
    const ProcessResult r =
        run_in(folder, {"nvcc", "-arch=sm_90", "-Xptxas", "-O0", "-c", "all.cu"});
    CHECK_MESSAGE(r.status == 0, r.output.substr(0, 2000));
  }
  for (const char* n :
       {"select", "step", "convert_int", "vload4", "image2d_t", "float4", "kernel"}) {
    CAPTURE(n);
    test::run_on(test::device_target(), doubling(n), doubling(n), {{"m", "5"}});
  }
}

TEST_CASE("names: what is loaded calls itself, whatever the process has by its name") {
  // Some are only compatibility symbols of the C library: they keep their names.
  for (const char* n :
       {"step", "advance", "index", "time", "select", "read", "write", "exit", "pause", "memset",
        "malloc", "main", "gammaf", "j1", "HUGE_VAL", "double", "allocate", "stdout"}) {
    CAPTURE(n);
    test::run_on(Target::C, doubling(n), doubling(n), {{"m", "5"}});
  }
  for (const char* n : {"step", "remove", "omp_get_thread_num"}) {
    CAPTURE(n);
    test::run_on(Target::OpenMP, doubling(n), doubling(n), {{"m", "5"}});
  }
}

TEST_CASE("names: macros, helpers and accumulators do not meet variables") {
  const auto both = [](const std::string& text, const std::map<std::string, std::string>& tags) {
    const Kernel k = test::tagged(text, tags);
    test::run_everywhere(k, k, {{"m", "7"}});
  };
  both(
      "kernel kk(m: int32, HUGE_VAL: float64[m], b: float64[m])\ndomain {[i]: 0 <= i < m}\n"
      "b[i] = (HUGE_VAL[i] if i > 0 else inf)\n",
      {});
  both(
      "kernel kk(m: int32, min_i32: int32[m], b: int32[m])\ndomain {[i, stderr]: 0 <= i < m and "
      "0 <= stderr <= i}\nb[i] = max(stderr, min(min_i32[stderr], b[0])) // 3\n",
      {});
  // The clause of OpenMP names the accumulator as the code does.
  both(
      "kernel kk(m: int32, a: float64[m], b: float64[1])\ndomain {[i]: 0 <= i < m}\n"
      "<float64> unix = 0\nb[0] = sum(i, a[i]) + unix\n",
      {});
  // A table is next to the functions of a device.
  both(
      "kernel read(m: int32, a: float64[m])\ndomain {[i]: 0 <= i < m}\n"
      "temp read_kernel: float64[2] init=(1.0, 2.0) read_only\ntemp write: float64[2] "
      "init=(3.0, 4.0) read_only\n"
      "a[i] = read_kernel[i % 2] + write[i % 2]\n",
      {});
}
