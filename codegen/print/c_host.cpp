#include <algorithm>

#include "codegen/print/c_printer.h"
#include "codegen/print/host_arrays.h"

// The host's part of a CUDA program as a C function: it launches the kernels.
namespace moonloop {
namespace {

/// The names of what a function has for an array of the host.
struct HostCopy {
  std::string there, bytes;  // on the device; how many
  std::string stay;          // whether it stays there; empty: that is known
  std::string writes;        // the argument that says so
};

}  // namespace

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

std::string CPrinter::host_function(const DeviceProgram& program, bool resident) {
  std::string before = std::exchange(out_, {});
  depth_ = 1;
  status_ = names_.fresh("status");
  line("int " + status_ + " = 0;");
  for (const DeviceTemporary& t : program.temporaries) {
    const std::string& x = names_.of(t.name);
    line(type_name(t.type) + " *" + x + " = 0;");
    const std::string size =
        "sizeof(" + type_name(t.type) + ")*(" + expr_.at_least_one(t.elements) + ")";
    const auto run = [&](const std::string& call) {
      line("if (!" + status_ + ") " + status_ + " = " + call + ";");
    };
    run((resident ? "moonloop_resident::lend((void **)&" : "cudaMalloc((void **)&") + x + ", " +
        size + ")");
    if (t.zero) run("cudaMemset(" + x + ", 0, " + size + ")");
  }
  bool guarded = !program.temporaries.empty();
  for (const DeviceKernel& k : program.kernels) {
    if (!k.given_local) continue;
    guarded = true;
    line(
        fmt::format("if (!{0}) {0} = cudaFuncSetAttribute({1}, "
                    "cudaFuncAttributeMaxDynamicSharedMemorySize, {2});",
                    status_, k.name, k.local_bytes));
  }
  if (guarded) {
    line("if (!" + status_ + ") {");
    ++depth_;
  }
  host_block(program.steps, program);
  line(status_ + " = cudaGetLastError();");
  if (guarded) {
    --depth_;
    line("}");
  }
  for (const DeviceTemporary& t : program.temporaries)
    line((resident ? "moonloop_resident::give_back(" : "cudaFree(") + names_.of(t.name) + ");");
  line("return " + status_ + ";");
  depth_ = 0;
  const std::string body = std::exchange(out_, std::move(before));
  return "/* Launches the kernels on arrays of the device: 0, or CUDA's error. NVRTC passes it "
         "over. */\n"
         "#ifndef __CUDACC_RTC__\nextern \"C\" " +
         host_prototype() + " {\n" + body + "}\n#endif\n";
}

/// For callers whose arrays are the host's. Copies all of an array, since part of it may stay as it
/// is.
std::string CPrinter::host_copies(const std::vector<Parameter>& params, Residency resident) {
  std::string before = std::exchange(out_, {});
  depth_ = 1;
  std::vector<std::string> parameters, arguments;
  std::map<std::string, HostCopy> copies;
  const auto stays = [&](const Parameter& a) {
    return resident == Residency::All || a.fortran.resident;
  };
  const auto run = [&](const std::string& call) {
    line("if (!" + status_ + ") " + status_ + " = " + call + ";");
  };
  line("int " + status_ + " = 0;");
  bool any_stays = false;
  for (const Parameter& a : params) {
    const std::string& x = names_.of(a.name);
    const std::string type = type_name(a.type);
    if (!a.is_array) {
      parameters.push_back(type + " " + x);
      arguments.push_back(x);
      continue;
    }
    const std::string there = names_.fresh(x + "_there"), bytes = names_.fresh(x + "_bytes");
    const std::string stay =
        resident == Residency::Asked && !stays(a) ? names_.fresh(x + "_stays") : "";
    const std::string writes = a.intent == Intent::In ? ", false" : ", true";
    copies[a.name] = {there, bytes, stay, writes};
    parameters.push_back(type + (a.intent == Intent::In ? " const *" : " *") + x);
    arguments.push_back(there);
    line(type + " *" + there + " = 0;");
    const Expr elements = host_elements(a, k_);
    line("long long " + bytes + " = sizeof(" + type + ")" +
         (as_int(elements) == 1 ? "" : "*(" + expr_.index(elements, true) + ")") + ";");
    for (const Expr& e : a.shape)  // an extent may be 0, and its stride too
      if (!as_int(e)) line("if (" + expr_.index(e) + " <= 0) " + bytes + " = 0;");
    if (a.fortran.optional) line("if (!" + x + ") " + bytes + " = 0;");  // it is not there
    if (stays(a)) {
      any_stays = true;
      run("moonloop_resident::enter(" + x + ", " + bytes + writes + ", (void **)&" + there + ")");
      continue;
    }
    if (!stay.empty()) {
      line("int " + stay + " = 0;");
      run("moonloop_copy_to_device(" + x + ", " + bytes + writes + ", (void **)&" + there + ", &" +
          stay + ")");
      continue;
    }
    run("cudaMalloc((void **)&" + there + ", " + bytes + " ? " + bytes + " : 1)");
    run("cudaMemcpy(" + there + ", " + x + ", " + bytes + ", cudaMemcpyHostToDevice)");
  }
  if (any_stays) run("moonloop_resident::send()");
  run(name() + "(" + fmt::format("{}", fmt::join(arguments, ", ")) + ")");
  for (const Parameter& a : params) {
    if (!a.is_array) continue;
    const std::string& x = names_.of(a.name);
    const auto& [there, bytes, stay, writes] = copies.at(a.name);
    if (stays(a))
      run("moonloop_resident::leave(" + x + ", " + bytes + writes + ", " + there + ")");
    else if (!stay.empty())
      run("moonloop_copy_to_host(" + x + ", " + bytes + writes + ", " + there + ", " + stay + ")");
    else if (a.intent != Intent::In)
      run("cudaMemcpy(" + x + ", " + there + ", " + bytes + ", cudaMemcpyDeviceToHost)");
  }
  for (const Parameter& a : params)
    if (a.is_array && !stays(a))
      line((copies.at(a.name).stay.empty() ? "" : "if (!" + copies.at(a.name).stay + ") ") +
           "cudaFree(" + copies.at(a.name).there + ");");
  line("if (" + status_ + ") {");
  line("  fprintf(stderr, \"" + name() + ": %s\\n\", cudaGetErrorString((cudaError_t)" + status_ +
       "));");
  line("  exit(1);");
  line("}");
  depth_ = 0;
  if (parameters.empty()) parameters.emplace_back("void");
  const std::string head = "extern \"C\" void " + name() + "_of_c(";
  const std::string body = std::exchange(out_, std::move(before));
  return "/* The same with arrays of the host, which it copies. */\n#ifndef __CUDACC_RTC__\n"
         "#include <stdio.h>\n#include <stdlib.h>\n" +
         head + parameter_list(parameters, head.size()) + ") {\n" + body + "}\n#endif\n";
}

void CPrinter::host_block(const std::vector<HostStep>& steps, const DeviceProgram& program) {
  for (const HostStep& s : steps) {
    if (const auto* launch = std::get_if<HostLaunch>(&s.op)) {
      const DeviceKernel& k = program.kernels[static_cast<std::size_t>(launch->kernel)];
      std::string guard, args;
      const auto along_axes = [&](const std::array<Expr, 3>& numbers) {
        std::string all;
        for (const Expr& n : numbers) {
          all += (all.empty() ? "" : ", ") + expr_.index(n);
          if (may_be_none(n))
            guard += (guard.empty() ? "" : " && ") + expr_.index(n, false, Prec::Shift) + " > 0";
        }
        return all;
      };
      const std::string grid = along_axes(k.groups), items = along_axes(k.items);
      for (const std::string& a : k.args) args += (args.empty() ? "" : ", ") + names_.of(a);
      if (!guard.empty()) {
        line("if (" + guard + ")");
        ++depth_;
      }
      const std::string local = k.given_local ? fmt::format(", {}", k.local_bytes) : "";
      line(fmt::format("{}<<<dim3({}), dim3({}){}>>>({});", k.name, grid, items, local, args));
      if (!guard.empty()) --depth_;
      continue;
    }
    line(expr_.host_head(s, k_.index_type) + "{");
    ++depth_;
    host_block(body_of(s), program);
    --depth_;
    line("}");
  }
}

std::string CPrinter::host_header() {
  const std::string guard = include_guard(name()), prototype = host_prototype();
  const auto passed = [&](auto test) {
    return std::any_of(k_.args.begin(), k_.args.end(), [&](const Argument& a) {
      return a.type && !a.type->is_record() && test(a.type->scalar);
    });
  };
  std::string includes;
  if (passed([](Scalar s) { return s == Scalar::Bool; })) includes += "#include <stdbool.h>\n";
  if (passed(is_complex)) includes += "#include <vector_types.h>\n";
  if (!includes.empty()) includes += "\n";
  includes += fmt::format("{}", fmt::join(records(), ""));
  return "#ifndef " + guard + "\n#define " + guard + "\n\n" + includes +
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
         "/* Launches the kernels on arrays of the device: 0, or CUDA's error. */\n" +
         renamed_comment(k_.name, name()) + prototype +
         ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace moonloop
