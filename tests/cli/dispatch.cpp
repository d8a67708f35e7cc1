#include <dlfcn.h>

#include <cstring>

#include "core/interpreter/interpreter.h"
#include "frontends/text/parse.h"
#include "runtime/file.h"
#include "runtime/process.h"
#include "tests/cli/harness.h"
#include "tests/nvcc.h"

/// `moonloop gen --dispatch`: both versions give what the kernel means, and the guard chooses.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kTriangleRows =
    R"(kernel rows(n: int32, m: int32, x: in float64[n, m], y: inout float64[n, n])
domain {[i, j, k]: 0 <= j <= i < n and 0 <= k < m}
y[i, j] = y[i, j] + sum(k, x[i, k]*x[j, k])
)";
const char* const kRowsOnHost = R"(rows = lp.tag_inames(rows, {i = "par"})
)";
const char* const kRowsOnDevice =
    R"(rows = lp.split_iname(rows, "i", 8, {outer_tag = "g.1", inner_tag = "l.1"})
rows = lp.split_iname(rows, "j", 16, {outer_tag = "g.0", inner_tag = "l.0"})
)";

std::string profile(const std::string& name, bool gpu, double launch, double rate) {
  std::ostringstream out;
  out << R"({"version": 2, "device": ")" << name << R"(", "gpu": )" << (gpu ? "true" : "false")
      << R"(, "measured": true, "units": 4, "clock": 1e9, "vector_bytes": 32, "registers": 16,
  "together": 1, "issue": 4, "latency": 4, "f32": )"
      << rate << R"(, "f64": )" << rate << R"(, "i32": )" << rate << R"(, "launch": )" << launch
      << R"(, "start": 0, "handover": 1e10, "handover_apart": 2e9, "barrier": 0, "transfer_start": 1e-6, "transfer": 1e10,
  "operations": {"division": 8, "function": 30, "power": 60},
  "levels": [
    {"name": "L1", "bytes": 32768, "line": 64, "shared": false, "one": 6e10, "all": 2.4e11, "scattered": 3e10},
    {"name": "memory", "bytes": 0, "line": 64, "shared": true, "one": 1e10, "all": 2e10, "scattered": 2e9}
  ]
})";
  return out.str();
}

/// A folder with the kernel, its scripts, and machines of which the device is the faster one for
/// much work.
struct DispatchFolder : Folder {
  DispatchFolder() {
    write("rows.loop", kTriangleRows);
    write("host.lua", kRowsOnHost);
    write("device.lua", kRowsOnDevice);
    write("host.json", profile("Slow host", false, 1e-6, 1e8));
    write("device.json", profile("Fast device", false, 2e-4, 1e11));
  }
  Outcome gen(const std::string& arguments) const {
    return tool("gen rows.loop " + arguments, str());
  }
};

constexpr const char* kMachines = " --profile openmp=host.json --profile opencl=device.json ";

/// What the kernel means for these data.
std::vector<double> meant(int n, int m, std::vector<double> x, std::vector<double> y) {
  const Kernel k = parse_kernels(add_source("rows.loop", kTriangleRows)).front();
  Bindings data;
  data.scalars["n"].i = n;
  data.scalars["m"].i = m;
  data.arrays["x"] = {Type(Scalar::F64), {n, m}, {m, 1}, x.data()};
  data.arrays["y"] = {Type(Scalar::F64), {n, n}, {n, 1}, y.data()};
  interpret(k, data);
  return y;
}

using RowsFunction = void (*)(std::int32_t, std::int32_t, double const*, double*);
using RowsChoice = bool (*)(std::int32_t, std::int32_t);

}  // namespace

TEST_CASE("dispatch: both versions give what the kernel means, and the guard takes either side") {
  const DispatchFolder f;
  const Outcome made = f.gen(
      "-t host.lua --target openmp --dispatch opencl:device.lua -o rows.c "
      "--header rows.h" +
      std::string(kMachines));
  CAPTURE(made.err);
  REQUIRE(made.status == 0);
  CHECK(contains(f.read("rows.h"), "bool rows_prefers_device(int32_t n, int32_t m);"));
  const Outcome compiled = shell(
      "cc -std=c11 -O1 -Wall -Wextra -Werror -fopenmp -shared -fPIC rows.c -o rows.so -lOpenCL -lm",
      f.str());
  CAPTURE(compiled.err);
  REQUIRE(compiled.status == 0);
  void* library = dlopen((f / "rows.so").c_str(), RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto rows = reinterpret_cast<RowsFunction>(dlsym(library, "rows"));
  const auto prefers = reinterpret_cast<RowsChoice>(dlsym(library, "rows_prefers_device"));
  REQUIRE(bool{rows != nullptr});
  REQUIRE(bool{prefers != nullptr});
  bool sides[2] = {false, false};
  for (const auto& [n, m] : {std::pair{1, 1}, {5, 3}, {13, 40}, {60, 90}, {100, 150}, {0, 4}}) {
    CAPTURE(n);
    CAPTURE(m);
    std::vector<double> x(static_cast<std::size_t>(n * m)), y(static_cast<std::size_t>(n * n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 7) - 3;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i % 5);
    const std::vector<double> expected = meant(n, m, x, y);
    for (const char* side : {"", "host", "device"}) {
      CAPTURE(side);
      setenv("MOONLOOP_DISPATCH", side, 1);
      std::vector<double> own = y;
      rows(n, m, x.data(), own.data());
      CHECK(own == expected);
    }
    unsetenv("MOONLOOP_DISPATCH");
    if (n > 0) sides[prefers(n, m) ? 1 : 0] = true;
  }
  CHECK(sides[0]);
  CHECK(sides[1]);
}

TEST_CASE("dispatch: the guard in the code chooses as lp.choose_target") {
  const DispatchFolder f;
  REQUIRE(
      f.gen("-t host.lua --target openmp --dispatch opencl:device.lua -o rows.c --header rows.h" +
            std::string(kMachines))
          .status == 0);
  f.write("main.c",
          "#include <stdio.h>\n#include \"rows.h\"\nint main(void) {\n"
          "  for (int n = 1; n < 3000; n = n*3/2 + 1)\n"
          "    for (int m = 1; m < 3000; m = m*3/2 + 1)\n"
          "      printf(\"%d %d %d\\n\", n, m, rows_prefers_device(n, m));\n}\n");
  f.write("ask.lua", std::string("local host = rows\n") + kRowsOnHost +
                         "local par = rows\nrows = host\n" + kRowsOnDevice +
                         R"lua(local versions = {openmp = par, opencl = rows}
local machines = {openmp = "host.json", opencl = "device.json"}
local n = 1
while n < 3000 do
  local m = 1
  while m < 3000 do
    local best, all = lp.choose_target(versions, {params = {n = n, m = m}, device = machines})
    print(n, m, best == "opencl" and 1 or 0, all.opencl.seconds/all.openmp.seconds)
    m = m*3//2 + 1
  end
  n = n*3//2 + 1
end
)lua");
  REQUIRE(shell("cc -O1 -fopenmp rows.c main.c -o main -lOpenCL -lm", f.str()).status == 0);
  // print() writes to standard error.
  std::istringstream guard(shell("./main", f.str()).out),
      model(tool("check rows.loop -t ask.lua", f.str()).err);
  int sizes = 0, differ = 0, on_device = 0;
  double worst = 1;
  for (int n = 0, m = 0, own = 0; guard >> n >> m >> own;) {
    int n2 = 0, m2 = 0, best = 0;
    double ratio = 0;
    model >> n2 >> m2 >> best >> ratio;
    REQUIRE(!model.fail());
    REQUIRE(n == n2);
    REQUIRE(m == m2);
    ++sizes;
    on_device += own;
    if (own == best) continue;
    ++differ;
    worst = std::max(worst, own ? ratio : 1 / ratio);
  }
  CAPTURE(sizes);
  CAPTURE(differ);
  CAPTURE(worst);
  CHECK(sizes > 200);
  CHECK(on_device > 20);
  CHECK(on_device < sizes - 20);
  CHECK(differ <= 0.05 * sizes);
  CHECK(worst <= 1.5);
}

TEST_CASE(
    "dispatch: without scripts both versions are those of `auto`; the file is one for CUDA, too") {
  const DispatchFolder f;
  const Outcome c = f.gen("--dispatch opencl");
  CHECK(c.status == 0);
  CHECK(contains(c.out, "static void rows_c("));
  CHECK(contains(c.out, "void rows(int32_t n, int32_t m, double const *x, double *y) {"));
  CHECK(f.gen("--dispatch opencl").out == c.out);
  const Outcome cuda = f.gen("--target openmp --dispatch cuda:device.lua");
  CHECK(cuda.status == 0);
  CHECK(contains(cuda.out, "extern \"C\" bool rows_prefers_device(int32_t n, int32_t m)"));
  const Outcome resident = f.gen("--target openmp --dispatch cuda:device.lua --resident");
  CHECK(resident.status == 0);
  CHECK(contains(resident.out, "Arrays are on the device: no copies count."));
  f.write("words.loop",
          "kernel words(n: int32, class: in float64[n], new: out float64[n])\n"
          "domain {[i, j]: 0 <= i, j < n}\n<> t[i] = 2*class[i] {id=t}\n"
          "new[j] = t[n - 1 - j] + n // 3 {dep=t}\n");
  const Outcome words = tool("gen words.loop --dispatch cuda", f.str());
  CHECK(words.status == 0);
  if (find_program("nvcc").empty()) {
    MESSAGE("there is no nvcc: the CUDA code was not compiled");
    return;
  }
  for (const auto& [name, text] :
       {std::pair{"rows.cu", cuda.out}, {"resident.cu", resident.out}, {"words.cu", words.out}}) {
    f.write(name, text);
    const Outcome compiled = shell(
        std::string("nvcc -arch=sm_90 -Xcompiler -fopenmp,-Wall -c -o out.o ") + name, f.str());
    CAPTURE(compiled.err);
    CHECK(compiled.status == 0);
  }
}

TEST_CASE("dispatch: says what does not work") {
  const DispatchFolder f;
  f.write("loads.loop",
          "kernel loads(n: int32, k: in int32[n], x: inout float64[n])\n"
          "domain {[i]: 0 <= i < n}\ndomain [e] -> {[j]: 0 <= j < e}\n"
          "<> e = k[i]\nx[i] = x[i] + sum(j, 1.0)\n");
  f.write("pairs.loop",
          "kernel pairs(n: int32, z: inout complex128[n])\ndomain {[i]: 0 <= i < n}\n"
          "z[i] = 2*z[i]\n");
  f.write("layout.lua", "rows = lp.tag_array_axes(rows, \"x\", \"N0,N1\")\n");
  const auto why = [&](const std::string& arguments, int status) {
    const Outcome o = tool("gen " + arguments, f.str());
    CAPTURE(arguments);
    CHECK(o.status == status);
    CHECK(o.out.empty());
    return o.err;
  };
  CHECK(contains(why("rows.loop --dispatch openmp", 1),
                 "a version for a device, opencl or cuda, not openmp [unsupported]"));
  CHECK(contains(why("rows.loop --target ispc --dispatch opencl", 1),
                 "versions for ispc and opencl cannot be in one file; c and openmp go with opencl "
                 "[unsupported]"));
  CHECK(contains(why("pairs.loop --dispatch cuda", 1), "`z` is of type complex128"));
  CHECK(contains(why("rows.loop --dispatch opencl:layout.lua", 1), "different arguments"));
  CHECK(contains(why("loads.loop --dispatch opencl", 1), "[data-dependent-count]"));
  CHECK(tool("gen loads.loop --dispatch opencl --trips j=8", f.str()).status == 0);
  CHECK(contains(why("rows.loop --dispatch gpu", 2), "`gpu` is not a target"));
  CHECK(contains(why("rows.loop --dispatch opencl:", 2), "is not TARGET or TARGET:FILE.lua"));
  CHECK(contains(why("rows.loop --dispatch opencl --profile cuda=x", 2), "no version is for cuda"));
  CHECK(contains(why("rows.loop --dispatch opencl --profile x", 2), "is not TARGET=NAME"));
  CHECK(contains(why("rows.loop --dispatch opencl --resident", 2), "it goes with cuda"));
  CHECK(contains(why("rows.loop --profile c=x", 2), "it goes with --dispatch"));
  CHECK(contains(why("rows.loop --dispatch opencl --check-claims", 2), "--check-claims"));
  REQUIRE(f.gen("--dispatch opencl -o rows.c").status == 0);
  f.write("main.c",
          "void rows(int n, int m, double const *x, double *y);\n"
          "int main(void) { double x[4] = {1}, y[4] = {1}; rows(2, 2, x, y); }\n");
  REQUIRE(shell("cc -O1 rows.c main.c -o main -lOpenCL -lm", f.str()).status == 0);
  const Outcome odd = shell("MOONLOOP_DISPATCH=gpu ./main", f.str());
  CHECK(odd.status == 1);
  CHECK(odd.err == "rows: MOONLOOP_DISPATCH is `gpu`, neither `host` nor `device`\n");
  const Outcome none = shell("OCL_ICD_VENDORS=/none MOONLOOP_DISPATCH=device ./main", f.str());
  CHECK(none.status == 1);
  CHECK(none.err == "rows: OpenCL's error -1\n");
  CHECK(shell("OCL_ICD_VENDORS=/none MOONLOOP_DISPATCH=host ./main", f.str()).status == 0);
}
