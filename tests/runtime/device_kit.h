#pragma once
#include <cstdlib>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "runtime/c_compiler.h"
#include "runtime/device.h"
#include "tests/runtime/support.h"
#include "transforms/registry.h"

/// Kernels that run on a device, and also on the host, with the results of the interpreter.
namespace moonloop::test {

/// The target that runs here: OpenCL, or CUDA where MOONLOOP_DEVICE_TARGET says so.
inline Target device_target() {
  const char* given = std::getenv("MOONLOOP_DEVICE_TARGET");
  return parse_target(given ? given : "opencl").value();
}

inline Value word(const std::string& s) { return Value{s}; }

/// A step as a script takes it.
inline Kernel step(const Kernel& k, const std::string& op, ValueList positional,
                   ValueDict options = {}) {
  return run_op(*find_op(op), k, std::move(positional), std::move(options));
}
inline Kernel split(const Kernel& k, const char* iname, std::int64_t by, const char* outer,
                    const char* inner, ValueDict options = {}) {
  if (*outer) options.emplace_back("outer_tag", word(outer));
  if (*inner) options.emplace_back("inner_tag", word(inner));
  return step(k, "split_iname", {word(iname), Value{by}}, std::move(options));
}

inline Kernel tagged(const std::string& text, const std::map<std::string, std::string>& tags) {
  const Kernel k = parsed(text);
  ValueDict all;
  for (const auto& [iname, tag] : tags) all.emplace_back(iname, Value{tag});
  return step(k, "tag_inames", {Value{all}});
}

inline int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

struct Shape {
  int kernels, barriers;
  bool operator==(const Shape&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.kernels << " kernels, " << s.barriers << " barriers";
}

/// The programs for CUDA of all that ran so far.
inline std::set<std::string>& cuda_programs() {
  static std::set<std::string> all;
  return all;
}

/// The arrays after a run on `target`, which gave the interpreter's results.
inline RunResult run_on(Target target, const Kernel& k, const Kernel& original,
                        const GivenValues& params) {
  CAPTURE(to_string(target));
  RunRequest r;
  r.target = target;
  r.params = params;
  r.verify = true;
  RunResult result = run_kernel(k, original, r);
  CHECK(result.verification.value().equal());
  return result;
}

/// The same on ISPC, where its compiler is found and the language has what the kernel uses.
inline void run_on_ispc(const Kernel& k, const Kernel& original, const GivenValues& params) {
  static const bool found = has_ispc_compiler();
  if (!found) return;
  if (const std::string e = error_of([&] { generate(k, Target::Ispc); }); !e.empty()) {
    CHECK(e.ends_with("[unsupported]"));
    return;
  }
  run_on(Target::Ispc, k, original, params);
}

/// The same on C, OpenMP, ISPC and the device; the arrays are those of the device.
inline RunResult run_everywhere(const Kernel& k, const Kernel& original,
                                const GivenValues& params) {
  for (const Target t : {Target::C, Target::OpenMP}) run_on(t, k, original, params);
  run_on_ispc(k, original, params);
  cuda_programs().insert(generate(k, Target::Cuda).source);
  return run_on(device_target(), k, original, params);
}

/// The text's kernel runs everywhere with these tags as it does without.
inline void same_everywhere(const std::string& text, const std::map<std::string, std::string>& tags,
                            const GivenValues& params = {{"n", "70"}}) {
  run_everywhere(tagged(text, tags), parsed(text), params);
}

/// The number of kernels and barriers of the generated program, after it ran and gave the
/// interpreter's results.
inline Shape run(const Kernel& k, const Kernel& original, const GivenValues& params) {
  run_on(device_target(), k, original, params);
  run_on_ispc(k, original, params);
  cuda_programs().insert(generate(k, Target::Cuda).source);
  const Program p = generate(k, Target::OpenCL);
  return {static_cast<int>(p.device->kernels.size()), count(p.source, "barrier(CLK")};
}
inline Shape run(const std::string& text, const std::map<std::string, std::string>& tags,
                 const GivenValues& params) {
  return run(tagged(text, tags), parsed(text), params);
}

}  // namespace moonloop::test
