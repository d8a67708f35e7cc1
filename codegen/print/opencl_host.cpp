#include "codegen/print/opencl_host.h"

#include "codegen/print/c_expr.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/host_arrays.h"

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

  Pieces pieces(const std::vector<Parameter>* host_arrays) {
    Pieces out;
    const std::string function = launcher();  // registers the declarations before it
    const std::string copies = host_arrays ? "\n" + copying(*host_arrays) : "";
    for (const char* h : {"CL/cl.h", "stdbool.h", "stddef.h", "stdint.h"})
      out.headers.push_back(fmt::format("#include <{}>\n", h));
    for (const auto& [name, text] : helpers_.functions()) out.definitions.push_back(text + "\n");
    out.functions = "static char const *const " + source_ + " =";
    for (std::size_t from = 0; from < program_.source.size();) {
      const std::size_t end = program_.source.find('\n', from);
      out.functions += "\n    " + c_string(program_.source.substr(from, end - from) + "\n");
      from = end == std::string::npos ? program_.source.size() : end + 1;
    }
    out.functions += ";\n\n" + function + copies;
    out.name = program_.name;
    return out;
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

  /// The launcher's caller where arrays are the host's. Copies all of an array, since part of it
  /// may stay as it is.
  std::string copying(const std::vector<Parameter>& params) {
    const std::string context = names_.fresh("context");
    std::vector<std::string> parameters{"cl_context " + context, "cl_command_queue " + queue_};
    std::string arguments = queue_;
    std::vector<std::pair<const Parameter*, std::array<std::string, 2>>> arrays;  // copy, bytes
    for (const Parameter& a : params) {
      const std::string& x = names_.of(a.name);
      const bool is_const = a.is_array && a.intent == Intent::In;
      parameters.push_back(type(a.type) + (is_const ? " const *" : a.is_array ? " *" : " ") + x);
      if (a.is_array)
        arrays.push_back({&a, {names_.fresh(x + "_there"), names_.fresh(x + "_bytes")}});
      arguments += ", " + (a.is_array ? arrays.back().second[0] : x);
    }
    const std::string head = "static inline cl_int " + program_.name + "_of_c(";
    out_ = "/* The same with arrays of the host, which it copies. */\n" + head +
           parameter_list(parameters, head.size()) + ") {\n";
    depth_ = 1;
    line("cl_int " + status_ + " = 0;");
    for (const auto& [a, names] : arrays) {
      const auto& [there, bytes] = names;
      const Expr elements = host_elements(*a, k_);
      line("size_t " + bytes + " = sizeof(" + type(a->type) + ")" +
           (as_int(elements) == 1 ? "" : "*(" + expr_.index(elements, true) + ")") + ";");
      for (const Expr& e : a->shape)  // an extent may be 0, and its stride too
        if (!as_int(e)) line("if (" + expr_.index(e) + " <= 0) " + bytes + " = 0;");
      if (a->fortran.optional)  // it is not there
        line("if (!" + names_.of(a->name) + ") " + bytes + " = 0;");
      line("cl_mem " + there + " = NULL;");
      line("if (!" + status_ + ") " + there + " = clCreateBuffer(" + context +
           ", CL_MEM_READ_WRITE, " + bytes + " ? " + bytes + " : 1, NULL, &" + status_ + ");");
      transfer("Write", there, bytes, names_.of(a->name));
    }
    step(program_.name + "(" + arguments + ")");
    for (const auto& [a, names] : arrays)
      if (a->intent != Intent::In) transfer("Read", names[0], names[1], names_.of(a->name));
    for (const auto& [a, names] : arrays)
      line("if (" + names[0] + ") clReleaseMemObject(" + names[0] + ");");
    line("return " + status_ + ";");
    return out_ + "}\n";
  }
  void transfer(const std::string& which, const std::string& there, const std::string& bytes,
                const std::string& array) {
    line("if (!" + status_ + " && " + bytes + ")");
    line("  " + status_ + " = clEnqueue" + which + "Buffer(" + queue_ + ", " + there +
         ", CL_TRUE, 0, " + bytes + ", " + array + ", 0, NULL, NULL);");
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

Pieces opencl_launcher(const Plan& plan, const Program& program,
                       const std::vector<Parameter>* host_arrays) {
  return OpenCLHost(plan, program).pieces(host_arrays);
}

std::string opencl_header(const Plan& plan, const Program& program) {
  const Pieces all = opencl_launcher(plan, program);
  const std::string guard = include_guard(program.name);
  return "#ifndef " + guard + "\n#define " + guard + "\n\n" + text_of({all}) + "\n#endif\n";
}

}  // namespace moonloop
