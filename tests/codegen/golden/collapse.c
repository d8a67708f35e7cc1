#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-split-loops")
#endif

void matmul(int32_t n, double const *restrict a, double const *restrict b, double *restrict c) {
  #pragma omp parallel for collapse(2)
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      double acc_k = 0.0;
      #pragma omp simd reduction(+:acc_k)
      for (int32_t k = 0; k < n; ++k)
        acc_k += a[(int64_t)n*i + k]*b[(int64_t)n*k + j];
      c[(int64_t)n*i + j] = acc_k;
    }
  }
}
