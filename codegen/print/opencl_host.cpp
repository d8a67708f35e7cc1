#include "codegen/print/opencl_host.h"

#include "codegen/print/c_expr.h"
#include "codegen/print/c_printer.h"

namespace moonloop {
namespace {

class OpenCLHost {
 public:
  OpenCLHost(const Plan& plan, const Program& program)
      : k_(plan.kernel),
        program_(program),
        device_(*program.device),
        names_(plan.kernel, Surroundings::OpenCLHost),
        helpers_(Language::C),
        expr_(plan, names_, helpers_) {}

  std::string header() {
    const std::string function = launcher();  // registers the declarations before it
    const std::string guard = include_guard(program_.name);
    std::string out = "#ifndef " + guard + "\n#define " + guard +
                      "\n\n#include <CL/cl.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
                      "#include <stdint.h>\n\n";
    for (const auto& [name, text] : helpers_.functions()) out += text + "\n";
    out += "static char const *const " + source_ + " =";
    for (std::size_t from = 0; from < program_.source.size();) {
      const std::size_t end = program_.source.find('\n', from);
      out += "\n    " + c_string(program_.source.substr(from, end - from) + "\n");
      from = end == std::string::npos ? program_.source.size() : end + 1;
    }
    return out + ";\n\n" + function + "\n#endif\n";
  }

 private:
  void line(const std::string& text) {
    out_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
  }
  std::string type(const Type& t) const { return type_name(Language::C, t); }

  std::string launcher() {
    source_ = names_.fresh(program_.name + "_source");
    queue_ = names_.fresh("queue");
    status_ = names_.fresh("status");
    kernels_ = names_.fresh("kernels");
    all_ = names_.fresh("all_items");
    items_ = names_.fresh("group_items");
    const std::string program = names_.fresh("program"), context = names_.fresh("context"),
                      built = names_.fresh("built_for"), device = names_.fresh("device");
    std::vector<std::string> parameters{"cl_command_queue " + queue_};
    for (const Argument& a : k_.args)
      parameters.push_back((a.is_array ? "cl_mem" : type(a.type.value_or(Type(k_.index_type)))) +
                           " " + names_.of(a.name));
    const std::string head = "static inline cl_int " + program_.name + "(";
    out_ =
        "/* Puts the kernels, on arrays of the device, into the queue: 0, or OpenCL's error. They "
        "are\n   built at the first call, and again for another context. */\n" +
        renamed_comment(k_.name, program_.name) + head + parameter_list(parameters, head.size()) +
        ") {\n";
    depth_ = 1;
    const std::size_t count = device_.kernels.size();
    line("static cl_program " + program + ";");
    line("static cl_kernel " + kernels_ + "[" + std::to_string(count) + "];");
    line("static cl_context " + built + ";");
    line("cl_context " + context + ";");
    line("cl_device_id " + device + ";");
    const std::string info = "clGetCommandQueueInfo(" + queue_ + ", CL_QUEUE_";
    line("cl_int " + status_ + " = " + info + "CONTEXT, sizeof " + context + ", &" + context +
         ", NULL);");
    step(info + "DEVICE, sizeof " + device + ", &" + device + ", NULL)");
    line("if (!" + status_ + " && " + context + " != " + built + ") {");
    ++depth_;
    line("for (size_t k = 0; k < " + std::to_string(count) + "; ++k)");
    line("  if (" + kernels_ + "[k]) clReleaseKernel(" + kernels_ + "[k]), " + kernels_ +
         "[k] = NULL;");
    line("if (" + program + ") clReleaseProgram(" + program + ");");
    line(built + " = NULL;");
    line(program + " = clCreateProgramWithSource(" + context + ", 1, (char const **)&" + source_ +
         ", NULL, &" + status_ + ");");
    step("clBuildProgram(" + program + ", 1, &" + device + ", \"-cl-std=CL1.2\", NULL, NULL)");
    for (std::size_t i = 0; i < count; ++i)
      line("if (!" + status_ + ") " + kernels_ + "[" + std::to_string(i) + "] = clCreateKernel(" +
           program + ", \"" + device_.kernels[i].name + "\", &" + status_ + ");");
    line("if (!" + status_ + ") " + built + " = " + context + ";");
    --depth_;
    line("}");
    for (const DeviceTemporary& t : device_.temporaries) {
      const std::string& x = names_.of(t.name);
      const std::string size =
          "sizeof(" + type(t.type) + ")*(" + expr_.at_least_one(t.elements) + ")";
      line("cl_mem " + x + " = NULL;");
      line("if (!" + status_ + ") " + x + " = clCreateBuffer(" + context + ", CL_MEM_READ_WRITE, " +
           size + ", NULL, &" + status_ + ");");
      if (t.zero)
        step("clEnqueueFillBuffer(" + queue_ + ", " + x + ", \"\", 1, 0, " + size +
             ", 0, NULL, NULL)");
    }
    steps(device_.steps);
    for (const DeviceTemporary& t : device_.temporaries)  // the queue keeps what it needs
      line("if (" + names_.of(t.name) + ") clReleaseMemObject(" + names_.of(t.name) + ");");
    line("return " + status_ + ";");
    return out_ + "}\n";
  }

  /// Where nothing has failed yet.
  void step(const std::string& call) {
    line("if (!" + status_ + ") " + status_ + " = " + call + ";");
  }

  void steps(const std::vector<HostStep>& all) {
    for (const HostStep& s : all) {
      if (const auto* x = std::get_if<HostLaunch>(&s.op)) {
        launch(x->kernel);
        continue;
      }
      line(expr_.host_head(s, k_.index_type) + "{");
      ++depth_;
      steps(body_of(s));
      --depth_;
      line("}");
    }
  }

  void launch(int number) {
    const DeviceKernel& k = device_.kernels[static_cast<std::size_t>(number)];
    const std::string kernel = kernels_ + "[" + std::to_string(number) + "]";
    std::string guard = "!" + status_, all, items;
    for (std::size_t a = 0; a < 3; ++a) {
      const Expr &g = k.groups.at(a), &n = k.items.at(a);
      for (const Expr& number : {g, n})
        if (may_be_none(number)) guard += " && " + expr_.index(number, false, Prec::Shift) + " > 0";
      all += (a ? ", " : "") + expr_.index(n, false, Prec::Unary) + "*(size_t)" +
             expr_.index(g, false, Prec::Unary);
      items += (a ? ", " : "") + expr_.index(n);
    }
    line("if (" + guard + ") {");
    ++depth_;
    line("size_t const " + all_ + "[3] = {" + all + "};");
    line("size_t const " + items_ + "[3] = {" + items + "};");
    for (std::size_t i = 0; i < k.args.size(); ++i) {
      const std::string& x = names_.of(k.args[i]);
      step("clSetKernelArg(" + kernel + ", " + std::to_string(i) + ", sizeof " + x + ", &" + x +
           ")");
    }
    step("clEnqueueNDRangeKernel(" + queue_ + ", " + kernel + ", 3, NULL, " + all_ + ", " + items_ +
         ", 0, NULL, NULL)");
    --depth_;
    line("}");
  }

  const Kernel& k_;
  const Program& program_;
  const DeviceProgram& device_;
  CNames names_;
  Helpers helpers_;
  CExpr expr_;
  std::string out_, source_, queue_, status_, kernels_, all_, items_;
  int depth_ = 0;
};

}  // namespace

std::string opencl_header(const Plan& plan, const Program& program) {
  return OpenCLHost(plan, program).header();
}

}  // namespace moonloop
