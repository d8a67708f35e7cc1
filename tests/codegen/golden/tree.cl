__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void norm(__global float const *restrict a, __global float *restrict b) {
  int const i = get_local_id(0);
  int const r = get_group_id(0);
  __local float acc_i_shared[8];
  float acc_i = 0.0f;
  acc_i += a[8*(long)r + i]*a[8*(long)r + i];
  acc_i_shared[get_local_id(0)] = acc_i;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < 4)
    acc_i_shared[get_local_id(0)] += acc_i_shared[get_local_id(0) + 4];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < 2)
    acc_i_shared[get_local_id(0)] += acc_i_shared[get_local_id(0) + 2];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < 1)
    acc_i_shared[get_local_id(0)] += acc_i_shared[get_local_id(0) + 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  acc_i = acc_i_shared[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    b[r] = sqrt(acc_i);
}
