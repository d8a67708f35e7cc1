void k(int32_t n, double const *restrict a, double *restrict x, double *restrict y,
       double const *restrict z, int32_t const *restrict w, int32_t const *restrict c) {
  for (int32_t i = 0; i < n; ++i) {
    double acc_j = -INFINITY;
    double acc_j_0 = INFINITY;
    #pragma omp simd reduction(min: acc_j_0) reduction(max: acc_j)
    for (int32_t j = 0; j < n; ++j) {
      acc_j = greater_f64(acc_j, a[(int64_t)n*i + j]);
      acc_j_0 = lesser_f64(acc_j_0, fabs(a[(int64_t)n*j + i]));
    }
    x[i] = acc_j;
    y[i] = acc_j_0;
  }
}
