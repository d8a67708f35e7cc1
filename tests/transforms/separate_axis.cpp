// The array axis tag `sep`.
#include "core/model/original_layout.h"
#include "core/model/print.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"

using namespace moonloop;

namespace {

const char* const kVectors = R"(
kernel vectors(n, a: in float64[3, n], b: inout float64[n, 3])
domain [n] -> {[i]: 0 <= i < n}
domain {[c]: 0 <= c < 3}
b[i, 0] = b[i, 1] + a[2, i]        {id=first}
b[i, c] = b[i, c] + a[c, i]*a[1, i]  {id=all, dep=first}
b[i, 2] = 2*b[i, 2]                {id=last, dep=all}
)";

Kernel separated(const char* source, const std::string& name, const std::string& tags) {
  return apply(parsed(source), "tag_array_axes", {text(name), text(tags)});
}

}  // namespace

TEST_CASE("sep: an array for each subscript that is read") {
  const Kernel k = separated(kVectors, "a", "sep,c");
  REQUIRE(k.args.size() == 5);
  CHECK(k.args[1].name == "a_s0");
  CHECK(k.args[3].name == "a_s2");
  CHECK(to_string(*k.args[3].shape) == "n");
  CHECK(to_string(k.find_insn("first")->rhs) == "b[i, 1] + a_s2[i]");
  CHECK(to_string(k.find_insn("all")->rhs) ==
        "b[i, c] + (a_s0[i] if c == 0 else a_s1[i] if c == 1 else a_s2[i])*a_s1[i]");
  CHECK(k.args[3].original_layout->of == "a");
  CHECK(to_string(k.args[3].original_layout->index) == "2, axis1");
  const std::string text = print_kernel(k);
  CHECK(print_kernel(parsed(text)) == text);
}

TEST_CASE("sep: a statement for each array that is written, for which others wait") {
  const Kernel k = separated(kVectors, "b", "c,sep");
  CHECK(k.instructions.size() == 5);
  CHECK(to_string(k.find_insn("first")->lhs) == "b_s0[i]");
  CHECK(to_string(k.find_insn("all_s1")->lhs) == "b_s1[i]");
  CHECK(to_string(k.find_insn("all_s1")->rhs) == "b_s1[i] + a[c, i]*a[1, i]");
  CHECK(to_string(k.find_insn("all_s1")->predicates) == "c == 1");
  CHECK(k.find_insn("last")->depends_on == std::vector<std::string>{"all", "all_s1", "all_s2"});
}

TEST_CASE("sep: a temporary becomes several") {
  const char* const source = R"(
kernel turn(n, a: in float64[n, 4], b: out float64[n, 4])
domain [n] -> {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 4}
domain {[q]: 0 <= q < 4}
temp t: float64[4, 2]
t[j, j % 2] = a[i, j]
b[i, q] = t[3 - q, (3 - q) % 2]
)";
  const Kernel k = separated(source, "t", "sep,sep");
  CHECK(k.temporaries.size() == 8);
  CHECK(k.find_temporary("t_s1_s3")->shape->empty());
  const std::vector<std::string> ids = k.instruction_ids();
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
  CHECK(same_values(parsed(source), k, {{"n", 5}}));
}

TEST_CASE("sep: what is refused") {
  CHECK(message([] { separated(kVectors, "b", "sep,c"); }) ==
        "axis 0 of `b` has length n; `sep` takes a constant of at most 256");
  const char* const whole = R"(
kernel flat(a: float32[4, 4], b: float32[4, 4])
domain {[i, j]: 0 <= i, j < 4}
a[i, j] = b[[4*i + j]] + indexof(a[i, j])
)";
  CHECK(message([&] { separated(whole, "b", "sep,c"); }) ==
        "instruction `insn` uses `b` as a whole, which is to become several arrays");
  CHECK(message([&] { separated(whole, "a", "sep,c"); }) ==
        "instruction `insn` uses `a` as a whole, which is to become several arrays");
  const char* const table = R"(
kernel table(b: out float32[2])
domain {[i]: 0 <= i < 2}
temp t: float32[2, 2] init=(1, 2, 3, 4) read_only
b[i] = t[i, 1]
)";
  CHECK(message([&] { separated(table, "t", "sep,c"); }) ==
        "`t` has initial values; its axes are not separated");
  const char* const offset = R"(
kernel offset(b: float32[2, 2] offset=3)
domain {[i]: 0 <= i < 2}
b[i, 1] = 1
)";
  CHECK(message([&] { separated(offset, "b", "c,sep"); }) ==
        "`b` has strides or an offset; its axes are not separated");
}

TEST_CASE("sep: records, of which fields are read and written") {
  // Found by the differential test: the field of a choice was not a place.
  const Kernel before = parsed(
      "record pair(x: float64, y: float64)\n"
      "kernel f(n: int32, r: inout pair[n, 2], u: inout float64[n, 2])\n"
      "domain {[i, c]: 0 <= i < n and 0 <= c < 2}\n"
      "u[i, c] = r[i, c].x + r[i, 1].y  {id=read}\nr[i, c].y = r[i, c].x  {id=write}\n");
  const Kernel k = apply(before, "tag_array_axes", {text("r"), text("c,sep")});
  CHECK(to_string(k.find_insn("read")->rhs) == "(r_s0[i].x if c == 0 else r_s1[i].x) + r_s1[i].y");
  CHECK(to_string(k.find_insn("write")->lhs) == "r_s0[i].y");
  CHECK(to_string(k.find_insn("write_s1")->rhs) == "r_s1[i].x");
}

TEST_CASE("sep: parts of a temporary that nothing writes are left out") {
  // Found by the differential test: only odd elements are read, and so fetched.
  const char* const source = R"(
kernel odd(n: int32, f: float64[n + 4], w: float64[n + 4])
domain {[q]: 0 <= q < n and q mod 3 = 0}
f[q + 3] = 0.125*(f[q + 3] if q % 2 == 1 else w[q])  {id=s}
)";
  const Kernel before = parsed(source);
  Kernel k = apply(before, "add_prefetch", {text("f"), text("q")}, {{"default_tag", Value{false}}});
  k = apply(k, "split_array_axis", {text("f_fetch"), number(0), number(2), text("C")});
  k = apply(k, "tag_array_axes", {text("f_fetch"), text("N0,sep")});
  CHECK(k.find_temporary("f_fetch_s0") != nullptr);
  CHECK(k.find_temporary("f_fetch_s1") == nullptr);
  CHECK(to_string(k.find_insn("s")->rhs) ==
        "0.125*(f_fetch_s0[(q + 1) // 2 - 2] if q % 2 == 1 else w[q])");
  CHECK(same_values(before, k, {{"n", 23}}));
  const char* const missing = R"(
kernel gap(n: int32, a: float64[n], b: out float64[n])
domain {[i]: 0 <= i < n}
temp t: float64[3]
t[0] = a[i]
t[2] = 2*a[i]
b[i] = t[1] + t[2]  {id=reads}
)";
  CHECK(message([&] { separated(missing, "t", "sep"); }) ==
        "`reads` reads element 1 of `t` along axis 0, which nothing writes");
}

TEST_CASE("sep: what claims say of an array holds of its parts") {
  const Kernel k = parsed(R"(
kernel k(n: int32, d: in int32[n], h: inout int32[n, 2])
domain {[i]: 0 <= i < n}
h[d[i] % 3, 1] = (h[d[i] % 3, 1] + d[i]) % 7  {id=add, inames=i, atomic}
)");
  const auto tagged = [](const Kernel& x) {
    return apply(apply(x, "tag_array_axes", {text("h"), text("c,sep")}), "tag_inames",
                 {text("i:par")});
  };
  CHECK(code_of([&] { tagged(k); }) == "not-proved");
  CHECK(line(tagged(apply(k, "assume_commuting", {text("h")})), "add") ==
        "h_s1[d[i] % 3] = (h_s1[d[i] % 3] + d[i]) % 7");
  CHECK(tagged(apply(k, "assume_disjoint", {text("h")})).tag("i")->text == "par");
}
