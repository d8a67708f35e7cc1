#include <cstring>

#include "core/base/half.h"
#include "core/interpreter/interpreter_bounds.h"
#include "core/interpreter/interpreter_scalars.h"

/// Stores of numbers with their bounds, and the places of accesses that vary.
namespace moonloop::interp {

bool Access::varies() const {
  return std::any_of(axes.begin(), axes.end(),
                     [](const Axis& x) { return x.index.general && x.index.general->varies(); });
}

BoundedAddress Access::bounded(const Accuracy& a) const {
  bool sure = true;
  for (const Axis& x : axes)
    if (x.index.general && x.index.general->varies() && x.index.general->bounded(a).e > 0)
      sure = false;
  return {at(), sure};
}

void Access::blur(const Accuracy& a) const {
  // The box of places along the axes; records as a whole.
  std::vector<std::pair<std::int64_t, std::int64_t>> range;
  for (const Axis& x : axes) {
    BoundedInt i{0, 0};
    if (x.index.general && x.index.general->varies())
      i = x.index.general->bounded(a);
    else
      i.v = x.index.get();
    const auto extent = static_cast<double>(x.extent);
    const double v = static_cast<double>(i.v - x.base);
    const double low = std::max(0.0, v - i.e), high = std::min(extent - 1, v + i.e);
    if (low > high) return;
    range.emplace_back(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }
  std::vector<std::int64_t> at;
  for (const auto& [low, high] : range) at.push_back(low);
  while (true) {
    const char* p = *data + offset;
    for (std::size_t d = 0; d < axes.size(); ++d) p += at[d] * axes[d].stride;
    shadow->at(p) = kUndecided;
    std::size_t d = axes.size();
    while (d > 0 && ++at[d - 1] > range[d - 1].second) {
      at[d - 1] = range[d - 1].first;
      --d;
    }
    if (d == 0) return;
  }
}

namespace {

/// One part of an integer varies, and so does the whole.
struct WithParts final : IntNode {
  IntPtr inner;
  std::vector<const IntNode*> parts;
  bool adds = false;
  std::int64_t get() const override { return inner->get(); }
  bool varies() const override { return true; }
  BoundedInt bounded(const Accuracy& a) const override {
    double e = 0;
    for (const IntNode* p : parts) e += p->bounded(a).e;
    return {inner->get(), e > 0 && !adds ? kUndecided : e};
  }
};

}  // namespace

Value with_parts(Value v, std::vector<const IntNode*> parts, bool adds) {
  std::erase_if(parts, [](const IntNode* p) { return !p->varies(); });
  if (parts.empty()) return v;
  auto node = std::make_unique<WithParts>();
  node->inner = std::move(v.i);
  node->parts = std::move(parts);
  node->adds = adds;
  v.i = std::move(node);
  return v;
}

namespace {

/// Numbers of one type in memory.
template <class T>
struct Integers {
  using Node = IntNode;
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  static std::int64_t get(const char* p) {
    return wrapped<T>(static_cast<std::uint64_t>(read<Stored>(p)));
  }
  static void put(char* p, std::int64_t v) { write<Stored>(p, v); }
  static double kept(const Accuracy&, const BoundedInt& x) { return x.e; }
};
struct Halves {
  using Node = RealNode;
  using Computed = float;
  static constexpr double kStep = kHalfUnit;
  static double get(const char* p) { return half_value(read<std::uint16_t>(p)); }
  static void put(char* p, double v) { write<std::uint16_t>(p, half_bits(static_cast<float>(v))); }
  static double kept(const Accuracy& a, const BoundedReal& x) {
    return half_bound(a, half_value(half_bits(static_cast<float>(x.v))), x);
  }
};
template <class R>
struct Reals {
  using Node = RealNode;
  using Computed = R;
  static constexpr double kStep = kUnit<R>;
  static double get(const char* p) { return static_cast<double>(read<R>(p)); }
  static void put(char* p, double v) { write<R>(p, v); }
  static double kept(const Accuracy&, const BoundedReal& x) { return x.e; }
};
template <class R>
struct Complexes {
  using Node = ComplexNode;
  using Computed = R;
  static constexpr double kStep = kUnit<R>;
  static Complex get(const char* p) {
    return {static_cast<double>(read<R>(p)), static_cast<double>(read<R>(p + sizeof(R)))};
  }
  static void put(char* p, const Complex& v) {
    write<R>(p, v.real());
    write<R>(p + sizeof(R), v.imag());
  }
  static double kept(const Accuracy&, const BoundedComplex& x) { return x.e; }
};

/// In single precision, of sums in double precision, to which each step rounds.
struct NarrowReals : Reals<float> {
  using Computed = double;
};
struct NarrowComplexes : Complexes<float> {
  using Computed = double;
};

template <class V>
double distance(const V& x, const V& y) {
  if (x == y) return 0;
  const double d = [&] {
    if constexpr (std::is_same_v<V, std::int64_t>)
      return std::fabs(static_cast<double>(x) - static_cast<double>(y));
    else
      return size_of_number(x - y);
  }();
  return d < kUndecided ? d : kUndecided;
}

/// Where a store goes, and how it is written down.
template <class Form>
struct BoundedStore : Store {
  using Number = typename Form::Node::Number;
  Access to;
  Bounded<Number> held{};
  BoundedAddress address;
  explicit BoundedStore(Access a) : to(std::move(a)) {}
  const Accuracy& accuracy() const { return *to.shadow->accuracy; }
  Shadow* shadow() const override { return to.shadow; }

  void find() { address = to.bounded(accuracy()); }
  /// After a write: `e` is the bound. A sum starts again.
  void note(double e) {
    Shadow& s = *to.shadow;
    s.at(address.at) = e;
    if (!s.sums.empty()) s.sums[s.place(address.at)] = {};
    if (!address.sure) to.blur(accuracy());
  }
};

template <class Form>
struct ValueStore final : BoundedStore<Form> {
  using Base = BoundedStore<Form>;
  std::unique_ptr<typename Form::Node> value;
  ValueStore(Access a, std::unique_ptr<typename Form::Node> v)
      : Base(std::move(a)), value(std::move(v)) {}
  void prepare() override {
    this->held = value->bounded(this->accuracy());
    this->held.e = Form::kept(this->accuracy(), this->held);
    this->find();
  }
  void commit() override {
    Form::put(this->address.at, this->held.v);
    this->note(this->held.e);
  }
  void commit_open(bool taken) override {
    const auto old = Form::get(this->address.at);
    const double before = this->to.shadow->at(this->address.at);
    if (taken) Form::put(this->address.at, this->held.v);
    const double apart = distance(old, this->held.v);
    this->note(taken ? std::max(this->held.e, apart + before)
                     : std::max(before, apart + this->held.e));
  }
};

/// See SumStep. The value before the first step counts as a term.
template <class Form>
struct SumStore final : BoundedStore<Form> {
  using Base = BoundedStore<Form>;
  using Node = typename Form::Node;
  using Number = typename Node::Number;
  using R = typename Form::Computed;
  std::size_t place = 0;
  std::vector<std::unique_ptr<Node>> terms;
  IntPtr restart;
  std::vector<AddedSum> sums;
  Shadow::Sum added;  // by the terms
  bool anew = false, open = false;
  SumStore(Access a, SumStep step) : Base(std::move(a)), place(step.place) {
    for (Value& v : step.terms)
      if constexpr (std::is_same_v<Node, RealNode>)
        terms.push_back(std::move(v.r));
      else
        terms.push_back(std::move(v.c));
    restart = std::move(step.restart);
    sums = std::move(step.sums);
  }

  static Number plus(const Number& x, const Number& y) {
    if constexpr (std::is_same_v<Number, double>)
      return static_cast<double>(static_cast<R>(x + y));
    else
      return widen(narrow<R>(x) + narrow<R>(y));
  }
  void prepare() override {
    const Accuracy& a = this->accuracy();
    this->find();
    anew = open = false;
    if (restart) {
      const BoundedInt b = restart->bounded(a);
      anew = b.v != 0;
      open = b.e > 0;
    }
    added = {};
    Number v{};
    for (std::size_t i = 0; i < terms.size(); ++i) {
      Number x{};
      if (i == place) {
        if (anew) continue;
        x = Form::get(this->address.at);
      } else {
        const auto t = terms[i]->bounded(a);
        x = t.v;
        added.passed += t.e;
        added.size += size_of_number(t.v);
        added.count += 1;
      }
      v = i == 0 || (i == 1 && place == 0 && anew) ? x : plus(v, x);
    }
    for (const AddedSum& s : sums) {
      const Shadow::Sum& own =
          s.accumulator.shadow->sums[s.accumulator.shadow->place(s.accumulator.bounded(a).at)];
      added.size += own.size;
      added.count += own.count;
    }
    this->held.v = v;
  }
  void commit() override { add(true, 0); }
  void commit_open(bool taken) override { add(taken, added.size + added.passed); }

  void add(bool taken, double further) {
    Shadow& s = *this->to.shadow;
    Shadow::Sum& sum = s.sums[s.place(this->address.at)];
    if (anew)
      sum = {};
    else if (!(s.at(this->address.at) < kUndecided))
      sum.passed = kUndecided;  // other stores may have hit it
    else if (sum.count == 0)
      begin(sum, Form::get(this->address.at), s.at(this->address.at));
    sum.passed += added.passed + further;
    sum.size += added.size;
    sum.count += added.count;
    if (taken) Form::put(this->address.at, this->held.v);
    double e = sum.passed;
    if (sum.count > 1) {
      const double steps = (this->accuracy().device ? 4 : 2) * (sum.count - 1);
      e += steps * Form::kStep * sum.size + underflow<R>(this->accuracy(), sum.size);
    }
    if constexpr (std::is_same_v<Form, Halves>)
      e += Form::kept(this->accuracy(), {this->held.v, 0});
    if (!finite(this->held.v))
      e = sum.passed == 0 ? 0 : kUndecided;  // overflows, or has a term that is not finite
    else if (!(e < kUndecided) || open)
      e = kUndecided;
    s.at(this->address.at) = e;
    if (!this->address.sure) this->to.blur(this->accuracy());
  }
  static void begin(Shadow::Sum& sum, const Number& v, double e) {
    if (e == 0 && v == Number{}) return;
    sum = {e, size_of_number(v), 1};
  }
};

/// A whole record, through a copy: with several assignees one may be the source of another.
struct RecordStore final : Store {
  Access to;
  AddressPtr value;
  std::vector<char> bytes;
  std::vector<double> bounds;
  BoundedAddress address;
  RecordStore(Access a, AddressPtr v, std::size_t size)
      : to(std::move(a)), value(std::move(v)), bytes(size), bounds(size >> to.shadow->shift) {}
  Shadow* shadow() const override { return to.shadow; }
  void prepare() override {
    const Accuracy& a = *to.shadow->accuracy;
    const auto [from, shadow] = value->bounded(a);
    std::copy(from.at, from.at + bytes.size(), bytes.begin());
    for (std::size_t i = 0; i < bounds.size(); ++i)
      bounds[i] = !from.sure ? kUndecided
                  : shadow   ? shadow->at(from.at + (i << to.shadow->shift))
                             : 0;
    address = to.bounded(a);
  }
  void commit() override { write_down(true, true); }
  void commit_open(bool taken) override { write_down(taken, false); }
  void write_down(bool taken, bool decided) {
    if (taken) std::copy(bytes.begin(), bytes.end(), address.at);
    Shadow& s = *to.shadow;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const std::size_t at = s.place(address.at + (i << s.shift));
      s.bounds[at] = address.sure && decided ? bounds[i] : kUndecided;
      if (!s.sums.empty()) s.sums[at] = {};
    }
    if (!address.sure) to.blur(*s.accuracy);
  }
};

template <class Form>
std::unique_ptr<Store> value_store(Access to, std::unique_ptr<typename Form::Node> v) {
  return std::make_unique<ValueStore<Form>>(std::move(to), std::move(v));
}

}  // namespace

std::unique_ptr<Store> bounded_store(Access to, const Type& t, Value value) {
  if (t.is_record())
    return std::make_unique<RecordStore>(std::move(to), std::move(value.a),
                                         static_cast<std::size_t>(t.size()));
  if (holds_int(t))
    return with_int(t.scalar, [&](auto zero) {
      return value_store<Integers<decltype(zero)>>(std::move(to), std::move(value.i));
    });
  if (t == Type(Scalar::F16)) return value_store<Halves>(std::move(to), std::move(value.r));
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t)) return value_store<Reals<R>>(std::move(to), std::move(value.r));
    return value_store<Complexes<R>>(std::move(to), std::move(value.c));
  });
}

std::unique_ptr<Store> sum_store(Access to, const Type& t, SumStep step) {
  if (t == Type(Scalar::F16))
    return std::make_unique<SumStore<Halves>>(std::move(to), std::move(step));
  if (step.wide && holds_real(t))
    return std::make_unique<SumStore<NarrowReals>>(std::move(to), std::move(step));
  if (step.wide) return std::make_unique<SumStore<NarrowComplexes>>(std::move(to), std::move(step));
  return with_real(t.scalar, [&](auto zero) -> std::unique_ptr<Store> {
    using R = decltype(zero);
    if (holds_real(t)) return std::make_unique<SumStore<Reals<R>>>(std::move(to), std::move(step));
    return std::make_unique<SumStore<Complexes<R>>>(std::move(to), std::move(step));
  });
}

}  // namespace moonloop::interp
