#pragma once

// The lists for codegen/reserved.h: words with a space after each.
namespace moonloop::reserved {

extern const char* const kKeywords;     // of C and, because headers are read by it, of C++
extern const char* const kMacros;       // of the headers that generated C includes
extern const char* const kTypes;        // that these headers declare
extern const char* const kLibrary;      // functions and variables of the C library and POSIX
extern const char* const kMathematics;  // functions of <math.h>, without `f`, `l`, `f64`, ...
extern const char* const kOpenCLKeywords;
extern const char* const kOpenCLMacros;
extern const char* const kOpenCLFunctions;
extern const char* const kCudaWords;     // variables, types and functions of a kernel
extern const char* const kCudaMacros;    // of the headers that nvcc includes by itself
extern const char* const kIspcWords;     // keywords, variables and functions of its library
extern const char* const kFortranNames;  // of iso_c_binding, and intrinsic functions in use

}  // namespace moonloop::reserved
