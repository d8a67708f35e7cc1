#include "runtime/c_compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "runtime/compiler_log.h"
#include "runtime/file.h"
#include "runtime/process.h"

namespace moonloop {
namespace {

std::vector<std::string> words(const char* text) {
  std::istringstream in(text ? text : "");
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

/// The processor, on which `-march=native` depends: a cache may be shared by machines.
std::string processor() {
  std::string out, line;
  std::FILE* f = std::fopen("/proc/cpuinfo", "r");
  if (!f) return out;
  char block[8192];
  const std::size_t n = std::fread(block, 1, sizeof block, f);
  std::fclose(f);
  std::istringstream in(std::string(block, n));
  while (std::getline(in, line) && !line.empty())
    for (const char* key : {"model name", "flags", "CPU part", "Features"})
      if (line.starts_with(key)) out += line + "\n";
  return out;
}

std::string temporary_parent() {
  const char* given = std::getenv("TMPDIR");
  return given && *given ? given : "/tmp";
}

/// How a scalar is spelt in C.
std::string c_type(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "_Bool";
    case Scalar::I8: return "int8_t";
    case Scalar::I16: return "int16_t";
    case Scalar::I32: return "int32_t";
    case Scalar::I64: return "int64_t";
    case Scalar::U8: return "uint8_t";
    case Scalar::U16: return "uint16_t";
    case Scalar::U32: return "uint32_t";
    case Scalar::U64: return "uint64_t";
    case Scalar::F16: return "_Float16";
    case Scalar::F32: return "float";
    case Scalar::F64: return "double";
    case Scalar::C64: return "float _Complex";
    case Scalar::C128: return "double _Complex";
  }
  throw InternalError("unknown scalar type");
}

std::string entry_name(const Program& p) { return "moonloop_call_" + p.name; }

/// One run of a compiler, on a file that it reads.
struct Step {
  std::vector<std::string> command;
  std::string file, content;
};

Step step_of(const CCompiler& cc, const std::vector<std::string>& flags,
             const std::vector<std::string>& files, std::string file, std::string content) {
  Step out{cc.command, std::move(file), std::move(content)};
  out.command.insert(out.command.end(), flags.begin(), flags.end());
  out.command.insert(out.command.end(), files.begin(), files.end());
  return out;
}

/// Runs compilers, the last of which makes `kernel.so`, in a folder of their own; its content.
std::string build(const std::vector<Step>& steps) {
  const TemporaryFolder folder(temporary_parent(), "moonloop-");
  if (folder.path().empty())
    fail("compiler-failed", {}, "cannot make a folder for the compiler in `{}`",
         temporary_parent());
  for (const Step& s : steps) {
    write_file(folder.path() + "/" + s.file, {s.content});
    const ProcessResult result = run_process(s.command, folder.path());
    if (result.status != 0)
      fail("compiler-failed", {}, "`{}` ended with status {}:\n{}", fmt::join(s.command, " "),
           result.status, with_marked_line(result.output, s.content));
  }
  std::string content;
  if (!read_whole(folder.path() + "/kernel.so", content))
    fail("compiler-failed", {}, "`{}` made no library", fmt::join(steps.back().command, " "));
  return content;
}

std::vector<Step> c_steps(const CCompiler& cc, const std::vector<std::string>& flags,
                          const std::string& source) {
  return {step_of(cc, flags, {"-o", "kernel.so", "kernel.c", "-lm"}, "kernel.c", source)};
}

/// Loads a library that no cache keeps.
Library load_once(const std::string& content, bool stays) {
  const TemporaryFolder folder(temporary_parent(), "moonloop-");
  if (folder.path().empty())
    fail("cannot-load", {}, "cannot make a folder in `{}`", temporary_parent());
  write_file(folder.path() + "/kernel.so", {content});
  return Library(folder.path() + "/kernel.so", stays);
}

/// Loads the library and keeps it in the cache, where there is one.
Library kept(const std::string& content, const std::string& key, bool stays, const Cache& cache) {
  const std::string path = cache.keep(key, "so", content);
  return path.empty() ? load_once(content, stays) : Library(path, stays);
}

}  // namespace

std::string CCompiler::str() const {
  return fmt::format("{} ({})", fmt::join(command, " "), version);
}

std::optional<CCompiler> find_c_compiler(const std::string& name) {
  CCompiler out;
  out.command = words(name.c_str());
  if (out.command.empty()) return std::nullopt;
  out.command[0] = find_program(out.command[0]);
  if (out.command[0].empty()) return std::nullopt;
  std::vector<std::string> ask = out.command;
  ask.emplace_back("--version");
  const std::string answer = run_process(ask).output;
  out.version = answer.substr(0, answer.find('\n'));
  return out;
}

CCompiler find_c_compiler() {
  const char* given = std::getenv("CC");
  const std::string name = given && *given ? given : "cc";
  if (auto found = find_c_compiler(name)) return *found;
  throw Error(Diagnostic{"no-compiler",
                         fmt::format("no C compiler `{}`", name),
                         {},
                         {},
                         "install one, or name one with the variable CC"});
}

namespace {

std::string ispc_name() {
  const char* given = std::getenv("ISPC");
  return given && *given ? given : "ispc";
}

}  // namespace

CCompiler find_ispc_compiler() {
  if (auto found = find_c_compiler(ispc_name())) return *found;
  throw Error(Diagnostic{"no-compiler",
                         fmt::format("no ISPC compiler `{}`", ispc_name()),
                         {},
                         {},
                         "install one, or name one with the variable ISPC"});
}

bool has_ispc_compiler() { return find_c_compiler(ispc_name()).has_value(); }

bool supports_openmp(const CCompiler& cc) {
  try {
    build(c_steps(cc, compile_flags(Target::OpenMP, {true, 0}),
                  "#include <omp.h>\nint threads(void) { return omp_get_max_threads(); }\n"));
    return true;
  } catch (const Error&) { return false; }
}

std::vector<std::string> compile_flags(Target target, const CompileOptions& options) {
  std::vector<std::string> out{"-std=c17",
                               fmt::format("-O{}", options.level),
                               "-march=native",
                               "-fno-math-errno",
                               "-Werror=implicit-function-declaration",
                               options.contract ? "-ffp-contract=fast" : "-ffp-contract=off",
                               "-fPIC",
                               "-shared",
                               "-fvisibility=hidden",
                               "-Wl,-Bsymbolic"};
  if (target == Target::C) out.emplace_back("-fopenmp-simd");
  if (target == Target::OpenMP) out.emplace_back("-fopenmp");
  for (std::string& w : words(std::getenv("MOONLOOP_CFLAGS"))) out.push_back(std::move(w));
  return out;
}

Library::Library(const std::string& path, bool stays) {
  const int how = RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0);
  void* handle = ::dlopen(path.c_str(), how);
  if (!handle) fail("cannot-load", {}, "cannot load the compiled kernel: {}", ::dlerror());
  handle_.reset(handle, [](void* h) { ::dlclose(h); });
}

void* Library::find(const std::string& symbol) const {
  void* at = ::dlsym(handle_.get(), symbol.c_str());
  if (!at) fail("cannot-load", {}, "the compiled library has no `{}`", symbol);
  return at;
}

Library compile(const std::string& source, Target target, const CompileOptions& options,
                const Cache& cache) {
  const CCompiler cc = find_c_compiler();
  const std::vector<std::string> flags = compile_flags(target, options);
  const std::string key =
      Cache::key(fmt::format("{}\n{}\n{}\n{}\n{}", fmt::join(cc.command, " "), cc.version,
                             fmt::join(flags, " "), processor(), source));
  const bool stays = target == Target::OpenMP;
  if (const std::string path = cache.find(key, "so"); !path.empty()) return Library(path, stays);
  return kept(build(c_steps(cc, flags, source)), key, stays, cache);
}

/// Definitions of unresolved external functions, which abort.
static std::string ends_at_externals(const Program& program) {
  if (program.externals.empty()) return "";
  std::string out = "#include <stdio.h>\n#include <stdlib.h>\n";
  for (const std::string& f : program.externals)
    out += fmt::format(
        "__attribute__((used)) static void moonloop_no_{0}(void) {{\n"
        "  fputs(\"error: the kernel called `{0}`, which is external [external-call]\\n\", "
        "stderr);\n"
        "  _Exit(4);\n}}\n__asm__(\".globl {0}\\n.set {0}, moonloop_no_{0}\");\n",
        f);
  return out;
}

std::string uniform_entry(const Program& program) {
  std::string out = fmt::format(
      "\n#include <stdint.h>\n"
      "__attribute__((visibility(\"default\"))) void {}(void *const *moonloop_args);\n"
      // Through a pointer that the compiler does not see through: GCC 12's interprocedural analysis
      // at -O1 takes some kernels that write `a[n - i]` to write nothing, and leaves the call out.
      "void {}(void *const *moonloop_args) {{\n  __typeof__({}) *volatile moonloop_kernel = {};\n"
      "  moonloop_kernel(",
      entry_name(program), entry_name(program), program.name, program.name);
  for (std::size_t i = 0; i < program.params.size(); ++i) {
    const Parameter& p = program.params[i];
    out += i ? ",\n    " : "\n    ";
    if (p.is_array) {
      out += fmt::format("moonloop_args[{}]", i);
    } else {
      if (p.type.is_record())
        fail("unsupported", {}, "scalar `{}` of record type {} cannot be passed", p.name,
             p.type.str());
      out += fmt::format("*(const {} *)moonloop_args[{}]", c_type(p.type.scalar), i);
    }
  }
  return out + ");\n}\n" + ends_at_externals(program);
}

namespace {

/// The functions that ISPC's code calls for tasks: they run while they are launched, in threads.
constexpr const char* kTasks = R"(
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

typedef void (*moonloop_task)(void *, int, int, int, int, int, int, int, int, int, int);

__attribute__((visibility("default"))) void *ISPCAlloc(void **handle, int64_t size, int32_t alignment) {
  size_t const step = alignment < 64 ? 64 : (size_t)alignment;
  char *block = aligned_alloc(step, (step + (size_t)size + step - 1) / step * step);
  if (!block) abort();
  *(void **)block = *handle; /* a list of all blocks of one function */
  *handle = block;
  return block + step;
}

__attribute__((visibility("default"))) void ISPCLaunch(void **handle, void *f, void *data, int n0,
                                                       int n1, int n2) {
  int64_t const all = (int64_t)n0 * n1 * n2;
  (void)handle;
#pragma omp parallel for
  for (int64_t i = 0; i < all; ++i)
    ((moonloop_task)f)(data, omp_get_thread_num(), omp_get_num_threads(), (int)i, (int)all,
                       (int)(i % n0), (int)(i / n0 % n1), (int)(i / n0 / n1), n0, n1, n2);
}

__attribute__((visibility("default"))) void ISPCSync(void *handle) {
  while (handle) {
    void *next = *(void **)handle;
    free(handle);
    handle = next;
  }
}
)";

/// Math functions are those of C's library, integers wrap around: as in other targets' code.
std::vector<std::string> ispc_flags(const CompileOptions& options) {
  std::vector<std::string> out{fmt::format("-O{}", options.level), "--pic", "--math-lib=system",
                               "--wrap-signed-int", "--woff"};
  if (!options.contract) out.emplace_back("--opt=disable-fma");
  for (std::string& w : words(std::getenv("MOONLOOP_ISPCFLAGS"))) out.push_back(std::move(w));
  return out;
}

Library compile_ispc(const Program& program, const CompileOptions& options, const Cache& cache) {
  const CCompiler ispc = find_ispc_compiler(), cc = find_c_compiler();
  const std::string entry = program.header + uniform_entry(program) + kTasks;
  const std::vector<std::string> own = ispc_flags(options),
                                 flags = compile_flags(Target::OpenMP, options);
  const std::string key = Cache::key(fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", fmt::join(ispc.command, " "), ispc.version,
      fmt::join(own, " "), cc.version, fmt::join(flags, " "), processor(), program.source, entry));
  if (const std::string path = cache.find(key, "so"); !path.empty()) return Library(path, true);
  return kept(
      build({step_of(ispc, own, {"-o", "kernel.o", "kernel.ispc"}, "kernel.ispc", program.source),
             step_of(cc, flags, {"-o", "kernel.so", "entry.c", "kernel.o", "-lm"}, "entry.c",
                     entry)}),
      key, true, cache);
}

}  // namespace

Executable::Executable(const Program& program, const CompileOptions& options, const Cache& cache)
    : Executable(program, features_of(program.target).gangs
                              ? compile_ispc(program, options, cache)
                              : compile(program.source + uniform_entry(program), program.target,
                                        options, cache)) {}

Executable::Executable(const Program& program, Library library) : library_(std::move(library)) {
  entry_ = reinterpret_cast<void (*)(void* const*)>(library_.find(entry_name(program)));
}

}  // namespace moonloop
