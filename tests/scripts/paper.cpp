#include <cmath>
#include <fstream>
#include <sstream>

#include "codegen/codegen.h"
#include "core/interpreter/interpreter.h"
#include "core/model/print.h"
#include "tests/scripts/harness.h"
#include "tests/transforms/same_values.h"

/// The examples of the paper (its sections 4 and 5): the result of each script on its kernel, in
/// text and in values. The files are those of examples/paper.

using namespace moonloop;
using namespace moonloop::test;

namespace {

std::string file_text(const std::string& name) {
  std::ifstream in(std::string(MOONLOOP_SOURCE_DIR) + "/examples/paper/" + name);
  REQUIRE(in.good());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Kernel plain(const std::string& name) { return parse(file_text(name + ".loop")).front(); }

Kernel transformed(const std::string& name, const std::string& script = {}) {
  return transform(file_text(name + ".loop"), file_text((script.empty() ? name : script) + ".lua"));
}

/// `id: lhs = rhs` of the first instruction.
std::string first_line(const Kernel& k) {
  const Instruction& i = *k.instructions.front();
  return to_string(i.lhs) + " = " + to_string(i.rhs);
}

std::string rules(const Kernel& k) {
  std::string out;
  for (const Rule& r : k.rules) {
    std::string params;
    for (const std::string& p : r.params) params += (params.empty() ? "" : ", ") + p;
    out += r.name + "(" + params + ") := " + to_string(r.body) + "\n";
  }
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("paper: unification makes a rule of two terms") {
  const Kernel k = transformed("bsquare");
  CHECK(rules(k) == "bsq(alpha) := alpha*b[i]**2\n");
  CHECK(first_line(k) == "a[i] = bsq(23) + bsq(25)");
  CHECK(same_values(plain("bsquare"), k, {{"n", 7}}));
}

TEST_CASE("paper: an assignment to a temporary becomes a rule") {
  const Kernel k = transformed("subst");
  CHECK(rules(k) == "a_subst(i) := 6*inp[i]\n");
  CHECK(first_line(k) == "out[i_1] = 5*a_subst(i_1)");
  CHECK(same_values(plain("subst"), k, {{"n", 7}}));
}

TEST_CASE("paper: one call in one expansion gets its own version of the rule around it") {
  const Kernel k = transformed("targeting");
  CHECK(rules(k) ==
        "f(x) := x*a[x]\n"
        "g(x) := 12 + f(x)\n"
        "h(x) := 1 + g(x) + 20*g$three(x)\n"
        "h_0(x) := 1 + g(x) + 20*(12 + f(x))\n");
  CHECK(first_line(k) == "a[i] = h$one(i)*h_0$two(i)");
  CHECK(same_values(plain("targeting"), k, {{"n", 7}}));
  CHECK(same_values(plain("targeting"), transformed("targeting", "wildcards"), {{"n", 7}}));
}

TEST_CASE("paper: forward differences from a buffer of 17 values") {
  const Kernel k = transformed("fdiff");
  CHECK(has(generate(k, Target::C).source, R"(
  float u_acc_0[17];
  for (int32_t i_outer = 0; i_outer < n / 16; ++i_outer) {
    for (int32_t j = 0; j < 17; ++j)
      u_acc_0[j] = u[j + 16*i_outer];
    for (int32_t i_inner = 0; i_inner < 16; ++i_inner)
      result[i_inner + 16*i_outer] = u_acc_0[i_inner + 1] - u_acc_0[i_inner];
  }
)"));
  for (const int n : {16, 32, 80}) CHECK(same_values(plain("fdiff"), k, {{"n", n}}));
  CHECK(print_kernel(parse(print_kernel(k)).front()) == print_kernel(k));
}

TEST_CASE("paper: forward differences without the assumption take the last tile as it is") {
  std::string script = file_text("fdiff.lua");
  const std::size_t from = script.find("fdiff = lp.assume");
  script.erase(from, script.find('\n', from) - from);
  const Kernel k = transform(file_text("fdiff.loop"), script);
  CHECK(to_string(*k.find_temporary("u_acc_0")->shape) == "17");
  for (const int n : {1, 15, 16, 17, 50}) CHECK(same_values(plain("fdiff"), k, {{"n", n}}));
}

TEST_CASE("paper: tiles of a matrix product, shared by work-items, at sizes that no tile divides") {
  const Kernel k = transformed("dgemm");
  CHECK(to_string(*k.find_temporary("a_acc_0")->shape) == "16, 32");
  CHECK(to_string(*k.find_temporary("b_acc_0")->shape) == "32, 8");
  CHECK(k.rules.empty());
  for (const std::string name : {"a_acc", "b_acc"}) {
    CHECK(k.find_temporary(name + "_0")->space == AddressSpace::Local);
    REQUIRE(k.find_insn(name) != nullptr);
    for (const std::string outer : {"i_outer", "j_outer", "k_outer"})
      CHECK(k.find_insn(name)->inames.count(outer) == 1);
    for (const std::string& i : k.find_insn(name)->inames)
      if (i != "i_outer" && i != "j_outer" && i != "k_outer") CHECK(k.tag(i)->text == "l.auto");
  }
  const Kernel before = plain("dgemm");
  for (const Params& p : {Params{{"m", 1}, {"n", 1}, {"l", 1}},
                          {{"m", 16}, {"n", 8}, {"l", 32}},
                          {{"m", 17}, {"n", 7}, {"l", 33}},
                          {{"m", 5}, {"n", 19}, {"l", 40}}})
    CHECK(same_values(before, k, p));
}

TEST_CASE("paper: gravity, a reduction through a rule, on a grid") {
  const Kernel before = plain("gravity"), k = transformed("gravity");
  for (const int np : {1, 4, 9, 70}) CHECK(same_values(before, k, {{"np", np}}));
}

TEST_CASE("paper: gravity is what a plain loop computes") {
  for (const std::int64_t np : {1, 4, 70}) {
    const auto n = static_cast<std::size_t>(np);
    std::vector<double> x(3 * n), mass(n), center = {0.5, -1.0, 2.0}, force(n), plain_force(n);
    double massc = 3.25;
    for (std::size_t i = 0; i < 3 * n; ++i) x[i] = std::sin(static_cast<double>(7 * i + 1));
    for (std::size_t i = 0; i < n; ++i) mass[i] = 1.0 + static_cast<double>(i) / 8;

    for (std::size_t i = 0; i < n; ++i) {
      const auto law = [](double m, double M, double r) { return -66.742 * m * M / (r * r); };
      const auto distance = [&](const double* a, const double* b) {
        double sum = 0;
        for (int d = 0; d < 3; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
        return std::sqrt(sum);
      };
      plain_force[i] = law(mass[i], massc, distance(&x[3 * i], center.data()));
      for (std::size_t j = 0; j < n; ++j)
        plain_force[i] += law(mass[i], mass[j], distance(&x[3 * i], &x[3 * j]) + 1);
    }

    Bindings data;
    data.arrays = {{"x", {Scalar::F64, {np, 3}, {3, 1}, x.data()}},
                   {"center", {Scalar::F64, {3}, {1}, center.data()}},
                   {"mass", {Scalar::F64, {np}, {1}, mass.data()}},
                   {"force", {Scalar::F64, {np}, {1}, force.data()}}};
    data.scalars = {{"np", {np, 0, 0}}, {"massc", {0, massc, 0}}};
    interpret(transformed("gravity"), data);
    for (std::size_t i = 0; i < n; ++i)
      CHECK(force[i] == doctest::Approx(plain_force[i]).epsilon(1e-12));
  }
}
