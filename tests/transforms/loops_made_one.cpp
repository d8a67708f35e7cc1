#include "transforms/loops_made_one.h"

#include "core/model/print.h"
#include "loop_kit.h"
#include "same_values.h"
#include "transforms/fuse_kernels.h"
#include "transforms/rename_iname.h"

using namespace moonloop;

namespace {

/// The kernels of a text, one after the other.
Composition composed(const std::string& text) {
  return fuse_kernels(parse_kernels(add_source("kernels.loop", text)));
}

Kernel one_by_one(const Composition& c) {
  Kernel out = c.kernel;
  for (const auto& [own, name] : c.shared)
    out = rename_iname(out, own, name, {.existing_ok = true, .proof = Proof::LeftOut});
  return out;
}

/// Whether all loops are made one at once, and that is what rename_iname does one by one.
bool at_once(const std::string& text) {
  const Composition c = composed(text);
  REQUIRE(!c.shared.empty());
  const std::optional<Kernel> made = loops_made_one(c.kernel, c.shared);
  if (!made) return false;
  const Kernel k = one_by_one(c);
  CHECK(print_kernel(*made) == print_kernel(k));
  CHECK(made->loop_order == k.loop_order);
  for (std::size_t n = 0; n < k.instructions.size(); ++n) {
    CHECK(made->instructions[n]->origin.size() == k.instructions[n]->origin.size());
    for (const auto& [name, e] : k.instructions[n]->origin)
      CHECK(to_string(made->instructions[n]->origin.at(name)) == to_string(e));
  }
  return true;
}

/// A kernel `b[i] = 2*a[i]` over a domain, with more lines.
std::string copy(const std::string& name, const std::string& from, const std::string& to,
                 const std::string& domain, const std::string& more = "") {
  return "kernel " + name + "(n: int32, " + from + ": float64[n], " + to +
         ": float64[n])\ndomain {" + domain + "}\n" + more + to + "[i] = 2*" + from + "[i]\n";
}

}  // namespace

TEST_CASE("loops made one at once: as rename_iname of one after the other") {
  const std::string plain = "[i]: 0 <= i < n";
  CHECK(at_once(copy("f", "a", "b", plain) + copy("g", "b", "c", plain) +
                copy("h", "c", "d", plain)));
  const std::string triangle =
      "(n: int32, p: float64[n, n], q: float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\n";
  CHECK(at_once("kernel f" + triangle + "p[i, j] = q[j]\nkernel g" + triangle +
                "q[j] = p[i, j] + 1\nkernel h" + triangle + "p[j, i] = q[i]\n"));
  const std::string square =
      "(n: int32, p: float64[n, n])\ndomain {[i, j]: 0 <= i < n and 0 <= 2*j <= i}\n";
  CHECK(at_once("kernel f" + square + "p[i, j] = 1\nkernel g" + square +
                "p[i, j + 1] = i + j {if=p[i, j] > 0}\n"));
  // Loops that only one of them has, in and around those that are shared.
  CHECK(at_once(copy("f", "a", "b", plain) +
                "kernel g(n: int32, p: float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
                "domain {[k]: i <= k < n}\np[i, k] = sum(m, p[k, m])\ndomain {[m]: 0 <= m < n}\n"));
}

TEST_CASE("loops made one at once: only where that is mere renaming") {
  const std::string plain = "[i]: 0 <= i < n";
  const std::string f = copy("f", "a", "b", plain);
  CHECK_FALSE(at_once(f + copy("g", "b", "c", "[i]: 0 <= i < n - 1")));
  CHECK_FALSE(at_once(f + copy("g", "b", "c", plain, "tag i: par\n")));
  CHECK_FALSE(at_once(f + copy("g", "b", "c", "[i, j]: 0 <= i < n and 0 <= j < 2")));
  CHECK_FALSE(at_once(f + copy("g", "b", "c", plain, "r(x) := 3*x\n")));
  // A loop, and in another statement that of a reduction.
  CHECK_FALSE(at_once(f +
                      "kernel g(n: int32, a: float64[n], s: float64)\ndomain {[i]: 0 <= i < n}\n"
                      "a[i] = 0\ns = sum(i, a[i])\n"));
}
