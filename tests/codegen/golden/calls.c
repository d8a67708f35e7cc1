#include <stdint.h>

static void smooth(int32_t n, double w, double const *restrict x, double *restrict y) {
  y[0] = x[0];
  y[n - 1] = x[n - 1];
  for (int32_t i = 1; i < n - 1; ++i)
    y[i] = w*x[i] + 0.5*(1 - w)*(x[i - 1] + x[i + 1]);
}

static void total(int32_t n, double const *restrict x, double const *restrict first,
                  double *restrict s) {
  double acc_i = 0.0;
  for (int32_t i = 0; i < n; ++i)
    acc_i += x[i];
  s[0] = first[0] + acc_i;
}

void rows(int32_t n, int32_t m, double const *restrict a, double *restrict b, double *restrict t) {
  for (int32_t j = 0; j < m; ++j) {
    smooth(n, 0.25, &a[(int64_t)n*j], &b[(int64_t)n*j]);
    {
      double const argument = 2*j;
      total(n, &b[(int64_t)n*j], &argument, &t[j]);
    }
  }
}
