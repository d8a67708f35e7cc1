#include <stdint.h>

void matmul(int32_t n, double const *restrict a, double const *restrict b, double *restrict c) {
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < n; ++j) {
      double acc_k = 0.0;
      for (int32_t k = 0; k < n; ++k)
        acc_k += a[(int64_t)n*i + k]*b[(int64_t)n*k + j];
      c[(int64_t)n*i + j] = acc_k;
    }
}
