#include "transforms/assignment_to_subst.h"

#include "core/model/print.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"

using namespace moonloop;

namespace {

std::string body(const Kernel& k) {
  std::string out;
  for (const Rule& r : k.rules) {
    out += r.name;
    if (!r.params.empty()) out += fmt::format("({})", fmt::join(r.params, ", "));
    out += " := " + to_string(r.body) + "\n";
  }
  for (const InsnPtr& i : k.instructions) {
    for (const Expr& p : i->predicates) out += "if " + to_string(p) + ": ";
    out += to_string(i->lhs) + " = " + to_string(i->rhs) + "\n";
  }
  return out;
}

/// The kernel afterwards; its values are compared for n = 6.
std::string becomes(const std::string& text, const std::string& name,
                    const AssignmentToSubstOptions& o = {}) {
  const Kernel k = parsed(text);
  const Kernel out = assignment_to_subst(k, name, o);
  CHECK(same_values(k, out, {{"n", 6}}));
  return body(out);
}
std::string refusal(const std::string& text, const std::string& name,
                    const AssignmentToSubstOptions& o = {}) {
  return message([&] { assignment_to_subst(parsed(text), name, o); });
}
std::string refusal_code(const std::string& text, const std::string& name) {
  return code_of([&] { assignment_to_subst(parsed(text), name); });
}

std::string in_loops(const std::string& statements, const std::string& args = "") {
  return "kernel k(n: int32, inp: float64[n+2], out: float64[n], b: float64[n]" + args + ")\n" +
         "domain {[i, j, l]: 0 <= i < n and 0 <= j < n and 0 <= l < n}\nassume n >= 1\n" +
         statements;
}

}  // namespace

TEST_CASE("assignment_to_subst: an array written in one loop and read in another") {
  CHECK(becomes(in_loops("a[i] = 6*inp[i]\nout[j] = 5*a[j]\n", ", a: float64[n]"), "a") ==
        "a_subst(i) := 6*inp[i]\n"
        "out[j] = 5*a_subst(j)\n");
  const Kernel k = parsed(in_loops("a[i] = 6*inp[i]\nout[j] = 5*a[j]\n", ", a: float64[n]"));
  const Kernel gone = apply(k, "temporary_to_subst", {text("a")});
  CHECK(gone.find_arg("a") == nullptr);
  CHECK(gone.rules.front().name == "a_subst");
  CHECK(gone.trace.back().name == "temporary_to_subst");
  const Kernel kept = assignment_to_subst(k, "a", {.force_retain_argument = true});
  CHECK(kept.find_arg("a") != nullptr);
  CHECK(body(kept) == "a_subst(i) := 6*inp[i]\na[i] = 6*inp[i]\nout[j] = 5*a_subst(j)\n");
  CHECK(same_values(k, kept, {{"n", 6}}));
}

TEST_CASE("assignment_to_subst: scalars, shifted subscripts, reductions, several uses") {
  CHECK(becomes(in_loops("<> t = 2*inp[i]\nout[i] = t*t\n"), "t") ==
        "t_subst := 2*inp[i]\nout[i] = t_subst()*t_subst()\n");
  CHECK(becomes("kernel k(n: int32, inp: float64[n+2], out: float64[n])\n"
                "domain {[i]: 0 <= i <= n}\ndomain {[j]: 0 <= j < n}\n"
                "<> d[i] = inp[i+1] - inp[i]\nout[j] = d[j+1] - d[j]\n",
                "d") ==
        "d_subst(i) := inp[i + 1] - inp[i]\nout[j] = d_subst(j + 1) - d_subst(j)\n");
  CHECK(becomes(in_loops("<> d[i+2] = inp[i]\nout[j] = d[2 + j]\n"), "d") ==
        "d_subst(i) := inp[i]\nout[j] = d_subst(j)\n");
  CHECK(becomes("kernel k(n: int32, A: float64[n, n], x: float64[n], out: float64[n])\n"
                "domain {[i, j, l]: 0 <= i < n and 0 <= j < n and 0 <= l < n}\n"
                "<> y[i] = sum(j, A[i, j]*x[j])\nout[l] = 2*y[l]\n",
                "y") == "y_subst(i) := sum(j, A[i, j]*x[j])\nout[l] = 2*y_subst(l)\n");
  CHECK(becomes(in_loops("<> d[i] = inp[i]*2\nout[l] = sum(j, d[j]*b[l])\n"), "d") ==
        "d_subst(i) := inp[i]*2\nout[l] = sum(j, d_subst(j)*b[l])\n");
  CHECK(refusal(in_loops("<> d[i] = inp[i]*2\nout[i] = sum(j, d[j]*b[i]) {id=use}\n"), "d") ==
        "use[i=0, j=1] reads d[1] before insn[i=1] writes it (n=2)");
}

TEST_CASE("assignment_to_subst: each assignment gives a rule of its own") {
  CHECK(becomes(in_loops("<> t = inp[i] {id=one}\nout[i] = t {id=use1, dep=one}\n"
                         "t = 3*inp[i+1] {id=two, dep=use1}\nb[i] = t + 1 {dep=two}\n"),
                "t") ==
        "t_subst := inp[i]\n"
        "t_subst_0 := 3*inp[i + 1]\n"
        "out[i] = t_subst()\n"
        "b[i] = t_subst_0() + 1\n");
}

// The rule that calls the new one gets another name than it: both are made of the same one.
TEST_CASE("assignment_to_subst: in a rule that an earlier step named for the same variable") {
  CHECK(becomes("kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
                "domain {[j]: 0 <= j < n}\ntemp t: float64[n]\nt_subst(x) := 2*t[x]\n"
                "t[i] = a[i] {id=w}\nb[j] = t_subst(j) + t_subst(n - 1 - j) {dep=w}\n",
                "t") ==
        "t_subst(x) := 2*t_subst_0(x)\nt_subst_0(i) := a[i]\n"
        "b[j] = t_subst(j) + t_subst(n - 1 - j)\n");
}

TEST_CASE("assignment_to_subst: uses in rules, and some uses only") {
  CHECK(becomes(in_loops("f(x) := d[x] + 1\n<> d[i] = inp[i]\nout[j] = f(j)\n"), "d") ==
        "f(x) := d_subst(x) + 1\nd_subst(i) := inp[i]\nout[j] = f(j)\n");
  const std::string two =
      in_loops("<> d[i] = inp[i]\nout[j] = d[j] {id=first}\nb[j] = 2*d[j] {id=second}\n");
  CHECK(becomes(two, "d", {.within = Match::parse("second")}) ==
        "d_subst(i) := inp[i]\nd[i] = inp[i]\nout[j] = d[j]\nb[j] = 2*d_subst(j)\n");
}

TEST_CASE("assignment_to_subst: extra arguments") {
  CHECK(becomes(in_loops("<> d[j] = inp[j]*i\nout[i] = d[0] + d[i]\n"), "d",
                {.extra_arguments = {"i"}}) ==
        "d_subst(j, i) := inp[j]*i\nout[i] = d_subst(0, i) + d_subst(i, i)\n");
  CHECK(refusal(in_loops("<> d[j] = inp[j]\nout[i] = d[i]\n"), "d", {.extra_arguments = {"i"}}) ==
        "extra argument `i` does not occur in `insn`");
}

TEST_CASE("assignment_to_subst: the variable's type holds") {
  const std::string text =
      "kernel k(n: int32, x: float64[n], y: float64[n])\n"
      "domain {[i]: 0 <= i < n}\n<float32> t = x[i]/3\ny[i] = t\n";
  CHECK(becomes(text, "t") == "t_subst := cast(float32, x[i] / 3)\ny[i] = t_subst()\n");
}

TEST_CASE("assignment_to_subst: conditions") {
  // The same condition holds at the use.
  CHECK(becomes(in_loops("if m[i] > 0\n  <> t = inp[i]\n  out[i] = t\nend\n", ", m: int32[n]"),
                "t") == "t_subst := inp[i]\nif m[i] > 0: out[i] = t_subst()\n");
  // A condition that isl sees limits what the assignment covers.
  CHECK(becomes(in_loops("if i < 3\n  <> d[i] = inp[i]\nend\nif j < 3\n  out[j] = d[j]\nend\n"),
                "d") == "d_subst(i) := inp[i]\nif j < 3: out[j] = d_subst(j)\n");
  CHECK(refusal(in_loops("if i < 3\n  <> d[i] = inp[i]\nend\nout[j] = d[j]\n"), "d") ==
        "insn_0[j=3] reads d[3], which `insn` does not write (n=4)");
  CHECK(refusal(in_loops("if m[i] > 0\n  <> d[i] = inp[i] {id=def}\nend\nout[j] = d[j] {id=use}\n",
                         ", m: int32[n]"),
                "d") ==
        "`def` writes `d` under conditions that may not hold at `use`; `unsafe = true` leaves the "
        "proof out");
  CHECK(refusal_code(
            in_loops("<> t = 0.0\nif m[i] > 0\n  t = inp[i]\nend\nout[i] = t\n", ", m: int32[n]"),
            "t") != "legal");
}

TEST_CASE("assignment_to_subst: refuses what would read other values") {
  // The definition's input is overwritten before the use.
  CHECK(
      refusal("kernel k(n: int32, x: float64[n], out: float64[n])\n"
              "domain {[i, j, l]: 0 <= i < n and 0 <= j < n and 0 <= l < n}\n"
              "<> d[i] = x[i]\nx[j] = 0 {id=clear, dep=insn}\nout[l] = d[l] {id=use, dep=clear}\n",
              "d") == "clear[j=0] writes x[0], which `insn` has read for use[l=0] (n=1)");
  // By an earlier instance of the use itself.
  CHECK(refusal_code("kernel k(n: int32, x: float64[n])\n"
                     "domain {[i]: 0 <= i < n}\ndomain {[j]: 1 <= j < n}\n"
                     "<> d[i] = x[i]\nx[j] = d[j] + d[j-1]\n",
                     "d") == "stale-value");
  // By another use of the same value.
  CHECK(refusal_code("kernel k(n: int32, x: float64[n], out: float64[n])\n"
                     "domain {[i]: 0 <= i < n}\n"
                     "<> t = x[i] {id=def}\nx[i] = t + 1 {id=up, dep=def}\n"
                     "out[i] = t {dep=up}\n",
                     "t") == "stale-value");
  // Near miss: each element is read before it is written.
  CHECK(becomes("kernel k(n: int32, x: float64[n])\ndomain {[i, j]: 0 <= i < n and 0 <= j < n}\n"
                "<> d[i] = x[i]\nx[j] = d[j] + 1\n",
                "d") == "d_subst(i) := x[i]\nx[j] = d_subst(j) + 1\n");
  // The value of the last iteration, read after the loop.
  CHECK(refusal(in_loops("for i\n  <> t = inp[i] {id=def}\nend\nout[j] = t {id=use, inames=j}\n"),
                "t") == "`def` runs in the loop over `i`, which is not around `use`");
  // Two assignments, each of which gives a part.
  CHECK(refusal_code("kernel k(n: int32, x: float64[2*n], out: float64[2*n])\n"
                     "domain {[i, j]: 0 <= i < n and 0 <= j < n}\ndomain {[l]: 0 <= l < 2*n}\n"
                     "<> d[i] = x[i] {id=low}\nd[j+n] = 2*x[j+n] {id=high}\n"
                     "out[l] = d[l] {dep=low:high}\n",
                     "d") != "legal");
}

TEST_CASE("assignment_to_subst: refuses assignments that are not definitions") {
  CHECK(refusal(in_loops("<> t = inp[i] {id=def}\nt = t + inp[i] {id=more, dep=def}\n"
                         "out[i] = t {dep=more}\n"),
                "t") == "`more` cannot become a rule for `t`: it reads what it writes");
  CHECK(refusal(in_loops("<> d[2*i] = inp[i] {id=def}\nout[j] = d[2*j]\n"), "d") ==
        "`def` cannot become a rule for `d`: the subscript `2*i` is not an iname plus a constant");
  CHECK(refusal(in_loops("<> d[i, i] = inp[i] {id=def}\nout[j] = d[j, j]\n"), "d") ==
        "`def` cannot become a rule for `d`: `i` occurs in two of its subscripts");
  CHECK(refusal(in_loops("out[i] = inp[i]\n"), "inp") == "nothing in kernel `k` writes `inp`");
  CHECK(refusal(in_loops("out[i] = inp[i]\n"), "out") == "nothing reads `out` in kernel `k`");
  CHECK(refusal(in_loops("out[i] = inp[i]\n"), "z").starts_with("no variable `z` in kernel `k`"));
}

TEST_CASE("assignment_to_subst: what depends on data") {
  const std::string text =
      in_loops("<> d[i] = inp[i] {id=def}\nout[j] = d[m[j]]\n", ", m: int32[n]");
  // One assignment alone gives all elements their only values.
  CHECK(body(assignment_to_subst(parsed(text), "d")) ==
        "d_subst(i) := inp[i]\nout[j] = d_subst(m[j])\n");
  const std::string argument =
      "kernel k(n: int32, m: int32[n], inp: float64[n], d: float64[n], "
      "out: float64[n])\ndomain {[i, j]: 0 <= i < n and 0 <= j < n}\n"
      "d[i] = inp[i] {id=def}\nout[j] = d[m[j]] {id=use}\n";
  CHECK(refusal_code(argument, "d") == "not-proved");
  const Kernel forced = apply(parsed(argument), "assignment_to_subst", {Value{std::string("d")}},
                              {{"unsafe", flag(true)}});
  CHECK(forced.claims.size() == 1);
}

TEST_CASE("temporary_to_subst: the middle of a chain is computed ahead again, without a cycle") {
  const Kernel before = parsed(R"(
kernel chain(out: float64[10])
domain {[i]: 0 <= i < 10}
<> t0[i] = 2.0*i              {id=t0}
<> t1[i] = 2*t0[i]            {id=t1}
<> t2[i] = 3*t1[i]            {id=t2}
out[i] = 2*t1[i] + 3*t2[i]    {id=out}
)");
  Kernel k = apply(before, "temporary_to_subst", {text("t1")});
  CHECK(body(k) ==
        "t1_subst(i) := 2*t0[i]\nt0[i] = 2.0*i\nt2[i] = 3*t1_subst(i)\n"
        "out[i] = 2*t1_subst(i) + 3*t2[i]\n");
  k = apply(k, "precompute", {text("t1_subst")});
  CHECK(tree(k) == "for i\n  t0\n  t1_subst\n  t2\n  out\n");
  CHECK(line(k, "t2") == "t2[i] = 3*t1_subst_0");
  CHECK(same_values(before, k, {}));
}

// Differential test, seed 3299: the reduction of `total` has parts named like a removed
// instruction.
TEST_CASE("assignment_to_subst: a definition with the name of a part of its user's reduction") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: 0 <= k < n}\n<float64> t = max(k, a[k])  {id=total_update, inames=i}\n"
      "c[i] = 2*t  {id=total}\n");
  const Kernel out = assignment_to_subst(k, "t");
  CHECK(out.instruction_ids() == std::vector<std::string>{"total"});
}

// Differential test, seed 6090103: the rule brings its reduction's axis along.
TEST_CASE("assignment_to_subst: a reduction over work-items stays out of loops on their axis") {
  Kernel k = parsed(R"(
kernel f(n: int32, a: float32[n], b: float32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
<float32> s = sum(j, a[j])
b[i] = s + 1
)");
  k = apply(k, "split_iname", {text("i"), number(4)}, {{"inner_tag", text("l.0")}});
  const Kernel other =
      apply(k, "split_iname", {text("j"), number(4)}, {{"inner_tag", text("l.1")}});
  k = apply(k, "split_iname", {text("j"), number(4)}, {{"inner_tag", text("l.0")}});
  CHECK(code_of([&] { apply(k, "assignment_to_subst", {text("s")}); }) == "axis-taken");
  CHECK_NOTHROW(apply(other, "assignment_to_subst", {text("s")}));
}

TEST_CASE("assignment_to_subst: a value keeps its type among wider ones") {
  // Found by the differential test: literals take the precision of their context.
  const auto made = [](const char* value) {
    return parsed(fmt::format(
        "kernel f(n: int32, a: in float64[n], b: in float32[n], c: out float64[n])\n"
        "domain {{[i]: 0 <= i < n}}\n<> t = {}  {{id=t}}\nc[i] = t + 0.25*a[i]  {{id=s}}\n",
        value));
  };
  for (const char* value : {"0.5*b[i] + 0.25", "sqrt(b[i]) + 0.5"}) {
    CAPTURE(value);
    const Kernel k = made(value);
    const Kernel out = assignment_to_subst(k, "t");
    CHECK(print_kernel(out).find("cast(float32, ") != std::string::npos);
    CHECK(same_values(k, out, {{"n", 9}}));
  }
  // A value that no literal can widen stays as it is.
  const Kernel plain = assignment_to_subst(made("2*b[i] + b[i]"), "t");
  CHECK(print_kernel(plain).find("cast(") == std::string::npos);
  CHECK(same_values(made("2*b[i] + b[i]"), plain, {{"n", 9}}));
}

TEST_CASE(
    "assignment_to_subst: the smaller of two inames in a rule is not a reduction in its text") {
  const Kernel k = parsed(R"(
kernel f(n: int32, a: in int32[2*n], b: int32[n, n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
<> t = a[min(i, j) + max(i, j)]  {id=t, inames=i:j}
b[i, j] = t                      {id=s, inames=i:j}
)");
  const Kernel out = assignment_to_subst(k, "t");
  const std::string printed = print_kernel(out);
  CHECK(printed.find("t_subst := a[(i if i < j else j) + (i if i > j else j)]") !=
        std::string::npos);
  CHECK(print_kernel(parsed(printed)) == printed);
  CHECK(same_values(k, parsed(printed), {{"n", 6}}));
}

TEST_CASE("assignment_to_subst: a value that narrower context would narrow keeps its type") {
  // Differential test, seed 8200152: a function of a literal has the requested type.
  const Kernel k = parsed(R"(
kernel f(n: int32, p: in float32[n], b: inout float32[n])
domain {[i]: 0 <= i < n}
<float64> t = 0.25*(p[i] + floor(1.5)) + 0.125  {id=t}
b[i] = t + 0.25*p[i]*b[i]                       {id=s}
)");
  const Kernel out = assignment_to_subst(k, "t");
  CHECK(print_kernel(out).find("t_subst := cast(float64, 0.25*(p[i] + floor(1.5)) + 0.125)") !=
        std::string::npos);
  CHECK(same_values(k, out, {{"n", 9}}));
}

TEST_CASE(
    "assignment_to_subst: a reduction with its loops around other statements keeps its place") {
  // Found by the differential test (6500164): the sum over `i` shares the loop with `s1`, before
  // it, and ends behind the loop; placed by its end alone, it read what `s1` had written.
  const Kernel k = parsed(R"(
kernel k(n: int32, b: inout int32[3*n + 12], c: in int32[n], h: inout int32[1])
domain {[i]: 0 <= i < 5}
domain {[j]: 1 <= j < n}
assume n >= 5
h[0] = h[0] + b[i + 2]     {id=sum, inames=i:j}
<int32> t = b[i] + c[i]    {id=t, inames=i}
b[n - i + 2] = t + 7       {id=s1, inames=i, dep=t}
)");
  Kernel made = apply(k, "recognize_reduction", {text("j")}, {{"within", text("id:sum")}});
  made = apply(made, "recognize_reduction", {text("i")}, {{"within", text("id:sum")}});
  made = apply(made, "assignment_to_subst", {text("t")});
  for (const int n : {5, 8, 9}) CHECK(same_values(k, made, {{"n", n}}));
}

// Differential test, seed 45300194: the iname was free in the inner rule, and a parameter outside.
TEST_CASE("assignment_to_subst: rules that read an iname which becomes a parameter") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: int32[n + 2], c: int32[n + 2])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n + 2}
temp t: int32[n + 2]
inner := a[j]
outer := inner() + 1
t[j] = outer()         {id=set}
c[i] = t[i + 2] + t[i] {id=use}
)");
  const Kernel made = apply(k, "assignment_to_subst", {text("t")});
  CHECK(same_values(k, made, {{"n", 5}}));
  CHECK_NOTHROW(check_kernel(complete(made)));
  CHECK(to_string(made.find_rule("t_subst")->body).find("outer") == std::string::npos);
}

// Differential test, seed 94000125: the sum that decides was taken for a parameter.
TEST_CASE("assignment_to_subst: a definition under a condition with a reduction") {
  CHECK(refusal(R"(
kernel k(n: int32, a: int32[n], b: int32[n], p: int32[n, n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
for i
  <int32> t = b[i]  {id=first}
  t = a[i] + 1      {id=set, dep=first, if=sum(j, p[i, j] % 7) % 3 > 1}
  b[i] = t          {id=use, dep=set}
end
)",
                "t") ==
        "`set` writes `t` under conditions that may not hold at `use`; `unsafe = true` "
        "leaves the proof out");
}
