#pragma once
#include <cstdint>
#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/mat.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/polynomial.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// A thin owner around isl's C objects. isl functions are called as they are:
///
///     Set d = parse_set("[n] -> { [i] : 0 <= i < n }");
///     Set e = isl_set_intersect(d.copy(), other.copy());  // __isl_take: copy() or take()
///     bool b = yes(isl_set_is_empty(e.get()));            // __isl_keep: get()
///
/// A null result throws IslError with isl's own message. One isl_ctx per thread, never freed before
/// the thread's objects.
namespace moonloop {

class IslError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

isl_ctx* isl();                 // this thread's context
[[noreturn]] void throw_isl();  // throws IslError with the context's last message
inline bool yes(isl_bool b) {
  if (b == isl_bool_error) throw_isl();
  return b == isl_bool_true;
}
inline int count(isl_size n) {
  if (n < 0) throw_isl();
  return n;
}
inline void check(isl_stat s) {
  if (s == isl_stat_error) throw_isl();
}

template <class T, T* (*Copy)(T*), T* (*Free)(T*)>
class Owner {
 public:
  Owner() = default;
  Owner(T* p) : p_(p) {  // NOLINT: takes over the result of an isl function
    if (!p) throw_isl();
  }
  Owner(const Owner& o) : p_(o.p_ ? Copy(o.p_) : nullptr) {}
  Owner(Owner&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Owner& operator=(Owner o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Owner() {
    if (p_) Free(p_);
  }
  explicit operator bool() const { return p_ != nullptr; }
  T* get() const { return p_; }
  T* copy() const { return Copy(p_); }
  T* take() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

using Set = Owner<isl_set, isl_set_copy, isl_set_free>;
using BasicSet = Owner<isl_basic_set, isl_basic_set_copy, isl_basic_set_free>;
using Map = Owner<isl_map, isl_map_copy, isl_map_free>;
using BasicMap = Owner<isl_basic_map, isl_basic_map_copy, isl_basic_map_free>;
using UnionSet = Owner<isl_union_set, isl_union_set_copy, isl_union_set_free>;
using UnionMap = Owner<isl_union_map, isl_union_map_copy, isl_union_map_free>;
using Space = Owner<isl_space, isl_space_copy, isl_space_free>;
using LocalSpace = Owner<isl_local_space, isl_local_space_copy, isl_local_space_free>;
using Id = Owner<isl_id, isl_id_copy, isl_id_free>;
using Val = Owner<isl_val, isl_val_copy, isl_val_free>;
using Point = Owner<isl_point, isl_point_copy, isl_point_free>;
using Aff = Owner<isl_aff, isl_aff_copy, isl_aff_free>;
using PwAff = Owner<isl_pw_aff, isl_pw_aff_copy, isl_pw_aff_free>;
using MultiAff = Owner<isl_multi_aff, isl_multi_aff_copy, isl_multi_aff_free>;
using MultiPwAff = Owner<isl_multi_pw_aff, isl_multi_pw_aff_copy, isl_multi_pw_aff_free>;
using PwMultiAff = Owner<isl_pw_multi_aff, isl_pw_multi_aff_copy, isl_pw_multi_aff_free>;
using Constraint = Owner<isl_constraint, isl_constraint_copy, isl_constraint_free>;
using Schedule = Owner<isl_schedule, isl_schedule_copy, isl_schedule_free>;
using ScheduleNode = Owner<isl_schedule_node, isl_schedule_node_copy, isl_schedule_node_free>;
using AstBuild = Owner<isl_ast_build, isl_ast_build_copy, isl_ast_build_free>;
using AstNode = Owner<isl_ast_node, isl_ast_node_copy, isl_ast_node_free>;
using AstExpr = Owner<isl_ast_expr, isl_ast_expr_copy, isl_ast_expr_free>;
using PwQPolynomial = Owner<isl_pw_qpolynomial, isl_pw_qpolynomial_copy, isl_pw_qpolynomial_free>;

// isl's visitors, which let no exception through, as lists.
std::vector<BasicSet> parts_of(const Set& s);
std::vector<Constraint> constraints_of(const BasicSet& b);

/// As isl_set_intersect(), which also finds out whether the result is empty; this leaves that open
/// where both have one part.
Set intersect(const Set& a, const Set& b);

std::string str(const Set& s);
std::string str(const Map& m);
std::string str(const PwAff& a);

std::int64_t to_int(const Val& v);  // fails `integer-overflow`; IslError where it is not an integer

}  // namespace moonloop
