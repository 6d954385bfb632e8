#include "textflag.h"

// skewed has the calling convention of C: DI is the clock, SI where the time goes.
TEXT ·skewed(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ SI
	PUSHQ DI
	SUBQ  $8, SP // aligned to 16 bytes
	MOVQ  ·original(SB), AX
	CALL  AX
	ADDQ  $8, SP
	POPQ  DI
	POPQ  SI
	CMPL  DI, $0 // CLOCK_REALTIME
	JNE   done
	MOVQ  ·seconds(SB), CX
	ADDQ  CX, (SI)

done:
	RET

// func skewedAddr() uintptr
TEXT ·skewedAddr(SB), NOSPLIT, $0-8
	MOVQ $·skewed(SB), AX
	MOVQ AX, ret+0(FP)
	RET
