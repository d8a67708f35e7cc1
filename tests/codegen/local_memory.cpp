#include "tests/codegen/kit.h"
#include "transforms/registry.h"

using namespace moonloop;

namespace {

/// Groups turn rows round in local memory: `elements` doubles, in front of them a few bytes.
std::string turned(std::int64_t elements, const std::string& bytes = "") {
  const std::string n = std::to_string(elements);
  std::string text = "kernel f(n: int32, a: float64[n, " + n + "], b: float64[n, " + n + "])\n" +
                     "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < " + n +
                     "}\ndomain {[k]: 0 <= k < " + n + "}\ndomain {[x, y]: 0 <= x, y < 2}\n";
  if (!bytes.empty()) text += "temp s: int8[" + bytes + "] in local\n";
  text += "temp t: float64[" + n + "] in local\nt[j] = a[i, j] {inames=i:j}\n";
  if (!bytes.empty()) text += "s[x] = i {inames=i:x}\n";
  text += "b[i, k] = t[" + std::to_string(elements - 1) + " - k] {inames=i:k}\n";
  if (!bytes.empty()) text += "b[i, y] = b[i, y] + s[1 - y] {inames=i:y}\n";
  return text;
}
const Tags kGroups{{"i", "g.0"}};

Program cuda(const std::string& text, const Tags& tags = kGroups) {
  return generate(kernel(text, tags), Target::Cuda);
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("local memory: CUDA's kernels declare 48 KiB, and are given more at the launch") {
  const Program most = cuda(turned(6144)), more = cuda(turned(6145));
  CHECK(most.device->kernels[0].local_bytes == 49152);
  CHECK(!most.device->kernels[0].given_local);
  CHECK(contains(most.source, "__shared__ double t[6144];"));
  CHECK(!contains(most.source, "cudaFuncSetAttribute"));
  CHECK(more.device->kernels[0].local_bytes == 49168);
  CHECK(more.device->kernels[0].given_local);
  CHECK(contains(more.source,
                 "  extern __shared__ __align__(16) unsigned char local_memory[];\n"
                 "  double (&t)[6145] = *(double (*)[6145])local_memory;\n"));
  CHECK(contains(more.source, "f_kernel<<<dim3(n, 1, 1), dim3(1, 1, 1), 49168>>>(a, b);"));
  // OpenCL's kernels declare any size.
  CHECK(contains(code(turned(6145), Target::OpenCL, kGroups), "__local double t[6145];"));
}

TEST_CASE("local memory: gaps between arrays count as what they need") {
  CHECK(!cuda(turned(6142, "16")).device->kernels[0].given_local);
  const Program gap = cuda(turned(6143, "2"));  // 49146 bytes and a gap of 14
  CHECK(gap.device->kernels[0].local_bytes == 49168);
  CHECK(contains(gap.source,
                 "signed char (&s)[2] = *(signed char (*)[2])local_memory;\n"
                 "  double (&t)[6143] = *(double (*)[6143])(local_memory + 16);"));
}

TEST_CASE("local memory: arrays of several axes, a scalar, vectors and stages of a pipeline") {
  Kernel k =
      kernel(R"(
kernel f(n: int32, a: float64[n, 64], b: float64[64], c: float32[64, 2], d: float32[64, 137])
domain {[k]: 0 <= k < n}
domain {[j, i]: 0 <= j, i < 64}
domain {[p, q, v]: 0 <= p, q < 64 and 0 <= v < 2}
domain {[r, x]: 0 <= r < 64 and 0 <= x < 137}
temp one: float64 in local
temp t: float64[64] in local
temp u: float32[64, 137] in local
temp w: float32[2000, 2] in local
temp s: float64
one = b[0]              {id=one, inames=}
s = one                 {id=start, inames=i, dep=one}
w[p, v] = c[63 - p, v]  {inames=p:v}
u[r, x] = d[63 - r, x]  {inames=r:x}
t[j] = a[k, j]          {id=fetch, inames=k:j}
s = s + t[63 - i]       {id=use, inames=k:i, dep=fetch:start}
b[i] = s + u[i, 7]      {inames=i, dep=use}
c[q, 0] = w[63 - q, 0]  {inames=q}
)",
             {{"j", "l.0"}, {"i", "l.0"}, {"p", "l.0"}, {"q", "l.0"}, {"r", "l.0"}, {"v", "vec"}});
  k = run_op(*find_op("pipeline"), k, {Value{std::string("k")}}, {{"stages", Value{4L}}});
  const Program p = generate(k, Target::Cuda);
  CHECK(p.device->kernels[0].given_local);
  CHECK_GOLDEN("given_memory.cu", p.source);
}

TEST_CASE("local memory: more than any device has is refused with the code") {
  CHECK(cuda(turned(29056)).device->kernels[0].local_bytes == 232448);
  const Diagnostic d = refusal(turned(29057, "2"), Target::Cuda, kGroups);
  CHECK(d.code == "device-limit");
  CHECK(d.text ==
        "kernel `f_kernel` needs 232480 bytes of local memory, most of them for `t`; devices of "
        "target `cuda` have at most 232448 (sm_90)");
  CHECK(d.where.at.line == 7);
}

TEST_CASE("local memory: the name of what is given is not the kernel's") {
  std::string text = turned(6145);
  for (std::size_t at = 0; (at = text.find("a[", at)) != std::string::npos;)
    text.replace(at, 1, "local_memory");
  text.replace(text.find(" a:"), 2, " local_memory");
  const std::string source = cuda(text).source;
  CHECK(contains(source, "double const *__restrict__ local_memory_,"));
  CHECK(contains(source, "t[j] = local_memory_["));
}
