#include "transforms/recognize_reduction.h"

#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "loop_kit.h"
#include "same_values.h"
#include "transforms/prioritize_loops.h"

using namespace moonloop;

namespace {

/// `for i: init; for k: body; end; after; end`
Kernel rows(const std::string& init, const std::string& body, const std::string& after = "",
            const std::string& args = "") {
  return parsed("kernel f" + args +
                "\ndomain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < n}\nfor i\n  " + init +
                "\n  for k\n    " + body + "\n  end\n  " + after + "\nend\n");
}

}  // namespace

TEST_CASE("recognize_reduction: a neutral initial value goes") {
  const Kernel k =
      recognize_reduction(rows("c[i] = 0 {id=z}", "c[i] = c[i] + a[i, k] {id=w, dep=z}"), {"k"});
  REQUIRE(k.instructions.size() == 1);
  CHECK(line(k, "w") == "c[i] = sum(k, a[i, k])");
  CHECK(k.find_insn("w")->inames == std::set<std::string>{"i"});
  CHECK(k.find_insn("w")->depends_on.empty());
}

TEST_CASE("recognize_reduction: terms may read other fields of the record that holds the sum") {
  const auto recognized = [](const std::string& field) {
    const Kernel k = parsed(
        "record rec(sum: float64, weight: float64)\n"
        "kernel f(n: int32, g: rec[n], b: float64[n])\n"
        "domain {[i, k]: 0 <= i < n and 0 <= k < n}\n"
        "g[i].sum = g[i].sum + g[3]." +
        field + "*b[k] {id=w}\n");
    return code_of([&] { recognize_reduction(k, {"k"}); });
  };
  CHECK(recognized("weight") == "legal");
  CHECK(recognized("sum") == "stale-value");
}

TEST_CASE("recognize_reduction: another initial value is added, none is kept as it is") {
  CHECK(line(recognize_reduction(rows("c[i] = b[i] {id=z}", "c[i] = c[i] + a[i, k] {id=w, dep=z}"),
                                 {"k"}),
             "w") == "c[i] = b[i] + sum(k, a[i, k])");
  CHECK(line(recognize_reduction(parsed("kernel f\ndomain {[i, k]: 0 <= i < n and 0 <= k < n}\n"
                                        "c[i] = c[i] + a[i, k] {id=w}\n"),
                                 {"k"}),
             "w") == "c[i] = c[i] + sum(k, a[i, k])");
}

TEST_CASE("recognize_reduction: every operation, in any position") {
  const auto of = [](const std::string& rhs) {
    return line(recognize_reduction(parsed("kernel f(a: float64[n, n], c: float64[n])\n"
                                           "domain {[i, k]: 0 <= i < n and 0 <= k < n}\nc[i] = " +
                                           rhs + " {id=w}\n"),
                                    {"k"}),
                "w");
  };
  CHECK(of("a[i, k] + c[i]") == "c[i] = c[i] + sum(k, a[i, k])");
  CHECK(of("c[i] + a[i, k] + 2") == "c[i] = c[i] + sum(k, a[i, k] + 2)");
  CHECK(of("c[i] - a[i, k]") == "c[i] = c[i] - sum(k, a[i, k])");
  CHECK(of("c[i]*a[i, k]*2") == "c[i] = c[i]*product(k, a[i, k]*2)");
  CHECK(of("min(a[i, k], c[i])") == "c[i] = min(c[i], reduce(min, k, a[i, k]))");
  CHECK(of("max(c[i], a[i, k])") == "c[i] = max(c[i], reduce(max, k, a[i, k]))");
}

TEST_CASE("recognize_reduction: a scalar temporary in each outer iteration") {
  const Kernel k = recognize_reduction(
      rows("<> t = 0.0 {id=z}", "t = t + a[i, k] {id=w, dep=z}", "c[i] = 2*t {id=u, dep=w}"),
      {"k"});
  CHECK(k.instructions.size() == 2);
  CHECK(line(k, "w") == "t = sum(k, a[i, k])");
  CHECK(tree(k).find("for i") == 0);
}

TEST_CASE("recognize_reduction: over several loops, and the freedom it gives") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, k, l]: 0 <= i < n and 0 <= k < n and 0 <= l < n}\n"
      "c[i] = c[i] + a[i, k, l] {id=w}\n");
  CHECK(code_of([&] { prioritize_loops(before, {"l", "k"}); }) == "breaks-order");
  const Kernel k = recognize_reduction(before, {"k", "l"});
  CHECK(line(k, "w") == "c[i] = c[i] + sum((k, l), a[i, k, l])");
  CHECK(code_of([&] { prioritize_loops(k, {"l", "k"}); }) == "legal");
}

TEST_CASE("recognize_reduction: an addend of a smaller type is converted first") {
  CHECK(line(recognize_reduction(rows("", "c[i] = c[i] + a[i, k] {id=w}", "",
                                      "(n: int32, c: float64[n], a: float32[n, n])"),
                                 {"k"}),
             "w") == "c[i] = c[i] + sum(k, cast(float64, a[i, k]))");
}

TEST_CASE("recognize_reduction: what the accumulator's type does to values in each step") {
  const auto of = [](const std::string& types, const std::string& statement) {
    const Kernel k = parsed("kernel f(n: int32, h: " + types + "[n])\ndomain {[i]: 0 <= i < n}\n" +
                            statement + " {id=w}\n");
    std::string out;
    const std::string refused = message([&] {
      const Kernel after = recognize_reduction(k, {"i"});
      CHECK(same_values(k, after, {{"n", 300}}));
      out = line(after, "w");
    });
    return out.empty() ? refused : out;
  };
  // Whole numbers wrap around alike whenever they are cut.
  CHECK(of("int8[1], x: int32", "h[0] = h[0] + x[i]") == "h[0] = h[0] + sum(i, x[i])");
  CHECK(of("uint16[1], x: int8", "h[0] = h[0] + x[i]") ==
        "h[0] = h[0] + sum(i, cast(int32, x[i]))");
  CHECK(of("int32[1], x: float64", "h[0] = h[0] + cast(int32, x[i])") ==
        "h[0] = h[0] + sum(i, cast(int32, x[i]))");
  CHECK(of("int32[1], x: float64", "h[0] = h[0] + x[i]") ==
        "`w` converts float64 to the type int32 of `h[0]` in each step, which a reduction does "
        "once; convert the terms, as in `cast(int32, x[i])`, or accumulate in a temporary of type "
        "float64");
  CHECK(of("int8[1], x: int32", "h[0] = max(h[0], x[i])") ==
        "`w` converts int32 to the type int8 of `h[0]` in each step, which a reduction does once; "
        "convert the terms, as in `cast(int8, x[i])`, or accumulate in a temporary of type int32");
  CHECK(of("int8[1], x: int32", "h[0] = x[i] if x[i] > h[0] else h[0]") ==
        "`w` converts int32 to the type int8 of `h[0]` in each step, which a reduction does once; "
        "convert the terms, as in `cast(int8, x[i])`, or accumulate in a temporary of type int32");
  CHECK(of("bool[1], x: int32", "h[0] = h[0] + x[i]") ==
        "`w` converts int32 to the type bool of `h[0]` in each step, which a reduction does once; "
        "accumulate in a temporary of type int32");
  CHECK(of("bool[1], x: int32", "h[0] = h[0] or x[i] > 2") == "h[0] = h[0] or any(i, x[i] > 2)");
  CHECK(of("int32[1], x: int32", "h[0] = h[0] or x[i]") ==
        "`w` makes `h[0]` of type int32 a truth value only where its loop runs; accumulate in a "
        "temporary of type bool");
}

TEST_CASE("recognize_reduction: all types of accumulators and terms, accepted, leave the same") {
  const std::vector<std::string> types{"bool",   "int8",   "int16",  "int32",   "int64",  "uint8",
                                       "uint16", "uint32", "uint64", "float32", "float64"};
  int accepted = 0, refused = 0;
  for (const std::string& held : types)
    for (const std::string& term : types)
      for (const char* rhs :
           {"h[0] + 3*x[i]", "h[0] - x[i]", "h[0]*x[i]", "min(x[i], h[0])", "max(h[0], x[i]*100)",
            "h[0] or x[i] > 1", "h[0] and x[i]", "x[i] if x[i] > h[0] else h[0]"}) {
        CAPTURE(held);
        CAPTURE(term);
        CAPTURE(rhs);
        std::optional<Kernel> k, after;
        try {
          k =
              parsed(fmt::format("kernel f(n: int32, h: {}[1], x: {}[n])\n"
                                 "domain {{[i]: 0 <= i < n}}\nh[0] = {} {{id=w}}\n",
                                 held, term, rhs));
          complete(*k);
        } catch (const Error&) {
          continue;  // no kernel
        }
        try {
          after = recognize_reduction(*k, {"i"});
        } catch (const Refused&) {
          ++refused;
          continue;
        }
        ++accepted;
        for (const std::int64_t n : {0, 1, 2, 9, 300}) {
          if (n > 9 && std::string(rhs) == "h[0]*x[i]") continue;  // beyond the largest real
          CAPTURE(n);
          CHECK(same_values(*k, *after, {{"n", n}}));
        }
      }
  CHECK(accepted > 300);
  CHECK(refused > 100);
}

TEST_CASE("recognize_reduction: a condition on the loop becomes one on the addend") {
  const Kernel k = recognize_reduction(rows("", "c[i] = c[i] + a[i, k] {id=w, if=k > i}"), {"k"});
  CHECK(line(k, "w") == "c[i] = c[i] + sum(k, a[i, k] if k > i else 0)");
  CHECK(k.find_insn("w")->predicates.empty());
  const Kernel least =
      recognize_reduction(rows("", "c[i] = min(c[i], a[i, k]) {id=w, if=k > i}"), {"k"});
  CHECK(line(least, "w") == "c[i] = min(c[i], reduce(min, k, a[i, k] if k > i else c[i]))");
}

TEST_CASE("recognize_reduction: a condition on what the loop does not write stays one") {
  // As one of the addend, it let the statement run where a loop's bound has no value.
  const std::string head =
      "kernel f(n: int32, s: inout int32[2], x: float64[n], y: inout float64[1])\n"
      "domain {[i]: first <= i < n}\ndomain {[q]: 0 <= q < n}\n"
      "temp goes: bool\ntemp first: int32\n"
      "goes = s[0] > 0   {id=goes}\n"
      "first = s[1]      {id=first, if=goes}\n"
      "for i\n  for q\n";
  const std::string update = "    y[0] = y[0] + x[q]  {id=w, if=goes and s[1] >= 0}\n";
  const Kernel k = parsed(head + update + "  end\nend\n");
  const Kernel stays = recognize_reduction(k, {"q"});
  CHECK(line(stays, "w") == "y[0] = y[0] + sum(q, x[q])");
  CHECK(to_string(conjunction(stays.find_insn("w")->predicates)) == "goes and s[1] >= 0");
  CHECK(same_values(k, stays, {{"n", 7}}));

  const Kernel counts = parsed(head + update + "    s[1] = s[1] - 1  {id=count}\n  end\nend\n");
  const Kernel written = recognize_reduction(counts, {"q"}, Match::parse("id:w"));
  CHECK(same_values(counts, written, {{"n", 7}}));
  CHECK(line(written, "w") == "y[0] = y[0] + sum(q, x[q] if s[1] >= 0 else 0)");
  CHECK(to_string(conjunction(written.find_insn("w")->predicates)) == "goes");
}

TEST_CASE("recognize_reduction: a triangular solve reads other elements of what it accumulates") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i, j]: 0 <= j < i and i < n}\n"
      "x[i] = x[i] - L[i, j]*x[j] {id=w}\n");
  CHECK(line(recognize_reduction(k, {"j"}), "w") == "x[i] = x[i] + sum(j, -(L[i, j]*x[j]))");
  const Kernel up = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j <= i}\n"
      "x[i] = x[i] - L[i, j]*x[j] {id=w}\n");
  CHECK(code_of([&] { recognize_reduction(up, {"j"}); }) == "stale-value");
}

TEST_CASE("recognize_reduction: the accumulator may not be seen while the loop runs") {
  // A prefix sum: each partial sum is stored.
  CHECK(code_of([] {
          recognize_reduction(rows("<> t = 0.0 {id=z}",
                                   "t = t + a[i, k] {id=w, dep=z}\n    c[i, k] = t {id=u, dep=w}"),
                              {"k"}, Match::parse("id:w"));
        }) != "legal");
  // The same store of another value does not matter.
  CHECK(code_of([] {
          recognize_reduction(rows("<> t = 0.0 {id=z}",
                                   "t = t + a[i, k] {id=w, dep=z}\n    c[i, k] = a[i, k] {id=u}"),
                              {"k"}, Match::parse("id:w"));
        }) == "legal");
}

TEST_CASE("recognize_reduction: an initial value that something reads in between stays") {
  const Kernel k = recognize_reduction(
      parsed(
          "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < n}\nfor i\n  c[i] = 0 {id=z}\n"
          "  d[i] = c[i] {id=u, dep=z}\n  for k\n    c[i] = c[i] + a[i, k] {id=w, dep=u}\n  "
          "end\nend\n"),
      {"k"});
  CHECK(k.instructions.size() == 3);
  CHECK(line(k, "w") == "c[i] = c[i] + sum(k, a[i, k])");
}

TEST_CASE("recognize_reduction: what it refuses") {
  const Kernel k = rows("c[i] = 0 {id=z}", "c[i] = c[i] + a[i, k] {id=w, dep=z}");
  CHECK(message([&] { recognize_reduction(k, {"q"}); }) ==
        "no iname `q` in kernel `f`; it has `i`, `k`");
  CHECK(message([&] { recognize_reduction(k, {}); }) == "no iname is given to reduce over");
  CHECK(message([&] {
          recognize_reduction(k, {"k", "k"});
        }) == "`k` occurs twice in the list of inames");
  CHECK(message([&] { recognize_reduction(k, {"k"}, Match::parse("id:z")); }) ==
        "no selected instruction is in the loops over `k`");
  CHECK(message([&] {
          recognize_reduction(k, {"i", "k"});
        }) == "`w` writes another element in each iteration of `i`: `c[i]`");
  const Kernel other = rows("c[i] = 0 {id=z}", "c[i] = 2*c[i] + a[i, k] {id=w, dep=z}");
  CHECK(message([&] { recognize_reduction(other, {"k"}); }) ==
        "instruction `w` does not accumulate: it has not the form `v = v + e`, with `+`, `*`, "
        "`min`, `max`, "
        "`or` or `and`");
}

// Differential test, seed 39500002.
TEST_CASE("recognize_reduction: the target's subscript may be in a rule") {
  const Kernel k = parsed(
      "kernel f(n: int32, d: in int32[n], h: inout int64[7])\ndomain {[i]: 0 <= i < n}\n"
      "at := d[i]\nplace(x) := x % 7\n"
      "h[place(at())] = h[place(at())]*(1 - 2*(i % 2)) {id=w, atomic}\n");
  CHECK(message([&] { recognize_reduction(k, {"i"}); }) ==
        "`w` writes another element in each iteration of `i`: `h[place(at())]`");
}

// Differential test, seed 44200208: where no term is, the buffer has no value.
TEST_CASE("recognize_reduction: an accumulator that has values only where the loop runs") {
  Kernel k = parsed(
      "kernel f(n: int32, b: int64[n + 6], p: int64[n + 6, n + 6])\n"
      "domain {[i]: 0 <= i < 5}\ndomain {[j]: 0 <= j < n}\ndomain {[k]: 0 <= k < i}\n"
      "domain {[l]: 0 <= l <= i}\nassume n >= 5\n"
      "b[i + 1] = b[i + 1] + p[i + 1, k] {id=s, inames=i:j:k}\n"
      "b[i] = i {id=w, inames=i:l}\n");
  k = apply(k, "buffer_array", {text("b"), text("l")});
  k = apply(k, "duplicate_inames", {text("k"), text("id:s")}, {{"suffix", text("_d")}});
  const Kernel out = recognize_reduction(k, {"k_d"}, Match::parse("id:s"));
  CHECK(line(out, "s").find("sum(k_d, p[i + 1, k_d])") != std::string::npos);
  REQUIRE(out.find_insn("s")->predicates.size() == 1);
  CHECK(to_string(out.find_insn("s")->predicates[0]) == "i >= 1");
  CHECK_NOTHROW(complete(out));
}

TEST_CASE("recognize_reduction: a choice by a condition is a minimum or a maximum") {
  const auto of = [](const std::string& statement) {
    const Kernel k = parsed(
        "kernel f(n: int32, a: float64[n], r: inout float64[1])\n"
        "domain {[i]: 0 <= i < n}\n" +
        statement + "\n");
    const Kernel out = recognize_reduction(k, {"i"});
    for (const int n : {0, 1, 7}) CHECK(same_values(k, out, {{"n", n}}));
    CHECK(out.find_insn("w")->predicates.empty());
    CHECK(out.find_insn("w")->inames.empty());
    return line(out, "w");
  };
  CHECK(of("r[0] = a[i] {id=w, if=a[i] < r[0]}") == "r[0] = min(r[0], reduce(min, i, a[i]))");
  CHECK(of("r[0] = a[i] {id=w, if=r[0] >= a[i]}") == "r[0] = min(r[0], reduce(min, i, a[i]))");
  CHECK(of("r[0] = a[i] {id=w, if=r[0] < a[i]}") == "r[0] = max(r[0], reduce(max, i, a[i]))");
  CHECK(of("r[0] = r[0] if a[i] <= r[0] else a[i] {id=w}") ==
        "r[0] = max(r[0], reduce(max, i, a[i]))");
  CHECK(of("r[0] = a[i] if a[i] < r[0] else r[0] {id=w}") ==
        "r[0] = min(r[0], reduce(min, i, a[i]))");
  // Other conditions choose among the values; the first one is neutral.
  CHECK(of("r[0] = a[i] {id=w, if=a[i] < r[0]:a[i] > 1}") ==
        "r[0] = min(r[0], reduce(min, i, a[i] if a[i] > 1 else r[0]))");
  CHECK(of("r[0] = max(r[0], a[i]) {id=w, if=a[i] < 2}") ==
        "r[0] = max(r[0], reduce(max, i, a[i] if a[i] < 2 else r[0]))");
}

TEST_CASE("recognize_reduction: other conditions and values are not a choice") {
  const auto of = [](const std::string& statement) {
    return code_of([&] {
      recognize_reduction(parsed("kernel f(n: int32, a: float64[n], r: inout float64[1])\n"
                                 "domain {[i]: 0 <= i < n}\n" +
                                 statement + "\n"),
                          {"i"});
    });
  };
  CHECK(of("r[0] = a[i] {id=w, if=a[i] > 0}") == "not-accumulation");
  CHECK(of("r[0] = a[i] {id=w, if=2*a[i] < r[0]}") == "not-accumulation");
  CHECK(of("r[0] = a[i] {id=w, if=a[i] != r[0]}") == "not-accumulation");
  CHECK(of("r[0] = a[i] if a[i] < r[0] else 2*r[0] {id=w}") == "not-accumulation");
  CHECK(of("r[0] = a[i] + r[0] {id=w, if=a[i] + r[0] < r[0]}") == "stale-value");
}

TEST_CASE("recognize_reduction: what each iteration starts anew is left alone") {
  const Kernel k = parsed(R"(
kernel dt(n: int32, c: float64[n], u: float64[n], r: out float64[1])
domain {[i]: 0 <= i < n}
r[0] = 1000  {id=init, inames=}
<float64> s = 2*c[i]  {id=s0}
s = s + u[i]  {id=s1}
r[0] = min(r[0], s)  {id=least}
)");
  const Kernel out = recognize_reduction(k, {"i"});
  CHECK(line(out, "s1") == "s = s + u[i]");
  CHECK(line(out, "least") == "r[0] = min(1000, reduce(min, i, s))");
  for (const int n : {0, 1, 7}) CHECK(same_values(k, out, {{"n", n}}));
  // On request, it is tried; and where there is nothing else.
  CHECK(code_of([&] { recognize_reduction(k, {"i"}, Match::parse("id:s1")); }) != "legal");
}

TEST_CASE("recognize_reduction: a choice whose condition is kept in a temporary") {
  const auto of = [](const std::string& between, const std::string& behind = "") {
    const Kernel k = parsed(
        "kernel f(n: int32, a: float64[n], d: float64[n], r: inout float64[1])\n"
        "domain {[i]: 0 <= i < n}\n"
        "<> c = a[i] < r[0]  {id=c}\n" +
        between + "r[0] = a[i] {id=w, if=c, inames=i}\n" + behind);
    const Kernel out = recognize_reduction(k, {"i"});
    for (const int n : {0, 1, 7}) CHECK(same_values(k, out, {{"n", n}}));
    return line(out, "w") + (out.find_insn("c") ? " and c" : "");
  };
  CHECK(of("") == "r[0] = min(r[0], reduce(min, i, a[i]))");
  // Something else reads it, or comes between.
  CHECK(code_of([&] { of("", "d[i] = 1 {if=c}\n"); }) == "not-accumulation");
  CHECK(code_of([&] { of("a[i] = d[i] {id=between}\n"); }) == "not-accumulation");
}

// Found by the differential test (5130276).
TEST_CASE(
    "recognize_reduction: where the loop is empty, an element that nothing defines is left alone") {
  const Kernel k = parsed(R"(
kernel k(n: int32, x: float64[n], a: float64[n])
domain {[i]: 0 <= i < n}
domain {[m]: 0 <= m < i}
temp t: float64[n]
t[i] = x[i]         {id=init, inames=i, if=i > 0}
t[i] = t[i] + x[m]  {id=add, inames=i:m, dep=init}
a[i] = t[i]         {id=out, inames=i, if=i > 0, dep=add}
)");
  const Kernel made = apply(k, "recognize_reduction", {text("m")});
  CHECK(same_values(k, made, {{"n", 5}}));
  CHECK_NOTHROW(check_defined(complete(made)));

  // An argument has a value everywhere: no condition is needed.
  const Kernel plain = apply(parsed(R"(
kernel k(n: int32, x: float64[n], a: float64[n])
domain {[i]: 0 <= i < n}
domain {[m]: 0 <= m < i}
a[i] = a[i] + x[m]  {id=add}
)"),
                             "recognize_reduction", {text("m")});
  CHECK(plain.find_insn("add")->predicates.empty());

  const Kernel outside = apply(parsed(R"(
kernel k(n: int32, x: float64[n], a: float64[n])
domain {[i]: 0 <= i < n}
domain {[m]: 0 <= m < i - 5}
a[i - 6] = a[i - 6] + x[m]  {id=add}
)"),
                               "recognize_reduction", {text("m")});
  CHECK(to_string(outside.find_insn("add")->predicates) == "i >= 6");
}

// Differential test, seed 26700323: the condition was asked once, for the longest of its loops.
TEST_CASE("recognize_reduction: a condition varies with the bounds of a reduction in it") {
  const auto text_with = [](const std::string& bounds) {
    return "kernel k(n: int32, t: float64[n + 2], len: int32[n], g: float64[n])\n"
           "domain {[i]: 0 <= i < n}\ndomain {[s]: 0 <= s < n}\n" +
           bounds + "g[i] = 0.25*g[i]  {id=scale, inames=i:s, if=max(m, t[m + 1]) < t[i + 1]}\n";
  };
  for (const std::string& bounds :
       {std::string("domain {[m]: 0 <= m < n - s}\n"),
        std::string("domain {[r]: 0 <= r < n - s}\ndomain {[m]: 0 <= m < n - s - 1}\n"),
        std::string("<int32> last = len[s] % 3  {inames=i:s}\ndomain {[m]: 0 <= m < last}\n")}) {
    CAPTURE(bounds);
    const Kernel k = parsed(text_with(bounds));
    const Kernel made =
        apply(k, "recognize_reduction", {text("s")}, {{"within", text("id:scale")}});
    CHECK(made.find_insn("scale")->predicates.empty());  // the terms have it
    CHECK(same_values(k, made, {{"n", 6}}));
  }
}
