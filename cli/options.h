#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "frontends/fortran/fortran.h"
#include "scripts/script.h"

/// Shared by the commands: options, the way from an input to a transformed kernel, exit statuses.
namespace moonloop::cli {

enum Status { kDone = 0, kError = 1, kUsage = 2, kDifference = 3, kCompiler = 4 };

struct OwnSchedules;  // cli/own_schedules.h

/// Options common to all commands, decoded.
struct Common {
  std::string input;                                          // a path, or `-`
  std::vector<std::string> transforms;                        // -t, in order
  std::vector<std::pair<std::string, std::string>> params;    // -p NAME=VALUE, VALUE as written
  std::vector<std::pair<std::string, std::string>> settings;  // --set
  Knobs::Given knobs;                                         // --knob
  std::vector<std::string> kernels;                           // --kernel; none: all of them
  bool is_program = false;  // that one is the input's program, and --kernel named none
  int device = -1;          // none requested
  bool quiet = false;
  bool color = false;  // of diagnostics, on stderr
  bool trust = false;
  FortranOptions fortran;
  std::string project;               // of Fortran: a build's compile_commands.json, or its folder
  std::shared_ptr<Knobs> all_knobs;  // where other scripts share them: the caller asks whether all
                                     // given ones are declared
  std::map<std::string, std::string> inputs;  // of run: files by array, whose shapes give sizes
  // Tuned values of knobs (cli/tuned.h).
  std::optional<Target> tuned;  // that they are looked up for; none: they are not
  std::string database;         // --db; empty: the standard one
  bool no_database = false;
  std::string tuned_for;                 // another device than this one
  std::optional<Target> target;          // that the command generates code for
  std::optional<Target> schedules = {};  // that lp.auto schedules for, where there is no `target`
  std::shared_ptr<OwnSchedules> own;     // --auto; null: not given

  /// Whether the command is about this kernel.
  bool means(const std::string& kernel) const {
    return kernels.empty() || std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
  }
};

/// A script that ran, and the files that it loaded: their paths from its folder on, and texts.
struct UsedScript {
  std::string name, text;
  std::vector<std::pair<std::string, std::string>> files = {};
};

/// The knobs that scripts declared, and by what the database knows this kernel and these scripts
/// (tuning/hashes.h) where the caller asks for that, which takes time; `kernel` is empty where the
/// command is about several.
struct UsedKnobs {
  bool with_hashes = false;
  Knobs knobs = {};
  std::string kernel = {}, script = {};
  std::vector<UsedScript> scripts = {};  // all that make or transform the kernels, in order
  std::vector<Kernel> before = {};       // the kernels before them; none where a script makes them
};

/// Without --kernel, a command about one kernel is about the program of the input, where the last
/// kernel is the only program.
void choose_program(Common& c);

/// What scripts may do and see. Used wherever one runs.
ScriptOptions script_options(const Common& c);
/// All kernels of the input, each after the -t scripts, in order. `on_step` is called for each
/// transform; `before` gets the kernels as they were before the -t scripts, `file` the rest of the
/// input where it is Fortran, `marked` the names of those that its blocks or the scripts change.
/// For a device, loops that are parallel still become work-items, as lib.work_items does it.
/// Warns as cli/warnings.h says, about units that the Fortran reader
/// leaves out, and as run_transform_script() does. `used` gets the knobs that the scripts
/// declare. Fails `unknown-knob` where --knob gives one that none of them does.
std::vector<Kernel> load_kernels(const Common& c,
                                 const std::function<void(const StepReport&)>& on_step = {},
                                 std::vector<Kernel>* before = nullptr, FortranFile* file = nullptr,
                                 std::set<std::string>* marked = nullptr,
                                 UsedKnobs* used = nullptr);
/// The program units of the Fortran file that is the input, see fortran_imports().
std::vector<FortranImport> load_imports(const Common& c);
/// An imported routine of which no code is made as it is.
struct RefusedImport {
  std::string what;  // is refused; empty where nothing is
  std::vector<Diagnostic> why;
};
/// What the routine reads and nothing sets, or steps of its directives.
RefusedImport refused_of(const FortranImport& i);
/// Prints a warning on standard error, unless --quiet.
void warn(const Common& c, const Diagnostic& d);
/// The one of `all` that --kernel names; without it the only one. Fails as load_kernel does.
Kernel pick_kernel(const Common& c, const std::vector<Kernel>& all);
/// Those of --kernel in its order, or the only one. Fails as pick_kernel().
std::vector<Kernel> pick_kernels(const Common& c, const std::vector<Kernel>& all);
/// The one that --kernel names; without it the only one. Fails `unknown-kernel`, `which-kernel`.
Kernel load_kernel(const Common& c, UsedKnobs* used = nullptr);

/// The text of a file, or of standard input for `-`. Fails `cannot-read`.
const Source* read_source(const std::string& path);
/// Writes all of `text` to `path` (`-`: standard output) or nothing: a temporary file next to it is
/// renamed. Fails `cannot-write`.
void write_output(const std::string& path, const std::string& text);

/// The target's name as an option's value. A wrong one is a usage error.
Target target_option(const std::string& name);
/// Numbers of iterations, given as NAME=NUMBER. Another text is a usage error of `--trips`.
std::map<std::string, double> trips_option(const std::vector<std::string>& given);
/// Names of all targets, as on the command line.
const std::vector<std::string>& target_names();

}  // namespace moonloop::cli
