package webservices

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/internal/service"
)

func TestNoRights(t *testing.T) {
	denied := &net.OpError{Op: "listen", Net: "tcp4", Err: os.NewSyscallError("bind", syscall.EACCES)}
	got := noRights(denied, ":80")
	if !errors.Is(got, service.ErrLeftOut) || !errors.Is(got, syscall.EACCES) {
		t.Errorf("noRights() = %v, want service.ErrLeftOut with the cause", got)
	}
	for _, part := range []string{"webservices.listen", "redirect", "below 1024"} {
		if !strings.Contains(got.Error(), part) {
			t.Errorf("noRights() = %v, want %q in it", got, part)
		}
	}
	taken := &net.OpError{Op: "listen", Net: "tcp4", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	if got := noRights(taken, ":80"); errors.Is(got, service.ErrLeftOut) || !errors.Is(got, syscall.EADDRINUSE) {
		t.Errorf("noRights() = %v, want the error alone", got)
	}
}
