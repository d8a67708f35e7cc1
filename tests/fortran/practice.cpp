// Code of shapes found in practice: Moonloop's and gfortran's results are the same, at sizes 0, 1,
// odd and large.
#include "tests/fortran/gfortran.h"

using namespace moonloop;

namespace {

using Sizes = std::vector<GivenValues>;

/// All values of `first` with all of `second`, where there is one.
Sizes sizes(const std::string& first, const std::vector<int>& values,
            const std::string& second = "", const std::vector<int>& others = {}) {
  Sizes out;
  for (const int a : values) {
    if (second.empty()) out.push_back({{first, std::to_string(a)}});
    for (const int b : others)
      out.push_back({{first, std::to_string(a)}, {second, std::to_string(b)}});
  }
  return out;
}

const std::vector<int> kLinear{0, 1, 2, 7, 1000}, kSquare{0, 1, 2, 7, 101}, kFew{0, 1, 2, 5};

/// A file of tests/fortran/practice or of another folder, imported and compiled by gfortran.
struct Practice {
  explicit Practice(const std::string& name, const std::string& folder = "tests/fortran/practice")
      : text(test::slurp(std::string(MOONLOOP_SOURCE_DIR) + "/" + folder + "/" + name)),
        imported(test::import(text, name)),
        library(text, name),
        file(name) {}

  void check(const std::string& routine, const Sizes& all, const std::string& module = "") const {
    CAPTURE(routine);
    const auto k = std::find_if(imported.original.begin(), imported.original.end(),
                                [&](const Kernel& x) { return x.name == routine; });
    REQUIRE(k != imported.original.end());
    test::same_as_gfortran(*k, *k, library, {file, routine, module}, all, {Target::C});
  }

  std::string text;
  test::Imported imported;
  test::Library library;
  std::string file;
};

}  // namespace

TEST_CASE("practice: loops as Livermore's are") {
  const Practice file("livermore.f90");
  for (const char* routine :
       {"hydro_fragment", "cholesky_passes", "cholesky_in_place", "inner_product",
        "banded_equations", "tridiagonal_elimination", "state_equation", "adi_step",
        "integrate_predictors", "difference_predictors", "first_sum", "first_difference",
        "implicit_conditions", "discrete_ordinates", "matrix_product", "planckian",
        "first_minimum"})
    file.check(routine, sizes("n", kLinear));
  file.check("linear_recurrence", sizes("n", kSquare));
  for (const char* routine :
       {"particles_2d", "particles_1d", "casual_conditions", "implicit_hydro_2d"})
    file.check(routine, sizes("n", kSquare, "m", {0, 1, 5, 101}));
}

TEST_CASE("practice: three sweeps of hydrodynamics") {
  Practice("hydro.f90", "examples/fortran")
      .check("hydro", sizes("n", kSquare, "m", {0, 1, 5, 101}));
}

TEST_CASE("practice: a product with the stiffness matrix of spectral elements") {
  const Practice file("ax.f90", "examples/fortran");
  file.check("ax", sizes("nx", {0, 1, 2, 5}, "nelt", {0, 1, 3, 40}));
}

TEST_CASE("practice: the physics of columns of air") {
  const Practice file("column.f90");
  Sizes all = sizes("ncol", {0, 1, 7, 101}, "nlev", {0, 1, 2, 31});
  for (GivenValues& g : all) g.emplace_back("dt", "0.5");
  file.check("cloud_column", all);
}

TEST_CASE("practice: advection against the wind") {
  const Practice file("advection.f90");
  for (const char* routine : {"advect_mod", "advect_2d", "advect_split"})
    file.check(routine, sizes("n", {0, 1, 2, 7, 33}, "steps", {0, 1, 4}));
  for (const char* routine : {"advect_sections", "advect_limited"}) {
    Sizes all = sizes("n", kSquare, "steps", {0, 1, 5});
    for (GivenValues& g : all) g.emplace_back("courant", "0.4");
    file.check(routine, all);
  }
}

TEST_CASE("practice: a module whose routines call one another") {
  const Practice file("thermo.f90");
  file.check("mixture", sizes("n", kSquare, "m", kFew), "thermo");
}

TEST_CASE("practice: forall, where, do concurrent and do while") {
  const Practice file("forms.f90");
  for (const char* routine :
       {"forall_masks", "forall_overlap", "concurrent_masks", "concurrent_scalars", "where_masks",
        "where_overlap", "where_nested", "newton"})
    file.check(routine, sizes("n", kSquare));
}

TEST_CASE("practice: arrays as wholes and along axes") {
  const Practice file("forms.f90");
  for (const char* routine :
       {"products", "along_axes", "inquiries", "nested_constructors", "solve_blocks"})
    file.check(routine, sizes("n", {0, 1, 2, 7, 31}, "m", kFew));
  for (const char* routine : {"merges", "constructors", "complex_arrays"})
    file.check(routine, sizes("n", kSquare));
}

TEST_CASE("practice: derived types, tables, kinds and logicals") {
  const Practice file("forms.f90");
  for (const char* routine :
       {"derived_type", "derived_array", "selections", "tables", "integer_kinds"})
    file.check(routine, sizes("n", kSquare));
  Sizes all;
  for (const char* n : {"0", "1", "7", "101"})
    for (const char* up : {"0", "1"})
      for (const char* strict : {"0", "1"})
        all.push_back({{"n", n}, {"up", up}, {"strict", strict}});
  file.check("logicals", all);
}

TEST_CASE("practice: arrays that functions make, places, shapes, subscripts from arrays") {
  const Practice file("made.f90");
  for (const char* routine : {"array_functions", "extremes", "subscripts", "masks_of_rows"})
    file.check(routine, sizes("n", {0, 1, 2, 7, 31}), "made");
  for (const char* routine : {"reshapes", "counters"})
    file.check(routine, sizes("n", {0, 1, 2, 7, 31}, "m", kFew), "made");
}
