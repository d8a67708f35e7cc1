#pragma once
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// codegen/targets.def has a row for each.
enum class Target {
#define MOONLOOP_TARGET(id, name, language, features, dialect) id,
#include "codegen/targets.def"
#undef MOONLOOP_TARGET
};
const std::vector<Target>& all_targets();              // in the order of the table
std::string to_string(Target t);                       // as on the command line
std::optional<Target> parse_target(std::string_view);  // nothing for an unknown name
/// Their names: `c, openmp, opencl`, with `last` before the last one.
std::string target_list(const std::string& last = ", ");

/// One parameter of the generated function, in order.
struct Parameter {
  std::string name;
  Type type;
  bool is_array = false;
  Intent intent = Intent::In;
  Exprs shape;    // of arrays, over the scalar parameters
  Exprs strides;  // in elements
  Expr offset;    // in elements; null is 0
  FortranArgument fortran;
  Span at;  // of the declaration
};

/// One kernel of a program for a device.
struct DeviceKernel {
  std::string name;
  std::vector<std::string> args;  // parameters, global temporaries, inames of host loops
  std::array<Expr, 3> groups;     // number along each axis, over scalars; never null
  std::array<Expr, 3> items;      // of work-items in a group, the same way
  std::int64_t local_bytes = 0;   // of local memory that a group uses
  bool given_local = false;       // CUDA: the launch gives it, the kernel declares none
};

/// The work-items of a group along each axis, where no scalar decides that.
std::optional<std::array<std::int64_t, 3>> constant_items(const DeviceKernel& kernel);
/// Whether a number of groups or of work-items may be 0, so that there is nothing to launch.
bool may_be_none(const Expr& number);

/// Memory on the device that lives for one call.
struct DeviceTemporary {
  std::string name;
  Type type;
  Expr elements;      // over the scalar parameters
  bool zero = false;  // all its bytes are, when the call begins
};

struct HostStep;
/// Launches a kernel, by its number in DeviceProgram::kernels.
struct HostLaunch {
  int kernel = 0;
};
/// Runs `body` for `iname` from `lower` to `upper`, inclusive.
struct HostLoop {
  std::string iname;
  Expr lower, upper;
  std::int64_t step = 1;
  std::vector<HostStep> body;
};
/// Runs `body` if `condition` holds.
struct HostGuard {
  Expr condition;
  std::vector<HostStep> body;
};
/// A step of the host; steps run in order.
struct HostStep {
  std::variant<HostLaunch, HostLoop, HostGuard> op;
};

/// The body of a loop or a guard.
const std::vector<HostStep>& body_of(const HostStep& s);

struct DeviceProgram {
  std::vector<DeviceKernel> kernels;
  std::vector<DeviceTemporary> temporaries;
  std::vector<HostStep> steps;
  std::vector<std::string> extensions;  // of OpenCL that it needs
  Scalar index_type = Scalar::I32;      // of inames of host loops
};

/// A translation unit in pieces, of which several units may have the same: lines that include
/// headers, definitions that the functions need, and the functions.
struct Pieces {
  std::vector<std::string> headers, definitions;
  struct Called {
    std::string name, text;
  };
  std::vector<Called> called;  // kernels that they call, those first that others of them call
  std::string functions;
  std::string name = {};  // of the kernel's function
};
/// One unit with the functions of all; what they share is there once. Fails `name-taken` where two
/// functions have one name, such as a kernel and what another one calls under its name.
std::string text_of(const std::vector<Pieces>& all);

/// The result of code generation.
struct Program {
  Target target = Target::C;
  std::string name;    // of the C function: the kernel's, or another one where that is taken
  std::string source;  // a whole translation unit
  Pieces pieces;       // the same
  std::string header;  // a C header for it; that of OpenCL holds all of it
  Pieces launcher;     // of OpenCL: the function in C that launches its kernels
  std::vector<Parameter> params;
  bool loops_of_team = false;  // its loops are shared by the threads that call it, all of a team
  std::vector<std::string> externals;   // functions that the code calls, as the linker knows them
  std::optional<DeviceProgram> device;  // for OpenCL and CUDA
};

enum class Residency {
  None,
  Asked,  // those that code of the host names, in any file
  All,
};

struct GenerateOptions {
  /// CUDA: after the function that launches the kernels, one that does so with arrays of the host,
  /// `NAME_of_c`: it copies them to the device and back, and ends the program when that fails. For
  /// OpenCL `Program::launcher` has such a function, which gives OpenCL's error.
  bool host_arrays = false;
  /// With it: which large arrays stay on the device between calls, besides those whose arguments
  /// say so, see codegen/print/cuda_residency.h.
  Residency resident = Residency::None;
  /// With it: the code has what lines `resident` and `update` of the host's code call.
  bool host_asks = false;
  /// Separate lines mark where a statement begins, `kStatementBegins` and the instruction's id, and
  /// where it ends, `kStatementEnds`.
  bool mark_statements = false;
  /// For `c` and `openmp`: the code ends the program, with a message, where a subscript is outside
  /// of its array, or where an argument that it writes shares memory with another one.
  bool check_claims = false;
  /// A function for others of the unit.
  bool called = false;
  /// For `c` and `openmp`: threads of OpenMP call it. Updates are atomic in C, too.
  bool called_by_threads = false;
  /// With it, for `openmp`: all threads of a team call it, and it consists of loops that they may
  /// share, see Program::loops_of_team.
  bool called_by_team = false;
  /// For `c` and `openmp`: the text is C++, too, where `restrict` is a macro.
  bool cxx = false;
};
inline constexpr char kStatementBegins = '\x01', kStatementEnds = '\x02';

/// Generates code. `k` is any legal kernel. Fails with a diagnostic that names the instruction and
/// the tag where the target cannot express something. Same input, same output, byte for byte.
Program generate(Kernel k, Target target, const GenerateOptions& o = {});

/// Whether generate() gives a program, found without most of its work where that is clear.
bool has_code(const Kernel& k, Target target);

}  // namespace moonloop
