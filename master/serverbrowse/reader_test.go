package serverbrowse

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
)

func TestLimitedConn(t *testing.T) {
	a, z := net.Pipe()
	defer func() { _ = a.Close() }()
	go func() { _, _ = z.Write(make([]byte, 100)); _ = z.Close() }()
	n, err := io.Copy(io.Discard, &limitedConn{a, 60})
	if n != 60 || !errors.Is(err, netclient.ErrTooLong) {
		t.Errorf("read %d, %v; want 60 and ErrTooLong", n, err)
	}
}
