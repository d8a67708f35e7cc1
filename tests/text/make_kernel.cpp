#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

namespace {

std::string failure(const MakeKernel& m) {
  try {
    make_kernel(m);
  } catch (const Error& e) {
    std::string out;
    for (const Diagnostic& d : e.diagnostics()) {
      if (!out.empty()) out += "\n";
      if (d.where.at) out += d.where.at.str() + " ";
      out += d.code + ": " + d.text;
    }
    return out;
  }
  return "no error";
}

std::string names(const Kernel& k) {
  std::string out;
  for (const Argument& a : k.args) out += (out.empty() ? "" : " ") + a.name;
  return out;
}

}  // namespace

TEST_CASE("a kernel from domains and instructions apart") {
  const Kernel k = make_kernel({.domains = {"{[i]: 0 <= i < n}", "{[j]: 0 <= j < i}"},
                                .instructions = "\n  a[i] = sum(j, b[j])  # comment\n  c[i] = 2\n",
                                .assumptions = "n >= 1"});
  CHECK(k.name == "loopy_kernel");
  CHECK(joined(k.inames()) == "i j");
  CHECK(joined(k.instruction_ids()) == "insn insn_0");
  CHECK(names(k) == "n a b c");
  CHECK(same_set(k.assumptions, parse_assumption("n >= 1")));
  CHECK(k.find_arg("n")->type->str() == "int32");
  check_round_trip(k);
}

TEST_CASE("arguments: given, with the rest guessed, with the rest refused") {
  const MakeKernel m{.domains = {"{[i]: 0 <= i < n}"},
                     .instructions = "a[i] = x*b[i]",
                     .args = {"a: out f64[n]", "..."}};
  CHECK(names(make_kernel(m)) == "a n x b");
  MakeKernel strict = m;
  strict.args = {"a: out f64[n], n: int32"};
  CHECK(failure(strict) ==
        "<instructions>:1:8 unknown-name: `x` is not declared\n"
        "<instructions>:1:10 unknown-name: `b` is not declared");
  strict.args = {"a: out f64[n]", "x: f64", "b: f64[n]"};
  CHECK(names(make_kernel(strict)) == "a x b n");  // parameters are always found
}

TEST_CASE("order, index type, sequence") {
  const Kernel k =
      make_kernel({.domains = {"{[i, j]: 0 <= i, j < n}"},
                   .instructions = "a[i, j] = b[i, j] {id=x}\nc[i, j] = 1 {id=y}\nd = 2 {id=z}",
                   .name = "k",
                   .args = {"b: f64[n, n]", "c: f64[n, n] order=C", "..."},
                   .sequential = true,
                   .default_order = "F",
                   .index_type = Scalar::I64});
  CHECK(k.find_arg("a")->order == Order::F);
  CHECK(k.find_arg("b")->order == Order::F);
  CHECK(k.find_arg("c")->order == Order::C);
  CHECK(k.find_arg("n")->type->str() == "int64");
  CHECK(joined(insn(k, "y").depends_on) == "x");
  CHECK(joined(insn(k, "z").depends_on) == "y");
  check_round_trip(k);
  CHECK(failure({.default_order = "G"}) == "bad-option: no order `G`; there are C, F, auto");
}

TEST_CASE("fixed parameters disappear") {
  const Kernel k =
      make_kernel({.domains = {"{[i]: 0 <= i < n}"},
                   .instructions = "f(x) := x*n\ng(n) := n + 1\na[i + m] = f(i) + n*b[i] + g(3)",
                   .args = {"b: f64[n + 1, 2*n]", "..."},
                   .assumptions = "n >= m",
                   .fixed_parameters = {{"n", 16}}});
  CHECK(names(k) == "b m a");
  CHECK(to_string(*k.find_arg("b")->shape) == "17, 32");
  CHECK(same_set(k.domains[0].set, parse_set("{[i]: 0 <= i < 16}")));
  CHECK(same_set(k.assumptions, parse_assumption("m <= 16")));
  CHECK(to_string(k.rules[1].body) == "n + 1");
  CHECK(to_string(k.instructions[0]->rhs) == "f(i) + cast(int32, 16)*b[i] + g(3)");
  CHECK(failure({.domains = {"{[i]: 0 <= i < n}"},
                 .instructions = "a[i] = 1",
                 .fixed_parameters = {{"q", 1}}}) ==
        "unknown-parameter: no parameter `q` to fix in kernel `loopy_kernel`");
  CHECK(failure({.domains = {"{[i]: 0 <= i < n}"},
                 .instructions = "a[i] = 1",
                 .fixed_parameters = {{"a", 1}}})
            .find("bad-argument: `a` is an array and cannot be fixed") != std::string::npos);
}

TEST_CASE("errors point into the text that has them") {
  CHECK(failure({.domains = {"{[i]: 0 <= i < n}", "{[i]: i = 0}"},
                 .instructions = "a[i] = (1\nb = "}) ==
        "<instructions>:1:8 unbalanced: `(` is never closed\n"
        "<instructions>:2:5 syntax: found nothing to assign");
  CHECK(failure({.domains = {"{[i]: 0 <= i < n}", "{[i]: i = 0}"}, .instructions = "a[i] = 1"}) ==
        "<domain>:1:3 duplicate-iname: the iname `i` is in two domains");
  CHECK(failure({.instructions = "a = 1", .args = {"a: f64", "b: flt"}}) ==
        "<argument>:1:4 unknown-type: no type `flt`");
  CHECK(failure({.instructions = "a = \xff"}) ==
        "<instructions>:1:5 not-utf8: byte 0xff is not UTF-8 text");
}
