#include "codegen/dispatch.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "codegen/language.h"
#include "codegen/print/c_printer.h"
#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

/// A queue of the first GPU that there is, or else of another device; made when it is first needed.
constexpr const char* kQueue =
    R"(static cl_int moonloop_queue(cl_context *context, cl_command_queue *queue) {
  static cl_context known;
  static cl_command_queue its_queue;
  if (!known) {
    cl_platform_id platforms[64];
    cl_uint count = 0;
    cl_device_id device = NULL;
    cl_int status = clGetPlatformIDs(64, platforms, &count);
    if (status || count == 0) return CL_DEVICE_NOT_FOUND; /* a loader without platforms fails */
    if (count > 64) count = 64;
    for (int any = 0; any < 2; ++any)
      for (cl_uint p = 0; p < count && !device; ++p)
        if (clGetDeviceIDs(platforms[p], any ? CL_DEVICE_TYPE_ALL : CL_DEVICE_TYPE_GPU, 1, &device,
                           NULL))
          device = NULL;
    if (!device) return CL_DEVICE_NOT_FOUND;
    known = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status) return known = NULL, status;
    its_queue = clCreateCommandQueue(known, device, 0, &status);
    if (status) return clReleaseContext(known), known = NULL, status;
  }
  *context = known;
  *queue = its_queue;
  return 0;
}

)";

/// How the unit asks for a device, and runs on it.
struct DeviceWords {
  std::string declare, find, none, run, failed;
};

class DispatchPrinter {
 public:
  DispatchPrinter(std::string name, const Program& host, const Program& device,
                  const DispatchGuard& guard)
      : name_(std::move(name)), host_(host), device_(&device), guard_(guard) {
    for (const Parameter& a : host.params) name_parameter(a);
  }
  DispatchPrinter(std::string name, const Program& host, const DispatchGuard& guard)
      : name_(std::move(name)), host_(host), guard_(guard) {
    for (const Parameter& a : host.params) name_parameter(a);
  }

  Pieces pieces() {
    const bool cuda = is_cuda();
    Pieces out;
    const Pieces& there = cuda ? device_->pieces : device_->launcher;
    if (!cuda)
      out.headers.emplace_back(
          "#ifndef CL_TARGET_OPENCL_VERSION\n#define CL_TARGET_OPENCL_VERSION 120\n#endif\n");
    std::set<std::string> headers(there.headers.begin(), there.headers.end());
    headers.insert(host_.pieces.headers.begin(), host_.pieces.headers.end());
    for (const char* h : {"math.h", "stdbool.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"})
      headers.insert(fmt::format("#include <{}>\n", h));
    out.headers.insert(out.headers.end(), headers.begin(), headers.end());
    out.definitions = there.definitions;
    out.functions = there.functions + "\n";
    if (cuda) {  // where helper functions of both have one name
      Pieces own = host_.pieces;
      own.headers.clear();
      out.functions += "namespace " + host_.name + "_unit {\n#define restrict __restrict__\n" +
                       text_of({own}) + "#undef restrict\n}\nusing " + host_.name +
                       "_unit::" + host_.name + ";\n\n";
    } else {
      for (const std::string& d : host_.pieces.definitions)
        if (std::find(out.definitions.begin(), out.definitions.end(), d) == out.definitions.end())
          out.definitions.push_back(d);
      out.definitions.emplace_back(kQueue);
      out.called = host_.pieces.called;
      out.functions += host_.pieces.functions + "\n";
    }
    if (guard_.condition.empty())
      out.functions += seconds("host", host_.target, guard_.host, guard_.host_says) +
                       seconds("device", device_->target, guard_.device, guard_.device_says);
    out.functions += chooser() + function();
    out.name = name_;
    return out;
  }

  std::string header() const {
    const std::string guard = include_guard(name_);
    return "#ifndef " + guard + "\n#define " + guard +
           "\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
           "{\n#endif\n\n" +
           comment({"Runs the version that is predicted to be faster."}) + prototype() + ";\n" +
           comment({"Whether that is the one on the device."}) + chooser_prototype() +
           ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  }

 private:
  bool is_cuda() const { return device_ && language_of(device_->target) == Language::Cuda; }
  std::string linkage() const { return is_cuda() ? "extern \"C\" " : ""; }

  void name_parameter(const Parameter& a) {
    std::string own = a.name;
    const auto taken = [&](const std::string& n) {
      return is_reserved(Surroundings::C, NameUse::Local, n) ||
             is_reserved(Surroundings::Cuda, NameUse::Local, n) || n.starts_with(name_) ||
             n.starts_with("moonloop_") || n == "side" || n == "context" || n == "queue" ||
             n == "status" || n == "devices" || n == "said" ||
             std::any_of(names_.begin(), names_.end(), [&](const auto& x) { return x == n; });
    };
    while (taken(own)) own = own.starts_with(name_) ? "its_" + own : own + "_";
    names_.push_back(own);
  }

  static std::string comment(const std::vector<std::string>& lines) {
    return lines.empty() ? "" : "/* " + fmt::format("{}", fmt::join(lines, "\n   ")) + " */\n";
  }

  std::string prototype() const {
    std::vector<std::string> parameters;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Parameter& a = host_.params[i];
      parameters.push_back(type_name(Language::C, a.type) +
                           (!a.is_array              ? " "
                            : a.intent == Intent::In ? " const *"
                                                     : " *") +
                           names_[i]);
    }
    if (parameters.empty()) parameters.emplace_back("void");
    const std::string head = linkage() + "void " + name_ + "(";
    return head + parameter_list(parameters, head.size()) + ")";
  }

  bool decides(const Parameter& a) const {
    return std::find(guard_.parameters.begin(), guard_.parameters.end(), a.name) !=
           guard_.parameters.end();
  }
  std::string chooser_prototype() const {
    std::vector<std::string> parameters;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (decides(host_.params[i]))
        parameters.push_back(type_name(Language::C, host_.params[i].type) + " " + names_[i]);
    if (parameters.empty()) parameters.emplace_back("void");
    const std::string head = linkage() + "bool " + name_ + "_prefers_device(";
    return head + parameter_list(parameters, head.size()) + ")";
  }

  std::string deciding() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (decides(host_.params[i])) all.push_back(names_[i]);
    return fmt::format("{}", fmt::join(all, ", "));
  }

  static bool mentions(const std::string& text, const std::string& name) {
    const auto in_name = [&](std::size_t at) {
      return at < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at)
      if ((at == 0 || !in_name(at - 1)) && !in_name(at + name.size())) return true;
    return false;
  }

  /// Its parameters have the kernel's names: it uses nothing else.
  std::string seconds(const std::string& side, Target target, const std::string& body,
                      const std::vector<std::string>& says) const {
    std::vector<std::string> parameters;
    std::string unused;
    for (const Parameter& a : host_.params)
      if (decides(a)) {
        const std::string p = unreserved(Surroundings::Cuda, NameUse::Local, a.name);
        parameters.push_back("double " + p);
        if (!mentions(body, p)) unused += "  (void)" + p + ";\n";
      }
    if (parameters.empty()) parameters.emplace_back("void");
    const std::string head = "static double " + name_ + "_seconds_on_" + side + "(";
    std::vector<std::string> lines{
        fmt::format("Predicted seconds of the version for {}.", to_string(target))};
    lines.insert(lines.end(), says.begin(), says.end());
    return comment(lines) + head + parameter_list(parameters, head.size()) + ") {\n" + unused +
           body + "}\n\n";
  }

  std::string chooser() const {
    std::vector<std::string> lines{"Whether the version on the device is predicted to be faster."};
    if (!guard_.condition.empty())
      for (const auto* says : {&guard_.host_says, &guard_.device_says})
        lines.insert(lines.end(), says->begin(), says->end());
    lines.insert(lines.end(), guard_.says.begin(), guard_.says.end());
    const std::string of = "(" + deciding() + ")";
    if (!guard_.condition.empty())
      return comment(lines) + chooser_prototype() + " {\n  return " + guard_.condition + ";\n}\n\n";
    return comment(lines) + chooser_prototype() + " {\n  return " + name_ + "_seconds_on_device" +
           of + " < " + name_ + "_seconds_on_host" + of + ";\n}\n\n";
  }

  std::string call(const std::string& f, std::vector<std::string> arguments, bool cuda) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Parameter& a = host_.params[i];
      const std::string type = type_name(Language::Cuda, a.type);
      const bool cast = cuda && a.is_array && type != type_name(Language::C, a.type);
      const std::string star = a.intent == Intent::In ? " const *" : " *";
      arguments.push_back((cast ? "(" + type + star + ")" : "") + names_[i]);
    }
    return fmt::format("{}({})", f, fmt::join(arguments, ", "));
  }

  DeviceWords words() const {
    const std::string run = device_->name + "_of_c";
    if (is_cuda())
      return {
          "int devices = 0;", "cudaGetDeviceCount(&devices)",
          "status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver",
          call(run, {}, true) + ";",
          "fprintf(stderr, \"" + name_ + ": %s\\n\", cudaGetErrorString((cudaError_t)status));"};
    return {"cl_context context;\ncl_command_queue queue;", "moonloop_queue(&context, &queue)",
            "status == CL_DEVICE_NOT_FOUND",
            "if (!status) status = " + call(run, {"context", "queue"}, false) + ";",
            "fprintf(stderr, \"" + name_ + ": OpenCL's error %d\\n\", (int)status);"};
  }

  std::string function() const {
    const DeviceWords w = words();
    std::string out =
        comment({"Runs one of the versions. In the environment, MOONLOOP_DISPATCH=host or",
                 "MOONLOOP_DISPATCH=device chooses; else the predicted times do."}) +
        prototype() + " {\n";
    const auto line = [&](int depth, const std::string& text) {
      for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        out += std::string(static_cast<std::size_t>(2 * depth), ' ') +
               text.substr(from, end - from) + "\n";
        from = end + 1;
      }
    };
    const std::string here = call(host_.name, {}, false) + ";";
    line(1, "char const *side = getenv(\"MOONLOOP_DISPATCH\");");
    line(1, "if (side && !*side) side = NULL;");
    line(1, "if (side && strcmp(side, \"host\") && strcmp(side, \"device\")) {");
    line(2, "fprintf(stderr, \"" + name_ +
                ": MOONLOOP_DISPATCH is `%s`, neither `host` nor `device`\\n\", side);");
    line(2, "exit(1);");
    line(1, "}");
    line(1, "if (side ? *side == 'h' : !" + name_ + "_prefers_device(" + deciding() + ")) {");
    line(2, here);
    line(2, "return;");
    line(1, "}");
    line(1, w.declare);
    line(1, (is_cuda() ? "int status = " : "cl_int status = ") + w.find + ";");
    line(1, "if (!side && (" + w.none + ")) {");
    line(2, "static bool said;");
    line(2, "if (!said) fprintf(stderr, \"" + name_ + ": no device; it runs on the host\\n\");");
    line(2, "said = true;");
    line(2, here);
    line(2, "return;");
    line(1, "}");
    if (!is_cuda()) line(1, w.run);
    line(1, "if (status) {");
    line(2, w.failed);
    line(2, "exit(1);");
    line(1, "}");
    if (is_cuda()) line(1, w.run);
    return out + "}\n";
  }

  std::string name_;
  const Program& host_;
  const Program* device_ = nullptr;
  const DispatchGuard& guard_;
  std::vector<std::string> names_;  // of parameters
};

void check_arguments_of_both(const std::string& name, const Program& host, const Program& device) {
  const auto equal_all = [](const Exprs& a, const Exprs& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Expr& x, const Expr& y) { return equal(x, y); });
  };
  const bool same = std::equal(host.params.begin(), host.params.end(), device.params.begin(),
                               device.params.end(), [&](const Parameter& a, const Parameter& b) {
                                 return a.name == b.name && a.is_array == b.is_array &&
                                        a.type == b.type && equal_all(a.shape, b.shape) &&
                                        equal_all(a.strides, b.strides) && !a.offset == !b.offset &&
                                        (!a.offset || equal(a.offset, b.offset));
                               });
  if (!same)
    fail("unsupported", {},
         "the versions of `{}` for {} and {} have different arguments: some step changes types, "
         "shapes or layouts of one of them",
         name, to_string(host.target), to_string(device.target));
  if (language_of(device.target) != Language::Cuda) return;
  for (const Parameter& a : host.params)
    if (a.type.is_record() || is_complex(a.type.scalar) || a.type.scalar == Scalar::F16)
      fail("unsupported", a.at,
           "`{}` is of type {}, which C and CUDA write in different ways: versions for {} and cuda "
           "cannot be in one file",
           a.name, a.type.str(), to_string(host.target));
}

}  // namespace

void check_dispatch(Target host, Target device) {
  if (!is_device(device))
    fail("unsupported", {}, "--dispatch wants a version for a device, opencl or cuda, not {}",
         to_string(device));
  if (language_of(host) != Language::C)
    fail("unsupported", {}, "versions for {} and {} cannot be in one file; c and openmp go with {}",
         to_string(host), to_string(device), to_string(device));
}

std::string dispatch_name(const std::string& name, Target version) {
  return name + "_" + to_string(version);
}

Pieces dispatch(const std::string& name, const Program& host, const Program& device,
                const DispatchGuard& guard) {
  check_dispatch(host.target, device.target);
  check_arguments_of_both(name, host, device);
  return DispatchPrinter(name, host, device, guard).pieces();
}

std::string dispatch_header(const std::string& name, const Program& host,
                            const DispatchGuard& guard) {
  return DispatchPrinter(name, host, guard).header();
}

}  // namespace moonloop
