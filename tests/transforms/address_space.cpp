// set_temporary_address_space.
#include "tests/transforms/loop_kit.h"
#include "transforms/set_temporary_address_space.h"

using namespace moonloop;

namespace {

const char* const kScaled = R"(
kernel scaled(a: float64[16], b: float64[16])
domain {[i]: 0 <= i < 16}
tag i: l.0
<> t = 2*a[i]  {id=make}
b[i] = t + 1   {id=use}
)";
const char* const kTurned = R"(
kernel turned(a: float64[16], b: float64[16])
domain {[i]: 0 <= i < 16}
domain {[j]: 0 <= j < 16}
tag i: l.0, j: l.0
temp t: float64[16]
t[i] = a[i]
b[j] = t[15 - j]
)";

Kernel move_to(const char* source, const std::string& name, const std::string& space) {
  return apply(parsed(source), "set_temporary_address_space", {text(name), text(space)});
}

}  // namespace

TEST_CASE("set_temporary_address_space: moves what may be shared") {
  CHECK(move_to(kTurned, "t", "local").find_temporary("t")->space == AddressSpace::Local);
  CHECK(move_to(kTurned, "t", "global").find_temporary("t")->space == AddressSpace::Global);
  CHECK(move_to(kScaled, "t", "private").find_temporary("t")->space == AddressSpace::Private);
  const Kernel local = move_to(kTurned, "t", "local");
  CHECK(apply(local, "set_temporary_address_space", {text("t"), text("auto")})
            .find_temporary("t")
            ->space == AddressSpace::Auto);
}

TEST_CASE("set_temporary_address_space: each work-item may keep its own elements") {
  std::string own = kTurned;
  own.replace(own.find("15 - j"), 6, "j");
  CHECK(move_to(own.c_str(), "t", "private").find_temporary("t")->space == AddressSpace::Private);
  // Two work-items of which each has the element: along `l.0` it is the same, along `l.1` another.
  own.replace(own.find("j: l.0"), 6, "j: l.1");
  CHECK(code_of([&] { move_to(own.c_str(), "t", "private"); }) == "not-private");
}

TEST_CASE("set_temporary_address_space: refuses memory in which work-items would meet") {
  CHECK(message([&] { move_to(kScaled, "t", "local"); })
            .find("make[i=1] would run before use[i=0], but use[i=0] reads t and make[i=1] writes "
                  "it") != std::string::npos);
  CHECK(message([&] { move_to(kTurned, "t", "private"); }) ==
        "`t` is written at the number of its work-item, as memory that the work-items share; it "
        "cannot be private");
  CHECK(code_of([&] { move_to(kTurned, "t", "private"); }) == "not-private");
  CHECK(message([&] { move_to(kTurned, "s", "local"); }) ==
        "bad argument #2 to 'set_temporary_address_space' (no temporary 's' in kernel 'turned'; it "
        "has 't')");
  CHECK(code_of([&] {
          set_temporary_address_space(parsed(kTurned), {"s"}, AddressSpace::Local);
        }) == "unknown-temporary");
  CHECK(code_of([&] { move_to(kTurned, "t", "shared"); }) == "bad-address-space");
}

TEST_CASE("set_temporary_address_space: iterations that run at once share global memory") {
  // Differential test, seed 3700211: each had its own in the kernel before, and so it was legal.
  const Kernel k = parsed(R"(
kernel f(n: int32, d: in float64[n], out: out float64[n])
domain {[i]: 0 <= i < n}
<> t = 2*d[i]  {id=first}
out[i] = t     {id=second}
)");
  for (const std::string tag : {"par", "g.0"}) {
    CAPTURE(tag);
    const Kernel spread = apply(k, "tag_inames", {text("i:" + tag)});
    CHECK(code_of([&] {
            apply(spread, "set_temporary_address_space", {text("t"), text("global")});
          }) == "races");
    const Kernel shared = apply(k, "set_temporary_address_space", {text("t"), text("global")});
    CHECK(code_of([&] { apply(shared, "tag_inames", {text("i:" + tag)}); }) == "races");
  }
}

TEST_CASE("set_temporary_address_space: what shares memory moves together") {
  const Kernel k = apply(parsed(R"(
kernel twice(n: int32, a: float64[n, 16], b: float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[j, k, p, q]: 0 <= j, k, p, q < 16}
temp s: float64[16]
temp t: float64[16]
s[j] = a[i, j]       {inames=i:j}
b[i, k] = s[15 - k]  {inames=i:k}
t[p] = b[i, p] + 1   {inames=i:p}
b[i, q] = t[15 - q]  {inames=i:q}
)"),
                         "alias_temporaries", {text("s, t")});
  const auto move = [&](const char* names) {
    return apply(k, "set_temporary_address_space", {text(names), text("local")});
  };
  CHECK(code_of([&] { move("s"); }) == "bad-base");
  CHECK(message([&] { move("s"); }) ==
        "`s` shares the memory `temp_storage` with `t`, which does not move; name both");
  CHECK(move("s, t").find_temporary("t")->space == AddressSpace::Local);
}
