#include <moonloop/moonloop.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

const char* const kKernel = R"(
kernel axpy(n: int32, a: float64, x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
y[i] = a*x[i] + y[i]
)";

const char* const kScript = R"(
axpy = lp.split_iname(axpy, "i", tonumber(lp.args.length), {outer_tag = "par", inner_tag = "simd"})
)";

const char* const kRecurrence = R"(
kernel recur(n: int32, a: float64[n])
domain {[i]: 1 <= i < n}
a[i] = a[i-1]/2 + a[i]   {id=step}
)";

namespace ml = moonloop;

/// The kernel of `text`, transformed by `script`. Throws ml::Error for what is wrong with either.
ml::Kernel transformed(const char* text, const char* script,
                       const ml::ScriptOptions& options = {}) {
  const std::vector<ml::Kernel> kernels = ml::parse_kernels(ml::add_source("kernel.loop", text));
  return ml::run_transform_script(ml::add_source("script.lua", script), kernels, options).front();
}

}  // namespace

int main() {
  try {
    ml::ScriptOptions options;
    options.settings = {{"length", "64"}};  // what the script finds in lp.args
    const ml::Kernel axpy = transformed(kKernel, kScript, options);
    std::fputs(ml::generate(axpy, ml::Target::OpenMP).source.c_str(), stdout);
  } catch (const ml::Error& e) {
    for (const ml::Diagnostic& d : e.diagnostics()) std::fputs(ml::render(d).c_str(), stderr);
    return 1;
  }
  try {
    transformed(kRecurrence, "recur = recur:tag_inames{i = \"par\"}");
  } catch (const ml::Error& e) {  // a step that would change what is computed
    std::printf("\nrefused: %s\n%s", e.diagnostic().code.c_str(),
                ml::render(e.diagnostic()).c_str());
    return 0;
  }
  return 1;
}
