#include <csignal>

#include "runtime/c_compiler.h"
#include "runtime/compile_apart.h"
#include "runtime/compiler_log.h"
#include "runtime/device.h"
#include "runtime/process.h"
#include "tests/runtime/support.h"

using namespace moonloop;
using test::error_of;
using test::Folder;
using test::spit;

namespace {

Parameter scalar(const std::string& name, Scalar type) {
  Parameter p;
  p.name = name;
  p.type = type;
  return p;
}
Parameter array(const std::string& name, Scalar type, Intent intent) {
  Parameter p = scalar(name, type);
  p.is_array = true;
  p.intent = intent;
  return p;
}

Program axpy() {
  Program p;
  p.name = "axpy";
  p.source = R"(#include <stdint.h>
void axpy(int32_t const n, double const a, double const *restrict x, double *restrict y) {
  for (int32_t i = 0; i < n; ++i) y[i] = y[i] + a * x[i];
}
)";
  p.params = {scalar("n", Scalar::I32), scalar("a", Scalar::F64),
              array("x", Scalar::F64, Intent::In), array("y", Scalar::F64, Intent::InOut)};
  return p;
}

}  // namespace

TEST_CASE("compiler: calls a function with any parameters, on every cache") {
  const Folder folder;
  for (const Cache& cache : {Cache(folder / "c"), Cache(folder / "c"), Cache("")}) {
    const Executable run(axpy(), {}, cache);
    std::int32_t n = 3;
    double a = 2;
    std::vector<double> x{1, 2, 3}, y{10, 20, 30};
    void* args[] = {&n, &a, x.data(), y.data()};
    run(args);
    CHECK(y == std::vector<double>{12, 24, 36});
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder / "c")) ++files;
  CHECK(files == 1);  // the second run took it from there
}

TEST_CASE("compiler: passes every scalar type") {
  Program p;
  p.name = "scalars";
  p.source = R"(#include <stdint.h>
#include <complex.h>
void scalars(_Bool b, int8_t c, uint64_t u, float f, float _Complex z, double _Complex w,
             double *restrict out) {
  out[0] = b; out[1] = c; out[2] = u; out[3] = f; out[4] = cimagf(z); out[5] = creal(w);
}
)";
  p.params = {scalar("b", Scalar::Bool),
              scalar("c", Scalar::I8),
              scalar("u", Scalar::U64),
              scalar("f", Scalar::F32),
              scalar("z", Scalar::C64),
              scalar("w", Scalar::C128),
              array("out", Scalar::F64, Intent::Out)};
  bool b = true;
  std::int8_t c = -7;
  std::uint64_t u = 1u << 31;
  float f = 0.5f, z[2] = {1, 2};
  double w[2] = {3, 4}, out[6] = {};
  void* args[] = {&b, &c, &u, &f, z, w, out};
  Executable(p, {}, Cache(""))(args);
  CHECK(std::vector<double>(out, out + 6) == std::vector<double>{1, -7, 2147483648.0, 0.5, 2, 3});
}

TEST_CASE("compiler: an entry that is torn is compiled anew") {
  const Folder folder;
  const Cache cache(folder / "c");
  { const Executable first(axpy(), {}, cache); }
  for (const auto& f : std::filesystem::directory_iterator(folder / "c"))
    std::filesystem::resize_file(f.path(), 100);
  std::int32_t n = 1;
  double a = 1, x = 1, y = 1;
  void* args[] = {&n, &a, &x, &y};
  Executable(axpy(), {}, cache)(args);
  CHECK(y == 2);
}

TEST_CASE("compiler: what it complains about is shown") {
  Program p = axpy();
  p.source += "this is not C\n";
  const std::string message = error_of([&] { Executable(p, {}, Cache("")); });
  CHECK(message.find(" ended with status 1:\n") != std::string::npos);
  CHECK(message.find("kernel.c:5:1: error: ") != std::string::npos);
  CHECK(message.find(">     5 | this is not C\n        | ^\n") != std::string::npos);
  CHECK(message.ends_with(" [compiler-failed]"));
}

TEST_CASE("compiler: the line of generated code that it refused is marked") {
  const std::string source = "a\nb\nc\nd\n";
  CHECK(with_marked_line("k.cu(2): warning: so\nk.cu(3): error: no\n1 error", source) ==
        "k.cu(2): warning: so\nk.cu(3): error: no\n1 error\nthe generated code there:\n"
        "      1 | a\n      2 | b\n>     3 | c\n      4 | d");
  CHECK(with_marked_line("/tmp/x.cl:1:1: error: no", source) ==
        "/tmp/x.cl:1:1: error: no\nthe generated code there:\n>     1 | a\n        | ^\n"
        "      2 | b\n      3 | c");
  for (const char* log : {"", "error: out of registers", "/tmp/x.cl:9:1: error: elsewhere",
                          "x.cl:999999999999:1: error"})
    CHECK(with_marked_line(log, source) == log);
  for (const Target t : {Target::C, Target::OpenCL}) {
    Program p = generate(parsed("kernel k(a: float64[4])\ndomain {[i]: 0 <= i < 4}\n"
                                "a[i] = i\n"),
                         t);
    p.source += "this is not C\n";
    const std::string message = error_of([&] {
      if (t == Target::C) Executable(p, {}, Cache(""));
      if (t == Target::OpenCL) open_device(t, -1)->compile(p, {});
    });
    CAPTURE(message);
    CHECK(message.find(" | this is not C\n") != std::string::npos);
    CHECK(message.ends_with(" [compiler-failed]"));
  }
}

TEST_CASE("compiler: $CC names it, with options") {
  {
    const test::Setting cc("CC", "no-such-compiler -x");
    CHECK(error_of([&] { find_c_compiler(); }) ==
          "no C compiler `no-such-compiler -x` [no-compiler]");
  }
  {
    const test::Setting cc("CC", "cc -DCHOSEN=1");
    const CCompiler found = find_c_compiler();
    CHECK(found.command.size() == 2);
    CHECK(found.command[1] == "-DCHOSEN=1");
    Program p = axpy();
    p.source = "#ifndef CHOSEN\n#error option lost\n#endif\n" + p.source;
    CHECK(error_of([&] { Executable(p, {}, Cache("")); }).empty());
  }
  CHECK_FALSE(find_c_compiler("no-such-compiler").has_value());
}

TEST_CASE("compiler: a library that cannot be loaded is an error, not a crash") {
  const Folder folder;
  spit(folder / "x.so", "no library");
  const std::string message = error_of([&] { Library(folder / "x.so", false); });
  CHECK(message.starts_with("cannot load the compiled kernel: "));
  CHECK(message.ends_with(" [cannot-load]"));
  const Library good = compile("int f(void) { return 1; }\n", Target::C, {}, Cache(""));
  CHECK(error_of([&] { good.find("g"); }) == "the compiled library has no `g` [cannot-load]");
}

TEST_CASE("compiler: contraction can be turned off") {
  const std::string source =
      "__attribute__((visibility(\"default\")))\n"
      "double f(double a, double b, double c) { return a * b + c; }\n";
  const Library exact = compile(source, Target::C, {.contract = false}, Cache(""));
  auto* f = reinterpret_cast<double (*)(double, double, double)>(exact.find("f"));
  const double a = 1 + 0x1p-30;
  CHECK(f(a, a, -(1 + 0x1p-29)) == 0);  // the product rounds to 1 + 2^-29 first
}

TEST_CASE("process: status, output, folder, and what cannot start") {
  const std::string sh = find_program("sh");
  REQUIRE_FALSE(sh.empty());
  const ProcessResult r = run_process({sh, "-c", "pwd; echo problem >&2; exit 3"}, "/");
  CHECK(r.status == 3);
  CHECK(r.output == "/\nproblem\n");
  CHECK(run_process({sh, "-c", "kill -9 $$"}).status == 128 + 9);
  CHECK(run_process({sh, "-c", "yes | head -c 1000000"}).output.size() == 65536);
  CHECK(find_program("no-such-program").empty());
  CHECK(error_of([&] { run_process({"/no/such/program"}); }) ==
        "cannot start `/no/such/program`: No such file or directory [cannot-start]");
}

// Differential test, seed 9142: GCC 12 at -O1 left the call of this kernel out.
TEST_CASE("compiler: a kernel that writes from the end is called at every level of optimization") {
  const Kernel k = parsed(R"(
kernel back(n: int32, x: inout int64[3*n], b: int64[4])
domain {[w]: 1 <= w < n}
assume n >= 2
x[n - w] = (x[w + 1] - b[3] - 1) % 1009  {if=w > 1}
)");
  for (const char* level : {"-O0", "-O1", "-O2", "-O3"}) {
    CAPTURE(level);
    const test::Setting flags("MOONLOOP_CFLAGS", level);
    RunRequest request;
    request.params = {{"n", "5"}};
    request.verify = true;
    CHECK(run_kernel(k, k, request).verification->equal());
  }
}

TEST_CASE("compiler: one that crashes ends the compilation alone") {
  CHECK(compile_apart("cc", [] { return std::string("a\0b", 3); }) == std::string("a\0b", 3));
  CHECK(error_of([] {
          compile_apart("cc",
                        []() -> std::string { fail("compiler-failed", {}, "line 1\nline 2"); });
        }) == "line 1\nline 2 [compiler-failed]");
  CHECK(error_of([] {
          compile_apart("cc", []() -> std::string {
            std::signal(SIGSEGV, SIG_DFL);
            std::raise(SIGSEGV);
            return "";
          });
        }) == "cc crashed on the generated code: Segmentation fault [compiler-crashed]");
}
