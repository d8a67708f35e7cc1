  !$moonloop begin transform
  ! local x = 1
  ! dgemm = lp.split_iname(dgemm, "nosuch", 4)
  !$moonloop end transform
