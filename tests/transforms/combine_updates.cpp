#include "core/model/print.h"
#include "loop_kit.h"
#include "same_values.h"

/// Atomic updates of one element that work-items make together.

using namespace moonloop;

namespace {

Kernel updates(const std::string& statements, const std::string& type = "float64") {
  return parsed("kernel h(n: int32, d: in int32[n], x: in float64[n], h: inout " + type +
                "[4], p: inout " + type +
                "[4])\n"
                "domain {[i]: 0 <= i < n}\n" +
                statements);
}

std::string outcome(const Kernel& k, const char* arrays, const char* within = "") {
  const auto run = [&] { apply(k, "combine_updates", {text(arrays), text(within)}); };
  return message(run) + " [" + code_of(run) + "]";
}

}  // namespace

TEST_CASE("combine_updates: marks atomic updates, which stay what they are") {
  const Kernel before = updates(
      "h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n"
      "h[i % 4] = h[i % 4] - 2   {id=less, atomic}\n"
      "p[d[i]] = p[d[i]] + 1     {id=other, atomic}\n");
  const Kernel k = apply(before, "combine_updates", {text("h")});
  CHECK(k.find_insn("add")->combined);
  CHECK(k.find_insn("less")->combined);
  CHECK(!k.find_insn("other")->combined);
  CHECK(print_kernel(k).find("{id=add, atomic=combined}") != std::string::npos);
  CHECK(print_kernel(parsed(print_kernel(k))) == print_kernel(k));
  CHECK(same_values(before, k, {{"n", 9}}));
  CHECK_NOTHROW(apply(k, "tag_inames", {Value{ValueDict{{"i", text("g.0")}}}}));
  const Kernel some = apply(before, "combine_updates", {text("h, p"), text("id:add or id:other")});
  CHECK(some.find_insn("add")->combined);
  CHECK(!some.find_insn("less")->combined);
  CHECK(some.find_insn("other")->combined);
}

TEST_CASE("combine_updates: the operations") {
  for (const char* value :
       {"h[d[i]] + 1", "h[d[i]] - d[i]", "h[d[i]]*3", "min(h[d[i]], d[i])", "max(d[i], h[d[i]])",
        "h[d[i]] & d[i]", "h[d[i]] | d[i]", "h[d[i]] ^ d[i]"}) {
    CAPTURE(value);
    for (const char* type : {"int32", "int64", "uint32"}) {
      const Kernel before =
          updates("h[d[i]] = " + std::string(value) + "  {id=add, atomic}\n", type);
      if (std::string(type) == "uint32" && std::string(value).find("min") == 0) continue;
      if (std::string(type) == "uint32" && std::string(value).find("max") == 0) continue;
      CHECK(apply(before, "combine_updates", {text("h")}).find_insn("add")->combined);
    }
  }
}

TEST_CASE("combine_updates: what it refuses") {
  const std::string add = "h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n";
  CHECK(outcome(updates(add), "z") ==
        "bad argument #2 to 'combine_updates' (no variable 'z' in kernel 'h') [bad-argument]");
  CHECK(outcome(updates(add), "p") ==
        "no selected instruction of kernel `h` updates `p` atomically [no-match]");
  CHECK(outcome(updates(add), "h", "id:other") ==
        "no selected instruction of kernel `h` updates `h` atomically [no-match]");
  CHECK(outcome(updates("h[d[i]] = h[d[i]] + x[i]  {id=add}\n"), "h") ==
        "no selected instruction of kernel `h` updates `h` atomically [no-match]");
  CHECK(outcome(updates("h[d[i]] = 3*h[d[i]] + 1  {id=same, atomic}\n"), "h") ==
        "`same` is not an atomic update that commutes with itself by one operation, such as "
        "`a[f(i)] = a[f(i)] + x` [not-an-update]");
  CHECK(outcome(updates("h[d[i]] = h[d[i]] + 0.5  {id=half, atomic}\n", "int32"), "h") ==
        "`half` is not an atomic update that commutes with itself by one operation, such as "
        "`a[f(i)] = a[f(i)] + x` [not-an-update]");
  const std::string needs =
      " is not combined: that needs a sum, product, `min`, `max`, `&`, `|` or `^` of `h` and one "
      "other operand, of 4 or 8 bytes [not-combinable]";
  CHECK(outcome(updates("h[d[i]] = h[d[i]] + x[i] - 1  {id=three, atomic}\n"), "h") ==
        "what `three` does to `h`" + needs);
  CHECK(outcome(updates("h[d[i]] = x[i] if x[i] > h[d[i]] else h[d[i]]  {id=most, atomic}\n"),
                "h") == "what `most` does to `h`" + needs);
  CHECK(outcome(updates("h[d[i]] = h[d[i]] + d[i]  {id=small, atomic}\n", "int16"), "h") ==
        "what `small` does to `h`" + needs);
}
