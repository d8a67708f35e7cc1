// Loops that share a team of threads, which may run ahead of each other where a loop does not wait.
#include <array>
#include <cstdlib>
#include <random>

#include "codegen/codegen.h"
#include "runtime/c_compiler.h"
#include "tests/runtime/support.h"

using namespace moonloop;

namespace {

/// Parallel loops one after the other, with accesses that may or may not meet.
class RandomLoops {
 public:
  explicit RandomLoops(std::uint32_t seed) : random_(seed) {}

  std::string text() {
    std::string head =
        "kernel k(n: int32, on: int32[2], a: inout float64[4*n + 8], b: inout float64[4*n + 8], "
        "c: inout float64[4*n + 8])\n";
    std::string body;
    const int loops = 3 + below(4);
    for (int l = 0; l < loops; ++l) {
      const std::string i = "i" + std::to_string(l);
      head += "domain {[" + i + "]: 0 <= " + i + " < n}\ntag " + i + ": par\n";
      const std::string to = element(i), from = element(i), other = element(i);
      body += to + " = " + from + (below(2) ? " + " + other : "") +
              pick({"", "", "", " {if=on[0] > 0}", " {if=on[1] > 0}", " {if=not on[0] > 0}"}) +
              "\n";
    }
    return head + body;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  std::string pick(std::initializer_list<const char*> all) {
    return *(all.begin() + below(static_cast<int>(all.size())));
  }
  std::string element(const std::string& i) {
    const std::string at = pick({"%", "%", "2*%", "n - 1 - %"});
    return pick({"a", "b", "c"}) + "[" + std::string(at).replace(at.find('%'), 1, i) + " + " +
           pick({"0", "0", "1", "2", "n", "2*n"}) + "]";
  }

  std::mt19937 random_;
};

/// The program, whose first thread comes late to each loop that others need not wait for, so that
/// these are far ahead; `loops` counts such loops.
Program with_late_thread(Program program, int& loops) {
  const std::string loop = "#pragma omp for nowait";
  const std::string late = "if (omp_get_thread_num() == 0) usleep(300);\n";
  for (std::size_t at = 0; (at = program.source.find(loop, at)) != std::string::npos; ++loops) {
    program.source.insert(at, late);
    at += late.size() + loop.size();
  }
  program.source.insert(0, "#include <omp.h>\nint usleep(unsigned);\n");
  return program;
}

using Values = std::array<std::vector<double>, 3>;

Values run(const Program& program, int n, std::array<int, 2> on) {
  Values out;
  for (std::size_t x = 0; x < out.size(); ++x)
    for (int i = 0; i < 4 * n + 8; ++i) out[x].push_back(double(x) + 0.25 * i);
  const Executable code(program, {.contract = false, .level = 1}, Cache(""));
  void* const args[] = {&n, on.data(), out[0].data(), out[1].data(), out[2].data()};
  code(args);
  return out;
}

}  // namespace

TEST_CASE("teams: threads that are ahead of others do not meet them") {
  const char* const seed = std::getenv("MOONLOOP_SEED");
  const auto first = static_cast<std::uint32_t>(seed ? std::strtoul(seed, nullptr, 10) : 100);
  int programs = 0, loops = 0;
  for (std::uint32_t s = first; programs < 8; ++s) {
    const std::string text = RandomLoops(s).text();
    CAPTURE(s);
    CAPTURE(text);
    try {
      const Kernel k = parsed(text);
      const Program c = generate(k, Target::C), openmp = generate(k, Target::OpenMP);
      ++programs;
      const std::array<int, 2> on = {s % 2 == 0, s % 3 == 0};
      CHECK(run(c, 50, on) == run(with_late_thread(openmp, loops), 50, on));
    } catch (const Error& e) {  // a loop whose own iterations meet
      const std::string& code = e.diagnostic().code;
      CHECK_MESSAGE((code == "races" || code == "not-proved"), e.what());
    }
  }
  CHECK(loops > 0);
}
