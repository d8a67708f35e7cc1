// Conditions of the target program: else, break, continue, and what is not asked twice.
#include "codegen/plan/branches.h"

#include "core/expr/parse_expr.h"
#include "core/model/print.h"
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

/// Statements by their places: 0 writes `a`, 1 and 2 set `flag`, 3 and 4 write other arrays.
const char* const kStatements = R"(
kernel k(n: int32, m: int32, a: float64[n], x: float64[n], d: float64[n], e: float64[n])
domain {[i]: 0 <= i < n}
<bool> flag = False  {id=ends, inames=i}
a[i] = 1             {id=own}
flag = True          {id=starts, inames=i}
d[i] = 2             {id=first}
e[i] = 3             {id=second}
)";
constexpr int kEnds = 0, kOwn = 1, kStarts = 2, kFirst = 3, kSecond = 4;

Stmt run(int insn) { return {Run{insn, {}, {}}}; }
template <class... S>
Block block(S... statements) {
  Block out;
  (out.push_back(std::move(statements)), ...);
  return out;
}
Stmt when(const std::string& cond, Block body) {
  return {If{parse_expression(cond), std::move(body)}};
}
Stmt loop(const std::string& only_while, Block body) {
  Loop out;
  out.iname = "i", out.lower = lit(0), out.upper = var("n");
  if (!only_while.empty()) out.only_while = parse_expression(only_while);
  out.body = std::move(body);
  return {std::move(out)};
}

std::string shown(const Block& b, const Kernel& k) {
  std::string out;
  for (const Stmt& s : b)
    out +=
        std::visit(
            overload{[&](const Loop& x) {
                       return "loop" + (x.only_while ? " while " + to_string(x.only_while) : "") +
                              " {" + shown(x.body, k) + "}";
                     },
                     [&](const If& x) {
                       return "if " + to_string(x.cond) + " {" + shown(x.body, k) + "}" +
                              (x.otherwise.empty() ? "" : " else {" + shown(x.otherwise, k) + "}");
                     },
                     [&](const Scope& x) { return "{" + shown(x.body, k) + "}"; },
                     [&](const Launch& x) { return "launch {" + shown(x.body, k) + "}"; },
                     [&](const Run& x) { return k.instructions[std::size_t(x.insn)]->id; },
                     [](const Leave& x) {
                       return std::string(x.way == Leave::Way::Break ? "break" : "continue");
                     },
                     [](const auto&) { return std::string("other"); }},
            s.op) +
        "; ";
  if (!out.empty()) out.resize(out.size() - 2);
  return out;
}

std::string joined(Block b, bool keep_flags = true, bool integers = false) {
  const Kernel k = parsed(kStatements);
  join_branches(
      b, k, [&](const Expr&) { return integers; }, keep_flags);
  return shown(b, k);
}

}  // namespace

TEST_CASE("branches: the opposite condition is an else, unless the statement may change it") {
  CHECK(joined(block(when("x[i] > 0", block(run(kFirst))),
                     when("not (x[i] > 0)", block(run(kSecond))))) ==
        "if x[i] > 0 {first} else {second}");
  CHECK(joined(block(when("x[i] == 0", block(run(kFirst))),
                     when("m > 0 and x[i] != 0", block(run(kSecond))))) ==
        "if x[i] == 0 {first} else {if m > 0 {second}}");
  const std::string changed = "if a[i] > 0 {own}; if not a[i] > 0 {second}";
  CHECK(joined(block(when("a[i] > 0", block(run(kOwn))),
                     when("not (a[i] > 0)", block(run(kSecond))))) == changed);
  // Kernels of a device are launched under conditions of their own.
  CHECK(joined(block(when("m > 0", block(Stmt{Launch{0, block(run(kFirst))}})),
                     when("not (m > 0)", block(Stmt{Launch{1, block(run(kSecond))}})))) ==
        "if m > 0 {launch {first}}; if not m > 0 {launch {second}}");
  // Also where only what is in the else already changes it.
  CHECK(joined(block(when("a[i] > 0", block(run(kFirst))), when("not (a[i] > 0)", block(run(kOwn))),
                     when("not (a[i] > 0)", block(run(kSecond))))) ==
        "if a[i] > 0 {first} else {own}; if not a[i] > 0 {second}");
}

TEST_CASE("branches: of a NaN neither comparison holds, so that only integers have an else there") {
  const auto made = [](bool integers) {
    return joined(
        block(when("x[i] < 1", block(run(kFirst))), when("x[i] >= 1", block(run(kSecond)))), true,
        integers);
  };
  CHECK(made(false) == "if x[i] < 1 {first}; if x[i] >= 1 {second}");
  CHECK(made(true) == "if x[i] < 1 {first} else {second}");
}

TEST_CASE("branches: a chain of conditions, each without those before it") {
  CHECK(
      joined(block(when("n < 0", block(run(kFirst))), when("m < 0 and n >= 0", block(run(kSecond))),
                   when("m >= 0 and n >= 0", block(run(kOwn)))),
             true, true) == "if n < 0 {first} else {if m < 0 {second} else {own}}");
}

TEST_CASE("branches: a loop is left where its flag ends it") {
  const auto search = [](auto... behind) {
    return block(run(kStarts),
                 loop("flag", block(when("x[i] > 0", block(run(kFirst), run(kEnds))), behind...)));
  };
  CHECK(joined(search()) == "starts; loop {if x[i] > 0 {first; ends; break}}");
  // What is under the flag, and under the other condition, is what is left.
  CHECK(joined(search(when("flag and not (x[i] > 0)", block(run(kSecond))))) ==
        "starts; loop {if x[i] > 0 {first; ends; break}; second}");
  // The flag is not asked any more: it is dropped, unless something else reads it.
  CHECK(joined(search(), false) == "loop {if x[i] > 0 {first; break}}");
  // Something else follows in the iteration.
  CHECK(joined(search(run(kSecond))) ==
        "starts; loop while flag {if x[i] > 0 {first; ends}; second}");
  CHECK(joined(search(Stmt{Release{"flag"}})) ==
        "starts; loop while flag {if x[i] > 0 {first; ends}; other}");
}

TEST_CASE("branches: an iteration ends where nothing else in it runs") {
  CHECK(joined(block(loop("", block(run(kStarts), when("x[i] > 0", block(run(kEnds))),
                                    when("flag", block(run(kFirst)))))),
               false) == "loop {if x[i] > 0 {continue}; first}");
  // A kernel of a device does not leave the host's loop.
  CHECK(joined(block(
            loop("", block(Stmt{Launch{0, block(run(kStarts), when("x[i] > 0", block(run(kEnds))),
                                                when("flag", block(run(kFirst))))}})))) ==
        "loop {launch {starts; if x[i] > 0 {ends}; if flag {first}}}");
  // With the last statement of the loop there is nothing to leave.
  CHECK(joined(block(loop("", block(run(kStarts), when("x[i] > 0", block(run(kEnds))))))) ==
        "loop {starts; if x[i] > 0 {ends}}");
  // Each iteration ends with a flag that is set: no further one asks it.
  CHECK(joined(block(run(kStarts),
                     loop("flag", block(when("m > 0", block(run(kEnds))),
                                        when("flag", block(run(kFirst))), run(kStarts))))) ==
        "starts; loop {if m > 0 {ends}; if flag {first}; starts}");
}

TEST_CASE("branches: what holds is not asked again, until it changes") {
  CHECK(joined(block(when("x[i] > 0", block(when("x[i] > 0 and m > 0", block(run(kFirst))))))) ==
        "if x[i] > 0 {if m > 0 {first}}");
  CHECK(joined(block(when("a[i] > 0", block(run(kOwn), when("a[i] > 0", block(run(kFirst))))))) ==
        "if a[i] > 0 {own; if a[i] > 0 {first}}");
  // In a loop that changes it, not even before the change.
  CHECK(joined(block(when("a[i] > 0", block(loop("", block(when("a[i] > 0", block(run(kFirst))),
                                                           run(kOwn))))))) ==
        "if a[i] > 0 {loop {if a[i] > 0 {first}; own}}");
  // Others may have changed it where work-items wait.
  CHECK(joined(block(when("x[i] > 0",
                          block(Stmt{Sync{true, true}}, when("x[i] > 0", block(run(kFirst))))))) ==
        "if x[i] > 0 {other; if x[i] > 0 {first}}");
}

TEST_CASE("guards: neighbours share what each of them asks, as far as one asks it first") {
  const auto lines = [](const std::string& third) {
    const std::string c = code(R"(
kernel k(n: int32, on: int32[n], a: inout float64[n])
domain {[i, j]: 0 <= i, j < n}
a[j] = a[j] + 1 {if=on[j] > 1:on[i] > 0}
a[j] = 2*a[j] {if=on[j] > 2:on[i] > 0}
a[j] = a[j] - 1 {if=)" + third + "}\n",
                               Target::C);
    return c.substr(c.find("for (int32_t i"));
  };
  // The third asks for `on[i]` alone, so that it can be asked before the others, and before `j`.
  CHECK(
      lines("on[i] > 0") ==
      "for (int32_t i = 0; i < n; ++i)\n      if (on[i] > 0)\n"
      "        for (int32_t j = 0; j < n; ++j) {\n"
      "          if (on[j] > 1)\n            a[j] += 1.0;\n"
      "          if (on[j] > 2)\n            a[j] *= 2.0;\n          a[j] -= 1.0;\n        }\n}\n");
  // All of them ask for something else first.
  CHECK(lines("on[j] > 3:on[i] > 0").find("on[j] > 1 && on[i] > 0") != std::string::npos);
}

TEST_CASE("branches: a choice behind one that it repeats keeps both of its sides") {
  const std::string c = code(R"(
kernel sides(n: int32, m: int32, c: int32[n], t: inout int32[1], z: inout int32[1])
domain {[l]: 0 <= l < n}
domain {[i]: 0 <= i < n - l}
domain {[j]: 0 <= j < o}
temp p: int32
<bool> g = True
for l
  p = 0 {if=not n < 1:g:c[l] == 0}
  p = 1 {if=not n < 1:g:c[l] != 0}
  for i
    z[0] = z[0] + 2 {if=not n < 1:g:c[l] > 5:l + 1 == m}
  end
  <int32> s = c[l] {if=not n < 1:g:p == 0}
  <int32> o = c[l] + 2 {if=not n < 1:g:p != 0}
  for j
    z[0] = z[0] + 1 {if=not n < 1:g:p != 0}
  end
  z[0] = z[0] + 3 {if=not n < 1:g:p != 0}
  t[0] = t[0] + s {if=not n < 1:g:p == 0}
end
)",
                             Target::C);
  CHECK(c.find("      if (p == 0)\n        s = c[l];\n      else {\n") != std::string::npos);
  CHECK(c.find("        z[0] += 3;\n      }\n      if (p == 0)\n        t[0] += s;\n") !=
        std::string::npos);
}

TEST_CASE("branches: a search, as it is printed") {
  CHECK_GOLDEN("branches.c", code(R"(
kernel search(n: int32, m: int32, x: float64[n], at: inout int32[1], d: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
<bool> open = True  {id=start}
for i
  if open
    if x[i] > 0.5
      at[0] = i  {id=found, dep=start}
      open = False  {id=stop}
    end
  end
end
for j
  if m < 0
    d[j] = 1
  end
  if m >= 0 and x[j] < 0.25
    d[j] = 2
  end
  if m >= 0 and not (x[j] < 0.25)
    if open
      d[j] = 3
    end
  end
end
)",
                                  Target::C));
}
