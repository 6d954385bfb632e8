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
	if got := noRights(taken, ":80"); errors.Is(got, service.ErrLeftOut) || !errors.Is(got, syscall.EADDRINUSE) || !strings.Contains(got.Error(), "where it is free") {
		t.Errorf("noRights() = %v, want the error with what to do", got)
	}
}

func TestSecureRights(t *testing.T) {
	denied := &net.OpError{Op: "listen", Net: "tcp4", Err: os.NewSyscallError("bind", syscall.EACCES)}
	got := noSecure(denied, ":443")
	if errors.Is(got, service.ErrLeftOut) || !errors.Is(got, syscall.EACCES) || !strings.Contains(got.Error(), "below 1024") || !strings.Contains(got.Error(), "tls_listen") {
		t.Errorf("noSecure() = %v, want the error with the key and what to do", got)
	}
	taken := &net.OpError{Op: "listen", Net: "tcp4", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	if got := noSecure(taken, ":443"); !errors.Is(got, syscall.EADDRINUSE) || strings.Contains(got.Error(), "below 1024") {
		t.Errorf("noSecure() = %v, want the error without advice on rights", got)
	}
}
