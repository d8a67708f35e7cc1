      SUBROUTINE SCALE(N, LDA, A, X, S)
C     what the old ones look like
      INTEGER N, LDA
      DOUBLE PRECISION A(LDA, *), X(*), S, TEMP
      PARAMETER (ZERO = 0.0D0)
      S = ZERO
      DO 20 J = 1, N
         TEMP = X(J)
         DO 10, I = 1, N
            A(I, J) = A(I, J)*TEMP
     $                + 1
            S = S + A(I, J)
   10    CONTINUE
   20 CONTINUE
      RETURN
      END
