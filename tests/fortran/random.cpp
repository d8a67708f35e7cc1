// Random routines: Moonloop's and gfortran's results are the same.
#include <random>

#include "codegen/codegen.h"
#include "core/order/reference.h"
#include "scripts/automatic.h"
#include "tests/fortran/gfortran.h"
#include "tests/fortran/writer.h"

using namespace moonloop;
using test::Writer;

namespace {

/// The arguments of a call.
struct Data {
  std::int32_t n, m;
  std::vector<double> a, x, s, e;
  std::vector<std::int32_t> k;

  Data(std::int32_t size, std::int32_t by, unsigned seed) : n(size), m(by) {
    std::mt19937 random(seed);
    const auto fill = [&](std::vector<double>& v, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) v.push_back(double(random() % 1000) / 1000);
    };
    const auto all = static_cast<std::size_t>(n);
    fill(a, all * all), fill(x, all), fill(s, 4), fill(e, 4);
    for (std::size_t i = 0; i < all; ++i) k.push_back(static_cast<std::int32_t>(random() % 10));
  }

  /// Equal to rounding.
  static bool same(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= 1e-12 * (1 + std::abs(a[i])))) return false;
    return true;
  }
  bool operator==(const Data& o) const {
    return same(a, o.a) && same(x, o.x) && same(s, o.s) && same(e, o.e) && k == o.k;
  }
};

/// A library, open as long as the object lives.
struct Opened {
  explicit Opened(const std::string& path)
      : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_NODELETE)) {  // threads of OpenMP wait in it
    REQUIRE_MESSAGE(handle != nullptr, dlerror());
  }
  ~Opened() { dlclose(handle); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  void* handle;
};

/// The arguments after a call of gfortran's routine, or of ours.
Data after_gfortran(const Opened& library, const std::string& name, Data d) {
  using F = void (*)(void*, void*, void*, void*, void*, void*, void*);
  const bool given = d.m > 1;  // the optional argument
  reinterpret_cast<F>(dlsym(library.handle, (name + "_").c_str()))(
      &d.n, &d.m, d.a.data(), d.x.data(), d.k.data(), d.s.data(), given ? d.e.data() : nullptr);
  return d;
}
Data after_ours(const Opened& library, const std::string& name, Data d) {
  using F = void (*)(std::int32_t, std::int32_t, void*, void*, void*, void*, void*, std::int32_t);
  const bool given = d.m > 1;
  reinterpret_cast<F>(dlsym(library.handle, name.c_str()))(d.n, d.m, d.a.data(), d.x.data(),
                                                           d.k.data(), d.s.data(),
                                                           given ? d.e.data() : nullptr, given);
  return d;
}

/// Compares the two; whether the routine changes anything.
bool is_as_gfortran(const Opened& theirs, const Opened& ours, const std::string& name, int n, int m,
                    unsigned seed) {
  const Data before(n, m, seed), one = after_gfortran(theirs, name, before);
  CHECK(one == after_ours(ours, name, before));
  return !(one == before);
}

/// How the directives of routines fared.
struct Directives {
  int all = 0, too_complex = 0;  // to prove within the budget
};

/// The kernels of a file, and with its directives proved.
test::Imported import_proved(const std::string& text, Directives& directives) {
  const FortranFile file = parse_fortran(test::fortran_source(text));
  if (!file.left_out.empty()) throw Error(file.left_out.front().why);
  test::Imported out{file.kernels, file.kernels};
  for (const FortranFile::Transform& t : file.transforms) try {
      ++directives.all;
      out.transformed = run_transform_script(t.source, out.transformed, {}, t.code.c_str());
    } catch (const Error& e) {
      if (e.diagnostics().front().text.find("takes too many operations") == std::string::npos)
        throw;
      ++directives.too_complex;
    }
  return out;
}

bool is_tagged(const Kernel& k, TagKind kind) {
  return std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                     [&](const auto& t) { return t.second.kind == kind; });
}

/// As the command line gives kernels with directives to a processor.
std::vector<Kernel> fitted(std::vector<Kernel> kernels, bool threads) {
  std::string code;
  for (const Kernel& k : kernels)
    if (is_tagged(k, TagKind::Par) || is_tagged(k, TagKind::Simd))
      code += fmt::format(
          "{0} = require(\"moonloop.lib\").parallel_rows({0}, {{sums = {1}, threads = {1}}})\n",
          k.name, threads);
  if (code.empty()) return kernels;
  return run_transform_script(add_source("rows", code), std::move(kernels), {});
}

/// Without kernels that others of the file call.
std::vector<Kernel> routines_of(std::vector<Kernel> all) {
  std::erase_if(all, [](const Kernel& k) { return k.name.find('_') != std::string::npos; });
  return all;
}

/// The same; where the file is refused, which of its routines is.
test::Imported imported(const std::string& file, const std::vector<std::string>& routines,
                        Directives& directives) {
  try {
    return import_proved(file, directives);
  } catch (const Error&) {
    for (const std::string& text : routines) try {
        import_proved(text, directives);
      } catch (const Error& e) { FAIL(std::string(e.what()) << "\n" << text); }
    throw;
  }
}

void command(const std::vector<std::string>& words) {
  const ProcessResult r = run_process(words);
  INFO(r.output);
  REQUIRE(r.status == 0);
}

}  // namespace

TEST_CASE("fortran: random routines do what gfortran makes of them") {
  const test::Folder folder;
  const char* const given = std::getenv("MOONLOOP_SEED");
  const unsigned first = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 0;
  const char* const sanitizers = std::getenv("MOONLOOP_SANITIZE");
  setenv("OMP_WAIT_POLICY", "passive", 0);
  int compared = 0, fused = 0;
  Directives directives;
  for (unsigned batch = 0; batch < 6; ++batch) {
    std::vector<std::string> texts;
    std::string file;
    for (unsigned i = 0; i < 50; ++i) {
      texts.push_back(Writer(first + 1000 * batch + i).routine("r" + std::to_string(i)));
      file += texts.back() + "\n";
    }
    const std::string base = folder / "batch" + std::to_string(batch);
    test::spit(base + ".f90", file);
    command({find_program("gfortran"), "-O0", "-ffrontend-optimize", "-ffp-contract=off",
             "-ffree-line-length-none", "-fPIC", "-shared", "-o", base + "_gfortran.so",
             base + ".f90"});
    test::Imported all = imported(file, texts, directives);
    all.original = routines_of(std::move(all.original));
    all.transformed = routines_of(std::move(all.transformed));
    const std::vector<Kernel> in_threads = fitted(all.transformed, true);
    for (std::size_t i = 0; i < in_threads.size(); ++i)
      fused += in_threads[i].inames().size() < all.transformed[i].inames().size() ? 1 : 0;
    // In some batches C has what a processor without threads makes of the directives.
    if (batch % 2 == 1) all.original = fitted(all.transformed, false);
    REQUIRE(all.original.size() == texts.size());
    const auto has_directives = [&](std::size_t i) {
      return texts[i].find("!$omp") != std::string::npos ||
             texts[i].find("!DIR$") != std::string::npos;
    };
    const auto library = [&](const std::vector<Kernel>& kernels, Target target) {
      std::string path = base + "_" + to_string(target) + ".so";
      std::vector<std::string> words{
          find_program("gcc"), "-O0", "-fopenmp", "-ffp-contract=off", "-fPIC",
          "-shared",           "-o",  path};
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (target == Target::OpenMP && !has_directives(i)) continue;
        const std::string name = base + "_" + to_string(target) + std::to_string(i) + ".c";
        CAPTURE(texts[i]);
        // In some batches the code checks itself: it ends the program where a claim does not hold.
        const bool checks = batch % 3 == (target == Target::C ? 1 : 2);
        REQUIRE_NOTHROW(
            test::spit(name, generate(kernels[i], target, {.check_claims = checks}).source));
        words.push_back(name);
      }
      words.emplace_back("-lm");
      // Sanitizers end the program where something is wrong.
      if (sanitizers || batch == 5)
        words.insert(words.end(),
                     {std::string("-fsanitize=") + (sanitizers ? sanitizers : "undefined"),
                      "-fno-sanitize-recover=all"});
      command(words);
      return path;
    };
    const Opened theirs(base + "_gfortran.so"), ours(library(all.original, Target::C)),
        parallel(library(in_threads, Target::OpenMP));
    for (std::size_t i = 0; i < texts.size(); ++i)
      for (const auto& sizes : {std::pair{1, 1}, {2, 1}, {7, 2}, {10, 3}}) {
        const int n = sizes.first, m = sizes.second;
        CAPTURE(texts[i]);
        CAPTURE(n);
        const std::string name = "r" + std::to_string(i);
        const Data before(n, m, batch), one = after_gfortran(theirs, name, before);
        for (const Opened* library : {&ours, &parallel}) {
          if (library == &parallel && (n > 7 || !has_directives(i))) continue;  // many teams
          CAPTURE(library == &parallel);
          CHECK(one == after_ours(*library, name, before));
        }
        compared += one == before ? 0 : 1;
      }
  }
  CHECK(compared > 1000);  // of 1,200 calls those that did anything
  CHECK(directives.all > 50);
  CHECK(directives.too_complex * 10 < directives.all);
  CHECK(fused > 0);
  MESSAGE(directives.all, " directives, ", directives.too_complex, " too complex; ", fused,
          " routines with fewer loops");
}

namespace {

/// A routine and its kernel, without what its directives say.
struct Small {
  std::string text;
  Kernel kernel;
};

/// Those of 25 random routines that have at most so many statements: the time for a schedule grows
/// faster than their number.
std::vector<Small> small_routines(unsigned first, std::size_t statements) {
  std::vector<std::string> texts;
  std::string file;
  for (unsigned i = 0; i < 25; ++i) {
    texts.push_back(Writer(first + i).routine("r" + std::to_string(first + i)));
    file += texts.back() + "\n";
  }
  FortranOptions ignore;
  ignore.directives = FortranDirectives::Ignore;
  const std::vector<Kernel> kernels =
      routines_of(parse_fortran(test::fortran_source(file), ignore).kernels);
  REQUIRE(kernels.size() == texts.size());
  std::vector<Small> out;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (kernels[i].instructions.size() <= statements) out.push_back({texts[i], kernels[i]});
  return out;
}

/// C of the routine with the schedule that `auto` gives it; its script makes the same kernel.
std::string scheduled(const Small& r, Target target, std::size_t& steps) {
  CAPTURE(r.text);
  Automatic a;
  REQUIRE_NOTHROW(a = automatic(r.kernel, target, {}, {}));
  INFO(a.script);
  REQUIRE_NOTHROW(check_legal(a.kernel));
  steps += a.kernel.trace.size() - r.kernel.trace.size();
  std::string code;
  REQUIRE_NOTHROW(code = generate(a.kernel, target).source);
  std::vector<Kernel> again;
  REQUIRE_NOTHROW(again = run_transform_script(add_source("script", a.script), {r.kernel}, {}));
  CHECK(generate(again.at(0), target).source == code);
  return code;
}

}  // namespace

TEST_CASE("fortran: automatic schedules of random routines do what gfortran makes of them") {
  // MOONLOOP_ROUTINES says how many (50), MOONLOOP_SEED the first one, MOONLOOP_STATEMENTS how
  // large they may be (50).
  const test::Folder folder;
  const auto number = [](const char* name, unsigned otherwise) {
    const char* const given = std::getenv(name);
    return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : otherwise;
  };
  setenv("OMP_WAIT_POLICY", "passive", 0);
  const unsigned wanted = number("MOONLOOP_ROUTINES", 50);
  const unsigned statements = number("MOONLOOP_STATEMENTS", 50);
  unsigned seed = number("MOONLOOP_SEED", 0), routines = 0;
  std::size_t steps = 0;
  int compared = 0;
  for (int batch = 0; routines < wanted; ++batch, seed += 25) {
    const Target target = batch % 2 == 0 ? Target::OpenMP : Target::C;
    const std::vector<Small> all = small_routines(seed, statements);
    const std::string base = folder / "batch" + std::to_string(batch);
    std::string file;
    std::vector<std::string> words{
        find_program("gcc"), "-O1", "-fopenmp",  "-ffp-contract=off", "-fPIC",
        "-shared",           "-o",  base + ".so"};
    for (const Small& r : all) {
      file += r.text + "\n";
      words.push_back(base + "_" + r.kernel.name + ".c");
      test::spit(words.back(), scheduled(r, target, steps));
    }
    if (all.empty()) continue;
    test::spit(base + ".f90", file);
    command({find_program("gfortran"), "-O0", "-ffrontend-optimize", "-ffp-contract=off",
             "-ffree-line-length-none", "-fPIC", "-shared", "-o", base + "_gfortran.so",
             base + ".f90"});
    words.emplace_back("-lm");
    command(words);
    const Opened theirs(base + "_gfortran.so"), ours(base + ".so");
    for (const Small& r : all)
      for (const auto& sizes : {std::pair{1, 1}, {2, 1}, {7, 2}, {10, 3}, {19, 2}}) {
        const int n = sizes.first, m = sizes.second;
        CAPTURE(r.text);
        CAPTURE(n);
        CAPTURE(to_string(target));
        compared += is_as_gfortran(theirs, ours, r.kernel.name, n, m, seed) ? 1 : 0;
      }
    routines += static_cast<unsigned>(all.size());
  }
  CHECK(compared > int(wanted));
  CHECK(steps > wanted / 2);
  MESSAGE(routines, " routines, ", steps, " steps, ", compared, " calls that did something");
}

TEST_CASE("fortran: the code of random routines branches on nothing that has no value") {
  // A loop whose bound has none may run for minutes and still do no harm: only memcheck sees it.
  const test::Folder folder;
  constexpr unsigned kRoutines = 50;
  const char* const given = std::getenv("MOONLOOP_SEED");
  const unsigned first = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 0;
  std::string file, declared, called;
  for (unsigned i = 0; i < kRoutines; ++i) {
    file += Writer(first + i).routine("r" + std::to_string(i)) + "\n";
    declared += fmt::format("F r{};\n", i);
    called += fmt::format("  run(\"r{0}\", r{0});\n", i);
  }
  Directives directives;
  std::vector<std::string> compile{
      find_program("gcc"), "-O0", "-g", "-fopenmp", "-o", folder / "calls", folder / "calls.c"};
  for (const Kernel& k : routines_of(import_proved(file, directives).transformed)) {
    compile.push_back(folder / k.name + ".c");
    test::spit(compile.back(), generate(k, Target::OpenMP).source);
  }
  REQUIRE(compile.size() == kRoutines + 7);
  test::spit(folder / "calls.c", R"(#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void F(int32_t, int32_t, double *, double *, int32_t *, double *, double *, int32_t);
)" + declared + R"(
static uint32_t state;
static int32_t below(int32_t n) { return (state = state*1664525u + 1013904223u) / 65536u % n; }
static double *some(int n) {
  double *v = malloc(sizeof *v*n);
  for (int i = 0; i < n; ++i) v[i] = below(1000)/1000.0;
  return v;
}
static void run(const char *name, F *f) {
  static const int sizes[4][2] = {{1, 1}, {2, 1}, {7, 2}, {10, 3}};
  for (int way = 0; way < 16; ++way) {
    const int n = sizes[way%4][0], m = sizes[way%4][1];
    state = way/4;
    double *a = some(n*n), *x = some(n), *s = some(4), *e = some(4);
    int32_t *k = malloc(sizeof *k*n);
    for (int i = 0; i < n; ++i) k[i] = below(10);
    fprintf(stderr, "%s, n = %d\n", name, n);
    f(n, m, a, x, k, s, m > 1 ? e : NULL, m > 1);
    free(a), free(x), free(s), free(e), free(k);
  }
}
int main(void) {
)" + called + "  return 0;\n}\n");
  compile.emplace_back("-lm");
  command(compile);
  setenv("OMP_NUM_THREADS", "1", 1);  // memcheck runs one at a time
  const ProcessResult r =
      run_process({find_program("valgrind"), "-q", "--error-exitcode=9", folder / "calls"});
  unsetenv("OMP_NUM_THREADS");
  const std::size_t found = r.output.find("==");  // with the call before it
  const std::size_t call = r.output.rfind("\nr", found);
  CHECK_MESSAGE(r.status == 0, r.output.substr(call == std::string::npos ? 0 : call));
}

TEST_CASE("fortran: claims are checked under the conditions of the code, with its variables") {
  const test::Folder folder;
  for (const unsigned seed : {1302002U, 1303011U, 1531363U}) {
    const FortranFile file = parse_fortran(test::fortran_source(Writer(seed).routine("r")));
    for (const Kernel& k : file.kernels)
      if (k.name == "r")
        test::spit(folder / "r.c", generate(k, Target::C, {.check_claims = true}).source);
    command({find_program("gcc"), "-fsyntax-only", "-Werror=parentheses", folder / "r.c"});
  }
}

TEST_CASE("fortran: loops that jumps make end as soon as their iterations do nothing") {
  for (const unsigned seed : {710022U, 3U, 17U, 1544033U}) {
    const std::string text = Writer(seed).routine("r");
    CAPTURE(text);
    const test::Imported all = test::import(text);
    const std::string code = generate(all.original.at(0), Target::C).source;
    // A loop without a bound of its own is left by a `break` of its own.
    for (std::size_t at = 0; (at = code.find("< 2147483647; ", at)) != std::string::npos; ++at) {
      const std::size_t line = code.rfind('\n', at) + 1;
      const std::string indent = "\n" + code.substr(line, code.find_first_not_of(' ', line) - line);
      const std::string body = code.substr(at, code.find(indent + "}\n", at) - at);
      CHECK(body.find(indent + "    break;") != std::string::npos);
    }
  }
}
