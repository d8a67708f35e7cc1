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

using namespace moonloop;

/// The kernel of `text`, transformed by `script`. Throws Error for what is wrong with either.
Kernel transformed(const char* text, const char* script, const ScriptOptions& options = {}) {
  const std::vector<Kernel> kernels = parse_kernels(add_source("kernel.loop", text));
  return run_transform_script(add_source("script.lua", script), kernels, options).front();
}

}  // namespace

int main() {
  try {
    ScriptOptions options;
    options.settings = {{"length", "64"}};  // what the script finds in lp.args
    const Kernel axpy = transformed(kKernel, kScript, options);
    std::fputs(generate(axpy, Target::OpenMP).source.c_str(), stdout);
  } catch (const Error& e) {
    for (const Diagnostic& d : e.diagnostics()) std::fputs(render(d).c_str(), stderr);
    return 1;
  }
  try {
    transformed(kRecurrence, "recur = recur:tag_inames{i = \"par\"}");
  } catch (const Error& e) {  // a step that would change what is computed
    std::printf("\nrefused: %s\n%s", e.diagnostic().code.c_str(), render(e.diagnostic()).c_str());
    return 0;
  }
  return 1;
}
