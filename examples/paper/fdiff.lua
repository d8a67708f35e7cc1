-- Tiles of 16; each stages the 17 values of u that it reads.
fdiff = lp.split_iname(fdiff, "i", 16)
fdiff = lp.assume(fdiff, "n mod 16 = 0")
fdiff = lp.extract_subst(fdiff, "u_acc", "u[j]", {parameters = "j"})
fdiff = lp.precompute(fdiff, "u_acc", "i_inner", {default_tag = false})
