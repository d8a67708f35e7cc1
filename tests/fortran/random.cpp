// Random routines: Moonloop's and gfortran's results are the same.
#include <random>

#include "codegen/codegen.h"
#include "tests/fortran/gfortran.h"
#include "tests/fortran/writer.h"

using namespace moonloop;
using test::Writer;

namespace {

/// The arguments of a call.
struct Data {
  std::int32_t n, m;
  std::vector<double> a, x, s;
  std::vector<std::int32_t> k;

  Data(std::int32_t size, std::int32_t by, unsigned seed) : n(size), m(by) {
    std::mt19937 random(seed);
    const auto fill = [&](std::vector<double>& v, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) v.push_back(double(random() % 1000) / 1000);
    };
    const auto all = static_cast<std::size_t>(n);
    fill(a, all * all), fill(x, all), fill(s, 4);
    for (std::size_t i = 0; i < all; ++i) k.push_back(static_cast<std::int32_t>(random() % 10));
  }

  /// Equal to rounding.
  static bool same(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= 1e-12 * (1 + std::abs(a[i])))) return false;
    return true;
  }
  bool operator==(const Data& o) const {
    return same(a, o.a) && same(x, o.x) && same(s, o.s) && k == o.k;
  }
};

/// A library, open as long as the object lives.
struct Opened {
  explicit Opened(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW)) {
    REQUIRE_MESSAGE(handle != nullptr, dlerror());
  }
  ~Opened() { dlclose(handle); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  void* handle;
};

/// The kernels of `file`; where it is refused, which of its routines is.
test::Imported imported(const std::string& file, const std::vector<std::string>& routines) {
  try {
    return test::import(file);
  } catch (const Error&) {
    for (const std::string& text : routines) try {
        test::import(text);
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
  int compared = 0;
  for (unsigned batch = 0; batch < 6; ++batch) {
    std::vector<std::string> texts;
    std::string file;
    for (unsigned i = 0; i < 50; ++i) {
      texts.push_back(Writer(first + 1000 * batch + i).routine("r" + std::to_string(i)));
      file += texts.back() + "\n";
    }
    const std::string base = folder / "batch" + std::to_string(batch);
    test::spit(base + ".f90", file);
    command({find_program("gfortran"), "-O0", "-ffp-contract=off", "-ffree-line-length-none",
             "-fPIC", "-shared", "-o", base + "_gfortran.so", base + ".f90"});
    const test::Imported all = imported(file, texts);
    REQUIRE(all.original.size() == texts.size());
    std::vector<std::string> words{find_program("gcc"), "-O0", "-ffp-contract=off", "-fPIC",
                                   "-shared",           "-o",  base + "_ours.so"};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string name = base + "_" + std::to_string(i) + ".c";
      CAPTURE(texts[i]);
      REQUIRE_NOTHROW(test::spit(name, generate(all.original[i], Target::C).source));
      words.push_back(name);
    }
    words.emplace_back("-lm");
    command(words);
    const Opened theirs(base + "_gfortran.so"), ours(base + "_ours.so");
    for (std::size_t i = 0; i < texts.size(); ++i)
      for (const auto& sizes : {std::pair{1, 1}, {2, 1}, {7, 2}, {10, 3}}) {
        const int n = sizes.first, m = sizes.second;
        CAPTURE(texts[i]);
        CAPTURE(n);
        const std::string name = "r" + std::to_string(i);
        Data one(n, m, batch), two = one;
        using F = void (*)(void*, void*, void*, void*, void*, void*);
        using G = void (*)(std::int32_t, std::int32_t, void*, void*, void*, void*);
        reinterpret_cast<F>(dlsym(theirs.handle, (name + "_").c_str()))(
            &one.n, &one.m, one.a.data(), one.x.data(), one.k.data(), one.s.data());
        reinterpret_cast<G>(dlsym(ours.handle, name.c_str()))(
            two.n, two.m, two.a.data(), two.x.data(), two.k.data(), two.s.data());
        CHECK(one == two);
        compared += one == Data(n, m, batch) ? 0 : 1;
      }
  }
  CHECK(compared > 1000);  // of 1,200 calls those that did anything
}

TEST_CASE("fortran: loops that jumps make end as soon as their iterations do nothing") {
  for (const unsigned seed : {710022U, 3U, 17U}) {
    const std::string text = Writer(seed).routine("r");
    CAPTURE(text);
    const test::Imported all = imported(text, {text});
    const std::string code = generate(all.original.at(0), Target::C).source;
    CHECK(code.find("< 2147483647; ") == std::string::npos);
  }
}
