#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
#include "core/order/shared_storage.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"

using namespace moonloop;

namespace {

const char* const kTwice = R"(
kernel twice(n: int32, a: float64[n, 16], b: float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[j, k, p, q]: 0 <= j, k, p, q < 16}
temp s: float64[16]
temp t: float64[8, 2]
s[j] = a[i, j]               {id=one, inames=i:j}
b[i, k] = s[15 - k]          {id=two, inames=i:k}
t[p // 2, p % 2] = b[i, p]   {id=three, inames=i:p}
b[i, q] = t[7 - q // 2, q % 2]  {id=four, inames=i:q}
)";

std::string with(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}
Kernel aliased(const std::string& text, const std::string& names) {
  return apply(parsed(text), "alias_temporaries", {moonloop::text(names)});
}
std::string refusal(const std::string& text) {
  return message([&] { aliased(text, "s, t"); });
}

}  // namespace

TEST_CASE("alias_temporaries: one array where the others are dead") {
  const Kernel k = aliased(kTwice, "s, t");
  CHECK(k.find_temporary("t")->base_storage == "temp_storage");
  const Kernel merged = merge_shared_storage(complete(k));
  REQUIRE(merged.temporaries.size() == 1);
  CHECK(to_string(*merged.find_temporary("temp_storage")->shape) == "16");
  CHECK(to_string(merged.find_insn("four")->rhs) == "temp_storage[q % 2 - 2*(q // 2) + 14]");
  CHECK(same_values(parsed(kTwice), merged, {{"n", 3}}));
}

TEST_CASE("alias_temporaries: refuses to overwrite what is still read") {
  // The second array is filled before the first is read for the last time.
  CHECK(
      refusal(with(kTwice, "t[7 - q // 2, q % 2] ", "t[7 - q // 2, q % 2] + s[q] ")) ==
      "three[i=0, p=0] writes `t` over `s`, with which it shares memory and whose value from `one` "
      "four[i=0, q=0] still reads (n=1)");
  CHECK(code_of([] {
          aliased(with(kTwice, "t[7 - q // 2, q % 2] ", "t[7 - q // 2, q % 2] + s[q] "), "s, t");
        }) == "shares-memory");
  // A value that a later iteration needs.
  const std::string kept = R"(
kernel kept(n: int32, a: float64[n, 16], b: float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[j, p, q]: 0 <= j, p, q < 16}
domain {[z]: 0 <= z < 16}
temp s: float64[16]
temp t: float64[16]
s[z] = 0                     {id=zero, inames=z}
s[j] = s[j] + a[i, j]        {id=one, inames=i:j}
t[p] = a[i, 15 - p]          {id=three, inames=i:p}
b[i, q] = t[q]               {id=four, inames=i:q}
)";
  CHECK(
      refusal(kept) ==
      "three[i=0, p=0] writes `t` over `s`, with which it shares memory and whose value from `one` "
      "one[i=1, j=0] still reads (n=2)");
}

// Each iteration writes one field; the other one keeps the value of the first iteration.
TEST_CASE("alias_temporaries: a value of one field lives on where another field is written") {
  const std::string fields = R"(
record pair(x: float64, y: float64)
kernel fields(n: int32, a: float64[n], r: pair[n], u: pair[n])
domain {[i]: 0 <= i < n}
temp s: pair[1]
temp t: pair[1]
s[0].x = a[i]  {id=first, if=i == 0}
s[0].y = a[i]  {id=each}
r[i] = s[0]    {id=read}
t[0] = r[i]    {id=over}
u[i] = t[0]    {id=last}
)";
  CHECK(refusal(fields) ==
        "over[i=0] writes `t` over `s`, with which it shares memory and whose value from `first` "
        "read[i=1] still reads (n=2)");
  CHECK(refusal(with(fields, ", if=i == 0", "")) == "legal");
}

TEST_CASE("alias_temporaries: refuses what differs or has no array") {
  CHECK(refusal(with(kTwice, "temp s: float64[16]", "temp s: float32[16]")) ==
        "`s` and `t` name the base `temp_storage`, but differ in type");
  CHECK(refusal(with(kTwice, "temp s: float64[16]", "temp s: float64[16] in local")) ==
        "`s` and `t` name the base `temp_storage`, but differ in the memory they lie in");
  CHECK(refusal(with(kTwice, "temp s: float64[16]", "temp s: float64[n + 16]")) ==
        "`s` names the base `temp_storage`, but its size is not constant");
  CHECK(message([] { aliased(kTwice, "s, u"); }).find("no temporary 'u' in kernel 'twice'") !=
        std::string::npos);
  const char* const scalar = R"(
kernel scalar(a: float64[4])
domain {[i]: 0 <= i < 4}
<> s = a[i]
<> t = s + 1
a[i] = t
)";
  CHECK(code_of([&] { aliased(scalar, "s, t"); }) == "bad-base");
  CHECK(message([&] { aliased(scalar, "s, t"); }) ==
        "the scalar `s` names the base `temp_storage`; only arrays share memory");
  CHECK(message([] { aliased(with(kTwice, "16]\ntemp t", "16] base=m\ntemp t"), "s, t"); }) ==
        "`s` has the base `m` already");
}

// Found by the differential test (5166815): no code could be generated for the axis.
TEST_CASE("alias_temporaries: what shares memory gets no axis whose length is not constant") {
  const Kernel k = aliased(R"(
kernel f(n: int32, a: float64[n, 8], b: float64[n, 8], c: float64[n, 8])
domain {[i]: 0 <= i < n}
domain {[j, p, q, r]: 0 <= j, p, q, r < 8}
assume n >= 4
temp s: float64[8]
temp t: float64[8]
s[j] = a[i, j]     {id=one, inames=i:j}
b[i, p] = s[7 - p] {id=two, inames=i:p}
t[q] = a[i, 7 - q] {id=three, inames=i:q}
c[i, r] = t[7 - r] {id=four, inames=i:r}
)",
                           "s, t");
  CHECK(code_of([&] { apply(k, "privatize_temporaries_with_inames", {text("i")}); }) == "bad-base");
  CHECK(code_of([&] {
          apply(apply(k, "split_iname", {text("i"), number(4)}),
                "privatize_temporaries_with_inames", {text("i_inner")});
        }) == "legal");
}

// Differential test, seed 24000790.
TEST_CASE("alias_temporaries: rules read what shares memory") {
  const Kernel k = apply(aliased(R"(
kernel f(n: int32, a: float64[n, 8], b: float64[n, 8])
domain {[i]: 0 <= i < n}
domain {[j, p, q, r]: 0 <= j, p, q, r < 8}
temp s: float64[8]
temp t: float64[8]
temp x: float64
s[j] = a[i, j]     {id=one, inames=i:j}
x = s[7 - p]       {id=get, inames=i:p}
b[i, p] = x        {id=two, inames=i:p}
t[q] = a[i, 7 - q] {id=three, inames=i:q}
b[i, r] = b[i, r] + t[7 - r] {id=four, inames=i:r}
)",
                                 "s, t"),
                         "assignment_to_subst", {text("x")});
  const Kernel merged = merge_shared_storage(complete(k));
  CHECK(merged.find_temporary("s") == nullptr);
  CHECK(same_values(k, merged, {{"n", 5}}));
}

// Differential test, seed 24800917: no code could be generated for the tag.
TEST_CASE("alias_temporaries: each step proves that what shares memory still may") {
  const std::string text = R"(
kernel f(a: float64[8], b: float64[8])
domain {[i, j]: 0 <= i < 8 and 0 <= j < 2}
temp own: float64[2]
temp shared: float64[8, 2]
own[j] = 2*a[i]               {id=one}
b[i] = own[j]                 {id=two}
shared[(i + 1) % 8, j] = b[i] {id=three}
a[i] = shared[(i + 1) % 8, j] {id=four}
)";
  const auto tag = [](const Kernel& k, const char* tags) {
    return code_of([&] { apply(k, "tag_inames", {moonloop::text(tags)}); });
  };
  const Kernel apart = parsed(text), together = aliased(text, "own, shared");
  CHECK(tag(apart, "i: l.0") == "legal");
  // One would be each work-item's own, the other one the group's.
  CHECK(tag(together, "i: l.0") == "breaks-order");
  CHECK(tag(together, "i: unr") == "legal");
}

namespace {

/// Groups use `s`, then `t`: each is filled, then read.
const char* const kSums = R"(
kernel sums(n: int32, a: float64[n, 16], b: float64[n, 16], c: float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[j, k, p, q]: 0 <= j, k, p, q < 16}
temp s: float64[16]
temp t: float64[8]
tag i: g.0, j: l.0, k: l.0, p: l.0, q: l.0
s[j] = a[i, j]                       {id=one, inames=i:j}
c[i, k] = s[15 - k]                  {id=two, inames=i:k}
t[p] = b[i, p]                       {id=three, inames=i:p, if=p < 8}
c[i, q] = c[i, q] + t[7 - q // 2]    {id=four, inames=i:q}
)";

std::map<std::string, std::string> bases(const Kernel& k) {
  std::map<std::string, std::string> out;
  for (const auto& [name, t] : k.temporaries) out[name] = t.base_storage;
  return out;
}
std::map<std::string, std::string> shared(const std::string& text, ValueDict options = {}) {
  return bases(apply(parsed(text), "share_local_memory", {}, std::move(options)));
}
const std::map<std::string, std::string> kTogether{{"s", "s_storage"}, {"t", "s_storage"}};
const std::map<std::string, std::string> kAsTheyAre{{"s", ""}, {"t", ""}};

}  // namespace

TEST_CASE("share_local_memory: arrays that a group uses one after the other") {
  const Kernel k = apply(parsed(kSums), "share_local_memory", {});
  CHECK(bases(k) == kTogether);
  const Kernel merged = merge_shared_storage(complete(k));
  CHECK(to_string(*merged.find_temporary("s_storage")->shape) == "16");
  CHECK(same_values(parsed(kSums), k, {{"n", 3}}));
}

TEST_CASE("share_local_memory: arrays that are needed at the same time stay apart") {
  CHECK(shared(with(kSums, "+ t[7 - q // 2]", "+ t[7 - q // 2]*s[q]")) == kAsTheyAre);
  // As alias_temporaries says, with two instances.
  CHECK(
      refusal(with(kSums, "+ t[7 - q // 2]", "+ t[7 - q // 2]*s[q]")) ==
      "three[i=0, p=0] writes `t` over `s`, with which it shares memory and whose value from `one` "
      "four[i=0, q=0] still reads (n=1)");
}

TEST_CASE("share_local_memory: what is not a group's, or differs, stays as it is") {
  CHECK(shared(with(kSums, "temp t: float64[8]", "temp t: float32[8]")) == kAsTheyAre);
  CHECK(shared(with(kSums, "temp t: float64[8]", "temp t: float64[8] in local")) == kAsTheyAre);
  CHECK(shared(with(kSums, "temp t: float64[8]", "temp t: float64[n + 8]")) == kAsTheyAre);
  // Without work-items each is its own work-item's.
  CHECK(shared(with(kSums, "tag i: g.0, j: l.0, k: l.0, p: l.0, q: l.0", "tag i: g.0")) ==
        kAsTheyAre);
  // Other groups, in other loops, may need one of them alone.
  std::string apart = with(kSums, "domain {[i]:", "domain {[h]: 0 <= h < n}\ndomain {[i]:");
  apart = with(apart, "tag i: g.0", "tag i: g.0, h: g.0");
  apart = with(apart, "s[j] = a[i, j]                       {id=one, inames=i:j}",
               "s[j] = a[h, j]                       {id=one, inames=h:j}");
  apart = with(apart, "c[i, k] = s[15 - k]                  {id=two, inames=i:k}",
               "c[h, k] = s[15 - k]                  {id=two, inames=h:k}");
  CHECK(shared(apart) == kAsTheyAre);
  // Without groups there may be a kernel behind a barrier of all: its memory is another one.
  const std::string none = with(kSums, "tag i: g.0, ", "tag ");
  CHECK(shared(none, {{"in_loops", Value{true}}}) == kTogether);
  CHECK(shared(with(none, "t[p] =", "... gbarrier {id=all, dep=two, inames=i}\nt[p] ="),
               {{"in_loops", Value{true}}}) == kAsTheyAre);
}

TEST_CASE("share_local_memory: arrays that take turns in a loop, if told") {
  std::string text = with(kSums, "domain {[i]:", "domain {[m]: 0 <= m < 3}\ndomain {[i]:");
  for (const char* const at : {"=i:j", "=i:k", "=i:p", "=i:q"})
    text = with(text, at, "=i:m" + std::string(at + 2));
  text = with(text, "c[i, k] = s[15 - k] ", "c[i, k] = c[i, k] + m*s[15 - k] ");
  CHECK(shared(text) == kAsTheyAre);
  CHECK(shared(text, {{"in_loops", Value{true}}}) == kTogether);
  // One that a later iteration needs is not written by turns with the other.
  const std::string kept = with(text, "{id=one, ", "{id=one, if=m == 0, ");
  CHECK(shared(kept, {{"in_loops", Value{true}}}) == kAsTheyAre);
}
