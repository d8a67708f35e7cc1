#include "codegen/c_printer.h"

// The host's part of a CUDA program as a C function: it launches the kernels.
namespace moonloop {

/// `int name(int n, double const *a, double *b)`, with arrays on the device.
std::string CPrinter::host_prototype() {
  const std::set<std::string> written = this->written();
  std::vector<std::string> parameters;
  for (const Argument& a : k_.args) {
    const std::string type = type_name(a.type.value_or(Type(k_.index_type)));
    const std::string star = !a.is_array ? " " : written.count(a.name) ? " *" : " const *";
    parameters.push_back(type + star + names_.of(a.name));
  }
  if (parameters.empty()) parameters.emplace_back("void");
  const std::string head = "int " + name() + "(";
  return head + parameter_list(parameters, head.size()) + ")";
}

std::string CPrinter::host_function(const DeviceProgram& program) {
  std::string before = std::exchange(out_, {});
  depth_ = 1;
  line("int status = 0;");
  for (const DeviceTemporary& t : program.temporaries) {
    const std::string& x = names_.of(t.name);
    line(type_name(t.type) + " *" + x + " = 0;");
    line("if (!status) status = cudaMalloc((void **)&" + x + ", sizeof(" + type_name(t.type) +
         ")*(" + expr_.index(t.elements, true) + "));");
    if (t.zero)
      line("if (!status) status = cudaMemset(" + x + ", 0, sizeof(" + type_name(t.type) + ")*(" +
           expr_.index(t.elements, true) + "));");
  }
  const bool guarded = !program.temporaries.empty();
  if (guarded) {
    line("if (!status) {");
    ++depth_;
  }
  host_block(program.steps, program);
  line("status = cudaGetLastError();");
  if (guarded) {
    --depth_;
    line("}");
  }
  for (const DeviceTemporary& t : program.temporaries) line("cudaFree(" + names_.of(t.name) + ");");
  line("return status;");
  depth_ = 0;
  const std::string body = std::exchange(out_, std::move(before));
  return "/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it "
         "over. */\n"
         "#ifndef __CUDACC_RTC__\nextern \"C\" " +
         host_prototype() + " {\n" + body + "}\n#endif\n";
}

void CPrinter::host_block(const std::vector<HostStep>& steps, const DeviceProgram& program) {
  for (const HostStep& s : steps) {
    if (s.kernel >= 0) {
      const DeviceKernel& k = program.kernels[static_cast<std::size_t>(s.kernel)];
      std::string grid, guard, args;
      for (const Expr& g : k.groups) {
        const std::string n = expr_.index(g);
        grid += (grid.empty() ? "" : ", ") + n;
        if (!as_int(g))
          guard += (guard.empty() ? "" : " && ") + expr_.index(g, false, Prec::Shift) + " > 0";
      }
      for (const std::string& a : k.args) args += (args.empty() ? "" : ", ") + names_.of(a);
      if (!guard.empty()) {
        line("if (" + guard + ")");
        ++depth_;
      }
      line(fmt::format("{}<<<dim3({}), dim3({}, {}, {})>>>({});", k.name, grid, k.items[0],
                       k.items[1], k.items[2], args));
      if (!guard.empty()) --depth_;
      continue;
    }
    line(expr_.host_head(s, k_.index_type) + "{");
    ++depth_;
    host_block(s.body, program);
    --depth_;
    line("}");
  }
}

std::string CPrinter::host_header() {
  const std::string guard = include_guard(name()), prototype = host_prototype();
  std::string includes;
  if (prototype.find("bool ") != std::string::npos) includes += "#include <stdbool.h>\n";
  if (prototype.find("float2 ") != std::string::npos ||
      prototype.find("double2 ") != std::string::npos)
    includes += "#include <vector_types.h>\n";
  if (!includes.empty()) includes += "\n";
  includes += records();
  return "#ifndef " + guard + "\n#define " + guard + "\n\n" + includes +
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
         "/* Launches the kernels on arrays of the device: 0, or CUDA's error. */\n" +
         prototype + ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace moonloop
