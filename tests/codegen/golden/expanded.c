#include <math.h>
#include <stdint.h>

#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((__simd__("notinbranch"))) double sin(double);
#endif

void crossing(int32_t n, double const *restrict a, double *restrict b) {
  #pragma omp parallel for
  for (int32_t g = 0; g < n / 16; ++g) {
    double own[16];
    double t[16];
    for (int32_t l = 0; l < 16; ++l) {
      own[l] = sin(a[16*g + l]);
      t[l] = a[16*g + l];
    }
    for (int32_t l = 1; l < 16; ++l)
      b[16*g + l] = own[l] + t[l - 1];
  }
}
