__kernel __attribute__((reqd_work_group_size(24, 2, 1)))
void norm(int const m, __global float const *restrict a, __global float *b) {
  int const i = get_local_id(0);
  int const q = get_local_id(1);
  int const r = get_group_id(0);
  __local float acc_i_shared[48];
  float acc_i = 0.0f;
  if (q + 2*r < m) {
    acc_i = 0.0f;
    acc_i += a[24*(long)(q + 2*r) + i]*a[24*(long)(q + 2*r) + i];
  }
  {
    int const item = get_local_id(0) + 24*get_local_id(1);
    acc_i_shared[item] = acc_i;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < 8) {
      acc_i_shared[item] += acc_i_shared[item + 16];
    }
    for (int reach = 8; reach > 0; reach /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (get_local_id(0) < reach) {
        acc_i_shared[item] += acc_i_shared[item + reach];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    acc_i = acc_i_shared[item - get_local_id(0)];
  }
  if (q + 2*r < m)
    if (get_local_id(0) == 0)
      b[q + 2*r] = sqrt(acc_i);
}
