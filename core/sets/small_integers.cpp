#include <gmp.h>

#include <bit>
#include <cstdint>
#include <cstring>

// isl computes with GMP's integers, nearly all of which fit into a machine word. What isl calls
// most is answered here for such operands and results, if the result has room for a word; GMP
// answers the rest, as does isl for its isl_seq_gcd. cmake/FindISL.cmake lists the functions: the
// linker turns calls of these here.

namespace {

static_assert(GMP_LIMB_BITS == 64 && GMP_NAIL_BITS == 0);
__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

bool is_small(mpz_srcptr a) { return unsigned(a->_mp_size + 1) <= 2; }  // -1, 0 or 1 words
bool has_word(mpz_srcptr a) { return a->_mp_alloc > 0; }
/// The absolute value of a small one.
std::uint64_t magnitude(mpz_srcptr a) { return a->_mp_size == 0 ? 0 : a->_mp_d[0]; }
/// Whether it is small, and less than half of what a word holds.
bool fits_half(mpz_srcptr a) { return is_small(a) && magnitude(a) >> 63 == 0; }
/// Of one that fits_half accepts.
std::int64_t value(mpz_srcptr a) {
  const auto m = std::int64_t(magnitude(a));
  return a->_mp_size < 0 ? -m : m;
}

void put(mpz_ptr r, std::uint64_t magnitude, int sign) {
  r->_mp_d[0] = magnitude;
  r->_mp_size = magnitude == 0 ? 0 : sign;
}
/// Whether the value fits, and is in `r` then.
bool put(mpz_ptr r, SignedWide value) {
  const Wide m = value < 0 ? -Wide(value) : Wide(value);
  if (m >> 64 != 0) return false;
  put(r, std::uint64_t(m), value < 0 ? -1 : 1);
  return true;
}

/// `r` and the product of `a` and `b`, the latter times `sign`.
bool add_product(mpz_ptr r, mpz_srcptr a, mpz_srcptr b, int sign) {
  if (a->_mp_size == 0 || b->_mp_size == 0) return true;
  if (!has_word(r) || !fits_half(r) || !fits_half(a) || !fits_half(b)) return false;
  return put(r, value(r) + sign * SignedWide(value(a)) * value(b));
}

// Blocks of one word that numbers gave back, for the next ones: isl makes and drops a million
// numbers in a second. What allocated them frees them.
struct Words {
  static constexpr unsigned kMost = 1 << 15;
  void* first = nullptr;  // each holds the address of the next one
  unsigned count = 0;
  bool begun = false, ended = false;
};
constinit thread_local Words words;

/// Gives the blocks back when the thread ends.
struct WordsEnd {
  WordsEnd() = default;
  WordsEnd(const WordsEnd&) = delete;
  WordsEnd& operator=(const WordsEnd&) = delete;
  ~WordsEnd() {
    void (*give)(void*, std::size_t) = nullptr;
    mp_get_memory_functions(nullptr, nullptr, &give);
    words.ended = true;
    while (void* p = words.first) {
      std::memcpy(&words.first, p, sizeof words.first);
      give(p, sizeof(mp_limb_t));
    }
  }
};

void begin_words() {
  static thread_local WordsEnd end;
  words.begun = true;
}

int compare(std::uint64_t a, std::uint64_t b) { return a < b ? -1 : a > b; }

/// Zero and a number have that number in common.
std::uint64_t common_divisor(std::uint64_t x, std::uint64_t y) {
  if (x == 0 || y == 0) return x | y;
  const int twos = std::countr_zero(x | y);
  x >>= std::countr_zero(x);
  y >>= std::countr_zero(y);
  while (x != y && x != 1 && y != 1) {  // both odd
    if (x < y) {
      y -= x;
      y >>= std::countr_zero(y);
    } else {
      x -= y;
      x >>= std::countr_zero(x);
    }
  }
  return (x < y ? x : y) << twos;
}

}  // namespace

extern "C" {
// NOLINTBEGIN: the linker's names
void __real___gmpz_add(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real___gmpz_clear(mpz_ptr);
void* __real___gmpz_realloc(mpz_ptr, mp_size_t);
void __real___gmpz_addmul(mpz_ptr, mpz_srcptr, mpz_srcptr);
int __real___gmpz_cmp(mpz_srcptr, mpz_srcptr);
int __real___gmpz_cmpabs(mpz_srcptr, mpz_srcptr);
void __real___gmpz_divexact(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real___gmpz_fdiv_q(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real___gmpz_gcd(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real___gmpz_mul(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real___gmpz_set(mpz_ptr, mpz_srcptr);
void __real___gmpz_sub(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real___gmpz_submul(mpz_ptr, mpz_srcptr, mpz_srcptr);
void __real_isl_seq_gcd(mpz_t*, unsigned, mpz_t*);

void __wrap___gmpz_add(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (has_word(r) && fits_half(a) && fits_half(b)) {
    put(r, SignedWide(value(a)) + value(b));
    return;
  }
  __real___gmpz_add(r, a, b);
}

void __wrap___gmpz_addmul(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (!add_product(r, a, b, 1)) __real___gmpz_addmul(r, a, b);
}

void __wrap___gmpz_clear(mpz_ptr r) {
  Words& w = words;
  if (r->_mp_alloc == 0) return;
  if (r->_mp_alloc != 1 || w.count >= Words::kMost || w.ended) return __real___gmpz_clear(r);
  if (!w.begun) begin_words();
  std::memcpy(r->_mp_d, &w.first, sizeof w.first);
  w.first = r->_mp_d;
  ++w.count;
}

void* __wrap___gmpz_realloc(mpz_ptr r, mp_size_t limbs) {
  Words& w = words;
  if (r->_mp_alloc != 0 || limbs > 1 || !w.first) return __real___gmpz_realloc(r, limbs);
  r->_mp_d = static_cast<mp_ptr>(w.first);
  r->_mp_alloc = 1;
  std::memcpy(&w.first, r->_mp_d, sizeof w.first);
  --w.count;
  return r->_mp_d;
}

int __wrap___gmpz_cmp(mpz_srcptr a, mpz_srcptr b) {
  if (a->_mp_size != b->_mp_size) return a->_mp_size < b->_mp_size ? -1 : 1;
  if (!is_small(a)) return __real___gmpz_cmp(a, b);
  return a->_mp_size * compare(magnitude(a), magnitude(b));
}

int __wrap___gmpz_cmpabs(mpz_srcptr a, mpz_srcptr b) {
  if (is_small(a) && is_small(b)) return compare(magnitude(a), magnitude(b));
  return __real___gmpz_cmpabs(a, b);
}

void __wrap___gmpz_divexact(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (has_word(r) && is_small(a) && is_small(b) && b->_mp_size != 0) {
    const std::uint64_t by = b->_mp_d[0];
    const int sign = a->_mp_size * b->_mp_size;
    put(r, by == 1 ? magnitude(a) : magnitude(a) / by, sign);
    return;
  }
  __real___gmpz_divexact(r, a, b);
}

void __wrap___gmpz_fdiv_q(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (has_word(r) && fits_half(a) && fits_half(b) && b->_mp_size != 0) {
    const std::int64_t x = value(a), y = value(b), q = x / y;
    put(r, SignedWide(q) - (x % y != 0 && (x < 0) != (y < 0)));
    return;
  }
  __real___gmpz_fdiv_q(r, a, b);
}

void __wrap___gmpz_gcd(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (has_word(r) && is_small(a) && is_small(b)) {
    put(r, common_divisor(magnitude(a), magnitude(b)), 1);
    return;
  }
  __real___gmpz_gcd(r, a, b);
}

void __wrap___gmpz_mul(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (a->_mp_size == 0 || b->_mp_size == 0) {
    r->_mp_size = 0;
    return;
  }
  if (has_word(r) && is_small(a) && is_small(b)) {
    const Wide product = Wide(a->_mp_d[0]) * b->_mp_d[0];
    if (product >> 64 == 0) {
      put(r, std::uint64_t(product), a->_mp_size * b->_mp_size);
      return;
    }
  }
  __real___gmpz_mul(r, a, b);
}

void __wrap___gmpz_set(mpz_ptr r, mpz_srcptr a) {
  if (a->_mp_size == 0) {
    r->_mp_size = 0;
    return;
  }
  if (is_small(a)) {
    const std::uint64_t word = a->_mp_d[0];
    const int sign = a->_mp_size;
    if (!has_word(r)) __wrap___gmpz_realloc(r, 1);
    put(r, word, sign);
    return;
  }
  __real___gmpz_set(r, a);
}

void __wrap___gmpz_set_si(mpz_ptr r, long v) {
  if (v == 0) {
    r->_mp_size = 0;
    return;
  }
  if (!has_word(r)) __wrap___gmpz_realloc(r, 1);
  put(r, SignedWide(v));
}

void __wrap___gmpz_sub(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (has_word(r) && fits_half(a) && fits_half(b)) {
    put(r, SignedWide(value(a)) - value(b));
    return;
  }
  __real___gmpz_sub(r, a, b);
}

void __wrap___gmpz_submul(mpz_ptr r, mpz_srcptr a, mpz_srcptr b) {
  if (!add_product(r, a, b, -1)) __real___gmpz_submul(r, a, b);
}

/// What `n` integers have in common.
void __wrap_isl_seq_gcd(mpz_t* all, unsigned n, mpz_t* common) {
  std::uint64_t found = 0;
  for (unsigned i = 0; i < n && found != 1; ++i) {
    if (!is_small(all[i])) {
      __real_isl_seq_gcd(all, n, common);
      return;
    }
    if (all[i]->_mp_size != 0) found = common_divisor(found, all[i]->_mp_d[0]);
  }
  if (found == 0)
    (*common)->_mp_size = 0;
  else if (has_word(*common))
    put(*common, found, 1);
  else
    mpz_set_ui(*common, found);
}
// NOLINTEND
}
