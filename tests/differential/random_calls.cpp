#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "core/base/diagnostic.h"
#include "core/interpreter/interpreter.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/tree.h"
#include "core/rewrite/as_text.h"
#include "frontends/text/parse.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_axes.h"
#include "tests/differential/random_kernel.h"
#include "tests/differential/random_memory.h"
#include "tests/differential/random_records.h"
#include "tests/differential/unit.h"
#include "transforms/callee_code.h"
#include "transforms/registry.h"

/// Random kernels parts of which become kernels of their own, with steps before and after, in the
/// caller and in the callee, and calls that are put back. MOONLOOP_PAIRS says how many (60),
/// MOONLOOP_SEED the first one.
namespace moonloop::differential {
namespace {

struct Counts {
  int outlined = 0, refused = 0, inlined = 0, callee_steps = 0, caller_steps = 0, ran = 0,
      no_code = 0, invalid = 0;
};

class CallChain {
 public:
  CallChain(std::uint64_t seed, Flavour flavour, Counts& counts, std::vector<Problem>& problems)
      : seed_(seed),
        flavour_(flavour),
        random_(seed ^ 0x63616c6c73u),
        counts_(counts),
        problems_(problems) {}

  void run() {
    text_ = random_kernel(random_, fmt::format("k{}", seed_));
    text_ = random_.chance(20) ? with_records(random_, text_) : with_layouts(seed_, text_);
    Kernel original;
    try {
      original = parse_kernels(add_source(fmt::format("seed {}", seed_), text_)).at(0);
      nest(complete(original));
    } catch (const Error&) {
      ++counts_.invalid;
      return;
    }
    result_ = original;
    for (int i = random_.below(3); i > 0; --i) caller_step();
    for (int i = random_.between(1, 3); i > 0; --i) outline();
    if (result_.callees.empty()) return;
    for (int i = random_.below(flavour_ == Flavour::Host ? 4 : 8); i > 0; --i) caller_step();
    const auto callees = result_.callees;
    for (const auto& [name, called] : callees) callee_steps(name, *called->meaning);
    if (random_.chance(flavour_ == Flavour::Host ? 50 : 20)) {
      ValueDict options;
      if (random_.chance(70)) options.emplace_back("steps", Value{true});
      step({"inline", {}, options}, counts_.inlined);
      for (int i = random_.below(3); i > 0; --i) caller_step();
    }
    if (flavour_ == Flavour::Host)
      compare(original);
    else
      run_on_device({{seed_, text_, steps_, {}, original, result_}}, device_, problems_);
    counts_.ran += device_.run;
  }

 private:
  void problem(const std::string& what) { problems_.push_back({seed_, what, text_, steps_}); }

  bool step(const Call& c, int& done) {
    try {
      result_ = run_op(*find_op(c.name), result_, c.positional, c.options);
      steps_.push_back(c);
      ++done;
      return true;
    } catch (const Error&) { return false; } catch (const std::exception& e) {
      steps_.push_back(c);
      problem(std::string("internal error: ") + e.what());
      return false;
    }
  }

  void caller_step() {
    if (result_.inames().empty()) return;
    step(random_step(random_, result_, flavour_), counts_.caller_steps);
  }

  void outline() {
    const int n = static_cast<int>(result_.instructions.size());
    if (n == 0) return;
    const int from = random_.below(n), to = random_.between(from, n - 1);
    std::string within;
    for (int i = from; i <= to; ++i)
      within += (within.empty() ? "id:" : " or id:") +
                result_.instructions[static_cast<std::size_t>(i)]->id;
    const Call c{"outline", {Value{within}, Value{fmt::format("k{}_part{}", seed_, parts_++)}}, {}};
    if (!step(c, counts_.outlined)) ++counts_.refused;
  }

  void callee_steps(const std::string& name, const Kernel& meaning) {
    Kernel code = meaning;
    if (code.inames().empty()) return;
    for (int i = random_.below(8); i > 0; --i) {
      const Call c = random_step(random_, code, Flavour::Host);
      try {
        Kernel next = run_op(*find_op(c.name), code, c.positional, c.options);
        result_ = with_callee_code(result_, name, next);
        code = std::move(next);
        steps_.push_back({"in " + name + ": " + c.str(), {}, {}});
        ++counts_.callee_steps;
        transformed_ = true;
      } catch (const Error&) {  // it does not apply, or changes what the call gives
      } catch (const std::exception& e) {
        problem(fmt::format("internal error in {} of the callee: {}", c.str(), e.what()));
      }
    }
  }

  void compare(const Kernel& original) {
    std::vector<Program> programs;
    std::optional<Kernel> again;
    try {
      again = reread();
      for (const Target t : {Target::C, Target::OpenMP}) programs.push_back(generate(result_, t));
    } catch (const Error& e) {
      ++counts_.no_code;
      const std::string& code = e.diagnostic().code;
      if (code != "unsupported" && code != "unroll-bound")
        problem("no code for what was accepted: " + e.diagnostic().text + "\n" +
                print_kernel(as_text(result_)));
      return;
    } catch (const std::exception& e) {
      return problem(std::string("no code for what was accepted: ") + e.what());
    }
    try {
      std::vector<Executable> functions;
      for (const Program& p : programs)
        functions.emplace_back(p, CompileOptions{.contract = false, .level = 1}, Cache(""));
      for (const std::string& n : run_sizes(original)) {
        const Expected expected(
            original, n, {.contract = false, .reciprocals = divides_by_reciprocals(result_)});
        for (std::size_t i = 0; i < programs.size(); ++i) {
          std::vector<Buffer> found =
              filled_buffers(original, result_, integers_of(expected.scalars));
          call(functions[i], programs[i], expected.scalars, found);
          check(to_string(programs[i].target), expected, found);
        }
        for (const Kernel* k : {again ? &*again : &result_, &result_}) {
          std::vector<Buffer> found =
              filled_buffers(original, result_, integers_of(expected.scalars));
          Bindings data = bindings_of(expected.scalars, found);
          interpret(*k, data);
          check(k == &result_ ? "the interpreter" : "its text, read again,", expected, found);
        }
      }
      ++counts_.ran;
    } catch (const std::exception& e) { problem(e.what()); }
  }

  /// Its text as a kernel. A step may have a callee read an argument before it writes it, which
  /// does no harm; in the text that is what the callee means, and where the caller's temporary has
  /// no value then, the text is refused.
  std::optional<Kernel> reread() const {
    try {
      return complete(parse_kernels(add_source("printed", print_kernel(as_text(result_)))).at(0));
    } catch (const Error& e) {
      if (e.diagnostic().code == "undefined-read" && transformed_) return std::nullopt;
      throw;
    }
  }

  void check(const std::string& where, const Expected& expected, const std::vector<Buffer>& found) {
    if (const std::string what = difference(where, expected, result_, found); !what.empty())
      problem(what);
  }

  std::uint64_t seed_;
  Flavour flavour_;
  Random random_;
  Statistics device_;
  Counts& counts_;
  std::vector<Problem>& problems_;
  std::string text_;
  std::vector<Call> steps_;
  Kernel result_;
  int parts_ = 0;
  bool transformed_ = false;  // some callee
};

long number(const char* name, long otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtol(given, nullptr, 10) : otherwise;
}

void run_chains(Flavour flavour, long wanted) {
  auto seed = static_cast<std::uint64_t>(number("MOONLOOP_SEED", 1));
  Counts counts;
  std::vector<Problem> problems;
  for (long done = 0; done < wanted; ++done, ++seed) {
    if (std::getenv("MOONLOOP_VERBOSE")) fmt::print("seed {}\n", seed), std::fflush(stdout);
    CallChain(seed, flavour, counts, problems).run();
  }
  fmt::print(
      "outlined {}, refused {}, steps of callers {}, of callees {}, inlined {}, ran {}, no code "
      "{}, invalid {}\n",
      counts.outlined, counts.refused, counts.caller_steps, counts.callee_steps, counts.inlined,
      counts.ran, counts.no_code, counts.invalid);
  for (const Problem& p : problems) fmt::print("\n{}", p.str());
  CHECK(problems.empty());
  if (wanted >= 50) {
    CHECK(counts.outlined > wanted / 2);
    CHECK(counts.callee_steps > wanted / 10);
    CHECK(counts.ran > wanted / 3);
  }
}

}  // namespace

TEST_CASE("differential: calls: kernels taken out of others compute the same") {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  run_chains(Flavour::Host, number("MOONLOOP_PAIRS", 60));
}

TEST_CASE("differential: devices: calls of kernels compute the same") {
  ::setenv("POCL_WORK_GROUP_METHOD", "workitemrepl", 0);
  run_chains(Flavour::Device, number("MOONLOOP_PAIRS", 60));
}

}  // namespace moonloop::differential
