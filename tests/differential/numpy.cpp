#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "codegen/language.h"
#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/rewrite/as_text.h"
#include "frontends/text/parse.h"
#include "runtime/device_call.h"
#include "scripts/automatic.h"
#include "tests/differential/unit.h"
#include "tests/python.h"

/// Random kernels that their generator also writes as Python on NumPy's scalars: an oracle that
/// shares nothing with the front end. The interpreter and C have to give what NumPy gave, the same
/// after the kernel's text was printed and read again.
///
/// Settings in the environment: MOONLOOP_NUMPY_KERNELS how many (100), MOONLOOP_NUMPY_SEED the
/// first seed (1); MOONLOOP_SLICES and MOONLOOP_SLICES_SEED the same of statements on arrays,
/// MOONLOOP_SLICES_C, _OPENMP and _DEVICE how many with automatic schedules;
/// MOONLOOP_PROGRAMS_SEED the first seed of the data of examples/programs.
using namespace moonloop;
using namespace moonloop::differential;

namespace {

using Words = std::vector<std::string>;

struct Expected {
  std::string array, type;
  double bound = 0;
  Words values;
};

struct Case {
  std::string seed, text;
  GivenValues params;
  std::map<std::string, Words> inputs;
  std::vector<Expected> results;
};

std::vector<Case> read_cases(const std::string& printed) {
  std::vector<Case> out;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const Words w{std::istream_iterator<std::string>(words), {}};
    if (w[0] == "kernel") out.push_back({w[1], {}, {}, {}, {}});
    Case& c = out.back();
    if (w[0] == "text")
      while (std::getline(lines, line) && line != "endtext") c.text += line + "\n";
    if (w[0] == "param") c.params.emplace_back(w[1], w[2]);
    if (w[0] == "input") c.inputs[w[1]] = {w.begin() + 2, w.end()};
    if (w[0] == "result")
      c.results.push_back(
          {w[1], w[2], std::strtod(w[3].c_str(), nullptr), {w.begin() + 4, w.end()}});
  }
  return out;
}

std::complex<double> number(const std::string& text) {
  char* end = nullptr;
  const double re = std::strtod(text.c_str(), &end);
  return {re, *end == ',' ? std::strtod(end + 1, nullptr) : 0};
}

bool counts(Scalar s) { return is_integer(s) || s == Scalar::Bool; }

void store(const std::string& text, Scalar s, void* at) {
  ScalarValue v;
  if (counts(s)) {
    v.i = is_unsigned(s) ? static_cast<std::int64_t>(std::strtoull(text.c_str(), nullptr, 10))
                         : std::strtoll(text.c_str(), nullptr, 10);
  } else {
    v.re = number(text).real(), v.im = number(text).imag();
  }
  store_value(s, v, at);
}

/// Arrays as the case gives them.
std::vector<Buffer> arrays_of(const Case& c, const Kernel& k,
                              const std::vector<ScalarArgument>& scalars) {
  std::vector<Buffer> out = make_buffers(k, integers_of(scalars));
  for (Buffer& b : out) {
    const Words& values = c.inputs.at(b.layout().name);
    const Scalar s = b.layout().type.scalar;
    std::size_t n = 0;
    for (Cursor at(b); at; at.next()) store(values.at(n++), s, at.at());
  }
  return out;
}

bool agrees(const std::string& expected, double bound, Scalar s, const std::byte* at) {
  std::array<std::byte, 16> wanted{};
  store(expected, s, wanted.data());
  if (std::memcmp(wanted.data(), at, static_cast<std::size_t>(size_of(s))) == 0) return true;
  if (counts(s)) return false;
  const auto value = [&](const std::byte* p) -> std::complex<double> {
    const ScalarValue v = parse_value("v", is_complex(s) ? s : Scalar::F64, scalar_text(s, p));
    return {v.re, v.im};
  };
  const std::complex<double> e = value(wanted.data()), f = value(at);
  const auto is_nan = [](std::complex<double> z) {
    return std::isnan(z.real()) || std::isnan(z.imag());
  };
  const auto is_infinite = [](std::complex<double> z) {
    return std::isinf(z.real()) || std::isinf(z.imag());
  };
  // docs/language.md says where parts differ.
  if (is_nan(e) && (is_nan(f) || is_infinite(f))) return is_complex(s) || is_nan(f);
  if (is_nan(f) && is_infinite(e)) return is_complex(s);
  const auto same = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= bound * std::abs(x);
  };
  return same(e.real(), f.real()) && same(e.imag(), f.imag());
}

/// How `found` differs from NumPy's result; nothing where it does not.
std::string difference(const Case& c, const std::vector<Buffer>& found, const std::string& where) {
  for (const Expected& e : c.results)
    for (const Buffer& b : found) {
      if (b.layout().name != e.array) continue;
      if (!b.intact()) return fmt::format("{} wrote outside of `{}`", where, e.array);
      if (b.layout().type.str() != e.type)
        return fmt::format("`{}` is {}, in NumPy {}", e.array, b.layout().type.str(), e.type);
      std::int64_t n = 0;
      for (Cursor at(b); at; at.next(), ++n)
        if (!agrees(e.values.at(static_cast<std::size_t>(n)), e.bound, b.layout().type.scalar,
                    at.at()))
          return fmt::format(
              "{}: {}{} is {}, in NumPy {}", where, e.array, index_text(b.layout().shape, n),
              scalar_text(b.layout().type.scalar, at.at()), e.values[static_cast<std::size_t>(n)]);
    }
  return {};
}

/// The kernel that a case is about: of its name, or the first one.
Kernel kernel_of(const Case& c) {
  const std::vector<Kernel> all = parse_kernels(add_source("seed " + c.seed, c.text));
  const auto is_it = [&](const Kernel& k) { return k.name == "k" + c.seed; };
  const auto found = std::find_if(all.begin(), all.end(), is_it);
  return complete(found == all.end() ? all.front() : *found);
}

struct Member {
  const Case* c;
  Kernel kernel;
  Program program;
};

class Batch {
 public:
  explicit Batch(std::vector<std::string>& problems, Target target = Target::C)
      : problems_(problems), target_(target) {}

  void add(const Case& c) {
    attempt(c, [&] {
      const Kernel k = kernel_of(c);
      const Kernel again =
          complete(parse_kernels(add_source("printed", print_kernel(as_text(k)))).at(0));
      for (const Kernel* one : {&k, &again}) {
        const auto scalars = read_scalars(*one, c.params);
        std::vector<Buffer> arrays = arrays_of(c, *one, scalars);
        Bindings data = bindings_of(scalars, arrays);
        interpret(*one, data);
        complain(c, difference(c, arrays, one == &k ? "interpreter" : "its text, read again,"));
      }
      members_.push_back({&c, k, generate(k, Target::C)});
      unit_.add(members_.back().program);
    });
  }

  /// The same with the schedule that `auto` writes, about as large as the seed says.
  void add_scheduled(const Case& c) {
    attempt(c, [&] {
      const Kernel k = kernel_of(c);
      const unsigned long seed = std::strtoul(c.seed.c_str(), nullptr, 10);
      std::map<std::string, std::int64_t> params;
      if (seed % 2 == 0)
        params = {{"n", seed % 4 == 0 ? 12 : 1000}, {"m", 100}};
      else
        params = {{"n", 300}, {"m", 1000}};
      Kernel scheduled = automatic(k, target_, {.params = params}, {}).kernel;
      steps_ += static_cast<long>(scheduled.trace.size());
      Program program = generate(scheduled, target_);
      constexpr std::size_t kMostForPocl =
          50'000;  // bytes; it compiles blocked products for minutes
      if (target_ == Target::OpenCL && program.source.size() > kMostForPocl) return;
      ++scheduled_;
      members_.push_back({&c, std::move(scheduled), std::move(program)});
      if (!is_device(target_)) unit_.add(members_.back().program);
    });
  }
  /// How many have been scheduled and run, and the steps of all.
  long scheduled() const { return scheduled_; }
  long steps() const { return steps_; }

  void run() {
    if (members_.empty()) return;
    if (is_device(target_)) return run_on_device();
    const Library library =
        compile(unit_.text(), target_, {.contract = false, .level = 1}, Cache(""));
    for (const Member& m : members_)
      attempt(*m.c, [&] {
        const auto scalars = read_scalars(m.kernel, m.c->params);
        std::vector<Buffer> arrays = arrays_of(*m.c, m.kernel, scalars);
        call(Executable(m.program, library), m.program, scalars, arrays);
        complain(*m.c, difference(*m.c, arrays, to_string(target_)));
      });
  }

  void run_on_device() {
    const std::unique_ptr<Device> device = open_device(target_, -1);
    for (const Member& m : members_)
      attempt(*m.c, [&] {
        const auto scalars = read_scalars(m.kernel, m.c->params);
        std::vector<Buffer> arrays = arrays_of(*m.c, m.kernel, scalars);
        // PoCL's optimizer keeps wrong values over barriers (tests/differential/run_device.cpp).
        const auto module =
            device->compile(m.program, {.contract = false, .optimize = target_ != Target::OpenCL});
        DeviceCall call(*device, m.program, *module, scalars, arrays);
        call.upload(arrays);
        call.run();
        call.download(arrays);
        complain(*m.c, difference(*m.c, arrays, to_string(target_)));
      });
  }

 private:
  void complain(const Case& c, const std::string& what) {
    if (!what.empty()) problems_.push_back(fmt::format("seed {}: {}\n{}", c.seed, what, c.text));
  }
  template <class F>
  void attempt(const Case& c, F f) {
    try {
      f();
    } catch (const Error& e) {
      complain(c, e.diagnostic().text + " [" + e.diagnostic().code + "]");
    } catch (const std::exception& e) { complain(c, e.what()); }
  }

  std::vector<std::string>& problems_;
  Target target_;
  long steps_ = 0, scheduled_ = 0;
  Unit unit_;
  std::vector<Member> members_;
};

std::string setting(const char* name, const char* otherwise) {
  const char* given = std::getenv(name);
  return given ? given : otherwise;
}

}  // namespace

namespace {

/// Runs what `script` prints, `count` cases from a seed on.
void run_cases(const std::string& script, const char* seed, const std::string& wanted) {
  const std::vector<Case> cases =
      read_cases(test::printed_by(script, setting(seed, "1") + " " + wanted));
  CHECK(std::to_string(cases.size()) == wanted);
  std::vector<std::string> problems;
  constexpr std::size_t kBatch = 50;
  for (std::size_t from = 0; from < cases.size(); from += kBatch) {
    Batch batch(problems);
    for (std::size_t i = from; i < std::min(from + kBatch, cases.size()); ++i) batch.add(cases[i]);
    batch.run();
  }
  for (const std::string& p : problems) fmt::print("\n{}", p);
  CHECK(problems.empty());
}

}  // namespace

TEST_CASE("numpy: random kernels compute what their generator's NumPy computes") {
  run_cases("differential/numpy_kernels.py", "MOONLOOP_NUMPY_SEED",
            setting("MOONLOOP_NUMPY_KERNELS", "100"));
}

TEST_CASE("numpy: random statements on arrays compute what NumPy makes of them") {
  run_cases("differential/numpy_slices.py", "MOONLOOP_SLICES_SEED",
            setting("MOONLOOP_SLICES", "100"));
}

namespace {

/// Statements on arrays, scheduled for a target, in batches. Setting: MOONLOOP_SLICES_SEED.
void run_scheduled(Target target, const std::string& wanted, std::size_t batch_size) {
  const std::vector<Case> cases = read_cases(test::printed_by(
      "differential/numpy_slices.py", setting("MOONLOOP_SLICES_SEED", "1") + " " + wanted));
  std::vector<std::string> problems;
  long steps = 0, ran = 0;
  for (std::size_t from = 0; from < cases.size(); from += batch_size) {
    Batch batch(problems, target);
    for (std::size_t i = from; i < std::min(from + batch_size, cases.size()); ++i)
      batch.add_scheduled(cases[i]);
    batch.run();
    steps += batch.steps();
    ran += batch.scheduled();
  }
  for (const std::string& p : problems) fmt::print("\n{}", p);
  CHECK(problems.empty());
  CHECK(std::to_string(cases.size()) == wanted);
  CHECK(steps >= static_cast<long>(cases.size()));
  CHECK(ran > static_cast<long>(cases.size()) / 3);
}

}  // namespace

TEST_CASE("numpy: statements on arrays with automatic schedules") {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  run_scheduled(Target::C, setting("MOONLOOP_SLICES_C", "12"), 12);
  run_scheduled(Target::OpenMP, setting("MOONLOOP_SLICES_OPENMP", "12"), 12);
}

TEST_CASE("numpy: devices: statements on arrays with automatic schedules") {
  ::setenv("POCL_WORK_GROUP_METHOD", "workitemrepl", 0);
  const char* device = std::getenv("MOONLOOP_DEVICE_TARGET");
  run_scheduled(parse_target(device ? device : "opencl").value(),
                setting("MOONLOOP_SLICES_DEVICE", "8"), 8);
}

TEST_CASE("numpy: the programs of the field compute what theirs in NumPy do") {
  run_cases("differential/programs.py", "MOONLOOP_PROGRAMS_SEED", "10");
}
