#include <fstream>
#include <sstream>

#include "codegen/codegen.h"
#include "core/print.h"
#include "tests/scripts/harness.h"
#include "tests/transforms/same_values.h"

/// The examples of the paper (its sections 4 and 5): what each script makes of its kernel, in text
/// and in values. The files are those of examples/paper.

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
