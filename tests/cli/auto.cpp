#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

const char* const kProductText =
    "kernel product(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])\n"
    "domain {[i, j, k]: 0 <= i, j, k < n}\n"
    "c[i, j] = sum(k, a[i, k]*b[k, j])\n";

/// How often a call of the matrix unit adds to the array.
int units_into(const std::string& code, const std::string& array) {
  const std::string call = "mma_16x8x4(" + array;
  int out = 0;
  for (std::size_t at = 0; (at = code.find(call, at)) != std::string::npos; ++at) ++out;
  return out;
}

}  // namespace

TEST_CASE("auto: the script that it writes is legal and replays") {
  const Folder f;
  f.write("k.loop", kProductText);
  for (const char* target : {"c", "openmp"}) {
    CAPTURE(target);
    const std::string of = std::string(" --target ") + target;
    const Outcome o = tool("auto k.loop -o k.lua -p n=500" + of, f.str());
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    CHECK(tool("auto k.loop -p n=500" + of, f.str()).out == f.read("k.lua"));
    CHECK(has(f.read("k.lua"), "lp.knob(\"j_lanes\", {8, 16, 32}, {default = 16})"));
    CHECK(has(f.read("k.lua"), "lp.tag_inames") == (std::string_view(target) == "openmp"));
    CHECK(tool("check k.loop -t k.lua", f.str()).status == 0);
    const Outcome run = tool("run k.loop -t k.lua -p n=37 --verify --quiet" + of, f.str());
    CHECK(has(run.out, "verify: equal"));
    f.write("auto.lua", std::string("product = lp.auto(product, {target = '") + target +
                            "', params = {n = 500}})\n");
    CHECK(tool("gen k.loop -t auto.lua" + of, f.str()).out ==
          tool("gen k.loop -t k.lua" + of, f.str()).out);
    // Its knobs are knobs of the script that calls it.
    CHECK(tool("gen k.loop -t auto.lua --knob j_lanes=8" + of, f.str()).out ==
          tool("gen k.loop -t k.lua --knob j_lanes=8" + of, f.str()).out);
  }
}

TEST_CASE("auto: threads share tiles of time in waves, and other targets have none") {
  const Folder f;
  f.write("k.loop",
          "kernel means(n: int32, m: int32, a: inout float64[n, n])\n"
          "domain {[t]: 0 <= t < m}\n"
          "domain {[i, j]: 1 <= i, j < n - 1}\n"
          "a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j])/5 "
          "{inames=t:i:j}\n");
  const std::string sizes = " -p n=2000 -p m=100";
  CHECK(tool("auto k.loop -o k.lua --target openmp" + sizes, f.str()).status == 0);
  const std::string script = f.read("k.lua");
  CHECK(has(script, "{insn = \"t_block + t_tile\"}, 1, {tile_iname = \"t_wave\"}"));
  CHECK(has(script, "lp.tag_inames(means, {t_block = \"par\"})"));
  const Outcome run =
      tool("run k.loop -t k.lua --target openmp -p n=45 -p m=19 --verify --quiet --no-db", f.str());
  CHECK_MESSAGE(has(run.out, "verify: equal"), run.out << run.err);
  // One thread waits for nothing that tiles would keep in the cache.
  CHECK(!has(tool("auto k.loop --target c" + sizes, f.str()).out, "skewed_tiles"));
  // Too little for a tile.
  CHECK(!has(tool("auto k.loop --target openmp -p n=40 -p m=100", f.str()).out, "t_wave"));
}

TEST_CASE("auto: threads share a parallel loop around several nests once") {
  const Folder f;
  f.write("k.loop",
          "kernel lines(n: int32, a: in float64[n, n], b: out float64[n, n], s: out float64[n])\n"
          "domain {[i]: 0 <= i < n}\n"
          "domain {[j]: 1 <= j < n}\n"
          "domain {[k]: 0 <= k < n}\n"
          "b[i, 0] = a[i, 0]  {id=first}\n"
          "b[i, j] = 0.5*b[i, j - 1] + a[i, j]  {id=next}\n"
          "s[i] = sum(k, b[i, k])  {id=all}\n");
  CHECK(tool("auto k.loop -o k.lua --target openmp -p n=1000", f.str()).status == 0);
  const std::string script = f.read("k.lua");
  CHECK(has(script, "-- threads share chunks of `i`, with all statements in them"));
  CHECK(script.find("\"par\"") == script.rfind("\"par\""));
  const Outcome run =
      tool("run k.loop -t k.lua --target openmp -p n=77 --verify --quiet --no-db", f.str());
  CHECK_MESSAGE(has(run.out, "verify: equal"), run.out << run.err);
  CHECK(!has(tool("auto k.loop --target c -p n=1000", f.str()).out, "i_chunk"));
}

TEST_CASE("auto: threads share what goes outside of loops in order") {
  const Folder f;
  f.write("k.loop",
          "kernel triangle(m: int32, n: int32, a: in float64[m, m], b: inout float64[m, n])\n"
          "domain {[i, j]: 0 <= i < m and 0 <= j < n}\n"
          "domain {[k]: 0 <= k < i}\n"
          "b[i, j] = b[i, j] - sum(k, a[i, k]*b[k, j])\n");
  CHECK(tool("auto k.loop -o k.lua --target openmp -p n=1200 -p m=60", f.str()).status == 0);
  CHECK(has(f.read("k.lua"), "lp.prioritize_loops(triangle, {\"j_outer\", \"i\"})"));
  const Outcome run = tool(
      "run k.loop -t k.lua --target openmp -p n=301 -p m=23 --verify --quiet --no-db", f.str());
  CHECK_MESSAGE(has(run.out, "verify: equal"), run.out << run.err);
}

TEST_CASE("auto: sums read a copy of what later iterations overwrite, if that is all there is") {
  const Folder f;
  f.write("k.loop",
          "kernel above(m: int32, n: int32, a: in float64[m, m], b: inout float64[m, n])\n"
          "domain {[i, j]: 0 <= i < m and 0 <= j < n}\n"
          "domain {[k]: i < k < m}\n"
          "b[i, j] = b[i, j] + sum(k, a[k, i]*b[k, j])\n"
          "kernel around(m: int32, n: int32, a: in float64[m, m], b: inout float64[m, n])\n"
          "domain {[i, j]: 0 <= i < m and 0 <= j < n}\n"
          "domain {[k]: 0 <= k < m}\n"
          "b[i, j] = b[i, j] + sum(k, a[k, i]*b[k, j])\n");
  for (const char* target : {"c", "openmp"}) {
    CAPTURE(target);
    const std::string of = std::string(" --target ") + target;
    CHECK(tool("auto k.loop -o k.lua -p n=1200 -p m=1000" + of, f.str()).status == 0);
    CHECK(has(f.read("k.lua"), "above = lp.precompute(above, \"b_before\""));
    CHECK(!has(f.read("k.lua"), "around = lp.precompute"));
    for (const char* name : {"above", "around"}) {
      const Outcome run =
          tool("run k.loop -t k.lua -p n=61 -p m=23 --verify --quiet --no-db --kernel " +
                   std::string(name) + of,
               f.str());
      CHECK_MESSAGE(has(run.out, "verify: equal"), run.out << run.err);
    }
  }
}

TEST_CASE("auto: lanes of an outermost loop are as many as vectors have, not all of the loop") {
  const Folder f;
  f.write("k.loop",
          "kernel columns(m: int32, n: int32, a: in float64[m, n], s: out float64[n])\n"
          "domain {[j]: 0 <= j < n}\ndomain {[i]: 0 <= i < m}\n"
          "s[j] = sum(i, a[i, j])\n");
  CHECK(tool("auto k.loop -o k.lua --target c -p n=2000 -p m=2000", f.str()).status == 0);
  CHECK(has(f.read("k.lua"), "lp.split_iname(columns, \"j\", j_lanes, {inner_tag = \"vec\""));
}

TEST_CASE("auto: several kernels have knobs of their own") {
  const Folder f;
  f.write("k.loop", std::string(kProductText) +
                        "kernel other(n: int32, a: float64[n, n], b: float64[n, n], "
                        "c: float64[n, n])\n"
                        "domain {[i, j, k]: 0 <= i, j, k < n}\n"
                        "c[i, j] = sum(k, a[i, k]*b[k, j])\n");
  CHECK(tool("auto k.loop -o k.lua", f.str()).status == 0);
  CHECK(has(f.read("k.lua"), "other_j_lanes"));
  CHECK(tool("check k.loop -t k.lua", f.str()).status == 0);
  CHECK(!has(tool("auto k.loop --kernel other", f.str()).out, "product"));
}

TEST_CASE("auto: a kernel that others call has a schedule for that") {
  const Folder f;
  f.write("k.loop",
          "kernel smooth(n: int32, x: in float64[n], y: out float64[n])\n"
          "domain {[i]: 0 <= i < n}\n"
          "y[i] = 2*x[i]\n"
          "kernel rows(n: int32, m: int32, a: in float64[m, n], b: out float64[m, n])\n"
          "domain {[j]: 0 <= j < m}\n"
          "b[j, :] = smooth(n, a[j, :])\n");
  for (const std::string target : {"c", "openmp", "opencl", "cuda", "ispc"}) {
    CAPTURE(target);
    const std::string of = " --target " + target;
    const Outcome o = tool("auto k.loop -o k.lua" + of, f.str());
    CHECK_MESSAGE(o.status == 0, o.err);
    CHECK(tool("check k.loop -t k.lua" + of, f.str()).status == 0);
    if (target == "ispc") continue;  // it has no such functions
    const Outcome code = tool("gen k.loop -t k.lua --kernel rows" + of, f.str());
    CHECK_MESSAGE(code.status == 0, code.err);
    CHECK(has(code.out, "pragma omp parallel for\n  for (int32_t j") == (target == "openmp"));
  }
  CHECK(has(tool("auto k.loop --target cuda", f.str()).out,
            "-- the work-item that calls it runs its loops in order"));
  // Alone, it is one like others.
  CHECK(has(tool("auto k.loop --target cuda --kernel smooth", f.str()).out, "\"g.0\""));
}

TEST_CASE("auto: what is called outside of parallel loops is scheduled where it is called") {
  const Folder f;
  f.write("k.loop",
          "kernel steps(n: int32, m: int32, a: inout float64[n, n], b: inout float64[n, n])\n"
          "assume n >= 2\n"
          "domain {[t]: 0 <= t < m}\n"
          "for t\n  call step(n, a, b)\n  call step(n, b, a)\nend\n"
          "kernel step(n: int32, x: float64[n, n], y: inout float64[n, n])\n"
          "assume n >= 2\n"
          "y[1:-1] = x[:-2] + x[2:]\n");
  f.write("rows.loop",
          "kernel rows(n: int32, m: int32, a: inout float64[m, n])\n"
          "domain {[j]: 0 <= j < m}\n"
          "call turn(n, a[j, :])\n"
          "kernel turn(n: int32, x: inout float64[n])\n"
          "<> y = x\nx = y[::-1]\n");
  const auto script = [&](const std::string& arguments) {
    const Outcome o = tool("auto " + arguments, f.str());
    CHECK_MESSAGE(o.status == 0, o.err);
    return o.out;
  };
  const std::string shared =
      "-- loops in `step` can be shared, and none around its call\nsteps = lp.inline(steps, "
      "\"step\")\n";
  for (const std::string target : {"openmp", "opencl", "cuda", "ispc"}) {
    CAPTURE(target);
    const std::string found = script("k.loop --kernel steps --target " + target);
    CHECK(has(found, shared));
    CHECK(has(found, target == "opencl" || target == "cuda" ? "\"g.0\"" : "\"par\""));
  }
  CHECK(!has(script("k.loop --kernel steps --target c"), "inline"));
  CHECK(has(script("rows.loop --kernel rows --target opencl"),
            "-- no work-item has room for arrays of `turn`\nrows = lp.inline(rows, \"turn\")\n"));
  CHECK(!has(script("rows.loop --kernel rows --target openmp"), "inline"));
  // A script made the loop around the call parallel before.
  f.write("rows.lua", "rows = lp.tag_inames(rows, 'j:par')\n");
  CHECK(!has(script("rows.loop --kernel rows --target openmp -t rows.lua"), "inline"));
}

TEST_CASE("auto: kernels and routines that have no schedule are in the script with the reason") {
  const Folder f;
  f.write("k.loop",
          "kernel wrong(n: int32, a: float64[n])\n"
          "domain {[i]: 0 <= i < n}\n"
          "tag i: par\n"
          "a[0] = i\n"
          "kernel right(n: int32, a: float64[n])\n"
          "domain {[i]: 0 <= i < n}\n"
          "a[i] = 2*a[i]\n");
  const Outcome o = tool("auto k.loop", f.str());
  CHECK(o.status == 0);
  CHECK(has(o.err, "[no-schedule]"));
  CHECK(has(o.out, "-- `moonloop auto` for `wrong` on c: it stays as it is: "));
  CHECK(has(o.out, "right = lp.tag_inames(right, {i = \"simd\"})"));
  CHECK(tool("auto k.loop --kernel wrong", f.str()).status == 1);

  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine one(n, x, y, idx)
    integer, intent(in) :: n, idx(n)
    real(8), intent(inout) :: x(n), y(n)
    integer :: i
    do i = 1, n
      y(idx(i)) = y(idx(i)) + x(i)
    end do
    do i = 1, n
      print *, x(i)
    end do
    do while (x(1) > 1)
      do i = 1, n
        x(i) = 0.5d0*x(i)
      end do
    end do
  end subroutine
  subroutine two(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(16) :: wide
    wide = 2
    x = real(wide, 8)
  end subroutine
  subroutine three(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = 3*x
  end subroutine
end module
)");
  for (const std::string target : {"c", "openmp"}) {
    const std::string of = " --target " + target;
    const Outcome whole = tool("auto k.f90 -o k.lua" + of, f.str());
    CHECK_MESSAGE(whole.status == 0, whole.err);
    CHECK(has(whole.err, "`two` is left out"));
    const std::string script = f.read("k.lua");
    CHECK(has(script, "-- `two` is no kernel: "));
    CHECK(has(script, "-- `i` stays in order: "));
    CHECK(has(script, "writes outside"));
    CHECK(has(script, "-- `turn` stays in order: "));
    CHECK(has(script, "three = lp."));
    CHECK(tool("check k.f90 -t k.lua --quiet" + of, f.str()).status == 0);
    for (const char* kernel : {"one", "three"})
      CHECK(
          tool(std::string("gen k.f90 -t k.lua --quiet --kernel ") + kernel + of, f.str()).status ==
          0);
  }
}

TEST_CASE("auto: scans in order, and in blocks where blocks run at the same time") {
  const Folder f;
  f.write("k.loop",
          "kernel scan(n: int32, x: in float64[n], y: out float64[n])\n"
          "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\n"
          "y[i] = sum(j, x[j])   {id=add}\n"
          "kernel rows(n: int32, m: int32, x: in int32[m, n], y: out int64[m, n])\n"
          "domain {[k]: 0 <= k < m}\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < i}\n"
          "y[k, i] = max(j, x[k, j])   {id=most}\n"
          "kernel both(n: int32, x: in float64[n], y: out float64[n], z: out float64[n])\n"
          "domain {[i]: 0 <= i < n}\ndomain {[j, l]: 0 <= j, l <= i}\n"
          "y[i] = sum(j, x[j])   {id=add}\n"
          "z[i] = product(l, x[l])*y[n - 1]   {id=multiply}\n");
  for (const std::string target : {"c", "openmp", "opencl", "cuda"}) {
    CAPTURE(target);
    const std::string of = " --target " + target;
    CHECK(tool("auto k.loop -o k.lua" + of, f.str()).status == 0);
    const std::string script = f.read("k.lua");
    CHECK(has(script, "scan = lib.scan_in_blocks(scan, \"add\", \"i\"") == (target != "c"));
    CHECK(has(script, "rows = lp.realize_reduction(rows, \"id:most\""));  // rows are parallel
    CHECK(tool("check k.loop -t k.lua" + of, f.str()).status == 0);
    for (const char* kernel : {"scan", "rows", "both"})
      for (const char* n : {"1", "1500"}) {
        CAPTURE(kernel);
        CAPTURE(n);
        const std::string sizes =
            std::string(kernel) + " -p n=" + n + (kernel[0] == 'r' ? " -p m=3" : "");
        if (target != "cuda")
          CHECK(
              has(tool("run k.loop -t k.lua --verify --quiet --kernel " + sizes + of, f.str()).out,
                  "verify: equal"));
      }
  }
}

TEST_CASE(
    "auto: sums of few results, of axes between others, and of columns in one pass on devices") {
  const Folder f;
  f.write(
      "k.loop",
      "kernel between(a: int32, b: int32, c: int32, x: in float32[a, b, c], y: out float32[b])\n"
      "domain {[i, j, k]: 0 <= i < a and 0 <= j < b and 0 <= k < c}\n"
      "y[j] = sum((i, k), x[i, j, k])\n"
      "kernel columns(a: int32, b: int32, c: int32, x: in float64[a, b], y: out float64[2, b])\n"
      "domain {[i, r]: 0 <= i < b and 0 <= r < a}\nassume c >= 0\ntemp mean: float64\n"
      "temp squares: float64\nfor i\n  mean = sum(r, x[r, i] - x[0, i])/a\n"
      "  squares = sum(r, (x[r, i] - x[0, i])**2)/a\n  y[0, i] = x[0, i] + mean\n"
      "  y[1, i] = squares - mean**2\nend\n"
      "kernel chain(a: int32, b: int32, c: int32, x: in float64[a, b], y: out float64[b])\n"
      "domain {[i, r, s]: 0 <= i < b and 0 <= r, s < a}\nassume c >= 0\ntemp mean: float64\n"
      "for i\n  mean = sum(r, x[r, i])/a\n  y[i] = sum(s, (x[s, i] - mean)**2)/a\nend\n");
  for (const std::string target : {"opencl", "cuda"}) {
    CAPTURE(target);
    const std::string of = " --target " + target;
    CHECK(tool("auto k.loop -p a=100000 -p b=12 -p c=64 -o k.lua" + of, f.str()).status == 0);
    const std::string script = f.read("k.lua");
    CHECK(has(script, "between = lib.reduce(between, {\"insn\"}, {chunk = "));
    CHECK(has(script, "columns = lib.reduce(columns, {\"insn\", \"insn_0\"}, {chunk = "));
    CHECK(has(script, "chain = lp.privatize_temporaries_with_inames(chain, {\"i\"}, {\"mean\"})"));
    CHECK(has(script, "chain = lib.reduce(chain, {\"insn_0\"}, {chunk = "));
    CHECK(tool("check k.loop -t k.lua" + of, f.str()).status == 0);
    for (const char* kernel : {"between", "columns", "chain"})
      for (const char* sizes : {" -p a=1 -p b=1 -p c=1", " -p a=70000 -p b=13 -p c=3"})
        if (target != "cuda")
          CHECK(has(tool("run k.loop -t k.lua --verify --quiet --kernel " + std::string(kernel) +
                             sizes + of,
                         f.str())
                        .out,
                    "verify: equal"));
  }
}

TEST_CASE("auto: rows that are read again have more work-items the longer they are") {
  const Folder f;
  f.write("k.loop",
          "kernel softmax(m: int32, n: int32, x: in float32[m, n], y: out float32[m, n])\n"
          "domain {[r, j, k, l]: 0 <= r < m and 0 <= j, k, l < n}\ntemp most: float32\n"
          "temp total: float32\nfor r\n  most = max(j, x[r, j])\n"
          "  total = sum(k, exp(x[r, k] - most))\n  y[r, l] = exp(x[r, l] - most)/total\nend\n"
          "kernel total(m: int32, n: int32, x: in float32[m, n], y: out float32[m])\n"
          "domain {[r, j]: 0 <= r < m and 0 <= j < n}\ny[r] = sum(j, x[r, j])\n");
  const auto items = [&](const std::string& kernel, const std::string& n) {
    const Outcome o =
        tool("auto k.loop --target cuda --kernel " + kernel + " -p m=100000 -p n=" + n, f.str());
    CHECK(o.status == 0);
    const std::size_t at = o.out.find("default = ", o.out.find("_items = "));
    return at == std::string::npos ? o.out : o.out.substr(at + 10, o.out.find('}', at) - at - 10);
  };
  CHECK(items("softmax", "100") == "16");
  CHECK(items("softmax", "500") == "64");  // each keeps eight elements, here and with 100
  CHECK(items("softmax", "2000") == "128");
  CHECK(items("softmax", "40000") == "1024");
  CHECK(items("total", "100") == "32");
  CHECK(items("total", "2000") == "32");
}

TEST_CASE("auto: what stays in order has its reason in the script") {
  const Folder f;
  f.write("k.loop",
          "kernel chain(n: int32, a: float64[n])\n"
          "domain {[i]: 1 <= i < n}\n"
          "a[i] = 0.5*a[i - 1]\n");
  const Outcome o = tool("auto k.loop", f.str());
  CHECK(o.status == 0);
  CHECK(has(o.out, "-- `i` stays in order: tagging `i` as `par` would run"));
}

TEST_CASE("auto: products of doubles take matrix units on CUDA, where their form allows it") {
  const Folder f;
  f.write("k.loop",
          std::string(kProductText) +
              "kernel twice(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])\n"
              "domain {[i, j, k]: 0 <= i, j, k < n}\n"
              "c[i, j] = sum(k, a[i, k]*b[k, j] + b[i, k]*a[k, j])\n"
              "kernel apart(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])\n"
              "domain {[i, j, k]: 0 <= i, j, k < n}\n"
              "c[i, j] = sum(k, a[i, k]*b[k, j] - b[i, k]*a[k, j])\n");
  CHECK(tool("auto k.loop --target cuda -p n=1000 -o k.lua", f.str()).status == 0);
  const auto code = [&](const char* kernel) {
    return tool(std::string("gen k.loop -t k.lua --target cuda --kernel ") + kernel, f.str()).out;
  };
  CHECK(has(code("product"), "mma_16x8x4(acc"));
  CHECK(!has(code("apart"), "mma"));
  // The parts of a block get their tags by one step.
  const std::string tags =
      "i_block = \"g.1\", i_half = \"ilp\", i_row = \"l.1\", i_warp = \"l.2\", j_block = \"g.0\"";
  CHECK(has(f.read("k.lua"), "product = lp.tag_inames(product, {" + tags));
  CHECK(has(code("apart"), "__shared__ double a_tile"));
  // Two products add to the same registers.
  const std::string twice = code("twice");
  CHECK(units_into(twice, "c_sum") == 32);
  CHECK(has(twice, "double c_sum[2][8][2];"));
  CHECK(!has(twice, "double acc"));
  // Also with knobs that tuning tries.
  const Outcome other = tool(
      "gen k.loop -t k.lua --target cuda --kernel product --knob product_i_warps=8 "
      "--knob product_j_columns=32 --knob product_k_stages=2",
      f.str());
  CHECK(other.status == 0);
  CHECK(has(other.out, "__launch_bounds__(256)"));
}

TEST_CASE("auto: sums over triangles take matrix units for whole blocks, and guards for the rest") {
  const Folder f;
  f.write(
      "k.loop",
      "kernel upper(m: int32, n: int32, a: float64[m, m], b: inout float64[m, n], x: float64[n],\n"
      "             c: float64[m, n])\n"
      "domain {[p, q]: 0 <= p < m and 0 <= q < n}\n"
      "domain {[i, j]: 0 <= i < m and 0 <= j < n}\n"
      "domain {[k]: i < k < m}\n"
      "b[p, q] = x[q]/(p - 1)   {id=first}\n"
      "c[i, j] = 2*sum(k, a[k, i]*b[k, j])   {dep=first}\n"
      "kernel symmetric(m: int32, n: int32, a: float64[m, m], b: float64[m, n], c: float64[m, n])\n"
      "domain {[i, j]: 0 <= i < m and 0 <= j < n}\n"
      "domain {[k]: 0 <= k < i}\n"
      "domain {[l]: i <= l < m}\n"
      "c[i, j] = sum(k, a[i, k]*b[k, j]) + sum(l, a[l, i]*b[l, j])\n");
  CHECK(tool("auto k.loop --target cuda -p m=1000 -p n=1000 -o k.lua", f.str()).status == 0);
  const auto code = [&](const char* kernel) {
    return tool(std::string("gen k.loop -t k.lua --target cuda --kernel ") + kernel, f.str()).out;
  };
  const std::string upper = code("upper"), symmetric = code("symmetric");
  CHECK(units_into(upper, "c_sum") == 16);
  CHECK(has(upper, "double c_sum[2][8][2];"));
  CHECK(!has(upper, "double acc"));
  CHECK(units_into(symmetric, "c_sum") == 32);
  CHECK(!has(symmetric, "double acc"));
  // `b[1, j]` is infinite: it must not meet the zeros beside the triangle.
  std::string script = f.read("k.lua");
  for (std::size_t at; (at = script.find("\"mma\"")) != std::string::npos;)
    script.replace(at, 5, "\"unr\"");
  f.write("plain.lua", script);
  for (const char* kernel : {"upper", "symmetric"}) {
    const std::string knob = std::string(" --knob ") + kernel;
    const Outcome run = tool(std::string("run k.loop -t plain.lua --kernel ") + kernel +
                                 " --target opencl -p m=37 -p n=19 --verify --quiet" + knob +
                                 "_i_warps=1" + knob + "_j_columns=16",
                             f.str());
    CAPTURE(run.out);
    CHECK(has(run.out, "verify: equal"));
  }
}

TEST_CASE("auto: on devices, loops are cut at the iteration that the others depend on") {
  const Folder f;
  f.write("k.loop",
          "kernel paths(n: int32, p: inout int32[n, n])\n"
          "domain {[k, i, j]: 0 <= k, i, j < n}\n"
          "p[i, j] = min(p[i, j], p[i, k] + p[k, j])\n");
  CHECK(tool("auto k.loop --target cuda -p n=500 -o k.lua", f.str()).status == 0);
  const std::string code = tool("gen k.loop -t k.lua --target cuda", f.str()).out;
  // Neighbouring work-items are along the rows, of which the grid has all; copies of row `k` as it
  // was and as it is then come from one group, with the row's own step in between.
  CHECK(has(code, "int const i = blockIdx.x;"));
  CHECK(has(code, "int const j_from_from_after_inner = threadIdx.x;"));
  CHECK(has(code, "<<<dim3(1, 1, 1),"));
  CHECK(!has(code, "for (int i"));
  CHECK(has(code, "void paths_kernel_1("));
  CHECK(!has(code, "void paths_kernel_2("));
  CHECK(tool("auto k.loop --target opencl -p n=500 -o k.lua", f.str()).status == 0);
  const Outcome run = tool("run k.loop -t k.lua --target opencl -p n=37 --verify --quiet", f.str());
  CHECK(has(run.out, "verify: equal"));
}

TEST_CASE("auto: on devices, half steps that fill two arrays by turns are three in a launch") {
  const Folder f;
  f.write("k.loop",
          "kernel turns(T: int32, n: int32, A: inout float64[n, n], B: inout float64[n, n])\n"
          "domain {[t]: 0 <= t < T}\n"
          "domain {[i, j]: 1 <= i < n - 2 and 1 <= j < n - 1}\n"
          "domain {[p, q]: 1 <= p < n - 2 and 1 <= q < n - 1}\n"
          "for t\n"
          "  B[i, j] = A[i, j] + A[i + 2, j] + A[i - 1, j] + A[i, j - 1]\n"
          "  A[p, q] = B[p, q]/2 + B[p, q + 1]\n"
          "end\n");
  CHECK(tool("auto k.loop --target cuda -p n=900 -p T=99 -o k.lua", f.str()).status == 0);
  const std::string code = tool("gen k.loop -t k.lua --target cuda", f.str()).out;
  // Two launches for three steps, two more for a step that is left.
  CHECK(has(code, "__shared__ double value_of_B_1_0["));
  CHECK(has(code, "void turns_kernel_3("));
  CHECK(!has(code, "void turns_kernel_4("));
  CHECK(tool("auto k.loop --target opencl -p n=900 -p T=99 -o k.lua", f.str()).status == 0);
  for (const char* sizes :
       {"-p n=3 -p T=5", "-p n=40 -p T=0", "-p n=67 -p T=4", "-p n=66 -p T=8"}) {
    const Outcome run =
        tool("run k.loop -t k.lua --target opencl --verify --quiet " + std::string(sizes), f.str());
    CAPTURE(run.out);
    CHECK(has(run.out, "verify: equal"));
  }
  // Few elements are no tiles.
  CHECK(tool("auto k.loop --target opencl -p n=90 -p T=99 -o k.lua", f.str()).status == 0);
  CHECK(!has(f.read("k.lua"), "separate_values"));
}

TEST_CASE("auto: on devices, an update and sums down the columns are one pass") {
  const Folder f;
  f.write(
      "k.loop",
      "kernel update(n: int32, m: int32, a: inout float64[n, m], u: float64[n], v: float64[m],\n"
      "              s: out float64[m])\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
      "domain {[l, k]: 0 <= l < n and 0 <= k < m}\n"
      "a[i, j] = a[i, j] + u[i]*v[j]\n"
      "s[k] = sum(l, a[l, k]*u[l])\n");
  CHECK(tool("auto k.loop --target cuda -p n=3000 -p m=3000 -o k.lua", f.str()).status == 0);
  const std::string code = tool("gen k.loop -t k.lua --target cuda", f.str()).out;
  CHECK(has(code, "void update_kernel("));
  CHECK(tool("auto k.loop --target opencl -p n=3000 -p m=3000 -o k.lua", f.str()).status == 0);
  for (const char* sizes : {"-p n=70 -p m=45", "-p n=3 -p m=1", "-p n=64 -p m=64"}) {
    const Outcome run =
        tool("run k.loop -t k.lua --target opencl --verify --quiet " + std::string(sizes), f.str());
    CAPTURE(run.out);
    CHECK(has(run.out, "verify: equal"));
  }
}

TEST_CASE("auto: on ispc, lanes of a gang run all that is in their iterations") {
  const Folder f;
  f.write("k.loop", std::string(kProductText) +
                        "kernel scaled(n: int32, x: float64[n], y: float64[n])\n"
                        "domain {[i]: 0 <= i < n}\n"
                        "y[i] = 2*x[i]\n"
                        "kernel total(n: int32, x: in float64[n], s: out float64)\n"
                        "domain {[i]: 0 <= i < n}\n"
                        "s = sum(i, x[i])\n");
  CHECK(tool("auto k.loop --target ispc -o k.lua", f.str()).status == 0);
  CHECK(tool("check k.loop -t k.lua --target ispc", f.str()).status == 0);
  const auto code = [&](const char* kernel) {
    return tool(std::string("gen k.loop -t k.lua --target ispc --kernel ") + kernel, f.str()).out;
  };
  CHECK(has(code("product"),
            R"(task void product_task0(uniform int32 n, const uniform double * uniform a,
                        const uniform double * uniform b, uniform double * uniform c) {
  uniform int32 const i_outer = taskIndex0;
  if (4*i_outer + 4 < n) {
    if (0 < n)
      foreach (j = 0 ... n) {
        varying double acc_k[4];
)"));
  CHECK(has(code("product"), "launch[(n + 3) / 4] product_task0("));
  CHECK(has(code("scaled"), "launch[(n + 1023) / 1024] scaled_task0("));
  CHECK(has(code("scaled"), "foreach (i_inner = 0 ... "));
  CHECK(has(code("total"), "reduce_add("));
}

TEST_CASE("auto: at small sizes, one thread and the order of the source compete") {
  const Folder f;
  f.write("k.loop", kProductText);
  f.write("sum.loop",
          "kernel total(n: int32, a: in float64[n], s: out float64)\n"
          "domain {[i]: 0 <= i < n}\n"
          "s = sum(i, a[i]*a[i])\n");
  const auto script = [&](const std::string& arguments) {
    return tool("auto " + arguments, f.str()).out;
  };
  CHECK(has(script("k.loop --target openmp -p n=500"), "= \"par\""));
  const std::string small = script("k.loop --target openmp -p n=20");
  CHECK_FALSE(has(small, "\"par\""));
  CHECK(has(small, "inner_tag = \"vec\""));
  CHECK(has(small, "-- threads would take longer to start than they save\n"));
  CHECK(has(script("k.loop --target openmp"), "= \"par\""));  // loops count as long
  CHECK(has(script("sum.loop --target openmp -p n=100000000"), "\"par\""));
  CHECK_FALSE(has(script("sum.loop --target openmp -p n=100"), "\"par\""));
  // Whatever it takes, the source is not predicted to be clearly faster.
  f.write("t.lua", R"(
for _, target in ipairs{"c", "openmp"} do
  for _, n in ipairs{1, 3, 10, 40, 150} do
    local options = {target = target, params = {n = n}, device = "assumed"}
    local made = lp.auto(product, {target = target, params = {n = n}, prefix = target .. n .. "_"})
    assert(lp.cost(made, options).seconds < 1.25*lp.cost(product, options).seconds, n)
  end
end
)");
  CHECK(tool("check k.loop -t t.lua --quiet", f.str()).status == 0);
}

TEST_CASE("auto: what is wrong with its arguments") {
  const Folder f;
  f.write("k.loop", kProductText);
  CHECK(has(tool("auto k.loop -p m=3", f.str()).err, "[unknown-parameter]"));
  f.write("t.lua", "product = lp.auto(product, {target = 'gpu'})\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err, "no schedules for target 'gpu'"));
  f.write("t.lua", "product = lp.auto(product, {params = {m = 3}})\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err,
            "kernel 'product' has no integer 'm'; it has n"));
  f.write("t.lua", "product = lp.auto(product, {params = 3})\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err, "table of integers by name expected"));
  f.write("t.lua", "product = lp.auto(product, {tile = 3})\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err, "unknown option 'tile'"));
  f.write("t.lua", "product = lp.auto(3)\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err, "kernel expected, got integer"));
}

TEST_CASE("auto: sums of what earlier iterations compute are parted into blocks") {
  const Folder f;
  f.write("k.loop",
          "kernel solve(n: int32, l: inout float64[n, n], b: in float64[n], x: out float64[n])\n"
          "domain {[p, q]: 0 <= p, q < n}\n"
          "domain {[i]: 0 <= i < n}\n"
          "domain {[j]: 0 <= j < i}\n"
          "l[p, q] = 0.5*l[p, q] + (2 if p == q else 0)\n"
          "x[i] = (b[i] - sum(j, l[i, j]*x[j]))/l[i, i]\n"
          "kernel factors(n: int32, a: inout float64[n, n])\n"
          "domain {[i]: 0 <= i < n}\n"
          "domain {[j]: 0 <= j < i}\n"
          "domain {[k]: 0 <= k < j}\n"
          "domain {[p]: i <= p < n}\n"
          "domain {[q]: 0 <= q < i}\n"
          "a[i, j] = (a[i, j] - sum(k, a[i, k]*a[k, j]))/a[j, j]\n"
          "a[i, p] = a[i, p] - sum(q, a[i, q]*a[q, p])\n");
  for (const char* target : {"c", "openmp", "opencl"}) {
    CAPTURE(target);
    const std::string of = std::string(" --target ") + target;
    CHECK(tool("auto k.loop -o k.lua -p n=1000" + of, f.str()).status == 0);
    const std::string script = f.read("k.lua");
    for (const char* name : {"solve", "factors"})
      CHECK(has(script, std::string(name) + " = lp.skewed_tiles(" + name + ", \"i"));
    CHECK(has(script, "factors = lp.recognize_reduction(factors, \"q\", \"id:insn_0\")"));
    if (of == " --target opencl") {  // a group runs what is left of a block, in local memory
      CHECK(has(script, "-- blocks of `i`: what they add to all beyond them is a sum of its own"));
      CHECK(has(script, "-- a work-item computes each `i_beyond`, whose part of `a` is in local"));
      CHECK(has(script, "solve = lp.buffer_array(solve, \"x\""));
      CHECK(has(script, "factors = lp.buffer_array(factors, \"a\""));
    }
    for (const char* name : {"solve", "factors"})
      for (const char* n : {"1", "63", "130"}) {
        const Outcome run = tool(std::string("run k.loop -t k.lua --verify --quiet --no-db") +
                                     " --kernel " + name + " -p n=" + n + of,
                                 f.str());
        CHECK_MESSAGE(has(run.out, "verify: equal"), name << " n=" << n << run.out << run.err);
      }
  }
}

TEST_CASE("auto: the best of all ways to cut a part, in blocks of the innermost loop") {
  const Folder f;
  f.write("k.loop",
          "kernel parts(n: int32, t: inout int32[n, n])\n"
          "domain {[d]: 0 <= d < n}\n"
          "domain {[j]: n - d <= j < n}\n"
          "domain {[k]: n - d <= k < j}\n"
          "i := n - 1 - d\n"
          "t[i, j] = max(t[i, j], t[i, j - 1], t[i + 1, j] + 1, max(k, t[i, k] + t[k + 1, j]))\n");
  for (const char* target : {"c", "openmp", "opencl"}) {
    CAPTURE(target);
    const std::string of = std::string(" --target ") + target;
    CHECK(tool("auto k.loop -o k.lua -p n=1000" + of, f.str()).status == 0);
    const std::string script = f.read("k.lua");
    // On devices, each block would be a launch in each iteration of `d`.
    const bool blocks = std::string_view(target) != "opencl";
    CHECK(has(script, "-- blocks of `j`: what they need of the blocks before") == blocks);
    CHECK(has(script, "parts = lp.recognize_reduction(parts, \"k\"") == blocks);
    for (const char* n : {"1", "2", "63", "130"}) {
      const Outcome run =
          tool(std::string("run k.loop -t k.lua --verify --quiet --no-db -p n=") + n + of, f.str());
      CHECK_MESSAGE(has(run.out, "verify: equal"), "n=" << n << run.out << run.err);
    }
  }
}

TEST_CASE("auto: no blocks where a sum is over other values than those in order") {
  const Folder f;
  f.write("k.loop",
          "kernel recursion(n: int32, r: in float64[n], y: inout float64[n])\n"
          "domain {[k]: 1 <= k < n}\n"
          "domain {[i]: 0 <= i < k}\n"
          "y[k] = 0.01*sum(i, r[k - i - 1]*y[i]**2)\n"
          "kernel again(n: int32, a: inout float64[n, n])\n"
          "domain {[t, j]: 0 <= t, j < n}\n"
          "domain {[i]: 0 <= i < n}\n"
          "a[t, j] = a[t, j] + sum(i, a[i, j])\n");
  CHECK(tool("auto k.loop -o k.lua --target c -p n=1000", f.str()).status == 0);
  const std::string script = f.read("k.lua");
  CHECK(has(script, "recursion = lp.skewed_tiles"));
  CHECK(!has(script, "again = lp.skewed_tiles"));
  for (const char* name : {"recursion", "again"}) {
    const Outcome run = tool(
        std::string("run k.loop -t k.lua --target c -p n=40 --verify --quiet --no-db --kernel ") +
            name,
        f.str());
    CHECK_MESSAGE(has(run.out, "verify: equal"), name << run.out << run.err);
  }
}

TEST_CASE("auto: tiles in time of statements that have reductions") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, m: int32, d: float64[n, m], q: inout float64[n, n],\n"
          "         z: inout float64[n, n])\n"
          "assume n >= 3 and m >= 3\n"
          "domain {[s]: 0 <= s < 3}\n"
          "domain {[h0]: 0 <= h0 < n}\n"
          "domain {[h1]: 0 <= h1 < n}\n"
          "for s\n"
          "  z[:-2, 1:] = q[2:, :-1]*q[1:-1, :0:-1]\n"
          "  for h0\n"
          "    q[:, h0] = q[:, h0]\n"
          "  end\n"
          "  for h1\n"
          "    q[-3::-1, h1] = einsum(\"ik,k\", d[1:-1], d[h1, ::-1])\n"
          "  end\n"
          "end\n");
  const Outcome schedule = tool("auto k.loop -o k.lua --target openmp -p n=1000 -p m=100", f.str());
  CHECK_MESSAGE(schedule.status == 0, schedule.err);
  const Outcome run =
      tool("run k.loop -t k.lua --target openmp -p n=30 -p m=7 --verify --quiet --no-db", f.str());
  CHECK_MESSAGE(has(run.out, "verify: equal"), run.out << run.err);
}

TEST_CASE("auto: a loop too long for the second axis of groups gets the first one") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, m: int32, x: float32[n, m], y: out float32[n, m])\n"
          "domain {[i]: 0 <= i < n}\n"
          "domain {[j]: 0 <= j < m}\n"
          "y[i, j] = 2*x[i, j]\n");
  for (const auto& [sizes, j_groups] : {std::pair{"-p n=1000 -p m=1000", "g.0"},
                                        {"-p n=1000000 -p m=40", "g.1"},
                                        {"-p n=1000000 -p m=1000000000", "g.0"}}) {
    CHECK(tool(std::string("auto k.loop -o k.lua --target cuda ") + sizes, f.str()).status == 0);
    const std::string script = f.read("k.lua");
    CHECK_MESSAGE(has(script, std::string("\"j\", j_items, {inner_tag = \"l.0\", outer_tag = \"") +
                                  j_groups + "\"}"),
                  sizes << script);
  }
}

TEST_CASE("auto: knobs that another script has tried have other names") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, m: int32, b: float64[n], d: float64[n, m], e: inout float64[m, n])\n"
          "assume n >= 3 and m >= 3\n"
          "domain {[h]: 0 <= h < n}\n"
          "for h\n"
          "  if n == 4\n"
          "    e[m - 2:0:-1, h] = (einsum(\"ik,k\", e[1:m-1], b)\n"
          "                       + where(d[h, 2:m] >= 0, d[h, m - 3::-1], e[0, 1]))\n"
          "  end\n"
          "end\n");
  const Outcome schedule = tool("auto k.loop --target c -p n=1000 -p m=100", f.str());
  CHECK_MESSAGE(schedule.status == 0, schedule.err);
}
